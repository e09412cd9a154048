//! Table `torrent_parking`.

use qm_db::{DbError, FromRow, Tx, bulk, sql};
use qm_kernel::Timestamp;
use qm_ports::parking::ParkReason;

use crate::model::row::Row;

sql! {
    ALL = "SELECT p.engine_id, p.hash, p.name, p.reason, p.parked_at, p.rests_since, p.probing_since, p.last_probed_at, \
        p.probe_count, p.last_seeders, p.released_at, p.updated_at FROM torrent_parking p JOIN torrent_engines e \
        ON e.id = p.engine_id WHERE e.deleted_at IS NULL AND p.released_at IS NULL ORDER BY p.parked_at DESC, p.engine_id, p.hash";
    OF_ENGINE = "SELECT engine_id, hash, name, reason, parked_at, rests_since, probing_since, last_probed_at, probe_count, \
        last_seeders, released_at, updated_at FROM torrent_parking WHERE engine_id = $1 ORDER BY parked_at DESC, hash";
    ONE = "SELECT engine_id, hash, name, reason, parked_at, rests_since, probing_since, last_probed_at, probe_count, \
        last_seeders, released_at, updated_at FROM torrent_parking WHERE engine_id = $1 AND hash = $2";
    DELETE = "DELETE FROM torrent_parking WHERE engine_id = $1 AND hash = $2";
    ENGINE = "SELECT COUNT(*) FROM torrent_engines WHERE id = $1 AND deleted_at IS NULL";
}

bulk! {
    PUT = "INSERT INTO torrent_parking (engine_id, hash, name, reason, parked_at, rests_since, probing_since, last_probed_at, \
        probe_count, last_seeders, released_at, updated_at) VALUES", 12,
        "ON CONFLICT (engine_id, hash) DO UPDATE SET name = excluded.name, reason = excluded.reason, \
        parked_at = excluded.parked_at, rests_since = excluded.rests_since, probing_since = excluded.probing_since, \
        last_probed_at = excluded.last_probed_at, probe_count = excluded.probe_count, last_seeders = excluded.last_seeders, \
        released_at = excluded.released_at, updated_at = excluded.updated_at";
}

#[derive(FromRow)]
struct Stored {
    engine_id: String,
    hash: String,
    name: String,
    reason: String,
    parked_at: i64,
    rests_since: Option<i64>,
    probing_since: Option<i64>,
    last_probed_at: Option<i64>,
    probe_count: i64,
    last_seeders: i64,
    released_at: Option<i64>,
    updated_at: i64,
}

impl Stored {
    /// The row with the id of its engine.
    fn into_row(self) -> (String, Row) {
        let row = Row {
            hash: self.hash,
            name: self.name,
            // The table admits no other words than those there are.
            reason: ParkReason::from_word(&self.reason).unwrap_or(ParkReason::Stalled),
            parked_at: Timestamp::from_ms(self.parked_at),
            rests_since: self.rests_since.map(Timestamp::from_ms),
            probing_since: self.probing_since.map(Timestamp::from_ms),
            last_probed_at: self.last_probed_at.map(Timestamp::from_ms),
            probe_count: u32::try_from(self.probe_count).unwrap_or(u32::MAX),
            last_seeders: u32::try_from(self.last_seeders).unwrap_or(u32::MAX),
            released_at: self.released_at.map(Timestamp::from_ms),
            updated_at: Timestamp::from_ms(self.updated_at),
        };
        (self.engine_id, row)
    }
}

/// Parked torrents of all engines, those parked last first, each with the id of its engine.
pub async fn list_parked(tx: &mut Tx) -> Result<Vec<(String, Row)>, DbError> {
    let stored = qm_db::all!(tx, Stored, ALL).await?;
    Ok(stored.into_iter().map(Stored::into_row).collect())
}

/// Rows of an engine, those parked last first; also of torrents that were let go.
pub async fn list_of(tx: &mut Tx, engine_id: &str) -> Result<Vec<Row>, DbError> {
    let stored = qm_db::all!(tx, Stored, OF_ENGINE, engine_id).await?;
    Ok(stored.into_iter().map(|stored| stored.into_row().1).collect())
}

/// Row of a torrent; also of one that was let go.
pub async fn find(tx: &mut Tx, engine_id: &str, hash: &str) -> Result<Option<Row>, DbError> {
    let stored = qm_db::opt!(tx, Stored, ONE, engine_id, hash).await?;
    Ok(stored.map(|stored| stored.into_row().1))
}

/// Stores rows, each of another torrent.
pub async fn put(tx: &mut Tx, engine_id: &str, rows: &[Row]) -> Result<(), DbError> {
    qm_db::batch!(
        tx,
        PUT,
        rows,
        |row| engine_id,
        &row.hash,
        &row.name,
        row.reason.as_str(),
        row.parked_at.ms(),
        row.rests_since.map(Timestamp::ms),
        row.probing_since.map(Timestamp::ms),
        row.last_probed_at.map(Timestamp::ms),
        i64::from(row.probe_count),
        i64::from(row.last_seeders),
        row.released_at.map(Timestamp::ms),
        row.updated_at.ms(),
    )
    .await
    .map(drop)
}

/// Deletes the row of a torrent, if there is one.
pub async fn delete(tx: &mut Tx, engine_id: &str, hash: &str) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, DELETE, engine_id, hash).await?.rows();
    Ok(())
}

/// True if an engine is configured.
pub async fn has_engine(tx: &mut Tx, engine_id: &str) -> Result<bool, DbError> {
    Ok(qm_db::value!(tx, i64, ENGINE, engine_id).await? > 0)
}
