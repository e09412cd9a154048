//! Table `torrent_intake`: what is known here of torrents and their clients may not tell.

use qm_db::{DbError, FromRow, Json, Tx, sql};
use qm_kernel::Timestamp;

use crate::model::intake::Intake;

sql! {
    LOAD = "SELECT hash, noted_at, added_at, tags, is_private, auto_managed FROM torrent_intake WHERE engine_id = $1";
    PUT = "INSERT INTO torrent_intake (engine_id, hash, noted_at, added_at, tags, is_private) \
        VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (engine_id, hash) DO UPDATE \
        SET noted_at = excluded.noted_at, added_at = excluded.added_at, tags = excluded.tags, \
            is_private = excluded.is_private";
    PUT_NEW = "INSERT INTO torrent_intake (engine_id, hash, noted_at, added_at, tags, is_private, auto_managed) \
        VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (engine_id, hash) DO UPDATE \
        SET noted_at = excluded.noted_at, added_at = excluded.added_at, tags = excluded.tags, \
            is_private = excluded.is_private, auto_managed = excluded.auto_managed";
    MARK = "INSERT INTO torrent_intake (engine_id, hash, noted_at, tags, auto_managed) VALUES ($1, $2, $3, '[]', $4) \
        ON CONFLICT (engine_id, hash) DO UPDATE SET auto_managed = excluded.auto_managed";
    DESCRIBE = "UPDATE torrent_intake SET contents = $3 WHERE engine_id = $1 AND hash = $2";
    CONTENTS = "SELECT contents FROM torrent_intake WHERE engine_id = $1 AND hash = $2";
    DELETE = "DELETE FROM torrent_intake WHERE engine_id = $1 AND hash = $2 AND noted_at = $3";
}

#[derive(FromRow)]
struct Row {
    hash: String,
    noted_at: i64,
    added_at: Option<i64>,
    tags: Json<Vec<String>>,
    is_private: Option<bool>,
    auto_managed: Option<bool>,
}

/// All of an engine, by hash.
pub async fn load(tx: &mut Tx, engine_id: &str) -> Result<Vec<(String, Intake)>, DbError> {
    let rows = qm_db::all!(tx, Row, LOAD, engine_id).await?;
    let known = |row: Row| {
        let intake = Intake {
            noted_at: Timestamp::from_ms(row.noted_at),
            added_at: row.added_at.map(Timestamp::from_ms),
            tags: row.tags.0,
            is_private: row.is_private,
            auto_managed: row.auto_managed,
        };
        (row.hash, intake)
    };
    Ok(rows.into_iter().map(known).collect())
}

/// Writes one of a torrent that is handed to its client now, in the place of an earlier one.
pub async fn put_new(tx: &mut Tx, engine_id: &str, hash: &str, intake: &Intake) -> Result<(), DbError> {
    let added_at = intake.added_at.map(Timestamp::ms);
    let (noted_at, tags) = (intake.noted_at.ms(), Json(&intake.tags));
    let (is_private, auto_managed) = (intake.is_private, intake.auto_managed);
    qm_db::exec!(
        tx,
        PUT_NEW,
        engine_id,
        hash,
        noted_at,
        added_at,
        tags,
        is_private,
        auto_managed
    )
    .await?
    .exactly(1)
}

/// Notes whether the category of a torrent chooses where its data lies.
pub async fn mark_auto_managed(
    tx: &mut Tx,
    engine_id: &str,
    hash: &str,
    on: bool,
    now: Timestamp,
) -> Result<(), DbError> {
    qm_db::exec!(tx, MARK, engine_id, hash, now.ms(), on)
        .await?
        .exactly(1)
}

/// Writes one, in the place of an earlier one of the same torrent, whose category goes on choosing as before.
pub async fn put(tx: &mut Tx, engine_id: &str, hash: &str, intake: &Intake) -> Result<(), DbError> {
    let added_at = intake.added_at.map(Timestamp::ms);
    let (noted_at, tags) = (intake.noted_at.ms(), Json(&intake.tags));
    qm_db::exec!(
        tx,
        PUT,
        engine_id,
        hash,
        noted_at,
        added_at,
        tags,
        intake.is_private
    )
    .await?
    .exactly(1)
}

/// Notes the files of one; see [`Contents`](qm_metainfo::Contents).
pub async fn describe(tx: &mut Tx, engine_id: &str, hash: &str, contents: &str) -> Result<(), DbError> {
    qm_db::exec!(tx, DESCRIBE, engine_id, hash, contents)
        .await
        .map(drop)
}

/// The files of one, as far as they are known.
pub async fn contents(tx: &mut Tx, engine_id: &str, hash: &str) -> Result<Option<String>, DbError> {
    let row = qm_db::opt!(tx, (Option<String>,), CONTENTS, engine_id, hash).await?;
    Ok(row.and_then(|(contents,)| contents))
}

/// Deletes one, unless something was noted of the torrent since.
pub async fn delete(tx: &mut Tx, engine_id: &str, hash: &str, noted_at: Timestamp) -> Result<(), DbError> {
    qm_db::exec!(tx, DELETE, engine_id, hash, noted_at.ms())
        .await
        .map(drop)
}
