//! A job, as it is stored and as it is asked for.

use std::time::Duration;

use qm_kernel::{Permission, Timestamp};
use serde_json::Value;

use super::event::Source;
use super::status::Status;

/// What a person may do with a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    pub cancellable: bool,
    pub pausable: bool,
    pub resumable: bool,
    pub retryable: bool,
}

/// Who sees a job that needs no permission of theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visibility {
    /// Everybody who may see jobs.
    Public,
    /// Who holds the permission of its type.
    Module,
    /// Its creator, and who may see all.
    Own,
}

impl Visibility {
    pub const fn as_str(self) -> &'static str {
        match self {
            Visibility::Public => "public",
            Visibility::Module => "module",
            Visibility::Own => "own",
        }
    }

    pub fn from_word(word: &str) -> Option<Self> {
        match word {
            "public" => Some(Visibility::Public),
            "module" => Some(Visibility::Module),
            "own" => Some(Visibility::Own),
            _ => None,
        }
    }
}

/// A job that is asked for. What stays `None` comes from its type.
#[derive(Clone, Debug)]
pub struct NewJob {
    /// The key of a registered type.
    pub type_key: &'static str,
    /// For the handler alone, 256 KiB as JSON at most; never shown.
    pub input: Value,
    /// What of it people see; secrets in it are blotted.
    pub input_summary: Option<Value>,
    pub name: Option<String>,
    pub description: Option<String>,
    pub source: Source,
    /// Its type and its id.
    pub resource: Option<(String, String)>,
    pub library_id: Option<String>,
    pub media_item_id: Option<String>,
    /// The higher, the earlier it is begun.
    pub priority: i64,
    pub max_attempts: Option<u32>,
    pub timeout: Option<Duration>,
    /// The user who asked for it.
    pub created_by: Option<String>,
    pub correlation_id: Option<String>,
    /// While an active job has this key, asking again answers that one.
    pub idempotency_key: Option<String>,
    /// The name of the schedule that asked for it.
    pub schedule_id: Option<&'static str>,
    pub visibility: Visibility,
    /// Secrets in it are blotted.
    pub metadata: Option<Value>,
}

impl NewJob {
    pub fn new(type_key: &'static str, input: Value) -> Self {
        Self {
            type_key,
            input,
            input_summary: None,
            name: None,
            description: None,
            source: Source::Manual,
            resource: None,
            library_id: None,
            media_item_id: None,
            priority: 0,
            max_attempts: None,
            timeout: None,
            created_by: None,
            correlation_id: None,
            idempotency_key: None,
            schedule_id: None,
            visibility: Visibility::Module,
            metadata: None,
        }
    }
}

/// A stored job, but for its input and its checkpoint.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    pub id: String,
    pub type_key: String,
    pub name: Option<String>,
    pub description: Option<String>,
    pub module_key: String,
    pub workspace_key: Option<String>,
    pub status: Status,
    pub phase: Option<String>,
    pub progress_percent: i64,
    pub progress_current: Option<i64>,
    pub progress_total: Option<i64>,
    pub progress_unit: Option<String>,
    pub status_message_key: Option<String>,
    pub status_message_params: Option<Value>,
    pub source: String,
    pub resource_type: Option<String>,
    pub resource_id: Option<String>,
    pub library_id: Option<String>,
    pub media_item_id: Option<String>,
    pub priority: i64,
    pub attempt: i64,
    pub max_attempts: i64,
    pub created_by_id: Option<String>,
    pub correlation_id: Option<String>,
    pub parent_job_id: Option<String>,
    pub root_job_id: String,
    pub schedule_id: Option<String>,
    /// The key of a permission, which an older or newer version may not know.
    pub required_permission: Option<String>,
    pub visibility: Visibility,
    pub capabilities: Capabilities,
    pub timeout_seconds: Option<i64>,
    pub input_summary: Option<Value>,
    pub result_summary: Option<Value>,
    pub warnings: Option<Value>,
    pub metrics: Option<Value>,
    pub metadata: Option<Value>,
    pub error_code: Option<String>,
    pub error_message: Option<String>,
    pub worker_id: Option<String>,
    pub lease_owner: Option<String>,
    pub claim: i64,
    pub heartbeat_at: Option<Timestamp>,
    pub scheduled_for: Option<Timestamp>,
    pub queued_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub completed_at: Option<Timestamp>,
    pub failed_at: Option<Timestamp>,
    pub cancelled_at: Option<Timestamp>,
    pub paused_at: Option<Timestamp>,
    pub retry_at: Option<Timestamp>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl Job {
    /// The permission it needs; `Err` is one that this program does not know, which nobody holds.
    pub fn permission(&self) -> Result<Option<Permission>, &str> {
        match self.required_permission.as_deref() {
            None => Ok(None),
            Some(key) => Permission::from_key(key).map(Some).ok_or(key),
        }
    }

    /// Whether a failure of this attempt is followed by another one.
    pub fn has_attempts_left(&self) -> bool {
        self.capabilities.retryable && self.attempt < self.max_attempts
    }
}
