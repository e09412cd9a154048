//! Items of media libraries with what is known of them, as an area sees them that writes notes (NFO) about them and does not know
//! the library's rows.

use async_trait::async_trait;

/// A library whose items may have notes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NotedLibrary {
    pub id: String,
    /// Absolute.
    pub path: String,
    /// Notes may be written there.
    pub nfo_enabled: bool,
}

/// Facts about an item, from people and providers. What is not known is empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NotedFacts {
    pub title: Option<String>,
    pub original_title: Option<String>,
    pub sort_title: Option<String>,
    pub overview: Option<String>,
    /// `YYYY-MM-DD`.
    pub release_date: Option<String>,
    pub year: Option<i64>,
    /// Minutes.
    pub runtime: Option<i64>,
    pub genres: Vec<String>,
    pub studios: Vec<String>,
    /// Name and role.
    pub cast: Vec<(String, Option<String>)>,
    pub directors: Vec<String>,
    pub writers: Vec<String>,
    /// 0 to 10.
    pub rating: Option<f64>,
    pub certification: Option<String>,
    pub tags: Vec<String>,
}

/// An item: a film or an episode.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NotedItem {
    pub id: String,
    pub library: NotedLibrary,
    /// `movie`, `tv`, `anime`, `music_video`, `documentary` or `other_video`.
    pub media_type: String,
    /// Title; of an episode, that of its show.
    pub title: String,
    pub year: Option<i64>,
    pub season: Option<i64>,
    pub episode: Option<i64>,
    pub locked: bool,
    /// Path of its first file below the library's directory. A path that is not UTF-8 is percent-encoded behind a slash.
    pub place: String,
    /// Ids at providers: the provider and the id.
    pub ids: Vec<(String, String)>,
    pub facts: NotedFacts,
}

/// Offered by the media library.
#[async_trait]
pub trait MediaNotes: Send + Sync {
    /// The item with this id.
    async fn find_noted(&self, id: &str) -> Result<Option<NotedItem>, NotesUnread>;

    /// The library with this id.
    async fn find_noted_library(&self, id: &str) -> Result<Option<NotedLibrary>, NotesUnread>;

    /// Ids of the unlocked items of a library, at most so many.
    async fn list_unlocked(&self, library_id: &str, most: usize) -> Result<Vec<String>, NotesUnread>;

    /// Those of the ids that an item has.
    async fn list_known(&self, ids: &[String]) -> Result<Vec<String>, NotesUnread>;
}

/// Offered by the media library too: it takes what people and other programs wrote into notes.
#[async_trait]
pub trait NoteTaker: Send + Sync {
    /// Fills in what is not known of an item; false if nothing was new, it is locked, or it is gone.
    async fn take_item_note(&self, item: &str, facts: NotedFacts) -> Result<bool, NotesUnread>;

    /// Fills in what is not known of a show; false if nothing was new, or it is gone.
    async fn take_show_note(&self, show: &str, facts: NotedFacts) -> Result<bool, NotesUnread>;
}

/// The media library could not answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the media library could not be read: {0}")]
pub struct NotesUnread(pub String);
