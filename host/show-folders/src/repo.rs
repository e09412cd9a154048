//! Tables `media_show_merges` and `media_show_merge_steps`.

use qm_db::{DbError, FromRow, Json, Tx, sql};
use qm_kernel::Timestamp;

use crate::model::{Plan, PlanStatus, Step, StepStatus, StoredPlan};

sql! {
    INSERT = "INSERT INTO media_show_merges (id, show_id, status, plan, freed, created_by, created_at) \
        VALUES ($1, $2, 'pending', $3, 0, $4, $5)";
    FIND = "SELECT id, status, plan, created_by, created_at FROM media_show_merges WHERE id = $1";
    RUNNING = "SELECT id, status, plan, created_by, created_at FROM media_show_merges WHERE status = 'running' \
        ORDER BY created_at, id";
    START = "UPDATE media_show_merges SET status = 'running', started_at = COALESCE(started_at, $2) WHERE id = $1 \
        AND status IN ('pending', 'interrupted')";
    END = "UPDATE media_show_merges SET status = $2, freed = $3, error = $4, ended_at = $5 WHERE id = $1 \
        AND status IN ('pending', 'running')";
    // All but the newest ones of a show that somebody has: nobody drops the plans of others.
    CROWD = "DELETE FROM media_show_merges WHERE show_id = $1 AND status = 'pending' AND created_by = $3 AND id NOT IN \
        (SELECT id FROM media_show_merges WHERE show_id = $1 AND status = 'pending' AND created_by = $3 \
        ORDER BY created_at DESC, id DESC LIMIT $2)";
    EXPIRED = "DELETE FROM media_show_merges WHERE id IN (SELECT id FROM media_show_merges \
        WHERE (status = 'pending' AND created_at < $1) OR (status NOT IN ('pending', 'running') AND created_at < $2) \
        ORDER BY created_at LIMIT 500)";
    ADD_STEP = "INSERT INTO media_show_merge_steps (id, merge_id, position, action, status, path, target, freed, message, \
        created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10)";
    END_STEP = "UPDATE media_show_merge_steps SET status = $2, trash_id = $3, message = $4, updated_at = $5 WHERE id = $1";
    // A step that was not begun is taken again.
    DROP_STEP = "DELETE FROM media_show_merge_steps WHERE id = $1";
    STEPS = "SELECT id, position, status, freed FROM media_show_merge_steps WHERE merge_id = $1 ORDER BY position";
}

#[derive(FromRow)]
struct Row {
    id: String,
    status: String,
    plan: Json<Plan>,
    created_by: Option<String>,
    created_at: i64,
}

impl From<Row> for StoredPlan {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            status: PlanStatus::from_word(&row.status),
            plan: row.plan.0,
            created_by: row.created_by,
            created_at: Timestamp::from_ms(row.created_at),
        }
    }
}

#[derive(FromRow)]
struct StepRow {
    id: String,
    position: i64,
    status: String,
    freed: i64,
}

/// A row of the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Noted {
    pub id: String,
    /// Position in the plan.
    pub position: usize,
    pub status: StepStatus,
    /// Bytes of a folder that are free when it is gone.
    pub freed: u64,
}

/// A new row of the journal.
pub struct NewStep<'a> {
    pub id: &'a str,
    pub plan_id: &'a str,
    pub position: usize,
    pub step: &'a Step,
    pub status: StepStatus,
    pub freed: u64,
    pub message: Option<&'a str>,
}

/// A text that PostgreSQL can hold.
fn clean(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

fn to_stored(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// Stores a plan, and drops the oldest ones of its show and its user that wait, so that `most` of them are left.
pub async fn insert(tx: &mut Tx, plan: &StoredPlan, most: i64) -> Result<(), DbError> {
    let show = &plan.plan.canonical.id;
    qm_db::exec!(
        tx,
        INSERT,
        &plan.id,
        show,
        Json(&plan.plan),
        plan.created_by.as_deref(),
        plan.created_at.ms()
    )
    .await?
    .exactly(1)?;
    let _ = qm_db::exec!(tx, CROWD, show, most, plan.created_by.as_deref()).await?;
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

/// Begins a plan that waits or was cut off; false if somebody was quicker.
pub async fn start(tx: &mut Tx, id: &str, now: Timestamp) -> Result<bool, DbError> {
    Ok(qm_db::exec!(tx, START, id, now.ms()).await?.rows() == 1)
}

/// Ends a plan, for good or until it is asked for again.
pub async fn end(
    tx: &mut Tx,
    id: &str,
    status: PlanStatus,
    freed: u64,
    error: Option<&str>,
    now: Timestamp,
) -> Result<(), DbError> {
    let freed = to_stored(freed);
    qm_db::exec!(tx, END, id, status.as_str(), freed, error.map(clean), now.ms())
        .await?
        .exactly(1)
}

/// Deletes some plans that are older than the two times: that of plans which wait, and that of others. Returns their number.
pub async fn delete_older(tx: &mut Tx, waiting: Timestamp, ended: Timestamp) -> Result<u64, DbError> {
    Ok(qm_db::exec!(tx, EXPIRED, waiting.ms(), ended.ms()).await?.rows())
}

/// Adds a row to the journal.
pub async fn add_step(tx: &mut Tx, new: &NewStep<'_>, now: Timestamp) -> Result<(), DbError> {
    qm_db::exec!(
        tx,
        ADD_STEP,
        new.id,
        new.plan_id,
        new.position as i64,
        new.step.action.as_str(),
        new.status.as_str(),
        clean(&new.step.from),
        new.step.to.as_deref().map(clean),
        to_stored(new.freed),
        new.message.map(clean),
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

/// Takes a step out of the journal that a crash kept from being done.
pub async fn drop_step(tx: &mut Tx, id: &str) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, DROP_STEP, id).await?;
    Ok(())
}

/// Journal of a plan.
pub async fn steps(tx: &mut Tx, plan_id: &str) -> Result<Vec<Noted>, DbError> {
    let rows = qm_db::all!(tx, StepRow, STEPS, plan_id).await?;
    let noted = rows.into_iter().map(|row| Noted {
        id: row.id,
        position: usize::try_from(row.position).unwrap_or(usize::MAX),
        status: StepStatus::from_word(&row.status),
        freed: u64::try_from(row.freed).unwrap_or(0),
    });
    Ok(noted.collect())
}

#[cfg(test)]
mod tests {
    use qm_db::{Db, db_test};

    use super::*;

    db_test! {
        async fn nobody_drops_the_waiting_plans_of_others(db: Db) {
            let mut tx = db.begin_write().await.unwrap();
            for (at, (id, user)) in [("1", "a"), ("2", "b"), ("3", "b"), ("4", "b")].into_iter().enumerate() {
                let plan = StoredPlan {
                    id: id.to_owned(),
                    status: PlanStatus::Pending,
                    plan: Plan::default(),
                    created_by: Some(user.to_owned()),
                    created_at: Timestamp::from_ms(at as i64),
                };
                insert(&mut tx, &plan, 2).await.unwrap();
            }
            for (id, is_there) in [("1", true), ("2", false), ("3", true), ("4", true)] {
                assert_eq!(find(&mut tx, id).await.unwrap().is_some(), is_there, "{id}");
            }
        }
    }
}
