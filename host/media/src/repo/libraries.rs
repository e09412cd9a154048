//! Table `media_libraries`.

use qm_db::{DbError, FromRow, Tx, sql};
use qm_kernel::Timestamp;

use super::clean;
use crate::model::library::{Kind, MediaLibrary, Mode, Preset};

macro_rules! columns {
    () => {
        "id, name, kind, path, preset, template, mode, auto_organize, is_enabled, scan_interval_minutes, last_scan_at, \
         watch_enabled, scan_on_startup, nfo_enabled, artwork_enabled, created_at, updated_at, author_id"
    };
}

sql! {
    LIST = concat!("SELECT ", columns!(), " FROM media_libraries ORDER BY created_at, id");
    FIND = concat!("SELECT ", columns!(), " FROM media_libraries WHERE id = $1");
    /// Update that changes nothing: it locks the row against other writers.
    HOLD = "UPDATE media_libraries SET path = path WHERE id = $1 AND path = $2 AND kind = $3";
    COUNT = "SELECT COUNT(*) FROM media_libraries";
    INSERT = concat!("INSERT INTO media_libraries (", columns!(), ") \
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)");
    UPDATE = "UPDATE media_libraries SET name = $2, kind = $3, path = $4, preset = $5, template = $6, mode = $7, \
        auto_organize = $8, is_enabled = $9, scan_interval_minutes = $10, watch_enabled = $11, scan_on_startup = $12, \
        nfo_enabled = $13, artwork_enabled = $14, updated_at = $15, author_id = $16 WHERE id = $1";
    SCANNED = "UPDATE media_libraries SET last_scan_at = $3 WHERE id = $1 AND path = $2";
    UNSCANNED = "UPDATE media_libraries SET last_scan_at = NULL WHERE id = $1";
    DELETE = "DELETE FROM media_libraries WHERE id = $1";
    COUNTS = "SELECT library_id, COUNT(*) FROM media_items GROUP BY library_id";
}

#[derive(FromRow)]
struct Row {
    id: String,
    name: String,
    kind: String,
    path: String,
    preset: String,
    template: Option<String>,
    mode: String,
    auto_organize: bool,
    is_enabled: bool,
    scan_interval_minutes: Option<i64>,
    last_scan_at: Option<i64>,
    watch_enabled: bool,
    scan_on_startup: bool,
    nfo_enabled: bool,
    artwork_enabled: bool,
    created_at: i64,
    updated_at: i64,
    author_id: Option<String>,
}

impl From<Row> for MediaLibrary {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            name: row.name,
            // The table holds no others.
            kind: Kind::from_word(&row.kind).unwrap_or(Kind::General),
            path: row.path,
            preset: Preset::from_word(&row.preset).unwrap_or(Preset::Custom),
            template: row.template,
            mode: Mode::from_word(&row.mode).unwrap_or(Mode::Hardlink),
            auto_organize: row.auto_organize,
            is_enabled: row.is_enabled,
            scan_interval_minutes: row.scan_interval_minutes,
            last_scan_at: row.last_scan_at.map(Timestamp::from_ms),
            watch_enabled: row.watch_enabled,
            scan_on_startup: row.scan_on_startup,
            nfo_enabled: row.nfo_enabled,
            artwork_enabled: row.artwork_enabled,
            created_at: Timestamp::from_ms(row.created_at),
            updated_at: Timestamp::from_ms(row.updated_at),
            author: row.author_id,
        }
    }
}

/// Every library, the oldest first.
pub async fn all(tx: &mut Tx) -> Result<Vec<MediaLibrary>, DbError> {
    let rows = qm_db::all!(tx, Row, LIST).await?;
    Ok(rows.into_iter().map(MediaLibrary::from).collect())
}

pub async fn find(tx: &mut Tx, id: &str) -> Result<Option<MediaLibrary>, DbError> {
    Ok(qm_db::opt!(tx, Row, FIND, id).await?.map(MediaLibrary::from))
}

/// True if a library still has the same directory and kind; its row is then locked until the transaction ends.
pub async fn hold(tx: &mut Tx, library: &MediaLibrary) -> Result<bool, DbError> {
    let held = qm_db::exec!(tx, HOLD, &library.id, &library.path, library.kind.as_str()).await?;
    Ok(held.rows() > 0)
}

pub async fn count(tx: &mut Tx) -> Result<u64, DbError> {
    Ok(qm_db::value!(tx, i64, COUNT).await?.unsigned_abs())
}

/// Number of items by library; libraries without items are left out.
pub async fn item_counts(tx: &mut Tx) -> Result<Vec<(String, i64)>, DbError> {
    qm_db::all!(tx, (String, i64), COUNTS).await
}

pub async fn insert(tx: &mut Tx, library: &MediaLibrary) -> Result<(), DbError> {
    qm_db::exec!(
        tx,
        INSERT,
        &library.id,
        clean(&library.name),
        library.kind.as_str(),
        &library.path,
        library.preset.as_str(),
        library.template.as_deref().map(clean),
        library.mode.as_str(),
        library.auto_organize,
        library.is_enabled,
        library.scan_interval_minutes,
        library.last_scan_at.map(Timestamp::ms),
        library.watch_enabled,
        library.scan_on_startup,
        library.nfo_enabled,
        library.artwork_enabled,
        library.created_at.ms(),
        library.updated_at.ms(),
        library.author.as_deref(),
    )
    .await?
    .exactly(1)
}

pub async fn update(tx: &mut Tx, library: &MediaLibrary) -> Result<(), DbError> {
    qm_db::exec!(
        tx,
        UPDATE,
        &library.id,
        clean(&library.name),
        library.kind.as_str(),
        &library.path,
        library.preset.as_str(),
        library.template.as_deref().map(clean),
        library.mode.as_str(),
        library.auto_organize,
        library.is_enabled,
        library.scan_interval_minutes,
        library.watch_enabled,
        library.scan_on_startup,
        library.nfo_enabled,
        library.artwork_enabled,
        library.updated_at.ms(),
        library.author.as_deref(),
    )
    .await?
    .exactly(1)
}

/// Stores that a scan of `path` is complete; does nothing if the library has another path now.
pub async fn scanned(tx: &mut Tx, id: &str, path: &str, at: Timestamp) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, SCANNED, id, path, at.ms()).await?;
    Ok(())
}

/// Clears the time of a library's last scan, as nothing is known of its contents.
pub async fn unscanned(tx: &mut Tx, id: &str) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, UNSCANNED, id).await?;
    Ok(())
}

/// Deletes a library whose items are deleted already, except a few that a scan added meanwhile.
pub async fn delete(tx: &mut Tx, id: &str) -> Result<bool, DbError> {
    Ok(qm_db::exec!(tx, DELETE, id).await?.rows() == 1)
}
