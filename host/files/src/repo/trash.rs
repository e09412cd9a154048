//! Table `file_trash`: items in the trash directories. A record is written before its item is moved there, as
//! `pending`, and settled after; the other way round when an item leaves.

use qm_db::{Affected, DbError, FromRow, Tx, sql};
use qm_kernel::Timestamp;

sql! {
    LIST = "SELECT id, storage_root, original_path, original_raw, name, trash_path, is_directory, size, deleted_by, \
        deleted_at, pending FROM file_trash WHERE pending = $1 ORDER BY deleted_at DESC, id";
    FIND = "SELECT id, storage_root, original_path, original_raw, name, trash_path, is_directory, size, deleted_by, \
        deleted_at, pending FROM file_trash WHERE id = $1 AND pending = $2";
    EXPIRED = "SELECT id, storage_root, original_path, original_raw, name, trash_path, is_directory, size, deleted_by, \
        deleted_at, pending FROM file_trash WHERE pending = $1 AND deleted_at <= $2 ORDER BY deleted_at, id";
    EVERY = "SELECT id, storage_root, original_path, original_raw, name, trash_path, is_directory, size, deleted_by, \
        deleted_at, pending FROM file_trash ORDER BY deleted_at, id";
    /// A token outlives its user by some minutes; what they still delete is recorded without a name.
    INSERT = "INSERT INTO file_trash (id, storage_root, original_path, original_raw, name, trash_path, is_directory, \
        size, deleted_by, deleted_at, pending) \
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, (SELECT id FROM users WHERE id = $9), $10, $11)";
    SETTLE = "UPDATE file_trash SET pending = $2, size = $3 WHERE id = $1";
    REMOVE = "DELETE FROM file_trash WHERE id = $1";
}

/// An item of the trash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrashRecord {
    pub id: String,
    /// Absolute: the root whose trash directory holds it.
    pub storage_root: String,
    /// Below the storage root, as people see it.
    pub original_path: String,
    /// Percent-encoded bytes of the path, when they are not UTF-8.
    pub original_raw: Option<String>,
    pub name: String,
    /// Absolute.
    pub trash_path: String,
    pub is_directory: bool,
    pub size: u64,
    pub deleted_by: Option<String>,
    pub deleted_at: Timestamp,
    /// On its way in: it may lie at either place until the move is settled.
    pub pending: bool,
}

#[derive(FromRow)]
struct Row {
    id: String,
    storage_root: String,
    original_path: String,
    original_raw: Option<String>,
    name: String,
    trash_path: String,
    is_directory: bool,
    size: i64,
    deleted_by: Option<String>,
    deleted_at: i64,
    pending: bool,
}

impl From<Row> for TrashRecord {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            storage_root: row.storage_root,
            original_path: row.original_path,
            original_raw: row.original_raw,
            name: row.name,
            trash_path: row.trash_path,
            is_directory: row.is_directory,
            size: u64::try_from(row.size).unwrap_or(0),
            deleted_by: row.deleted_by,
            deleted_at: Timestamp::from_ms(row.deleted_at),
            pending: row.pending,
        }
    }
}

fn records(rows: Vec<Row>) -> Vec<TrashRecord> {
    rows.into_iter().map(TrashRecord::from).collect()
}

/// Records of items in the trash, the latest deletion first.
pub async fn list(tx: &mut Tx) -> Result<Vec<TrashRecord>, DbError> {
    qm_db::all!(tx, Row, LIST, false).await.map(records)
}

/// An item that lies in the trash.
pub async fn find(tx: &mut Tx, id: &str) -> Result<Option<TrashRecord>, DbError> {
    Ok(qm_db::opt!(tx, Row, FIND, id, false)
        .await?
        .map(TrashRecord::from))
}

/// Records of items deleted at or before `until`, the oldest first.
pub async fn expired(tx: &mut Tx, until: Timestamp) -> Result<Vec<TrashRecord>, DbError> {
    qm_db::all!(tx, Row, EXPIRED, false, until.ms())
        .await
        .map(records)
}

/// Every record, those on their way too.
pub async fn every(tx: &mut Tx) -> Result<Vec<TrashRecord>, DbError> {
    qm_db::all!(tx, Row, EVERY).await.map(records)
}

pub async fn insert(tx: &mut Tx, record: &TrashRecord) -> Result<(), DbError> {
    let original_raw = record.original_raw.as_deref();
    let deleted_by = record.deleted_by.as_deref();
    let size = i64::try_from(record.size).unwrap_or(i64::MAX);
    qm_db::exec!(
        tx,
        INSERT,
        &record.id,
        &record.storage_root,
        &record.original_path,
        original_raw,
        &record.name,
        &record.trash_path,
        record.is_directory,
        size,
        deleted_by,
        record.deleted_at.ms(),
        record.pending
    )
    .await?
    .exactly(1)
}

/// The item has arrived: it is listed from now on.
pub async fn settle(tx: &mut Tx, id: &str, size: u64) -> Result<Affected, DbError> {
    let size = i64::try_from(size).unwrap_or(i64::MAX);
    qm_db::exec!(tx, SETTLE, id, false, size).await
}

pub async fn remove(tx: &mut Tx, id: &str) -> Result<Affected, DbError> {
    qm_db::exec!(tx, REMOVE, id).await
}

#[cfg(test)]
mod tests {
    use qm_db::{Db, db_test};

    use super::*;

    fn record(number: i64) -> TrashRecord {
        TrashRecord {
            id: format!("id-{number}"),
            storage_root: "/downloads".into(),
            original_path: format!("/a/{number}\u{fffd}"),
            original_raw: Some(format!("/a/{number}%FF")),
            name: format!("{number}\u{fffd}"),
            trash_path: format!("/downloads/.quartermaster-trash/id-{number}__x"),
            is_directory: number % 2 == 0,
            size: 5_000_000_000,
            deleted_by: None,
            deleted_at: Timestamp::from_ms(1000 * number),
            pending: false,
        }
    }

    db_test! {
        async fn records_are_listed_found_and_removed(db: Db) {
            let mut tx = db.begin_write().await.unwrap();
            for number in 1..=3 {
                insert(&mut tx, &record(number)).await.unwrap();
            }
            let pending = TrashRecord { pending: true, deleted_by: Some("gone".into()), ..record(4) };
            insert(&mut tx, &pending).await.unwrap();
            let listed = list(&mut tx).await.unwrap();
            assert_eq!(listed, [record(3), record(2), record(1)]);
            assert_eq!(find(&mut tx, "id-4").await.unwrap(), None, "it has not arrived");
            assert_eq!(every(&mut tx).await.unwrap().len(), 4);
            settle(&mut tx, "id-4", 7).await.unwrap().exactly(1).unwrap();
            let settled = find(&mut tx, "id-4").await.unwrap().unwrap();
            assert_eq!((settled.size, settled.deleted_by), (7, None));
            let old = expired(&mut tx, Timestamp::from_ms(2000)).await.unwrap();
            assert_eq!(old, [record(1), record(2)]);
            remove(&mut tx, "id-1").await.unwrap().exactly(1).unwrap();
            assert_eq!(remove(&mut tx, "id-1").await.unwrap().rows(), 0);
        }

        async fn every_statement_is_taken(db: Db) {
            qm_db::testing::prepare_all(&db).await;
        }
    }
}
