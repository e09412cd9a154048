//! Table `file_temporaries`: where operations are making temporaries.

use qm_db::{Affected, DbError, FromRow, Tx, sql};
use qm_kernel::Timestamp;

sql! {
    LIST = "SELECT id, storage_root, directory, whole_tree, noted_at FROM file_temporaries ORDER BY noted_at, id";
    INSERT = "INSERT INTO file_temporaries (id, storage_root, directory, whole_tree, noted_at) \
        VALUES ($1, $2, $3, $4, $5)";
    REMOVE = "DELETE FROM file_temporaries WHERE id = $1";
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    pub id: String,
    /// Absolute.
    pub storage_root: String,
    /// Below the storage root, percent-encoded.
    pub directory: String,
    /// True when temporaries may lie anywhere below the directory, not only in it.
    pub whole_tree: bool,
    pub noted_at: Timestamp,
}

#[derive(FromRow)]
struct Row {
    id: String,
    storage_root: String,
    directory: String,
    whole_tree: bool,
    noted_at: i64,
}

/// Every note, the oldest first.
pub async fn list(tx: &mut Tx) -> Result<Vec<Note>, DbError> {
    let rows = qm_db::all!(tx, Row, LIST).await?;
    let note = |row: Row| Note {
        id: row.id,
        storage_root: row.storage_root,
        directory: row.directory,
        whole_tree: row.whole_tree,
        noted_at: Timestamp::from_ms(row.noted_at),
    };
    Ok(rows.into_iter().map(note).collect())
}

pub async fn insert(tx: &mut Tx, note: &Note) -> Result<(), DbError> {
    qm_db::exec!(
        tx,
        INSERT,
        &note.id,
        &note.storage_root,
        &note.directory,
        note.whole_tree,
        note.noted_at.ms()
    )
    .await?
    .exactly(1)
}

pub async fn remove(tx: &mut Tx, id: &str) -> Result<Affected, DbError> {
    qm_db::exec!(tx, REMOVE, id).await
}
