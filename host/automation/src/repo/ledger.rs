//! Table `automation_ledger`: finished pairs of rule and torrent, by engine, until the torrent is added
//! again.

use qm_db::{DbError, FromRow, Tx, sql};
use qm_ports::action::TorrentRef;

sql! {
    /// Entries of all enabled rules of a trigger.
    OF_TRIGGER = "SELECT l.rule_id, l.engine_id, l.hash FROM automation_ledger l JOIN automation_rules r ON r.id = l.rule_id \
        WHERE r.is_enabled AND r.trigger_key = $1";
    HAS = "SELECT position FROM automation_ledger WHERE rule_id = $1 AND engine_id = $2 AND hash = $3";
    PUT = "INSERT INTO automation_ledger (rule_id, engine_id, hash, position) VALUES ($1, $2, $3, $4) \
        ON CONFLICT (rule_id, engine_id, hash) DO UPDATE SET position = excluded.position";
    FORGET = "DELETE FROM automation_ledger WHERE engine_id = $1 AND hash = $2 AND position < $3";
}

/// A finished pair of rule and torrent.
#[derive(FromRow)]
pub struct Done {
    pub rule_id: String,
    pub engine_id: String,
    pub hash: String,
}

/// Finished torrents of every enabled rule of a trigger.
pub async fn of_trigger(tx: &mut Tx, trigger: &str) -> Result<Vec<Done>, DbError> {
    qm_db::all!(tx, Done, OF_TRIGGER, trigger).await
}

pub async fn has(tx: &mut Tx, rule_id: &str, torrent: &TorrentRef) -> Result<bool, DbError> {
    let found = qm_db::opt!(tx, (i64,), HAS, rule_id, &torrent.engine_id, &torrent.hash).await?;
    Ok(found.is_some())
}

pub async fn put(tx: &mut Tx, rule_id: &str, torrent: &TorrentRef, position: i64) -> Result<(), DbError> {
    qm_db::exec!(tx, PUT, rule_id, &torrent.engine_id, &torrent.hash, position)
        .await?
        .exactly(1)
}

/// Deletes a torrent's entries of all rules, because it was added again at that outbox position.
pub async fn forget(tx: &mut Tx, engine_id: &str, hash: &str, position: i64) -> Result<(), DbError> {
    qm_db::exec!(tx, FORGET, engine_id, hash, position)
        .await
        .map(drop)
}
