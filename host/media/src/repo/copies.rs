//! Table `media_copies`: further files of items, which are versions or parts of the first file.

use std::collections::{BTreeMap, HashMap};

use qm_db::{DbError, FromRow, Tx, bulk, sql};
use qm_kernel::Timestamp;
use qm_media_names::naming::member::Member;
use qm_media_names::place;

use super::filled;
use super::lists::{FileRow, file_columns};
use crate::model::item::{Item, MediaFile, Tech};

/// Columns that a first file and a further one have in common.
macro_rules! made {
    () => {
        "label, part, device, inode, fingerprint, size, mtime, container, video_codec, audio_codec, resolution, hdr, language, release_group, quality, width, height, \
         bitrate_kbps, duration_sec, audio_channels, frame_rate, video_bit_depth, chroma_subsampling, \
         color_primaries, color_transfer, color_space, hdr_format, tech_source, probed_at, probe_error, \
         probe_attempts, probe_after, tracks, track_count, created_at"
    };
}

/// The same columns, with the name of their table.
macro_rules! made_of {
    () => {
        "f.label, f.part, f.device, f.inode, f.fingerprint, f.size, f.mtime, f.container, f.video_codec, \
         f.audio_codec, f.resolution, f.hdr, f.language, f.release_group, f.quality, f.width, f.height, \
         f.bitrate_kbps, f.duration_sec, f.audio_channels, f.frame_rate, f.video_bit_depth, f.chroma_subsampling, \
         f.color_primaries, f.color_transfer, f.color_space, f.hdr_format, f.tech_source, f.probed_at, \
         f.probe_error, f.probe_attempts, f.probe_after, f.tracks, f.track_count, f.created_at"
    };
}

sql! {
    SET_KEY = "UPDATE media_items SET same_key = $2 WHERE id = $1";
    SET_FIRST = "UPDATE media_files SET label = $2, part = $3, device = $4, inode = $5 WHERE item_id = $1";
    SET_FIRST_NODE = "UPDATE media_files SET device = $2, inode = $3 WHERE item_id = $1";
    SET_NODE = "UPDATE media_copies SET device = $2, inode = $3 WHERE id = $1";
    // A person has edited the item.
    SAID = "SELECT COUNT(*) FROM media_items i LEFT JOIN media_metadata m ON m.item_id = i.id WHERE i.id = $1 \
        AND (i.locked OR i.match_status = 'manual' OR i.sort_title IS NOT NULL OR m.field_sources LIKE '%\"manual\"%')";
    // The file becomes a further file of another item.
    JOIN = concat!("INSERT INTO media_copies (id, item_id, library_id, directory_id, place, ", made!(), ") \
        SELECT f.id, CAST($2 AS TEXT), i.library_id, i.directory_id, i.place, ", made_of!(), " \
        FROM media_items i JOIN media_files f ON f.item_id = i.id WHERE i.id = $1");
    TAKE_ALONG = "UPDATE media_copies SET item_id = $2 WHERE item_id = $1";
    NEXT = "SELECT id, item_id, directory_id, place FROM media_copies WHERE item_id = $1 ORDER BY COALESCE(part, 0), place LIMIT 1";
    ELSEWHERE = "SELECT i.id, MIN(c.id) FROM media_items i JOIN media_copies c ON c.item_id = i.id \
        WHERE i.directory_id = $1 AND c.directory_id <> $1 GROUP BY i.id LIMIT $2";
    AT = "SELECT id, item_id, directory_id, place FROM media_copies WHERE id = $1";
    DROP_FIRST = "DELETE FROM media_files WHERE item_id = $1";
    RAISE = concat!("INSERT INTO media_files (id, item_id, ", made!(), ") \
        SELECT id, item_id, ", made!(), " FROM media_copies WHERE id = $1");
    DELETE = "DELETE FROM media_copies WHERE id = $1";
    DELETE_LYING = "DELETE FROM media_copies WHERE id = $1 AND place = $2";
    LIE = "UPDATE media_items SET directory_id = $2, place = $3, updated_at = $4 WHERE id = $1";
    SET_STATE = "UPDATE media_copies SET size = $2, mtime = $3, device = $4, inode = $5, width = NULL, height = NULL, \
        bitrate_kbps = NULL, duration_sec = NULL, audio_channels = NULL, frame_rate = NULL, video_bit_depth = NULL, \
        chroma_subsampling = NULL, color_primaries = NULL, color_transfer = NULL, color_space = NULL, hdr_format = NULL, \
        probed_at = NULL, probe_error = NULL, probe_attempts = 0, probe_after = 0, tracks = NULL, track_count = 0, \
        fingerprint = NULL WHERE id = $1";
    // Texts of paths that are not UTF-8 begin with a slash. PostgreSQL indexes only the beginning of a place.
    BELOW = "SELECT id, item_id, place FROM media_copies WHERE library_id = $1 AND substr(place, 1, 200) >= substr($2, 1, 200) \
            AND substr(place, 1, 200) <= substr($3, 1, 200) AND place >= $2 AND place < $3 \
        UNION SELECT id, item_id, place FROM media_copies WHERE library_id = $1 \
            AND substr(place, 1, 200) >= '/' AND substr(place, 1, 200) < '0' AND place >= '/' AND place < '0'";
    OF_LIBRARY = "SELECT id, item_id, place FROM media_copies WHERE library_id = $1";
    BETWEEN = concat!("SELECT f.item_id, f.place, ", file_columns!(), " FROM media_copies f \
        WHERE f.item_id > $1 AND f.item_id <= $2 ORDER BY f.item_id, COALESCE(f.part, 0), f.place");
    OF_ITEM = "SELECT id, item_id, place FROM media_copies WHERE item_id = $1 AND library_id = $2 ORDER BY id";
    MOVE = "UPDATE media_copies SET library_id = $2, directory_id = $3, place = $4 WHERE id = $1";
    DELETE_AT = "DELETE FROM media_copies WHERE library_id = $1 AND substr(place, 1, 200) = substr($2, 1, 200) AND place = $2 \
        AND id <> $3";
}

bulk! {
    OWNERS = "SELECT i.same_key, i.id FROM (VALUES", 2, ") w CROSS JOIN media_items i WHERE i.library_id = w.column1 \
        AND substr(i.same_key, 1, 200) = substr(w.column2, 1, 200) AND i.same_key = w.column2";
    TAKEN = "SELECT c.id, c.place FROM (VALUES", 2, ") w CROSS JOIN media_copies c WHERE c.library_id = w.column1 \
        AND substr(c.place, 1, 200) = substr(w.column2, 1, 200) AND c.place = w.column2";
    INSERT = "INSERT INTO media_copies (id, item_id, library_id, directory_id, place, label, part, device, inode, size, mtime, \
        container, video_codec, audio_codec, resolution, hdr, language, release_group, quality, tech_source, \
        probe_attempts, created_at) VALUES", 22, "";
    PLACES = "SELECT c.item_id, c.place FROM (VALUES", 1, ") w CROSS JOIN media_copies c WHERE c.item_id = w.column1";
    OF_ITEMS = concat!("SELECT f.item_id, f.place, ", file_columns!(), " FROM (VALUES"), 1,
        ") w CROSS JOIN media_copies f WHERE f.item_id = w.column1 ORDER BY f.item_id, COALESCE(f.part, 0), f.place";
}

/// A new further file.
#[derive(Clone, Debug)]
pub struct NewCopy {
    pub id: String,
    pub item_id: String,
    pub directory_id: String,
    pub place: String,
    pub size: i64,
    pub mtime: i64,
    pub node: (i64, i64),
    pub tech: Tech,
    pub member: Member,
}

/// Place of a further file.
#[derive(Clone, Debug, FromRow)]
pub struct Lying {
    pub id: String,
    pub item_id: String,
    pub place: String,
}

#[derive(FromRow)]
struct At {
    id: String,
    item_id: String,
    directory_id: String,
    place: String,
}

#[derive(FromRow)]
struct CopyRow {
    item_id: String,
    place: String,
    #[sqlx(flatten)]
    file: FileRow,
}

/// Items of a library by the keys of their files; of several items with one key, the first.
pub async fn owners(
    tx: &mut Tx,
    library_id: &str,
    keys: &[String],
) -> Result<HashMap<String, String>, DbError> {
    let asked: Vec<(&str, &str)> = keys.iter().map(|key| (library_id, key.as_str())).collect();
    let rows = qm_db::each!(tx, (String, String), OWNERS, asked, |key| key.0, key.1).await?;
    let mut owners: HashMap<String, String> = HashMap::new();
    for (key, id) in rows {
        let first = owners.entry(key).or_insert_with(|| id.clone());
        if id < *first {
            *first = id;
        }
    }
    Ok(owners)
}

/// Places of the further files of items, each with its item.
pub async fn places<'a>(
    tx: &mut Tx,
    ids: impl Iterator<Item = &'a str>,
) -> Result<Vec<(String, String)>, DbError> {
    qm_db::each!(tx, (String, String), PLACES, filled(ids), |id| *id).await
}

/// Those of the places that have a further file.
pub async fn taken(tx: &mut Tx, places: &[(&str, &str)]) -> Result<Vec<String>, DbError> {
    let rows = qm_db::each!(tx, (String, String), TAKEN, places, |at| at.0, at.1).await?;
    Ok(rows.into_iter().map(|(_, place)| place).collect())
}

pub async fn insert(
    tx: &mut Tx,
    library_id: &str,
    copies: &[NewCopy],
    now: Timestamp,
) -> Result<(), DbError> {
    let _ = qm_db::batch!(
        tx,
        INSERT,
        copies,
        |copy| &copy.id,
        &copy.item_id,
        library_id,
        &copy.directory_id,
        &copy.place,
        copy.member.label.as_deref(),
        copy.member.part,
        copy.node.0,
        copy.node.1,
        copy.size,
        copy.mtime,
        copy.tech.container.as_deref(),
        copy.tech.video_codec.as_deref(),
        copy.tech.audio_codec.as_deref(),
        copy.tech.resolution.as_deref(),
        copy.tech.hdr.as_deref(),
        copy.tech.language.as_deref(),
        copy.tech.release_group.as_deref(),
        copy.tech.quality.as_deref(),
        "filename",
        0_i64,
        now.ms(),
    )
    .await?;
    Ok(())
}

/// Stores the key of an item's files, and the label of its first one.
pub async fn describe(tx: &mut Tx, id: &str, member: &Member, node: (i64, i64)) -> Result<(), DbError> {
    let key = member.key.clone().unwrap_or_else(|| alone(id));
    let _ = qm_db::exec!(tx, SET_KEY, id, key).await?;
    let (label, part) = (member.label.as_deref(), member.part);
    let _ = qm_db::exec!(tx, SET_FIRST, id, label, part, node.0, node.1).await?;
    Ok(())
}

/// The key of an item that shares its files with none.
pub fn alone(id: &str) -> String {
    format!("\u{1}{id}")
}

/// Stores the number (inode) by which a further file is recognised.
pub async fn set_node(tx: &mut Tx, id: &str, node: (i64, i64)) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, SET_NODE, id, node.0, node.1).await?;
    Ok(())
}

/// Stores the number (inode) by which the first file of an item is recognised.
pub async fn set_first_node(tx: &mut Tx, item_id: &str, node: (i64, i64)) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, SET_FIRST_NODE, item_id, node.0, node.1).await?;
    Ok(())
}

/// True if a person has edited an item.
pub async fn is_said(tx: &mut Tx, id: &str) -> Result<bool, DbError> {
    Ok(qm_db::value!(tx, i64, SAID, id).await? > 0)
}

/// Turns the files of an item into further files of another item, and deletes the first item.
pub async fn join(tx: &mut Tx, id: &str, owner: &str) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, TAKE_ALONG, id, owner).await?;
    let _ = qm_db::exec!(tx, JOIN, id, owner).await?;
    let _ = super::items::delete(tx, id).await?;
    Ok(())
}

/// Makes the next file of an item its first one; false if it has no other.
pub async fn raise_next(tx: &mut Tx, item_id: &str, now: Timestamp) -> Result<bool, DbError> {
    let Some(next) = qm_db::opt!(tx, At, NEXT, item_id).await? else {
        return Ok(false);
    };
    put_first(tx, &next, now).await?;
    Ok(true)
}

/// For up to `most` items of a directory, makes files from elsewhere their first ones. Returns the number of items.
pub async fn raise_elsewhere(
    tx: &mut Tx,
    directory_id: &str,
    most: i64,
    now: Timestamp,
) -> Result<u64, DbError> {
    let rows = qm_db::all!(tx, (String, String), ELSEWHERE, directory_id, most).await?;
    for (_, copy) in &rows {
        raise(tx, copy, now).await?;
    }
    Ok(rows.len() as u64)
}

/// Makes a further file the first one of its item.
pub async fn raise(tx: &mut Tx, id: &str, now: Timestamp) -> Result<(), DbError> {
    match qm_db::opt!(tx, At, AT, id).await? {
        Some(at) => put_first(tx, &at, now).await,
        None => Ok(()),
    }
}

async fn put_first(tx: &mut Tx, copy: &At, now: Timestamp) -> Result<(), DbError> {
    let item_id = &copy.item_id;
    let _ = qm_db::exec!(tx, DROP_FIRST, item_id).await?;
    let _ = qm_db::exec!(tx, RAISE, &copy.id).await?;
    let _ = qm_db::exec!(tx, DELETE, &copy.id).await?;
    let _ = qm_db::exec!(tx, LIE, item_id, &copy.directory_id, &copy.place, now.ms()).await?;
    Ok(())
}

/// Deletes the row of a further file if it still has this place.
pub async fn delete(tx: &mut Tx, id: &str, place: &str) -> Result<u64, DbError> {
    Ok(qm_db::exec!(tx, DELETE_LYING, id, place).await?.rows())
}

/// Stores the new size and time of a changed further file, which is then probed again.
pub async fn set_state(
    tx: &mut Tx,
    id: &str,
    size: i64,
    mtime: i64,
    node: (i64, i64),
) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, SET_STATE, id, size, mtime, node.0, node.1).await?;
    Ok(())
}

/// Further files below a folder of a library; an empty folder means all. Some others may be among them.
pub async fn below(tx: &mut Tx, library_id: &str, folder: &str) -> Result<Vec<Lying>, DbError> {
    if folder.is_empty() {
        return qm_db::all!(tx, Lying, OF_LIBRARY, library_id).await;
    }
    let [plain, _] = place::ranges(folder);
    qm_db::all!(tx, Lying, BELOW, library_id, plain.0, plain.1).await
}

/// Further files of an item that lie in this library.
pub async fn lying(tx: &mut Tx, item_id: &str, library_id: &str) -> Result<Vec<Lying>, DbError> {
    qm_db::all!(tx, Lying, OF_ITEM, item_id, library_id).await
}

/// Stores the new place of a further file.
pub async fn relocate(
    tx: &mut Tx,
    id: &str,
    library_id: &str,
    directory_id: &str,
    place: &str,
) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, DELETE_AT, library_id, place, id).await?;
    let _ = qm_db::exec!(tx, MOVE, id, library_id, directory_id, place).await?;
    Ok(())
}

/// Fills in the further files of items.
pub async fn fill(tx: &mut Tx, items: &mut [(Item, MediaFile)]) -> Result<(), DbError> {
    let mut found = of_items(tx, items.iter().map(|(item, _)| item.id.as_str())).await?;
    for (item, _) in items {
        item.copies = found.remove(&item.id).unwrap_or_default();
    }
    Ok(())
}

/// Fills in the further files of all items behind `after`, up to the last one of these, which are in the order of their ids.
pub async fn fill_page(tx: &mut Tx, after: &str, items: &mut [(Item, MediaFile)]) -> Result<(), DbError> {
    let Some(last) = items.last().map(|(item, _)| item.id.clone()) else {
        return Ok(());
    };
    let rows = qm_db::all!(tx, CopyRow, BETWEEN, after, last).await?;
    let mut found = by_item(rows);
    for (item, _) in items {
        item.copies = found.remove(&item.id).unwrap_or_default();
    }
    Ok(())
}

/// Further files of items, each with its place, by the items.
async fn of_items<'a>(
    tx: &mut Tx,
    ids: impl Iterator<Item = &'a str>,
) -> Result<BTreeMap<String, Vec<(String, MediaFile)>>, DbError> {
    let keys = filled(ids);
    let rows = qm_db::each!(tx, CopyRow, OF_ITEMS, keys, |id| *id).await?;
    Ok(by_item(rows))
}

fn by_item(rows: Vec<CopyRow>) -> BTreeMap<String, Vec<(String, MediaFile)>> {
    let mut found: BTreeMap<String, Vec<(String, MediaFile)>> = BTreeMap::new();
    for row in rows {
        found
            .entry(row.item_id)
            .or_default()
            .push((row.place, row.file.into()));
    }
    found
}
