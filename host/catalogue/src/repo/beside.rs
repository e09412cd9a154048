//! Shows by their folders, and what changed beside videos.

use std::collections::{BTreeSet, HashMap};

use qm_db::{DbError, FromRow, Tx, bulk, sql};
use qm_kernel::Timestamp;
use qm_media::model::item::title_key;
use qm_media::repo::{clean, filled};
use qm_media_names::place;
use qm_ports::subjects::ChangeReader;

sql! {
    CHANGES = "SELECT l.number, l.directory_id, l.below, d.library_id, d.place FROM media_looks l \
        JOIN media_directories d ON d.id = l.directory_id WHERE l.reader = $1 ORDER BY l.number LIMIT $2";
    FORGET = "DELETE FROM media_looks WHERE number = $1";
    IN = "SELECT id FROM media_items WHERE directory_id = $1 AND id > $2 \
        UNION SELECT item_id AS id FROM media_copies WHERE directory_id = $1 AND item_id > $2 ORDER BY id LIMIT $3";
    // PostgreSQL indexes only the beginning of a place.
    BELOW = "SELECT id FROM media_items WHERE library_id = $1 AND substr(place, 1, 200) >= substr($2, 1, 200) \
            AND substr(place, 1, 200) <= substr($3, 1, 200) AND place >= $2 AND place < $3 AND id > $4 \
        UNION SELECT item_id AS id FROM media_copies WHERE library_id = $1 AND substr(place, 1, 200) >= substr($2, 1, 200) \
            AND substr(place, 1, 200) <= substr($3, 1, 200) AND place >= $2 AND place < $3 AND item_id > $4 \
        ORDER BY id LIMIT $5";
    PICTURED_BELOW = "SELECT id, library_id FROM media_items WHERE library_id = $1 AND pictures > 0 \
        AND substr(place, 1, 200) >= substr($2, 1, 200) AND substr(place, 1, 200) <= substr($3, 1, 200) \
        AND place >= $2 AND place < $3 AND media_type IN ('tv', 'anime', 'episode') ORDER BY substr(place, 1, 200), id LIMIT $4";
    PICTURED_CALLED = "SELECT id, library_id FROM media_items WHERE title_key = $1 AND title = $2 AND pictures > 0 \
        AND media_type IN ('tv', 'anime', 'episode') ORDER BY id LIMIT $3";
    TRACKS = "SELECT f.id, i.place, f.tracks, f.probed_at FROM media_files f JOIN media_items i ON i.id = f.item_id \
        WHERE f.item_id = $1 AND f.track_count > 0 \
        UNION ALL SELECT id, place, tracks, probed_at FROM media_copies WHERE item_id = $1 AND track_count > 0 ORDER BY place, id";
}

bulk! {
    COPIES = "SELECT c.item_id, c.place FROM (VALUES", 1, ") w CROSS JOIN media_copies c CROSS JOIN media_items i \
        WHERE c.item_id = w.column1 AND i.id = c.item_id AND i.library_id = c.library_id";
    CHANGES_OF = "SELECT l.number, l.directory_id, l.below, d.library_id, d.place FROM (VALUES", 2,
        ") w CROSS JOIN media_looks l JOIN media_directories d ON d.id = l.directory_id \
        WHERE l.directory_id = w.column1 AND l.reader = w.column2";
    SHOWS_AT = "SELECT s.library_id, s.place, s.id FROM (VALUES", 2, ") w CROSS JOIN media_shows s \
        WHERE s.library_id = w.column1 AND s.place = w.column2";
}

/// A directory that changed.
#[derive(Clone, Debug, FromRow)]
pub struct Changed {
    pub number: i64,
    pub directory_id: String,
    pub below: bool,
    pub library_id: String,
    pub place: String,
}

/// Tracks of a file as JSON.
#[derive(Clone, Debug, FromRow)]
pub struct TracksOf {
    pub id: String,
    pub place: String,
    pub tracks: Option<String>,
    pub probed_at: Option<i64>,
}

impl TracksOf {
    pub fn found_at(&self) -> Timestamp {
        Timestamp::from_ms(self.probed_at.unwrap_or(0))
    }
}

/// Ids of shows by their libraries and the folders, as people see them.
pub async fn shows_at(
    tx: &mut Tx,
    asked: &[(String, String)],
) -> Result<HashMap<(String, String), String>, DbError> {
    let keys: Vec<(&str, String)> = asked
        .iter()
        .filter(|(_, folder)| !folder.contains('\0'))
        .map(|(library, folder)| (library.as_str(), place::encode(folder.as_bytes())))
        .collect();
    let rows = qm_db::each!(tx, (String, String, String), SHOWS_AT, keys, |key| key.0, &key.1).await?;
    let shows = rows
        .into_iter()
        .map(|(library, place, id)| ((library, place::shown(&place)), id));
    Ok(shows.collect())
}

/// Ids of the shows in some folders of a library.
pub async fn shows_lying(tx: &mut Tx, library: &str, places: &[String]) -> Result<Vec<String>, DbError> {
    let rows = qm_db::each!(
        tx,
        (String, String, String),
        SHOWS_AT,
        places,
        |place| library,
        place
    )
    .await?;
    Ok(rows.into_iter().map(|(_, _, id)| id).collect())
}

/// The first episodes with pictures in a folder, as people see it, of a library; each with the id of its library.
pub async fn pictured_below(
    tx: &mut Tx,
    library: &str,
    folder: &str,
    most: i64,
) -> Result<Vec<(String, String)>, DbError> {
    let [(from, to), _] = place::ranges(&place::encode(folder.as_bytes()));
    qm_db::all!(tx, (String, String), PICTURED_BELOW, library, from, to, most).await
}

/// The first episodes with pictures of series with a title; each with the id of its library.
pub async fn pictured_called(tx: &mut Tx, title: &str, most: i64) -> Result<Vec<(String, String)>, DbError> {
    let (key, title) = (title_key(title, None), clean(title));
    qm_db::all!(tx, (String, String), PICTURED_CALLED, key, title, most).await
}

/// The first changes of a reader with all others of their directories, the oldest first: a directory in which thousands of files
/// joined items has as many changes, and one look is enough for them.
pub async fn changes(tx: &mut Tx, reader: ChangeReader, most: i64) -> Result<Vec<Changed>, DbError> {
    let first = qm_db::all!(tx, Changed, CHANGES, reader.as_str(), most).await?;
    let directories: BTreeSet<String> = first.into_iter().map(|change| change.directory_id).collect();
    let directories: Vec<String> = directories.into_iter().collect();
    let of = reader.as_str();
    let mut all = qm_db::each!(tx, Changed, CHANGES_OF, directories, |id| id, of).await?;
    all.sort_unstable_by_key(|change| change.number);
    Ok(all)
}

pub async fn forget_change(tx: &mut Tx, number: i64) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, FORGET, number).await?;
    Ok(())
}

/// Items with a file in a directory, behind an id.
pub async fn items_in(tx: &mut Tx, directory: &str, after: &str, most: i64) -> Result<Vec<String>, DbError> {
    let rows = qm_db::all!(tx, (String,), IN, directory, after, most).await?;
    Ok(rows.into_iter().map(|(id,)| id).collect())
}

/// Items with a file in or below a directory of a library, behind an id. The library's own directory has no such list.
pub async fn items_below(
    tx: &mut Tx,
    (library, directory): (&str, &str),
    after: &str,
    most: i64,
) -> Result<Vec<String>, DbError> {
    let mut ids: Vec<String> = Vec::new();
    for (from, to) in place::ranges(directory) {
        let rows = qm_db::all!(tx, (String,), BELOW, library, from, to, after, most).await?;
        ids.extend(rows.into_iter().map(|(id,)| id));
    }
    // Each range gives its first ones, so that the first ones of both are among them.
    ids.sort_unstable();
    ids.dedup();
    ids.truncate(usize::try_from(most).unwrap_or(usize::MAX));
    Ok(ids)
}

/// Places of further files of items, in the libraries of the items; by the ids of the items.
pub async fn copies(tx: &mut Tx, items: &[String]) -> Result<HashMap<String, Vec<String>>, DbError> {
    let keys = filled(items.iter().map(String::as_str));
    let mut rows = qm_db::each!(tx, (String, String), COPIES, keys, |id| *id).await?;
    rows.sort_unstable();
    let mut found: HashMap<String, Vec<String>> = HashMap::new();
    for (item, place) in rows {
        found.entry(item).or_default().push(place);
    }
    Ok(found)
}

/// Tracks of subtitles in the files of an item.
pub async fn tracks(tx: &mut Tx, item: &str) -> Result<Vec<TracksOf>, DbError> {
    qm_db::all!(tx, TracksOf, TRACKS, item).await
}
