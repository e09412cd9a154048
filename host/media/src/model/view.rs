//! What is in the libraries, as people look at it.

use std::collections::BTreeMap;

use super::extra::Extra;
use super::item::{Item, MediaFile};
use super::library::MediaLibrary;
use super::titles::Suggestion;

/// A library, and the scan that was asked for.
#[derive(Clone, Debug)]
pub struct Asked {
    pub library: MediaLibrary,
    pub scan_job_id: String,
    /// Things people may not have meant.
    pub warnings: Vec<String>,
}

/// How the items are, all libraries together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub total: i64,
    pub by_type: Vec<(String, i64)>,
    pub unmatched: i64,
    /// Of a confidence below a half.
    pub unsure: i64,
    pub recent: i64,
}

/// How the libraries are, all together.
#[derive(Clone, Debug)]
pub struct Health {
    pub counts: Counts,
    pub failed_jobs: u64,
    /// What keeps libraries from doing all they should.
    pub problems: Vec<String>,
}

/// An item with what it belongs to.
#[derive(Clone, Debug)]
pub struct Detail {
    /// Titles it may be, the likeliest first.
    pub suggestions: Vec<Suggestion>,
    /// Extras of it, where it is a film.
    pub extras: Vec<Extra>,
    pub item: Item,
    pub file: MediaFile,
    pub library: MediaLibrary,
}

/// An item with its file and the path of its library.
pub type Listed = (Item, MediaFile, String);

/// How a library is watched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchState {
    /// Directories that are watched; `None`: it is not watched.
    pub count: Option<usize>,
    /// Why it is not, though it should be.
    pub degraded: Option<String>,
}

/// What an episode is worth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    pub item_id: String,
    pub season: Option<i64>,
    pub episode: Option<i64>,
    pub score: i64,
    pub reasons: Vec<&'static str>,
}

/// What the episodes of a series are worth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeriesHealth {
    /// By season and episode.
    pub episodes: Vec<Judged>,
    pub bytes: i64,
}

/// Something that is known and is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingFile {
    /// Of the row that says it is there.
    pub id: String,
    pub path: String,
    pub kind: &'static str,
}

/// What of a library is not there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Consistency {
    /// Paths that were looked for.
    pub checked: u64,
    /// The first of them.
    pub missing: Vec<MissingFile>,
    pub by_kind: BTreeMap<&'static str, u64>,
}

impl Consistency {
    /// Files that are named.
    const NAMED: usize = 500;

    pub fn add(&mut self, missing: MissingFile) {
        *self.by_kind.entry(missing.kind).or_default() += 1;
        if self.missing.len() < Self::NAMED {
            self.missing.push(missing);
        }
    }

    /// Whether more is missing than is named.
    pub fn is_truncated(&self) -> bool {
        self.by_kind.values().sum::<u64>() > self.missing.len() as u64
    }
}
