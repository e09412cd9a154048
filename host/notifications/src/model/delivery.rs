//! When a message is tried again, and when not: states of a delivery, pauses, and the circuit of a destination. Pure.

use std::collections::HashMap;
use std::time::Duration;

use qm_kernel::Timestamp;
use qm_ports::channel::ChannelError;

/// Attempts at a message.
pub const ATTEMPTS: i64 = 3;
/// After the first and the second failed attempt.
const PAUSES: [Duration; 2] = [Duration::from_mins(1), Duration::from_mins(5)];
/// Where a product asks to be left alone and does not say how long; or its plugin is not there, or busy.
const WAIT: Duration = Duration::from_mins(1);
/// However long a product asks for.
const LONGEST_WAIT: Duration = Duration::from_hours(1);
/// A message that could not be tried for so long is given up.
const PATIENCE: Duration = Duration::from_hours(24);
/// Failures in a row after which a destination is left alone for a while.
const BREAKS_AT: u32 = 3;
const FIRST_BREAK: Duration = Duration::from_mins(1);
const LONGEST_BREAK: Duration = Duration::from_mins(30);

/// Why a message is not sent, though its person wanted it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suppressed {
    UserInactive,
    NoVerifiedConnection,
    BotMissing,
    NotificationMissing,
    NoPresentation,
    /// No plugin has provided the channel for a day.
    ChannelNotImplemented,
    /// The server died while it was sent: it may have arrived, and is not sent twice.
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

/// A message for a destination that is about to be sent.
#[derive(Clone, Debug)]
pub struct Delivery {
    pub id: String,
    pub user_id: String,
    pub notification_id: String,
    pub channel: String,
    /// With this one.
    pub attempts: i64,
    pub created_at: Timestamp,
}

/// What becomes of a message that was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Tried again then. `false`: this time did not count.
    Again(Timestamp, bool),
    /// Never.
    GivenUp,
    /// Never, for this reason.
    Cancelled(Suppressed),
}

/// What becomes of a message after its attempt number `attempt` failed with `error`.
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

/// Whether the error says anything of where the message was to go, and not only of what is to carry it.
pub const fn tells_of_destination(error: &ChannelError) -> bool {
    !matches!(error, ChannelError::Missing(_) | ChannelError::Busy)
}

fn asked_pause(seconds: Option<u32>) -> Duration {
    let asked = seconds.map_or(WAIT, |seconds| Duration::from_secs(u64::from(seconds)));
    asked.clamp(Duration::from_secs(1), LONGEST_WAIT)
}

/// Whom a message goes to: a person, and the channel.
pub type Destination = (String, String);

/// Destinations that are left alone for a while, because message after message failed there. Kept in memory: a restart
/// tries them again. Bounds: an entry a connection that fails.
#[derive(Default)]
pub struct Circuits(HashMap<Destination, Circuit>);

struct Circuit {
    failures: u32,
    closed_until: Option<Timestamp>,
}

impl Circuits {
    /// Until when nothing is sent there; none: it may be sent now.
    pub fn left_alone(&self, destination: &Destination, now: Timestamp) -> Option<Timestamp> {
        let until = self.0.get(destination)?.closed_until?;
        (until > now).then_some(until)
    }

    /// A message was taken there.
    pub fn went_well(&mut self, destination: &Destination) {
        self.0.remove(destination);
    }

    /// A message was not taken there. Each time the pause is twice as long; one that the product asks for is kept to.
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

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_secs(1_000_000 + seconds)
    }

    fn unreachable() -> ChannelError {
        ChannelError::Unreachable("gone".into())
    }

    #[test]
    fn three_attempts_with_pauses_of_one_and_five_minutes() {
        for (attempt, next) in [
            (1, Next::Again(at(60), true)),
            (2, Next::Again(at(300), true)),
            (3, Next::GivenUp),
            (4, Next::GivenUp),
            (0, Next::GivenUp),
            (i64::MIN + 1, Next::GivenUp),
        ] {
            assert_eq!(after(&unreachable(), attempt, at(0), at(0)), next, "{attempt}");
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
            assert_eq!(after(&error, 1, at(0), at(0)), Next::GivenUp, "{error}");
        }
    }

    #[test]
    fn a_pause_that_is_asked_for_costs_no_attempt_and_ends() {
        for (seconds, pause) in [(Some(17), 17), (None, 60), (Some(0), 1), (Some(u32::MAX), 3600)] {
            let next = after(&ChannelError::Throttled(seconds), 1, at(0), at(5));
            assert_eq!(next, Next::Again(at(5 + pause), false));
        }
        let day = 24 * 3600;
        let asked = after(&ChannelError::Throttled(Some(1)), 1, at(0), at(day));
        assert_eq!(asked, Next::GivenUp);
        let missing = ChannelError::Missing("no plugin".into());
        assert_eq!(
            after(&missing, 1, at(0), at(day - 1)),
            Next::Again(at(day + 59), false)
        );
        let cancelled = Next::Cancelled(Suppressed::ChannelNotImplemented);
        assert_eq!(after(&missing, 1, at(0), at(day)), cancelled);
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
            circuits.failed(&here, &unreachable(), at(0));
            assert_eq!(circuits.left_alone(&here, at(0)), pause.map(at), "{failure}");
        }
        for _ in 0..100 {
            circuits.failed(&here, &unreachable(), at(0));
        }
        assert_eq!(circuits.left_alone(&here, at(0)), Some(at(1800)));
        assert_eq!(circuits.left_alone(&here, at(1800)), None, "one is tried again");
        assert_eq!(circuits.left_alone(&there, at(0)), None, "others go on");
        circuits.went_well(&here);
        circuits.failed(&here, &unreachable(), at(1800));
        assert_eq!(circuits.left_alone(&here, at(1800)), None);
        circuits.failed(&here, &ChannelError::Missing("no plugin".into()), at(1800));
        circuits.failed(&here, &ChannelError::Busy, at(1800));
        assert_eq!(
            circuits.left_alone(&here, at(1800)),
            None,
            "that says nothing of the destination"
        );
        circuits.failed(&here, &ChannelError::Throttled(Some(9)), at(1800));
        assert_eq!(circuits.left_alone(&here, at(1800)), Some(at(1809)));
    }
}
