//! Health of an indexer: failures, pauses and daily counters.

use std::time::Duration;

use qm_kernel::Timestamp;

/// Pause in minutes after that many consecutive failures; more use the last entry. The first failure costs
/// nothing: a site restarts, a name does not resolve.
const RESTS: [u64; 9] = [0, 0, 1, 5, 15, 30, 60, 3 * 60, 6 * 60];
/// Pause of an indexer that reports too many requests without a time.
const UNTOLD_REST: Duration = Duration::from_mins(1);
/// Longest pause that an indexer may ask for.
const LONGEST_TOLD: Duration = Duration::from_hours(24);
/// Largest number of characters of a stored error.
const MAX_ERROR: usize = 500;

/// Stored results of the requests to an indexer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// Consecutive failures.
    pub failures: u32,
    pub last_error: Option<String>,
    /// End of the pause after failures; searches leave it out until then.
    pub rests_until: Option<Timestamp>,
    /// End of the pause that the indexer asked for; it is not asked at all until then.
    pub throttled_until: Option<Timestamp>,
    /// Duration of the last answered request in milliseconds.
    pub last_latency_ms: Option<u64>,
    /// Day of the counters, in days since 1970-01-01 UTC.
    pub day: i64,
    pub queries: u64,
    pub grabs: u64,
}

/// State of an indexer in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Never asked, or not since its configuration changed.
    Unknown,
    Ok,
    /// Its last request failed; it is still asked.
    Failing,
    /// Paused after several consecutive failures.
    Resting,
    /// Paused because it asked for it.
    Throttled,
}

impl State {
    pub const fn as_str(self) -> &'static str {
        match self {
            State::Unknown => "unknown",
            State::Ok => "ok",
            State::Failing => "failing",
            State::Resting => "resting",
            State::Throttled => "throttled",
        }
    }
}

/// Day number of an instant, in UTC.
pub fn day_of(at: Timestamp) -> i64 {
    at.ms().div_euclid(24 * 60 * 60 * 1000)
}

impl Health {
    pub fn state(&self, now: Timestamp) -> State {
        if self.throttled_until.is_some_and(|until| until > now) {
            State::Throttled
        } else if self.rests_until.is_some_and(|until| until > now) {
            State::Resting
        } else if self.failures > 0 {
            State::Failing
        } else if self.last_latency_ms.is_some() {
            State::Ok
        } else {
            State::Unknown
        }
    }

    /// End of the present pause, if any.
    pub fn next_try(&self, now: Timestamp) -> Option<Timestamp> {
        let until = self.throttled_until.max(self.rests_until);
        until.filter(|until| *until > now)
    }

    /// Queries and grabs of today.
    pub fn today(&self, now: Timestamp) -> (u64, u64) {
        if self.day == day_of(now) {
            (self.queries, self.grabs)
        } else {
            (0, 0)
        }
    }

    fn count(&mut self, now: Timestamp, grabbed: bool) {
        let (queries, grabs) = self.today(now);
        self.day = day_of(now);
        self.queries = queries + 1;
        self.grabs = grabs + u64::from(grabbed);
    }

    /// Records a successful request.
    pub fn went_well(&mut self, now: Timestamp, latency: Duration, grabbed: bool) {
        self.count(now, grabbed);
        self.failures = 0;
        self.last_error = None;
        self.rests_until = None;
        self.throttled_until = None;
        self.last_latency_ms = Some(latency.as_millis() as u64);
    }

    /// Records a failed request. `told` is set when the indexer asked for a pause, with its length in seconds
    /// if it gave one.
    pub fn failed(&mut self, now: Timestamp, error: &str, told: Option<Option<u32>>) {
        self.count(now, false);
        self.failures = self.failures.saturating_add(1);
        self.last_error = Some(error.chars().take(MAX_ERROR).collect());
        match told {
            Some(seconds) => {
                let rest = seconds.map_or(UNTOLD_REST, |seconds| Duration::from_secs(seconds.into()));
                self.throttled_until = Some(now.plus(rest.min(LONGEST_TOLD)));
            }
            None => self.rests_until = rest_after(self.failures).map(|rest| now.plus(rest)),
        }
    }
}

/// Pause after this number of consecutive failures; `None`: no pause.
pub fn rest_after(failures: u32) -> Option<Duration> {
    let place = (failures as usize).min(RESTS.len() - 1);
    Some(RESTS[place])
        .filter(|minutes| *minutes > 0)
        .map(Duration::from_mins)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_800_000_000_000;

    #[test]
    fn rests_grow_and_end() {
        let minutes = |failures| rest_after(failures).map(|rest| rest.as_secs() / 60);
        let seen = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, u32::MAX].map(minutes);
        let wanted =
            [0, 0, 1, 5, 15, 30, 60, 180, 360, 360, 360].map(|minutes| (minutes > 0).then_some(minutes));
        assert_eq!(seen, wanted);
    }

    #[test]
    fn an_answer_ends_what_failures_began() {
        let now = Timestamp::from_ms(NOW);
        let mut health = Health::default();
        assert_eq!(health.state(now), State::Unknown);
        health.failed(now, "refused", None);
        assert_eq!((health.state(now), health.next_try(now)), (State::Failing, None));
        health.failed(now, "refused", None);
        assert_eq!(health.state(now), State::Resting);
        assert_eq!(health.next_try(now), Some(Timestamp::from_ms(NOW + 60_000)));
        let later = Timestamp::from_ms(NOW + 60_000);
        assert_eq!(health.state(later), State::Failing);
        health.went_well(later, Duration::from_millis(40), true);
        assert_eq!(
            (health.state(later), health.last_error.clone()),
            (State::Ok, None)
        );
        assert_eq!((health.last_latency_ms, health.today(later)), (Some(40), (3, 1)));
        let tomorrow = Timestamp::from_ms(NOW + 86_400_000);
        assert_eq!(health.today(tomorrow), (0, 0));
    }

    #[test]
    fn an_indexer_is_left_alone_for_as_long_as_it_says_within_a_day() {
        let now = Timestamp::from_ms(NOW);
        for (told, wanted) in [(Some(90), 90), (None, 60), (Some(u32::MAX), 86_400)] {
            let mut health = Health::default();
            health.failed(now, "too many requests", Some(told));
            assert_eq!(health.state(now), State::Throttled);
            assert_eq!(
                health.next_try(now),
                Some(Timestamp::from_ms(NOW + wanted * 1000))
            );
        }
    }
}
