//! Identification of series from folders and files: series with the same name in any language.
//!
//! Bounds: two searches, [`KEYED`] series per key, and the seasons of equal candidates.

use std::collections::{HashMap, HashSet};

use qm_db::{DbError, Tx};
use qm_ports::titledb::SeriesQuestion;
use qm_titles::{Candidate, Picked, Qualified, Wanted, key, normalise, show, turned};

use super::Titledb;
use super::search::{ANSWERED, Question, find, judge, rank};
use super::store::Live;
use crate::error::TitledbError;
use crate::model::file::Sort;
use crate::model::options::Options;
use crate::model::score;
use crate::model::titles::Found;
use crate::repo::search::Hit;
use crate::repo::{search, titles};

/// Largest number of series per key.
const KEYED: usize = 25;

/// Seasons by series id; a series without episodes has none.
type Seasons = HashMap<i64, HashSet<Option<i64>>>;

impl Titledb {
    /// The identified series, and all candidates; see [`qm_ports::titledb::TitleData::series`].
    pub async fn series_of(&self, asked: &SeriesQuestion) -> Result<(Option<i64>, Vec<Found>), TitledbError> {
        let options = self.options().await?;
        let named = Qualified::split(&asked.title);
        let live = self.store.live().await?;
        let is_usable = options.mode.uses_dataset() && !normalise(&named.title).is_empty();
        let Some(live) = live.filter(|_| is_usable) else {
            return Ok((None, Vec::new()));
        };
        let question = Question {
            title: turned(&named.title).into_owned(),
            year: asked.year.or(named.year),
            sort: Some(Sort::Tv),
        };
        let mut found = keyed(&live, &question, &options).await?;
        add(&mut found, find(&live, &question, &options).await?);
        let mut id = picked(&live, asked, &found).await?;
        if id.is_none() && question.year.is_some() {
            // A candidate of another year is only suggested; the year of a release is that of its season.
            let anytime = Question {
                year: None,
                ..question.clone()
            };
            add(&mut found, find(&live, &anytime, &options).await?);
            id = picked(&live, asked, &found).await?;
        }
        rank(&mut found);
        found.truncate(ANSWERED);
        Ok((id, found))
    }
}

fn add(found: &mut Vec<Found>, more: Vec<Found>) {
    for one in more {
        match found.iter_mut().find(|known| known.title.id == one.title.id) {
            Some(known) => {
                known.names.extend(one.names);
                known.names.sort_unstable();
                known.names.dedup();
            }
            None => found.push(one),
        }
    }
}

/// Series whose own title has this key, which has no spaces because their use varies.
async fn keyed(live: &Live, question: &Question, options: &Options) -> Result<Vec<Found>, DbError> {
    let mut tx = live.read().await?;
    let key = key(&question.title);
    let mut ids: Vec<i64> = search::series(&mut tx, &key).await?;
    ids.truncate(KEYED);
    let name = normalise(&question.title);
    let hit = |title_id| Hit {
        title_id,
        name: name.clone(),
        year: None,
        sort: Sort::Tv as i64,
    };
    let wanted = score::Wanted {
        name: name.clone(),
        year: question.year,
        sort: question.sort,
    };
    judge(&mut tx, &wanted, ids.into_iter().map(hit).collect(), options).await
}

/// The identified series; candidates without episodes, or without the requested seasons, are left out.
async fn picked(live: &Live, asked: &SeriesQuestion, found: &[Found]) -> Result<Option<i64>, DbError> {
    let mut left: Vec<&Found> = found.iter().collect();
    let (mut seasons, mut tx) = (Seasons::new(), live.read().await?);
    loop {
        let equals = match meant(asked, &left) {
            Picked::None => return Ok(None),
            Picked::One(at) => vec![at],
            Picked::Ambiguous(several) => several,
        };
        let ids: Vec<i64> = equals.iter().map(|at| left[*at].title.id).collect();
        look(&mut tx, &mut seasons, &ids).await?;
        let fits = |id: i64, is_whole: bool| fits(seasons.get(&id), &asked.seasons, is_whole);
        let before = left.len();
        left.retain(|one| !ids.contains(&one.title.id) || fits(one.title.id, false));
        if left.len() < before {
            continue;
        }
        if let [id] = ids[..] {
            let one = left.iter().find(|one| one.title.id == id);
            let start = one.and_then(|one| one.title.start_year);
            return Ok(is_of_year(&mut tx, asked, id, start).await?.then_some(id));
        }
        // Series with all requested seasons come before those with some.
        left.retain(|one| !ids.contains(&one.title.id) || fits(one.title.id, true));
        let is_any = left.iter().any(|one| ids.contains(&one.title.id));
        if left.len() == before || !is_any {
            return Ok(None);
        }
    }
}

fn meant(asked: &SeriesQuestion, found: &[&Found]) -> Picked {
    let ids: Vec<String> = found.iter().map(|one| one.title.id.to_string()).collect();
    let candidates: Vec<Candidate<'_>> = found
        .iter()
        .zip(&ids)
        .map(|(one, id)| Candidate {
            id,
            title: &one.title.title,
            original: one.title.original.as_deref(),
            others: &one.names,
            year: one.title.start_year,
            end_year: one.title.end_year,
            countries: &[],
            votes: one.title.votes.unwrap_or(0),
        })
        .collect();
    let wanted = Wanted {
        title: &asked.title,
        year: asked.year,
        season: first_season(asked),
    };
    show(&wanted, &candidates)
}

/// First of the requested seasons: a year may belong to that season if there is no earlier one.
fn first_season(asked: &SeriesQuestion) -> Option<i64> {
    asked.seasons.iter().copied().filter(|season| *season > 0).min()
}

/// True if the requested year is that of the series, or of the requested season.
async fn is_of_year(
    tx: &mut Tx,
    asked: &SeriesQuestion,
    id: i64,
    start: Option<i64>,
) -> Result<bool, DbError> {
    let year = asked.year.or_else(|| Qualified::split(&asked.title).year);
    let (Some(year), Some(start)) = (year, start) else {
        return Ok(true);
    };
    match first_season(asked) {
        _ if year.abs_diff(start) <= 1 => Ok(true),
        Some(season) => titles::is_season_of(tx, id, season, year).await,
        None => Ok(false),
    }
}

/// True if a series has some of the requested seasons, or all of them. Specials are ignored, because they are
/// counted differently everywhere.
fn fits(has: Option<&HashSet<Option<i64>>>, wanted: &[i64], is_whole: bool) -> bool {
    let Some(has) = has.filter(|has| !has.is_empty()) else {
        return false;
    };
    let mut wanted = wanted.iter().filter(|season| **season > 0).peekable();
    if wanted.peek().is_none() {
        return true;
    }
    let has = |season: &i64| has.contains(&Some(*season));
    if is_whole {
        wanted.all(has)
    } else {
        wanted.any(has)
    }
}

async fn look(tx: &mut Tx, known: &mut Seasons, ids: &[i64]) -> Result<(), DbError> {
    for id in ids {
        if !known.contains_key(id) {
            let seasons = titles::seasons(tx, *id).await?;
            known.insert(*id, seasons.into_iter().collect());
        }
    }
    Ok(())
}
