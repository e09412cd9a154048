//! Table `rss_holds`.

use qm_db::{DbError, Tx, sql};
use qm_kernel::Timestamp;

use super::clean;

sql! {
    FIND = "SELECT priority_order, torrent_hash, is_ours FROM rss_holds WHERE rule_id = $1 AND identity = $2";
    PUT = "INSERT INTO rss_holds (rule_id, identity, priority_order, release_title, torrent_hash, is_ours, updated_at) \
        VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (rule_id, identity) DO UPDATE SET \
        priority_order = excluded.priority_order, release_title = excluded.release_title, \
        torrent_hash = excluded.torrent_hash, is_ours = excluded.is_ours, updated_at = excluded.updated_at";
    HELD = "SELECT 1 FROM rss_holds WHERE torrent_hash = $1 LIMIT 1";
    CLEAR = "DELETE FROM rss_holds WHERE torrent_hash = $1";
}

/// The torrent that a rule holds of a release.
pub struct Hold {
    pub priority_order: i64,
    pub torrent_hash: Option<String>,
    /// True when a grab added it; false when the client had it already.
    pub is_ours: bool,
}

pub async fn find(tx: &mut Tx, rule_id: &str, identity: &str) -> Result<Option<Hold>, DbError> {
    let row = qm_db::opt!(tx, (i64, Option<String>, bool), FIND, rule_id, clean(identity)).await?;
    Ok(row.map(|(priority_order, torrent_hash, is_ours)| Hold {
        priority_order,
        torrent_hash,
        is_ours,
    }))
}

/// Values of a new hold.
pub struct NewHold<'a> {
    pub rule_id: &'a str,
    pub identity: &'a str,
    pub priority_order: i64,
    pub title: &'a str,
    pub hash: &'a str,
    pub is_ours: bool,
    pub at: Timestamp,
}

pub async fn put(tx: &mut Tx, hold: &NewHold<'_>) -> Result<(), DbError> {
    qm_db::exec!(
        tx,
        PUT,
        hold.rule_id,
        clean(hold.identity),
        hold.priority_order,
        clean(hold.title),
        hold.hash,
        hold.is_ours,
        hold.at.ms()
    )
    .await?
    .exactly(1)
}

/// True when any rule holds the torrent.
pub async fn is_held(tx: &mut Tx, hash: &str) -> Result<bool, DbError> {
    Ok(qm_db::opt!(tx, (i32,), HELD, hash).await?.is_some())
}

/// Removes every hold on a torrent; returns their number.
pub async fn clear(tx: &mut Tx, hash: &str) -> Result<u64, DbError> {
    Ok(qm_db::exec!(tx, CLEAR, hash).await?.rows())
}
