//! Media libraries and their shows, as an area sees them that names files and does not know the library's rows.

use async_trait::async_trait;

/// A media library.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shelf {
    pub id: String,
    /// `tv`, `anime`, `movie`, `music`, `audiobook` or `general`.
    pub kind: String,
    /// Absolute.
    pub path: String,
}

/// A show of a library.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShelfShow {
    pub title: String,
    pub year: Option<i64>,
    /// Its folder below the library's directory, as people are shown it.
    pub folder: String,
}

/// Offered by the media library. Answers come from what scans found; the disk is not looked at.
#[async_trait]
pub trait MediaShelves: Send + Sync {
    /// The library with this directory.
    async fn find_shelf(&self, path: &str) -> Result<Option<Shelf>, ShelvesUnread>;

    /// The shows of a library, in the order of their folders; none for an unknown one.
    async fn list_shows(&self, library_id: &str) -> Result<Vec<ShelfShow>, ShelvesUnread>;
}

/// The media library could not answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the media library could not be read: {0}")]
pub struct ShelvesUnread(pub String);
