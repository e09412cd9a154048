//! Search for titles: equal names, names that contain the text, and if those are few, similar names.
//!
//! Bounds: [`NAMES`] names of each kind, [`TITLES`] judged titles.

use std::collections::HashMap;

use qm_db::{DbError, Tx};

use super::Titledb;
use super::names::{Names, Way};
use super::store::Live;
use crate::error::TitledbError;
use crate::model::file::{Sort, named_title, number_of};
use crate::model::options::Options;
use crate::model::score::{Wanted, confidence};
use crate::model::titles::{Found, Whole};
use crate::model::trigrams::Narrow;
use crate::repo::search::Hit;
use crate::repo::titles;
use qm_titles::normalise;

/// Names of each kind, those of titles with more votes first.
const NAMES: usize = 120;
const TITLES: usize = 120;
/// Largest number of titles in an answer.
pub const ANSWERED: usize = 20;
/// Number of titles below which similar names are searched too.
const FEW: usize = 3;
/// Largest number of people of one kind with a title.
const PEOPLE: usize = 50;

/// A search request.
#[derive(Clone, Debug, Default)]
pub struct Question {
    pub title: String,
    pub year: Option<i64>,
    pub sort: Option<Sort>,
}

impl Titledb {
    /// Finds titles, the best first; none when the data set is disabled or missing.
    pub async fn search(&self, asked: &Question) -> Result<Vec<Found>, TitledbError> {
        let options = self.options().await?;
        if !options.mode.uses_dataset() {
            return Ok(Vec::new());
        }
        let Some(live) = self.store.live().await? else {
            return Ok(Vec::new());
        };
        let mut found = find(&live, asked, &options).await?;
        found.truncate(ANSWERED);
        Ok(found)
    }

    /// A title by id, with the names of its directors and writers.
    pub async fn whole(&self, id: &str) -> Result<Option<Whole>, TitledbError> {
        let number = named_title(id).ok_or(TitledbError::InvalidId)?;
        let Some(live) = self.store.live().await? else {
            return Ok(None);
        };
        let mut tx = live.read().await?;
        let Some(title) = titles::find(&mut tx, number).await? else {
            return Ok(None);
        };
        let (directors, writers) = titles::crew(&mut tx, number).await?;
        Ok(Some(Whole {
            directors: named(&mut tx, directors).await?,
            writers: named(&mut tx, writers).await?,
            title,
        }))
    }
}

/// Names of people; the id where the name is unknown.
async fn named(tx: &mut Tx, ids: Vec<String>) -> Result<Vec<String>, DbError> {
    let number = |id: &str| number_of(id, "nm");
    let ids: Vec<String> = ids.into_iter().take(PEOPLE).collect();
    let numbers: Vec<i64> = ids.iter().filter_map(|id| number(id)).collect();
    let known = titles::persons(tx, &numbers).await?;
    let name = |id: String| {
        let known = number(&id).and_then(|number| known.get(&number));
        known.cloned().unwrap_or(id)
    };
    Ok(ids.into_iter().map(name).collect())
}

/// All matching titles, the best first.
pub async fn find(live: &Live, asked: &Question, options: &Options) -> Result<Vec<Found>, DbError> {
    let name = normalise(&asked.title);
    if name.is_empty() {
        return Ok(Vec::new());
    }
    let narrow = Narrow {
        year: asked.year,
        sort: asked.sort,
    };
    let wanted = Wanted {
        name: name.clone(),
        year: asked.year,
        sort: asked.sort,
    };
    let mut tx = live.read().await?;
    let names = Names::new(&mut tx, &live.loaded, &name, narrow).await?;
    let mut hits = names.find(&mut tx, Way::Holding, NAMES).await?;
    if hits.len() == NAMES {
        // The exactly equal name may rank behind them.
        let mut same = names.find(&mut tx, Way::Same, NAMES).await?;
        same.append(&mut hits);
        hits = same;
    }
    let mut found = judge(&mut tx, &wanted, hits, options).await?;
    if found.len() < FEW {
        let alike = names.find(&mut tx, Way::Alike, NAMES).await?;
        let more = judge(&mut tx, &wanted, alike, options).await?;
        for one in more {
            if found.iter().all(|known| known.title.id != one.title.id) {
                found.push(one);
            }
        }
        rank(&mut found);
    }
    Ok(found)
}

/// Titles of these names, ranked by every matched name and the title's own.
pub(super) async fn judge(
    tx: &mut Tx,
    wanted: &Wanted,
    hits: Vec<Hit>,
    options: &Options,
) -> Result<Vec<Found>, DbError> {
    let mut names: HashMap<i64, Vec<String>> = HashMap::new();
    let mut order = Vec::new();
    for hit in hits {
        let of_title = names.entry(hit.title_id).or_insert_with(|| {
            order.push(hit.title_id);
            Vec::new()
        });
        of_title.push(hit.name);
    }
    order.truncate(TITLES);
    let mut found = Vec::new();
    for title in titles::find_all(tx, &order).await? {
        let is_wanted = (options.include_adult || !title.adult)
            && (options.min_votes == 0 || title.votes.unwrap_or(0) >= options.min_votes);
        if !is_wanted {
            continue;
        }
        let mut all = names.remove(&title.id).unwrap_or_default();
        all.push(normalise(&title.title));
        all.extend(title.original.as_deref().map(normalise));
        all.sort_unstable();
        all.dedup();
        let confidence = confidence(
            wanted,
            all.iter().map(String::as_str),
            title.start_year,
            title.sort(),
        );
        found.push(Found {
            title,
            confidence,
            names: all,
        });
    }
    rank(&mut found);
    Ok(found)
}

pub(super) fn rank(found: &mut [Found]) {
    found.sort_by(|one, other| {
        other
            .confidence
            .total_cmp(&one.confidence)
            .then_with(|| other.title.votes.cmp(&one.title.votes))
            .then_with(|| other.title.rating.cmp(&one.title.rating))
            .then_with(|| one.title.id.cmp(&other.title.id))
    });
}
