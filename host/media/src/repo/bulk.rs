//! Queries about many items at once, and changes of their places.

use std::collections::HashMap;

use qm_db::{DbError, FromRow, Tx, bulk, sql};
use qm_kernel::Timestamp;

use qm_media_names::place;

sql! {
    EXISTS = "SELECT COUNT(*) FROM media_items WHERE id = $1";
    LOCK = "UPDATE media_items SET locked = $2, updated_at = $3 WHERE id = $1 AND locked <> $2";
    // Texts of paths that are not UTF-8 begin with a slash. PostgreSQL indexes only the beginning of a place. Each part names
    // the library, as both databases search by it.
    // Two reads by the index: with OR, SQLite would read the whole library.
    BELOW = "SELECT id, place FROM media_items WHERE library_id = $1 AND substr(place, 1, 200) >= substr($2, 1, 200) \
            AND substr(place, 1, 200) <= substr($3, 1, 200) AND place >= $2 AND place < $3 \
        UNION SELECT id, place FROM media_items WHERE library_id = $1 \
            AND substr(place, 1, 200) >= '/' AND substr(place, 1, 200) < '0' AND place >= '/' AND place < '0'";
    OF_LIBRARY = "SELECT id, place FROM media_items WHERE library_id = $1";
    WITH = "SELECT id FROM media_items WHERE place LIKE $1 ESCAPE '\\' AND id > $2 ORDER BY id LIMIT $3";
    SET_GROUP = "UPDATE media_items SET duplicate_group_id = $2 WHERE id = $1";
    DIRECTORY = "SELECT id FROM media_directories WHERE library_id = $1 \
        AND substr(place, 1, 200) = substr($2, 1, 200) AND place = $2";
    NEW_DIRECTORY = "INSERT INTO media_directories (id, library_id, place, device, inode, mtime, read_at, moves) \
        VALUES ($1, $2, $3, NULL, NULL, 0, NULL, 1)";
    DISTURBED = "UPDATE media_directories SET moves = moves + 1, read_at = NULL WHERE id = $1";
    DELETE_AT = "DELETE FROM media_items WHERE library_id = $1 AND substr(place, 1, 200) = substr($2, 1, 200) AND place = $2 \
        AND id <> $3";
    MOVE = "UPDATE media_items SET library_id = $2, directory_id = $3, place = $4, updated_at = $5, \
        same_key = NULL WHERE id = $1";
}

bulk! {
    LYING = "SELECT i.id, i.library_id, i.place, i.locked FROM (VALUES", 1,
        ") w CROSS JOIN media_items i WHERE i.id = w.column1";
}

/// Place of an item.
#[derive(FromRow)]
pub struct Lying {
    id: String,
    pub library_id: String,
    pub place: String,
    pub locked: bool,
}

/// Places of items, by their ids. Unknown ids are left out.
pub async fn lying(tx: &mut Tx, ids: &[String]) -> Result<HashMap<String, Lying>, DbError> {
    // No database keeps a NUL, and no id has one.
    let ids: Vec<&String> = ids.iter().filter(|id| !id.contains('\0')).collect();
    let rows = qm_db::each!(tx, Lying, LYING, ids, |id| *id).await?;
    Ok(rows.into_iter().map(|row| (row.id.clone(), row)).collect())
}

/// Ids behind `after` of items whose places contain a text, in their order.
pub async fn with(tx: &mut Tx, part: &str, after: &str, most: i64) -> Result<Vec<String>, DbError> {
    let rows = qm_db::all!(tx, (String,), WITH, super::part(part), after, most).await?;
    Ok(rows.into_iter().map(|(id,)| id).collect())
}

/// Stores the group of duplicates that an item is in.
pub async fn set_group(tx: &mut Tx, id: &str, group_id: Option<&str>) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, SET_GROUP, id, group_id).await?;
    Ok(())
}

pub async fn exists(tx: &mut Tx, id: &str) -> Result<bool, DbError> {
    Ok(qm_db::value!(tx, i64, EXISTS, id).await? > 0)
}

/// Locks or unlocks an item; true if that changed it.
pub async fn lock(tx: &mut Tx, id: &str, locked: bool, now: Timestamp) -> Result<bool, DbError> {
    Ok(qm_db::exec!(tx, LOCK, id, locked, now.ms()).await?.rows() > 0)
}

/// Ids and places of the items below a folder of a library; an empty folder means all. Some others may be among them.
pub async fn below(tx: &mut Tx, library_id: &str, folder: &str) -> Result<Vec<(String, String)>, DbError> {
    if folder.is_empty() {
        return qm_db::all!(tx, (String, String), OF_LIBRARY, library_id).await;
    }
    let [plain, _] = place::ranges(folder);
    qm_db::all!(tx, (String, String), BELOW, library_id, plain.0, plain.1).await
}

/// Row of a directory into which something is moved; it is made if there is none, without any known state. `new_id`: id of a
/// new row. A running scan sees by this that its picture is not complete.
pub async fn directory(
    tx: &mut Tx,
    library_id: &str,
    place: &str,
    new_id: String,
) -> Result<String, DbError> {
    if let Some(id) = directory_at(tx, library_id, place).await? {
        let _ = qm_db::exec!(tx, DISTURBED, &id).await?;
        return Ok(id);
    }
    qm_db::exec!(tx, NEW_DIRECTORY, &new_id, library_id, place)
        .await?
        .exactly(1)?;
    Ok(new_id)
}

/// Id of the row of a directory.
pub async fn directory_at(tx: &mut Tx, library_id: &str, place: &str) -> Result<Option<String>, DbError> {
    let found = qm_db::opt!(tx, (String,), DIRECTORY, library_id, place).await?;
    Ok(found.map(|(id,)| id))
}

/// Stores the new place of an item, and drops facts about the old place. Does nothing if a scan has deleted the item
/// meanwhile.
pub async fn relocate(
    tx: &mut Tx,
    id: &str,
    library_id: &str,
    directory_id: &str,
    place: &str,
    now: Timestamp,
) -> Result<(), DbError> {
    if !exists(tx, id).await? {
        return Ok(());
    }
    let _ = qm_db::exec!(tx, DELETE_AT, library_id, place, id).await?;
    let _ = qm_db::exec!(tx, MOVE, id, library_id, directory_id, place, now.ms()).await?;
    Ok(())
}
