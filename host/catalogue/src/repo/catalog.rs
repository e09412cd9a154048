//! Table `media_stamps`, and all items as lists need them.

use qm_db::{DbError, FromRow, Tx, sql};

use crate::model::catalog::{Catalog, Entry, Gathering};

/// Items that one statement reads.
const AT_ONCE: i64 = 2_000;

sql! {
    STAMPS = "SELECT items, touched FROM media_stamps WHERE one = 1";
    COUNT = "SELECT COUNT(*) FROM media_items";
    BEHIND = "SELECT id, library_id, media_type, match_status, title, title_key, letter, year, season, \
        duplicate_group_id IS NOT NULL AS is_duplicate, pictures > 0 AS has_pictures, subtitles > 0 AS has_subtitles, created_at, updated_at FROM media_items WHERE id > $1 ORDER BY id LIMIT $2";
}

/// Stamps of the items: two readers with equal stamps see the same items.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromRow)]
pub struct Stamps {
    /// Stamp of all columns except the times of changes.
    pub items: i64,
    /// Stamp of the times of changes.
    pub touched: i64,
}

#[derive(FromRow)]
struct Row {
    id: String,
    library_id: String,
    media_type: String,
    match_status: String,
    title: String,
    title_key: String,
    letter: String,
    year: Option<i64>,
    season: Option<i64>,
    is_duplicate: bool,
    has_pictures: bool,
    has_subtitles: bool,
    created_at: i64,
    updated_at: i64,
}

impl From<Row> for Entry {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            library_id: row.library_id,
            media_type: row.media_type,
            match_status: row.match_status,
            title: row.title,
            title_key: row.title_key,
            letter: row.letter,
            year: row.year,
            season: row.season,
            is_duplicate: row.is_duplicate,
            has_pictures: row.has_pictures,
            has_subtitles: row.has_subtitles,
            created_at: row.created_at,
            updated_at: row.updated_at,
        }
    }
}

pub async fn stamps(tx: &mut Tx) -> Result<Stamps, DbError> {
    qm_db::one!(tx, Stamps, STAMPS).await
}

/// Number of items of all libraries.
pub async fn count(tx: &mut Tx) -> Result<i64, DbError> {
    qm_db::value!(tx, i64, COUNT).await
}

/// Catalog of all items; `None` if the id of one is no UUID.
pub async fn all(tx: &mut Tx) -> Result<Option<Catalog>, DbError> {
    let mut gathering = Gathering::default();
    let mut after = String::new();
    loop {
        let rows = qm_db::all!(tx, Row, BEHIND, &after, AT_ONCE).await?;
        let is_last = rows.len() < AT_ONCE as usize;
        for entry in rows.into_iter().map(Entry::from) {
            if !gathering.take(&entry) {
                return Ok(None);
            }
            after = entry.id;
        }
        if is_last {
            return Ok(Some(gathering.done()));
        }
    }
}
