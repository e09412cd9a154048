//! Table `automation_rules`.

use qm_db::{DbError, FromRow, Tx, sql};
use qm_kernel::Timestamp;
use serde_json::Value;

use crate::model::rule::Rule;

sql! {
    LIST = "SELECT id, name, description, trigger_key, conditions, actions, is_enabled, priority, author_id, created_at, updated_at \
        FROM automation_rules ORDER BY priority DESC, created_at, id";
    FIND = "SELECT id, name, description, trigger_key, conditions, actions, is_enabled, priority, author_id, created_at, updated_at \
        FROM automation_rules WHERE id = $1";
    COUNT = "SELECT COUNT(*) FROM automation_rules";
    INSERT = "INSERT INTO automation_rules (id, name, description, trigger_key, conditions, actions, is_enabled, priority, \
        created_at, updated_at, author_id) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";
    UPDATE = "UPDATE automation_rules SET name = $2, description = $3, trigger_key = $4, conditions = $5, actions = $6, \
        is_enabled = $7, priority = $8, updated_at = $9, author_id = $10 WHERE id = $1";
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
    )
    .await?
    .exactly(1)
}

/// Deletes a rule, with its runs, its log and its ledger.
pub async fn delete(tx: &mut Tx, id: &str) -> Result<(), DbError> {
    qm_db::exec!(tx, DELETE, id).await?.exactly(1)
}
