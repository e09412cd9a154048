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

/// A user whose sessions have ended, and what is true of them now.
#[derive(FromRow)]
pub struct EndRow {
    pub user_id: String,
    pub ended_at: i64,
    /// 1: there and active.
    pub active: i64,
}

/// Notes, with the change that does it, that the user's sessions end. The caller holds the user's row.
pub async fn note(tx: &mut Tx, id: String, user_id: &str, now: Timestamp) -> Result<(), DbError> {
    qm_db::exec!(tx, NOTE, id, user_id, now.ms()).await?.exactly(1)
}

/// The users whose sessions ended after `after`, the latest last.
pub async fn since(tx: &mut Tx, after: Timestamp) -> Result<Vec<EndRow>, DbError> {
    qm_db::all!(tx, EndRow, SINCE, after.ms()).await
}

/// Deletes at most `limit` notes of before `before`, oldest first.
pub async fn prune(tx: &mut Tx, before: Timestamp, limit: i64) -> Result<u64, DbError> {
    Ok(qm_db::exec!(tx, PRUNE, before.ms(), limit).await?.rows())
}
