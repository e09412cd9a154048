//! Table `torrent_departures`: torrents that left their client and may come back, for whose removal rules wait.

use qm_db::{DbError, FromRow, Tx, sql};
use qm_kernel::Timestamp;

sql! {
    LOAD = "SELECT hash, added_at FROM torrent_departures WHERE engine_id = $1";
    PUT = "INSERT INTO torrent_departures (engine_id, hash, gone_at, added_at, due) VALUES ($1, $2, $3, $4, $5) \
        ON CONFLICT (engine_id, hash) DO UPDATE SET gone_at = excluded.gone_at, added_at = excluded.added_at, due = excluded.due";
    TAKE = "DELETE FROM torrent_departures WHERE engine_id = $1 AND hash = $2 RETURNING due";
    DELETE = "DELETE FROM torrent_departures WHERE engine_id = $1 AND hash = $2";
}

#[derive(FromRow)]
struct Row {
    hash: String,
    added_at: Option<i64>,
}

/// A departed torrent to store.
pub struct Departure<'a> {
    pub hash: &'a str,
    pub gone_at: Timestamp,
    pub added_at: Option<Timestamp>,
    /// JSON of the event that rules are due.
    pub due: &'a str,
}

/// Hashes of an engine, each with the instant at which the torrent was added.
pub async fn load(tx: &mut Tx, engine_id: &str) -> Result<Vec<(String, Option<Timestamp>)>, DbError> {
    let rows = qm_db::all!(tx, Row, LOAD, engine_id).await?.into_iter();
    Ok(rows
        .map(|row| (row.hash, row.added_at.map(Timestamp::from_ms)))
        .collect())
}

pub async fn put(tx: &mut Tx, engine_id: &str, departure: &Departure<'_>) -> Result<(), DbError> {
    let added_at = departure.added_at.map(Timestamp::ms);
    let (hash, gone_at) = (departure.hash, departure.gone_at.ms());
    qm_db::exec!(tx, PUT, engine_id, hash, gone_at, added_at, departure.due)
        .await?
        .exactly(1)
}

/// Removes a row, and answers its event; `None`: there is none.
pub async fn take(tx: &mut Tx, engine_id: &str, hash: &str) -> Result<Option<String>, DbError> {
    let due = qm_db::opt!(tx, (String,), TAKE, engine_id, hash).await?;
    Ok(due.map(|(due,)| due))
}

/// Removes a row, if there is one: the torrent came back.
pub async fn delete(tx: &mut Tx, engine_id: &str, hash: &str) -> Result<(), DbError> {
    qm_db::exec!(tx, DELETE, engine_id, hash).await.map(drop)
}
