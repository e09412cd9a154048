//! Items whose names are read, and the identities found by that.

use std::collections::{BTreeSet, HashMap, HashSet};

use qm_db::{DbError, FromRow, Tx, bulk, sql};
use qm_kernel::Timestamp;
use qm_media_names::name::Identity;
use qm_media_names::naming::is_one_film;
use qm_media_names::place;

use super::{clean, external, filled};
use crate::model::item::{letter, title_key};
use crate::model::library::Kind;

macro_rules! columns {
    () => {
        "id, library_id, place, media_type, title, year, season, episode, episode_end, confidence, sort_title, match_status, \
         updated_at"
    };
}

/// SQL condition: items of a library and a status; without a status, all that no person has edited.
macro_rules! wanted {
    () => {
        "NOT locked AND (CAST($1 AS TEXT) IS NULL OR library_id = $1) \
         AND ((CAST($2 AS TEXT) IS NULL AND match_status <> 'manual') OR match_status = $2)"
    };
}

sql! {
    BESIDE = "SELECT b.place FROM media_items i JOIN media_items b ON b.directory_id = i.directory_id WHERE i.id = $1 LIMIT $2";
    UNMATCHED = concat!("SELECT ", columns!(), " FROM media_items WHERE library_id = $1 AND match_status = 'unmatched' \
        AND NOT locked AND id > $2 ORDER BY id LIMIT $3");
    WANTED = concat!("SELECT ", columns!(), " FROM media_items WHERE ", wanted!(), " AND id > $3 ORDER BY id LIMIT $4");
    COUNT = concat!("SELECT COUNT(*) FROM media_items WHERE ", wanted!());
    // An item with another title is no longer of that series.
    IDENTIFIED = "UPDATE media_items SET media_type = $2, title = $3, title_key = $4, letter = $5, year = $6, season = $7, \
        episode = $8, episode_end = $9, confidence = $10, match_status = $11, titledb_asked = NULL, updated_at = $12, \
        series_titledb_id = CASE WHEN title = $3 THEN series_titledb_id ELSE NULL END \
        WHERE id = $1 AND NOT locked AND match_status = $13 AND updated_at = $14";
}

bulk! {
    DIRECTORIES = "SELECT i.id, i.directory_id FROM (VALUES", 1, ") w CROSS JOIN media_items i WHERE i.id = w.column1";
    COUNTS = "SELECT i.directory_id, COUNT(*) FROM (VALUES", 1,
        ") w CROSS JOIN media_items i WHERE i.directory_id = w.column1 GROUP BY i.directory_id";
    PLACES = "SELECT i.directory_id, i.place FROM (VALUES", 1,
        ") w CROSS JOIN media_items i WHERE i.directory_id = w.column1";
}

/// Most files of one directory that are read; a directory with more holds several films.
const BESIDE_MOST: i64 = 64;

/// An item whose name is read.
#[derive(Clone, Debug, FromRow)]
pub struct Named {
    pub id: String,
    pub library_id: String,
    pub place: String,
    pub media_type: String,
    pub title: String,
    pub year: Option<i64>,
    pub season: Option<i64>,
    pub episode: Option<i64>,
    pub episode_end: Option<i64>,
    pub confidence: i64,
    pub sort_title: Option<String>,
    pub match_status: String,
    pub updated_at: i64,
}

impl Named {
    /// True if the item differs from the identity that was found.
    pub fn is_otherwise(&self, found: &Identity) -> bool {
        !self.is_called(found)
            || found.status() != self.match_status
            || found.confidence != self.confidence
            || found.episode_end != self.episode_end
    }

    fn is_called(&self, found: &Identity) -> bool {
        found.media_type.is_none_or(|found| found == self.media_type)
            && found
                .title
                .as_ref()
                .is_none_or(|title| clean(title) == self.title)
            && (found.year, found.season, found.episode) == (self.year, self.season, self.episode)
    }
}

/// Unlocked, unmatched items of a library with ids behind `after`, in the order of the ids.
pub async fn unmatched(tx: &mut Tx, library_id: &str, after: &str, most: i64) -> Result<Vec<Named>, DbError> {
    qm_db::all!(tx, Named, UNMATCHED, library_id, after, most).await
}

/// Unlocked items of a library and a status with ids behind `after`, in the order of the ids.
pub async fn wanted(
    tx: &mut Tx,
    library_id: Option<&str>,
    match_status: Option<&str>,
    after: &str,
    most: i64,
) -> Result<Vec<Named>, DbError> {
    qm_db::all!(tx, Named, WANTED, library_id, match_status, after, most).await
}

/// Number of items that `wanted` selects, without its limit.
pub async fn count(
    tx: &mut Tx,
    library_id: Option<&str>,
    match_status: Option<&str>,
) -> Result<usize, DbError> {
    let count = qm_db::value!(tx, i64, COUNT, library_id, match_status).await?;
    Ok(usize::try_from(count).unwrap_or(0))
}

/// True if the directory of an item holds no other film.
pub async fn is_alone(tx: &mut Tx, id: &str) -> Result<bool, DbError> {
    let places = qm_db::all!(tx, (String,), BESIDE, id, BESIDE_MOST).await?;
    let shown: Vec<String> = places.iter().map(|(place,)| place::shown(place)).collect();
    Ok(shown.len() < BESIDE_MOST as usize && is_one_film(shown.iter().map(String::as_str)))
}

/// Those of some items whose directories hold no other film, in a few statements. For a library of shows it makes no
/// difference, and nothing is asked.
pub async fn alone(tx: &mut Tx, kind: Kind, ids: &[&str]) -> Result<HashSet<String>, DbError> {
    if kind.has_shows() || ids.is_empty() {
        return Ok(HashSet::new());
    }
    let keys = filled(ids.iter().copied());
    let items = qm_db::each!(tx, (String, String), DIRECTORIES, keys, |id| *id).await?;
    let directories: BTreeSet<&str> = items.iter().map(|(_, directory)| &**directory).collect();
    let keys = filled(directories.into_iter());
    let counts = qm_db::each!(tx, (String, i64), COUNTS, keys, |id| *id).await?;
    let few = counts.iter().filter(|(_, files)| *files < BESIDE_MOST);
    let keys = filled(few.map(|(directory, _)| &**directory));
    let places = qm_db::each!(tx, (String, String), PLACES, keys, |id| *id).await?;
    let mut beside: HashMap<&str, Vec<String>> = HashMap::new();
    for (directory, place) in &places {
        beside.entry(directory).or_default().push(place::shown(place));
    }
    beside.retain(|_, places| is_one_film(places.iter().map(String::as_str)));
    let is_alone = |(id, directory): (String, String)| beside.contains_key(&*directory).then_some(id);
    Ok(items.into_iter().filter_map(is_alone).collect())
}

/// Stores a found identity. Nothing is stored, and the result is `false`, if somebody changed the item meanwhile.
pub async fn identified(
    tx: &mut Tx,
    item: &Named,
    found: &Identity,
    now: Timestamp,
) -> Result<bool, DbError> {
    let title = clean(found.title.as_deref().unwrap_or(&item.title));
    let done = qm_db::exec!(
        tx,
        IDENTIFIED,
        &item.id,
        found.media_type.unwrap_or(&item.media_type),
        &title,
        title_key(&title, item.sort_title.as_deref()),
        letter(&title).to_string(),
        found.year,
        found.season,
        found.episode,
        found.episode_end,
        found.confidence,
        found.status(),
        now.ms(),
        &item.match_status,
        item.updated_at,
    )
    .await?;
    let is_written = done.rows() > 0;
    if is_written && !item.is_called(found) {
        external::forget_derived(tx, &item.id).await?;
    }
    Ok(is_written)
}
