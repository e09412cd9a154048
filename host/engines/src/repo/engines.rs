//! Table `torrent_engines`. A row that is marked as deleted is known to [`super::retire`] alone.

use std::collections::HashMap;

use qm_db::{Affected, DbError, FromRow, Json, Tx, sql};
use qm_kernel::Timestamp;
use serde_json::{Map, Value};

use crate::model::mappings::PathMapping;
use crate::model::stored::EngineRow;

sql! {
    LIST = "SELECT id, name, kind, config, secret_fields, path_mappings, is_default, is_enabled FROM torrent_engines \
        WHERE deleted_at IS NULL ORDER BY created_at, id";
    FIND = "SELECT id, name, kind, config, secret_fields, path_mappings, is_default, is_enabled FROM torrent_engines \
        WHERE id = $1 AND deleted_at IS NULL";
    HOLD = "UPDATE torrent_engines SET is_enabled = is_enabled WHERE id = $1 AND deleted_at IS NULL";
    IS_THERE = "SELECT COUNT(*) FROM torrent_engines WHERE id = $1 AND deleted_at IS NULL";
    INSERT = "INSERT INTO torrent_engines \
        (id, name, kind, config, secret_fields, path_mappings, is_default, is_enabled, created_at, updated_at) \
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9)";
    UPDATE = "UPDATE torrent_engines SET name = $2, config = $3, secret_fields = $4, path_mappings = $5, \
        is_default = $6, is_enabled = $7, updated_at = $8 WHERE id = $1 AND deleted_at IS NULL";
    CLEAR_DEFAULT = "UPDATE torrent_engines SET is_default = $1 WHERE is_default = $2";
    DELETE = "UPDATE torrent_engines SET deleted_at = $2, updated_at = $2, config = '{}', secret_fields = '[]', \
        path_mappings = '[]', rows_mapped_by = '[]', \
        is_default = $3, is_enabled = $3 WHERE id = $1 AND deleted_at IS NULL";
    ROWS_MAPPED_BY = "SELECT id, rows_mapped_by FROM torrent_engines WHERE deleted_at IS NULL ORDER BY id";
    SET_ROWS_MAPPED_BY = "UPDATE torrent_engines SET rows_mapped_by = $2 WHERE id = $1 AND deleted_at IS NULL";
    DROP_MOVES = "DELETE FROM torrent_moves WHERE engine_id = $1";
}

#[derive(FromRow)]
struct Row {
    id: String,
    name: String,
    kind: String,
    config: Json<Map<String, Value>>,
    secret_fields: Json<Vec<String>>,
    path_mappings: Json<Vec<PathMapping>>,
    is_default: bool,
    is_enabled: bool,
}

impl From<Row> for EngineRow {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            name: row.name,
            kind: row.kind,
            config: row.config.0,
            secret_fields: row.secret_fields.0,
            path_mappings: row.path_mappings.0,
            is_default: row.is_default,
            is_enabled: row.is_enabled,
        }
    }
}

/// All engines, oldest first.
pub async fn list(tx: &mut Tx) -> Result<Vec<EngineRow>, DbError> {
    Ok(qm_db::all!(tx, Row, LIST)
        .await?
        .into_iter()
        .map(EngineRow::from)
        .collect())
}

pub async fn find(tx: &mut Tx, id: &str) -> Result<Option<EngineRow>, DbError> {
    Ok(qm_db::opt!(tx, Row, FIND, id).await?.map(EngineRow::from))
}

/// Has every other transaction that holds the engine wait for this one. No row: there is no such engine.
pub async fn hold(tx: &mut Tx, id: &str) -> Result<Affected, DbError> {
    qm_db::exec!(tx, HOLD, id).await
}

pub async fn insert(tx: &mut Tx, engine: &EngineRow, now: Timestamp) -> Result<(), DbError> {
    let (config, secrets) = (Json(&engine.config), Json(&engine.secret_fields));
    let mappings = Json(&engine.path_mappings);
    let (id, name, kind) = (&engine.id, &engine.name, &engine.kind);
    qm_db::exec!(
        tx,
        INSERT,
        id,
        name,
        kind,
        config,
        secrets,
        mappings,
        engine.is_default,
        engine.is_enabled,
        now.ms()
    )
    .await?
    .exactly(1)
}

/// Writes everything but id and kind.
pub async fn update(tx: &mut Tx, engine: &EngineRow, now: Timestamp) -> Result<(), DbError> {
    let (config, secrets) = (Json(&engine.config), Json(&engine.secret_fields));
    let mappings = Json(&engine.path_mappings);
    let (id, name) = (&engine.id, &engine.name);
    qm_db::exec!(
        tx,
        UPDATE,
        id,
        name,
        config,
        secrets,
        mappings,
        engine.is_default,
        engine.is_enabled,
        now.ms()
    )
    .await?
    .exactly(1)
}

/// Leaves no engine the default, so that another can become it.
pub async fn clear_default(tx: &mut Tx) -> Result<(), DbError> {
    qm_db::exec!(tx, CLEAR_DEFAULT, false, true).await.map(drop)
}

/// The mappings by which the paths in the rows of each engine's torrents were made, by the engine's id.
pub async fn rows_mapped_by(tx: &mut Tx) -> Result<HashMap<String, Vec<PathMapping>>, DbError> {
    type Row = (String, Json<Vec<PathMapping>>);
    let rows = qm_db::all!(tx, Row, ROWS_MAPPED_BY).await?;
    Ok(rows
        .into_iter()
        .map(|(id, Json(mappings))| (id, mappings))
        .collect())
}

/// Notes the mappings by which the paths in the rows of an engine's torrents are made from now on.
pub async fn set_rows_mapped_by(tx: &mut Tx, id: &str, mappings: &[PathMapping]) -> Result<(), DbError> {
    qm_db::exec!(tx, SET_ROWS_MAPPED_BY, id, Json(mappings))
        .await
        .map(drop)
}

/// True if an engine is configured, and not deleted.
pub async fn is_there(tx: &mut Tx, id: &str) -> Result<bool, DbError> {
    Ok(qm_db::value!(tx, i64, IS_THERE, id).await? > 0)
}

/// Marks an engine as deleted and forgets what was configured. Its torrents, ledger and archive go later, see
/// [`super::retire`].
pub async fn delete(tx: &mut Tx, id: &str, now: Timestamp) -> Result<Affected, DbError> {
    qm_db::exec!(tx, DROP_MOVES, id).await?.rows();
    qm_db::exec!(tx, DELETE, id, now.ms(), false).await
}
