//! Films and episodes that people own, as the media library knows them, for areas that ask if something is still
//! wanted.

use async_trait::async_trait;

/// Questions that one call takes.
pub const MOST_ASKED: usize = 500;

/// Offered by the media library. Answers come from what scans found; the disk is not looked at.
#[async_trait]
pub trait Library: Send + Sync {
    /// Files owned of each work in the questions, in the order of the questions; at most [`MOST_ASKED`] questions.
    async fn owned(&self, asked: &[Wanted]) -> Result<Vec<Vec<Owned>>, LibraryUnread>;

    /// Files owned of the content of each of these releases, in any quality; at most [`MOST_ASKED`] names. `None`: the
    /// name does not say what the release holds, or says it in a way that files are not known by, such as a day.
    async fn owned_releases(&self, names: &[String]) -> Result<Vec<Option<Vec<Owned>>>, LibraryUnread>;
}

/// A question about a work, or about a part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    pub work: Work,
    pub part: Part,
}

/// A film or a series.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// By its title, in any case. With a year: a film of that year; episodes of a series that began then, a year before or after,
    /// or nobody knows when.
    Title { title: String, year: Option<i64> },
    /// A series by its id in the data set of titles (`tt` and digits).
    Series(String),
    /// A film, or one episode, by its own id: `titledb` or a provider of metadata, and the id there.
    External { provider: String, id: String },
}

/// The part of a work that is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All there is.
    Whole,
    /// A film: no episode.
    Film,
    Season(i64),
    Episode {
        season: i64,
        episode: i64,
    },
    /// An episode that is counted through all seasons; one of the first season, or of none, has the same number there.
    Absolute(i64),
}

/// A file that people own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owned {
    pub item_id: String,
    pub library_id: String,
    pub media_type: String,
    /// The title; for an episode, the title of its series.
    pub title: String,
    pub year: Option<i64>,
    pub season: Option<i64>,
    pub episode: Option<i64>,
    /// The last of several episodes in one file.
    pub episode_end: Option<i64>,
    /// Somebody or something said what it is.
    pub is_known: bool,
    /// Absolute, as people are shown it.
    pub path: String,
    pub size: i64,
    /// Source and resolution as the name says, e.g. `WEB-DL 1080p`.
    pub quality: Option<String>,
    pub resolution: Option<String>,
    pub video_codec: Option<String>,
    pub audio_codec: Option<String>,
    pub hdr: Option<String>,
    pub release_group: Option<String>,
    /// Properties such as the resolution were read from the file itself; otherwise they are what its name says.
    pub is_measured: bool,
}

/// The media library could not answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LibraryUnread {
    #[error("{0} questions at once, and {MOST_ASKED} are the most")]
    TooMany(usize),
    #[error("the media library could not be read: {0}")]
    Storage(String),
}
