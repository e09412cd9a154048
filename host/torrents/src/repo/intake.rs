//! Table `torrent_intake`: what is known of torrents because they were added through this service.

use qm_db::{DbError, FromRow, Json, Tx, sql};
use qm_kernel::Timestamp;

use crate::model::intake::Intake;

sql! {
    LOAD = "SELECT hash, added_at, tags FROM torrent_intake WHERE engine_id = $1";
    PUT = "INSERT INTO torrent_intake (engine_id, hash, added_at, tags) VALUES ($1, $2, $3, $4) \
        ON CONFLICT (engine_id, hash) DO UPDATE SET added_at = excluded.added_at, tags = excluded.tags";
    DELETE = "DELETE FROM torrent_intake WHERE engine_id = $1 AND hash = $2 AND added_at = $3";
}

#[derive(FromRow)]
struct Row {
    hash: String,
    added_at: i64,
    tags: Json<Vec<String>>,
}

/// All of an engine, by hash.
pub async fn load(tx: &mut Tx, engine_id: &str) -> Result<Vec<(String, Intake)>, DbError> {
    let rows = qm_db::all!(tx, Row, LOAD, engine_id).await?;
    let known = |row: Row| {
        let intake = Intake {
            added_at: Timestamp::from_ms(row.added_at),
            tags: row.tags.0,
        };
        (row.hash, intake)
    };
    Ok(rows.into_iter().map(known).collect())
}

/// Writes one, in the place of an earlier one of the same torrent.
pub async fn put(tx: &mut Tx, engine_id: &str, hash: &str, intake: &Intake) -> Result<(), DbError> {
    let (added_at, tags) = (intake.added_at.ms(), Json(&intake.tags));
    qm_db::exec!(tx, PUT, engine_id, hash, added_at, tags)
        .await?
        .exactly(1)
}

/// Deletes one, unless the torrent was added again since.
pub async fn delete(tx: &mut Tx, engine_id: &str, hash: &str, added_at: Timestamp) -> Result<(), DbError> {
    qm_db::exec!(tx, DELETE, engine_id, hash, added_at.ms())
        .await
        .map(drop)
}
