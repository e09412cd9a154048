//! Table `rss_feeds`.

use qm_db::{DbError, FromRow, Tx, sql};
use qm_kernel::Timestamp;

use super::{clean, json, parsed};
use crate::model::feed::Feed;

macro_rules! columns {
    () => {
        "id, name, url, refresh_interval, is_enabled, last_fetched_at, etag, last_modified, next_fetch_at, failures, \
         last_error, warnings, created_at, updated_at"
    };
}

sql! {
    LIST = concat!("SELECT ", columns!(), " FROM rss_feeds ORDER BY created_at, id");
    FIND = concat!("SELECT ", columns!(), " FROM rss_feeds WHERE id = $1");
    BY_URL = concat!("SELECT ", columns!(), " FROM rss_feeds WHERE url = $1 ORDER BY created_at, id LIMIT 1");
    DUE = concat!("SELECT ", columns!(), " FROM rss_feeds WHERE is_enabled AND (next_fetch_at IS NULL OR next_fetch_at <= $1) \
        ORDER BY COALESCE(next_fetch_at, 0), created_at, id LIMIT $2");
    NEXT = "SELECT MIN(COALESCE(next_fetch_at, 0)) FROM rss_feeds WHERE is_enabled";
    COUNT = "SELECT COUNT(*) FROM rss_feeds";
    INSERT = "INSERT INTO rss_feeds (id, name, url, refresh_interval, is_enabled, last_fetched_at, etag, last_modified, \
        next_fetch_at, failures, last_error, warnings, created_at, updated_at) \
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)";
    UPDATE = "UPDATE rss_feeds SET name = $2, url = $3, refresh_interval = $4, is_enabled = $5, etag = $6, \
        last_modified = $7, next_fetch_at = $8, failures = $9, last_error = $10, updated_at = $11 WHERE id = $1";
    /// Matches the requested address too, because the feed may have another one by now.
    FETCHED = "UPDATE rss_feeds SET last_fetched_at = $3, etag = $4, last_modified = $5, next_fetch_at = $6, failures = 0, \
        last_error = NULL, warnings = $7 WHERE id = $1 AND url = $2";
    FAILED = "UPDATE rss_feeds SET next_fetch_at = $3, failures = failures + 1, last_error = $4 WHERE id = $1 AND url = $2";
    POSTPONE = "UPDATE rss_feeds SET next_fetch_at = $3 WHERE id = $1 AND url = $2";
    DELETE = "DELETE FROM rss_feeds WHERE id = $1";
}

#[derive(FromRow)]
struct Row {
    id: String,
    name: String,
    url: String,
    refresh_interval: i64,
    is_enabled: bool,
    last_fetched_at: Option<i64>,
    etag: Option<String>,
    last_modified: Option<String>,
    next_fetch_at: Option<i64>,
    failures: i64,
    last_error: Option<String>,
    warnings: String,
    created_at: i64,
    updated_at: i64,
}

impl From<Row> for Feed {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            name: row.name,
            url: row.url,
            refresh_interval: row.refresh_interval,
            is_enabled: row.is_enabled,
            last_fetched_at: row.last_fetched_at.map(Timestamp::from_ms),
            etag: row.etag,
            last_modified: row.last_modified,
            next_fetch_at: row.next_fetch_at.map(Timestamp::from_ms),
            failures: row.failures,
            last_error: row.last_error,
            warnings: parsed(&row.warnings),
            created_at: Timestamp::from_ms(row.created_at),
            updated_at: Timestamp::from_ms(row.updated_at),
        }
    }
}

fn feeds(rows: Vec<Row>) -> Vec<Feed> {
    rows.into_iter().map(Feed::from).collect()
}

/// Every feed, the oldest first.
pub async fn all(tx: &mut Tx) -> Result<Vec<Feed>, DbError> {
    Ok(feeds(qm_db::all!(tx, Row, LIST).await?))
}

pub async fn find(tx: &mut Tx, id: &str) -> Result<Option<Feed>, DbError> {
    Ok(qm_db::opt!(tx, Row, FIND, id).await?.map(Feed::from))
}

pub async fn by_url(tx: &mut Tx, url: &str) -> Result<Option<Feed>, DbError> {
    Ok(qm_db::opt!(tx, Row, BY_URL, url).await?.map(Feed::from))
}

/// Enabled feeds that are due, the longest waiting first.
pub async fn due(tx: &mut Tx, now: Timestamp, most: usize) -> Result<Vec<Feed>, DbError> {
    Ok(feeds(qm_db::all!(tx, Row, DUE, now.ms(), most as i64).await?))
}

/// Time at which the next feed is due.
pub async fn next(tx: &mut Tx) -> Result<Option<Timestamp>, DbError> {
    Ok(qm_db::value!(tx, Option<i64>, NEXT)
        .await?
        .map(Timestamp::from_ms))
}

pub async fn count(tx: &mut Tx) -> Result<u64, DbError> {
    Ok(qm_db::value!(tx, i64, COUNT).await?.unsigned_abs())
}

pub async fn insert(tx: &mut Tx, feed: &Feed) -> Result<(), DbError> {
    qm_db::exec!(
        tx,
        INSERT,
        &feed.id,
        &feed.name,
        &feed.url,
        feed.refresh_interval,
        feed.is_enabled,
        feed.last_fetched_at.map(Timestamp::ms),
        feed.etag.as_deref(),
        feed.last_modified.as_deref(),
        feed.next_fetch_at.map(Timestamp::ms),
        feed.failures,
        feed.last_error.as_deref(),
        json(&feed.warnings),
        feed.created_at.ms(),
        feed.updated_at.ms(),
    )
    .await?
    .exactly(1)
}

pub async fn update(tx: &mut Tx, feed: &Feed) -> Result<(), DbError> {
    qm_db::exec!(
        tx,
        UPDATE,
        &feed.id,
        &feed.name,
        &feed.url,
        feed.refresh_interval,
        feed.is_enabled,
        feed.etag.as_deref(),
        feed.last_modified.as_deref(),
        feed.next_fetch_at.map(Timestamp::ms),
        feed.failures,
        feed.last_error.as_deref(),
        feed.updated_at.ms(),
    )
    .await?
    .exactly(1)
}

/// Stores a successful request (also "not modified"); `feed` holds the new values.
pub async fn fetched(tx: &mut Tx, feed: &Feed) -> Result<(), DbError> {
    let warnings: Vec<String> = feed.warnings.iter().map(|text| clean(text)).collect();
    let _ = qm_db::exec!(
        tx,
        FETCHED,
        &feed.id,
        &feed.url,
        feed.last_fetched_at.map(Timestamp::ms),
        feed.etag.as_deref().map(clean),
        feed.last_modified.as_deref().map(clean),
        feed.next_fetch_at.map(Timestamp::ms),
        json(&warnings),
    )
    .await?;
    Ok(())
}

pub async fn failed(tx: &mut Tx, feed: &Feed, again: Timestamp, reason: &str) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, FAILED, &feed.id, &feed.url, again.ms(), clean(reason)).await?;
    Ok(())
}

/// Postpones a feed without recording an error.
pub async fn postpone(tx: &mut Tx, feed: &Feed, until: Timestamp) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, POSTPONE, &feed.id, &feed.url, until.ms()).await?;
    Ok(())
}

/// Deletes a feed, with its rules and its history.
pub async fn delete(tx: &mut Tx, id: &str) -> Result<(), DbError> {
    qm_db::exec!(tx, DELETE, id).await?.exactly(1)
}
