//! Parts that the jobs of the media libraries share: how far a job is, which items failed, why it ends early.

use std::sync::{Arc, Weak};
use std::time::Duration;

use qm_db::DbError;
use qm_jobs::{Capabilities, Ending, JobContext, JobError, JobHandler, JobType, Jobs, Progress};
use qm_kernel::Permission;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::LibraryError;

/// Module of the jobs of this area.
pub const MODULE: &str = "media_manager";
/// Most attempts of one job: the server may be restarted that often while it runs.
pub const ATTEMPTS: u32 = 25;
/// Interval between signs of life of a job that waits for another area.
const BEAT: Duration = Duration::from_mins(1);
/// Most failures that the result of one order names.
const NAMED: usize = 100;
/// Most warnings of one order.
const WARNINGS: usize = 20;

/// Reason for which a job does not go on.
#[derive(Debug, thiserror::Error)]
pub enum Stop {
    #[error("it was cancelled")]
    Stopped,
    /// The library is gone, or has another directory.
    #[error("the library changed meanwhile")]
    Changed,
    #[error(transparent)]
    Database(#[from] DbError),
    #[error(transparent)]
    Job(#[from] JobError),
}

impl From<Stop> for JobError {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Stopped => stopped(),
            Stop::Changed => JobError::new("conflict.library_changed", "The library was changed meanwhile"),
            Stop::Database(error) => error.into(),
            Stop::Job(error) => error,
        }
    }
}

/// A job of this area was cancelled.
pub fn stopped() -> JobError {
    JobError::new("interrupted", "Cancelled by the operator")
}

/// Waits for work of another area, which may take hours and tells nothing of itself: the job shows meanwhile that it is alive.
///
/// # Errors
/// When the job is cancelled first; the work is dropped then.
pub async fn attend<T>(job: &JobContext, work: impl Future<Output = T>) -> Result<T, JobError> {
    let mut work = std::pin::pin!(work);
    loop {
        tokio::select! {
            () = job.cancelled() => return Err(stopped()),
            done = &mut work => return Ok(done),
            () = tokio::time::sleep(BEAT) => job.heartbeat().await?,
        }
    }
}

/// Service that a job works for, unless the server stops.
pub fn in_service<T>(service: &Weak<T>) -> Result<Arc<T>, JobError> {
    let gone = || JobError::new("stopping", "the server stops");
    service.upgrade().ok_or_else(gone)
}

/// State of an order. It is stored after each item, so that a server that was killed goes on with the next one.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Standing {
    /// Items that are done, with success or not.
    pub done: usize,
    pub completed: usize,
    pub failed: usize,
    /// Failures, as they are shown to people.
    pub failures: Vec<Value>,
}

impl Standing {
    /// Notes the result of an item.
    pub async fn note(
        &mut self,
        job: &JobContext,
        id: &str,
        became: Result<(), String>,
    ) -> Result<(), JobError> {
        self.done += 1;
        let Err(message) = became else {
            self.completed += 1;
            return Ok(());
        };
        self.failed += 1;
        if self.failures.len() < NAMED {
            self.failures.push(json!({ "itemId": id, "message": message }));
        }
        if self.failed <= WARNINGS {
            job.warning(&message).await?;
        }
        Ok(())
    }
}

/// Progress of an order.
pub fn progress(done: usize, total: usize) -> Progress {
    let share = done as f64 / total.max(1) as f64;
    Progress {
        current: Some(done as u64),
        total: Some(total as u64),
        unit: Some("items"),
        ..Progress::percent(99.0 * share)
    }
}

pub fn job_type(key: &'static str, label_key: &'static str, handler: Arc<dyn JobHandler>) -> JobType {
    JobType {
        key,
        module: MODULE,
        workspace: Some("media"),
        label_key,
        description_key: None,
        required_permission: Some(Permission::MediaManagerView),
        // No retry by hand: a person who may retry jobs may lack the permissions of the one who gave the order.
        capabilities: Capabilities {
            cancellable: true,
            ..Capabilities::default()
        },
        // After a crash the job goes on with the rest.
        max_attempts: ATTEMPTS,
        timeout: None,
        // Two orders at once could both take the same folder.
        at_once: Some(1),
        at_once_of_one: None,
        handler,
    }
}

/// The items of an order.
pub fn ids(job: &JobContext) -> Vec<String> {
    let ids = job.input()["itemIds"].as_array();
    let ids = ids.into_iter().flatten().filter_map(Value::as_str);
    ids.map(str::to_owned).collect()
}

/// Last saved state of an order.
pub fn saved<T: DeserializeOwned + Default>(job: &JobContext) -> T {
    let saved = job.checkpoint().cloned().unwrap_or_default();
    serde_json::from_value(saved).unwrap_or_default()
}

/// Saves the state of an order.
pub async fn save<T: Serialize>(job: &JobContext, state: &T) -> Result<(), JobError> {
    let saved =
        serde_json::to_value(state).map_err(|error| JobError::new("checkpoint", error.to_string()))?;
    job.save(&saved).await
}

/// Waits for a job of this area, and reads its result.
pub async fn result_of<T: serde::de::DeserializeOwned + Default>(
    jobs: &Jobs,
    job: &str,
) -> Result<T, LibraryError> {
    match jobs.ended(job).await? {
        Ending::Completed => {
            let result = jobs.result(job).await?.unwrap_or(Value::Null);
            Ok(serde_json::from_value(result).unwrap_or_default())
        }
        Ending::Cancelled => Err(LibraryError::Unfinished("it was cancelled".to_owned())),
        Ending::Failed(why) => Err(LibraryError::Unfinished(why)),
    }
}
