//! Tables `share_ledger`, `share_counts` and `share_clocks`.

use std::collections::HashMap;
use std::sync::Arc;

use qm_db::{DbError, FromRow, Tx, bulk, sql};
use qm_kernel::Timestamp;

use super::{signed, unsigned};
use crate::model::count::Count;
use crate::model::ledger::{Entry, State};

sql! {
    LEDGER = "SELECT hash, limits, added_at, reached, action, state, attempts, error, told, next_at, at FROM share_ledger \
        WHERE engine_id = $1";
    ENTRY = "SELECT hash, limits, added_at, reached, action, state, attempts, error, told, next_at, at FROM share_ledger \
        WHERE engine_id = $1 AND hash = $2";
    PUT = "INSERT INTO share_ledger (engine_id, hash, limits, added_at, reached, action, state, attempts, error, told, next_at, \
        at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) ON CONFLICT (engine_id, hash) DO UPDATE SET \
        limits = excluded.limits, added_at = excluded.added_at, reached = excluded.reached, action = excluded.action, \
        state = excluded.state, attempts = excluded.attempts, error = excluded.error, told = excluded.told, \
        next_at = excluded.next_at, at = excluded.at";
    DELETE = "DELETE FROM share_ledger WHERE engine_id = $1 AND hash = $2";
    COUNTS = "SELECT hash, seeded, running_from, active, uploaded, added_at FROM share_counts WHERE engine_id = $1";
    DELETE_COUNT = "DELETE FROM share_counts WHERE engine_id = $1 AND hash = $2";
    CLOCK = "SELECT watched FROM share_clocks WHERE engine_id = $1";
    PUT_CLOCK = "INSERT INTO share_clocks (engine_id, watched) VALUES ($1, $2) ON CONFLICT (engine_id) DO UPDATE SET \
        watched = excluded.watched";
    GONE = "DELETE FROM share_ledger WHERE EXISTS (SELECT 1 FROM torrent_archive a WHERE a.engine_id = share_ledger.engine_id \
        AND a.hash = share_ledger.hash AND a.retired_at < $1 AND a.retired_at > share_ledger.at) AND NOT EXISTS \
        (SELECT 1 FROM torrent_snapshots s WHERE s.engine_id = share_ledger.engine_id AND s.hash = share_ledger.hash)";
    GONE_COUNTS = "DELETE FROM share_counts WHERE EXISTS (SELECT 1 FROM torrent_archive a WHERE a.engine_id = share_counts.engine_id \
        AND a.hash = share_counts.hash AND a.retired_at < $1) AND NOT EXISTS \
        (SELECT 1 FROM torrent_snapshots s WHERE s.engine_id = share_counts.engine_id AND s.hash = share_counts.hash)";
}

bulk! {
    PUT_COUNTS = "INSERT INTO share_counts (engine_id, hash, seeded, running_from, active, uploaded, added_at) VALUES", 7,
        "ON CONFLICT (engine_id, hash) DO UPDATE SET seeded = excluded.seeded, running_from = excluded.running_from, \
        active = excluded.active, uploaded = excluded.uploaded, added_at = excluded.added_at";
}

#[derive(FromRow)]
struct Row {
    hash: String,
    limits: String,
    added_at: Option<i64>,
    reached: String,
    action: String,
    state: String,
    attempts: i64,
    error: Option<String>,
    told: Option<String>,
    next_at: Option<i64>,
    at: i64,
}

impl From<Row> for Entry {
    fn from(row: Row) -> Self {
        Self {
            hash: row.hash,
            limits: row.limits,
            added_at: row.added_at.map(Timestamp::from_ms),
            reached: row.reached,
            action: row.action,
            state: State::from_word(&row.state),
            attempts: u32::try_from(row.attempts).unwrap_or(u32::MAX),
            error: row.error,
            told: row.told,
            next_at: row.next_at.map(Timestamp::from_ms),
            at: Timestamp::from_ms(row.at),
        }
    }
}

/// Entries of an engine.
pub async fn list(tx: &mut Tx, engine_id: &str) -> Result<Vec<Entry>, DbError> {
    let rows = qm_db::all!(tx, Row, LEDGER, engine_id).await?;
    Ok(rows.into_iter().map(Entry::from).collect())
}

/// Entry of a torrent.
pub async fn find(tx: &mut Tx, engine_id: &str, hash: &str) -> Result<Option<Entry>, DbError> {
    Ok(qm_db::opt!(tx, Row, ENTRY, engine_id, hash)
        .await?
        .map(Entry::from))
}

pub async fn put(tx: &mut Tx, engine_id: &str, entry: &Entry) -> Result<(), DbError> {
    qm_db::exec!(
        tx,
        PUT,
        engine_id,
        &entry.hash,
        &entry.limits,
        entry.added_at.map(Timestamp::ms),
        &entry.reached,
        &entry.action,
        entry.state.as_str(),
        i64::from(entry.attempts),
        entry.error.as_deref(),
        entry.told.as_deref(),
        entry.next_at.map(Timestamp::ms),
        entry.at.ms()
    )
    .await?
    .exactly(1)
}

/// Deletes the entry of a torrent, if there is one.
pub async fn delete(tx: &mut Tx, engine_id: &str, hash: &str) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, DELETE, engine_id, hash).await?.rows();
    Ok(())
}

#[derive(FromRow)]
struct CountRow {
    hash: String,
    seeded: i64,
    running_from: Option<i64>,
    active: i64,
    uploaded: i64,
    added_at: Option<i64>,
}

/// Counts of an engine, and the reading of its clock.
pub async fn load_counts(tx: &mut Tx, engine_id: &str) -> Result<(HashMap<Arc<str>, Count>, u64), DbError> {
    let clock = qm_db::opt!(tx, (i64,), CLOCK, engine_id).await?;
    let rows = qm_db::all!(tx, CountRow, COUNTS, engine_id).await?;
    let counts = rows.into_iter().map(|row| {
        let count = Count {
            seeded: unsigned(row.seeded),
            running_from: row.running_from.map(unsigned),
            active: unsigned(row.active),
            uploaded: unsigned(row.uploaded),
            added_at: row.added_at.map(Timestamp::from_ms),
        };
        (Arc::from(row.hash), count)
    });
    Ok((counts.collect(), clock.map_or(0, |(watched,)| unsigned(watched))))
}

/// Stores counts, and the reading of their clock.
pub async fn put_counts(
    tx: &mut Tx,
    engine_id: &str,
    counts: &[(Arc<str>, Count)],
    watched: u64,
) -> Result<(), DbError> {
    qm_db::batch!(
        tx,
        PUT_COUNTS,
        counts,
        |(hash, count)| engine_id,
        &**hash,
        signed(count.seeded),
        count.running_from.map(signed),
        signed(count.active),
        signed(count.uploaded),
        count.added_at.map(Timestamp::ms),
    )
    .await
    .map(drop)?;
    qm_db::exec!(tx, PUT_CLOCK, engine_id, signed(watched))
        .await?
        .exactly(1)
}

/// Deletes the count of a torrent, if there is one.
pub async fn delete_count(tx: &mut Tx, engine_id: &str, hash: &str) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, DELETE_COUNT, engine_id, hash).await?.rows();
    Ok(())
}

/// Deletes what is kept of torrents that left their engine before an instant.
pub async fn forget_gone(tx: &mut Tx, before: Timestamp) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, GONE, before.ms()).await?.rows();
    let _ = qm_db::exec!(tx, GONE_COUNTS, before.ms()).await?.rows();
    Ok(())
}
