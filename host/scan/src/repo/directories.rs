//! Table `media_directories`.

use qm_db::{DbError, FromRow, Tx, sql};

use crate::model::doubt::{Known, KnownDirectory};

sql! {
    KNOWN = "SELECT d.id, d.place, d.device, d.inode, d.mtime, d.read_at, d.moves, \
        (SELECT COUNT(*) FROM media_items i WHERE i.directory_id = d.id) \
        + (SELECT COUNT(*) FROM media_copies c WHERE c.directory_id = d.id) AS items, \
        (SELECT COUNT(*) FROM media_extras e WHERE e.directory_id = d.id) AS extras \
        FROM media_directories d WHERE d.library_id = $1";
    INSERT = "INSERT INTO media_directories (id, library_id, place, device, inode, mtime, read_at) \
        VALUES ($1, $2, $3, $4, $5, 0, NULL) ON CONFLICT DO NOTHING";
    READ = "UPDATE media_directories SET device = $2, inode = $3, mtime = $4, \
        read_at = CASE WHEN moves = $6 THEN CAST($5 AS BIGINT) ELSE NULL END WHERE id = $1";
    SAME = "SELECT COUNT(*) FROM media_directories WHERE id = $1 AND moves = $2";
    UNSURE = "UPDATE media_directories SET read_at = NULL WHERE id = $1 AND read_at IS NOT NULL";
    FORGET = "UPDATE media_directories SET device = NULL, inode = NULL, read_at = NULL WHERE library_id = $1";
    DELETE = "DELETE FROM media_directories WHERE id = $1";
}

#[derive(FromRow)]
struct Row {
    id: String,
    place: String,
    device: Option<i64>,
    inode: Option<i64>,
    mtime: i64,
    read_at: Option<i64>,
    moves: i64,
    items: i64,
    extras: i64,
}

/// All directories of a library that a scan has seen.
pub async fn known(tx: &mut Tx, library_id: &str) -> Result<Known, DbError> {
    let rows = qm_db::all!(tx, Row, KNOWN, library_id).await?;
    let known = rows.into_iter().map(|row| {
        let directory = KnownDirectory {
            id: row.id,
            device: row.device,
            inode: row.inode,
            mtime: row.mtime,
            read_at: row.read_at,
            moves: row.moves,
            items: row.items,
            extras: row.extras,
        };
        (row.place, directory)
    });
    Ok(known.collect())
}

/// Present identity and time of a directory.
#[derive(Clone, Copy, Debug)]
pub struct Stand {
    pub device: i64,
    pub inode: i64,
    pub mtime: i64,
}

/// Adds a directory whose entries are not stored yet. Returns the id of its row, if it had one already.
pub async fn insert(
    tx: &mut Tx,
    id: &str,
    library_id: &str,
    place: &str,
    stand: Stand,
) -> Result<Option<String>, DbError> {
    let added = qm_db::exec!(tx, INSERT, id, library_id, place, stand.device, stand.inode).await?;
    if added.rows() > 0 {
        return Ok(None);
    }
    qm_media::repo::bulk::directory_at(tx, library_id, place).await
}

/// Stores that all entries of a directory are stored. `read_at`: time of the reading in milliseconds, if it can be relied
/// on; it counts only if the number of moves into the directory is unchanged.
pub async fn read(
    tx: &mut Tx,
    id: &str,
    stand: Stand,
    read_at: Option<i64>,
    moves: i64,
) -> Result<(), DbError> {
    let _ = qm_db::exec!(
        tx,
        READ,
        id,
        stand.device,
        stand.inode,
        stand.mtime,
        read_at,
        moves
    )
    .await?;
    Ok(())
}

/// True if no item was moved into a directory since its count of moves was `moves`.
pub async fn is_undisturbed(tx: &mut Tx, id: &str, moves: i64) -> Result<bool, DbError> {
    Ok(qm_db::value!(tx, i64, SAME, id, moves).await? > 0)
}

/// Marks a directory so that the next scan reads it again.
pub async fn unsure(tx: &mut Tx, id: &str) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, UNSURE, id).await?;
    Ok(())
}

/// Forgets all directories of a library, whose own directory is another one now.
pub async fn forget(tx: &mut Tx, library_id: &str) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, FORGET, library_id).await?;
    Ok(())
}

pub async fn delete(tx: &mut Tx, id: &str) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, DELETE, id).await?;
    Ok(())
}
