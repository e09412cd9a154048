//! When an indexer is asked again: after failures, and within its budget of requests.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use qm_kernel::Timestamp;

use super::failure::Failure;

/// Pause after the second failure in a row; it doubles with each one after that.
const FIRST_REST: Duration = Duration::from_secs(30);
const LONGEST_REST: Duration = Duration::from_secs(3600);
/// Pause of one that asks for a pause without saying how long.
const THROTTLED: u64 = 60;
/// No indexer may ask for a longer one.
const LONGEST_ASKED: u64 = 24 * 3600;
const MINUTE: Duration = Duration::from_secs(60);

/// When it is asked again after a failure, `in_a_row` with it; none: at once.
pub fn next_try(failure: &Failure, in_a_row: i64, now: Timestamp) -> Option<Timestamp> {
    if failure.code == "indexer.throttled" {
        let seconds = failure
            .retry_after
            .map_or(THROTTLED, u64::from)
            .min(LONGEST_ASKED);
        return Some(now.plus(Duration::from_secs(seconds)));
    }
    // One failure is an accident: a person who tries again is not to be kept waiting.
    let doublings = (in_a_row >= 2).then(|| (in_a_row - 2).min(16))?;
    let rest = FIRST_REST.saturating_mul(1 << doublings);
    Some(now.plus(rest.min(LONGEST_REST)))
}

/// Requests of the last minute, by indexer. It lives in memory: a server that starts has asked nobody.
#[derive(Debug, Default)]
pub struct Budgets(HashMap<String, VecDeque<Timestamp>>);

impl Budgets {
    /// Takes one request out of the budget.
    ///
    /// # Errors
    /// Seconds until there is one again.
    pub fn take(&mut self, id: &str, per_minute: i64, now: Timestamp) -> Result<(), u64> {
        let asked = self.0.entry(id.to_owned()).or_default();
        while asked.front().is_some_and(|at| at.plus(MINUTE) <= now) {
            asked.pop_front();
        }
        if asked.len() < usize::try_from(per_minute).unwrap_or(0) {
            asked.push_back(now);
            return Ok(());
        }
        let free = asked.front().map_or(now, |at| at.plus(MINUTE));
        Err(free.since(now).as_secs().max(1))
    }

    pub fn forget(&mut self, id: &str) {
        self.0.remove(id);
    }
}

#[cfg(test)]
mod tests {
    use qm_ports::indexer::IndexerError;

    use super::*;

    const NOW: Timestamp = Timestamp::from_secs(1_000);

    #[test]
    fn rests_double_up_to_an_hour() {
        let failure = Failure::from(IndexerError::Timeout("late".into()));
        for (in_a_row, seconds) in [
            (1, None),
            (2, Some(30)),
            (3, Some(60)),
            (4, Some(120)),
            (9, Some(3600)),
            (i64::MAX, Some(3600)),
        ] {
            let at = next_try(&failure, in_a_row, NOW).map(|at| at.since(NOW).as_secs());
            assert_eq!(at, seconds, "{in_a_row}");
        }
    }

    #[test]
    fn a_pause_that_is_asked_for_is_kept_from_the_first_time() {
        for (asked, seconds) in [(None, 60), (Some(7), 7), (Some(u32::MAX), 86_400)] {
            let failure = Failure::from(IndexerError::Throttled {
                seconds: asked,
                message: "slow down".into(),
            });
            let at = next_try(&failure, 1, NOW).map(|at| at.since(NOW).as_secs());
            assert_eq!(at, Some(seconds), "{asked:?}");
        }
    }

    #[test]
    fn a_budget_is_of_the_last_minute() {
        let mut budgets = Budgets::default();
        let later = |seconds| NOW.plus(Duration::from_secs(seconds));
        assert_eq!(budgets.take("a", 2, NOW), Ok(()));
        assert_eq!(budgets.take("a", 2, later(20)), Ok(()));
        assert_eq!(budgets.take("a", 2, later(30)), Err(30));
        assert_eq!(budgets.take("b", 2, later(30)), Ok(()));
        assert_eq!(budgets.take("a", 2, later(60)), Ok(()));
        assert_eq!(budgets.take("a", 2, later(61)), Err(19));
    }
}
