//! Films that share an id though they lie in folders of their own.

use qm_db::{DbError, FromRow, Tx, sql};

sql! {
    HELD = "SELECT i.id, i.library_id, i.place, i.locked, e.provider, e.external_id FROM media_libraries l \
        JOIN media_items i ON i.library_id = l.id JOIN media_external_ids e ON e.item_id = i.id WHERE l.kind = 'movie' \
        AND EXISTS (SELECT 1 FROM media_external_ids o JOIN media_items j ON j.id = o.item_id \
        JOIN media_libraries m ON m.id = j.library_id WHERE o.provider = e.provider AND o.external_id = e.external_id \
        AND m.kind = 'movie' AND j.directory_id <> i.directory_id) ORDER BY i.library_id, i.place, e.provider";
    CLEAR = "DELETE FROM media_external_ids WHERE item_id = $1";
    TOUCH = "UPDATE media_items SET updated_at = $2 WHERE id = $1 AND NOT locked";
}

/// An id that items of several directories of libraries of films hold, with one of them.
#[derive(Clone, Debug, FromRow)]
pub struct HeldId {
    pub id: String,
    pub library_id: String,
    pub place: String,
    pub locked: bool,
    pub provider: String,
    pub external_id: String,
}

/// All such ids, in the order of the items' places.
pub async fn held(tx: &mut Tx) -> Result<Vec<HeldId>, DbError> {
    qm_db::all!(tx, HeldId, HELD).await
}

/// Deletes the outside ids of an item; `false`: it is gone, or locked by now.
pub async fn clear(tx: &mut Tx, item: &str, now: qm_kernel::Timestamp) -> Result<bool, DbError> {
    if qm_db::exec!(tx, TOUCH, item, now.ms()).await?.rows() == 0 {
        return Ok(false);
    }
    let _ = qm_db::exec!(tx, CLEAR, item).await?;
    Ok(true)
}
