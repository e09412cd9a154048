//! Beats: instants at which loops look for what others changed, the same ones for all loops of the process.
//!
//! A waking processor costs more than most looks do, so loops that may wait a moment wake together.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Shortest interval between two beats. What a loop sees at a beat has happened less than a second ago.
pub const BEAT: Duration = Duration::from_millis(900);

/// The first instant after `now` that lies whole `interval`s after the first call in this process; intervals are multiples
/// of [`BEAT`], so that all of them meet. A pure function of `now` but for that start.
pub fn next_beat(now: Instant, interval: Duration) -> Instant {
    static START: OnceLock<Instant> = OnceLock::new();
    let start = *START.get_or_init(|| now);
    let interval = interval.max(BEAT);
    let passed = now.saturating_duration_since(start);
    let into = passed.as_nanos() % interval.as_nanos();
    now + interval.saturating_sub(Duration::from_nanos(u64::try_from(into).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_that_began_at_different_times_meet() {
        let first = next_beat(Instant::now(), BEAT);
        for late in [0, 1, 17, 450, 899, 900, 901] {
            let now = first + Duration::from_millis(late);
            let next = next_beat(now, BEAT);
            assert!(next > now && next <= now + BEAT, "{late}");
            assert_eq!((next - first).as_nanos() % BEAT.as_nanos(), 0, "{late}");
            let rare = next_beat(now, BEAT * 5);
            assert!(rare > now && rare <= now + BEAT * 5, "{late}");
            assert_eq!((rare - first).as_nanos() % BEAT.as_nanos(), 0, "{late}");
        }
    }
}
