//! A job as it is stored, and a new job as callers request it.

use std::time::Duration;

use qm_db::FromRow;
use qm_kernel::{Permission, Timestamp};
use serde_json::Value;

use super::event::Source;
use super::status::Status;

/// Actions that users may perform on a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromRow)]
pub struct Capabilities {
    pub cancellable: bool,
    pub pausable: bool,
    pub resumable: bool,
    pub retryable: bool,
}

/// Audience of a job whose type needs no permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visibility {
    /// Everybody who may see jobs.
    Public,
    /// Users who hold the permission of its type.
    Module,
    /// Its creator, and users who may see all jobs.
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

/// A request for a new job. Fields left `None` are taken from its type.
#[derive(Clone, Debug)]
pub struct NewJob {
    /// The key of a registered type.
    pub type_key: &'static str,
    /// Input for the handler alone, at most 256 KiB as JSON; never shown to users.
    pub input: Value,
    /// Part of the input shown to users; secrets in it are masked.
    pub input_summary: Option<Value>,
    pub name: Option<String>,
    pub description: Option<String>,
    pub source: Source,
    /// Type and id of the resource.
    pub resource: Option<(String, String)>,
    pub library_id: Option<String>,
    pub media_item_id: Option<String>,
    /// Higher numbers begin earlier.
    pub priority: i64,
    pub max_attempts: Option<u32>,
    pub timeout: Option<Duration>,
    /// Id of the user who requested it.
    pub created_by: Option<String>,
    pub correlation_id: Option<String>,
    /// While an active job has this key, a new request returns that job instead of a new one.
    pub idempotency_key: Option<String>,
    /// Name of the schedule that requested it.
    pub schedule_id: Option<&'static str>,
    pub visibility: Visibility,
    /// Extra data for users; secrets in it are masked.
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

/// A stored job without its input and its checkpoint.
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
    /// Key of a permission; another version of the program may have stored one that this version does not
    /// know.
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

/// Row of a list: a job without its JSON columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    pub id: String,
    pub type_key: String,
    pub name: Option<String>,
    pub module_key: String,
    pub workspace_key: Option<String>,
    pub status: Status,
    pub phase: Option<String>,
    pub progress_percent: i64,
    pub source: String,
    pub resource_type: Option<String>,
    pub resource_id: Option<String>,
    pub library_id: Option<String>,
    pub media_item_id: Option<String>,
    pub priority: i64,
    pub attempt: i64,
    pub max_attempts: i64,
    pub created_by_id: Option<String>,
    pub capabilities: Capabilities,
    pub error_message: Option<String>,
    pub worker_id: Option<String>,
    pub queued_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub completed_at: Option<Timestamp>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl Item {
    /// Total number of attempts: the planned ones and those that users requested on top.
    pub fn attempts_in_all(&self) -> i64 {
        self.max_attempts.max(self.attempt)
    }
}

impl Job {
    /// A new job: queued, its own root, all other fields empty.
    pub fn new(id: String, type_key: String, capabilities: Capabilities, now: Timestamp) -> Self {
        Self {
            root_job_id: id.clone(),
            id,
            type_key,
            name: None,
            description: None,
            module_key: String::new(),
            workspace_key: None,
            status: Status::Queued,
            phase: None,
            progress_percent: 0,
            progress_current: None,
            progress_total: None,
            progress_unit: None,
            status_message_key: None,
            status_message_params: None,
            source: Source::System.as_str().to_owned(),
            resource_type: None,
            resource_id: None,
            library_id: None,
            media_item_id: None,
            priority: 0,
            attempt: 1,
            max_attempts: 1,
            created_by_id: None,
            correlation_id: None,
            parent_job_id: None,
            schedule_id: None,
            required_permission: None,
            visibility: Visibility::Module,
            capabilities,
            timeout_seconds: None,
            input_summary: None,
            result_summary: None,
            warnings: None,
            metrics: None,
            metadata: None,
            error_code: None,
            error_message: None,
            worker_id: None,
            lease_owner: None,
            claim: 0,
            heartbeat_at: None,
            scheduled_for: None,
            queued_at: now,
            started_at: None,
            completed_at: None,
            failed_at: None,
            cancelled_at: None,
            paused_at: None,
            retry_at: None,
            created_at: now,
            updated_at: now,
        }
    }

    /// The same job as a row of a list.
    pub fn item(&self) -> Item {
        Item {
            id: self.id.clone(),
            type_key: self.type_key.clone(),
            name: self.name.clone(),
            module_key: self.module_key.clone(),
            workspace_key: self.workspace_key.clone(),
            status: self.status,
            phase: self.phase.clone(),
            progress_percent: self.progress_percent,
            source: self.source.clone(),
            resource_type: self.resource_type.clone(),
            resource_id: self.resource_id.clone(),
            library_id: self.library_id.clone(),
            media_item_id: self.media_item_id.clone(),
            priority: self.priority,
            attempt: self.attempt,
            max_attempts: self.max_attempts,
            created_by_id: self.created_by_id.clone(),
            capabilities: self.capabilities,
            error_message: self.error_message.clone(),
            worker_id: self.worker_id.clone(),
            queued_at: self.queued_at,
            started_at: self.started_at,
            completed_at: self.completed_at,
            created_at: self.created_at,
            updated_at: self.updated_at,
        }
    }

    /// The permission it needs; `Err` holds a key that this version does not know, which nobody holds.
    pub fn permission(&self) -> Result<Option<Permission>, &str> {
        match self.required_permission.as_deref() {
            None => Ok(None),
            Some(key) => Permission::from_key(key).map(Some).ok_or(key),
        }
    }

    /// True when a failure of this attempt is followed by another attempt.
    pub fn has_attempts_left(&self) -> bool {
        self.attempt < self.max_attempts
    }
}
