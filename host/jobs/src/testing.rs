//! Helpers for tests and benchmarks of other crates: scripted job types and a stand-alone worker.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use qm_db::{Db, DbError};
use qm_kernel::{Ctx, Permission, Timestamp};
use qm_platform::Background;
use qm_platform::testing::{self, Claims};
use qm_realtime::{Hub, HubConfig};
use qm_test_base::NoTokens;
use serde_json::{Value, json};

use crate::model::job::Capabilities;
use crate::model::pace::Pace;
use crate::repo::sample_rows;
use crate::service::context::{JobContext, Progress};
use crate::service::retention;
use crate::service::types::{Done, JobError, JobHandler, JobType};
use crate::service::{Jobs, JobsDeps, lock};

/// Adds `rows` completed jobs of the retention type, completed at `at`. Call it once per database: the ids
/// are fixed.
pub async fn fill(db: &Db, rows: u64, at: Timestamp) -> Result<(), DbError> {
    let mut tx = db.begin_write().await?;
    sample_rows::fill(&mut tx, retention::TYPE, rows, at).await?;
    tx.commit().await
}

/// A type whose jobs do what `do` of their input says: `complete`, `warn`, `fail`, `obey` (wait to be cancelled), `pause`
/// (wait to be paused, then go on), `child`, or `progress`.
pub fn scripted(key: &'static str, permission: Option<Permission>) -> JobType {
    JobType {
        key,
        module: "torrents",
        workspace: Some("engines"),
        label_key: "jobs.type.test",
        description_key: Some("jobs.type.test.description"),
        required_permission: permission,
        capabilities: Capabilities {
            cancellable: true,
            pausable: true,
            resumable: true,
            retryable: true,
        },
        max_attempts: 1,
        timeout: None,
        at_once: None,
        at_once_of_one: None,
        handler: Arc::new(Scripted),
    }
}

struct Scripted;

#[async_trait]
impl JobHandler for Scripted {
    async fn run(&self, job: &JobContext) -> Result<Done, JobError> {
        match job.input()["do"].as_str().unwrap_or("complete") {
            "warn" => {
                job.warning("a disk is nearly full, password=hunter2").await?;
                job.output("a list", json!({ "rows": 3 })).await?;
            }
            "fail" if job.attempt() == 1 => {
                return Err(JobError::new("broken", "it broke, token=abc"));
            }
            "obey" => {
                job.cancelled().await;
                return Err(JobError::new("stopped", "it was told to stop"));
            }
            "pause" if job.checkpoint().is_none() => {
                job.paused().await;
                job.save(&json!({ "at": 1 })).await?;
                return Ok(Done::Paused);
            }
            "child" => {
                let child = crate::model::job::NewJob::new("test.open", json!({}));
                job.spawn(child).await?;
            }
            "progress" => {
                let told = Progress {
                    unit: Some("files"),
                    message: Some(("jobs.test.copied", json!({ "count": 1 }))),
                    ..Progress::from_counts(1, 4)
                };
                job.progress(told.phase("copying")).await?;
            }
            _ => {}
        }
        let result: Value = json!({ "done": true, "sessionId": "hidden" });
        Ok(Done::Completed {
            result: Some(result),
            metrics: Some(json!({ "rows": 1 })),
        })
    }
}

/// A stand-alone worker without the rest of a server, and its loops. No job types are registered and it is
/// not started.
///
/// # Panics
/// When the metrics of an empty registry cannot be made.
pub fn worker(db: &Db, pace: Pace) -> (Jobs, Background) {
    worker_of(db, pace, Ctx::system())
}

/// As [`worker`], with the clock of the caller.
///
/// # Panics
/// When the metrics of an empty registry cannot be made.
pub fn worker_of(db: &Db, pace: Pace, ctx: Ctx) -> (Jobs, Background) {
    let ground = testing::ground(db, &ctx, Arc::new(Claims));
    let background = ground.background.clone();
    let jobs = Jobs::new(JobsDeps {
        ground,
        hub: Hub::new(HubConfig::default(), Arc::new(NoTokens), ctx),
        version: "0.0.0",
        pace,
    });
    (jobs.expect("fresh metrics"), background)
}

/// Number of runs of each job, by job id.
pub type Runs = Arc<Mutex<HashMap<String, u32>>>;

/// A job type whose handler only counts its runs in `runs`.
pub fn counting(key: &'static str, runs: &Runs) -> JobType {
    JobType {
        handler: Arc::new(Counting(runs.clone())),
        ..scripted(key, None)
    }
}

struct Counting(Runs);

#[async_trait]
impl JobHandler for Counting {
    async fn run(&self, job: &JobContext) -> Result<Done, JobError> {
        *lock(&self.0).entry(job.id().to_owned()).or_default() += 1;
        tokio::task::yield_now().await;
        Ok(Done::nothing())
    }
}
