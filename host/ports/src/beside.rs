//! Pictures, subtitles and notes of items and shows, and groups of duplicates, as other areas know them, for the answers of the
//! media library, which does not know their rows. Those areas need the library, so they add themselves after it was made.

use std::sync::{Arc, RwLock, Weak};

use async_trait::async_trait;
use qm_kernel::Timestamp;
use qm_lanes::IgnorePoison as _;

/// Place of the file of a picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PictureLies {
    /// Path below the directory of the owner's library, as that of an item.
    Beside(String),
    /// Absolute path of a file that was given by somebody.
    Stored(String),
    /// Only its address is known.
    Elsewhere,
}

/// A picture of an item or of a show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownPicture {
    pub id: String,
    /// One of the two.
    pub item_id: Option<String>,
    pub show_id: Option<String>,
    /// Number of the season that it shows; `None`: the whole.
    pub season: Option<i64>,
    /// `poster`, `fanart`, `logo`, `clearart`, `banner`, `thumbnail`, `season_poster` or `episode_thumbnail`.
    pub kind: &'static str,
    /// `local`, `custom` or `provider_a`.
    pub source: &'static str,
    pub is_selected: bool,
    pub url: Option<String>,
    pub lies: PictureLies,
    /// Pixels.
    pub width: Option<i64>,
    pub height: Option<i64>,
    pub created_at: Timestamp,
}

/// Subtitles of an item: a file beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownSubtitle {
    pub id: String,
    /// Path below the library's directory, as that of an item.
    pub place: String,
    /// Two letters, or `und`.
    pub language: String,
    pub forced: bool,
    pub sdh: bool,
    pub by_default: bool,
    /// `sidecar`, or `embedded` for a track in the file at `place`.
    pub source: &'static str,
    pub created_at: Timestamp,
}

/// A note (NFO) that was written beside an item, or read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownNote {
    pub id: String,
    /// `movie`, `tvshow`, `season` or `episode`.
    pub kind: &'static str,
    /// Path below the library's directory, as that of an item.
    pub place: String,
    pub generated_at: Timestamp,
}

/// A file beside an item that a row is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownFile {
    /// Id of the row.
    pub id: String,
    /// `artwork`, `subtitle` or `nfo`.
    pub kind: &'static str,
    /// Path below the library's directory, as that of an item.
    pub place: String,
}

/// Offered by the area that keeps pictures and subtitles. Answers are what the last looks found; the disk is not looked at.
#[async_trait]
pub trait MediaPictures: Send + Sync {
    /// The poster of each of these items that has one: the selected one, else the oldest.
    async fn list_posters(&self, items: &[String]) -> Result<Vec<KnownPicture>, BesideUnread>;

    /// Posters of shows as wholes and of their seasons: of each the selected one, else the oldest.
    async fn list_show_posters(&self, shows: &[String]) -> Result<Vec<KnownPicture>, BesideUnread>;

    /// All pictures of an item, by type, the selected one first.
    async fn list_item_pictures(&self, item: &str) -> Result<Vec<KnownPicture>, BesideUnread>;

    /// All pictures of a show and of its seasons, by season and type, the selected one first.
    async fn list_show_pictures(&self, show: &str) -> Result<Vec<KnownPicture>, BesideUnread>;

    /// Subtitles of an item by language, forced ones last.
    async fn list_subtitles(&self, item: &str) -> Result<Vec<KnownSubtitle>, BesideUnread>;

    /// Files beside these items: pictures and subtitles.
    async fn list_files(&self, items: &[String]) -> Result<Vec<KnownFile>, BesideUnread>;
}

/// Offered by the area that writes notes.
#[async_trait]
pub trait MediaNotesWritten: Send + Sync {
    /// Notes of an item, by their places.
    async fn list_notes(&self, item: &str) -> Result<Vec<KnownNote>, BesideUnread>;

    /// Files of notes about these items.
    async fn list_files(&self, items: &[String]) -> Result<Vec<KnownFile>, BesideUnread>;
}

/// Offered by the area that finds duplicates.
#[async_trait]
pub trait MediaGroups: Send + Sync {
    /// Number of groups, whatever became of them.
    async fn count_groups(&self) -> Result<i64, BesideUnread>;
}

/// An area could not answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("what lies beside media could not be read: {0}")]
pub struct BesideUnread(pub String);

/// The areas that know something, for as long as they are there. Before they have come, nothing is known.
#[derive(Default)]
pub struct Beside {
    pictures: RwLock<Option<Weak<dyn MediaPictures>>>,
    notes: RwLock<Option<Weak<dyn MediaNotesWritten>>>,
    groups: RwLock<Option<Weak<dyn MediaGroups>>>,
}

impl Beside {
    pub fn add_pictures(&self, area: &Arc<impl MediaPictures + 'static>) {
        let area: Arc<dyn MediaPictures> = area.clone();
        *self.pictures.write().ignore_poison() = Some(Arc::downgrade(&area));
    }

    pub fn add_notes(&self, area: &Arc<impl MediaNotesWritten + 'static>) {
        let area: Arc<dyn MediaNotesWritten> = area.clone();
        *self.notes.write().ignore_poison() = Some(Arc::downgrade(&area));
    }

    pub fn add_groups(&self, area: &Arc<impl MediaGroups + 'static>) {
        let area: Arc<dyn MediaGroups> = area.clone();
        *self.groups.write().ignore_poison() = Some(Arc::downgrade(&area));
    }

    pub fn pictures(&self) -> Option<Arc<dyn MediaPictures>> {
        let area = self.pictures.read().ignore_poison();
        area.as_ref().and_then(Weak::upgrade)
    }

    pub fn groups(&self) -> Option<Arc<dyn MediaGroups>> {
        let area = self.groups.read().ignore_poison();
        area.as_ref().and_then(Weak::upgrade)
    }

    pub fn notes(&self) -> Option<Arc<dyn MediaNotesWritten>> {
        let area = self.notes.read().ignore_poison();
        area.as_ref().and_then(Weak::upgrade)
    }
}
