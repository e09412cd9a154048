//! Back-off between the attempts of a failed job. Pure.

use std::time::Duration;

const LONGEST: u64 = 60_000;

/// Pause before attempt number `attempt` (2 or more): one second, then twice as long each time, at most one
/// minute.
pub fn delay(attempt: i64) -> Duration {
    let doublings = u32::try_from(attempt.saturating_sub(2).clamp(0, 16)).unwrap_or(0);
    Duration::from_millis((1000 << doublings).min(LONGEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_a_minute() {
        for (attempt, ms) in [
            (2, 1000),
            (3, 2000),
            (4, 4000),
            (7, 32_000),
            (8, 60_000),
            (9, 60_000),
            (i64::MAX, 60_000),
            (1, 1000),
            (i64::MIN, 1000),
        ] {
            assert_eq!(delay(attempt), Duration::from_millis(ms), "attempt {attempt}");
        }
    }
}
