//! Ledger: which torrents reached a limit, and what became of that. Pure.

use qm_kernel::Timestamp;

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
