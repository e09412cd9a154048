//! Keeping what a provider said, and telling when it is something else than before.

use qm_db::{DbError, Tx};
use qm_kernel::event::{Cause, DomainEvent, Event};
use qm_kernel::{Permission, Timestamp};
use qm_platform::AuditEntry;
use qm_ports::shows::{AiringStatus, ShowError};
use qm_realtime::Room;
use serde_json::json;

use super::Shows;
use crate::events::{BecameActive, Canceled, Ended, StatusChanged};
use crate::model::report::ShowStatus;
use crate::repo;

/// Why an answer could not be kept.
#[derive(Debug, thiserror::Error)]
pub(super) enum KeepError {
    #[error(transparent)]
    Database(#[from] DbError),
    /// What the rules say.
    #[error("the rules on the show could not be told: {0}")]
    Rules(ShowError),
}

/// A status that is another one.
struct Change {
    from: AiringStatus,
    rules_affected: u64,
    at: Timestamp,
}

impl Shows {
    /// Keeps what a provider said of a show. When its status is another one, the rules hear of it first: should the server
    /// die before the rest is committed, the next answer finds the old status here and tells them again.
    pub(super) async fn keep(
        &self,
        (provider, id): (&str, &str),
        status: &ShowStatus,
        is_asked: bool,
    ) -> Result<(), KeepError> {
        let now = self.ctx.now();
        let before = self.known(provider, id).await?;
        let is_other = before.is_some_and(|before| before != status.normalized_status);
        let mut rules_affected = 0;
        if is_other && let Some(rules) = self.rules() {
            let snapshot = status.snapshot(provider, id, now);
            rules_affected = rules.show_changed(&snapshot).await.map_err(KeepError::Rules)?;
        }
        let mut tx = self.db.begin_write().await?;
        // Another one may have been quicker, and told it.
        let from = match repo::find(&mut tx, provider, id).await? {
            Some(kept) => kept.status.map(|kept| kept.normalized_status),
            None => None,
        };
        repo::put(&mut tx, (provider, id), status, now).await?;
        if is_asked {
            repo::asked(&mut tx, (provider, id), now).await?;
        }
        if let Some(from) = from.filter(|from| is_other && *from != status.normalized_status) {
            let change = Change {
                from,
                rules_affected,
                at: now,
            };
            self.tell(&mut tx, (provider, id), status, &change).await?;
        }
        tx.commit().await?;
        Ok(())
    }

    async fn known(&self, provider: &str, id: &str) -> Result<Option<AiringStatus>, DbError> {
        let mut tx = self.db.begin_read().await?;
        let kept = repo::find(&mut tx, provider, id).await?;
        Ok(kept
            .and_then(|kept| kept.status)
            .map(|status| status.normalized_status))
    }

    async fn tell(
        &self,
        tx: &mut Tx,
        (provider, id): (&str, &str),
        status: &ShowStatus,
        change: &Change,
    ) -> Result<(), DbError> {
        let object_id = format!("{provider}:{id}");
        let (from, to) = (change.from, status.normalized_status);
        let entry = AuditEntry {
            action: StatusChanged::KEY,
            object_type: Some("show"),
            object_id: Some(object_id.clone()),
            metadata: Some(json!({
                "title": status.title, "from": from, "to": to, "rulesAffected": change.rules_affected,
            })),
            ..AuditEntry::default()
        };
        self.audit.record(tx, entry).await?;
        macro_rules! tell {
            ($kind:ident) => {
                self.publish(
                    tx,
                    &object_id,
                    &$kind {
                        provider: provider.to_owned(),
                        provider_show_id: id.to_owned(),
                        title: status.title.clone(),
                        from,
                        to,
                        recommendation: status.recommendation,
                        rules_affected: change.rules_affected,
                        at: change.at,
                    },
                )
            };
        }
        tell!(StatusChanged);
        match to {
            AiringStatus::Ended => tell!(Ended),
            AiringStatus::Canceled => tell!(Canceled),
            // That nobody knows any more is no sign of life.
            AiringStatus::Unknown => {}
            _ if from.is_over() => tell!(BecameActive),
            _ => {}
        }
        Ok(())
    }

    /// To consumers with the commit, to sockets after it.
    fn publish<E: Event>(&self, tx: &mut Tx, about: &str, event: &E) {
        tx.publish(DomainEvent::new(&self.ctx, Cause::NONE, about, event));
        let hub = self.hub.clone();
        if let Ok(message) = serde_json::to_value(event) {
            tx.after_commit(move || hub.emit_json(Room::Perm(Permission::RssView), E::KEY, &message));
        }
    }
}
