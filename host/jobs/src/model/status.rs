//! The states of a job and the moves between them. Pure.

use std::fmt;

macro_rules! statuses {
    ($($name:ident = $word:literal, [$($to:ident)*];)+) => {
        /// State of a job.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Status { $(#[doc = $word] $name,)+ }

        impl Status {
            pub const ALL: &'static [Status] = &[$(Status::$name,)+];
            /// The words of [`Status::ALL`], in the same order.
            pub const WORDS: &'static [&'static str] = &[$($word,)+];

            /// The word in the database and on the wire.
            pub const fn as_str(self) -> &'static str {
                match self { $(Status::$name => $word,)+ }
            }

            pub fn from_word(word: &str) -> Option<Status> {
                match word { $($word => Some(Status::$name),)+ _ => None }
            }

            /// The states that a job in this state may move to.
            pub const fn next(self) -> &'static [Status] {
                match self { $(Status::$name => &[$(Status::$to,)*],)+ }
            }
        }
    };
}

statuses! {
    Scheduled = "scheduled", [Queued Cancelled Expired];
    Queued = "queued", [Running Waiting Blocked Cancelled Skipped];
    Waiting = "waiting", [Queued Blocked Cancelled Expired];
    Blocked = "blocked", [Queued Cancelled Expired];
    Running = "running", [Completed CompletedWithWarnings Failed Cancelling Pausing];
    Pausing = "pausing", [Paused Running Failed Cancelling];
    Paused = "paused", [Queued Running Cancelled];
    Retrying = "retrying", [Queued];
    Completed = "completed", [];
    CompletedWithWarnings = "completed_with_warnings", [];
    Failed = "failed", [Retrying];
    Cancelling = "cancelling", [Cancelled];
    Cancelled = "cancelled", [];
    Skipped = "skipped", [];
    Expired = "expired", [];
}

impl Status {
    pub fn may_become(self, to: Status) -> bool {
        self.next().contains(&to)
    }

    /// True while the job has not reached a final state.
    pub const fn is_active(self) -> bool {
        match self {
            Status::Scheduled
            | Status::Queued
            | Status::Waiting
            | Status::Blocked
            | Status::Running
            | Status::Pausing
            | Status::Paused
            | Status::Retrying
            | Status::Cancelling => true,
            Status::Completed
            | Status::CompletedWithWarnings
            | Status::Failed
            | Status::Cancelled
            | Status::Skipped
            | Status::Expired => false,
        }
    }

    /// True while a worker holds the job.
    pub const fn is_held(self) -> bool {
        matches!(self, Status::Running | Status::Pausing | Status::Cancelling)
    }

    /// The word of the simple list, which has only five states.
    pub const fn folded(self) -> &'static str {
        match self {
            Status::Running | Status::Pausing | Status::Cancelling => "running",
            Status::Completed | Status::CompletedWithWarnings => "completed",
            Status::Failed => "failed",
            Status::Cancelled | Status::Skipped | Status::Expired => "cancelled",
            Status::Scheduled
            | Status::Queued
            | Status::Waiting
            | Status::Blocked
            | Status::Paused
            | Status::Retrying => "queued",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// The agreed transitions, kept apart from the code: from, then to.
    pub const AGREED: &[(&str, &str)] = &[
        ("scheduled", "queued, cancelled, expired"),
        ("queued", "running, waiting, blocked, cancelled, skipped"),
        ("waiting", "queued, blocked, cancelled, expired"),
        ("blocked", "queued, cancelled, expired"),
        (
            "running",
            "completed, completed_with_warnings, failed, cancelling, pausing",
        ),
        ("pausing", "paused, running, failed, cancelling"),
        ("paused", "queued, running, cancelled"),
        ("retrying", "queued"),
        ("failed", "retrying"),
        ("cancelling", "cancelled"),
    ];

    pub fn is_agreed(from: &str, to: &str) -> bool {
        AGREED
            .iter()
            .any(|(start, ends)| *start == from && ends.split(", ").any(|end| end == to))
    }

    #[test]
    fn the_moves_are_those_agreed_and_no_others() {
        for &from in Status::ALL {
            for &to in Status::ALL {
                assert_eq!(
                    from.may_become(to),
                    is_agreed(from.as_str(), to.as_str()),
                    "{from} to {to}"
                );
            }
        }
        assert_eq!(Status::ALL.len(), 15);
    }

    #[test]
    fn words_round_trip_and_what_is_held_is_active() {
        for &status in Status::ALL {
            assert_eq!(Status::from_word(status.as_str()), Some(status));
            assert!(!status.is_held() || status.is_active(), "{status}");
        }
        let active: Vec<&str> = Status::ALL
            .iter()
            .filter(|status| status.is_active())
            .map(|status| status.as_str())
            .collect();
        assert_eq!(
            active,
            [
                "scheduled",
                "queued",
                "waiting",
                "blocked",
                "running",
                "pausing",
                "paused",
                "retrying",
                "cancelling"
            ]
        );
    }
}
