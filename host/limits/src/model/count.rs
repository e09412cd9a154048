//! Seconds that a torrent was seeded, for clients that do not count them. Pure.
//!
//! A count is not kept up second by second: it refers to the clock of its engine, which goes only while the engine is read.
//! Therefore a torrent's row is written when it starts, stops or sends something, and the time in which nobody looked is not
//! counted.

use std::time::Duration;

use qm_kernel::Timestamp;

/// Longest step of a clock: what is longer was a sleep of the machine.
const LONGEST_STEP: Duration = Duration::from_mins(1);

/// Time in which an engine was read, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WatchClock {
    pub watched: u64,
    last: Option<Timestamp>,
}

impl WatchClock {
    pub const fn starting_at(watched: u64) -> Self {
        Self { watched, last: None }
    }

    /// Counts the time since the last call, unless the clock was stopped in between.
    pub fn advance(&mut self, now: Timestamp) {
        if let Some(last) = self.last.filter(|last| *last <= now) {
            let step = now.since(last).min(LONGEST_STEP);
            self.watched += u64::try_from(step.as_millis()).unwrap_or(0);
        }
        self.last = Some(now);
    }

    /// The engine does not answer: what follows is not counted.
    pub const fn stop(&mut self) {
        self.last = None;
    }
}

/// Count of one torrent, in milliseconds of its engine's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Seeded up to `running_from`.
    pub seeded: u64,
    /// Reading of the clock since which it seeds; none while it does not.
    pub running_from: Option<u64>,
    /// Value of `seeded` when content last moved.
    pub active: u64,
    /// Bytes sent by then.
    pub uploaded: u64,
    /// Instant at which the torrent was added, which tells it from a later one with the same hash.
    pub added_at: Option<Timestamp>,
}

impl Count {
    /// Milliseconds seeded in all.
    pub fn seeded_by(&self, clock: &WatchClock) -> u64 {
        let running = self
            .running_from
            .map_or(0, |from| clock.watched.saturating_sub(from));
        self.seeded + running
    }

    /// Milliseconds seeded since content last moved.
    pub fn idle_by(&self, clock: &WatchClock) -> u64 {
        self.seeded_by(clock).saturating_sub(self.active)
    }

    /// Takes in what is listed. True: the count has to be written.
    pub fn observe(&mut self, clock: &WatchClock, seeds: bool, uploaded: u64) -> bool {
        let before = *self;
        match (seeds, self.running_from) {
            (true, None) => self.running_from = Some(clock.watched),
            (false, Some(_)) => {
                self.seeded = self.seeded_by(clock);
                self.running_from = None;
            }
            (true, Some(_)) | (false, None) => {}
        }
        if uploaded != self.uploaded {
            self.uploaded = uploaded;
            self.active = self.seeded_by(clock);
        }
        before != *self
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn instant(secs: i64) -> Timestamp {
        Timestamp::from_secs(secs)
    }

    #[test]
    fn a_clock_goes_only_while_its_engine_is_read() {
        let mut clock = WatchClock::starting_at(5000);
        clock.advance(instant(100));
        assert_eq!(clock.watched, 5000, "the first look counts nothing");
        clock.advance(instant(102));
        assert_eq!(clock.watched, 7000);
        clock.stop();
        clock.advance(instant(1000));
        assert_eq!(clock.watched, 7000, "away");
        clock.advance(instant(90_000));
        assert_eq!(clock.watched, 67_000, "a sleep of the machine counts as a minute");
        clock.advance(instant(0));
        assert_eq!(clock.watched, 67_000, "a clock that was set back counts nothing");
        clock.advance(instant(1));
        assert_eq!(clock.watched, 68_000);
    }

    #[test]
    fn idleness_ends_with_a_byte_and_stands_still_while_it_is_stopped() {
        let mut clock = WatchClock::default();
        let mut count = Count::default();
        let pass = |clock: &mut WatchClock, secs: u64| clock.watched += secs * 1000;
        assert!(count.observe(&clock, true, 0));
        pass(&mut clock, 30);
        assert!(!count.observe(&clock, true, 0), "time alone is not written");
        assert_eq!((count.seeded_by(&clock), count.idle_by(&clock)), (30_000, 30_000));
        assert!(count.observe(&clock, false, 0));
        pass(&mut clock, 1000);
        assert_eq!((count.seeded_by(&clock), count.idle_by(&clock)), (30_000, 30_000));
        assert!(count.observe(&clock, true, 0));
        pass(&mut clock, 10);
        assert_eq!(count.idle_by(&clock), 40_000);
        assert!(count.observe(&clock, true, 7));
        pass(&mut clock, 5);
        assert_eq!((count.seeded_by(&clock), count.idle_by(&clock)), (45_000, 5000));
    }

    proptest! {
        /// The count is the sum of the steps in which the torrent seeded.
        #[test]
        fn a_count_is_the_sum_of_what_was_seen(steps in prop::collection::vec((any::<bool>(), 0..60u64, 0..2u64), 1..40)) {
            let (mut clock, mut count) = (WatchClock::default(), Count::default());
            let (mut sum, mut idle, mut uploaded) = (0, 0, 0);
            for (seeds, secs, sent) in steps {
                uploaded += sent;
                let _ = count.observe(&clock, seeds, uploaded);
                if sent > 0 { idle = 0; }
                clock.watched += secs * 1000;
                if seeds { sum += secs * 1000; idle += secs * 1000; }
                prop_assert_eq!((count.seeded_by(&clock), count.idle_by(&clock)), (sum, idle));
            }
        }
    }
}
