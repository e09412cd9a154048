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
    pub PICTURED = "UPDATE media_items SET pictures = 2 WHERE season = 1";
    pub SUBTITLED = "UPDATE media_items SET subtitles = 1 WHERE episode = 2";
    pub MORE_PICTURES = "UPDATE media_items SET pictures = pictures + 1 WHERE id = $1";
    pub TRACKED = "UPDATE media_files SET tracks = '[{\"language\":\"eng\",\"forced\":true}]', track_count = 1, probed_at = 7 \
        WHERE item_id = $1";
    pub UNTRACKED = "DELETE FROM media_files WHERE item_id = $1";
    pub POSTER = "INSERT INTO media_artwork (id, item_id, type, source, selected, place, place_key, created_at) \
        VALUES ('art', $1, 'poster', 'local', TRUE, 'p', 'k', 0)";
    pub FIR_POSTER = "INSERT INTO media_artwork (id, item_id, type, source, selected, place, place_key, created_at) \
        VALUES ('fir', $1, 'poster', 'local', TRUE, 'p', 'k', 0)";
    pub SUBTITLE = "INSERT INTO media_subtitles (id, item_id, place, place_key, language, forced, sdh, by_default, created_at) \
        VALUES ('sub', $1, 's', 'k', 'en', FALSE, FALSE, FALSE, 0)";
    pub NO_POSTER = "DELETE FROM media_artwork WHERE item_id = $1";
    pub NO_SUBTITLE = "DELETE FROM media_subtitles WHERE item_id = $1";
    pub FORGET_TRACKS = "UPDATE media_files SET tracks = NULL WHERE probed_at IS NOT NULL";
    pub PROBED_ONCE = "UPDATE media_files SET probed_at = 7, probe_attempts = 1";
    pub NO_AUTHOR = "UPDATE media_libraries SET author_id = NULL";
    COUNT_TRACKED = "SELECT COUNT(*) FROM media_files WHERE tracks = '[]'";
    FORGET_KEYS = "UPDATE media_items SET same_key = NULL";
}

/// Deletes the keys that the files of an item share.
pub async fn forget_keys(tx: &mut Tx) -> Result<(), DbError> {
    change_all(tx, FORGET_KEYS).await
}

/// Number of files of which it is known that they have no tracks of subtitles.
pub async fn count_tracked(tx: &mut Tx) -> Result<i64, DbError> {
    qm_db::value!(tx, i64, COUNT_TRACKED).await
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
