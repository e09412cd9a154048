//! Failures that are held against single configurations, where one plugin carries out what many people entered: a destination
//! that drips or makes its plugin compute without end costs whoever entered it their own calls, and nobody else's. Pure; the
//! clock is an argument.
//!
//! A configuration that failed waits like a lane does, and is never parked: whoever entered it cannot reload a plugin. The plugin
//! itself is at fault where many configurations fail one after the other and none does well in between; then all of them wait,
//! a minute at most, so that one call after the other can show that it is well again.
//! Bound: [`KEPT`] configurations; of more the one that has failed longest ago is forgotten.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

use crate::core::supervisor::{Admission, Supervisor};

/// Configurations of which it is known that they failed.
const KEPT: usize = 1024;

/// The failures of each configuration, by a number that stands for it.
#[derive(Debug)]
pub(crate) struct ConfigBackoff {
    /// Number of configurations that, failing in a row, speak against the plugin.
    row_limit: u32,
    max_pause: Duration,
    each: HashMap<u64, Supervisor>,
    /// Configurations that have failed since one did well.
    row: u32,
    /// That of the plugin, once the row is too long.
    shared: Supervisor,
}

/// Never parked.
fn supervisor(max_pause: Duration) -> Supervisor {
    Supervisor::new(u32::MAX, max_pause)
}

impl ConfigBackoff {
    pub(crate) fn new(row_limit: u32, max_pause: Duration) -> Self {
        Self {
            row_limit,
            max_pause,
            each: HashMap::new(),
            row: 0,
            shared: supervisor(max_pause),
        }
    }

    /// Tells whether a call with this configuration may be tried, and why not.
    pub(crate) fn admit(&self, who: u64, now: Instant) -> Result<(), (Duration, String)> {
        let held = [self.each.get(&who), Some(&self.shared)];
        for supervisor in held.into_iter().flatten() {
            if let Admission::Later(left) = supervisor.admit(now) {
                return Err((left, supervisor.reason().unwrap_or_default().to_owned()));
            }
        }
        Ok(())
    }

    /// A call ended in a trap or was cut off.
    pub(crate) fn strike(&mut self, who: u64, now: Instant, reason: &str) {
        if !self.each.contains_key(&who) {
            self.make_room();
            self.row += 1;
        }
        let own = self.each.entry(who).or_insert_with(|| supervisor(self.max_pause));
        own.strike(now, reason.to_owned());
        if self.row >= self.row_limit {
            self.shared.strike(now, reason.to_owned());
        }
    }

    /// A call ended well: the plugin does what it should, and so does this configuration.
    pub(crate) fn well(&mut self, who: u64) {
        self.each.remove(&who);
        self.row = 0;
        self.shared.revive();
    }

    /// Forgets every failure.
    pub(crate) fn revive(&mut self) {
        self.each.clear();
        self.row = 0;
        self.shared.revive();
    }

    /// Why all wait, until one does well.
    pub(crate) fn reason(&self) -> Option<&str> {
        self.shared.reason()
    }

    /// Tells whether all wait.
    pub(crate) fn all_wait(&self, now: Instant) -> bool {
        self.shared.admit(now) != Admission::Free
    }

    fn make_room(&mut self) {
        if self.each.len() < KEPT {
            return;
        }
        let oldest = self
            .each
            .iter()
            .min_by_key(|(_, supervisor)| supervisor.struck_at());
        if let Some(&who) = oldest.map(|(who, _)| who) {
            self.each.remove(&who);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: fn(u64) -> Duration = Duration::from_secs;

    fn pause(backoff: &ConfigBackoff, who: u64, now: Instant) -> u64 {
        backoff
            .admit(who, now)
            .err()
            .map_or(0, |(left, _)| left.as_secs())
    }

    #[test]
    fn a_configuration_that_fails_waits_alone_and_is_never_parked() {
        let now = Instant::now();
        let mut backoff = ConfigBackoff::new(3, S(60));
        let mut pauses = Vec::new();
        for _ in 0..12 {
            backoff.strike(1, now, "why");
            pauses.push(pause(&backoff, 1, now));
        }
        assert_eq!(pauses, [0, 1, 2, 4, 8, 16, 32, 60, 60, 60, 60, 60]);
        assert_eq!(
            (pause(&backoff, 2, now), backoff.all_wait(now)),
            (0, false),
            "nobody else does"
        );
        assert_eq!(backoff.admit(1, now), Err((S(60), "why".to_owned())));
        assert_eq!(pause(&backoff, 1, now + S(60)), 0);
        backoff.well(1);
        backoff.strike(1, now + S(61), "again");
        assert_eq!(
            pause(&backoff, 1, now + S(61)),
            0,
            "one that did well begins anew"
        );
    }

    #[test]
    fn a_plugin_that_fails_for_everybody_makes_all_wait_until_one_does_well() {
        let now = Instant::now();
        let mut backoff = ConfigBackoff::new(3, S(60));
        for who in 1..=3 {
            backoff.strike(who, now, "broken");
        }
        assert_eq!(
            pause(&backoff, 9, now),
            0,
            "as with a lane, the first failure costs no pause"
        );
        backoff.strike(4, now, "broken");
        assert_eq!((pause(&backoff, 9, now), backoff.all_wait(now)), (1, true));
        for who in 5..50 {
            backoff.strike(who, now, "broken");
        }
        assert_eq!(pause(&backoff, 99, now), 60);
        assert_eq!(pause(&backoff, 99, now + S(60)), 0);
        backoff.well(99);
        assert_eq!(pause(&backoff, 98, now), 0);
    }

    #[test]
    fn a_failure_between_two_that_do_well_is_no_row() {
        let now = Instant::now();
        let mut backoff = ConfigBackoff::new(3, S(60));
        for who in 1..100 {
            backoff.strike(who, now, "mine");
            backoff.well(1000);
        }
        assert!(!backoff.all_wait(now));
    }

    #[test]
    fn so_many_are_remembered_and_no_more() {
        let now = Instant::now();
        let mut backoff = ConfigBackoff::new(u32::MAX, S(60));
        for who in 0..3000 {
            let at = now + Duration::from_millis(who);
            backoff.strike(who, at, "why");
            backoff.strike(who, at, "why");
        }
        assert_eq!(backoff.each.len(), KEPT);
        let last = now + Duration::from_millis(2999);
        assert!(backoff.admit(2999, last).is_err() && backoff.admit(0, last).is_ok());
    }
}
