//! The audit trail: who did what to what, from where, and whether it worked. Rows are only ever added.
//!
//! [`Audit`] writes it, [`AuditTrail`] reads it.

mod bound;
mod marks;
mod target;
#[cfg(test)]
mod tests;
mod trail;
#[cfg(test)]
mod writing_tests;

use qm_db::{Db, DbError, Json, Tx, exec, sql};
use qm_kernel::{ClientInfo, Ctx};
use serde_json::Value;

pub use target::Target;
pub use trail::{AuditRecord, AuditTrail, AuditUser};

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
    pub async fn record(&self, tx: &mut Tx, mut entry: AuditEntry<'_>) -> Result<(), DbError> {
        if let Some(id) = &mut entry.object_id {
            bound::text(id);
        }
        if let Some(metadata) = &mut entry.metadata {
            bound::json(metadata);
        }
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
            tx.commit().await
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
