//! Table `torrent_moves`: the moves of data that are under way, or were when a process ended.

use qm_db::{Affected, DbError, FromRow, Tx, sql};
use qm_kernel::Timestamp;

sql! {
    LIST = "SELECT id, engine_id, hash, name, source, save_path, destination, ran, user_id FROM torrent_moves \
        ORDER BY begun_at, id";
    INSERT = "INSERT INTO torrent_moves (id, engine_id, hash, name, source, save_path, destination, ran, user_id, owner, \
        beat_at, begun_at, is_waiting) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11, $12) \
        ON CONFLICT (engine_id, hash) DO NOTHING";
    NOTED = "SELECT COUNT(*) FROM torrent_moves WHERE id = $1";
    BEAT = "UPDATE torrent_moves SET beat_at = $3 WHERE id = $1 AND owner = $2";
    CLAIM = "UPDATE torrent_moves SET owner = $2, beat_at = $3 WHERE id = $1 AND (owner = $2 OR beat_at < $4)";
    REST = "UPDATE torrent_moves SET is_waiting = $3 WHERE id = $1 AND owner = $2";
    REMOVE = "DELETE FROM torrent_moves WHERE id = $1 AND owner = $2";
}

/// A move of a torrent's data.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct MoveRow {
    pub id: String,
    pub engine_id: String,
    pub hash: String,
    pub name: String,
    /// Absolute: the torrent's own file or folder.
    pub source: String,
    /// Absolute: the directory it was saved into.
    pub save_path: String,
    /// Absolute: the directory it is to be saved into.
    pub destination: String,
    /// True if it ran before.
    pub ran: bool,
    /// Id of the user who asked for it; empty when a rule did.
    pub user_id: String,
}

/// Every move, the oldest first.
pub async fn list(tx: &mut Tx) -> Result<Vec<MoveRow>, DbError> {
    qm_db::all!(tx, MoveRow, LIST).await
}

pub async fn is_noted(tx: &mut Tx, id: &str) -> Result<bool, DbError> {
    Ok(qm_db::value!(tx, i64, NOTED, id).await? > 0)
}

/// No row when the torrent is being moved already.
pub async fn insert(tx: &mut Tx, row: &MoveRow, owner: &str, now: Timestamp) -> Result<Affected, DbError> {
    qm_db::exec!(
        tx,
        INSERT,
        &row.id,
        &row.engine_id,
        &row.hash,
        &row.name,
        &row.source,
        &row.save_path,
        &row.destination,
        row.ran,
        &row.user_id,
        owner,
        now.ms(),
        false
    )
    .await
}

/// Notes that `owner` works on a move. No row: somebody else does.
pub async fn beat(tx: &mut Tx, id: &str, owner: &str, now: Timestamp) -> Result<Affected, DbError> {
    qm_db::exec!(tx, BEAT, id, owner, now.ms()).await
}

/// Takes a move over whose owner has said nothing since `silent_since`. No row: it is somebody else's, or over.
pub async fn claim(
    tx: &mut Tx,
    id: &str,
    owner: &str,
    now: Timestamp,
    silent_since: Timestamp,
) -> Result<Affected, DbError> {
    qm_db::exec!(tx, CLAIM, id, owner, now.ms(), silent_since.ms()).await
}

/// Notes that nothing can be done about a move of `owner` at the moment.
pub async fn rest(tx: &mut Tx, id: &str, owner: &str) -> Result<Affected, DbError> {
    qm_db::exec!(tx, REST, id, owner, true).await
}

/// Ends a move of `owner`.
pub async fn remove(tx: &mut Tx, id: &str, owner: &str) -> Result<Affected, DbError> {
    qm_db::exec!(tx, REMOVE, id, owner).await
}
