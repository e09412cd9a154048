//! Limit on the requests per indexer and minute.
//!
//! Counted in memory, because only one server asks at a time. Bounds: one instant per request of the last
//! minute, which the limits bound.

use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;
use std::time::Duration;

use qm_kernel::Timestamp;
use qm_lanes::IgnorePoison;

const WINDOW: Duration = Duration::from_mins(1);

#[derive(Default)]
pub struct Pace(Mutex<HashMap<String, VecDeque<Timestamp>>>);

impl Pace {
    /// Takes one request of this minute's budget; the error is the time until one is free.
    pub fn take(&self, id: &str, per_minute: u32, now: Timestamp) -> Result<(), Duration> {
        let mut taken = self.0.lock().ignore_poison();
        // Deleted indexers leave no entry.
        taken.retain(|_, instants| {
            while instants.front().is_some_and(|first| first.plus(WINDOW) <= now) {
                instants.pop_front();
            }
            !instants.is_empty()
        });
        let instants = taken.entry(id.to_owned()).or_default();
        match instants.front() {
            Some(first) if instants.len() >= per_minute as usize => Err(first.plus(WINDOW).since(now)),
            _ => {
                instants.push_back(now);
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_in_any_minute() {
        let pace = Pace::default();
        let at = |seconds: i64| Timestamp::from_ms(1_800_000_000_000 + seconds * 1000);
        assert_eq!(pace.take("a", 2, at(0)), Ok(()));
        assert_eq!(pace.take("a", 2, at(20)), Ok(()));
        assert_eq!(pace.take("a", 2, at(30)), Err(Duration::from_secs(30)));
        assert_eq!(pace.take("b", 2, at(30)), Ok(()));
        assert_eq!(pace.take("a", 2, at(60)), Ok(()));
        assert_eq!(pace.take("a", 2, at(61)), Err(Duration::from_secs(19)));
        assert_eq!(pace.take("a", 2, at(200)), Ok(()));
        assert_eq!(pace.0.lock().unwrap().len(), 1, "nothing stays of who is silent");
    }
}
