//! What items are found to be, by their names and by a data set of titles.

use qm_kernel::Timestamp;
use qm_ports::titledb::TitleMatch;
use qm_titles::{Candidate, Picked, film};
use serde::{Deserialize, Serialize};

use super::view::Listed;

/// The film that a title and a year mean among those that the data set found.
pub fn picked(title: &str, year: Option<i64>, found: &[TitleMatch]) -> Picked {
    let candidates: Vec<Candidate<'_>> = found
        .iter()
        .map(|found| Candidate {
            id: &found.title.id,
            title: &found.title.title,
            original: found.title.original_title.as_deref(),
            year: found.title.year,
        })
        .collect();
    film(title, year, &candidates)
}

/// Whether this word of the data set is that of a series.
pub fn is_series(kind: &str) -> bool {
    matches!(kind, "tvSeries" | "tvMiniSeries")
}

/// Which items are identified again: of a library, of a status; without one all but those that people have said something of.
#[derive(Clone, Debug, Default)]
pub struct Which {
    pub library_id: Option<String>,
    pub match_status: Option<String>,
}

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    pub total: u64,
    pub matched: u64,
    pub unmatched: u64,
    /// Items that somebody changed while they were looked at; they are as they were left.
    pub failed: u64,
}

/// An item that somebody says which title it is.
pub struct Titled {
    pub item: Listed,
    pub titledb_id: String,
    /// 0 to 10.
    pub rating: Option<f64>,
    /// Whether the data set knows the title.
    pub is_known: bool,
}

/// What people who look are told of it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TitledNews<'a> {
    pub item_id: &'a str,
    pub titledb_id: &'a str,
    /// `matched`, or `unknown` where the data set does not know the title.
    pub status: &'static str,
    pub at: Timestamp,
}
