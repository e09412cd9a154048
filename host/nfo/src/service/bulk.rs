//! Notes about many items, as a job.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use qm_jobs::{Done, Hosted, JobError, NewJob, Progress, Source, Visibility};
use qm_kernel::{Caller, Requester};
use qm_platform::AuditEntry;
use serde_json::{Value, json};

use super::{NEEDED, Nfo};
use crate::error::NfoError;
use crate::model::MAX_ITEMS;

/// Type of the job.
pub const JOB: &str = "media.nfo_generate";
/// Failures that the result names.
const NAMED: usize = 100;

/// Answer to an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted {
    pub job_id: String,
    pub count: usize,
    /// Ids that no item has.
    pub missing: Vec<String>,
}

/// Outcome of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Carried {
    /// Number of notes that were not written.
    pub failed: usize,
    /// Reason for the first of them.
    pub first: Option<String>,
}

impl Nfo {
    /// Begins to write the notes about items; locked ones are left out.
    pub async fn generate_some(
        self: &Arc<Self>,
        caller: Caller<'_>,
        ids: Vec<String>,
        overwrite: bool,
    ) -> Result<Accepted, NfoError> {
        let mut seen = BTreeSet::new();
        let ids: Vec<String> = ids.into_iter().filter(|id| seen.insert(id.clone())).collect();
        if ids.is_empty() {
            return Err(NfoError::NoItems);
        }
        if ids.len() > MAX_ITEMS {
            return Err(NfoError::TooManyItems);
        }
        self.check(caller).await?;
        let known = self.notes.list_known(&ids).await?;
        let found: BTreeSet<&String> = known.iter().collect();
        let missing: Vec<String> = ids.iter().filter(|id| !found.contains(id)).cloned().collect();
        let (count, order) = (known.len(), json!({ "items": known.len() }));
        let mut tx = self.ground.db.begin_write().await?;
        let acting = &self.ground.acting;
        let actor = acting.judge(&mut tx, caller.principal, &[NEEDED]).await?;
        let entry = AuditEntry {
            object_type: Some("media_item"),
            metadata: Some(json!({ "itemIds": known, "count": count })),
            ..actor.entry("media.bulk.generate_nfo", caller.client)
        };
        self.ground.audit.record(&mut tx, entry).await?;
        tx.commit().await?;
        let new = NewJob {
            input_summary: Some(order),
            created_by: Some(caller.user_id().to_owned()),
            visibility: Visibility::Module,
            ..NewJob::new(JOB, Value::Null)
        };
        let hosted = self.jobs.begin_hosted(new).await?;
        let job_id = hosted.id().to_owned();
        let (app, who) = (self.clone(), caller.to_requester());
        tokio::spawn(async move {
            // The job tells how it ended.
            let _ = app.carry(&who, known, overwrite, hosted).await;
        });
        Ok(Accepted {
            job_id,
            count,
            missing,
        })
    }

    /// Writes notes about items for a rule, as a job that the caller waits for.
    pub(super) async fn generate_awaited(
        &self,
        who: &Requester,
        ids: Vec<String>,
        overwrite: bool,
    ) -> Result<Carried, NfoError> {
        let item = match ids.as_slice() {
            [one] => Some(one.clone()),
            _ => None,
        };
        let new = NewJob {
            media_item_id: item,
            input_summary: Some(json!({ "items": ids.len() })),
            created_by: Some(who.principal.user_id.to_string()),
            source: Source::Automation,
            visibility: Visibility::Module,
            ..NewJob::new(JOB, Value::Null)
        };
        let hosted = self.jobs.begin_awaited(new).await?;
        self.carry(who, ids, overwrite, hosted).await
    }

    /// Writes the notes of a job, and ends it.
    async fn carry(
        &self,
        who: &Requester,
        ids: Vec<String>,
        overwrite: bool,
        hosted: Hosted,
    ) -> Result<Carried, NfoError> {
        let (done, total) = (Arc::new(AtomicUsize::new(0)), ids.len());
        let counted = done.clone();
        hosted.follow_progress(move || Progress {
            unit: Some("items"),
            ..Progress::from_counts(counted.load(Ordering::Relaxed) as u64, total as u64)
        });
        let cancelled = hosted.cancellation();
        let (mut completed, mut failures) = (0, Vec::new());
        let mut carried = Carried::default();
        for id in &ids {
            if cancelled.is_cancelled() {
                let stopped = JobError::new("interrupted", "Cancelled by the operator");
                hosted.end(None, Err(stopped.permanent()));
                return Err(NfoError::Cancelled);
            }
            match self.generate_one(who.caller(), id, overwrite).await {
                Ok(_) => completed += 1,
                Err(error) if error.is_about_one() => {
                    carried.failed += 1;
                    carried.first.get_or_insert_with(|| error.to_string());
                    if failures.len() < NAMED {
                        failures.push(json!({ "itemId": id, "message": error.to_string() }));
                    }
                }
                Err(error) => {
                    let failure = JobError::new(error.code(), error.to_string());
                    hosted.end(None, Err(failure.permanent()));
                    return Err(error);
                }
            }
            done.fetch_add(1, Ordering::Relaxed);
        }
        let failed = carried.failed;
        let result =
            json!({ "total": total, "completed": completed, "failed": failed, "failures": failures });
        let warning = (failed > 0).then(|| format!("{failed} of {total} notes were not written"));
        hosted.end(warning, Ok(Done::result(result)));
        Ok(carried)
    }
}
