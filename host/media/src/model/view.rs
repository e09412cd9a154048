//! Contents of the libraries, as people look at them.

use std::collections::BTreeMap;

use qm_ports::beside::{KnownNote, KnownPicture, KnownSubtitle};

use super::extra::Extra;
use super::item::{Item, MediaFile};
use super::library::MediaLibrary;
use super::series::Series;
use super::titles::Suggestion;

/// A library, with the scan that was started.
#[derive(Clone, Debug)]
pub struct Asked {
    pub library: MediaLibrary,
    pub scan_job_id: String,
    /// Warnings about settings that may be a mistake.
    pub warnings: Vec<String>,
}

/// Counts of items over all libraries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub total: i64,
    pub by_type: Vec<(String, i64)>,
    pub unmatched: i64,
    /// Items with a confidence below one half.
    pub unsure: i64,
    pub recent: i64,
    /// Items without any picture.
    pub missing_artwork: i64,
    /// Items without any subtitles.
    pub missing_subtitles: i64,
}

/// Numbers of items that have each fault.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    pub unmatched: i64,
    pub missing_artwork: i64,
    pub missing_subtitles: i64,
    pub duplicate: i64,
}

/// Health of all libraries together.
#[derive(Clone, Debug)]
pub struct Health {
    pub counts: Counts,
    /// Groups of duplicates, whatever became of them.
    pub duplicate_groups: i64,
    pub failed_jobs: u64,
    /// Problems that keep libraries from working in full, for people to read.
    pub problems: Vec<String>,
}

/// An item with what it belongs to.
#[derive(Clone, Debug)]
pub struct Detail {
    /// Titles it may be, the likeliest first.
    pub suggestions: Vec<Suggestion>,
    /// Extras of the item, if it is a film.
    pub extras: Vec<Extra>,
    /// Files beside it, and tracks in its files.
    pub subtitles: Vec<KnownSubtitle>,
    pub notes: Vec<KnownNote>,
    pub item: Item,
    pub file: MediaFile,
    pub library: MediaLibrary,
}

/// An item with its file and the path of its library.
pub type Listed = (Item, MediaFile, String);

/// A picture with the directory of the library of its owner.
pub type Poster = (KnownPicture, String);

/// A series with its poster.
pub type ShownSeries = (Series, Option<Poster>);

/// State of the watch on a library.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchState {
    /// Directories that are watched; `None`: it is not watched.
    pub count: Option<usize>,
    /// Reason why it is not watched although it should be.
    pub degraded: Option<String>,
}

/// Score of an episode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    pub item_id: String,
    pub season: Option<i64>,
    pub episode: Option<i64>,
    pub score: i64,
    pub reasons: Vec<&'static str>,
}

/// Scores of the episodes of a series.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeriesHealth {
    /// By season and episode.
    pub episodes: Vec<Judged>,
    pub bytes: i64,
}

/// A known file that is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingFile {
    /// Id of the row that refers to the missing file.
    pub id: String,
    pub path: String,
    pub kind: &'static str,
}

/// Files of a library that are missing on its disk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Consistency {
    /// Number of paths that were looked for.
    pub checked: u64,
    /// The first missing files.
    pub missing: Vec<MissingFile>,
    pub by_kind: BTreeMap<&'static str, u64>,
}

impl Consistency {
    /// Most missing files that are named.
    const NAMED: usize = 500;

    pub fn add(&mut self, missing: MissingFile) {
        *self.by_kind.entry(missing.kind).or_default() += 1;
        if self.missing.len() < Self::NAMED {
            self.missing.push(missing);
        }
    }

    /// True if more files are missing than are named.
    pub fn is_truncated(&self) -> bool {
        self.by_kind.values().sum::<u64>() > self.missing.len() as u64
    }
}
