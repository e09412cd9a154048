//! Table `media_name_presets`.

use qm_db::{DbError, FromRow, Json, Tx, sql};
use qm_kernel::Timestamp;
use qm_rename_plan::Preset;

use crate::model::{OwnTemplates, StoredPreset};

sql! {
    ALL = "SELECT id, name, base, templates, created_at, updated_at FROM media_name_presets ORDER BY name, id";
    FIND = "SELECT id, name, base, templates, created_at, updated_at FROM media_name_presets WHERE id = $1";
    COUNT = "SELECT count(*) FROM media_name_presets";
    ADD = "INSERT INTO media_name_presets (id, name, base, templates, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6)";
    CHANGE = "UPDATE media_name_presets SET name = $2, base = $3, templates = $4, updated_at = $5 WHERE id = $1";
    REMOVE = "DELETE FROM media_name_presets WHERE id = $1";
}

#[derive(FromRow)]
struct Row {
    id: String,
    name: String,
    base: String,
    templates: Json<OwnTemplates>,
    created_at: i64,
    updated_at: i64,
}

impl From<Row> for StoredPreset {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            name: row.name,
            // The table holds no others.
            base: Preset::from_word(&row.base).unwrap_or_default(),
            own: row.templates.0,
            created_at: Timestamp::from_ms(row.created_at),
            updated_at: Timestamp::from_ms(row.updated_at),
        }
    }
}

/// Stored presets, in the order of their names.
pub async fn all(tx: &mut Tx) -> Result<Vec<StoredPreset>, DbError> {
    let rows = qm_db::all!(tx, Row, ALL).await?;
    Ok(rows.into_iter().map(StoredPreset::from).collect())
}

pub async fn find(tx: &mut Tx, id: &str) -> Result<Option<StoredPreset>, DbError> {
    Ok(qm_db::opt!(tx, Row, FIND, id).await?.map(StoredPreset::from))
}

pub async fn count(tx: &mut Tx) -> Result<u64, DbError> {
    let count: i64 = qm_db::value!(tx, i64, COUNT).await?;
    Ok(count.unsigned_abs())
}

pub async fn add(tx: &mut Tx, preset: &StoredPreset) -> Result<(), DbError> {
    let (id, name, base, templates) = (&preset.id, &preset.name, preset.base.as_str(), Json(&preset.own));
    let (created_at, updated_at) = (preset.created_at.ms(), preset.updated_at.ms());
    qm_db::exec!(tx, ADD, id, name, base, templates, created_at, updated_at)
        .await?
        .exactly(1)
}

pub async fn change(tx: &mut Tx, preset: &StoredPreset) -> Result<(), DbError> {
    let (id, name, base, templates) = (&preset.id, &preset.name, preset.base.as_str(), Json(&preset.own));
    let updated_at = preset.updated_at.ms();
    qm_db::exec!(tx, CHANGE, id, name, base, templates, updated_at)
        .await?
        .exactly(1)
}

pub async fn remove(tx: &mut Tx, id: &str) -> Result<(), DbError> {
    qm_db::exec!(tx, REMOVE, id).await?.exactly(1)
}
