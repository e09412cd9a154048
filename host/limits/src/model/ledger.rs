//! Ledger: which torrents reached a limit, and what became of that. Pure.

use std::time::Duration;

use qm_kernel::Timestamp;

/// Difference of two instants of adding that is none: a client may tell whole seconds, and the server its own clock.
const SAME_ADDED: Duration = Duration::from_mins(1);

/// Standing of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Begun, and not known to be done.
    Acting,
    Done,
    /// Tried again later.
    Failed,
}

impl State {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Acting => "acting",
            Self::Done => "done",
            Self::Failed => "failed",
        }
    }

    /// State of a word; an unknown word is begun.
    pub fn from_word(word: &str) -> Self {
        match word {
            "done" => Self::Done,
            "failed" => Self::Failed,
            _ => Self::Acting,
        }
    }
}

/// Entry of a torrent that reached a limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub hash: String,
    /// Fingerprint of the limits.
    pub limits: String,
    pub added_at: Option<Timestamp>,
    pub reached: String,
    pub action: String,
    pub state: State,
    pub attempts: u32,
    pub error: Option<String>,
    /// The error that people were told of last.
    pub told: Option<String>,
    pub next_at: Option<Timestamp>,
    pub at: Timestamp,
}

impl Entry {
    /// True when it is about these limits, by their fingerprint, and about this torrent.
    pub fn is_about(&self, limits: &str, added_at: Option<Timestamp>) -> bool {
        self.limits == limits && !is_another(self.added_at, added_at)
    }
}

/// True when a torrent was added later than the one that something is stored of.
pub fn is_another(stored: Option<Timestamp>, told: Option<Timestamp>) -> bool {
    matches!((stored, told), (Some(stored), Some(told)) if told.since(stored) > SAME_ADDED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torrent_that_was_added_later_is_another_one() {
        let at = |secs| Some(Timestamp::from_secs(secs));
        assert!(is_another(at(100), at(200)));
        for (stored, told) in [
            (at(100), at(160)),
            (at(200), at(100)),
            (None, at(9)),
            (at(9), None),
            (None, None),
        ] {
            assert!(!is_another(stored, told), "{stored:?} {told:?}");
        }
    }
}
