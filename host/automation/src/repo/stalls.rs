//! Table `automation_stalls`: the stall of a torrent for which a rule ran last.

use qm_db::{DbError, Tx, sql};
use qm_ports::action::TorrentRef;

sql! {
    /// Changes nothing when the rule ran for that stall.
    PUT = "INSERT INTO automation_stalls (rule_id, engine_id, hash, since) \
        SELECT r.id, CAST($2 AS TEXT), CAST($3 AS TEXT), CAST($4 AS TEXT) FROM automation_rules r WHERE r.id = $1 \
        ON CONFLICT (rule_id, engine_id, hash) DO UPDATE SET since = excluded.since \
        WHERE automation_stalls.since <> excluded.since";
    FORGET = "DELETE FROM automation_stalls WHERE engine_id = $1 AND hash = $2";
}

/// Notes that a rule runs for a stall; `false`: it did before, or there is no such rule.
pub async fn put(tx: &mut Tx, rule_id: &str, torrent: &TorrentRef, since: &str) -> Result<bool, DbError> {
    let TorrentRef { engine_id, hash } = torrent;
    let put = qm_db::exec!(tx, PUT, rule_id, engine_id, hash, since).await?;
    Ok(put.rows() == 1)
}

/// Deletes the rows of a torrent that was added again.
pub async fn forget(tx: &mut Tx, engine_id: &str, hash: &str) -> Result<(), DbError> {
    qm_db::exec!(tx, FORGET, engine_id, hash).await.map(drop)
}
