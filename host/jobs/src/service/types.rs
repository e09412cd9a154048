//! The types of jobs there are: what areas register, and what runs them.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use async_trait::async_trait;
use qm_kernel::Permission;
use serde_json::Value;

use super::Jobs;
use super::context::JobContext;
use crate::error::JobsError;
use crate::model::job::Capabilities;

/// A kind of work that can be asked for.
#[derive(Clone)]
pub struct JobType {
    /// Area and verb with a dot between, e.g. `media.library_scan`; its identity, never renamed.
    pub key: &'static str,
    /// The part of the product it belongs to, in snake case, e.g. `media_manager`.
    pub module: &'static str,
    /// The part of the interface that shows it, in snake case.
    pub workspace: Option<&'static str>,
    /// The key of its name in the texts of the interface, e.g. `jobs.mediaType.library_scan`.
    pub label_key: &'static str,
    /// The key of a sentence about it there.
    pub description_key: Option<&'static str>,
    /// Who may see and control jobs of it; `None`: everybody who may see jobs.
    pub required_permission: Option<Permission>,
    /// What people may do with its jobs. What they may not retry the service may still repeat.
    pub capabilities: Capabilities,
    /// Attempts the service itself makes of a job, 1 at least, unless it is asked for with another number: another one
    /// follows one that failed, or that was cut off by a crash.
    pub max_attempts: u32,
    /// How long one attempt may take, in whole seconds, unless it is asked for with another limit; the attempt fails as
    /// `timeout` then. `None`: as long as it likes.
    pub timeout: Option<Duration>,
    /// How many of it one worker runs at once; `None`: as many as it has places.
    pub at_once: Option<usize>,
    /// The code that runs jobs of the type.
    pub handler: Arc<dyn JobHandler>,
}

/// Does the work of a type.
///
/// It is told of a cancellation by [`JobContext::cancelled`] and of a pause by [`JobContext::paused`]: it is expected to
/// end soon after, with whatever result it has. A run that was cut off by a crash comes again where attempts are left,
/// so what it does must bear being done twice, or be kept track of in a checkpoint.
#[async_trait]
pub trait JobHandler: Send + Sync {
    /// One attempt. An error fails it, and another one follows where the error, the type and the attempts that are left
    /// allow; so does a panic. One that ends in whatever way after it was cancelled has been cancelled.
    async fn run(&self, job: &JobContext) -> Result<Done, JobError>;
}

/// How a run ended that did not fail.
#[derive(Clone, Debug, PartialEq)]
pub enum Done {
    Completed {
        /// What people see of the result, an object by custom; secrets in it are blotted, and of more than 64 KiB of JSON
        /// nothing is kept.
        result: Option<Value>,
        /// Figures about the run, by name; bounded as the result is.
        metrics: Option<Value>,
    },
    /// Stopped because a pause was asked for; what the job needs to go on is in its checkpoint.
    Paused,
}

impl Done {
    /// Completed, with nothing to show.
    pub const fn nothing() -> Self {
        Done::Completed {
            result: None,
            metrics: None,
        }
    }

    /// Completed, with a result.
    pub const fn result(result: Value) -> Self {
        Done::Completed {
            result: Some(result),
            metrics: None,
        }
    }
}

/// Why a run failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct JobError {
    /// A word in snake case that clients may compare; stands in `errorCode`.
    pub code: String,
    /// A sentence for people, of which 2,000 characters are kept; secrets in it are blotted.
    pub message: String,
    /// Whether another attempt may go better.
    pub retryable: bool,
}

impl JobError {
    /// An error that another attempt may get past.
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            message: message.into(),
            retryable: true,
        }
    }

    /// The same error, after which no other attempt is made.
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
        self.0
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(key)
            .cloned()
    }

    pub(super) fn all(&self) -> Vec<Arc<JobType>> {
        let types = self.0.read().unwrap_or_else(PoisonError::into_inner);
        types.values().cloned().collect()
    }
}

impl Jobs {
    /// Makes a type known. To be done before [`Jobs::start`], which gives up what is queued of types nobody registered. A
    /// key registered twice takes the later one.
    pub fn register(&self, job_type: JobType) {
        let mut types = self.0.types.0.write().unwrap_or_else(PoisonError::into_inner);
        types.insert(job_type.key, Arc::new(job_type));
    }

    /// Every registered type, by key.
    pub fn catalogue(&self) -> Vec<Arc<JobType>> {
        self.0.types.all()
    }
}
