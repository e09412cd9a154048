//! Table `notifications`.

use std::collections::HashSet;

use qm_db::{DbError, FromRow, Tx, bulk, sql};
use qm_kernel::{PageQuery, Timestamp};

use crate::model::inbox::{Item, Mark, Wanted};
use crate::model::presentation::Presentation;

macro_rules! columns {
    () => {
        "id, event_key, category, severity, title, deep_link, resource_type, resource_id, presentation, read_at, \
         archived_at, created_at"
    };
}

macro_rules! wanted {
    () => {
        "user_id = $1 AND surfaced AND CASE CAST($2 AS TEXT) WHEN 'archived' THEN archived_at IS NOT NULL \
         WHEN 'unread' THEN archived_at IS NULL AND read_at IS NULL \
         WHEN 'read' THEN archived_at IS NULL AND read_at IS NOT NULL ELSE archived_at IS NULL END \
         AND (CAST($3 AS TEXT) IS NULL OR category = $3) \
         AND (CAST($4 AS TEXT) IS NULL OR LOWER(title) LIKE LOWER($4) ESCAPE '\\')"
    };
}

bulk! {
    ADD = "INSERT INTO notifications (id, user_id, event_id, event_key, category, severity, title, deep_link, \
        resource_type, resource_id, presentation, surfaced, created_at) VALUES", 13, "";
}

sql! {
    TOLD = "SELECT user_id FROM notifications WHERE event_id = $1";
    PAGE = concat!("SELECT ", columns!(), " FROM notifications WHERE ", wanted!(),
        " ORDER BY created_at DESC, id DESC LIMIT $5 OFFSET $6");
    COUNT = concat!("SELECT COUNT(*) FROM notifications WHERE ", wanted!());
    UNREAD = "SELECT COUNT(*) FROM notifications WHERE user_id = $1 AND surfaced AND read_at IS NULL \
        AND archived_at IS NULL";
    MARK_ALL = "UPDATE notifications SET read_at = $2 WHERE user_id = $1 AND surfaced AND read_at IS NULL \
        AND archived_at IS NULL";
    READ = concat!("UPDATE notifications SET read_at = COALESCE(read_at, $3) WHERE id = $1 AND user_id = $2 AND surfaced \
        RETURNING ", columns!());
    UNREAD_AGAIN = concat!("UPDATE notifications SET read_at = NULL WHERE id = $1 AND user_id = $2 AND surfaced \
        RETURNING ", columns!());
    ARCHIVE = concat!("UPDATE notifications SET archived_at = $3, read_at = $3 WHERE id = $1 AND user_id = $2 AND surfaced \
        RETURNING ", columns!());
    /// Their outgoing messages are deleted too.
    PRUNE = "DELETE FROM notifications WHERE id IN (SELECT id FROM notifications WHERE created_at < $1 \
        ORDER BY created_at LIMIT $2)";
    OUTGOING = "SELECT title, presentation FROM notifications WHERE id = $1";
}

#[derive(FromRow)]
struct Row {
    id: String,
    event_key: String,
    category: String,
    severity: String,
    title: String,
    deep_link: Option<String>,
    resource_type: Option<String>,
    resource_id: Option<String>,
    presentation: Option<String>,
    read_at: Option<i64>,
    archived_at: Option<i64>,
    created_at: i64,
}

impl From<Row> for Item {
    fn from(row: Row) -> Self {
        Self {
            presentation: row.presentation.as_deref().and_then(Presentation::stored),
            id: row.id,
            event_key: row.event_key,
            category: row.category,
            severity: row.severity,
            title: row.title,
            deep_link: row.deep_link,
            resource_type: row.resource_type,
            resource_id: row.resource_id,
            is_read: row.read_at.is_some(),
            is_archived: row.archived_at.is_some(),
            created_at: Timestamp::from_ms(row.created_at),
        }
    }
}

/// A notification to store.
#[derive(Clone, Debug)]
pub struct NewNotification<'a> {
    pub id: String,
    pub user_id: &'a str,
    pub event_id: &'a str,
    pub event_key: &'a str,
    pub category: &'static str,
    pub severity: &'static str,
    pub title: &'a str,
    pub deep_link: Option<&'a str>,
    pub resource_type: Option<&'a str>,
    pub resource_id: Option<&'a str>,
    /// JSON of the card.
    pub presentation: Option<&'a str>,
    pub surfaced: bool,
    pub at: Timestamp,
}

/// Ids of the users who were notified of an event already.
pub async fn notified_users(tx: &mut Tx, event_id: &str) -> Result<HashSet<String>, DbError> {
    let rows = qm_db::all!(tx, (String,), TOLD, event_id).await?;
    Ok(rows.into_iter().map(|(user_id,)| user_id).collect())
}

pub async fn add(tx: &mut Tx, new: &[NewNotification<'_>]) -> Result<(), DbError> {
    qm_db::batch!(
        tx,
        ADD,
        new,
        |row| &row.id,
        row.user_id,
        row.event_id,
        row.event_key,
        row.category,
        row.severity,
        row.title,
        row.deep_link,
        row.resource_type,
        row.resource_id,
        row.presentation,
        row.surfaced,
        row.at.ms()
    )
    .await?
    .exactly(new.len() as u64)
}

/// One page of a user's inbox, the newest first, and the number of matching notifications.
pub async fn page(
    tx: &mut Tx,
    user_id: &str,
    wanted: &Wanted,
    page: PageQuery,
) -> Result<(Vec<Item>, u64), DbError> {
    let (shelf, category) = (wanted.shelf.as_str(), wanted.category.as_deref());
    let pattern = wanted.search.as_deref().map(containing);
    let total = qm_db::value!(&mut *tx, i64, COUNT, user_id, shelf, category, pattern.as_deref()).await?;
    let rows = qm_db::all!(
        tx,
        Row,
        PAGE,
        user_id,
        shelf,
        category,
        pattern.as_deref(),
        page.page_size as i64,
        page.offset() as i64
    )
    .await?;
    Ok((rows.into_iter().map(Item::from).collect(), total.unsigned_abs()))
}

/// LIKE pattern for texts that contain this one.
fn containing(text: &str) -> String {
    let mut pattern = String::from("%");
    for letter in text.chars() {
        if matches!(letter, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    pattern.push('%');
    pattern
}

pub async fn unread(tx: &mut Tx, user_id: &str) -> Result<u64, DbError> {
    Ok(qm_db::value!(tx, i64, UNREAD, user_id).await?.unsigned_abs())
}

/// Marks all unread, unarchived notifications as read; returns their number.
pub async fn mark_all(tx: &mut Tx, user_id: &str, at: Timestamp) -> Result<u64, DbError> {
    Ok(qm_db::exec!(tx, MARK_ALL, user_id, at.ms()).await?.rows())
}

/// Marks one notification of a user; `None` when the user has no such one.
pub async fn mark(
    tx: &mut Tx,
    user_id: &str,
    id: &str,
    mark: Mark,
    at: Timestamp,
) -> Result<Option<Item>, DbError> {
    let row = match mark {
        Mark::Read => qm_db::opt!(tx, Row, READ, id, user_id, at.ms()).await?,
        Mark::Unread => qm_db::opt!(tx, Row, UNREAD_AGAIN, id, user_id).await?,
        Mark::Archived => qm_db::opt!(tx, Row, ARCHIVE, id, user_id, at.ms()).await?,
    };
    Ok(row.map(Item::from))
}

/// Removes up to `most` notifications created before `before`, the oldest first; returns their number.
pub async fn prune(tx: &mut Tx, before: Timestamp, most: usize) -> Result<u64, DbError> {
    Ok(qm_db::exec!(tx, PRUNE, before.ms(), most as i64).await?.rows())
}

/// Title and card of a notification for an outgoing message.
pub async fn outgoing(tx: &mut Tx, id: &str) -> Result<Option<(String, Option<Presentation>)>, DbError> {
    let row = qm_db::opt!(tx, (String, Option<String>), OUTGOING, id).await?;
    Ok(row.map(|(title, card)| (title, card.as_deref().and_then(Presentation::stored))))
}
