//! Table `audit_logs`. Every statement that reads it walks an index, over at most [`STEP`] entries.

use qm_db::{DbError, Json, Tx, all, exec, opt, sql, value};
use qm_kernel::Timestamp;
use serde_json::Value;

use super::marks::{Mark, STEP};

/// Columns of a page, for the rows that `$range` selects by index.
macro_rules! page {
    ($range:literal) => {
        concat!(
            "SELECT a.id, a.user_id, a.action, a.object_type, a.object_id, a.result, a.ip_address, a.user_agent, \
             a.metadata, a.created_at, u.username, u.display_name FROM (SELECT id, created_at FROM audit_logs ",
            $range,
            ") p JOIN audit_logs a ON a.id = p.id LEFT JOIN users u ON u.id = a.user_id \
             ORDER BY p.created_at DESC, p.id DESC"
        )
    };
}

sql! {
    /// A token outlives its user by some minutes; acts in that time are recorded without a name rather than
    /// refused.
    ADD = "INSERT INTO audit_logs (id, user_id, action, object_type, object_id, result, ip_address, user_agent, \
        metadata, created_at) VALUES ($1, (SELECT id FROM users WHERE id = $2), $3, $4, $5, $6, $7, $8, $9, $10)";

    pub(super) NEWEST = page!("ORDER BY created_at DESC, id DESC LIMIT $1 OFFSET $2");
    pub(super) NEWEST_ACTION =
        page!("WHERE action >= $3 AND action <= $3 ORDER BY action DESC, created_at DESC, id DESC LIMIT $1 OFFSET $2");
    pub(super) AFTER = page!("WHERE (created_at, id) > ($3, $4) ORDER BY created_at, id LIMIT $1 OFFSET $2");
    pub(super) AFTER_ACTION = page!(
        "WHERE (action, created_at, id) > ($5, $3, $4) AND action <= $5 ORDER BY action, created_at, id \
         LIMIT $1 OFFSET $2"
    );

    /// Ordered and limited, so that PostgreSQL uses the index instead of reading the table.
    pub(super) COUNT = "SELECT COUNT(*) FROM (SELECT id FROM audit_logs WHERE (created_at, id) > ($1, $2) \
        ORDER BY created_at, id LIMIT $3) counted";
    /// The action is compared as a range: with an equality PostgreSQL may walk the index of all rows by time
    /// and filter the rare ones.
    pub(super) COUNT_ACTION = "SELECT COUNT(*) FROM (SELECT id FROM audit_logs \
        WHERE (action, created_at, id) > ($4, $1, $2) AND action <= $4 ORDER BY action, created_at, id LIMIT $3) counted";
    pub(super) NEXT = "SELECT created_at, id FROM audit_logs WHERE (created_at, id) > ($1, $2) AND created_at < $3 \
        ORDER BY created_at, id LIMIT 1 OFFSET $4";
    pub(super) NEXT_ACTION = "SELECT created_at, id FROM audit_logs \
        WHERE (action, created_at, id) > ($5, $1, $2) AND action <= $5 AND created_at < $3 \
        ORDER BY action, created_at, id LIMIT 1 OFFSET $4";
}

/// A row to add.
pub(super) struct NewRow {
    pub id: String,
    pub user_id: Option<String>,
    pub action: &'static str,
    pub object_type: Option<&'static str>,
    pub object_id: Option<String>,
    pub result: &'static str,
    pub ip_address: Option<String>,
    pub user_agent: Option<String>,
    pub metadata: Option<Value>,
    pub at: Timestamp,
}

pub(super) async fn add(tx: &mut Tx, row: NewRow) -> Result<(), DbError> {
    exec!(
        tx,
        ADD,
        row.id,
        row.user_id,
        row.action,
        row.object_type,
        row.object_id,
        row.result,
        row.ip_address,
        row.user_agent,
        row.metadata.map(Json),
        row.at.ms(),
    )
    .await?
    .exactly(1)
}

/// Columns in the order of the statements.
pub(super) type Row = (
    String,
    Option<String>,
    String,
    Option<String>,
    Option<String>,
    String,
    Option<String>,
    Option<String>,
    Option<String>,
    i64,
    Option<String>,
    Option<String>,
);

/// The newest rows, of one action or of all.
pub(super) async fn newest(
    tx: &mut Tx,
    action: Option<&str>,
    size: i64,
    offset: i64,
) -> Result<Vec<Row>, DbError> {
    match action {
        None => all!(tx, Row, NEWEST, size, offset).await,
        Some(action) => all!(tx, Row, NEWEST_ACTION, size, offset, action).await,
    }
}

/// `size` rows from `skipped` rows after the mark, newest first.
pub(super) async fn after(
    tx: &mut Tx,
    action: Option<&str>,
    mark: &Mark,
    size: i64,
    skipped: i64,
) -> Result<Vec<Row>, DbError> {
    let (at, id) = (mark.created_at, &mark.id);
    match action {
        None => all!(tx, Row, AFTER, size, skipped, at, id).await,
        Some(action) => all!(tx, Row, AFTER_ACTION, size, skipped, at, id, action).await,
    }
}

/// Number of rows after `after`, at most `most`.
pub(super) async fn count(
    tx: &mut Tx,
    action: Option<&str>,
    after: &Mark,
    most: i64,
) -> Result<u64, DbError> {
    let rows = match action {
        None => value!(tx, i64, COUNT, after.created_at, &after.id, most).await?,
        Some(action) => value!(tx, i64, COUNT_ACTION, after.created_at, &after.id, most, action).await?,
    };
    Ok(rows.unsigned_abs())
}

/// The row [`STEP`] rows after `after`, if it has settled.
pub(super) async fn next(
    tx: &mut Tx,
    action: Option<&str>,
    after: &Mark,
    settled: i64,
) -> Result<Option<Mark>, DbError> {
    let skipped = STEP as i64 - 1;
    let found = match action {
        None => {
            opt!(
                tx,
                (i64, String),
                NEXT,
                after.created_at,
                &after.id,
                settled,
                skipped
            )
            .await?
        }
        Some(action) => {
            opt!(
                tx,
                (i64, String),
                NEXT_ACTION,
                after.created_at,
                &after.id,
                settled,
                skipped,
                action
            )
            .await?
        }
    };
    Ok(found.map(|(created_at, id)| Mark { created_at, id }))
}
