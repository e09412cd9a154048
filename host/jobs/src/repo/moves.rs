//! Statements that change the status of a job, and those that its worker may run while it holds the lease.
//!
//! [`step`] is the one statement that moves a job from one state to another, [`claim`] the one that takes it
//! for a worker. Both refuse a move that [`Status::may_become`] does not allow, and both are conditional, so
//! that only one of two competitors succeeds. Writes of a worker carry its [`Lease`]: once the lease was
//! taken away, they match no row.

use qm_db::{DbError, FromRow, Json, Tx, sql};
use qm_kernel::Timestamp;
use serde_json::Value;

use super::row::{Row, columns, status_of};
use crate::error::JobsError;
use crate::model::job::Job;
use crate::model::status::Status;

sql! {
    CANDIDATES = "SELECT id, priority, queued_at FROM platform_jobs WHERE status = 'queued' AND type = $1 \
        AND (run_after IS NULL OR run_after <= $2) ORDER BY priority DESC, queued_at, id LIMIT $3";
    /// $4: jobs of one user at once, those included that run already.
    CANDIDATES_OF_EACH = "SELECT id, priority, queued_at FROM (SELECT id, priority, queued_at, created_by_id, \
        ROW_NUMBER() OVER (PARTITION BY created_by_id ORDER BY priority DESC, queued_at, id) AS turn FROM platform_jobs \
        WHERE status = 'queued' AND type = $1 AND (run_after IS NULL OR run_after <= $2)) AS waiting \
        WHERE created_by_id IS NULL OR turn + (SELECT count(*) FROM platform_jobs AS held WHERE held.type = $1 \
            AND held.created_by_id = waiting.created_by_id AND held.status IN ('running', 'pausing', 'cancelling')) <= $4 \
        ORDER BY priority DESC, queued_at, id LIMIT $3";
    ANY_QUEUED = "SELECT 1 FROM platform_jobs WHERE status = 'queued' AND (run_after IS NULL OR run_after <= $1) LIMIT 1";
    NEXT_DUE = "SELECT MIN(run_after) FROM platform_jobs WHERE status = 'queued' AND run_after > $1";
    QUEUED_TYPES = "SELECT DISTINCT type FROM platform_jobs WHERE status = 'queued' AND queued_at <= $1";
    QUEUED_OF = "SELECT id FROM platform_jobs WHERE status = 'queued' AND type = $1 AND queued_at <= $2 \
        ORDER BY queued_at, id LIMIT $3";
    /// Takes a job if it is still due: it may have been postponed since it was found.
    CLAIM = concat!(
        "UPDATE platform_jobs SET status = 'running', lease_owner = $2, lease_until = $3, claim = claim + 1, \
         worker_id = $4, started_at = $5, heartbeat_at = $5, updated_at = $5, stalled_at = NULL, run_after = NULL, \
         retry_at = NULL, failed_at = NULL, completed_at = NULL, paused_at = NULL, error_code = NULL, error_message = NULL, \
         last_sequence = last_sequence + 1 WHERE id = $1 AND status = 'queued' \
         AND (run_after IS NULL OR run_after <= $5) RETURNING ", columns!(), ", input, checkpoint, last_sequence"
    );
    /// Takes a job even if it is not due yet, and reads no column that may be damaged.
    TAKE = "UPDATE platform_jobs SET status = 'running', lease_owner = $2, lease_until = $3, claim = claim + 1, \
        worker_id = $4, started_at = $5, heartbeat_at = $5, updated_at = $5, stalled_at = NULL, run_after = NULL, \
        retry_at = NULL, last_sequence = last_sequence + 1 WHERE id = $1 AND status = 'queued' \
        RETURNING claim, last_sequence";
    /// Clears the lease when the job leaves its worker.
    STEP = "UPDATE platform_jobs SET status = $3, updated_at = $4, last_sequence = last_sequence + $5, \
        queued_at = CASE WHEN $3 = 'queued' THEN $4 ELSE queued_at END, \
        completed_at = CASE WHEN $3 IN ('completed', 'completed_with_warnings', 'failed', 'cancelled') THEN $4 \
            WHEN $3 = 'retrying' THEN NULL ELSE completed_at END, \
        failed_at = CASE WHEN $3 = 'failed' THEN $4 ELSE failed_at END, \
        cancelled_at = CASE WHEN $3 = 'cancelled' THEN $4 ELSE cancelled_at END, \
        paused_at = CASE WHEN $3 = 'paused' THEN $4 ELSE paused_at END, \
        progress_percent = CASE WHEN $3 IN ('completed', 'completed_with_warnings') THEN 100 ELSE progress_percent END, \
        lease_owner = CASE WHEN $3 IN ('running', 'pausing', 'cancelling') THEN lease_owner ELSE NULL END, \
        lease_until = CASE WHEN $3 IN ('running', 'pausing', 'cancelling') THEN lease_until ELSE NULL END, \
        error_code = COALESCE($6, error_code), error_message = COALESCE($7, error_message), \
        result_summary = COALESCE($8, result_summary), metrics = COALESCE($9, metrics), \
        attempt = COALESCE($10, attempt), retry_at = COALESCE($11, retry_at), \
        run_after = CASE WHEN $3 = 'queued' THEN $11 ELSE run_after END \
        WHERE id = $1 AND status = $2 AND (CAST($12 AS TEXT) IS NULL OR (lease_owner = $12 AND claim = $13)) \
        RETURNING last_sequence";
    HELD = concat!(
        "SELECT ", columns!(), " FROM platform_jobs WHERE id = $1 AND lease_owner = $2 AND claim = $3 \
         AND status IN ('running', 'pausing', 'cancelling')"
    );
    HELD_OF_MODULE = concat!(
        "SELECT ", columns!(), " FROM platform_jobs WHERE status IN ('running', 'pausing', 'cancelling') \
         AND module_key = $1 ORDER BY started_at, id LIMIT $2"
    );
    /// $3 holds the job ids, each between two commas.
    RENEW = "UPDATE platform_jobs SET lease_until = $2 WHERE lease_owner = $1 \
        AND status IN ('running', 'pausing', 'cancelling') \
        AND REPLACE(CAST($3 AS TEXT), ',' || id || ',', '') <> CAST($3 AS TEXT) RETURNING id, claim, status";
    EXPIRED = "SELECT id, lease_owner, claim FROM platform_jobs WHERE status IN ('running', 'pausing', 'cancelling') \
        AND lease_until < $1 ORDER BY lease_until, id LIMIT $2";
    /// A worker that prolongs its lease at the same moment keeps the job.
    TAKE_OVER = "UPDATE platform_jobs SET lease_owner = $4, lease_until = $5, claim = claim + 1 WHERE id = $1 \
        AND lease_owner = $2 AND claim = $3 AND lease_until < $6 AND status IN ('running', 'pausing', 'cancelling') \
        RETURNING claim, status";
    PROGRESS = concat!("UPDATE platform_jobs SET heartbeat_at = $4, updated_at = $4, last_sequence = last_sequence + 1, \
        progress_percent = COALESCE($5, progress_percent), progress_current = COALESCE($6, progress_current), \
        progress_total = COALESCE($7, progress_total), progress_unit = COALESCE($8, progress_unit), \
        phase = COALESCE($9, phase), status_message_key = COALESCE($10, status_message_key), \
        status_message_params = COALESCE($11, status_message_params) \
        WHERE id = $1 AND lease_owner = $2 AND claim = $3 AND status IN ('running', 'pausing', 'cancelling') \
        RETURNING ", columns!(), ", last_sequence");
    NOTE = "UPDATE platform_jobs SET heartbeat_at = $4, updated_at = $4, last_sequence = last_sequence + 1, \
        warnings = COALESCE($5, warnings) \
        WHERE id = $1 AND lease_owner = $2 AND claim = $3 AND status IN ('running', 'pausing', 'cancelling') \
        RETURNING last_sequence";
    BEAT = "UPDATE platform_jobs SET heartbeat_at = $4, checkpoint = COALESCE($5, checkpoint) \
        WHERE id = $1 AND lease_owner = $2 AND claim = $3 AND status IN ('running', 'pausing', 'cancelling')";
    STALLED = "SELECT id, COALESCE(heartbeat_at, started_at) FROM platform_jobs WHERE status = 'running' \
        AND stalled_at IS NULL AND COALESCE(heartbeat_at, started_at) < $1 ORDER BY id LIMIT $2";
    TELL_STALLED = "UPDATE platform_jobs SET stalled_at = $2, last_sequence = last_sequence + 1 WHERE id = $1 \
        AND status = 'running' AND stalled_at IS NULL AND COALESCE(heartbeat_at, started_at) < $3 RETURNING last_sequence";
}

/// A worker's right to write to a job: valid until another worker takes the job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    pub job_id: String,
    pub owner: String,
    pub claim: i64,
}

/// Worker that claims jobs: its name for leases, its name for users, and the length of its leases.
pub struct Claimant<'a> {
    pub owner: &'a str,
    pub worker_id: &'a str,
    pub until: Timestamp,
}

impl Claimant<'_> {
    /// The lease of a job at its `claim`th claim.
    pub fn lease(&self, job_id: &str, claim: i64) -> Lease {
        Lease {
            job_id: job_id.to_owned(),
            owner: self.owner.to_owned(),
            claim,
        }
    }
}

/// A claimed job with the data that only its handler gets.
pub struct Claimed {
    pub job: Job,
    pub lease: Lease,
    pub input: Option<Value>,
    pub checkpoint: Option<Value>,
    /// Sequence number of the `started` event.
    pub sequence: i64,
}

/// A held job whose lease has expired.
#[derive(Clone, Debug, FromRow)]
pub struct Left {
    pub id: String,
    #[sqlx(rename = "lease_owner")]
    pub owner: Option<String>,
    pub claim: i64,
}

#[derive(FromRow)]
struct MovedRow {
    #[sqlx(flatten)]
    row: Row,
    last_sequence: i64,
}

#[derive(FromRow)]
struct ClaimedRow {
    #[sqlx(flatten)]
    row: Row,
    input: Option<Json<Value>>,
    checkpoint: Option<Json<Value>>,
    last_sequence: i64,
}

/// Jobs of one type that are due: id, priority, queueing time in ms; in the order in which they begin. `of_one`: jobs of one
/// user at once.
pub async fn candidates(
    tx: &mut Tx,
    type_key: &str,
    now: Timestamp,
    most: usize,
    of_one: Option<usize>,
) -> Result<Vec<(String, i64, i64)>, DbError> {
    if let Some(of_one) = of_one {
        return qm_db::all!(
            tx,
            (String, i64, i64),
            CANDIDATES_OF_EACH,
            type_key,
            now.ms(),
            most as i64,
            of_one as i64
        )
        .await;
    }
    qm_db::all!(
        tx,
        (String, i64, i64),
        CANDIDATES,
        type_key,
        now.ms(),
        most as i64
    )
    .await
}

/// True when any job is due.
pub async fn any_queued(tx: &mut Tx, now: Timestamp) -> Result<bool, DbError> {
    let found = qm_db::opt!(tx, (i32,), ANY_QUEUED, now.ms()).await?;
    Ok(found.is_some())
}

/// The earliest due time of the queued jobs that are not due yet.
pub async fn next_due(tx: &mut Tx, now: Timestamp) -> Result<Option<Timestamp>, DbError> {
    let due = qm_db::value!(tx, Option<i64>, NEXT_DUE, now.ms()).await?;
    Ok(due.map(Timestamp::from_ms))
}

/// Types of the jobs that have been queued since `before` or longer.
pub async fn queued_types(tx: &mut Tx, before: Timestamp) -> Result<Vec<String>, DbError> {
    let types = qm_db::all!(tx, (String,), QUEUED_TYPES, before.ms()).await?;
    Ok(types.into_iter().map(|(type_key,)| type_key).collect())
}

/// Ids of some jobs of one type that have been queued since `before` or longer.
pub async fn queued_of(
    tx: &mut Tx,
    type_key: &str,
    before: Timestamp,
    most: i64,
) -> Result<Vec<String>, DbError> {
    let ids = qm_db::all!(tx, (String,), QUEUED_OF, type_key, before.ms(), most).await?;
    Ok(ids.into_iter().map(|(id,)| id).collect())
}

/// Takes a queued job; `None` when another worker was faster.
pub async fn claim(
    tx: &mut Tx,
    id: &str,
    by: &Claimant<'_>,
    now: Timestamp,
) -> Result<Option<Claimed>, JobsError> {
    legal(Status::Queued, Status::Running)?;
    let row = qm_db::opt!(
        tx,
        ClaimedRow,
        CLAIM,
        id,
        by.owner,
        by.until.ms(),
        by.worker_id,
        now.ms()
    )
    .await?;
    let Some(row) = row else { return Ok(None) };
    let job = row.row.job()?;
    Ok(Some(Claimed {
        lease: by.lease(&job.id, job.claim),
        job,
        input: row.input.map(|json| json.0),
        checkpoint: row.checkpoint.map(|json| json.0),
        sequence: row.last_sequence,
    }))
}

/// Takes a queued job only to end it: the lease, and the number of the `started` event.
pub async fn take(
    tx: &mut Tx,
    id: &str,
    by: &Claimant<'_>,
    now: Timestamp,
) -> Result<Option<(Lease, i64)>, JobsError> {
    legal(Status::Queued, Status::Running)?;
    let taken = qm_db::opt!(
        tx,
        (i64, i64),
        TAKE,
        id,
        by.owner,
        by.until.ms(),
        by.worker_id,
        now.ms()
    )
    .await?;
    Ok(taken.map(|(claim, sequence)| (by.lease(id, claim), sequence)))
}

/// A move to another state with the columns that change with it. `None` leaves a column as it is.
pub struct Step<'a> {
    pub id: &'a str,
    pub from: Status,
    pub to: Status,
    /// Required lease, where only the worker that holds the job may move it.
    pub by: Option<&'a Lease>,
    /// Number of events stored with the move.
    pub events: i64,
    /// Error code and error sentence.
    pub error: Option<(&'a str, &'a str)>,
    pub result: Option<&'a Value>,
    pub metrics: Option<&'a Value>,
    pub attempt: Option<i64>,
    /// Earliest begin of a job that is queued again.
    pub run_after: Option<Timestamp>,
}

impl<'a> Step<'a> {
    pub fn new(id: &'a str, from: Status, to: Status) -> Self {
        Self {
            id,
            from,
            to,
            by: None,
            events: 1,
            error: None,
            result: None,
            metrics: None,
            attempt: None,
            run_after: None,
        }
    }
}

/// Moves a job: the number of its latest event, or `None` when its state is not `from` any more, or the lease
/// `by` is lost.
pub async fn step(tx: &mut Tx, step: &Step<'_>, now: Timestamp) -> Result<Option<i64>, JobsError> {
    legal(step.from, step.to)?;
    let moved = qm_db::opt!(
        tx,
        (i64,),
        STEP,
        step.id,
        step.from.as_str(),
        step.to.as_str(),
        now.ms(),
        step.events,
        step.error.map(|(code, _)| code),
        step.error.map(|(_, message)| message),
        step.result.map(Json),
        step.metrics.map(Json),
        step.attempt,
        step.run_after.map(Timestamp::ms),
        step.by.map(|lease| lease.owner.as_str()),
        step.by.map_or(0, |lease| lease.claim)
    )
    .await?;
    Ok(moved.map(|(sequence,)| sequence))
}

fn legal(from: Status, to: Status) -> Result<(), JobsError> {
    if from.may_become(to) {
        Ok(())
    } else {
        Err(JobsError::IllegalMove { from, to })
    }
}

/// The job, while the lease is valid.
pub async fn held(tx: &mut Tx, lease: &Lease) -> Result<Option<Job>, JobsError> {
    let row = qm_db::opt!(tx, Row, HELD, &lease.job_id, &lease.owner, lease.claim).await?;
    row.map(Row::job).transpose()
}

/// The held jobs of a module, the oldest first.
pub async fn held_of_module(tx: &mut Tx, module: &str, most: i64) -> Result<Vec<Job>, JobsError> {
    let rows = qm_db::all!(tx, Row, HELD_OF_MODULE, module, most).await?;
    rows.into_iter().map(Row::job).collect()
}

/// Prolongs the leases of `owner` on these jobs: id, claim and status of each. A job that it holds without
/// knowing, because the answer to its claim got lost, is left out: that lease shall expire.
pub async fn renew(
    tx: &mut Tx,
    owner: &str,
    ids: impl Iterator<Item = &str>,
    until: Timestamp,
) -> Result<Vec<(String, i64, String)>, DbError> {
    let mut list = String::new();
    for id in ids {
        list.push(',');
        list.push_str(id);
        list.push(',');
    }
    qm_db::all!(tx, (String, i64, String), RENEW, owner, until.ms(), &list).await
}

/// Held jobs whose lease ended before `before`.
pub async fn expired(tx: &mut Tx, before: Timestamp, most: i64) -> Result<Vec<Left>, DbError> {
    qm_db::all!(tx, Left, EXPIRED, before.ms(), most).await
}

/// Takes a job away from a worker whose lease ended before `before`: the new lease and the state of the job.
pub async fn take_over(
    tx: &mut Tx,
    left: &Left,
    by: &Claimant<'_>,
    before: Timestamp,
) -> Result<Option<(Lease, Status)>, JobsError> {
    let taken = qm_db::opt!(
        tx,
        (i64, String),
        TAKE_OVER,
        &left.id,
        left.owner.as_deref(),
        left.claim,
        by.owner,
        by.until.ms(),
        before.ms()
    )
    .await?;
    let Some((claim, word)) = taken else {
        return Ok(None);
    };
    let status = status_of(&left.id, &word)?;
    Ok(Some((by.lease(&left.id, claim), status)))
}

/// Progress values of a job. `None` leaves a value as it was.
#[derive(Clone, Debug, Default)]
pub struct ProgressUpdate<'a> {
    pub percent: Option<i64>,
    pub current: Option<i64>,
    pub total: Option<i64>,
    pub unit: Option<&'a str>,
    pub phase: Option<&'a str>,
    pub message_key: Option<&'a str>,
    pub message_params: Option<&'a Value>,
}

/// Stores the progress: the updated job and the number of the `progress` event, or `None` when the lease is
/// lost.
pub async fn progress(
    tx: &mut Tx,
    lease: &Lease,
    told: &ProgressUpdate<'_>,
    now: Timestamp,
) -> Result<Option<(Job, i64)>, JobsError> {
    let moved = qm_db::opt!(
        tx,
        MovedRow,
        PROGRESS,
        &lease.job_id,
        &lease.owner,
        lease.claim,
        now.ms(),
        told.percent,
        told.current,
        told.total,
        told.unit,
        told.phase,
        told.message_key,
        told.message_params.map(Json)
    )
    .await?;
    let Some(moved) = moved else { return Ok(None) };
    Ok(Some((moved.row.job()?, moved.last_sequence)))
}

/// Counts an event of the handler and replaces the stored warnings; `None` when the lease is lost.
pub async fn note(
    tx: &mut Tx,
    lease: &Lease,
    warnings: Option<&Value>,
    now: Timestamp,
) -> Result<Option<i64>, DbError> {
    let noted = qm_db::opt!(
        tx,
        (i64,),
        NOTE,
        &lease.job_id,
        &lease.owner,
        lease.claim,
        now.ms(),
        warnings.map(Json)
    )
    .await?;
    Ok(noted.map(|(sequence,)| sequence))
}

/// Stores a heartbeat and optionally a checkpoint; `false` when the lease is lost.
pub async fn beat(
    tx: &mut Tx,
    lease: &Lease,
    checkpoint: Option<&Value>,
    now: Timestamp,
) -> Result<bool, DbError> {
    let beaten = qm_db::exec!(
        tx,
        BEAT,
        &lease.job_id,
        &lease.owner,
        lease.claim,
        now.ms(),
        checkpoint.map(Json)
    )
    .await?;
    Ok(beaten.rows() == 1)
}

/// Running jobs without a heartbeat since `before` that were not reported yet: id and time of the last
/// heartbeat in ms.
pub async fn stalled(tx: &mut Tx, before: Timestamp, most: i64) -> Result<Vec<(String, i64)>, DbError> {
    qm_db::all!(tx, (String, i64), STALLED, before.ms(), most).await
}

/// Marks a job as reported stalled; the number of the event, or `None` when it is not stalled any more.
pub async fn tell_stalled(
    tx: &mut Tx,
    id: &str,
    now: Timestamp,
    before: Timestamp,
) -> Result<Option<i64>, DbError> {
    let told = qm_db::opt!(tx, (i64,), TELL_STALLED, id, now.ms(), before.ms()).await?;
    Ok(told.map(|(sequence,)| sequence))
}
