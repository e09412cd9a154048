//! Table `media_shows`.

use qm_db::{DbError, FromRow, Tx, sql};
use qm_kernel::Timestamp;
use qm_media_names::place;

use super::clean;
use crate::model::show::Show;

macro_rules! columns {
    () => {
        "id, library_id, place, media_type, title, year, titledb_id, provider_a_id, provider_b_id, nfo_titledb_id, canonical_key, \
         episode_count, created_at, updated_at"
    };
}

pub(super) use columns;

sql! {
    OF_LIBRARY = concat!("SELECT ", columns!(), " FROM media_shows WHERE library_id = $1 ORDER BY place");
    ALL = concat!("SELECT ", columns!(), " FROM media_shows ORDER BY library_id, place");
    // Also those whose further files lie below, whatever folder their first file is in.
    LOCKED = "SELECT place FROM media_items WHERE library_id = $1 AND locked \
        AND substr(place, 1, 200) >= substr($2, 1, 200) AND substr(place, 1, 200) <= substr($3, 1, 200) \
        AND place >= $2 AND place < $3 \
        UNION SELECT c.place FROM media_copies c JOIN media_items i ON i.id = c.item_id WHERE c.library_id = $1 AND i.locked \
        AND c.place >= $2 AND c.place < $3";
    OF_TITLE = concat!("SELECT ", columns!(), " FROM media_shows WHERE title = $1 \
        AND (CAST($2 AS TEXT) IS NULL OR library_id = $2) ORDER BY created_at, id");
    FIND = concat!("SELECT ", columns!(), " FROM media_shows WHERE id = $1");
    INSERT = concat!("INSERT INTO media_shows (", columns!(), ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) \
        ON CONFLICT (library_id, place) DO NOTHING");
    COUNTED = "UPDATE media_shows SET episode_count = $2, media_type = $3, updated_at = $4 WHERE id = $1";
    // An id that came from this file follows it; ids from people and other sources stay.
    SAID = "UPDATE media_shows SET nfo_titledb_id = $2, updated_at = $4, \
        titledb_id = CASE WHEN titledb_id IS NULL OR titledb_id = nfo_titledb_id THEN $3 ELSE titledb_id END WHERE id = $1";
    // PostgreSQL indexes only the beginning of a place.
    JOINS = "UPDATE media_items SET series_titledb_id = $4, titledb_asked = NULL, updated_at = $6 WHERE library_id = $1 \
        AND substr(place, 1, 200) >= substr($2, 1, 200) AND substr(place, 1, 200) <= substr($3, 1, 200) \
        AND place >= $2 AND place < $3 AND (series_titledb_id IS NULL OR series_titledb_id = CAST($5 AS TEXT)) \
        AND NOT locked AND media_type IN ('tv', 'anime')";
    FORGET_OTHERS = "DELETE FROM media_external_ids WHERE is_derived AND item_id IN (SELECT id FROM media_items WHERE library_id = $1 \
        AND substr(place, 1, 200) >= substr($2, 1, 200) AND substr(place, 1, 200) <= substr($3, 1, 200) \
        AND place >= $2 AND place < $3 AND NOT locked AND match_status <> 'manual' AND media_type IN ('tv', 'anime') \
        AND series_titledb_id IS NOT NULL AND series_titledb_id <> $4)";
    TAKES = "UPDATE media_items SET series_titledb_id = $4, titledb_asked = NULL, updated_at = $5 WHERE library_id = $1 \
        AND substr(place, 1, 200) >= substr($2, 1, 200) AND substr(place, 1, 200) <= substr($3, 1, 200) \
        AND place >= $2 AND place < $3 AND NOT locked AND match_status <> 'manual' AND media_type IN ('tv', 'anime') \
        AND series_titledb_id IS DISTINCT FROM CAST($4 AS TEXT)";
    LEAVES = "UPDATE media_items SET series_titledb_id = NULL, titledb_asked = NULL, updated_at = $5 WHERE library_id = $1 \
        AND substr(place, 1, 200) >= substr($2, 1, 200) AND substr(place, 1, 200) <= substr($3, 1, 200) \
        AND place >= $2 AND place < $3 AND series_titledb_id = CAST($4 AS TEXT) AND NOT locked AND media_type IN ('tv', 'anime')";
    // Ids found for its episodes belonged to another series.
    FORGET_FOUND = "DELETE FROM media_external_ids WHERE is_derived AND item_id IN (SELECT id FROM media_items WHERE library_id = $1 \
        AND substr(place, 1, 200) >= substr($2, 1, 200) AND substr(place, 1, 200) <= substr($3, 1, 200) \
        AND place >= $2 AND place < $3 AND NOT locked AND media_type IN ('tv', 'anime'))";
    DELETE = "DELETE FROM media_shows WHERE id = $1 AND library_id = $2 AND place = $3";
}

#[derive(FromRow)]
pub(super) struct Row {
    id: String,
    library_id: String,
    place: String,
    media_type: String,
    title: String,
    year: Option<i64>,
    titledb_id: Option<String>,
    provider_a_id: Option<String>,
    provider_b_id: Option<String>,
    nfo_titledb_id: Option<String>,
    canonical_key: String,
    episode_count: i64,
    created_at: i64,
    updated_at: i64,
}

impl From<Row> for Show {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            library_id: row.library_id,
            place: row.place,
            media_type: row.media_type,
            title: row.title,
            year: row.year,
            titledb_id: row.titledb_id,
            provider_a_id: row.provider_a_id,
            provider_b_id: row.provider_b_id,
            nfo_titledb_id: row.nfo_titledb_id,
            canonical_key: row.canonical_key,
            episode_count: row.episode_count,
            created_at: Timestamp::from_ms(row.created_at),
            updated_at: Timestamp::from_ms(row.updated_at),
        }
    }
}

/// The shows of a library, by their folders.
pub async fn of_library(tx: &mut Tx, library_id: &str) -> Result<Vec<Show>, DbError> {
    let rows = qm_db::all!(tx, Row, OF_LIBRARY, library_id).await?;
    Ok(rows.into_iter().map(Show::from).collect())
}

/// The shows of all libraries, by their libraries and folders.
pub async fn all(tx: &mut Tx) -> Result<Vec<Show>, DbError> {
    let rows = qm_db::all!(tx, Row, ALL).await?;
    Ok(rows.into_iter().map(Show::from).collect())
}

/// Places of files of locked items below the folder of a show.
pub async fn locked_below(tx: &mut Tx, show: &Show) -> Result<Vec<String>, DbError> {
    let mut places = Vec::new();
    for (from, to) in place::ranges(&show.place) {
        let rows = qm_db::all!(tx, (String,), LOCKED, &show.library_id, from, to).await?;
        places.extend(rows.into_iter().map(|(place,)| place));
    }
    Ok(places)
}

/// The shows of a title, in a library or in all, the oldest first.
pub async fn of_title(tx: &mut Tx, title: &str, library_id: Option<&str>) -> Result<Vec<Show>, DbError> {
    let rows = qm_db::all!(tx, Row, OF_TITLE, clean(title), library_id).await?;
    Ok(rows.into_iter().map(Show::from).collect())
}

pub async fn find(tx: &mut Tx, id: &str) -> Result<Option<Show>, DbError> {
    Ok(qm_db::opt!(tx, Row, FIND, id).await?.map(Show::from))
}

/// Adds a show, unless its folder has one by now.
pub async fn insert(tx: &mut Tx, show: &Show) -> Result<(), DbError> {
    let _ = qm_db::exec!(
        tx,
        INSERT,
        &show.id,
        &show.library_id,
        &show.place,
        &show.media_type,
        clean(&show.title),
        show.year,
        show.titledb_id.as_deref(),
        show.provider_a_id.as_deref(),
        show.provider_b_id.as_deref(),
        show.nfo_titledb_id.as_deref(),
        clean(&show.canonical_key),
        show.episode_count,
        show.created_at.ms(),
        show.updated_at.ms(),
    )
    .await?;
    Ok(())
}

/// Stores the number of episodes of a show.
pub async fn counted(tx: &mut Tx, show: &Show) -> Result<(), DbError> {
    let _ = qm_db::exec!(
        tx,
        COUNTED,
        &show.id,
        show.episode_count,
        &show.media_type,
        show.updated_at.ms()
    )
    .await?;
    Ok(())
}

/// Stores the series that a folder's own file names. `found`: id that is taken if no other source gave one.
pub async fn put_named_series(
    tx: &mut Tx,
    id: &str,
    titledb_id: &str,
    found: &str,
    now: Timestamp,
) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, SAID, id, titledb_id, found, now.ms()).await?;
    Ok(())
}

/// Assigns unlocked items below the folder of a show to its series: those of no series, and those of the series that the
/// show had before.
pub async fn join_series(
    tx: &mut Tx,
    show: &Show,
    titledb_id: &str,
    before: Option<&str>,
    now: Timestamp,
) -> Result<(), DbError> {
    let id = clean(titledb_id);
    for (from, to) in place::ranges(&show.place) {
        let _ = qm_db::exec!(tx, JOINS, &show.library_id, from, to, &id, before, now.ms()).await?;
    }
    Ok(())
}

/// Assigns items below the folder of a new show, whose name gives its id, to that show, also those that came from another
/// one. Items that a person locked or identified stay.
pub async fn take_series(tx: &mut Tx, show: &Show, titledb_id: &str, now: Timestamp) -> Result<(), DbError> {
    let id = clean(titledb_id);
    for (from, to) in place::ranges(&show.place) {
        let _ = qm_db::exec!(tx, FORGET_OTHERS, &show.library_id, &from, &to, &id).await?;
        let _ = qm_db::exec!(tx, TAKES, &show.library_id, from, to, &id, now.ms()).await?;
    }
    Ok(())
}

/// Changes a show and the items below it to the series that its folder names now, instead of `before`. Locked items stay.
pub async fn change_series(tx: &mut Tx, before: &Show, now_is: &Show, now: Timestamp) -> Result<(), DbError> {
    for (from, to) in place::ranges(&before.place) {
        let _ = qm_db::exec!(tx, FORGET_FOUND, &before.library_id, &from, &to).await?;
        if let (Some(series), None) = (&before.titledb_id, &now_is.titledb_id) {
            let _ = qm_db::exec!(tx, LEAVES, &before.library_id, from, to, series, now.ms()).await?;
        }
    }
    match &now_is.titledb_id {
        Some(series) => join_series(tx, before, series, before.titledb_id.as_deref(), now).await,
        None => Ok(()),
    }
}

/// Deletes a show, unless its folder was moved meanwhile.
pub async fn delete(tx: &mut Tx, show: &Show) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, DELETE, &show.id, &show.library_id, &show.place).await?;
    Ok(())
}
