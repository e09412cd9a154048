//! Tables `media_duplicate_plans` and `media_duplicate_steps`.

use qm_db::{DbError, FromRow, Json, Tx, sql};
use qm_kernel::Timestamp;

use super::clean;
use crate::model::{Action, Plan, PlanStatus, Removed, StepStatus, StoredPlan};

sql! {
    INSERT = "INSERT INTO media_duplicate_plans (id, scope, group_id, group_version, status, plan, expected_savings, \
        actual_savings, created_by, created_at) VALUES ($1, $2, $3, $4, 'pending', $5, $6, 0, $7, $8)";
    FIND = "SELECT id, group_id, group_version, status, plan, created_by, created_at FROM media_duplicate_plans WHERE id = $1";
    RUNNING = "SELECT id, group_id, group_version, status, plan, created_by, created_at FROM media_duplicate_plans \
        WHERE status = 'running' ORDER BY created_at, id";
    START = "UPDATE media_duplicate_plans SET status = 'running', started_at = $2 WHERE id = $1 AND status = 'pending'";
    END = "UPDATE media_duplicate_plans SET status = $2, actual_savings = $3, error = $4, ended_at = $5 WHERE id = $1 \
        AND status IN ('pending', 'running')";
    // All but the newest ones of a group.
    CROWD = "DELETE FROM media_duplicate_plans WHERE group_id = $1 AND status = 'pending' AND id NOT IN \
        (SELECT id FROM media_duplicate_plans WHERE group_id = $1 AND status = 'pending' \
        ORDER BY created_at DESC, id DESC LIMIT $2)";
    EXPIRED = "DELETE FROM media_duplicate_plans WHERE id IN (SELECT id FROM media_duplicate_plans \
        WHERE (status = 'pending' AND created_at < $1) \
        OR (status IN ('completed', 'partial', 'failed') AND created_at < $2) ORDER BY created_at LIMIT 500)";
    ADD_STEP = "INSERT INTO media_duplicate_steps (id, plan_id, position, action, status, item_id, path, message, created_at, \
        updated_at) VALUES ($1, $2, $3, 'trash', $4, $5, $6, $7, $8, $8)";
    END_STEP = "UPDATE media_duplicate_steps SET status = $2, trash_id = $3, message = $4, updated_at = $5 WHERE id = $1";
    STEPS = "SELECT id, position, status FROM media_duplicate_steps WHERE plan_id = $1 ORDER BY position";
    REMOVED = "SELECT id, plan_id, path, trash_id, updated_at FROM media_duplicate_steps \
        WHERE status = 'completed' AND trash_id IS NOT NULL ORDER BY updated_at DESC, id DESC LIMIT $1";
}

#[derive(FromRow)]
struct Row {
    id: String,
    group_id: String,
    group_version: i64,
    status: String,
    plan: Json<Plan>,
    created_by: Option<String>,
    created_at: i64,
}

impl From<Row> for StoredPlan {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            group_id: row.group_id,
            group_version: row.group_version,
            status: PlanStatus::from_word(&row.status),
            plan: row.plan.0,
            created_by: row.created_by,
            created_at: Timestamp::from_ms(row.created_at),
        }
    }
}

#[derive(FromRow)]
struct RemovedRow {
    id: String,
    plan_id: String,
    path: String,
    trash_id: String,
    updated_at: i64,
}

/// A row of the journal.
#[derive(Clone, Debug, FromRow)]
pub struct Step {
    pub id: String,
    pub position: i64,
    pub status: String,
}

/// Stores a plan, and drops the oldest ones of its group that wait, so that `most` of them are left.
pub async fn insert(tx: &mut Tx, plan: &StoredPlan, most: i64) -> Result<(), DbError> {
    let savings = i64::try_from(plan.plan.expected_savings).unwrap_or(i64::MAX);
    qm_db::exec!(
        tx,
        INSERT,
        &plan.id,
        plan.plan.scope.as_str(),
        &plan.group_id,
        plan.group_version,
        Json(&plan.plan),
        savings,
        plan.created_by.as_deref(),
        plan.created_at.ms()
    )
    .await?
    .exactly(1)?;
    let _ = qm_db::exec!(tx, CROWD, &plan.group_id, most).await?;
    Ok(())
}

pub async fn find(tx: &mut Tx, id: &str) -> Result<Option<StoredPlan>, DbError> {
    // PostgreSQL takes no NUL, and no id has one.
    if id.contains('\0') {
        return Ok(None);
    }
    Ok(qm_db::opt!(tx, Row, FIND, id).await?.map(StoredPlan::from))
}

/// Plans that are being carried out, or that a crash cut off.
pub async fn running(tx: &mut Tx) -> Result<Vec<StoredPlan>, DbError> {
    let rows = qm_db::all!(tx, Row, RUNNING).await?;
    Ok(rows.into_iter().map(StoredPlan::from).collect())
}

/// Begins a plan that waits; false if somebody was quicker.
pub async fn start(tx: &mut Tx, id: &str, now: Timestamp) -> Result<bool, DbError> {
    Ok(qm_db::exec!(tx, START, id, now.ms()).await?.rows() == 1)
}

/// Ends a plan.
pub async fn end(
    tx: &mut Tx,
    id: &str,
    status: PlanStatus,
    freed: u64,
    error: Option<&str>,
    now: Timestamp,
) -> Result<(), DbError> {
    let freed = i64::try_from(freed).unwrap_or(i64::MAX);
    qm_db::exec!(tx, END, id, status.as_str(), freed, error.map(clean), now.ms())
        .await?
        .exactly(1)
}

/// Deletes some plans that are older than the two times: that of plans which wait, and that of plans which ended. Returns
/// their number.
pub async fn delete_older(tx: &mut Tx, waiting: Timestamp, ended: Timestamp) -> Result<u64, DbError> {
    Ok(qm_db::exec!(tx, EXPIRED, waiting.ms(), ended.ms()).await?.rows())
}

/// Adds a row to the journal.
pub async fn add_step(
    tx: &mut Tx,
    (id, plan_id, position): (&str, &str, i64),
    action: &Action,
    (status, message): (StepStatus, Option<&str>),
    now: Timestamp,
) -> Result<(), DbError> {
    qm_db::exec!(
        tx,
        ADD_STEP,
        id,
        plan_id,
        position,
        status.as_str(),
        &action.item_id,
        clean(&action.path),
        message.map(clean),
        now.ms()
    )
    .await?
    .exactly(1)
}

/// Ends a step of the journal.
pub async fn end_step(
    tx: &mut Tx,
    id: &str,
    status: StepStatus,
    trash_id: Option<&str>,
    message: Option<&str>,
    now: Timestamp,
) -> Result<(), DbError> {
    qm_db::exec!(
        tx,
        END_STEP,
        id,
        status.as_str(),
        trash_id,
        message.map(clean),
        now.ms()
    )
    .await?
    .exactly(1)
}

/// Journal of a plan.
pub async fn steps(tx: &mut Tx, plan_id: &str) -> Result<Vec<Step>, DbError> {
    qm_db::all!(tx, Step, STEPS, plan_id).await
}

/// Files that plans put into the trash, the last one first.
pub async fn removed(tx: &mut Tx, most: i64) -> Result<Vec<Removed>, DbError> {
    let rows = qm_db::all!(tx, RemovedRow, REMOVED, most).await?;
    let removed = rows.into_iter().map(|row| Removed {
        step_id: row.id,
        plan_id: row.plan_id,
        path: row.path,
        trash_id: row.trash_id,
        at: Timestamp::from_ms(row.updated_at),
    });
    Ok(removed.collect())
}
