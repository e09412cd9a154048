//! One action on many jobs, each for itself.

use std::collections::BTreeSet;

use qm_kernel::ErrorKind;
use qm_platform::{AuditEntry, AuditResult};
use serde_json::json;

use super::actions::{Acted, Verb};
use super::{Caller, Jobs};
use crate::error::JobsError;

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BulkOutcome {
    /// Of ids that were given.
    pub total: usize,
    pub succeeded: Vec<String>,
    /// With why.
    pub failed: Vec<(String, &'static str)>,
}

impl Jobs {
    /// Does it with each of `ids` once, whatever becomes of the others.
    pub async fn act_on_many(
        &self,
        caller: &Caller,
        verb: Verb,
        action: &'static str,
        ids: Vec<String>,
    ) -> BulkOutcome {
        let total = ids.len();
        let mut seen = BTreeSet::new();
        let (mut succeeded, mut failed) = (Vec::new(), Vec::new());
        for id in ids {
            if !seen.insert(id.clone()) {
                continue;
            }
            // PostgreSQL's TEXT cannot hold it, so no job is named so.
            let acted = if id.contains('\0') {
                Err(JobsError::NotFound)
            } else {
                self.act(caller, verb, &id).await
            };
            match acted {
                Ok(Acted { ok: true, .. }) => succeeded.push(id),
                Ok(Acted { reason, .. }) => failed.push((id, reason.unwrap_or("failed"))),
                Err(error) => {
                    let reason = reason_of(&error);
                    if error.kind() == ErrorKind::Internal {
                        let error = &error as &dyn std::error::Error;
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
        | JobsError::KeyInUse(_)
        | JobsError::IllegalMove { .. }
        | JobsError::LeaseLost(_)
        | JobsError::Damaged { .. }
        | JobsError::Database(_) => "failed",
    }
}
