//! Tables `media_items` and `media_files`, as scans write them.

use qm_db::{DbError, FromRow, Tx, bulk, sql};
use qm_kernel::Timestamp;
use qm_media_names::naming::member::Member;

use super::{clean, external};
use crate::model::item::{Facts, Item, Tech, letter, title_key};

sql! {
    OF_DIRECTORY = "SELECT i.id, CAST(NULL AS TEXT) AS copy_id, i.place, i.title, i.season, i.episode, i.episode_end, i.locked, \
        i.match_status, i.same_key, f.size, f.mtime, f.device, f.inode, f.fingerprint \
        FROM media_items i JOIN media_files f ON f.item_id = i.id WHERE i.directory_id = $1 \
        UNION ALL SELECT i.id, c.id AS copy_id, c.place, i.title, i.season, i.episode, i.episode_end, i.locked, \
        i.match_status, i.same_key, c.size, c.mtime, c.device, c.inode, c.fingerprint \
        FROM media_copies c JOIN media_items i ON i.id = c.item_id WHERE c.directory_id = $1";
    // The old findings are about another content.
    SET_STATE = "UPDATE media_files SET size = $2, mtime = $3, width = NULL, height = NULL, bitrate_kbps = NULL, \
        duration_sec = NULL, audio_channels = NULL, frame_rate = NULL, video_bit_depth = NULL, chroma_subsampling = NULL, \
        color_primaries = NULL, color_transfer = NULL, color_space = NULL, hdr_format = NULL, probed_at = NULL, \
        probe_error = NULL, probe_attempts = 0, probe_after = 0, tracks = NULL, track_count = 0, fingerprint = NULL \
        WHERE item_id = $1";
    SET_TECH = "UPDATE media_files SET container = $2, video_codec = $3, audio_codec = $4, resolution = $5, hdr = $6, \
        language = $7, release_group = $8, quality = $9, tech_source = 'filename' WHERE item_id = $1 AND probed_at IS NULL";
    SET_NUMBERS = "UPDATE media_items SET title = $2, title_key = $3, letter = $4, season = $5, episode = $6, \
        episode_end = $7, titledb_asked = NULL, updated_at = $8 WHERE id = $1";
    DELETE = "DELETE FROM media_items WHERE id = $1";
    DELETE_SOME = "DELETE FROM media_items WHERE id IN (SELECT id FROM media_items WHERE library_id = $1 LIMIT $2)";
    DELETE_OF = "DELETE FROM media_items WHERE id IN (SELECT id FROM media_items WHERE directory_id = $1 LIMIT $2)";
    EDIT = "UPDATE media_items SET media_type = $2, title = $3, sort_title = $4, title_key = $5, letter = $6, year = $7, \
        season = $8, episode = $9, episode_end = $10, match_status = $11, confidence = $12, locked = $13, \
        series_titledb_id = $14, titledb_asked = NULL, updated_at = $15 WHERE id = $1";
    EPISODES = "SELECT d.place, COUNT(*) FROM media_items i JOIN media_directories d ON d.id = i.directory_id \
        WHERE i.library_id = $1 AND i.media_type IN ('tv', 'anime', 'episode') GROUP BY d.place";
}

bulk! {
    INSERT_ITEMS = "INSERT INTO media_items (id, library_id, directory_id, place, media_type, title, title_key, letter, \
        year, season, episode, episode_end, match_status, confidence, locked, created_at, updated_at, same_key) VALUES", 18, "";
    INSERT_FILES = "INSERT INTO media_files (id, item_id, size, mtime, container, video_codec, audio_codec, resolution, hdr, \
        language, release_group, quality, tech_source, probe_attempts, created_at, label, part, device, inode) VALUES", 19, "";
}

/// A file of an item as a scan compares it.
#[derive(Clone, Debug, FromRow)]
pub struct Stored {
    /// Id of the item.
    pub id: String,
    /// `None`: it is the item's first file.
    pub copy_id: Option<String>,
    pub place: String,
    pub title: String,
    pub season: Option<i64>,
    pub episode: Option<i64>,
    pub episode_end: Option<i64>,
    pub locked: bool,
    pub match_status: String,
    pub same_key: Option<String>,
    pub size: i64,
    pub mtime: i64,
    pub device: Option<i64>,
    pub inode: Option<i64>,
    pub fingerprint: Option<String>,
}

/// Files of items right in a directory.
pub async fn of_directory(tx: &mut Tx, directory_id: &str) -> Result<Vec<Stored>, DbError> {
    qm_db::all!(tx, Stored, OF_DIRECTORY, directory_id).await
}

/// A new file.
#[derive(Clone, Debug)]
pub struct NewItem {
    pub id: String,
    pub file_id: String,
    pub directory_id: String,
    pub place: String,
    pub size: i64,
    pub mtime: i64,
    pub facts: Facts,
    pub tech: Tech,
    pub member: Member,
    /// Number of its file system, and its own (inode) there.
    pub node: (i64, i64),
}

/// Adds items, each with its file.
pub async fn insert(tx: &mut Tx, library_id: &str, items: &[NewItem], now: Timestamp) -> Result<(), DbError> {
    let _ = qm_db::batch!(
        tx,
        INSERT_ITEMS,
        items,
        |item| &item.id,
        library_id,
        &item.directory_id,
        &item.place,
        &item.facts.media_type,
        clean(&item.facts.title),
        title_key(&clean(&item.facts.title), None),
        letter(&item.facts.title).to_string(),
        item.facts.year,
        item.facts.season,
        item.facts.episode,
        item.facts.episode_end,
        "unmatched",
        0_i64,
        false,
        now.ms(),
        now.ms(),
        item.member.key.as_deref(),
    )
    .await?;
    let _ = qm_db::batch!(
        tx,
        INSERT_FILES,
        items,
        |item| &item.file_id,
        &item.id,
        item.size,
        item.mtime,
        item.tech.container.as_deref(),
        item.tech.video_codec.as_deref(),
        item.tech.audio_codec.as_deref(),
        item.tech.resolution.as_deref(),
        item.tech.hdr.as_deref(),
        item.tech.language.as_deref(),
        item.tech.release_group.as_deref(),
        item.tech.quality.as_deref(),
        "filename",
        0_i64,
        now.ms(),
        item.member.label.as_deref(),
        item.member.part,
        item.node.0,
        item.node.1,
    )
    .await?;
    Ok(())
}

/// Stores the new size and time of a changed file, which is then probed again.
pub async fn set_state(tx: &mut Tx, id: &str, size: i64, mtime: i64) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, SET_STATE, id, size, mtime).await?;
    Ok(())
}

/// Stores technical properties that were read from the name of a file, if the file has not been probed.
pub async fn set_tech(tx: &mut Tx, id: &str, tech: &Tech) -> Result<(), DbError> {
    let _ = qm_db::exec!(
        tx,
        SET_TECH,
        id,
        tech.container.as_deref(),
        tech.video_codec.as_deref(),
        tech.audio_codec.as_deref(),
        tech.resolution.as_deref(),
        tech.hdr.as_deref(),
        tech.language.as_deref(),
        tech.release_group.as_deref(),
        tech.quality.as_deref(),
    )
    .await?;
    Ok(())
}

/// Stores the numbers of an episode.
pub async fn set_numbers(tx: &mut Tx, id: &str, facts: &Facts, now: Timestamp) -> Result<(), DbError> {
    let title = clean(&facts.title);
    let _ = qm_db::exec!(
        tx,
        SET_NUMBERS,
        id,
        &title,
        title_key(&title, None),
        letter(&title).to_string(),
        facts.season,
        facts.episode,
        facts.episode_end,
        now.ms(),
    )
    .await?;
    external::forget_derived(tx, id).await
}

pub async fn delete(tx: &mut Tx, id: &str) -> Result<u64, DbError> {
    Ok(qm_db::exec!(tx, DELETE, id).await?.rows())
}

/// Deletes up to `most` items of a library; returns their number.
pub async fn delete_some(tx: &mut Tx, library_id: &str, most: i64) -> Result<u64, DbError> {
    Ok(qm_db::exec!(tx, DELETE_SOME, library_id, most).await?.rows())
}

/// Deletes up to `most` items of a directory; returns their number.
pub async fn delete_of(tx: &mut Tx, directory_id: &str, most: i64) -> Result<u64, DbError> {
    Ok(qm_db::exec!(tx, DELETE_OF, directory_id, most).await?.rows())
}

/// Stores an item as a person edited it.
pub async fn edit(tx: &mut Tx, item: &Item) -> Result<(), DbError> {
    let title = clean(&item.title);
    let sort_title = item.sort_title.as_deref().map(clean);
    let _ = qm_db::exec!(
        tx,
        EDIT,
        &item.id,
        &item.media_type,
        &title,
        sort_title.as_deref(),
        title_key(&title, sort_title.as_deref()),
        letter(&title).to_string(),
        item.year,
        item.season,
        item.episode,
        item.episode_end,
        &item.match_status,
        item.confidence,
        item.locked,
        item.series_titledb_id.as_deref(),
        item.updated_at.ms(),
    )
    .await?;
    Ok(())
}

/// Number of episodes in each directory.
pub async fn episodes(tx: &mut Tx, library_id: &str) -> Result<Vec<(String, i64)>, DbError> {
    qm_db::all!(tx, (String, i64), EPISODES, library_id).await
}
