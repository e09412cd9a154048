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
    /// Preset of names: `plex`, `jellyfin`, `emby`, `kodi` or `custom`.
    pub preset: String,
    /// Template in place of those of the preset.
    pub template: Option<String>,
    /// Manner in which files get their names, e.g. `hardlink`.
    pub mode: String,
    /// True if its owner wants files to be named without being asked.
    pub auto_organize: bool,
}

/// An item whose file may be named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShelfItem {
    pub id: String,
    /// Absolute, as people are shown it.
    pub path: String,
    pub title: String,
    pub year: Option<i64>,
}

/// An item with its library.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShelvedItem {
    pub library_id: String,
    /// Somebody wants it to stay as it is.
    pub is_locked: bool,
    pub item: ShelfItem,
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

    /// The library with this id.
    async fn find_shelf_by_id(&self, id: &str) -> Result<Option<Shelf>, ShelvesUnread>;

    /// The library with this directory, or else the nearest one above it.
    async fn find_shelf_around(&self, path: &str) -> Result<Option<Shelf>, ShelvesUnread>;

    /// Unlocked items of a library with a season or an episode, in the order of their ids, `most` at most.
    async fn list_episodes(&self, library_id: &str, most: usize) -> Result<Vec<ShelfItem>, ShelvesUnread>;

    /// Unlocked items of a library with ids greater than `after`, in the order of their ids, `most` at most.
    async fn list_items(
        &self,
        library_id: &str,
        after: Option<&str>,
        most: usize,
    ) -> Result<Vec<ShelfItem>, ShelvesUnread>;

    /// The items with these ids, locked or not; those that are not there are left out.
    async fn find_items(&self, ids: &[String]) -> Result<Vec<ShelvedItem>, ShelvesUnread>;

    /// Absolute paths of an item's files, as people are shown them; `None`: there is no such item.
    async fn list_item_files(&self, item_id: &str) -> Result<Option<Vec<String>>, ShelvesUnread>;

    /// The shows of a library, in the order of their folders; none for an unknown one.
    async fn list_shows(&self, library_id: &str) -> Result<Vec<ShelfShow>, ShelvesUnread>;
}

/// The media library could not answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the media library could not be read: {0}")]
pub struct ShelvesUnread(pub String);
