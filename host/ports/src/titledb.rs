//! The titles of the imported data set, for areas that ask what something is.

use async_trait::async_trait;

/// Offered by titledb. Where no data set is imported, or the operator does not want it used, nothing is found.
#[async_trait]
pub trait TitleData: Send + Sync {
    /// A mark of the data set that is asked. It changes with the data set, and with the part of it that people want to
    /// see. `None`: there is no data set, or it is not wanted; an empty answer then means nothing. Two answers belong
    /// together if the mark is the same before and after.
    async fn edition(&self) -> Result<Option<String>, TitleDataError>;

    /// A title by its id (`tt` and digits).
    async fn title(&self, id: &str) -> Result<Option<TitleRecord>, TitleDataError>;

    /// Titles that answer a question, the best first; 20 at most.
    async fn search(&self, asked: &TitleQuestion) -> Result<Vec<TitleMatch>, TitleDataError>;

    /// The title that answers best, where one answers at all.
    async fn best(&self, asked: &TitleQuestion) -> Result<Option<TitleMatch>, TitleDataError>;

    /// The series of this title and year: one whose name, or another one it is known by, is the same, see `qm_titles::show`. One without
    /// episodes is none, and of several that are equal those that have the seasons come first.
    async fn series(&self, asked: &SeriesQuestion) -> Result<SeriesAnswer, TitleDataError>;

    /// The episodes of a series, in their order.
    async fn episodes(&self, id: &str) -> Result<Vec<EpisodeRecord>, TitleDataError>;

    /// The series that a title is an episode of.
    async fn parent(&self, id: &str) -> Result<Option<String>, TitleDataError>;

    /// The people who had a part in a title, in their order.
    async fn credits(&self, id: &str) -> Result<Vec<CreditRecord>, TitleDataError>;
}

/// A search for a title.
#[derive(Clone, Debug, Default)]
pub struct TitleQuestion {
    pub title: String,
    pub year: Option<i64>,
    pub kind: Option<TitleKind>,
}

/// A series that is looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct SeriesQuestion {
    /// With a country and a year behind it, where there are any.
    pub title: String,
    pub year: Option<i64>,
    /// Seasons of it that somebody has.
    pub seasons: Vec<i64>,
}

/// The series that was looked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SeriesAnswer {
    /// `None`: it is none of them, or it cannot be said which.
    pub id: Option<String>,
    /// Titles that were found, the likeliest first; 20 at most.
    pub found: Vec<TitleMatch>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TitleKind {
    /// A film, also one made for television, or a short one.
    Movie,
    /// A series.
    Tv,
    Episode,
}

/// A title.
#[derive(Clone, Debug, PartialEq)]
pub struct TitleRecord {
    /// `tt` and digits.
    pub id: String,
    /// The word of the data set, e.g. `tvSeries`.
    pub kind: String,
    pub title: String,
    pub original_title: Option<String>,
    pub year: Option<i64>,
    pub end_year: Option<i64>,
    /// Minutes.
    pub runtime: Option<i64>,
    pub is_adult: bool,
    pub genres: Vec<String>,
    /// Names; an id where the name is not known.
    pub directors: Vec<String>,
    pub writers: Vec<String>,
    /// 0 to 10.
    pub rating: Option<f64>,
    pub votes: Option<i64>,
}

/// A title that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct TitleMatch {
    /// Without directors and writers.
    pub title: TitleRecord,
    /// 0 to 1, hundredths.
    pub confidence: f64,
    /// Names by which it was found, those of other countries too, without case, diacritics and punctuation.
    pub names: Vec<String>,
}

/// An episode of a series.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EpisodeRecord {
    pub id: String,
    pub season: Option<i64>,
    pub episode: Option<i64>,
    pub title: Option<String>,
    pub year: Option<i64>,
}

/// Somebody who had a part in a title.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreditRecord {
    /// `nm` and digits.
    pub id: String,
    pub name: Option<String>,
    pub category: Option<String>,
    pub job: Option<String>,
    pub characters: Option<String>,
}

/// The data set could not be asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the titledb data set cannot be read: {0}")]
pub struct TitleDataError(pub String);
