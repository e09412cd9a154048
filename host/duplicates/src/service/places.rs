//! Places of plans that are carried out, or wait for that: [`MOST`] in all, [`MOST_OF_ONE`] of one user.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use qm_lanes::IgnorePoison as _;

pub const MOST: usize = 16;
pub const MOST_OF_ONE: usize = 8;

/// Numbers of the places that are taken, by the ids of users.
#[derive(Default)]
pub struct Places(Mutex<HashMap<String, usize>>);

/// A place that is taken until it is dropped.
pub struct Place {
    of: Arc<Places>,
    user: String,
}

impl Places {
    /// Takes a place for a user; `None`: there is none for them.
    pub fn take(self: &Arc<Self>, user: &str) -> Option<Place> {
        let mut taken = self.0.lock().ignore_poison();
        let all: usize = taken.values().sum();
        if all >= MOST || taken.get(user).is_some_and(|own| *own >= MOST_OF_ONE) {
            return None;
        }
        *taken.entry(user.to_owned()).or_default() += 1;
        Some(Place {
            of: self.clone(),
            user: user.to_owned(),
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.of.0.lock().ignore_poison();
        if let Some(own) = taken.get_mut(&self.user) {
            *own -= 1;
            if *own == 0 {
                taken.remove(&self.user);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_user_leaves_places_for_others() {
        let places = Arc::new(Places::default());
        let take = |user: &str| (0..MOST).map_while(|_| places.take(user)).collect::<Vec<Place>>();
        let mut first = take("a");
        assert_eq!(first.len(), MOST_OF_ONE);
        let second = take("b");
        assert_eq!(second.len(), MOST - MOST_OF_ONE);
        assert!(places.take("c").is_none());
        first.pop();
        assert!(places.take("b").is_none() && places.take("c").is_some());
        drop((first, second));
        assert!(places.0.lock().ignore_poison().is_empty());
    }
}
