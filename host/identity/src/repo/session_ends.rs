//! Table `session_ends`.

use qm_db::{DbError, FromRow, Tx, sql};
use qm_kernel::Timestamp;

sql! {
    NOTE = "INSERT INTO session_ends (id, user_id, ended_at) VALUES ($1, $2, $3)";
    SINCE = "SELECT e.user_id, MAX(e.ended_at) AS ended_at, \
            CAST(MAX(CASE WHEN u.is_active THEN 1 ELSE 0 END) AS BIGINT) AS active \
        FROM session_ends e LEFT JOIN users u ON u.id = e.user_id WHERE e.ended_at > $1 \
        GROUP BY e.user_id ORDER BY MAX(e.ended_at)";
    PRUNE = "DELETE FROM session_ends WHERE id IN \
        (SELECT id FROM session_ends WHERE ended_at < $1 ORDER BY ended_at LIMIT $2)";
}

/// A user whose sessions have ended, and their present state.
#[derive(FromRow)]
pub struct EndRow {
    pub user_id: String,
    pub ended_at: i64,
    /// 1 for an existing, active user.
    pub active: i64,
}

/// Records the end of the user's sessions, in the transaction that causes it. The caller has locked the
/// user's row.
pub async fn note(tx: &mut Tx, id: String, user_id: &str, now: Timestamp) -> Result<(), DbError> {
    qm_db::exec!(tx, NOTE, id, user_id, now.ms()).await?.exactly(1)
}

/// Users whose sessions ended after `after`, the latest last.
pub async fn since(tx: &mut Tx, after: Timestamp) -> Result<Vec<EndRow>, DbError> {
    qm_db::all!(tx, EndRow, SINCE, after.ms()).await
}

/// Deletes at most `limit` entries older than `before`, oldest first.
pub async fn prune(tx: &mut Tx, before: Timestamp, limit: i64) -> Result<u64, DbError> {
    Ok(qm_db::exec!(tx, PRUNE, before.ms(), limit).await?.rows())
}
