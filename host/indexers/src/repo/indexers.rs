//! Indexers. Secrets come and go sealed.

use qm_db::{DbError, FromRow, Tx, sql};
use qm_kernel::Timestamp;
use qm_ports::indexer::Caps;

use crate::model::indexer::{Indexer, day};

macro_rules! select {
    () => {
        "SELECT i.id, i.name, i.implementation, i.protocol, i.base_url, i.api_key, i.config, i.is_enabled, i.priority, \
            i.categories, i.min_seeders, i.timeout_ms, i.requests_per_minute, i.capabilities, i.status, \
            i.status_message, i.last_tested_at, i.consecutive_failures, i.next_try_at, i.last_latency_ms, i.last_error, \
            i.last_error_code, i.created_at, i.updated_at, i.version, d.queries, d.grabs \
         FROM indexers i LEFT JOIN indexer_days d ON d.indexer_id = i.id AND d.day = $1 "
    };
}

sql! {
    ALL = concat!(select!(), "ORDER BY i.priority, i.name, i.id");
    FIND = concat!(select!(), "WHERE i.id = $2");
    COUNT = "SELECT COUNT(*) FROM indexers";
    INSERT = "INSERT INTO indexers (id, name, implementation, protocol, base_url, api_key, config, is_enabled, priority, \
            categories, min_seeders, timeout_ms, requests_per_minute, status, consecutive_failures, created_at, \
            updated_at, version) \
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, 'unknown', 0, $14, $14, 1)";
    UPDATE = "UPDATE indexers SET name = $2, implementation = $3, protocol = $4, base_url = $5, api_key = $6, config = $7, \
            is_enabled = $8, priority = $9, categories = $10, min_seeders = $11, timeout_ms = $12, \
            requests_per_minute = $13, updated_at = $14 WHERE id = $1";
    RENEW = "UPDATE indexers SET version = version + 1, consecutive_failures = 0, next_try_at = NULL, last_error = NULL, \
            last_error_code = NULL WHERE id = $1";
    DELETE = "DELETE FROM indexers WHERE id = $1";
    ANSWERED = "UPDATE indexers SET consecutive_failures = 0, next_try_at = NULL, last_error = NULL, \
            last_error_code = NULL, last_latency_ms = $3 WHERE id = $1 AND version = $2";
    FAILED = "UPDATE indexers SET consecutive_failures = consecutive_failures + $3, next_try_at = $4, last_error = $5, \
            last_error_code = $6, last_latency_ms = $7 WHERE id = $1 AND version = $2";
    TESTED = "UPDATE indexers SET status = $3, status_message = $4, last_tested_at = $5, \
            capabilities = COALESCE($6, capabilities) WHERE id = $1 AND version = $2";
    // An indexer that is gone meanwhile has no days.
    TALLY = "INSERT INTO indexer_days (indexer_id, day, queries, grabs) \
        SELECT id, $2, $3, $4 FROM indexers WHERE id = $1 \
        ON CONFLICT (indexer_id, day) DO UPDATE SET queries = indexer_days.queries + excluded.queries, \
            grabs = indexer_days.grabs + excluded.grabs";
    FORGET_DAYS = "DELETE FROM indexer_days WHERE indexer_id = $1 AND day < $2";
}

/// Days of counters that are kept.
const DAYS: i64 = 31;

#[derive(FromRow)]
struct Row {
    id: String,
    name: String,
    implementation: String,
    protocol: String,
    base_url: String,
    api_key: Option<String>,
    config: Option<String>,
    is_enabled: bool,
    priority: i64,
    categories: String,
    min_seeders: Option<i64>,
    timeout_ms: i64,
    requests_per_minute: i64,
    capabilities: Option<String>,
    status: String,
    status_message: Option<String>,
    last_tested_at: Option<i64>,
    consecutive_failures: i64,
    next_try_at: Option<i64>,
    last_latency_ms: Option<i64>,
    last_error: Option<String>,
    last_error_code: Option<String>,
    created_at: i64,
    updated_at: i64,
    version: i64,
    queries: Option<i64>,
    grabs: Option<i64>,
}

impl From<Row> for Indexer {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            name: row.name,
            implementation: row.implementation,
            protocol: row.protocol,
            base_url: row.base_url,
            api_key: row.api_key,
            config: row.config,
            enabled: row.is_enabled,
            priority: row.priority,
            categories: serde_json::from_str(&row.categories).unwrap_or_default(),
            min_seeders: row.min_seeders,
            timeout_ms: row.timeout_ms,
            requests_per_minute: row.requests_per_minute,
            capabilities: row.capabilities.and_then(|text| serde_json::from_str(&text).ok()),
            status: row.status,
            status_message: row.status_message,
            last_tested_at: row.last_tested_at.map(Timestamp::from_ms),
            consecutive_failures: row.consecutive_failures,
            next_try_at: row.next_try_at.map(Timestamp::from_ms),
            last_latency_ms: row.last_latency_ms,
            last_error: row.last_error,
            last_error_code: row.last_error_code,
            created_at: Timestamp::from_ms(row.created_at),
            updated_at: Timestamp::from_ms(row.updated_at),
            version: row.version,
            queries_today: row.queries.unwrap_or(0),
            grabs_today: row.grabs.unwrap_or(0),
        }
    }
}

/// Every indexer in the order in which they are listed and win; `now` tells which day is today.
pub async fn all(tx: &mut Tx, now: Timestamp) -> Result<Vec<Indexer>, DbError> {
    let rows = qm_db::all!(tx, Row, ALL, day(now)).await?;
    Ok(rows.into_iter().map(Indexer::from).collect())
}

pub async fn find(tx: &mut Tx, id: &str, now: Timestamp) -> Result<Option<Indexer>, DbError> {
    Ok(qm_db::opt!(tx, Row, FIND, day(now), id).await?.map(Indexer::from))
}

pub async fn count(tx: &mut Tx) -> Result<i64, DbError> {
    Ok(qm_db::opt!(tx, (i64,), COUNT).await?.map_or(0, |(count,)| count))
}

fn numbers(categories: &[u32]) -> String {
    serde_json::Value::from(categories).to_string()
}

pub async fn insert(tx: &mut Tx, new: &Indexer) -> Result<(), DbError> {
    qm_db::exec!(
        tx,
        INSERT,
        &new.id,
        &new.name,
        &new.implementation,
        &new.protocol,
        &new.base_url,
        new.api_key.as_deref(),
        new.config.as_deref(),
        new.enabled,
        new.priority,
        numbers(&new.categories),
        new.min_seeders,
        new.timeout_ms,
        new.requests_per_minute,
        new.created_at.ms()
    )
    .await?
    .exactly(1)
}

/// Stores what people enter. `anew`: how it is asked has changed, and what is known of its health is of the past.
pub async fn update(tx: &mut Tx, indexer: &Indexer, anew: bool) -> Result<(), DbError> {
    qm_db::exec!(
        tx,
        UPDATE,
        &indexer.id,
        &indexer.name,
        &indexer.implementation,
        &indexer.protocol,
        &indexer.base_url,
        indexer.api_key.as_deref(),
        indexer.config.as_deref(),
        indexer.enabled,
        indexer.priority,
        numbers(&indexer.categories),
        indexer.min_seeders,
        indexer.timeout_ms,
        indexer.requests_per_minute,
        indexer.updated_at.ms()
    )
    .await?
    .exactly(1)?;
    if anew {
        qm_db::exec!(tx, RENEW, &indexer.id).await?.exactly(1)?;
    }
    Ok(())
}

/// `false`: there is none.
pub async fn delete(tx: &mut Tx, id: &str) -> Result<bool, DbError> {
    Ok(qm_db::exec!(tx, DELETE, id).await?.rows() == 1)
}

/// One indexer at one configuration: what another one brought says nothing of it.
#[derive(Clone, Copy, Debug)]
pub struct Which<'a> {
    pub id: &'a str,
    pub version: i64,
}

pub async fn answered(tx: &mut Tx, which: Which<'_>, latency_ms: i64) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, ANSWERED, which.id, which.version, latency_ms).await?;
    Ok(())
}

/// Why an indexer brought nothing, as it is stored.
pub struct Failed<'a> {
    pub message: &'a str,
    pub code: &'a str,
    /// It counts against the indexer.
    pub counts: bool,
    pub next_try_at: Option<Timestamp>,
    pub latency_ms: i64,
}

pub async fn failed(tx: &mut Tx, which: Which<'_>, failed: &Failed<'_>) -> Result<(), DbError> {
    let _ = qm_db::exec!(
        tx,
        FAILED,
        which.id,
        which.version,
        i64::from(failed.counts),
        failed.next_try_at.map(Timestamp::ms),
        failed.message,
        failed.code,
        failed.latency_ms
    )
    .await?;
    Ok(())
}

/// Notes a test: what it said of itself, or why it did not.
pub async fn tested(
    tx: &mut Tx,
    which: Which<'_>,
    outcome: Result<&Caps, &str>,
    at: Timestamp,
) -> Result<(), DbError> {
    let (status, message, caps) = match outcome {
        Ok(caps) => ("ok", None, serde_json::to_string(caps).ok()),
        Err(message) => ("error", Some(message), None),
    };
    let _ = qm_db::exec!(
        tx,
        TESTED,
        which.id,
        which.version,
        status,
        message,
        at.ms(),
        caps.as_deref()
    )
    .await?;
    Ok(())
}

/// Adds to what an indexer was asked today.
pub async fn tally(
    tx: &mut Tx,
    id: &str,
    (queries, grabs): (i64, i64),
    at: Timestamp,
) -> Result<(), DbError> {
    let today = day(at);
    let _ = qm_db::exec!(tx, TALLY, id, today, queries, grabs).await?;
    let _ = qm_db::exec!(tx, FORGET_DAYS, id, today - DAYS).await?;
    Ok(())
}
