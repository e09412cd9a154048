//! Table `media_shows`.

use qm_db::{DbError, FromRow, Tx, sql};
use qm_kernel::Timestamp;

use super::clean;
use crate::model::show::Show;

sql! {
    OF_LIBRARY = "SELECT id, library_id, place, media_type, title, year, titledb_id, canonical_key, episode_count, \
        created_at, updated_at FROM media_shows WHERE library_id = $1 ORDER BY place";
    INSERT = "INSERT INTO media_shows (id, library_id, place, media_type, title, year, titledb_id, canonical_key, \
        episode_count, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";
    COUNTED = "UPDATE media_shows SET episode_count = $2, media_type = $3, updated_at = $4 WHERE id = $1";
    DELETE = "DELETE FROM media_shows WHERE id = $1";
}

#[derive(FromRow)]
struct Row {
    id: String,
    library_id: String,
    place: String,
    media_type: String,
    title: String,
    year: Option<i64>,
    titledb_id: Option<String>,
    canonical_key: String,
    episode_count: i64,
    created_at: i64,
    updated_at: i64,
}

/// The shows of a library, by their folders.
pub async fn of_library(tx: &mut Tx, library_id: &str) -> Result<Vec<Show>, DbError> {
    let rows = qm_db::all!(tx, Row, OF_LIBRARY, library_id).await?;
    let shows = rows.into_iter().map(|row| Show {
        id: row.id,
        library_id: row.library_id,
        place: row.place,
        media_type: row.media_type,
        title: row.title,
        year: row.year,
        titledb_id: row.titledb_id,
        canonical_key: row.canonical_key,
        episode_count: row.episode_count,
        created_at: Timestamp::from_ms(row.created_at),
        updated_at: Timestamp::from_ms(row.updated_at),
    });
    Ok(shows.collect())
}

pub async fn insert(tx: &mut Tx, show: &Show) -> Result<(), DbError> {
    qm_db::exec!(
        tx,
        INSERT,
        &show.id,
        &show.library_id,
        &show.place,
        &show.media_type,
        clean(&show.title),
        show.year,
        show.titledb_id.as_deref(),
        clean(&show.canonical_key),
        show.episode_count,
        show.created_at.ms(),
        show.updated_at.ms(),
    )
    .await?
    .exactly(1)
}

/// It has another number of episodes.
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

pub async fn delete(tx: &mut Tx, id: &str) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, DELETE, id).await?;
    Ok(())
}
