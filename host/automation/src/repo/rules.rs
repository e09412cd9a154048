//! Table `automation_rules`.

use qm_db::{DbError, FromRow, Tx, sql};
use qm_kernel::Timestamp;
use serde_json::Value;

use crate::model::rule::Rule;

sql! {
    LIST = "SELECT id, name, description, trigger_key, conditions, actions, is_enabled, priority, author_id, created_at, updated_at, \
            schedule, scheduled_from, stalled_hours \
        FROM automation_rules ORDER BY priority DESC, created_at, id";
    FIND = "SELECT id, name, description, trigger_key, conditions, actions, is_enabled, priority, author_id, created_at, updated_at, \
            schedule, scheduled_from, stalled_hours \
        FROM automation_rules WHERE id = $1";
    COUNT = "SELECT COUNT(*) FROM automation_rules";
    INSERT = "INSERT INTO automation_rules (id, name, description, trigger_key, conditions, actions, is_enabled, priority, \
        created_at, updated_at, author_id, schedule, scheduled_from, stalled_hours) \
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)";
    UPDATE = "UPDATE automation_rules SET name = $2, description = $3, trigger_key = $4, conditions = $5, actions = $6, \
        is_enabled = $7, priority = $8, updated_at = $9, author_id = $10, schedule = $11, stalled_hours = $12 WHERE id = $1";
    /// Apart from other changes, which must not undo that the rule ran meanwhile.
    RESTART = "UPDATE automation_rules SET scheduled_from = $2, schedule_cursor = NULL WHERE id = $1";
    SCHEDULED = "SELECT id, scheduled_from, schedule_cursor, updated_at FROM automation_rules \
        WHERE is_enabled AND trigger_key = 'schedule' AND schedule IS NOT NULL AND scheduled_from IS NOT NULL \
        ORDER BY priority DESC, created_at, id";
    /// Changes nothing when the rule was changed since it was read.
    ADVANCE = "UPDATE automation_rules SET scheduled_from = $3, schedule_cursor = $4 WHERE id = $1 AND scheduled_from = $2 \
        AND updated_at = $5 AND is_enabled";
    DELETE = "DELETE FROM automation_rules WHERE id = $1";
}

#[derive(FromRow)]
struct Row {
    id: String,
    name: String,
    description: Option<String>,
    trigger_key: String,
    conditions: String,
    actions: String,
    is_enabled: bool,
    priority: i64,
    author_id: Option<String>,
    created_at: i64,
    updated_at: i64,
    schedule: Option<String>,
    scheduled_from: Option<i64>,
    stalled_hours: Option<i64>,
}

impl From<Row> for Rule {
    fn from(row: Row) -> Self {
        Self {
            conditions: list(&row.conditions),
            actions: list(&row.actions),
            id: row.id,
            name: row.name,
            description: row.description,
            trigger: row.trigger_key,
            is_enabled: row.is_enabled,
            priority: row.priority,
            author: row.author_id,
            schedule: row.schedule,
            scheduled_from: row.scheduled_from.map(Timestamp::from_ms),
            stalled_hours: row.stalled_hours.and_then(|hours| hours.try_into().ok()),
            created_at: Timestamp::from_ms(row.created_at),
            updated_at: Timestamp::from_ms(row.updated_at),
        }
    }
}

/// Damaged JSON becomes a list with one item that never matches and never runs.
fn list(text: &str) -> Vec<Value> {
    serde_json::from_str(text).unwrap_or_else(|_| vec![Value::Null])
}

fn text(list: &[Value]) -> String {
    Value::from(list.to_vec()).to_string()
}

/// Every rule, in order of execution.
pub async fn all(tx: &mut Tx) -> Result<Vec<Rule>, DbError> {
    Ok(qm_db::all!(tx, Row, LIST)
        .await?
        .into_iter()
        .map(Rule::from)
        .collect())
}

pub async fn find(tx: &mut Tx, id: &str) -> Result<Option<Rule>, DbError> {
    Ok(qm_db::opt!(tx, Row, FIND, id).await?.map(Rule::from))
}

pub async fn count(tx: &mut Tx) -> Result<u64, DbError> {
    Ok(qm_db::value!(tx, i64, COUNT).await?.unsigned_abs())
}

pub async fn insert(tx: &mut Tx, rule: &Rule) -> Result<(), DbError> {
    qm_db::exec!(
        tx,
        INSERT,
        &rule.id,
        &rule.name,
        rule.description.as_deref(),
        &rule.trigger,
        text(&rule.conditions),
        text(&rule.actions),
        rule.is_enabled,
        rule.priority,
        rule.created_at.ms(),
        rule.updated_at.ms(),
        rule.author.as_deref(),
        rule.schedule.as_deref(),
        rule.scheduled_from.map(Timestamp::ms),
        rule.stalled_hours.map(i64::from),
    )
    .await?
    .exactly(1)
}

pub async fn update(tx: &mut Tx, rule: &Rule) -> Result<(), DbError> {
    qm_db::exec!(
        tx,
        UPDATE,
        &rule.id,
        &rule.name,
        rule.description.as_deref(),
        &rule.trigger,
        text(&rule.conditions),
        text(&rule.actions),
        rule.is_enabled,
        rule.priority,
        rule.updated_at.ms(),
        rule.author.as_deref(),
        rule.schedule.as_deref(),
        rule.stalled_hours.map(i64::from),
    )
    .await?
    .exactly(1)
}

/// Counts a rule's due times from then on.
pub async fn restart(tx: &mut Tx, id: &str, from: Timestamp) -> Result<(), DbError> {
    qm_db::exec!(tx, RESTART, id, from.ms()).await?.exactly(1)
}

/// Progress of a rule through its due times.
#[derive(Clone, Debug, FromRow, PartialEq, Eq)]
pub struct Progress {
    pub id: String,
    /// Unix milliseconds; the due time is the first after it.
    pub scheduled_from: i64,
    /// Engine and hash of the torrent that was decided last at the present due time.
    pub schedule_cursor: Option<String>,
    /// Version of the rule.
    pub updated_at: i64,
}

/// Progress of all enabled rules with a time table, in order of execution.
pub async fn scheduled(tx: &mut Tx) -> Result<Vec<Progress>, DbError> {
    qm_db::all!(tx, Progress, SCHEDULED).await
}

/// Stores progress; `false` when the rule was changed since `before` was read.
pub async fn advance(
    tx: &mut Tx,
    before: &Progress,
    from: Timestamp,
    cursor: Option<&str>,
) -> Result<bool, DbError> {
    let (id, was) = (&before.id, before.scheduled_from);
    let stored = qm_db::exec!(tx, ADVANCE, id, was, from.ms(), cursor, before.updated_at).await?;
    Ok(stored.rows() == 1)
}

/// Deletes a rule, with its runs, its log and its ledger.
pub async fn delete(tx: &mut Tx, id: &str) -> Result<(), DbError> {
    qm_db::exec!(tx, DELETE, id).await?.exactly(1)
}
