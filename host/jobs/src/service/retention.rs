//! Job that removes old jobs: completed and cancelled ones after seven days, failed ones after thirty.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use qm_kernel::{Permission, Timestamp};
use serde_json::json;

use super::Jobs;
use super::context::{JobContext, Progress};
use super::types::{Done, JobError, JobHandler, JobType};
use crate::model::event::Source;
use crate::model::job::{Capabilities, NewJob};
use crate::model::schedule::{RETENTION_CLEANUP, Trigger};
use crate::repo;

pub const TYPE: &str = "jobs.retention_cleanup";
const EVERY: Duration = Duration::from_hours(24);
const FINISHED: Duration = Duration::from_hours(7 * 24);
const FAILED: Duration = Duration::from_hours(30 * 24);
/// Rows per transaction, so that other writers get their turn.
const AT_ONCE: u64 = 500;

pub(super) fn job_type() -> JobType {
    JobType {
        key: TYPE,
        module: "jobs_center",
        workspace: Some("system"),
        label_key: "jobs.type.retention_cleanup",
        description_key: None,
        required_permission: Some(Permission::JobsAdmin),
        capabilities: Capabilities::default(),
        max_attempts: 1,
        timeout: None,
        at_once: Some(1),
        at_once_of_one: None,
        handler: Arc::new(Cleanup),
    }
}

impl Jobs {
    pub(super) fn schedule_retention(&self) {
        self.schedule(RETENTION_CLEANUP, Trigger::Every(EVERY), || NewJob {
            source: Source::Scheduled,
            name: Some("retention_cleanup".to_owned()),
            ..NewJob::new(TYPE, json!({}))
        });
    }
}

struct Cleanup;

#[async_trait]
impl JobHandler for Cleanup {
    async fn run(&self, job: &JobContext) -> Result<Done, JobError> {
        let now = job.jobs().0.ctx.now();
        let finished = remove(job, now.minus(FINISHED), false).await?;
        let failed = remove(job, now.minus(FAILED), true).await?;
        Ok(Done::result(
            json!({ "removed": finished + failed, "finished": finished, "failed": failed }),
        ))
    }
}

/// Removes one kind of old jobs in small transactions; returns their number.
async fn remove(job: &JobContext, before: Timestamp, failed: bool) -> Result<u64, JobError> {
    let mut removed = 0;
    loop {
        if job.is_cancelled() {
            return Err(JobError::new("cancelled", "The server is stopping"));
        }
        let mut tx = job.jobs().0.db.begin_write().await?;
        let count = if failed {
            repo::retention::remove_failed(&mut tx, before, AT_ONCE).await?
        } else {
            repo::retention::remove_finished(&mut tx, before, AT_ONCE).await?
        };
        tx.commit().await?;
        removed += count;
        if count < AT_ONCE {
            return Ok(removed);
        }
        let phase = if failed { "failed" } else { "finished" };
        let progress = Progress {
            current: Some(removed),
            unit: Some("jobs"),
            ..Progress::default()
        };
        job.progress(progress.phase(phase)).await?;
    }
}
