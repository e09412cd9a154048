//! Titles as they are told to others.

use super::file::Sort;

/// A title with what people thought of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Title {
    pub id: i64,
    /// The word of the data set, e.g. `tvSeries`; empty where it is not known.
    pub kind: String,
    pub title: String,
    pub original: Option<String>,
    pub adult: bool,
    pub start_year: Option<i64>,
    pub end_year: Option<i64>,
    /// Minutes.
    pub runtime: Option<i64>,
    pub genres: Vec<String>,
    /// Tenths.
    pub rating: Option<i64>,
    pub votes: Option<i64>,
}

impl Title {
    pub fn sort(&self) -> Sort {
        Sort::of(&self.kind)
    }
}

/// A title that was found.
#[derive(Clone, Debug)]
pub struct Found {
    pub title: Title,
    /// 0 to 1, hundredths.
    pub confidence: f64,
    /// As they are compared: those that were found, and its own.
    pub names: Vec<String>,
}

/// A title with everything that is told of it by its id.
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

/// Somebody who had a part in a title.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credit {
    pub person: i64,
    pub name: Option<String>,
    pub category: Option<String>,
    pub job: Option<String>,
    pub characters: Option<String>,
}

/// A list as the data set has it.
pub fn list(text: Option<&str>) -> Vec<String> {
    let items = text.unwrap_or_default().split(',').map(str::trim);
    items.filter(|item| !item.is_empty()).map(str::to_owned).collect()
}
