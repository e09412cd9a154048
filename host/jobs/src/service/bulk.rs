//! One action on many jobs, independently of each other.

use std::collections::BTreeSet;

use qm_kernel::{ErrorKind, Requester, as_error};
use qm_platform::{AuditEntry, AuditResult};
use serde_json::json;

use super::Jobs;
use super::actions::Verb;
use crate::error::JobsError;
use crate::model::outcome::{Acted, BulkOutcome};

/// Reason in the answer when no more precise word is known.
const FAILED: &str = "failed";

impl Jobs {
    /// Acts once on each of `ids`; a failure of one does not stop the others. When the database becomes
    /// unreachable the rest is skipped, because each would wait as long as the first.
    pub async fn act_on_many(
        &self,
        caller: &Requester,
        verb: Verb,
        action: &'static str,
        ids: Vec<String>,
    ) -> BulkOutcome {
        let total = ids.len();
        let mut seen = BTreeSet::new();
        let (mut succeeded, mut failed) = (Vec::new(), Vec::new());
        let mut is_away = false;
        for id in ids {
            if !seen.insert(id.clone()) {
                continue;
            }
            // PostgreSQL's TEXT cannot hold NUL, so no job has such an id.
            if id.contains('\0') {
                failed.push((id, reason_of(&JobsError::NotFound)));
                continue;
            }
            if is_away {
                failed.push((id, FAILED));
                continue;
            }
            match self.act(caller, verb, &id).await {
                Ok(Acted { ok: true, .. }) => succeeded.push(id),
                Ok(Acted { reason, .. }) => failed.push((id, reason.unwrap_or(FAILED))),
                Err(error) => {
                    let reason = reason_of(&error);
                    is_away = error.is_passing();
                    if is_away || error.kind() == ErrorKind::Internal {
                        let error = as_error(&error);
                        tracing::error!(error, job.id = id, "an action on a job failed");
                    }
                    failed.push((id, reason));
                }
            }
        }
        let result = if failed.is_empty() {
            AuditResult::Success
        } else {
            AuditResult::Failure
        };
        let entry = AuditEntry {
            user_id: Some(caller.principal.user_id.to_string()),
            action,
            object_type: Some("platform_job"),
            result,
            client: Some(&caller.client),
            metadata: Some(json!({
                "requested": total, "succeeded": succeeded.len(), "failed": failed.len(),
            })),
            ..AuditEntry::default()
        };
        self.0.audit.record_alone(&self.0.db, entry).await;
        BulkOutcome {
            total,
            succeeded,
            failed,
        }
    }
}

fn reason_of(error: &JobsError) -> &'static str {
    match error {
        JobsError::NotFound => "not_found",
        JobsError::MissingPermission(_) | JobsError::Requires(_) => "forbidden",
        JobsError::NotCancellable => "not_cancellable",
        JobsError::NotRerunnable => "not_rerunnable",
        JobsError::UnknownType(_)
        | JobsError::TooLarge { .. }
        | JobsError::TooDeep { .. }
        | JobsError::KeyInUse(_)
        | JobsError::IllegalMove { .. }
        | JobsError::LeaseLost(_)
        | JobsError::Damaged { .. }
        | JobsError::Database(_) => FAILED,
    }
}
