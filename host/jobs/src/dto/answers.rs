//! Answer bodies of the routes.

use std::collections::BTreeMap;

use qm_kernel::Timestamp;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::model::event::JobEvent;
use crate::model::job::{Capabilities, Item, Job};
use crate::model::outcome::{Acted, BulkOutcome};
use crate::model::pace::Pace;
use crate::model::schedule::{Schedule, Trigger};
use crate::model::status::Status;
use crate::model::view::{Overview, WorkerView};

/// The latest jobs, shortly.
#[derive(Serialize, ToSchema)]
pub struct JobSummaries {
    pub jobs: Vec<JobSummary>,
}

/// A job in a few words.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobSummary {
    id: String,
    /// The part of the product it belongs to, e.g. `media`.
    subsystem: &'static str,
    r#type: String,
    /// `queued`, `running`, `completed`, `failed` or `cancelled`.
    status: &'static str,
    /// 0 to 100.
    progress: Option<i64>,
    label: Option<String>,
    error: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
}

impl JobSummary {
    pub fn from_item(subsystem: &'static str, job: Item) -> Self {
        Self {
            id: job.id,
            subsystem,
            r#type: job.type_key,
            status: job.status.folded(),
            progress: Some(job.progress_percent),
            label: job.name.or(job.media_item_id).or(job.library_id),
            error: job.error_message,
            created_at: job.created_at,
            updated_at: job.updated_at,
        }
    }
}

/// Actions that may be performed on a job.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobCapabilities {
    cancellable: bool,
    pausable: bool,
    resumable: bool,
    retryable: bool,
}

impl From<Capabilities> for JobCapabilities {
    fn from(capabilities: Capabilities) -> Self {
        Self {
            cancellable: capabilities.cancellable,
            pausable: capabilities.pausable,
            resumable: capabilities.resumable,
            retryable: capabilities.retryable,
        }
    }
}

/// A job in a list.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobItem {
    id: String,
    /// e.g. `media.library_scan`
    r#type: String,
    name: Option<String>,
    module_key: String,
    workspace_key: Option<String>,
    /// `scheduled`, `queued`, `waiting`, `blocked`, `running`, `pausing`, `paused`, `retrying`, `completed`,
    /// `completed_with_warnings`, `failed`, `cancelling`, `cancelled`, `skipped` or `expired`.
    status: &'static str,
    /// Present phase of the work, e.g. `scanning`.
    phase: Option<String>,
    /// 0 to 100.
    progress_percent: i64,
    /// `manual`, `scheduled`, `event`, `automation`, `workflow` or `system`.
    source: String,
    resource_type: Option<String>,
    resource_id: Option<String>,
    /// The higher, the earlier it is begun.
    priority: i64,
    /// From 1.
    attempt: i64,
    /// Attempts in all: the planned ones, and those that people asked for beside.
    max_attempts: i64,
    created_by_id: Option<String>,
    /// The worker that has it, or had it last, as `host:pid`.
    worker_id: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    queued_at: Timestamp,
    #[schema(value_type = Option<String>, format = DateTime)]
    started_at: Option<Timestamp>,
    /// Instant of its end, completed, failed or cancelled.
    #[schema(value_type = Option<String>, format = DateTime)]
    completed_at: Option<Timestamp>,
    capabilities: JobCapabilities,
}

/// All that is shown of a job.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobDetail {
    #[serde(flatten)]
    item: JobItem,
    description: Option<String>,
    correlation_id: Option<String>,
    parent_job_id: Option<String>,
    /// The uppermost of its parents, or itself.
    root_job_id: Option<String>,
    /// The name of the schedule that made it.
    schedule_id: Option<String>,
    library_id: Option<String>,
    media_item_id: Option<String>,
    progress_current: Option<i64>,
    progress_total: Option<i64>,
    /// Unit of the two counts, e.g. `files`.
    progress_unit: Option<String>,
    status_message_key: Option<String>,
    status_message_params: Option<Value>,
    #[schema(value_type = Option<String>, format = DateTime)]
    scheduled_for: Option<Timestamp>,
    /// The last sign of life.
    #[schema(value_type = Option<String>, format = DateTime)]
    heartbeat_at: Option<Timestamp>,
    #[schema(value_type = Option<String>, format = DateTime)]
    failed_at: Option<Timestamp>,
    #[schema(value_type = Option<String>, format = DateTime)]
    cancelled_at: Option<Timestamp>,
    #[schema(value_type = Option<String>, format = DateTime)]
    paused_at: Option<Timestamp>,
    /// When the next attempt is due.
    #[schema(value_type = Option<String>, format = DateTime)]
    retry_at: Option<Timestamp>,
    /// Time limit of one attempt, in seconds.
    timeout_seconds: Option<i64>,
    required_permission: Option<String>,
    /// `public`, `module` or `own`.
    visibility_scope: &'static str,
    input_summary: Option<Value>,
    result_summary: Option<Value>,
    error_code: Option<String>,
    error_message: Option<String>,
    warnings: Option<Value>,
    metrics: Option<Value>,
    metadata: Option<Value>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
}

impl From<Item> for JobItem {
    fn from(job: Item) -> Self {
        let max_attempts = job.attempts_in_all();
        Self {
            id: job.id,
            r#type: job.type_key,
            name: job.name,
            module_key: job.module_key,
            workspace_key: job.workspace_key,
            status: job.status.as_str(),
            phase: job.phase,
            progress_percent: job.progress_percent,
            source: job.source,
            resource_type: job.resource_type,
            resource_id: job.resource_id,
            priority: job.priority,
            attempt: job.attempt,
            max_attempts,
            created_by_id: job.created_by_id,
            worker_id: job.worker_id,
            queued_at: job.queued_at,
            started_at: job.started_at,
            completed_at: job.completed_at,
            capabilities: job.capabilities.into(),
        }
    }
}

impl From<Job> for JobDetail {
    fn from(job: Job) -> Self {
        Self {
            item: job.item().into(),
            description: job.description,
            correlation_id: job.correlation_id,
            parent_job_id: job.parent_job_id,
            root_job_id: Some(job.root_job_id),
            schedule_id: job.schedule_id,
            library_id: job.library_id,
            media_item_id: job.media_item_id,
            progress_current: job.progress_current,
            progress_total: job.progress_total,
            progress_unit: job.progress_unit,
            status_message_key: job.status_message_key,
            status_message_params: job.status_message_params,
            scheduled_for: job.scheduled_for,
            heartbeat_at: job.heartbeat_at,
            failed_at: job.failed_at,
            cancelled_at: job.cancelled_at,
            paused_at: job.paused_at,
            retry_at: job.retry_at,
            timeout_seconds: job.timeout_seconds,
            required_permission: job.required_permission,
            visibility_scope: job.visibility.as_str(),
            input_summary: job.input_summary,
            result_summary: job.result_summary,
            error_code: job.error_code,
            error_message: job.error_message,
            warnings: job.warnings,
            metrics: job.metrics,
            metadata: job.metadata,
            created_at: job.created_at,
            updated_at: job.updated_at,
        }
    }
}

/// A page of jobs.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobPage {
    pub items: Vec<JobItem>,
    /// Jobs over all pages.
    pub total: u64,
    /// The page used, from 1.
    pub page: u64,
    /// The page size used.
    pub page_size: u64,
}

/// An event of a job.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobEventItem {
    id: String,
    job_id: String,
    /// From 1, without gaps.
    sequence: i64,
    /// `debug`, `info`, `warning`, `error` or `success`.
    level: String,
    /// e.g. `started` or `phase_changed`
    event_type: String,
    message_key: Option<String>,
    message_params: Option<Value>,
    /// A sentence without secrets.
    sanitized_message: Option<String>,
    /// 0 to 100.
    progress: Option<i64>,
    metadata: Option<Value>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}

impl From<JobEvent> for JobEventItem {
    fn from(event: JobEvent) -> Self {
        Self {
            id: event.id,
            job_id: event.job_id,
            sequence: event.sequence,
            level: event.level,
            event_type: event.event_type,
            message_key: event.message_key,
            message_params: event.message_params,
            sanitized_message: event.message,
            progress: event.progress,
            metadata: event.metadata,
            created_at: event.created_at,
        }
    }
}

/// A page of a job's events.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobEventPage {
    pub items: Vec<JobEventItem>,
    /// Events over all pages.
    pub total: u64,
    /// The page used, from 1.
    pub page: u64,
    /// The page size used.
    pub page_size: u64,
}

/// Counts of the jobs that the caller may see.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobOverview {
    /// Jobs in each state.
    by_status: BTreeMap<&'static str, u64>,
    running: u64,
    queued: u64,
    waiting: u64,
    blocked: u64,
    scheduled: u64,
    failed: u64,
    /// Those something is still to happen to.
    active: u64,
    /// Since midnight where the server stands, those with warnings too; so are the next two.
    completed_today: u64,
    failed_today: u64,
    cancelled_today: u64,
    /// Percentage of the jobs that ended today which completed; `null` when none ended.
    success_rate: Option<u64>,
}

impl From<Overview> for JobOverview {
    fn from(overview: Overview) -> Self {
        Self {
            running: overview.count(Status::Running),
            queued: overview.count(Status::Queued),
            waiting: overview.count(Status::Waiting),
            blocked: overview.count(Status::Blocked),
            scheduled: overview.count(Status::Scheduled),
            failed: overview.count(Status::Failed),
            active: overview.active(),
            success_rate: overview.success_rate(),
            completed_today: overview.completed_today,
            failed_today: overview.failed_today,
            cancelled_today: overview.cancelled_today,
            by_status: overview.by_status,
        }
    }
}

/// A type of jobs.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CatalogueItem {
    pub r#type: &'static str,
    pub module_key: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace_key: Option<&'static str>,
    pub label_key: &'static str,
    /// For translations of clients, as the one before.
    pub description_key: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub required_permission: Option<&'static str>,
    pub capabilities: JobCapabilities,
}

/// A background loop or schedule.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScheduleItem {
    name: &'static str,
    module: &'static str,
    /// `interval` or `cron`.
    trigger_type: &'static str,
    /// Milliseconds between two runs.
    interval_ms: Option<u64>,
    cron: Option<String>,
    enabled: bool,
}

impl From<Schedule> for ScheduleItem {
    fn from(schedule: Schedule) -> Self {
        let (trigger_type, interval_ms, cron) = match schedule.trigger {
            Trigger::Every(interval) => ("interval", Some(interval.as_millis() as u64), None),
            Trigger::Cron(cron) => ("cron", None, Some(cron.text().to_owned())),
        };
        Self {
            name: schedule.name,
            module: schedule.module,
            trigger_type,
            interval_ms,
            cron,
            enabled: true,
        }
    }
}

/// A process that runs jobs.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkerItem {
    /// `host:pid`
    id: String,
    host: String,
    /// `online`, `draining` or `lost`.
    status: &'static str,
    #[schema(value_type = String, format = DateTime)]
    started_at: Timestamp,
    /// Program version.
    version: Option<&'static str>,
    running_jobs: usize,
    capacity: Option<u64>,
    supported_queues: Vec<&'static str>,
    /// True for the process that answers.
    in_process: bool,
}

impl From<WorkerView> for WorkerItem {
    fn from(worker: WorkerView) -> Self {
        Self {
            id: worker.id,
            host: worker.host,
            status: if worker.is_draining { "draining" } else { "online" },
            started_at: worker.started_at,
            version: Some(worker.version),
            running_jobs: worker.running,
            capacity: None,
            supported_queues: vec!["default"],
            in_process: true,
        }
    }
}

/// Settings of the worker; read-only.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkerSettings {
    /// Updates of one job's progress that come sooner after the last one are dropped.
    progress_throttle_ms: u64,
    /// Without a sign of life for so long, a running job is told of as stalled.
    stall_threshold_ms: u64,
    stall_scan_interval_ms: u64,
    default_max_attempts: u32,
    /// Always `false`.
    editable: bool,
}

impl From<&Pace> for WorkerSettings {
    fn from(pace: &Pace) -> Self {
        Self {
            progress_throttle_ms: pace.progress_gap.as_millis() as u64,
            stall_threshold_ms: pace.stall_after.as_millis() as u64,
            stall_scan_interval_ms: pace.stall_scan.as_millis() as u64,
            default_max_attempts: 1,
            editable: false,
        }
    }
}

/// Result of an action on one job.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = JobActionResult)]
pub struct ActionResult {
    ok: bool,
    /// The job it is about now; of a rerun the new one.
    #[serde(skip_serializing_if = "Option::is_none")]
    job_id: Option<String>,
    /// Why not: `not_pausable`, `not_resumable`, `not_retryable`, `not_failed` or `already_active`.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
}

impl From<Acted> for ActionResult {
    fn from(acted: Acted) -> Self {
        Self {
            ok: acted.ok,
            job_id: acted.job_id,
            reason: acted.reason,
        }
    }
}

/// Result of one action on many jobs.
#[derive(Serialize, ToSchema)]
#[schema(as = JobBulkResult)]
pub struct BulkResult {
    /// Ids that were given.
    total: usize,
    succeeded: Vec<String>,
    failed: Vec<BulkFailure>,
    /// `success`, `partial` or `failure`.
    level: &'static str,
}

/// A job the action did nothing to.
#[derive(Serialize, ToSchema)]
#[schema(as = JobBulkFailure)]
pub struct BulkFailure {
    id: String,
    /// The action's own reason, `failed`, `forbidden` or `not_found`.
    reason: &'static str,
}

impl From<BulkOutcome> for BulkResult {
    fn from(outcome: BulkOutcome) -> Self {
        let level = match (outcome.succeeded.is_empty(), outcome.failed.is_empty()) {
            (_, true) => "success",
            (false, false) => "partial",
            (true, false) => "failure",
        };
        Self {
            total: outcome.total,
            succeeded: outcome.succeeded,
            failed: outcome
                .failed
                .into_iter()
                .map(|(id, reason)| BulkFailure { id, reason })
                .collect(),
            level,
        }
    }
}
