//! Limit on the private addresses that one user can make the server contact.
//!
//! An indexer may run beside the server, so its address may be private; but the result of a request shows if
//! something answers there. Users without the permission to configure engines may try a few such addresses
//! per hour: enough for all indexers of a home, too few to scan a network. Kept in memory only, so a restart
//! forgets it. Bounds: [`MOST`] origins per user within [`WINDOW`].

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use qm_kernel::Timestamp;
use qm_lanes::IgnorePoison;

/// Number of different private origins that one user may name within [`WINDOW`].
pub const MOST: usize = 10;
pub const WINDOW: Duration = Duration::from_hours(1);

/// Recently named origins by user.
#[derive(Default)]
pub struct Tries(Mutex<HashMap<String, Vec<(String, Timestamp)>>>);

impl Tries {
    /// Records that `user` named `origin`; the error is the time until another origin is allowed. An origin
    /// named within the hour is free.
    pub fn take(&self, user: &str, origin: &str, now: Timestamp) -> Result<(), Duration> {
        let mut tries = self.0.lock().ignore_poison();
        tries.retain(|_, named| {
            named.retain(|(_, at)| at.plus(WINDOW) > now);
            !named.is_empty()
        });
        let named = tries.entry(user.to_owned()).or_default();
        if named.iter().any(|(known, _)| known == origin) {
            return Ok(());
        }
        match named.first() {
            Some((_, first)) if named.len() >= MOST => Err(first.plus(WINDOW).since(now)),
            _ => {
                named.push((origin.to_owned(), now));
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_others_within_the_hour() {
        let tries = Tries::default();
        let at = |minutes: i64| Timestamp::from_ms(1_800_000_000_000 + minutes * 60_000);
        for number in 0..MOST {
            assert_eq!(
                tries.take("jo", &format!("http://10.0.0.{number}"), at(number as i64)),
                Ok(())
            );
        }
        let another = "http://10.0.1.1";
        assert_eq!(tries.take("jo", another, at(30)), Err(Duration::from_mins(30)));
        assert_eq!(
            tries.take("jo", "http://10.0.0.3", at(30)),
            Ok(()),
            "no other one"
        );
        assert_eq!(tries.take("ann", another, at(30)), Ok(()));
        assert_eq!(tries.take("jo", another, at(60)), Ok(()));
        assert_eq!(
            tries.take("jo", "http://10.0.1.2", at(60)),
            Err(Duration::from_mins(1))
        );
        assert_eq!(tries.take("ann", another, at(300)), Ok(()));
        assert_eq!(tries.0.lock().unwrap().len(), 1, "nothing stays of who is silent");
    }
}
