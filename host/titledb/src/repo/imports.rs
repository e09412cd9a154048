//! Table `titledb_imports`.

use qm_db::{DbError, FromRow, Tx, sql};
use qm_kernel::Timestamp;
use serde_json::Value;

use crate::model::import::{Import, Status};
use crate::model::plan::Stats;

macro_rules! columns {
    () => {
        "id, status, source_path, job_id, stop_requested, started_at, completed_at, failed_at, error_message, files_imported, \
         records_imported, stats, strategy, dataset_date, created_at, updated_at"
    };
}

sql! {
    NEWEST = concat!("SELECT ", columns!(), " FROM titledb_imports ORDER BY created_at DESC, id LIMIT 50");
    ACTIVE = concat!("SELECT ", columns!(), " FROM titledb_imports WHERE active = 1");
    FIND = concat!("SELECT ", columns!(), " FROM titledb_imports WHERE id = $1");
    INSERT = "INSERT INTO titledb_imports (id, status, active, source_path, created_at, updated_at) \
        VALUES ($1, 'pending', 1, $2, $3, $3) ON CONFLICT (active) DO NOTHING";
    SET_JOB = "UPDATE titledb_imports SET job_id = $2 WHERE id = $1";
    STOP = "UPDATE titledb_imports SET stop_requested = $2, updated_at = $3 WHERE id = $1 AND active = 1";
    BEGIN = "UPDATE titledb_imports SET status = 'running', started_at = COALESCE(started_at, $2), strategy = $3, \
        dataset_date = $4, updated_at = $2 WHERE id = $1 AND active = 1";
    ADVANCE = "UPDATE titledb_imports SET files_imported = $2, records_imported = $3, stats = $4, updated_at = $5 \
        WHERE id = $1 AND active = 1";
    COMPLETE = "UPDATE titledb_imports SET status = 'completed', active = NULL, completed_at = $2, updated_at = $2 \
        WHERE id = $1 AND active = 1";
    FAIL = "UPDATE titledb_imports SET status = 'failed', active = NULL, failed_at = $2, error_message = $3, updated_at = $2 \
        WHERE id = $1 AND active = 1";
    CANCEL = "UPDATE titledb_imports SET status = 'cancelled', active = NULL, updated_at = $2 WHERE id = $1 AND active = 1";
    PRUNE = "DELETE FROM titledb_imports WHERE active IS NULL AND id NOT IN \
        (SELECT id FROM titledb_imports ORDER BY created_at DESC, id LIMIT 200)";
}

#[derive(FromRow)]
struct Row {
    id: String,
    status: String,
    source_path: String,
    job_id: Option<String>,
    stop_requested: bool,
    started_at: Option<i64>,
    completed_at: Option<i64>,
    failed_at: Option<i64>,
    error_message: Option<String>,
    files_imported: String,
    records_imported: i64,
    stats: Option<String>,
    strategy: Option<String>,
    dataset_date: Option<i64>,
    created_at: i64,
    updated_at: i64,
}

impl From<Row> for Import {
    fn from(row: Row) -> Self {
        let at = |ms: Option<i64>| ms.map(Timestamp::from_ms);
        Self {
            id: row.id,
            status: Status::from_word(&row.status),
            source_path: row.source_path,
            job_id: row.job_id,
            stop_requested: row.stop_requested,
            started_at: at(row.started_at),
            completed_at: at(row.completed_at),
            failed_at: at(row.failed_at),
            error_message: row.error_message,
            files_imported: serde_json::from_str(&row.files_imported).unwrap_or_default(),
            records_imported: row.records_imported.unsigned_abs(),
            stats: row
                .stats
                .and_then(|stats| serde_json::from_str::<Value>(&stats).ok()),
            strategy: row.strategy,
            dataset_date: at(row.dataset_date),
            created_at: Timestamp::from_ms(row.created_at),
            updated_at: Timestamp::from_ms(row.updated_at),
        }
    }
}

/// The newest 50 imports, the newest first.
pub async fn newest(tx: &mut Tx) -> Result<Vec<Import>, DbError> {
    let rows = qm_db::all!(tx, Row, NEWEST).await?;
    Ok(rows.into_iter().map(Import::from).collect())
}

/// The pending or running import.
pub async fn active(tx: &mut Tx) -> Result<Option<Import>, DbError> {
    Ok(qm_db::opt!(tx, Row, ACTIVE).await?.map(Import::from))
}

pub async fn find(tx: &mut Tx, id: &str) -> Result<Option<Import>, DbError> {
    Ok(qm_db::opt!(tx, Row, FIND, id).await?.map(Import::from))
}

/// Adds a pending import; `false` when one is active.
pub async fn insert(tx: &mut Tx, id: &str, path: &str, now: Timestamp) -> Result<bool, DbError> {
    let _ = qm_db::exec!(tx, PRUNE).await?;
    Ok(qm_db::exec!(tx, INSERT, id, path, now.ms()).await?.rows() == 1)
}

pub async fn set_job(tx: &mut Tx, id: &str, job: &str) -> Result<(), DbError> {
    qm_db::exec!(tx, SET_JOB, id, job).await?.exactly(1)
}

pub async fn ask_to_stop(tx: &mut Tx, id: &str, now: Timestamp) -> Result<(), DbError> {
    qm_db::exec!(tx, STOP, id, true, now.ms()).await?.exactly(1)
}

/// Marks an import as running; `false` when it is no longer active.
pub async fn begin(
    tx: &mut Tx,
    id: &str,
    strategy: &str,
    dataset_date: Option<i64>,
    now: Timestamp,
) -> Result<bool, DbError> {
    let begun = qm_db::exec!(tx, BEGIN, id, now.ms(), strategy, dataset_date).await?;
    Ok(begun.rows() == 1)
}

pub async fn advance(
    tx: &mut Tx,
    id: &str,
    files: &[String],
    stats: &Stats,
    now: Timestamp,
) -> Result<bool, DbError> {
    let files = serde_json::to_string(files).unwrap_or_default();
    let records = i64::try_from(stats.rows_imported).unwrap_or(i64::MAX);
    let stats = serde_json::to_string(stats).unwrap_or_default();
    let advanced = qm_db::exec!(tx, ADVANCE, id, files, records, stats, now.ms()).await?;
    Ok(advanced.rows() == 1)
}

pub async fn complete(tx: &mut Tx, id: &str, now: Timestamp) -> Result<bool, DbError> {
    Ok(qm_db::exec!(tx, COMPLETE, id, now.ms()).await?.rows() == 1)
}

pub async fn fail(tx: &mut Tx, id: &str, why: &str, now: Timestamp) -> Result<bool, DbError> {
    Ok(qm_db::exec!(tx, FAIL, id, now.ms(), why).await?.rows() == 1)
}

pub async fn cancel(tx: &mut Tx, id: &str, now: Timestamp) -> Result<bool, DbError> {
    Ok(qm_db::exec!(tx, CANCEL, id, now.ms()).await?.rows() == 1)
}
