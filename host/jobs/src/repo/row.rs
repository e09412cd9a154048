//! Row of `platform_jobs` and its conversion to a job.

use qm_db::{FromRow, Json};
use qm_kernel::Timestamp;
use serde_json::Value;

use crate::error::JobsError;
use crate::model::job::{Capabilities, Job, Visibility};
use crate::model::status::Status;

/// The columns of [`Row`]: all except those that only handlers and workers read.
macro_rules! columns {
    () => {
        "id, type, name, description, module_key, workspace_key, status, phase, progress_percent, progress_current, \
         progress_total, progress_unit, status_message_key, status_message_params, source, resource_type, resource_id, \
         library_id, media_item_id, priority, attempt, max_attempts, created_by_id, correlation_id, parent_job_id, \
         root_job_id, schedule_id, required_permission, visibility_scope, cancellable, pausable, resumable, retryable, \
         timeout_seconds, input_summary, result_summary, warnings, metrics, metadata, error_code, error_message, \
         worker_id, lease_owner, claim, heartbeat_at, scheduled_for, queued_at, started_at, completed_at, failed_at, \
         cancelled_at, paused_at, retry_at, created_at, updated_at"
    };
}
pub(crate) use columns;

type Stored = Option<Json<Value>>;

#[derive(FromRow)]
pub struct Row {
    id: String,
    #[sqlx(rename = "type")]
    type_key: String,
    name: Option<String>,
    description: Option<String>,
    module_key: String,
    workspace_key: Option<String>,
    status: String,
    phase: Option<String>,
    progress_percent: i64,
    progress_current: Option<i64>,
    progress_total: Option<i64>,
    progress_unit: Option<String>,
    status_message_key: Option<String>,
    status_message_params: Stored,
    source: String,
    resource_type: Option<String>,
    resource_id: Option<String>,
    library_id: Option<String>,
    media_item_id: Option<String>,
    priority: i64,
    attempt: i64,
    max_attempts: i64,
    created_by_id: Option<String>,
    correlation_id: Option<String>,
    parent_job_id: Option<String>,
    root_job_id: String,
    schedule_id: Option<String>,
    required_permission: Option<String>,
    visibility_scope: String,
    #[sqlx(flatten)]
    capabilities: Capabilities,
    timeout_seconds: Option<i64>,
    input_summary: Stored,
    result_summary: Stored,
    warnings: Stored,
    metrics: Stored,
    metadata: Stored,
    error_code: Option<String>,
    error_message: Option<String>,
    worker_id: Option<String>,
    lease_owner: Option<String>,
    claim: i64,
    heartbeat_at: Option<i64>,
    scheduled_for: Option<i64>,
    queued_at: i64,
    started_at: Option<i64>,
    completed_at: Option<i64>,
    failed_at: Option<i64>,
    cancelled_at: Option<i64>,
    paused_at: Option<i64>,
    retry_at: Option<i64>,
    created_at: i64,
    updated_at: i64,
}

impl Row {
    /// Converts the row; fails when a newer version of the program stored a word that this one does not know.
    pub fn job(self) -> Result<Job, JobsError> {
        let status = status_of(&self.id, &self.status)?;
        let visibility = Visibility::from_word(&self.visibility_scope).ok_or_else(|| JobsError::Damaged {
            id: self.id.clone(),
            reason: format!("`{}` is no visibility", self.visibility_scope),
        })?;
        let at = |ms: Option<i64>| ms.map(Timestamp::from_ms);
        let json = |stored: Stored| stored.map(|json| json.0);
        Ok(Job {
            type_key: self.type_key,
            name: self.name,
            description: self.description,
            module_key: self.module_key,
            workspace_key: self.workspace_key,
            status,
            phase: self.phase,
            progress_percent: self.progress_percent,
            progress_current: self.progress_current,
            progress_total: self.progress_total,
            progress_unit: self.progress_unit,
            status_message_key: self.status_message_key,
            status_message_params: json(self.status_message_params),
            source: self.source,
            resource_type: self.resource_type,
            resource_id: self.resource_id,
            library_id: self.library_id,
            media_item_id: self.media_item_id,
            priority: self.priority,
            attempt: self.attempt,
            max_attempts: self.max_attempts,
            created_by_id: self.created_by_id,
            correlation_id: self.correlation_id,
            parent_job_id: self.parent_job_id,
            root_job_id: self.root_job_id,
            schedule_id: self.schedule_id,
            required_permission: self.required_permission,
            visibility,
            capabilities: self.capabilities,
            timeout_seconds: self.timeout_seconds,
            input_summary: json(self.input_summary),
            result_summary: json(self.result_summary),
            warnings: json(self.warnings),
            metrics: json(self.metrics),
            metadata: json(self.metadata),
            error_code: self.error_code,
            error_message: self.error_message,
            worker_id: self.worker_id,
            lease_owner: self.lease_owner,
            claim: self.claim,
            heartbeat_at: at(self.heartbeat_at),
            scheduled_for: at(self.scheduled_for),
            queued_at: Timestamp::from_ms(self.queued_at),
            started_at: at(self.started_at),
            completed_at: at(self.completed_at),
            failed_at: at(self.failed_at),
            cancelled_at: at(self.cancelled_at),
            paused_at: at(self.paused_at),
            retry_at: at(self.retry_at),
            created_at: Timestamp::from_ms(self.created_at),
            updated_at: Timestamp::from_ms(self.updated_at),
            id: self.id,
        })
    }
}

/// The state of a stored word; the database checks the words too.
pub(super) fn status_of(id: &str, word: &str) -> Result<Status, JobsError> {
    Status::from_word(word).ok_or_else(|| JobsError::Damaged {
        id: id.to_owned(),
        reason: format!("`{word}` is no status"),
    })
}
