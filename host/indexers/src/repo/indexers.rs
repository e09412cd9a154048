//! Table `indexers`. Secrets come and go sealed.

use qm_db::{DbError, FromRow, Tx, all, exec, one, opt, sql};
use qm_kernel::Timestamp;

use crate::model::health::Health;
use crate::model::import::{Imported, Origin};
use crate::model::indexer::{Indexer, Status};

macro_rules! columns {
    () => {
        "id, name, implementation, protocol, base_url, api_key, config, is_enabled, priority, categories, min_seeders, \
         timeout_ms, requests_per_minute, capabilities, status, status_message, last_tested_at, failures, last_error, \
         rests_until, throttled_until, last_latency_ms, day, queries, grabs, created_at, updated_at, origin, \
         imported"
    };
}

sql! {
    ALL = concat!("SELECT ", columns!(), " FROM indexers ORDER BY priority, name, id");
    FIND = concat!("SELECT ", columns!(), " FROM indexers WHERE id = $1");
    COUNT = "SELECT COUNT(*) FROM indexers";
    INSERT = concat!("INSERT INTO indexers (", columns!(), ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, \
        $13, NULL, $14, NULL, NULL, 0, NULL, NULL, NULL, NULL, 0, 0, 0, $15, $15, $16, $17)");
    UPDATE = "UPDATE indexers SET name = $2, implementation = $3, protocol = $4, base_url = $5, api_key = $6, config = $7, \
        is_enabled = $8, priority = $9, categories = $10, min_seeders = $11, timeout_ms = $12, requests_per_minute = $13, \
        updated_at = $14, imported = $15 WHERE id = $1";
    /// Resets test result and health, which belong to an earlier address or key.
    FORGET = "UPDATE indexers SET capabilities = NULL, status = $2, status_message = NULL, last_tested_at = NULL, \
        failures = 0, last_error = NULL, rests_until = NULL, throttled_until = NULL, last_latency_ms = NULL WHERE id = $1";
    DELETE = "DELETE FROM indexers WHERE id = $1";
    TESTED = "UPDATE indexers SET status = $2, status_message = $3, last_tested_at = $4, \
        capabilities = COALESCE($5, capabilities) WHERE id = $1 AND updated_at = $6";
    NOTE = "UPDATE indexers SET failures = $2, last_error = $3, rests_until = $4, throttled_until = $5, \
        last_latency_ms = $6, day = $7, queries = $8, grabs = $9 WHERE id = $1";
}

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
    failures: i64,
    last_error: Option<String>,
    rests_until: Option<i64>,
    throttled_until: Option<i64>,
    last_latency_ms: Option<i64>,
    day: i64,
    queries: i64,
    grabs: i64,
    created_at: i64,
    updated_at: i64,
    origin: Option<String>,
    imported: Option<String>,
}

impl From<Row> for Indexer {
    fn from(row: Row) -> Self {
        let health = Health {
            failures: u32::try_from(row.failures).unwrap_or(u32::MAX),
            last_error: row.last_error,
            rests_until: row.rests_until.map(Timestamp::from_ms),
            throttled_until: row.throttled_until.map(Timestamp::from_ms),
            last_latency_ms: row.last_latency_ms.map(|ms| ms as u64),
            day: row.day,
            queries: row.queries as u64,
            grabs: row.grabs as u64,
        };
        let small = |number: i64| u32::try_from(number).unwrap_or_default();
        Self {
            id: row.id,
            name: row.name,
            implementation: row.implementation,
            protocol: row.protocol,
            base_url: row.base_url,
            api_key: row.api_key,
            config: row.config,
            is_enabled: row.is_enabled,
            priority: row.priority,
            categories: serde_json::from_str(&row.categories).unwrap_or_default(),
            min_seeders: row.min_seeders.map(small),
            timeout_ms: small(row.timeout_ms),
            requests_per_minute: small(row.requests_per_minute),
            capabilities: row.capabilities.and_then(|text| serde_json::from_str(&text).ok()),
            status: Status::named(&row.status),
            status_message: row.status_message,
            last_tested_at: row.last_tested_at.map(Timestamp::from_ms),
            health,
            origin: row.origin.map(|of| Origin {
                of,
                last: last_of(row.imported.as_deref()),
            }),
            created_at: Timestamp::from_ms(row.created_at),
            updated_at: Timestamp::from_ms(row.updated_at),
        }
    }
}

/// Parses the stored values of the last import; damaged JSON means that no field follows.
fn last_of(imported: Option<&str>) -> Imported {
    imported
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default()
}

fn imported(indexer: &Indexer) -> Option<String> {
    let last = indexer.origin.as_ref().map(|origin| &origin.last);
    last.and_then(|last| serde_json::to_string(last).ok())
}

/// Every indexer, in search order.
pub async fn all(tx: &mut Tx) -> Result<Vec<Indexer>, DbError> {
    let rows = all!(tx, Row, ALL).await?;
    Ok(rows.into_iter().map(Indexer::from).collect())
}

pub async fn find(tx: &mut Tx, id: &str) -> Result<Option<Indexer>, DbError> {
    Ok(opt!(tx, Row, FIND, id).await?.map(Indexer::from))
}

pub async fn count(tx: &mut Tx) -> Result<u64, DbError> {
    let (count,) = one!(tx, (i64,), COUNT).await?;
    Ok(count as u64)
}

fn list(numbers: &[u32]) -> String {
    serde_json::Value::from(numbers).to_string()
}

/// Inserts a new indexer.
pub async fn insert(tx: &mut Tx, new: &Indexer) -> Result<(), DbError> {
    exec!(
        tx,
        INSERT,
        &new.id,
        &new.name,
        &new.implementation,
        &new.protocol,
        &new.base_url,
        new.api_key.as_deref(),
        new.config.as_deref(),
        new.is_enabled,
        new.priority,
        list(&new.categories),
        new.min_seeders.map(i64::from),
        i64::from(new.timeout_ms),
        i64::from(new.requests_per_minute),
        Status::Unknown.as_str(),
        new.created_at.ms(),
        new.origin.as_ref().map(|origin| origin.of.as_str()),
        imported(new)
    )
    .await?
    .exactly(1)
}

/// Stores the configuration; `forget` resets test result and health.
pub async fn update(tx: &mut Tx, new: &Indexer, forget: bool) -> Result<(), DbError> {
    exec!(
        tx,
        UPDATE,
        &new.id,
        &new.name,
        &new.implementation,
        &new.protocol,
        &new.base_url,
        new.api_key.as_deref(),
        new.config.as_deref(),
        new.is_enabled,
        new.priority,
        list(&new.categories),
        new.min_seeders.map(i64::from),
        i64::from(new.timeout_ms),
        i64::from(new.requests_per_minute),
        new.updated_at.ms(),
        imported(new)
    )
    .await?
    .exactly(1)?;
    if forget {
        let _ = exec!(tx, FORGET, &new.id, Status::Unknown.as_str()).await?;
    }
    Ok(())
}

pub async fn delete(tx: &mut Tx, id: &str) -> Result<(), DbError> {
    exec!(tx, DELETE, id).await?.exactly(1)
}

/// Stores a test result, unless the indexer was changed meanwhile. A failed test keeps the stored
/// capabilities.
pub async fn tested(
    tx: &mut Tx,
    which: &Indexer,
    at: Timestamp,
    outcome: &Tested<'_>,
) -> Result<(), DbError> {
    let (status, message, caps) = match outcome {
        Tested::Ok(caps) => (Status::Ok, None, Some(*caps)),
        Tested::Failed(message) => (Status::Error, Some(*message), None),
    };
    let _ = exec!(
        tx,
        TESTED,
        &which.id,
        status.as_str(),
        message,
        at.ms(),
        caps,
        which.updated_at.ms()
    )
    .await?;
    Ok(())
}

/// Result of a test: capabilities as JSON, or the error sentence.
pub enum Tested<'a> {
    Ok(&'a str),
    Failed(&'a str),
}

/// Stores the health of an indexer; a deleted one is ignored.
pub async fn note(tx: &mut Tx, id: &str, health: &Health) -> Result<(), DbError> {
    let _ = exec!(
        tx,
        NOTE,
        id,
        i64::from(health.failures),
        health.last_error.as_deref(),
        health.rests_until.map(Timestamp::ms),
        health.throttled_until.map(Timestamp::ms),
        health.last_latency_ms.map(|ms| ms as i64),
        health.day,
        health.queries as i64,
        health.grabs as i64
    )
    .await?;
    Ok(())
}
