//! Items of media libraries with all that duplicates are found and judged by, for an area that does not know the library's
//! rows.

use async_trait::async_trait;
use qm_kernel::Timestamp;

/// An item of a library, with its files.
#[derive(Clone, Debug, PartialEq)]
pub struct StockItem {
    pub id: String,
    pub library_id: String,
    pub media_type: String,
    /// Title; for an episode, the title of its series.
    pub title: String,
    pub year: Option<i64>,
    pub season: Option<i64>,
    pub episode: Option<i64>,
    pub episode_end: Option<i64>,
    /// `unmatched`, `matched` or `manual`.
    pub match_status: String,
    pub is_locked: bool,
    pub series_titledb_id: Option<String>,
    /// Provider and id, one a provider, in the order of the providers.
    pub external_ids: Vec<(String, String)>,
    /// Group of duplicates that it is stored with.
    pub group_id: Option<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// The first file, then other versions or parts of the same item.
    pub files: Vec<StockFile>,
}

impl StockItem {
    /// Path of the first file.
    pub fn path(&self) -> &str {
        self.files.first().map_or("", |file| &file.path)
    }

    /// Bytes of all files.
    pub fn size(&self) -> i64 {
        self.files.iter().map(|file| file.size.max(0)).sum()
    }
}

/// A file of an item.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StockFile {
    /// Absolute, as people are shown it.
    pub path: String,
    /// Bytes, as the last scan saw it.
    pub size: i64,
    /// Nanoseconds since 1970.
    pub mtime: i64,
    pub container: Option<String>,
    pub resolution: Option<String>,
    pub video_codec: Option<String>,
    pub audio_codec: Option<String>,
    pub hdr: Option<String>,
    pub release_group: Option<String>,
    pub quality: Option<String>,
    pub language: Option<String>,
    pub width: Option<i64>,
    pub height: Option<i64>,
    pub bitrate_kbps: Option<i64>,
    pub duration_sec: Option<i64>,
    pub audio_channels: Option<i64>,
    pub frame_rate: Option<f64>,
}

/// A library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StockLibrary {
    pub id: String,
    pub name: String,
    /// Absolute.
    pub path: String,
}

/// Offered by the media library. Answers come from what scans found; the disk is not looked at.
#[async_trait]
pub trait MediaStock: Send + Sync {
    /// At most `most` items with ids behind `after`, in the order of the ids.
    async fn list_behind(&self, after: &str, most: usize) -> Result<Vec<StockItem>, StockUnread>;

    /// Those of the items that exist, in the order of the ids that were asked for.
    async fn find_items(&self, ids: &[String]) -> Result<Vec<StockItem>, StockUnread>;

    /// As [`MediaStock::list_behind`], only items the path of whose first file contains `part` below its library.
    async fn list_with(&self, part: &str, after: &str, most: usize) -> Result<Vec<StockItem>, StockUnread>;

    async fn list_libraries(&self) -> Result<Vec<StockLibrary>, StockUnread>;

    /// Stores the groups of items; `None`: it is in no group. Items that are gone are passed over.
    async fn put_groups(&self, links: &[(String, Option<String>)]) -> Result<(), StockUnread>;
}

/// The media library could not answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the media library could not be read: {0}")]
pub struct StockUnread(pub String);
