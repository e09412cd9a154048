//! The newest rows of the audit trail, with who they name.

use qm_db::{DbError, FromRow, Json, Tx, sql};
use serde_json::Value;

sql! {
    /// The inner query takes its rows off the end of an index before anything is joined.
    NEWEST = "SELECT a.id, a.action, a.result, a.user_id, u.username, u.display_name, a.metadata, a.created_at \
        FROM (SELECT id, action, result, user_id, metadata, created_at FROM audit_logs \
            ORDER BY created_at DESC, id DESC LIMIT $1) a \
        LEFT JOIN users u ON u.id = a.user_id ORDER BY a.created_at DESC, a.id DESC";
}

#[derive(Clone, Debug, FromRow)]
pub struct ActivityRow {
    pub id: String,
    pub action: String,
    /// `success` or `failure`.
    pub result: String,
    pub user_id: Option<String>,
    pub username: Option<String>,
    pub display_name: Option<String>,
    pub metadata: Option<Json<Value>>,
    pub created_at: i64,
}

/// The newest `count` rows, newest first.
pub async fn newest(tx: &mut Tx, count: i64) -> Result<Vec<ActivityRow>, DbError> {
    qm_db::all!(tx, ActivityRow, NEWEST, count).await
}
