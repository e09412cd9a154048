//! What is in the libraries, as people look at it.

use super::item::{Item, MediaFile};
use super::library::MediaLibrary;

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
}

/// An item with what it belongs to.
#[derive(Clone, Debug)]
pub struct Detail {
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
