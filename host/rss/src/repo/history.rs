//! Table `rss_history`.

use std::collections::HashMap;

use qm_db::{DbError, FromRow, Tx, bulk, sql};
use qm_kernel::{PageQuery, Timestamp};

use super::clean;
use crate::model::grab::{GrabNote, GrabState};
use crate::model::history::{Counts, HistoryFilter, HistoryItem, guid_key};

macro_rules! columns {
    () => {
        "h.id, h.feed_id, h.item_guid, h.title, h.link, h.magnet, h.info_hash, h.size_bytes, h.matched, h.downloaded, \
         h.regrab_requested_at, h.created_at, h.seen_at, h.place, g.state AS grab_state, g.attempts AS grab_attempts, \
         g.error AS grab_error, g.next_attempt_at AS grab_next"
    };
}

macro_rules! with_grab {
    () => {
        " FROM rss_history h LEFT JOIN rss_grabs g ON g.id = (SELECT l.id FROM rss_grabs l WHERE l.history_id = h.id \
         ORDER BY l.created_at DESC, l.id DESC LIMIT 1)"
    };
}

macro_rules! chosen {
    () => {
        " WHERE h.feed_id = $1 AND (CAST($2 AS TEXT) IS NULL OR LOWER(h.title) LIKE LOWER($2) ESCAPE '\\') \
         AND (CAST($3 AS BIGINT) IS NULL OR h.created_at >= $3) AND (CAST($4 AS BIGINT) IS NULL OR h.created_at < $4)"
    };
}

sql! {
    FIND = concat!("SELECT ", columns!(), with_grab!(), " WHERE h.id = $1");
    PAGE = concat!("SELECT ", columns!(), with_grab!(), chosen!(), " AND CASE CAST($5 AS TEXT) WHEN 'downloaded' THEN h.downloaded \
        WHEN 'matched' THEN h.matched AND NOT h.downloaded WHEN 'seen' THEN NOT h.matched AND NOT h.downloaded \
        ELSE h.created_at IS NOT NULL END ORDER BY h.created_at DESC, h.place, h.id DESC LIMIT $6 OFFSET $7");
    COUNTS = concat!("SELECT COUNT(*), CAST(COALESCE(SUM(CASE WHEN h.downloaded THEN 1 ELSE 0 END), 0) AS BIGINT), \
        CAST(COALESCE(SUM(CASE WHEN h.matched AND NOT h.downloaded THEN 1 ELSE 0 END), 0) AS BIGINT) FROM rss_history h",
        chosen!());
    NEWEST = concat!("SELECT ", columns!(), with_grab!(), " WHERE h.feed_id = $1 ORDER BY h.created_at DESC, h.place, h.id DESC LIMIT $2");
    OPEN = concat!("SELECT ", columns!(), with_grab!(), " WHERE h.feed_id = $1 AND NOT h.downloaded \
        ORDER BY h.created_at DESC, h.place, h.id DESC LIMIT $2");
    TITLES = "SELECT title FROM rss_history WHERE feed_id = $1 ORDER BY created_at DESC, place, id DESC LIMIT $2";
    INSERT = "INSERT INTO rss_history (id, feed_id, item_guid, guid_key, title, link, magnet, info_hash, size_bytes, matched, \
        downloaded, regrab_requested_at, created_at, seen_at, place) \
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) ON CONFLICT (feed_id, guid_key) DO NOTHING";
    SEEN = "UPDATE rss_history SET seen_at = $2 WHERE id = $1";
    MATCHED = "UPDATE rss_history SET matched = TRUE WHERE id = $1";
    MAGNET = "UPDATE rss_history SET magnet = $2, info_hash = COALESCE(info_hash, $3) WHERE id = $1";
    DOWNLOADED = "UPDATE rss_history SET downloaded = TRUE, regrab_requested_at = NULL, info_hash = $2 \
        WHERE id = $1";
    HAS_HASH = "SELECT 1 FROM rss_history WHERE info_hash = $1 AND downloaded AND regrab_requested_at IS NULL LIMIT 1";
    RESET_HASH = "UPDATE rss_history SET downloaded = FALSE, regrab_requested_at = $2 WHERE info_hash = $1";
    RESET = "UPDATE rss_history SET downloaded = FALSE, regrab_requested_at = $2 WHERE id = $1";
    WANTED = "SELECT 1 FROM rss_history WHERE feed_id = $1 AND regrab_requested_at IS NOT NULL LIMIT 1";
    HASH = "UPDATE rss_history SET info_hash = $2 WHERE id = $1";
    PRUNE = "DELETE FROM rss_history WHERE id IN (SELECT id FROM rss_history WHERE seen_at < $1 LIMIT $2)";
}

bulk! {
    /// Leaves the grab columns empty, because nothing is displayed here.
    KNOWN = "SELECT h.id, h.feed_id, h.item_guid, h.title, h.link, h.magnet, h.info_hash, h.size_bytes, h.matched, h.downloaded, \
        h.regrab_requested_at, h.created_at, h.seen_at, h.place, NULL AS grab_state, CAST(NULL AS BIGINT) AS grab_attempts, \
        NULL AS grab_error, CAST(NULL AS BIGINT) AS grab_next FROM (VALUES", 2,
        ") w CROSS JOIN rss_history h WHERE h.feed_id = w.column1 AND h.guid_key = w.column2";
}

#[derive(FromRow)]
struct Row {
    id: String,
    feed_id: String,
    item_guid: String,
    title: String,
    link: String,
    magnet: Option<String>,
    info_hash: Option<String>,
    size_bytes: Option<i64>,
    matched: bool,
    downloaded: bool,
    regrab_requested_at: Option<i64>,
    created_at: i64,
    seen_at: i64,
    place: i64,
    grab_state: Option<String>,
    grab_attempts: Option<i64>,
    grab_error: Option<String>,
    grab_next: Option<i64>,
}

impl From<Row> for HistoryItem {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            feed_id: row.feed_id,
            item_guid: row.item_guid,
            title: row.title,
            link: row.link,
            magnet: row.magnet,
            info_hash: row.info_hash,
            size: row.size_bytes.map(i64::unsigned_abs),
            matched: row.matched,
            downloaded: row.downloaded,
            regrab_requested_at: row.regrab_requested_at.map(Timestamp::from_ms),
            created_at: Timestamp::from_ms(row.created_at),
            seen_at: Timestamp::from_ms(row.seen_at),
            place: row.place,
            grab: note(row.grab_state, row.grab_attempts, row.grab_error, row.grab_next),
        }
    }
}

/// State of a joined grab, for display.
pub(super) fn note(
    state: Option<String>,
    attempts: Option<i64>,
    error: Option<String>,
    next: Option<i64>,
) -> Option<GrabNote> {
    let state = GrabState::from_word(&state?);
    let is_pending = state == GrabState::Pending;
    Some(GrabNote {
        state,
        attempts: attempts.unwrap_or_default(),
        error,
        next_attempt_at: next.filter(|_| is_pending).map(Timestamp::from_ms),
    })
}

fn items(rows: Vec<Row>) -> Vec<HistoryItem> {
    rows.into_iter().map(HistoryItem::from).collect()
}

/// The known items of a feed with these guids, by their [`key`].
pub async fn known<'a>(
    tx: &mut Tx,
    feed_id: &str,
    guids: impl Iterator<Item = &'a str>,
) -> Result<HashMap<String, HistoryItem>, DbError> {
    let keys: Vec<String> = guids.map(key).collect();
    let rows = qm_db::each!(tx, Row, KNOWN, keys, |key| feed_id, key).await?;
    let known = rows.into_iter().map(HistoryItem::from);
    Ok(known.map(|item| (key(&item.item_guid), item)).collect())
}

/// Key of an item within its feed, as it is stored.
pub fn key(guid: &str) -> String {
    clean(&guid_key(guid))
}

pub async fn find(tx: &mut Tx, id: &str) -> Result<Option<HistoryItem>, DbError> {
    Ok(qm_db::opt!(tx, Row, FIND, id).await?.map(HistoryItem::from))
}

/// One page of a feed's history, the newest first, and the number of items in each state (counted without the
/// state filter).
pub async fn page(
    tx: &mut Tx,
    feed_id: &str,
    filter: &HistoryFilter,
    page: PageQuery,
) -> Result<(Vec<HistoryItem>, Counts), DbError> {
    let search = filter.search.as_deref().map(like);
    let from = filter.from.map(Timestamp::ms);
    let before = filter.before.map(Timestamp::ms);
    let (total, downloaded, matched) = qm_db::one!(
        tx,
        (i64, i64, i64),
        COUNTS,
        feed_id,
        search.as_deref(),
        from,
        before
    )
    .await?;
    let rows = qm_db::all!(
        tx,
        Row,
        PAGE,
        feed_id,
        search.as_deref(),
        from,
        before,
        filter.standing.as_str(),
        page.page_size as i64,
        page.offset() as i64
    )
    .await?;
    let counts = Counts {
        total: total.unsigned_abs(),
        downloaded: downloaded.unsigned_abs(),
        matched: matched.unsigned_abs(),
        seen: (total - downloaded - matched).unsigned_abs(),
    };
    Ok((items(rows), counts))
}

/// LIKE pattern that finds a part of a text.
fn like(part: &str) -> String {
    let escaped = clean(part)
        .replace('\\', "\\\\")
        .replace('%', "\\%")
        .replace('_', "\\_");
    format!("%{escaped}%")
}

pub async fn newest(tx: &mut Tx, feed_id: &str, most: usize) -> Result<Vec<HistoryItem>, DbError> {
    Ok(items(qm_db::all!(tx, Row, NEWEST, feed_id, most as i64).await?))
}

/// Items that were not downloaded, the newest first.
pub async fn open(tx: &mut Tx, feed_id: &str, most: usize) -> Result<Vec<HistoryItem>, DbError> {
    Ok(items(qm_db::all!(tx, Row, OPEN, feed_id, most as i64).await?))
}

pub async fn titles(tx: &mut Tx, feed_id: &str, most: usize) -> Result<Vec<String>, DbError> {
    let rows = qm_db::all!(tx, (String,), TITLES, feed_id, most as i64).await?;
    Ok(rows.into_iter().map(|(title,)| title).collect())
}

/// Inserts an item; `false` when the feed has an item with this guid.
pub async fn insert(tx: &mut Tx, item: &HistoryItem) -> Result<bool, DbError> {
    let done = qm_db::exec!(
        tx,
        INSERT,
        &item.id,
        &item.feed_id,
        clean(&item.item_guid),
        key(&item.item_guid),
        clean(&item.title),
        clean(&item.link),
        item.magnet.as_deref().map(clean),
        item.info_hash.as_deref(),
        item.size.map(|size| i64::try_from(size).unwrap_or(i64::MAX)),
        item.matched,
        item.downloaded,
        item.regrab_requested_at.map(Timestamp::ms),
        item.created_at.ms(),
        item.seen_at.ms(),
        item.place,
    )
    .await?;
    Ok(done.rows() > 0)
}

pub async fn seen(tx: &mut Tx, id: &str, now: Timestamp) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, SEEN, id, now.ms()).await?;
    Ok(())
}

pub async fn set_matched(tx: &mut Tx, id: &str) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, MATCHED, id).await?;
    Ok(())
}

pub async fn set_magnet(tx: &mut Tx, id: &str, magnet: &str, hash: Option<&str>) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, MAGNET, id, clean(magnet), hash).await?;
    Ok(())
}

/// Marks an item as downloaded, with the torrent's real info-hash.
pub async fn set_downloaded(tx: &mut Tx, id: &str, hash: &str) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, DOWNLOADED, id, hash).await?;
    Ok(())
}

/// Sets the info-hash of an item whose torrent was downloaded for another item.
pub async fn set_hash(tx: &mut Tx, id: &str, hash: &str) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, HASH, id, hash).await?;
    Ok(())
}

/// True when an item with this hash was downloaded from any feed.
pub async fn is_downloaded(tx: &mut Tx, hash: &str) -> Result<bool, DbError> {
    // PostgreSQL reads a bare 1 as INTEGER.
    Ok(qm_db::opt!(tx, (i32,), HAS_HASH, hash).await?.is_some())
}

/// Marks every item of a hash as wanted again.
pub async fn reset_hash(tx: &mut Tx, hash: &str, now: Timestamp) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, RESET_HASH, hash, now.ms()).await?;
    Ok(())
}

pub async fn reset(tx: &mut Tx, id: &str, now: Timestamp) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, RESET, id, now.ms()).await?;
    Ok(())
}

/// Deletes up to `most` items that no feed has listed since `before`; returns their number.
pub async fn prune(tx: &mut Tx, before: Timestamp, most: usize) -> Result<u64, DbError> {
    Ok(qm_db::exec!(tx, PRUNE, before.ms(), most as i64).await?.rows())
}

/// True when a feed has items that are wanted again: then it is processed even if nothing is new.
pub async fn is_wanted(tx: &mut Tx, feed_id: &str) -> Result<bool, DbError> {
    Ok(qm_db::opt!(tx, (i32,), WANTED, feed_id).await?.is_some())
}
