//! Items and shows of media libraries, as an area sees them that keeps pictures and subtitles of them and does not know the
//! library's rows.

use async_trait::async_trait;

/// An item: a film or an episode, and its files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SubjectItem {
    pub id: String,
    /// Directory of its library, absolute.
    pub library: String,
    /// `movie`, `tv`, `anime`, `music_video`, `documentary` or `other_video`.
    pub media_type: String,
    pub season: Option<i64>,
    pub episode: Option<i64>,
    /// Paths of its files below the library's directory, the first file first. A path that is not UTF-8 is percent-encoded
    /// behind a slash.
    pub places: Vec<String>,
    /// Ids at providers: the provider and the id.
    pub ids: Vec<(String, String)>,
}

/// A show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SubjectShow {
    pub id: String,
    /// Directory of its library, absolute.
    pub library: String,
    /// Path of its folder, as those of an item's files.
    pub place: String,
    pub provider_a_id: Option<String>,
}

/// Offered by the media library. Answers come from what scans found; the disk is not looked at.
#[async_trait]
pub trait MediaSubjects: Send + Sync {
    /// The item with this id.
    async fn find_item(&self, id: &str) -> Result<Option<SubjectItem>, SubjectsUnread>;

    /// The show with this id.
    async fn find_show(&self, id: &str) -> Result<Option<SubjectShow>, SubjectsUnread>;
}

/// The media library could not answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the media library could not be read: {0}")]
pub struct SubjectsUnread(pub String);
