//! Detections as jobs.

use std::sync::{Arc, Weak};

use async_trait::async_trait;
use qm_jobs::{Capabilities, Done, JobContext, JobError, JobHandler, JobType, NewJob, Source};
use qm_kernel::Caller;
use serde_json::{Value, json};

use super::scan::{Stop, detect};
use super::{Duplicates, SCAN, VIEW};
use crate::error::DuplicatesError;

/// Type of the jobs.
pub const TYPE: &str = "media.duplicate_detect";
/// Most attempts of one job: the server may be restarted that often while it runs.
const ATTEMPTS: u32 = 25;

pub fn job_type(app: &Arc<Duplicates>) -> JobType {
    JobType {
        key: TYPE,
        module: "media_manager",
        workspace: Some("media"),
        label_key: "jobs.type.media.duplicate_detect",
        description_key: None,
        required_permission: Some(VIEW),
        capabilities: Capabilities {
            cancellable: true,
            ..Capabilities::default()
        },
        max_attempts: ATTEMPTS,
        timeout: None,
        // Two at once would write the same groups.
        at_once: Some(1),
        at_once_of_one: None,
        handler: Arc::new(Detecting(Arc::downgrade(app))),
    }
}

/// A detection; while one waits or runs, another request returns it.
pub fn new_job(source: Source, created_by: Option<String>) -> NewJob {
    NewJob {
        source,
        created_by,
        idempotency_key: Some(TYPE.to_owned()),
        ..NewJob::new(TYPE, json!({}))
    }
}

struct Detecting(Weak<Duplicates>);

#[async_trait]
impl JobHandler for Detecting {
    async fn run(&self, job: &JobContext) -> Result<Done, JobError> {
        let stopping = || JobError::new("stopping", "the server stops");
        let app = self.0.upgrade().ok_or_else(stopping)?;
        app.check_order(job).await?;
        let tell = |event: &'static str, progress: u8, more: &[(&str, Value)]| {
            let mut message = json!({ "scanId": job.id(), "progress": progress, "at": app.ground.ctx.now() });
            for (name, value) in more {
                message[*name] = value.clone();
            }
            app.tell(event, &message);
        };
        tell("media_manager.duplicates.scan.started", 0, &[]);
        match detect(&app, job).await {
            Ok(metrics) => {
                let metrics = json!(metrics);
                let more = [("metrics", metrics.clone())];
                tell("media_manager.duplicates.scan.completed", 100, &more);
                Ok(Done::result(metrics))
            }
            Err(Stop::Cancelled) => {
                tell("media_manager.duplicates.scan.cancelled", 0, &[]);
                Err(JobError::new("interrupted", "Cancelled by the operator"))
            }
            Err(stop) => {
                let error = match stop {
                    Stop::Job(error) => error,
                    Stop::Failed(error) => JobError::new(error.code(), error.public()),
                    Stop::Cancelled => JobError::new("interrupted", "Cancelled by the operator"),
                };
                let more = [("error", json!(error.message))];
                tell("media_manager.duplicates.scan.failed", 0, &more);
                Err(error)
            }
        }
    }
}

impl Duplicates {
    /// Starts a detection, or returns the id of the one that waits or runs.
    pub async fn start_detection(&self, caller: Caller<'_>) -> Result<String, DuplicatesError> {
        let mut tx = self.ground.db.begin_write().await?;
        let actor = self
            .ground
            .acting
            .judge(&mut tx, caller.principal, &[SCAN])
            .await?;
        let job = NewJob {
            correlation_id: Some(caller.client.request_id.clone()),
            ..new_job(Source::Manual, Some(actor.user_id().to_owned()))
        };
        let enqueued = self.jobs.enqueue(&mut tx, job).await?;
        tx.commit().await?;
        self.jobs.announce(&enqueued);
        Ok(enqueued.id().to_owned())
    }

    /// Ends a job whose user lost the permission meanwhile, or no longer exists.
    async fn check_order(&self, job: &JobContext) -> Result<(), JobError> {
        let Some(user) = job.created_by() else {
            return Ok(());
        };
        let mut tx = self.ground.db.begin_read().await?;
        let powers = self.ground.acting.powers(&mut tx, user).await;
        let refused = |code: &str, message: String| Err(JobError::new(code, message).permanent());
        match powers {
            Ok(powers) if powers.contains(SCAN) => Ok(()),
            Ok(_) => refused(
                "forbidden.permission",
                format!("Missing permission(s): {}", SCAN.key()),
            ),
            Err(qm_platform::ActingError::Database(error)) => Err(error.into()),
            Err(error) => refused(error.code(), error.to_string()),
        }
    }
}
