//! Grabs: torrents that wait to be added to a client, or were added.

use std::time::Duration;

use qm_kernel::Timestamp;

/// Pause after the first failed attempt; it doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_secs(30);
const LONGEST_PAUSE: Duration = Duration::from_mins(15);
/// Time after which an unreachable client is given up.
const PATIENCE: Duration = Duration::from_hours(7 * 24);
/// Attempts on a download link whose site does not answer.
const MAX_LINK_ATTEMPTS: i64 = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrabState {
    /// Decided; not known to be in a client yet.
    Pending,
    Done,
    /// Failed finally; no automatic retry.
    Failed,
    /// A candidate of a better place was grabbed first.
    Superseded,
    /// A user has asked for the item once more.
    Reset,
}

impl GrabState {
    pub const fn as_str(self) -> &'static str {
        match self {
            GrabState::Pending => "pending",
            GrabState::Done => "done",
            GrabState::Failed => "failed",
            GrabState::Superseded => "superseded",
            GrabState::Reset => "reset",
        }
    }

    pub fn from_word(word: &str) -> Self {
        match word {
            "done" => GrabState::Done,
            "failed" => GrabState::Failed,
            "superseded" => GrabState::Superseded,
            "reset" => GrabState::Reset,
            _ => GrabState::Pending,
        }
    }
}

/// A torrent that waits to be added to a client, or was added.
#[derive(Clone, Debug)]
pub struct Grab {
    pub id: String,
    /// Rule that decided it; `None`: a user requested it.
    pub rule_id: Option<String>,
    pub history_id: Option<String>,
    pub candidate_id: Option<String>,
    /// Place of the matched candidate; 0 without one.
    pub priority_order: i64,
    pub identity: Option<String>,
    pub title: String,
    pub info_hash: Option<String>,
    /// Magnet link or address of a .torrent file.
    pub source: String,
    pub save_path: Option<String>,
    pub state: GrabState,
    pub attempts: i64,
    pub engine_id: Option<String>,
    pub error: Option<String>,
    pub created_at: Timestamp,
}

/// State of a grab for display.
#[derive(Clone, Debug)]
pub struct GrabNote {
    pub state: GrabState,
    pub attempts: i64,
    pub error: Option<String>,
    pub next_attempt_at: Option<Timestamp>,
}

/// Kind of failure of an add, which decides about retries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setback {
    /// Refused: a retry would change nothing.
    Final,
    /// The site of the download link did not answer.
    Link,
    /// The torrent client did not answer.
    Engine,
}

impl Grab {
    /// Time of the next attempt after one that has just failed; `None`: no further attempt.
    pub fn again(&self, setback: Setback, now: Timestamp) -> Option<Timestamp> {
        let goes_on = match setback {
            Setback::Final => false,
            Setback::Link => self.attempts < MAX_LINK_ATTEMPTS,
            Setback::Engine => now.since(self.created_at) < PATIENCE,
        };
        goes_on.then(|| now.plus(pause(self.attempts)))
    }
}

/// Pause after this number of attempts.
fn pause(attempts: i64) -> Duration {
    let doublings = u32::try_from(attempts.clamp(1, 10) - 1).unwrap_or_default();
    (FIRST_PAUSE * 2u32.pow(doublings)).min(LONGEST_PAUSE)
}

/// Normalised title; items without info-hash and with the same key are the same release.
pub fn title_key(title: &str) -> String {
    title.trim().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grab(attempts: i64) -> Grab {
        Grab {
            id: "g".into(),
            rule_id: None,
            history_id: None,
            candidate_id: None,
            priority_order: 0,
            identity: None,
            title: String::new(),
            info_hash: None,
            source: String::new(),
            save_path: None,
            state: GrabState::Pending,
            attempts,
            engine_id: None,
            error: None,
            created_at: Timestamp::from_ms(0),
        }
    }

    #[test]
    fn an_engine_is_waited_for_ever_longer_and_for_a_week() {
        let now = Timestamp::from_secs(1000);
        let pauses: Vec<u64> = (1..=7)
            .filter_map(|attempts| grab(attempts).again(Setback::Engine, now))
            .map(|at| at.since(now).as_secs())
            .collect();
        assert_eq!(pauses, [30, 60, 120, 240, 480, 900, 900]);
        let late = Timestamp::from_secs(7 * 86_400);
        assert_eq!(grab(900).again(Setback::Engine, late), None);
    }

    #[test]
    fn a_link_is_tried_five_times_and_a_refusal_never_again() {
        let now = Timestamp::from_secs(1000);
        assert!(grab(4).again(Setback::Link, now).is_some());
        assert_eq!(grab(5).again(Setback::Link, now), None);
        assert_eq!(grab(1).again(Setback::Final, now), None);
    }
}
