//! Retry rules of deliveries: states, pauses, and the circuit breaker of a destination. Pure.

use std::collections::HashMap;
use std::time::Duration;

use qm_kernel::Timestamp;
use qm_ports::channel::ChannelError;

/// Largest number of attempts per message.
pub const ATTEMPTS: i64 = 3;
/// Pauses after the first and the second failed attempt.
const PAUSES: [Duration; 2] = [Duration::from_mins(1), Duration::from_mins(5)];
/// Pause after a service asked for one without a time; also when its plugin is missing or busy.
const WAIT: Duration = Duration::from_mins(1);
/// Longest pause that a service may ask for.
const LONGEST_WAIT: Duration = Duration::from_hours(1);
/// Time after which a message that could not be tried is given up.
const PATIENCE: Duration = Duration::from_hours(24);
/// Consecutive failures after which a destination is paused.
const BREAKS_AT: u32 = 3;
const FIRST_BREAK: Duration = Duration::from_mins(1);
const LONGEST_BREAK: Duration = Duration::from_mins(30);

/// Reason for not sending a message that its recipient wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suppressed {
    UserInactive,
    NoVerifiedConnection,
    BotMissing,
    NotificationMissing,
    NoPresentation,
    /// No plugin has provided the channel for a day.
    ChannelNotImplemented,
    /// The server crashed during the send: the message may have arrived, and is not repeated.
    Interrupted,
}

impl Suppressed {
    pub const fn as_str(self) -> &'static str {
        match self {
            Suppressed::UserInactive => "user_inactive",
            Suppressed::NoVerifiedConnection => "no_verified_connection",
            Suppressed::BotMissing => "chat_app_a_bot_missing",
            Suppressed::NotificationMissing => "notification_missing",
            Suppressed::NoPresentation => "no_presentation",
            Suppressed::ChannelNotImplemented => "channel_not_implemented",
            Suppressed::Interrupted => "interrupted",
        }
    }
}

/// A message for one destination, about to be sent.
#[derive(Clone, Debug)]
pub struct Delivery {
    pub id: String,
    pub user_id: String,
    pub notification_id: String,
    pub channel: String,
    /// Number of attempts including this one.
    pub attempts: i64,
    pub created_at: Timestamp,
}

/// Next step for a message that was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Retry at this time. `false`: the attempt does not count.
    Again(Timestamp, bool),
    /// Failed finally.
    GivenUp,
    /// Cancelled for this reason.
    Cancelled(Suppressed),
}

/// Next step after attempt number `attempt` failed with `error`.
pub fn after(error: &ChannelError, attempt: i64, created: Timestamp, now: Timestamp) -> Next {
    let waited_enough = now.since(created) >= PATIENCE;
    match error {
        ChannelError::Missing(_) if waited_enough => Next::Cancelled(Suppressed::ChannelNotImplemented),
        ChannelError::Throttled(_) | ChannelError::Busy if waited_enough => Next::GivenUp,
        ChannelError::Throttled(seconds) => Next::Again(now.plus(asked_pause(*seconds)), false),
        ChannelError::Busy | ChannelError::Missing(_) => Next::Again(now.plus(WAIT), false),
        other if !other.is_passing() => Next::GivenUp,
        _ => match usize::try_from(attempt - 1)
            .ok()
            .and_then(|made| PAUSES.get(made))
        {
            Some(pause) if attempt < ATTEMPTS => Next::Again(now.plus(*pause), true),
            _ => Next::GivenUp,
        },
    }
}

/// True when the error concerns the destination, and not only the plugin.
pub const fn tells_of_destination(error: &ChannelError) -> bool {
    !matches!(error, ChannelError::Missing(_) | ChannelError::Busy)
}

fn asked_pause(seconds: Option<u32>) -> Duration {
    let asked = seconds.map_or(WAIT, |seconds| Duration::from_secs(u64::from(seconds)));
    asked.clamp(Duration::from_secs(1), LONGEST_WAIT)
}

/// User id and channel id.
pub type Destination = (String, String);

/// Circuit breakers of failing destinations. Kept in memory: a restart tries them again. Bounds: one entry
/// per failing connection.
#[derive(Default)]
pub struct Circuits(HashMap<Destination, Circuit>);

struct Circuit {
    failures: u32,
    closed_until: Option<Timestamp>,
}

impl Circuits {
    /// End of the destination's pause; `None`: messages may be sent now.
    pub fn left_alone(&self, destination: &Destination, now: Timestamp) -> Option<Timestamp> {
        let until = self.0.get(destination)?.closed_until?;
        (until > now).then_some(until)
    }

    /// Records a success.
    pub fn went_well(&mut self, destination: &Destination) {
        self.0.remove(destination);
    }

    /// Records a failure. Each pause is twice as long as the one before; a pause that the service asks for is
    /// respected.
    pub fn failed(&mut self, destination: &Destination, error: &ChannelError, now: Timestamp) {
        if !tells_of_destination(error) {
            return;
        }
        let circuit = self.0.entry(destination.clone()).or_insert(Circuit {
            failures: 0,
            closed_until: None,
        });
        if let ChannelError::Throttled(seconds) = error {
            circuit.closed_until = Some(now.plus(asked_pause(*seconds)));
            return;
        }
        circuit.failures = circuit.failures.saturating_add(1);
        if let Some(beyond) = circuit.failures.checked_sub(BREAKS_AT) {
            let pause = FIRST_BREAK * 2_u32.pow(beyond.min(5));
            circuit.closed_until = Some(now.plus(pause.min(LONGEST_BREAK)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after_secs(seconds: i64) -> Timestamp {
        Timestamp::from_secs(1_000_000 + seconds)
    }

    fn unreachable() -> ChannelError {
        ChannelError::Unreachable("gone".into())
    }

    #[test]
    fn three_attempts_with_pauses_of_one_and_five_minutes() {
        for (attempt, next) in [
            (1, Next::Again(after_secs(60), true)),
            (2, Next::Again(after_secs(300), true)),
            (3, Next::GivenUp),
            (4, Next::GivenUp),
            (0, Next::GivenUp),
            (i64::MIN + 1, Next::GivenUp),
        ] {
            assert_eq!(
                after(&unreachable(), attempt, after_secs(0), after_secs(0)),
                next,
                "{attempt}"
            );
        }
    }

    #[test]
    fn what_does_not_pass_is_final() {
        for error in [
            ChannelError::Auth("no".into()),
            ChannelError::Rejected("no".into()),
            ChannelError::InvalidConfig("no".into()),
            ChannelError::NotFound("the chat".into()),
            ChannelError::Denied("no".into()),
            ChannelError::Unsupported("no".into()),
        ] {
            assert_eq!(
                after(&error, 1, after_secs(0), after_secs(0)),
                Next::GivenUp,
                "{error}"
            );
        }
    }

    #[test]
    fn a_pause_that_is_asked_for_costs_no_attempt_and_ends() {
        for (seconds, pause) in [(Some(17), 17), (None, 60), (Some(0), 1), (Some(u32::MAX), 3600)] {
            let next = after(&ChannelError::Throttled(seconds), 1, after_secs(0), after_secs(5));
            assert_eq!(next, Next::Again(after_secs(5 + pause), false));
        }
        let day = 24 * 3600;
        let asked = after(
            &ChannelError::Throttled(Some(1)),
            1,
            after_secs(0),
            after_secs(day),
        );
        assert_eq!(asked, Next::GivenUp);
        let missing = ChannelError::Missing("no plugin".into());
        assert_eq!(
            after(&missing, 1, after_secs(0), after_secs(day - 1)),
            Next::Again(after_secs(day + 59), false)
        );
        let cancelled = Next::Cancelled(Suppressed::ChannelNotImplemented);
        assert_eq!(after(&missing, 1, after_secs(0), after_secs(day)), cancelled);
    }

    #[test]
    fn a_destination_that_keeps_failing_is_left_alone_for_longer_and_longer() {
        let (mut circuits, here) = (Circuits::default(), ("u".to_owned(), "push".to_owned()));
        let there = ("v".to_owned(), "push".to_owned());
        for (failure, pause) in [
            (1, None),
            (2, None),
            (3, Some(60)),
            (4, Some(120)),
            (5, Some(240)),
        ] {
            circuits.failed(&here, &unreachable(), after_secs(0));
            assert_eq!(
                circuits.left_alone(&here, after_secs(0)),
                pause.map(after_secs),
                "{failure}"
            );
        }
        for _ in 0..100 {
            circuits.failed(&here, &unreachable(), after_secs(0));
        }
        assert_eq!(circuits.left_alone(&here, after_secs(0)), Some(after_secs(1800)));
        assert_eq!(
            circuits.left_alone(&here, after_secs(1800)),
            None,
            "one is tried again"
        );
        assert_eq!(circuits.left_alone(&there, after_secs(0)), None, "others go on");
        circuits.went_well(&here);
        circuits.failed(&here, &unreachable(), after_secs(1800));
        assert_eq!(circuits.left_alone(&here, after_secs(1800)), None);
        circuits.failed(
            &here,
            &ChannelError::Missing("no plugin".into()),
            after_secs(1800),
        );
        circuits.failed(&here, &ChannelError::Busy, after_secs(1800));
        assert_eq!(
            circuits.left_alone(&here, after_secs(1800)),
            None,
            "that says nothing of the destination"
        );
        circuits.failed(&here, &ChannelError::Throttled(Some(9)), after_secs(1800));
        assert_eq!(
            circuits.left_alone(&here, after_secs(1800)),
            Some(after_secs(1809))
        );
    }
}
