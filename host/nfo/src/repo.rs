//! Table `media_nfo_files`.

#[cfg(test)]
pub mod testing;

use qm_db::{DbError, FromRow, Tx, bulk, sql};
use qm_kernel::Timestamp;
use sha2::{Digest as _, Sha256};

use crate::model::{Note, NoteKind};

sql! {
    HASHES = "SELECT id, hash, earlier FROM media_nfo_files WHERE item_id = $1 AND place_key = $2";
    OF_ITEM = "SELECT id, type AS kind, place, generated_at FROM media_nfo_files WHERE item_id = $1";
    // No content has this hash: what others wrote is not taken for our own.
    NOTICE = "INSERT INTO media_nfo_files (id, item_id, type, place, place_key, hash, earlier, generated_at) \
        VALUES ($1, $2, $3, $4, $5, '', NULL, $6) ON CONFLICT DO NOTHING";
    FORGET_NOTICED = "DELETE FROM media_nfo_files WHERE id = $1 AND hash = ''";
    PUT = "INSERT INTO media_nfo_files (id, item_id, type, place, place_key, hash, earlier, generated_at) \
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (item_id, place_key) DO UPDATE SET \
        type = excluded.type, hash = excluded.hash, earlier = excluded.earlier, generated_at = excluded.generated_at";
}

bulk! {
    OF_ITEMS = "SELECT n.id, n.place FROM (VALUES", 1, ") w CROSS JOIN media_nfo_files n WHERE n.item_id = w.column1";
    NOTICED = "SELECT n.id, n.item_id, n.place FROM (VALUES", 1,
        ") w CROSS JOIN media_nfo_files n WHERE n.item_id = w.column1 AND n.hash = ''";
}

/// A note that was written here, as it was then.
#[derive(Clone, Debug, FromRow)]
pub struct Written {
    pub id: String,
    pub hash: String,
    pub earlier: Option<String>,
}

impl Written {
    /// True for a content that was written here.
    pub fn is_own(&self, hash: &str) -> bool {
        self.hash == hash || self.earlier.as_deref() == Some(hash)
    }
}

/// A note as it is listed.
#[derive(Clone, Debug, FromRow)]
pub struct Listed {
    pub id: String,
    pub kind: String,
    pub place: String,
    pub generated_at: i64,
}

/// Notes of an item.
pub async fn of_item(tx: &mut Tx, item_id: &str) -> Result<Vec<Listed>, DbError> {
    qm_db::all!(tx, Listed, OF_ITEM, item_id).await
}

/// Ids and places of the notes of items.
pub async fn of_items(tx: &mut Tx, items: &[String]) -> Result<Vec<(String, String)>, DbError> {
    qm_db::each!(tx, (String, String), OF_ITEMS, filled(items), |id| *id).await
}

/// Ids of the notes of others beside items, with the items and the places.
pub async fn noticed(tx: &mut Tx, items: &[String]) -> Result<Vec<(String, String, String)>, DbError> {
    qm_db::each!(tx, (String, String, String), NOTICED, filled(items), |id| *id).await
}

/// Forgets a note of somebody else.
pub async fn forget_noticed(tx: &mut Tx, id: &str) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, FORGET_NOTICED, id).await?;
    Ok(())
}

/// Keys filled up for as few statements as possible: no row has the empty key.
fn filled(items: &[String]) -> Vec<&str> {
    let mut keys: Vec<&str> = items.iter().map(String::as_str).collect();
    if keys.len() > 8 {
        keys.resize(keys.len().next_multiple_of(64), "");
    }
    keys
}

/// Note about an item that was written to this place.
pub async fn find(tx: &mut Tx, item_id: &str, place: &str) -> Result<Option<Written>, DbError> {
    qm_db::opt!(tx, Written, HASHES, item_id, key_of(place)).await
}

/// Stores a note that is about to be written.
pub async fn put(tx: &mut Tx, note: &Note) -> Result<(), DbError> {
    qm_db::exec!(
        tx,
        PUT,
        &note.id,
        &note.item_id,
        note.kind.as_str(),
        &note.place,
        key_of(&note.place),
        &note.hash,
        note.earlier.as_deref(),
        note.generated_at.ms(),
    )
    .await?
    .exactly(1)
}

/// Stores that somebody else's note was read, unless it is known.
pub async fn notice(
    tx: &mut Tx,
    id: &str,
    (item_id, kind, place): (&str, NoteKind, &str),
    now: Timestamp,
) -> Result<(), DbError> {
    let key = key_of(place);
    let _ = qm_db::exec!(tx, NOTICE, id, item_id, kind.as_str(), place, key, now.ms()).await?;
    Ok(())
}

fn key_of(text: &str) -> String {
    hex::encode(Sha256::digest(text))
}
