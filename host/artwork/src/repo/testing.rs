//! Rows of the media library that pictures belong to.

use qm_db::{DbError, Tx, sql};

sql! {
    LIBRARY = "INSERT INTO media_libraries (id, name, kind, path, preset, mode, auto_organize, is_enabled, watch_enabled, \
        scan_on_startup, nfo_enabled, artwork_enabled, created_at, updated_at) \
        VALUES ('l', 'l', 'tv', $1, 'plex', 'hardlink', FALSE, TRUE, FALSE, FALSE, FALSE, TRUE, 0, 0)";
    DIRECTORY = "INSERT INTO media_directories (id, library_id, place, mtime) VALUES ('d', 'l', '', 0)";
    FOLDER = "INSERT INTO media_directories (id, library_id, place, mtime) VALUES ($1, 'l', $1, 0)";
    ITEM = "INSERT INTO media_items (id, library_id, directory_id, place, media_type, title, title_key, letter, match_status, \
        confidence, locked, created_at, updated_at) \
        VALUES ($1, 'l', 'd', $1, 'movie', 't', 't', 'T', 'matched', 100, FALSE, 0, 0)";
    SHOW = "INSERT INTO media_shows (id, library_id, place, media_type, title, canonical_key, episode_count, created_at, \
        updated_at) VALUES ($1, 'l', $1, 'tv', 't', 't', 0, 0, 0)";
    FORGET = "DELETE FROM media_items WHERE id = $1";
    SELECTED = "SELECT COUNT(*) FROM media_artwork WHERE selected AND (item_id = $1 OR show_id = $1)";
    COUNTS = "SELECT pictures, subtitles FROM media_items WHERE id = $1";
    FILES = "SELECT COUNT(*) FROM media_artwork_files";
}

/// A library at this path, without items.
pub async fn add_library(tx: &mut Tx, path: &str) -> Result<(), DbError> {
    qm_db::exec!(tx, LIBRARY, path).await?.exactly(1)?;
    qm_db::exec!(tx, DIRECTORY).await?.exactly(1)
}

pub async fn add_directory(tx: &mut Tx, id: &str) -> Result<(), DbError> {
    qm_db::exec!(tx, FOLDER, id).await?.exactly(1)
}

pub async fn add_item(tx: &mut Tx, id: &str) -> Result<(), DbError> {
    qm_db::exec!(tx, ITEM, id).await?.exactly(1)
}

pub async fn add_show(tx: &mut Tx, id: &str) -> Result<(), DbError> {
    qm_db::exec!(tx, SHOW, id).await?.exactly(1)
}

pub async fn forget_item(tx: &mut Tx, id: &str) -> Result<(), DbError> {
    qm_db::exec!(tx, FORGET, id).await?.exactly(1)
}

/// Number of selected pictures of an owner.
pub async fn count_selected(tx: &mut Tx, owner: &str) -> Result<i64, DbError> {
    qm_db::value!(tx, i64, SELECTED, owner).await
}

/// Number of noted files.
pub async fn count_files(tx: &mut Tx) -> Result<i64, DbError> {
    qm_db::value!(tx, i64, FILES).await
}

/// Numbers of pictures and of subtitles of an item, as lists know them.
pub async fn counts(tx: &mut Tx, id: &str) -> Result<(i64, i64), DbError> {
    qm_db::one!(tx, (i64, i64), COUNTS, id).await
}
