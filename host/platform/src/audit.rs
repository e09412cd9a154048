//! The audit trail: who did what to what, from where, and whether it worked. Rows are only ever added.

use qm_db::{Db, DbError, Json, Tx, exec, sql};
use qm_kernel::{ClientInfo, Ctx};
use serde_json::Value;

sql! {
    /// A token outlives its user by some minutes; what they still do is recorded without a name rather than refused.
    ADD = "INSERT INTO audit_logs (id, user_id, action, object_type, object_id, result, ip_address, user_agent, \
        metadata, created_at) VALUES ($1, (SELECT id FROM users WHERE id = $2), $3, $4, $5, $6, $7, $8, $9, $10)";
}

/// Writes audit rows. Cheap to clone.
#[derive(Clone)]
pub struct Audit {
    ctx: Ctx,
}

/// One row. `..AuditEntry::default()` stands for what does not apply.
#[derive(Clone, Debug, Default)]
pub struct AuditEntry<'a> {
    /// `None`: the system itself, or somebody whose name is not established.
    pub user_id: Option<String>,
    /// Dotted, e.g. `engines.create`.
    pub action: &'static str,
    /// e.g. `torrent_engine`
    pub object_type: Option<&'static str>,
    pub object_id: Option<String>,
    pub result: AuditResult,
    pub client: Option<&'a ClientInfo>,
    /// A JSON object without secrets.
    pub metadata: Option<Value>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AuditResult {
    #[default]
    Success,
    Failure,
}

impl AuditResult {
    pub const fn as_str(self) -> &'static str {
        match self {
            AuditResult::Success => "success",
            AuditResult::Failure => "failure",
        }
    }
}

impl Audit {
    pub fn new(ctx: Ctx) -> Self {
        Self { ctx }
    }

    /// Adds a row to the transaction of the change it tells of: both hold, or neither does.
    pub async fn record(&self, tx: &mut Tx, entry: AuditEntry<'_>) -> Result<(), DbError> {
        exec!(
            tx,
            ADD,
            self.ctx.id(),
            entry.user_id,
            entry.action,
            entry.object_type,
            entry.object_id.as_deref().map(without_nul),
            entry.result.as_str(),
            entry.client.map(|client| without_nul(&client.forwarded)),
            entry
                .client
                .and_then(|client| client.user_agent.as_deref())
                .map(without_nul),
            entry.metadata.map(Json),
            self.ctx.now().ms(),
        )
        .await?
        .exactly(1)
    }

    /// Adds a row by itself, for what changed no row of ours. A failure is logged and nothing else: what is to be told
    /// of has happened already.
    pub async fn record_alone(&self, db: &Db, entry: AuditEntry<'_>) {
        let action = entry.action;
        let written = async {
            let mut tx = db.begin_write().await?;
            self.record(&mut tx, entry).await?;
            tx.commit_quiet().await
        };
        if let Err(error) = written.await {
            tracing::error!(
                action,
                error = &error as &dyn std::error::Error,
                "an audit row was not written"
            );
        }
    }
}

/// A path may carry an encoded NUL, which PostgreSQL's TEXT cannot hold.
fn without_nul(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use qm_db::{all, db_test};
    use serde_json::json;

    use super::*;

    sql! {
        LIST = "SELECT user_id, action, object_type, object_id, result, ip_address, user_agent, metadata \
            FROM audit_logs ORDER BY action";
        ADD_USER = "INSERT INTO users (id, username, email, password_hash, created_at, updated_at) \
            VALUES ('u', 'u', 'u@example.org', '', 0, 0)";
        DELETE_USER = "DELETE FROM users WHERE id = 'u'";
    }

    type Row = (
        Option<String>,
        String,
        Option<String>,
        Option<String>,
        String,
        Option<String>,
        Option<String>,
        Option<Json<Value>>,
    );

    async fn rows(db: &Db) -> Vec<Row> {
        all!(&mut db.begin_read().await.unwrap(), Row, LIST)
            .await
            .unwrap()
    }

    fn entry(action: &'static str) -> AuditEntry<'static> {
        AuditEntry {
            user_id: Some("u".into()),
            action,
            ..AuditEntry::default()
        }
    }

    db_test! {
        async fn a_row_commits_with_its_change_or_not_at_all(db: Db) {
            let audit = Audit::new(Ctx::system());
            let mut tx = db.begin_write().await.unwrap();
            let _ = exec!(&mut tx, ADD_USER).await.unwrap();
            audit.record(&mut tx, entry("users.create")).await.unwrap();
            drop(tx);
            assert!(rows(&db).await.is_empty());
            let mut tx = db.begin_write().await.unwrap();
            let _ = exec!(&mut tx, ADD_USER).await.unwrap();
            audit.record(&mut tx, entry("users.create")).await.unwrap();
            tx.commit_quiet().await.unwrap();
            assert_eq!(rows(&db).await.len(), 1);
        }

        async fn a_row_outlives_its_user_and_is_never_refused_for_want_of_one(db: Db) {
            let audit = Audit::new(Ctx::system());
            let mut tx = db.begin_write().await.unwrap();
            let _ = exec!(&mut tx, ADD_USER).await.unwrap();
            tx.commit_quiet().await.unwrap();
            audit.record_alone(&db, entry("a.first")).await;
            let mut tx = db.begin_write().await.unwrap();
            exec!(&mut tx, DELETE_USER).await.unwrap().exactly(1).unwrap();
            tx.commit_quiet().await.unwrap();
            audit.record_alone(&db, entry("b.second")).await;
            let users: Vec<_> = rows(&db).await.into_iter().map(|row| (row.1, row.0)).collect();
            assert_eq!(users, [("a.first".into(), None), ("b.second".into(), None)]);
        }

        async fn every_column_is_kept(db: Db) {
            let client = ClientInfo {
                ip: IpAddr::V4(Ipv4Addr::LOCALHOST),
                forwarded: "198.51.100.7, 203.0.113.1".into(),
                user_agent: Some("agent\0".into()),
                request_id: String::new(),
            };
            let entry = AuditEntry {
                action: "engines.create",
                object_type: Some("torrent_engine"),
                object_id: Some("e\0".into()),
                result: AuditResult::Failure,
                client: Some(&client),
                metadata: Some(json!({ "name": "a\0b", "count": 3 })),
                ..AuditEntry::default()
            };
            Audit::new(Ctx::system()).record_alone(&db, entry).await;
            let expected = (
                None,
                "engines.create".to_owned(),
                Some("torrent_engine".to_owned()),
                Some("e\u{fffd}".to_owned()),
                "failure".to_owned(),
                Some("198.51.100.7, 203.0.113.1".to_owned()),
                Some("agent\u{fffd}".to_owned()),
                Some(Json(json!({ "name": "a\0b", "count": 3 }))),
            );
            assert_eq!(rows(&db).await, [expected]);
        }
    }
}
