//! Storing and finding single jobs.

use qm_db::{DbError, Json, Tx, sql};
use qm_kernel::Timestamp;
use serde_json::Value;

use super::row::{Row, columns};
use crate::error::JobsError;
use crate::model::job::Job;

sql! {
    FIND = concat!("SELECT ", columns!(), " FROM platform_jobs WHERE id = $1");
    FIND_ACTIVE_BY_KEY = concat!(
        "SELECT ", columns!(), " FROM platform_jobs WHERE idempotency_key = $1 AND status IN ('scheduled', 'queued', \
         'waiting', 'blocked', 'running', 'pausing', 'paused', 'retrying', 'cancelling')"
    );
    IDEMPOTENCY_KEY = "SELECT idempotency_key FROM platform_jobs WHERE id = $1";
    RELEASE_KEY = "UPDATE platform_jobs SET idempotency_key = NULL WHERE id = $1";
    HAS_INPUT = "SELECT 1 FROM platform_jobs WHERE id = $1 AND input IS NOT NULL";
    INPUT = "SELECT input FROM platform_jobs WHERE id = $1";
    /// The creator is left empty when the user no longer exists: a token outlives its user by some minutes.
    /// The events stored so far are counted already. The only possible conflict is the idempotency key.
    INSERT = "INSERT INTO platform_jobs (id, type, name, description, module_key, workspace_key, status, \
        progress_percent, source, resource_type, resource_id, library_id, media_item_id, priority, attempt, \
        max_attempts, created_by_id, correlation_id, idempotency_key, parent_job_id, root_job_id, schedule_id, \
        required_permission, visibility_scope, cancellable, pausable, resumable, retryable, timeout_seconds, input, \
        input_summary, metadata, result_summary, metrics, error_code, error_message, worker_id, claim, last_sequence, \
        queued_at, created_at, started_at, heartbeat_at, completed_at, failed_at, updated_at) \
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, \
        (SELECT id FROM users WHERE id = $17), $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, \
        $33, $34, $35, $36, $37, $38, $39, $40, $41, $42, $43, $44, $45, $46) ON CONFLICT DO NOTHING";
}

/// Columns that are not part of [`Job`]: input, checkpoint, key.
#[derive(Default)]
pub struct Hidden<'a> {
    /// `None` when the job must not be repeatable.
    pub input: Option<&'a Value>,
    pub idempotency_key: Option<&'a str>,
}

/// Stores a job with the number of its events. `false` when an active job with the same idempotency key
/// prevented it.
pub async fn insert(tx: &mut Tx, job: &Job, hidden: &Hidden<'_>, events: i64) -> Result<bool, DbError> {
    let capabilities = job.capabilities;
    let at = |instant: Option<Timestamp>| instant.map(Timestamp::ms);
    let inserted = qm_db::exec!(
        tx,
        INSERT,
        &job.id,
        &job.type_key,
        job.name.as_deref(),
        job.description.as_deref(),
        &job.module_key,
        job.workspace_key.as_deref(),
        job.status.as_str(),
        job.progress_percent,
        &job.source,
        job.resource_type.as_deref(),
        job.resource_id.as_deref(),
        job.library_id.as_deref(),
        job.media_item_id.as_deref(),
        job.priority,
        job.attempt,
        job.max_attempts,
        job.created_by_id.as_deref(),
        job.correlation_id.as_deref(),
        hidden.idempotency_key,
        job.parent_job_id.as_deref(),
        &job.root_job_id,
        job.schedule_id.as_deref(),
        job.required_permission.as_deref(),
        job.visibility.as_str(),
        capabilities.cancellable,
        capabilities.pausable,
        capabilities.resumable,
        capabilities.retryable,
        job.timeout_seconds,
        hidden.input.map(Json),
        job.input_summary.as_ref().map(Json),
        job.metadata.as_ref().map(Json),
        job.result_summary.as_ref().map(Json),
        job.metrics.as_ref().map(Json),
        job.error_code.as_deref(),
        job.error_message.as_deref(),
        job.worker_id.as_deref(),
        job.claim,
        events,
        job.queued_at.ms(),
        job.created_at.ms(),
        at(job.started_at),
        at(job.heartbeat_at),
        at(job.completed_at),
        at(job.failed_at),
        job.updated_at.ms()
    )
    .await?;
    Ok(inserted.rows() == 1)
}

pub async fn find(tx: &mut Tx, id: &str) -> Result<Option<Job>, JobsError> {
    qm_db::opt!(tx, Row, FIND, id).await?.map(Row::job).transpose()
}

/// The active job with this idempotency key.
pub async fn find_active(tx: &mut Tx, key: &str) -> Result<Option<Job>, JobsError> {
    let row = qm_db::opt!(tx, Row, FIND_ACTIVE_BY_KEY, key).await?;
    row.map(Row::job).transpose()
}

/// The idempotency key of a job, if it has one.
pub async fn idempotency_key(tx: &mut Tx, id: &str) -> Result<Option<String>, DbError> {
    let found = qm_db::opt!(tx, (Option<String>,), IDEMPOTENCY_KEY, id).await?;
    Ok(found.and_then(|(key,)| key))
}

/// Takes the idempotency key off a job, so that it no longer answers for new ones.
pub async fn release_key(tx: &mut Tx, id: &str) -> Result<(), DbError> {
    qm_db::exec!(tx, RELEASE_KEY, id).await?.exactly(1)
}

/// True when the input of the job is stored.
pub async fn has_input(tx: &mut Tx, id: &str) -> Result<bool, DbError> {
    let found = qm_db::opt!(tx, (i32,), HAS_INPUT, id).await?;
    Ok(found.is_some())
}

/// The stored input of the job, if any.
pub async fn input(tx: &mut Tx, id: &str) -> Result<Option<Value>, DbError> {
    let found = qm_db::opt!(tx, (Option<Json<Value>>,), INPUT, id).await?;
    Ok(found.and_then(|(input,)| input).map(|json| json.0))
}
