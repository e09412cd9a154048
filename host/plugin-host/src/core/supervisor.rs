//! When a lane that failed may try again: at once the first time, then after a growing pause; after too many failures
//! in a row, not before somebody reloads the plugin or changes the engine. Pure; the clock is an argument.

use std::time::Duration;

use tokio::time::Instant;

/// The restart budget of one lane.
#[derive(Debug)]
pub(crate) struct Supervisor {
    max_strikes: u32,
    max_pause: Duration,
    strikes: u32,
    struck_at: Option<Instant>,
    reason: Option<String>,
}

/// Answer to whether a call may be tried.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    Free,
    /// Not before so much time has passed.
    Later(Duration),
    /// Not before [`Supervisor::revive`].
    Parked,
}

impl Supervisor {
    pub(crate) fn new(max_strikes: u32, max_pause: Duration) -> Self {
        Self {
            max_strikes,
            max_pause,
            strikes: 0,
            struck_at: None,
            reason: None,
        }
    }

    pub(crate) fn admit(&self, now: Instant) -> Admission {
        if self.is_parked() {
            return Admission::Parked;
        }
        let until = self.struck_at.map(|at| at + self.pause());
        match until.map(|until| until.saturating_duration_since(now)) {
            Some(left) if !left.is_zero() => Admission::Later(left),
            _ => Admission::Free,
        }
    }

    /// Nothing after the first strike, then 1 s, 2 s, 4 s …
    fn pause(&self) -> Duration {
        match self.strikes {
            0 | 1 => Duration::ZERO,
            n => Duration::from_secs(1 << (n - 2).min(16)).min(self.max_pause),
        }
    }

    /// A call ended in a trap or was cut off.
    pub(crate) fn strike(&mut self, now: Instant, reason: String) {
        self.strikes += 1;
        self.struck_at = Some(now);
        self.reason = Some(reason);
    }

    /// A call ended well. Once that goes on for long enough the strikes are forgotten.
    pub(crate) fn well(&mut self, now: Instant) {
        if self.struck_at.is_some_and(|at| now - at >= self.max_pause) {
            self.revive();
        }
    }

    /// Forgets every strike.
    pub(crate) fn revive(&mut self) {
        self.strikes = 0;
        self.struck_at = None;
        self.reason = None;
    }

    /// The last failure that is not forgotten.
    pub(crate) fn struck_at(&self) -> Option<Instant> {
        self.struck_at
    }

    pub(crate) fn is_parked(&self) -> bool {
        self.strikes >= self.max_strikes
    }

    /// The last failure, until it is forgotten.
    pub(crate) fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: fn(u64) -> Duration = Duration::from_secs;

    #[test]
    fn pauses_grow_to_the_limit_and_then_it_is_parked() {
        let now = Instant::now();
        let mut supervisor = Supervisor::new(10, S(60));
        let mut pauses = Vec::new();
        for _ in 0..9 {
            supervisor.strike(now, "why".into());
            pauses.push(match supervisor.admit(now) {
                Admission::Free => 0,
                Admission::Later(left) => left.as_secs(),
                Admission::Parked => panic!("too early"),
            });
        }
        assert_eq!(pauses, [0, 1, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(supervisor.admit(now + S(60)), Admission::Free);
        supervisor.strike(now, "why".into());
        assert_eq!(supervisor.admit(now + S(3600)), Admission::Parked);
        assert_eq!(supervisor.reason(), Some("why"));
        supervisor.revive();
        assert_eq!(supervisor.admit(now), Admission::Free);
    }

    #[test]
    fn a_minute_of_health_forgets() {
        let now = Instant::now();
        let mut supervisor = Supervisor::new(3, S(60));
        supervisor.strike(now, "a".into());
        supervisor.strike(now, "b".into());
        supervisor.well(now + S(59));
        assert_eq!(supervisor.reason(), Some("b"));
        supervisor.well(now + S(60));
        assert_eq!(supervisor.reason(), None);
        supervisor.strike(now + S(61), "c".into());
        assert_eq!(supervisor.admit(now + S(61)), Admission::Free);
    }
}
