//! Table `media_nfo_files`.

#[cfg(test)]
pub mod testing;

use qm_db::{DbError, FromRow, Tx, sql};
use sha2::{Digest as _, Sha256};

use crate::model::Note;

sql! {
    HASHES = "SELECT id, hash, earlier FROM media_nfo_files WHERE item_id = $1 AND place_key = $2";
    PUT = "INSERT INTO media_nfo_files (id, item_id, type, place, place_key, hash, earlier, generated_at) \
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (item_id, place_key) DO UPDATE SET \
        type = excluded.type, hash = excluded.hash, earlier = excluded.earlier, generated_at = excluded.generated_at";
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

fn key_of(text: &str) -> String {
    hex::encode(Sha256::digest(text))
}
