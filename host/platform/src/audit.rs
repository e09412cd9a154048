//! Audit trail: user, action, object, client and result of each change. Rows are only ever added.
//!
//! [`Audit`] writes it, [`AuditTrail`] reads it.

mod marks;
mod repo;
mod size_limits;
mod target;
#[cfg(test)]
mod tests;
mod trail;
#[cfg(test)]
mod writing_tests;

use qm_db::{Db, DbError, Tx};
use qm_kernel::event::DomainEvent;
use qm_kernel::{ClientInfo, Ctx, as_error};
use serde_json::Value;

pub use target::Target;
pub use trail::{AuditRecord, AuditTrail, AuditUser};

/// Writer of audit rows. Cheap to clone.
#[derive(Clone)]
pub struct Audit {
    ctx: Ctx,
}

/// One audit row. `..AuditEntry::default()` fills the fields that do not apply.
#[derive(Clone, Debug, Default)]
pub struct AuditEntry<'a> {
    /// `None`: the system itself, or an unauthenticated user.
    pub user_id: Option<String>,
    /// Dotted action, e.g. `engines.create`.
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

    /// Adds a row in the transaction of the change: both are committed or neither.
    pub async fn record(&self, tx: &mut Tx, mut entry: AuditEntry<'_>) -> Result<(), DbError> {
        if let Some(id) = &mut entry.object_id {
            size_limits::text(id);
        }
        if let Some(metadata) = &mut entry.metadata {
            size_limits::json(metadata);
        }
        let client = entry.client;
        let row = repo::NewRow {
            id: self.ctx.ordered_id(),
            user_id: entry.user_id,
            action: entry.action,
            object_type: entry.object_type,
            object_id: entry.object_id.as_deref().map(without_nul),
            result: entry.result.as_str(),
            // Work that the server does by itself for somebody has no address.
            ip_address: client
                .map(|client| without_nul(&client.forwarded))
                .filter(|address| !address.is_empty()),
            user_agent: client
                .and_then(|client| client.user_agent.as_deref())
                .map(without_nul),
            metadata: entry.metadata,
            at: self.ctx.now(),
        };
        repo::add(tx, row).await
    }

    /// Adds a row in its own transaction, for an act that changed no row of ours. A failure is only logged,
    /// because the act has already happened.
    pub async fn record_alone(&self, db: &Db, entry: AuditEntry<'_>) {
        let action = entry.action;
        let written = async {
            let mut tx = db.begin_write().await?;
            self.record(&mut tx, entry).await?;
            tx.commit().await
        };
        if let Err(error) = written.await {
            tracing::error!(action, error = as_error(&error), "an audit row was not written");
        }
    }

    /// Adds a row and an event for it in one transaction. If that fails, each is stored alone: the reason may concern
    /// only one of them.
    pub async fn record_and_tell(&self, db: &Db, entry: AuditEntry<'_>, event: DomainEvent) {
        let together = async {
            let mut tx = db.begin_write().await?;
            self.record(&mut tx, entry.clone()).await?;
            tx.publish(event.clone());
            tx.commit().await
        };
        let Err::<(), DbError>(error) = together.await else {
            return;
        };
        tracing::warn!(
            action = entry.action,
            error = as_error(&error),
            "an audit row and its event are written one by one"
        );
        self.record_alone(db, entry).await;
        db.tell(event).await;
    }
}

/// A path may carry an encoded NUL, which PostgreSQL's TEXT cannot hold.
fn without_nul(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}
