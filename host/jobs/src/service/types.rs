//! Registered job types and the handlers that run them.

use std::collections::BTreeMap;
use std::sync::{Arc, RwLock};
use std::time::Duration;

use async_trait::async_trait;
use qm_kernel::Permission;
use qm_lanes::IgnorePoison;
use serde_json::Value;

use super::Jobs;
use super::context::JobContext;
use crate::error::JobsError;
use crate::model::job::Capabilities;

/// A kind of work that jobs can do.
#[derive(Clone)]
pub struct JobType {
    /// Identity: area and verb with a dot between, e.g. `media.library_scan`; never renamed.
    pub key: &'static str,
    /// Part of the product it belongs to, in snake case, e.g. `media_manager`.
    pub module: &'static str,
    /// Part of the interface that shows it, in snake case.
    pub workspace: Option<&'static str>,
    /// Translation key of its name, e.g. `jobs.mediaType.library_scan`.
    pub label_key: &'static str,
    /// Translation key of its description.
    pub description_key: Option<&'static str>,
    /// Permission to see and control its jobs; `None`: every user who may see jobs.
    pub required_permission: Option<Permission>,
    /// Actions that users may perform on its jobs. Without `retryable` the service itself may still repeat a
    /// job.
    pub capabilities: Capabilities,
    /// Default number of attempts the service makes of a job, at least 1: another attempt follows one that
    /// failed or was cut off by a crash.
    pub max_attempts: u32,
    /// Default time limit of one attempt, in whole seconds; the attempt then fails with code `timeout`.
    /// `None`: no limit.
    pub timeout: Option<Duration>,
    /// Largest number of its jobs that one worker runs at once; `None`: as many as it has places.
    pub at_once: Option<usize>,
    /// Largest number of its jobs that run at once for one user, over all workers; the others of that user wait, and take no
    /// place meanwhile. Jobs of the service itself are not counted. `None`: no limit.
    pub at_once_of_one: Option<usize>,
    /// The code that runs jobs of the type.
    pub handler: Arc<dyn JobHandler>,
}

/// Handler that does the work of a type.
///
/// A cancellation reaches it by [`JobContext::cancelled`] and a pause by [`JobContext::paused`]: it must end
/// soon after, with any result. A run that was cut off by a crash is repeated where attempts are left, so the
/// work must tolerate being done twice, or keep track of it in a checkpoint.
#[async_trait]
pub trait JobHandler: Send + Sync {
    /// Runs one attempt. An error or a panic fails it; another attempt follows where the error, the type and
    /// the number of attempts allow. Any end after a cancellation counts as cancelled.
    async fn run(&self, job: &JobContext) -> Result<Done, JobError>;
}

/// Result of a run that did not fail.
#[derive(Clone, Debug, PartialEq)]
pub enum Done {
    Completed {
        /// Result shown to users, usually an object; secrets in it are masked, and more than 64 KiB of JSON
        /// is dropped.
        result: Option<Value>,
        /// Figures about the run, by name; bounded as the result is.
        metrics: Option<Value>,
    },
    /// Stopped because a pause was requested; the checkpoint holds the data to continue.
    Paused,
}

impl Done {
    /// Completed without a result.
    pub const fn nothing() -> Self {
        Done::Completed {
            result: None,
            metrics: None,
        }
    }

    /// Completed with a result.
    pub const fn result(result: Value) -> Self {
        Done::Completed {
            result: Some(result),
            metrics: None,
        }
    }
}

/// Reason of a failed run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct JobError {
    /// Machine-readable word in snake case; stands in `errorCode`.
    pub code: String,
    /// Sentence for users, clipped to 2,000 characters; secrets in it are masked.
    pub message: String,
    /// True when another attempt may succeed.
    pub retryable: bool,
}

impl JobError {
    /// A temporary error: another attempt may succeed.
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            message: message.into(),
            retryable: true,
        }
    }

    /// The same error as permanent: no other attempt is made.
    pub fn permanent(self) -> Self {
        Self {
            retryable: false,
            ..self
        }
    }
}

impl From<JobsError> for JobError {
    fn from(error: JobsError) -> Self {
        Self::new(error.code(), error.to_string())
    }
}

impl From<qm_db::DbError> for JobError {
    fn from(error: qm_db::DbError) -> Self {
        Self::from(JobsError::from(error))
    }
}

/// The registered types, by key.
#[derive(Default)]
pub(super) struct Types(RwLock<BTreeMap<&'static str, Arc<JobType>>>);

impl Types {
    pub(super) fn get(&self, key: &str) -> Option<Arc<JobType>> {
        self.0.read().ignore_poison().get(key).cloned()
    }

    pub(super) fn all(&self) -> Vec<Arc<JobType>> {
        let types = self.0.read().ignore_poison();
        types.values().cloned().collect()
    }
}

impl Jobs {
    /// Registers a type, before [`Jobs::start`], which fails queued jobs of unregistered types. A second
    /// registration of a key replaces the first.
    pub fn register(&self, job_type: JobType) {
        let mut types = self.0.types.0.write().ignore_poison();
        types.insert(job_type.key, Arc::new(job_type));
    }

    /// Every registered type, by key.
    pub fn catalogue(&self) -> Vec<Arc<JobType>> {
        self.0.types.all()
    }
}
