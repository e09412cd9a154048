//! Table `automation_ledger`: the torrents that rules are done with.

use qm_db::{DbError, Tx, sql};

sql! {
    /// Of the rules that passes over the torrents ask for.
    OF_TRIGGER = "SELECT l.rule_id, l.hash FROM automation_ledger l JOIN automation_rules r ON r.id = l.rule_id \
        WHERE r.is_enabled AND r.trigger_key = $1";
    HAS = "SELECT position FROM automation_ledger WHERE rule_id = $1 AND hash = $2";
    PUT = "INSERT INTO automation_ledger (rule_id, hash, position) VALUES ($1, $2, $3) \
        ON CONFLICT (rule_id, hash) DO UPDATE SET position = excluded.position";
}

/// Rule and hash, of every enabled rule of a trigger.
pub async fn of_trigger(tx: &mut Tx, trigger: &str) -> Result<Vec<(String, String)>, DbError> {
    qm_db::all!(tx, (String, String), OF_TRIGGER, trigger).await
}

pub async fn has(tx: &mut Tx, rule_id: &str, hash: &str) -> Result<bool, DbError> {
    Ok(qm_db::opt!(tx, (i64,), HAS, rule_id, hash).await?.is_some())
}

pub async fn put(tx: &mut Tx, rule_id: &str, hash: &str, position: i64) -> Result<(), DbError> {
    qm_db::exec!(tx, PUT, rule_id, hash, position).await?.exactly(1)
}
