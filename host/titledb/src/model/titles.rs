//! Titles in answers.

use super::file::Sort;

/// A title with its rating.
#[derive(Clone, Debug, PartialEq)]
pub struct Title {
    pub id: i64,
    /// Type in the data set, e.g. `tvSeries`; empty when unknown.
    pub kind: String,
    pub title: String,
    pub original: Option<String>,
    pub adult: bool,
    pub start_year: Option<i64>,
    pub end_year: Option<i64>,
    /// Minutes.
    pub runtime: Option<i64>,
    pub genres: Vec<String>,
    /// Rating in tenths.
    pub rating: Option<i64>,
    pub votes: Option<i64>,
}

impl Title {
    pub fn sort(&self) -> Sort {
        Sort::from_title_type(&self.kind)
    }
}

/// A title that was found.
#[derive(Clone, Debug)]
pub struct Found {
    pub title: Title,
    /// 0 to 1, hundredths.
    pub confidence: f64,
    /// Normalised names: those that matched, and its own.
    pub names: Vec<String>,
}

/// A title with all data that are shown for its id.
#[derive(Clone, Debug)]
pub struct Whole {
    pub title: Title,
    pub directors: Vec<String>,
    pub writers: Vec<String>,
}

/// An episode of a series.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Episode {
    pub id: i64,
    pub season: Option<i64>,
    pub episode: Option<i64>,
    pub title: Option<String>,
    pub year: Option<i64>,
}

/// A person's part in a title.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credit {
    pub person: i64,
    pub name: Option<String>,
    pub category: Option<String>,
    pub job: Option<String>,
    pub characters: Option<String>,
}

/// A comma-separated list of the data set.
pub fn list(text: Option<&str>) -> Vec<String> {
    let items = text.unwrap_or_default().split(',').map(str::trim);
    items.filter(|item| !item.is_empty()).map(str::to_owned).collect()
}
