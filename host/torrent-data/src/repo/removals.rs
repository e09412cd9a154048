//! Table `torrent_removals`: the removals with data that are under way, or were when a process ended.

use qm_db::{Affected, DbError, FromRow, Tx, sql};
use qm_kernel::Timestamp;

sql! {
    LIST = "SELECT id, engine_id, hash, name, seen, user_id, owner FROM torrent_removals WHERE owner <> $1 \
        ORDER BY begun_at, id LIMIT 500";
    INSERT = "INSERT INTO torrent_removals (id, engine_id, hash, name, seen, user_id, owner, begun_at) \
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
    CLAIM = "UPDATE torrent_removals SET owner = $2 WHERE id = $1 AND owner = $3";
    REMOVE = "DELETE FROM torrent_removals WHERE id = $1 AND owner = $2";
}

/// A removal of a torrent with its data.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct RemovalRow {
    pub id: String,
    pub engine_id: String,
    pub hash: String,
    pub name: String,
    /// JSON: what was seen of its files before.
    pub seen: String,
    /// Person who asked for it; empty when nobody did.
    pub user_id: String,
    pub owner: String,
}

/// The removals that others than `owner` left, the oldest first; a few hundred at most.
pub async fn left_behind(tx: &mut Tx, owner: &str) -> Result<Vec<RemovalRow>, DbError> {
    qm_db::all!(tx, RemovalRow, LIST, owner).await
}

pub async fn insert(tx: &mut Tx, row: &RemovalRow, now: Timestamp) -> Result<(), DbError> {
    qm_db::exec!(
        tx,
        INSERT,
        &row.id,
        &row.engine_id,
        &row.hash,
        &row.name,
        &row.seen,
        &row.user_id,
        &row.owner,
        now.ms()
    )
    .await?
    .exactly(1)
}

/// Takes a removal over from `before`. No row: somebody else did, or it is over.
pub async fn claim(tx: &mut Tx, id: &str, owner: &str, before: &str) -> Result<Affected, DbError> {
    qm_db::exec!(tx, CLAIM, id, owner, before).await
}

/// Ends a removal of `owner`.
pub async fn remove(tx: &mut Tx, id: &str, owner: &str) -> Result<Affected, DbError> {
    qm_db::exec!(tx, REMOVE, id, owner).await
}
