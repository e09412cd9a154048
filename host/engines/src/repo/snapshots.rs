//! Tables `torrent_snapshots` (the last state stored of each torrent) and `torrent_archive` (those that went).

use std::sync::Arc;

use qm_db::{DbError, FromRow, Tx, bulk, sql};
use qm_kernel::Timestamp;
use qm_torrent_lists::TorrentEntry;

use super::ledger::{signed, unsigned};
use crate::model::edges::Prior;
use crate::model::ledger::Growth;

sql! {
    LOAD = "SELECT hash, name, state, progress, size, downloaded, uploaded, ratio, save_path, label, added_at, \
        completed_at FROM torrent_snapshots WHERE engine_id = $1";
    PLACES = "SELECT hash, name, downloaded, save_path, content_path FROM torrent_snapshots WHERE engine_id = $1";
    PAGE_OF_PATHS = "SELECT hash, save_path, content_path FROM torrent_snapshots WHERE engine_id = $1 AND hash > $2 \
        ORDER BY hash LIMIT $3";
    SET_PATHS = "UPDATE torrent_snapshots SET save_path = $3, content_path = $4 WHERE engine_id = $1 AND hash = $2";
    ARCHIVE = "INSERT INTO torrent_archive \
        (id, engine_id, hash, name, downloaded, uploaded, ratio, first_seen_at, retired_at) \
        SELECT id, engine_id, hash, name, downloaded, uploaded, ratio, captured_at, CAST($3 AS BIGINT) \
        FROM torrent_snapshots WHERE engine_id = $1 AND hash = $2 \
        ON CONFLICT (engine_id, hash) DO UPDATE SET name = excluded.name, downloaded = excluded.downloaded, \
        uploaded = excluded.uploaded, ratio = excluded.ratio, retired_at = excluded.retired_at";
    DELETE = "DELETE FROM torrent_snapshots WHERE engine_id = $1 AND hash = $2";
}

bulk! {
    UPSERT = "INSERT INTO torrent_snapshots (id, engine_id, hash, name, state, progress, size, downloaded, uploaded, \
        ratio, download_rate, upload_rate, save_path, label, added_at, completed_at, captured_at, content_path) VALUES", 18,
        "ON CONFLICT (engine_id, hash) DO UPDATE SET name = excluded.name, state = excluded.state, \
        progress = excluded.progress, size = excluded.size, downloaded = excluded.downloaded, \
        uploaded = excluded.uploaded, ratio = excluded.ratio, download_rate = excluded.download_rate, \
        upload_rate = excluded.upload_rate, save_path = excluded.save_path, label = excluded.label, \
        added_at = excluded.added_at, completed_at = excluded.completed_at, content_path = excluded.content_path";
}

/// A row to write, and the news that it brings.
#[derive(Debug)]
pub struct RowWrite {
    /// The row's id if it is not there yet.
    pub id: String,
    pub entry: Arc<TorrentEntry>,
    /// The progress, ratio and completion to store.
    pub prior: Prior,
    pub growth: Growth,
    pub completed: bool,
    pub failed: bool,
    /// It was removed from its client and added once more.
    pub renewed: bool,
    /// The stored ratio, if there was one and it differs.
    pub ratio_was: Option<f64>,
}

/// A torrent as the last run of the service left it.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredRow {
    pub hash: String,
    pub name: String,
    pub state: String,
    pub progress: f64,
    pub size: u64,
    pub downloaded: u64,
    pub uploaded: u64,
    pub ratio: f64,
    pub save_path: String,
    pub label: Option<String>,
    pub added_at: Option<Timestamp>,
    pub completed_at: Option<Timestamp>,
}

#[derive(FromRow)]
struct Row {
    hash: String,
    name: String,
    state: String,
    progress: f64,
    size: i64,
    downloaded: i64,
    uploaded: i64,
    ratio: f64,
    save_path: String,
    label: Option<String>,
    added_at: Option<i64>,
    completed_at: Option<i64>,
}

impl From<Row> for StoredRow {
    fn from(row: Row) -> Self {
        Self {
            hash: row.hash,
            name: row.name,
            state: row.state,
            progress: row.progress,
            size: unsigned(row.size),
            downloaded: unsigned(row.downloaded),
            uploaded: unsigned(row.uploaded),
            ratio: row.ratio,
            save_path: row.save_path,
            label: row.label,
            added_at: row.added_at.map(Timestamp::from_ms),
            completed_at: row.completed_at.map(Timestamp::from_ms),
        }
    }
}

/// All stored torrents of an engine.
pub async fn load(tx: &mut Tx, engine_id: &str) -> Result<Vec<StoredRow>, DbError> {
    Ok(qm_db::all!(tx, Row, LOAD, engine_id)
        .await?
        .into_iter()
        .map(StoredRow::from)
        .collect())
}

/// Where the data of a torrent lay when that was last stored.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct StoredPlace {
    pub hash: String,
    pub name: String,
    pub downloaded: i64,
    pub save_path: String,
    /// None: the row is older than this column.
    pub content_path: Option<String>,
}

/// Where the data of an engine's torrents lay.
pub async fn places(tx: &mut Tx, engine_id: &str) -> Result<Vec<StoredPlace>, DbError> {
    qm_db::all!(tx, StoredPlace, PLACES, engine_id).await
}

/// Rows whose paths are read at once.
const PAGE: i64 = 2_000;

/// Replaces the paths in the rows of an engine's torrents by what `change` makes of them.
pub async fn change_paths(
    tx: &mut Tx,
    engine_id: &str,
    change: impl Fn(&str) -> String + Send + Sync,
) -> Result<(), DbError> {
    type Row = (String, String, Option<String>);
    let mut after = String::new();
    loop {
        let rows = qm_db::all!(&mut *tx, Row, PAGE_OF_PATHS, engine_id, &after, PAGE).await?;
        let Some((last, ..)) = rows.last() else {
            return Ok(());
        };
        after.clone_from(last);
        for (hash, save_path, content_path) in rows {
            let new = change(&save_path);
            let new_content = content_path.as_deref().map(&change);
            if new != save_path || new_content != content_path {
                let new_content = new_content.as_deref();
                qm_db::exec!(&mut *tx, SET_PATHS, engine_id, &hash, &new, new_content)
                    .await?
                    .rows();
            }
        }
    }
}

/// Writes torrents; `at` is when those that are new were first seen.
pub async fn upsert(tx: &mut Tx, engine_id: &str, rows: &[RowWrite], at: Timestamp) -> Result<(), DbError> {
    qm_db::batch!(
        tx,
        UPSERT,
        rows,
        |row| &row.id,
        engine_id,
        &*row.entry.torrent.hash,
        &row.entry.torrent.name,
        row.entry.torrent.state.as_str(),
        row.prior.progress,
        signed(row.entry.torrent.size),
        signed(row.entry.torrent.downloaded),
        signed(row.entry.torrent.uploaded),
        row.entry.torrent.ratio,
        signed(row.entry.torrent.download_rate),
        signed(row.entry.torrent.upload_rate),
        &row.entry.torrent.save_path,
        row.entry.torrent.label.as_deref(),
        row.entry.torrent.added_at.map(Timestamp::ms),
        row.prior.completed_at.map(Timestamp::ms),
        at.ms(),
        &row.entry.torrent.content_path,
    )
    .await
    .map(drop)
}

/// Moves a torrent that the engine no longer lists to the archive. A torrent that was never stored is not archived.
pub async fn retire(tx: &mut Tx, engine_id: &str, hash: &str, at: Timestamp) -> Result<(), DbError> {
    qm_db::exec!(tx, ARCHIVE, engine_id, hash, at.ms()).await?.rows();
    qm_db::exec!(tx, DELETE, engine_id, hash).await?.rows();
    Ok(())
}
