//! Created torrents: their states, and the choices they are made by. Pure.

use std::time::Duration;

use qm_kernel::Timestamp;
use qm_metainfo::create::{Format, Options};
use serde::{Deserialize, Serialize};

/// Largest number of torrents of a user that wait or are made.
pub const MAX_ACTIVE: u64 = 5;
/// Finished torrents of a user that are kept, the newest.
pub const KEPT: u64 = 50;
/// Time for which a finished torrent is kept.
pub const KEPT_FOR: Duration = Duration::from_hours(30 * 24);

/// Program that a torrent names as its creator.
const CREATOR: &str = "Quartermaster";

/// Stage of a created torrent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Its job waits.
    Queued,
    /// Its files are read.
    Hashing,
    /// The file is made, and an engine gets it.
    Seeding,
    Completed,
    Failed,
    Cancelled,
}

impl State {
    pub const fn as_str(self) -> &'static str {
        match self {
            State::Queued => "queued",
            State::Hashing => "hashing",
            State::Seeding => "seeding",
            State::Completed => "completed",
            State::Failed => "failed",
            State::Cancelled => "cancelled",
        }
    }

    /// The state of a stored word; one that is not known counts as failed.
    pub fn from_word(word: &str) -> Self {
        match word {
            "queued" => State::Queued,
            "hashing" => State::Hashing,
            "seeding" => State::Seeding,
            "completed" => State::Completed,
            "cancelled" => State::Cancelled,
            _ => State::Failed,
        }
    }

    /// True until its job has ended.
    pub const fn is_active(self) -> bool {
        matches!(self, State::Queued | State::Hashing | State::Seeding)
    }

    /// True when there is a file.
    pub const fn is_made(self) -> bool {
        matches!(self, State::Seeding | State::Completed)
    }
}

/// Words for the formats that can be made.
pub const FORMATS: &[&str] = &["v1", "hybrid"];

pub const fn format_word(format: Format) -> &'static str {
    match format {
        Format::V1 => "v1",
        Format::Hybrid => "hybrid",
    }
}

pub fn format_of(word: &str) -> Format {
    match word {
        "hybrid" => Format::Hybrid,
        _ => Format::V1,
    }
}

/// Choices for a torrent that are needed until it is made. Addresses may contain keys.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Choices {
    pub piece_size: Option<u64>,
    pub source: Option<String>,
    pub trackers: Vec<Vec<String>>,
    pub web_seeds: Vec<String>,
    pub comment: Option<String>,
    /// Category, tags and state in the engine that seeds it.
    pub category: Option<String>,
    pub tags: Vec<String>,
    pub start_paused: bool,
}

impl Choices {
    /// Options of the maker.
    pub fn to_options(&self, format: Format, is_private: bool, now: Timestamp) -> Options {
        Options {
            format,
            piece_size: self.piece_size,
            is_private,
            source: self.source.clone(),
            trackers: self.trackers.clone(),
            web_seeds: self.web_seeds.clone(),
            comment: self.comment.clone(),
            created_by: Some(CREATOR.to_owned()),
            created_at: Some(now.ms().max(0) / 1000),
        }
    }
}

/// A wish for a torrent, whose path is still to be looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    /// Name under which it is listed; none: that of the file or folder.
    pub name: Option<String>,
    pub format: Format,
    pub is_private: bool,
    pub choices: Choices,
    /// Engine that seeds it.
    pub engine_id: Option<String>,
}

/// The way of a torrent into its engine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Seeding {
    pub engine_id: String,
    pub state: SeedState,
    /// Directory that holds the content, as engines are told of it; known when the torrent is made.
    pub directory: Option<String>,
    /// Info-hash under which the engine lists it.
    pub hash: Option<String>,
    /// The engine had it before.
    pub existed: bool,
    pub error: Option<String>,
}

/// Result of the hand-over to an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SeedState {
    Pending,
    Added,
    Failed,
}

impl SeedState {
    pub const fn as_str(self) -> &'static str {
        match self {
            SeedState::Pending => "pending",
            SeedState::Added => "added",
            SeedState::Failed => "failed",
        }
    }
}

impl Seeding {
    pub const fn pending(engine_id: String) -> Self {
        Self {
            engine_id,
            state: SeedState::Pending,
            directory: None,
            hash: None,
            existed: false,
            error: None,
        }
    }

    #[must_use]
    pub fn failed(self, error: impl Into<String>) -> Self {
        Self {
            state: SeedState::Failed,
            error: Some(error.into()),
            ..self
        }
    }
}

/// Facts about a finished file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// 40 digits.
    pub hash_v1: Option<String>,
    /// 64 digits.
    pub hash_v2: Option<String>,
    /// Bytes of the content.
    pub size: u64,
    pub piece_size: u64,
    pub pieces: u64,
}

/// A torrent that a user created, or is creating.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreatedTorrent {
    pub id: String,
    pub user_id: String,
    pub job_id: String,
    pub state: State,
    pub name: String,
    /// The root in effect when it was asked for, and the percent-encoded path below it.
    pub root: String,
    pub path: String,
    pub format: Format,
    pub is_private: bool,
    /// Once it is made.
    pub facts: Option<Facts>,
    pub seeding: Option<Seeding>,
    /// Why it was not made.
    pub error: Option<String>,
    pub created_at: Timestamp,
    pub ended_at: Option<Timestamp>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_read_back() {
        use State::{Cancelled, Completed, Failed, Hashing, Queued, Seeding};
        for state in [Queued, Hashing, Seeding, Completed, Failed, Cancelled] {
            assert_eq!(State::from_word(state.as_str()), state);
        }
        assert_eq!(State::from_word("burnt"), Failed);
    }

    #[test]
    fn formats_are_read_back() {
        assert_eq!(FORMATS, [format_word(Format::V1), format_word(Format::Hybrid)]);
        for word in FORMATS {
            assert_eq!(format_word(format_of(word)), *word);
        }
    }
}
