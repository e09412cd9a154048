//! Stored rows that are shown as they stand.

use qm_db::FromRow;

/// A row of `torrent_snapshots`, as it is stored.
#[derive(Clone, Debug, PartialEq, FromRow)]
pub struct SnapshotRow {
    pub id: String,
    pub engine_id: String,
    pub hash: String,
    pub name: String,
    pub state: String,
    pub progress: f64,
    pub size: i64,
    pub downloaded: i64,
    pub uploaded: i64,
    pub ratio: f64,
    pub download_rate: i64,
    pub upload_rate: i64,
    pub save_path: String,
    pub label: Option<String>,
    pub category_id: Option<String>,
    pub added_at: Option<i64>,
    pub completed_at: Option<i64>,
    pub captured_at: i64,
}

/// A category: a label, and where torrents of it are to be saved.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct CategoryRow {
    pub id: String,
    pub name: String,
    pub color: Option<String>,
    pub save_path: Option<String>,
    pub created_at: i64,
}

#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct TagRow {
    pub id: String,
    pub name: String,
    pub color: Option<String>,
    pub created_at: i64,
}
