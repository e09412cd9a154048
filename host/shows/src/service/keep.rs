//! Storing providers' answers, and publishing changes.

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

/// Reason why an answer could not be stored.
#[derive(Debug, thiserror::Error)]
pub(super) enum KeepError {
    #[error(transparent)]
    Database(#[from] DbError),
    /// Error from the rules.
    #[error("the rules on the show could not be told: {0}")]
    Rules(ShowError),
}

/// A changed status.
struct Change {
    from: AiringStatus,
    rules_affected: u64,
    at: Timestamp,
}

impl Shows {
    /// Stores a provider's answer. The rules receive a changed status first: if the server crashes before the
    /// commit, the next answer finds the old status here and notifies them again.
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
        // Another request may have been faster, and published the change.
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
            // An unknown status is no sign of activity.
            AiringStatus::Unknown => {}
            _ if from.is_over() => tell!(BecameActive),
            _ => {}
        }
        Ok(())
    }

    /// Publishes to consumers with the commit, and to sockets after it.
    fn publish<E: Event>(&self, tx: &mut Tx, about: &str, event: &E) {
        tx.publish(DomainEvent::new(&self.ctx, Cause::NONE, about, event));
        let hub = self.hub.clone();
        if let Ok(message) = serde_json::to_value(event) {
            tx.after_commit(move || hub.emit_json(Room::Perm(Permission::RssView), E::KEY, &message));
        }
    }
}
