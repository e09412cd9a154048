//! Items and shows of media libraries, as an area sees them that keeps pictures and subtitles of them and does not know the
//! library's rows.

use async_trait::async_trait;
use qm_kernel::Timestamp;

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
    /// Tracks of subtitles in its files, as the last look into them found them.
    pub tracks: Vec<SubjectTrack>,
}

/// A track of subtitles in a file of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubjectTrack {
    /// Id of the file.
    pub file_id: String,
    /// Path of the file, as those of an item's files.
    pub place: String,
    /// Number among the tracks of subtitles in the file, from 0.
    pub number: usize,
    /// Language as the file names it: two or three letters, maybe with a region; `None`: it names none.
    pub language: Option<String>,
    /// Title that people gave it.
    pub title: Option<String>,
    pub forced: bool,
    /// For the deaf and hard of hearing.
    pub sdh: bool,
    /// Shown unless somebody chooses another one.
    pub by_default: bool,
    /// Time when the file was looked into.
    pub found_at: Timestamp,
}

/// Area that looks for what lies beside videos; each has its own list of changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeReader {
    /// Pictures and subtitles.
    Pictures,
    /// Notes (NFO).
    Notes,
}

impl ChangeReader {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pictures => "pictures",
            Self::Notes => "notes",
        }
    }
}

/// A directory of a library in which something changed, so that what lies beside videos may be something else now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubjectChange {
    pub number: i64,
    pub library_id: String,
    pub directory_id: String,
    /// Path of the directory, as those of an item's files; empty: the library's own directory.
    pub place: String,
    /// True if items in directories below may be concerned too.
    pub below: bool,
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

    /// The first changes that a reader has not forgotten, `most` of them and all others of their directories, the oldest first.
    async fn list_changes(
        &self,
        reader: ChangeReader,
        most: usize,
    ) -> Result<Vec<SubjectChange>, SubjectsUnread>;

    /// Items with a file in the directory of a change, or below it where that is concerned; those with ids behind `after`, in the
    /// order of the ids, without their tracks.
    async fn list_changed_items(
        &self,
        change: &SubjectChange,
        after: &str,
        most: usize,
    ) -> Result<Vec<SubjectItem>, SubjectsUnread>;

    /// Shows whose folder is the directory of a change, or has it in it.
    async fn list_changed_shows(&self, change: &SubjectChange) -> Result<Vec<SubjectShow>, SubjectsUnread>;

    /// Forgets changes by their numbers, after whoever looks has stored what it found.
    async fn forget_changes(&self, numbers: &[i64]) -> Result<(), SubjectsUnread>;
}

/// The media library could not answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the media library could not be read: {0}")]
pub struct SubjectsUnread(pub String);
