//! Rows of the media library that notes belong to.

use qm_db::{DbError, Tx, sql};

sql! {
    LIBRARY = "INSERT INTO media_libraries (id, name, kind, path, preset, mode, auto_organize, is_enabled, watch_enabled, \
        scan_on_startup, nfo_enabled, artwork_enabled, created_at, updated_at) \
        VALUES ('l', 'l', 'tv', '/x', 'plex', 'hardlink', FALSE, TRUE, FALSE, FALSE, TRUE, TRUE, 0, 0)";
    DIRECTORY = "INSERT INTO media_directories (id, library_id, place, mtime) VALUES ('d', 'l', '', 0)";
    ITEM = "INSERT INTO media_items (id, library_id, directory_id, place, media_type, title, title_key, letter, match_status, \
        confidence, locked, created_at, updated_at) \
        VALUES ($1, 'l', 'd', $1, 'movie', 't', 't', 'T', 'matched', 100, FALSE, 0, 0)";
    COUNT = "SELECT COUNT(*) FROM media_nfo_files";
}

/// A library without items.
pub async fn add_library(tx: &mut Tx) -> Result<(), DbError> {
    qm_db::exec!(tx, LIBRARY).await?.exactly(1)?;
    qm_db::exec!(tx, DIRECTORY).await?.exactly(1)
}

pub async fn add_item(tx: &mut Tx, id: &str) -> Result<(), DbError> {
    qm_db::exec!(tx, ITEM, id).await?.exactly(1)
}

pub async fn count(tx: &mut Tx) -> Result<i64, DbError> {
    qm_db::value!(tx, i64, COUNT).await
}
