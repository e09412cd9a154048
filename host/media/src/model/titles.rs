//! Identification of items by their names and by a data set of titles: requests, choices and results.

use qm_kernel::Timestamp;
use qm_ports::titledb::TitleMatch;
use qm_titles::{Candidate, Picked, Wanted};
use serde::{Deserialize, Serialize};

use super::view::Listed;

/// Most suggestions of an item.
const SUGGESTED: usize = 5;
/// Least score of a suggestion, in hundredths.
const LIKE: i64 = 50;

/// A title that an item may have, suggested and not confirmed.
#[derive(Clone, Debug, PartialEq, Eq, qm_db::FromRow)]
pub struct Suggestion {
    pub titledb_id: String,
    pub title: String,
    pub year: Option<i64>,
    /// Likeness in hundredths.
    pub score: i64,
}

/// Film that a title and a year mean among those that the data set found, see [`qm_titles::film`]. A merely similar one is
/// not taken.
pub fn picked(title: &str, year: Option<i64>, found: &[TitleMatch]) -> Picked {
    let candidates: Vec<Candidate<'_>> = found
        .iter()
        .map(|one| Candidate {
            id: &one.title.id,
            title: &one.title.title,
            original: one.title.original_title.as_deref(),
            others: &one.names,
            year: one.title.year,
            votes: one.title.votes.unwrap_or(0),
            ..Candidate::default()
        })
        .collect();
    let wanted = Wanted {
        title,
        year,
        season: None,
    };
    qm_titles::film(&wanted, &candidates)
}

/// Suggestions for an item that no title matches, the likeliest first.
pub fn suggested(found: &[TitleMatch]) -> Vec<Suggestion> {
    let mut suggested: Vec<Suggestion> = Vec::new();
    for one in found {
        let score = (one.confidence * 100.0).round() as i64;
        if score >= LIKE && suggested.iter().all(|known| known.titledb_id != one.title.id) {
            suggested.push(Suggestion {
                titledb_id: one.title.id.clone(),
                title: one.title.title.clone(),
                year: one.title.year,
                score,
            });
        }
    }
    suggested.sort_by_key(|suggestion| std::cmp::Reverse(suggestion.score));
    suggested.truncate(SUGGESTED);
    suggested
}

/// True if this type of the data set is one of series.
pub fn is_series(kind: &str) -> bool {
    matches!(kind, "tvSeries" | "tvMiniSeries")
}

/// Selection of items to identify again, by library and status. Without a status, all items that no person has edited.
#[derive(Clone, Debug, Default)]
pub struct Which {
    pub library_id: Option<String>,
    pub match_status: Option<String>,
}

/// Result of an identification, in items.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    pub total: u64,
    pub matched: u64,
    pub unmatched: u64,
    /// Items that somebody changed meanwhile; they are left as they are.
    pub failed: u64,
}

/// An item for which a person chose a title of the data set.
pub struct Titled {
    pub item: Listed,
    pub titledb_id: String,
    /// 0 to 10.
    pub rating: Option<f64>,
    /// True if the data set knows the title.
    pub is_known: bool,
}

/// Realtime event about a chosen title.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TitledNews<'a> {
    pub item_id: &'a str,
    pub titledb_id: &'a str,
    /// `matched`, or `unknown` where the data set does not know the title.
    pub status: &'static str,
    pub at: Timestamp,
}

#[cfg(test)]
mod tests {
    use qm_ports::titledb::TitleRecord;

    use super::*;

    fn found(id: &str, title: &str, year: i64, votes: i64, confidence: f64) -> TitleMatch {
        TitleMatch {
            title: TitleRecord {
                id: id.to_owned(),
                kind: "movie".to_owned(),
                title: title.to_owned(),
                original_title: None,
                year: Some(year),
                end_year: None,
                runtime: None,
                is_adult: false,
                genres: Vec::new(),
                directors: Vec::new(),
                writers: Vec::new(),
                rating: None,
                votes: Some(votes),
            },
            confidence,
            names: Vec::new(),
        }
    }

    #[test]
    fn what_is_only_like_a_title_is_a_suggestion() {
        let horse = found("tt0000001", "The Red Horse", 2012, 900, 0.96);
        let one = [horse.clone()];
        assert_eq!(picked("The Red House", Some(2012), &one), Picked::None);
        let suggestions = suggested(&one);
        assert_eq!((suggestions.len(), suggestions[0].score), (1, 96));
        let house = found("tt0000002", "Red House, The", 2011, 10, 0.9);
        assert_eq!(
            picked("The Red House", Some(2012), &[horse, house.clone()]),
            Picked::One(1)
        );
        assert_eq!(
            picked("The Red House", Some(2015), &[house]),
            Picked::None,
            "of another year"
        );
        let mut other = found("tt0000003", "Das rote Haus", 2012, 10, 1.0);
        assert_eq!(
            picked("The Red House", Some(2012), &[other.clone()]),
            Picked::None
        );
        other.names.push("the red house".to_owned());
        assert_eq!(
            picked("The Red House", Some(2012), &[other]),
            Picked::One(0),
            "by another name"
        );
        assert_eq!(
            picked("!!!", None, &[found("tt0000004", "???", 2012, 1, 1.0)]),
            Picked::None
        );
    }

    #[test]
    fn of_equals_the_year_decides_and_then_votes() {
        let of = |year, votes| found(&format!("tt{year}{votes:05}"), "Tide", year, votes, 1.0);
        assert_eq!(
            picked("Tide", Some(2003), &[of(2002, 9000), of(2003, 5)]),
            Picked::One(1)
        );
        assert_eq!(
            picked("Tide", None, &[of(1986, 50), of(2003, 500)]),
            Picked::One(1)
        );
        assert_eq!(
            picked("Tide", None, &[of(1986, 51), of(2003, 500)]),
            Picked::Ambiguous(vec![1, 0])
        );
    }
}
