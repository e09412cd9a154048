//! Changes of items that no service makes, for tests of the caches.

use qm_db::{DbError, Statement, Tx, sql};

sql! {
    pub TWICE = "UPDATE media_items SET duplicate_group_id = 'g' WHERE episode = 3";
    pub MATCHED = "UPDATE media_items SET match_status = 'matched', updated_at = episode WHERE episode > 4";
    pub LISTED = "UPDATE media_items SET sort_title = 'Zz', title_key = 'zz' WHERE season = 2";
    pub TOUCHED = "UPDATE media_items SET updated_at = updated_at + 1 WHERE id = $1";
    pub SAME = "UPDATE media_items SET updated_at = updated_at, title = title WHERE id = $1";
    pub SEASON = "UPDATE media_items SET season = 9 WHERE id = $1";
    pub CALLED = "UPDATE media_items SET title = 'x', title_key = 'x' WHERE id = $1";
    FORGET_KEYS = "UPDATE media_items SET same_key = NULL";
}

/// Deletes the keys that the files of an item share.
pub async fn forget_keys(tx: &mut Tx) -> Result<(), DbError> {
    change_all(tx, FORGET_KEYS).await
}

/// Changes all items that a statement is about.
pub async fn change_all(tx: &mut Tx, statement: Statement) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, statement).await?;
    Ok(())
}

/// Changes one item.
pub async fn change(tx: &mut Tx, statement: Statement, id: &str) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, statement, id).await?;
    Ok(())
}
