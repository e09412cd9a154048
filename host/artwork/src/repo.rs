//! Tables `media_artwork` and `media_artwork_files`.

pub mod folders;
pub mod known;
pub mod subtitles;
#[cfg(test)]
pub mod testing;

use qm_db::{DbError, FromRow, Tx, sql};
use qm_kernel::Timestamp;
use sha2::{Digest as _, Sha256};

use crate::model::{ArtKind, Artwork, Lies, Owner, Source};

macro_rules! columns {
    () => {
        "id, item_id, show_id, season, type AS kind, source, selected, url, place, path, slot, width, height, created_at"
    };
}

sql! {
    OF_OWNER = concat!("SELECT ", columns!(), " FROM media_artwork WHERE item_id = $1 OR show_id = $1 \
        ORDER BY type, selected DESC, created_at, id");
    FIND = concat!("SELECT ", columns!(), " FROM media_artwork WHERE id = $1");
    ADD = "INSERT INTO media_artwork (id, item_id, show_id, season, type, source, selected, url, place, path, place_key, slot, \
        width, height, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) ON CONFLICT DO NOTHING";
    // All rows of the type are written, so that two choices at once wait for each other.
    CLEAR = "UPDATE media_artwork SET selected = FALSE WHERE (item_id = $1 OR show_id = $1) AND type = $2 \
        AND season IS NOT DISTINCT FROM CAST($3 AS BIGINT)";
    CHOOSE = "UPDATE media_artwork SET selected = TRUE WHERE id = $1";
    MOVE = "UPDATE media_artwork SET place = $2, place_key = $3 WHERE id = $1";
    REMOVE = "DELETE FROM media_artwork WHERE id = $1";
    NOTE = "INSERT INTO media_artwork_files (path, made_at) VALUES ($1, $2) ON CONFLICT DO NOTHING";
    FORGET = "DELETE FROM media_artwork_files WHERE path = $1";
    IDLE = "SELECT f.path FROM media_artwork_files f WHERE f.made_at < $1 \
        AND NOT EXISTS (SELECT 1 FROM media_artwork a WHERE a.path = f.path) ORDER BY f.made_at, f.path LIMIT $2";
}

#[derive(FromRow)]
struct Row {
    id: String,
    item_id: Option<String>,
    show_id: Option<String>,
    season: Option<i64>,
    kind: String,
    source: String,
    selected: bool,
    url: Option<String>,
    place: Option<String>,
    path: Option<String>,
    slot: Option<String>,
    width: Option<i64>,
    height: Option<i64>,
    created_at: i64,
}

impl From<Row> for Artwork {
    fn from(row: Row) -> Self {
        let owner = match (row.item_id, row.show_id) {
            (Some(item), _) => Owner::Item(item),
            (None, show) => Owner::Show(show.unwrap_or_default()),
        };
        let lies = match (row.place, row.path) {
            (Some(place), _) => Lies::Beside {
                place,
                slot: row.slot.unwrap_or_default(),
            },
            (None, Some(path)) => Lies::Stored(path),
            (None, None) => Lies::Elsewhere,
        };
        Self {
            id: row.id,
            owner,
            season: row.season,
            // The table holds no others.
            kind: ArtKind::from_word(&row.kind).unwrap_or(ArtKind::Poster),
            source: Source::from_word(&row.source),
            is_selected: row.selected,
            url: row.url,
            lies,
            width: row.width,
            height: row.height,
            created_at: Timestamp::from_ms(row.created_at),
        }
    }
}

/// Pictures of an owner, by type, the selected one first.
pub async fn of_owner(tx: &mut Tx, owner: &str) -> Result<Vec<Artwork>, DbError> {
    let rows = qm_db::all!(tx, Row, OF_OWNER, owner).await?;
    Ok(rows.into_iter().map(Artwork::from).collect())
}

pub async fn find(tx: &mut Tx, id: &str) -> Result<Option<Artwork>, DbError> {
    Ok(qm_db::opt!(tx, Row, FIND, id).await?.map(Artwork::from))
}

/// Adds a picture; false if the owner has it already, or another one of its type is selected.
pub async fn add(tx: &mut Tx, art: &Artwork) -> Result<bool, DbError> {
    let (place, slot, path) = match &art.lies {
        Lies::Beside { place, slot } => (Some(place.as_str()), Some(slot.as_str()), None),
        Lies::Stored(path) => (None, None, Some(path.as_str())),
        Lies::Elsewhere => (None, None, None),
    };
    let added = qm_db::exec!(
        tx,
        ADD,
        &art.id,
        art.owner.item_id(),
        art.owner.show_id(),
        art.season,
        art.kind.as_str(),
        art.source.as_str(),
        art.is_selected,
        art.url.as_deref(),
        place,
        path,
        key_of(&art.distinct()),
        slot,
        art.width,
        art.height,
        art.created_at.ms(),
    )
    .await?;
    Ok(added.rows() > 0)
}

/// Selects no picture of a type and season.
pub async fn clear(tx: &mut Tx, owner: &str, kind: ArtKind, season: Option<i64>) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, CLEAR, owner, kind.as_str(), season).await?;
    Ok(())
}

/// Selects a picture; false if it is gone.
pub async fn choose(tx: &mut Tx, id: &str) -> Result<bool, DbError> {
    Ok(qm_db::exec!(tx, CHOOSE, id).await?.rows() > 0)
}

/// Stores the new place of a file beside media.
pub async fn relocate(tx: &mut Tx, id: &str, place: &str) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, MOVE, id, place, key_of(place)).await?;
    Ok(())
}

pub async fn remove(tx: &mut Tx, id: &str) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, REMOVE, id).await?;
    Ok(())
}

/// Notes that a file of the store is about to be written; false if there is one of this path.
pub async fn note_file(tx: &mut Tx, path: &str, now: Timestamp) -> Result<bool, DbError> {
    Ok(qm_db::exec!(tx, NOTE, path, now.ms()).await?.rows() > 0)
}

pub async fn forget_file(tx: &mut Tx, path: &str) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, FORGET, path).await?;
    Ok(())
}

/// Files of the store that were noted before an instant and that no picture needs, the oldest first.
pub async fn idle_files(tx: &mut Tx, before: Timestamp, most: i64) -> Result<Vec<String>, DbError> {
    let rows = qm_db::all!(tx, (String,), IDLE, before.ms(), most).await?;
    Ok(rows.into_iter().map(|(path,)| path).collect())
}

fn key_of(text: &str) -> String {
    hex::encode(Sha256::digest(text))
}
