//! Reports of a change: an audit row, a domain event, a realtime message.

use std::path::Path;

use qm_db::Tx;
use qm_kernel::event::{Cause, DomainEvent, Event, EventSpec};
use qm_kernel::{Requester, Timestamp};
use qm_platform::{AuditEntry, AuditResult};
use qm_ports::file_events::{FileDeleted, FileMoved};
use serde::Serialize;
use serde_json::{Value, json};

use super::Files;
use super::operations::emit;
use crate::dto::reviews::CleanupResult;
use crate::error::FilesError;

/// The events of this area.
pub const EVENTS: &[EventSpec] = &[
    EventSpec::for_event::<FileMoved>(),
    EventSpec::for_event::<FileDeleted>(),
];

/// Change of a file, for the audit trail.
pub struct Fact {
    pub action: &'static str,
    /// Kind of the object: `file`, `folder` or `setting`; `None` when the change is about several.
    pub object_type: Option<&'static str>,
    pub object_id: Option<String>,
    pub result: AuditResult,
    pub metadata: Value,
}

impl Fact {
    pub fn file(action: &'static str, path: impl Into<String>, metadata: Value) -> Self {
        Self {
            action,
            object_type: Some("file"),
            object_id: Some(path.into()),
            result: AuditResult::Success,
            metadata,
        }
    }

    /// A fact that concerns no single file.
    pub fn general(action: &'static str, metadata: Value) -> Self {
        Self {
            action,
            object_type: None,
            object_id: None,
            result: AuditResult::Success,
            metadata,
        }
    }

    /// An operation that was begun and failed.
    pub fn failed(intended: &'static str, path: &str, destination: Option<&str>, error: &FilesError) -> Self {
        let metadata = json!({ "intended": intended, "destination": destination, "error": error.public() });
        Self {
            result: AuditResult::Failure,
            ..Self::file("file.operation_failed", path, metadata)
        }
    }

    pub fn failure_if(mut self, failed: bool) -> Self {
        if failed {
            self.result = AuditResult::Failure;
        }
        self
    }

    fn entry(self, caller: Option<&Requester>) -> AuditEntry<'_> {
        AuditEntry {
            user_id: caller.map(|caller| caller.principal.user_id.to_string()),
            action: self.action,
            object_type: self.object_type,
            object_id: self.object_id,
            result: self.result,
            client: caller.map(|caller| &caller.client),
            metadata: Some(self.metadata),
        }
    }
}

/// Payload of `files.trash.updated`.
#[derive(Serialize)]
struct TrashUpdated<'a> {
    action: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u64>,
}

/// Payload of `files.cleanup.completed`.
#[derive(Serialize)]
struct CleanupCompleted<'a> {
    root: &'a str,
    #[serde(flatten)]
    result: &'a CleanupResult,
    at: Timestamp,
}

impl Files {
    /// Adds an audit row to a transaction.
    pub(super) async fn audit_in(
        &self,
        tx: &mut Tx,
        caller: Option<&Requester>,
        fact: Fact,
    ) -> Result<(), FilesError> {
        Ok(self.audit.record(tx, fact.entry(caller)).await?)
    }

    /// Audits what changed no row of ours, and publishes what others have to know of it. The change has happened: whatever
    /// the database says, the event goes out.
    pub(super) async fn audit_alone(&self, caller: &Requester, fact: Fact, event: Option<DomainEvent>) {
        let entry = fact.entry(Some(caller));
        match event {
            Some(event) => self.audit.record_and_tell(&self.db, entry, event).await,
            None => self.audit.record_alone(&self.db, entry).await,
        }
    }

    pub(super) fn moved(&self, caller: Option<&Requester>, from: &Path, to: &Path) -> DomainEvent {
        let payload = FileMoved {
            from: from.to_string_lossy().into_owned(),
            to: to.to_string_lossy().into_owned(),
        };
        self.event(caller, to, &payload)
    }

    pub(super) fn deleted(&self, caller: Option<&Requester>, path: &Path) -> DomainEvent {
        let payload = FileDeleted {
            path: path.to_string_lossy().into_owned(),
        };
        self.event(caller, path, &payload)
    }

    fn event<E: Event>(&self, caller: Option<&Requester>, path: &Path, payload: &E) -> DomainEvent {
        let cause = caller.map_or(Cause::NONE, |caller| Cause::request(&caller.client));
        DomainEvent::new(&self.ctx, cause, path.to_string_lossy(), payload)
            .by(caller.map(|caller| &*caller.principal.user_id))
    }

    /// `files.trash.updated` of one item.
    pub(super) fn trash_changed(&self, action: &str, id: &str) {
        let message = TrashUpdated {
            action,
            id: Some(id),
            count: None,
        };
        emit(&self.hub, "files.trash.updated", &message);
    }

    /// `files.trash.updated` of many items.
    pub(super) fn trash_swept(&self, action: &str, count: u64) {
        let message = TrashUpdated {
            action,
            id: None,
            count: Some(count),
        };
        emit(&self.hub, "files.trash.updated", &message);
    }

    /// `files.cleanup.completed`
    pub(super) fn cleaned_up(&self, root: &str, result: &CleanupResult) {
        let at = self.ctx.now();
        emit(
            &self.hub,
            "files.cleanup.completed",
            &CleanupCompleted { root, result, at },
        );
    }
}
