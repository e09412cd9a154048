//! Table `media_subtitles`.

use qm_db::{DbError, FromRow, Tx, sql};
use qm_kernel::Timestamp;

use super::key_of;
use crate::model::subtitle::{Subtitle, Tag};

sql! {
    OF_ITEM = "SELECT id, item_id, place, language, forced, sdh, by_default, created_at FROM media_subtitles \
        WHERE item_id = $1 ORDER BY language, forced, place, id";
    ADD = "INSERT INTO media_subtitles (id, item_id, place, place_key, language, forced, sdh, by_default, created_at) \
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING";
    REMOVE = "DELETE FROM media_subtitles WHERE id = $1";
}

#[derive(FromRow)]
pub(super) struct Row {
    id: String,
    item_id: String,
    place: String,
    language: String,
    forced: bool,
    sdh: bool,
    by_default: bool,
    created_at: i64,
}

impl From<Row> for Subtitle {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            item_id: row.item_id,
            place: row.place,
            tag: Tag {
                language: row.language,
                forced: row.forced,
                sdh: row.sdh,
                by_default: row.by_default,
            },
            created_at: Timestamp::from_ms(row.created_at),
        }
    }
}

/// Subtitles of an item, by their languages, forced ones last.
pub async fn of_item(tx: &mut Tx, item: &str) -> Result<Vec<Subtitle>, DbError> {
    let rows = qm_db::all!(tx, Row, OF_ITEM, item).await?;
    Ok(rows.into_iter().map(Subtitle::from).collect())
}

/// Adds a file; false if the item has it already.
pub async fn add(tx: &mut Tx, subtitle: &Subtitle) -> Result<bool, DbError> {
    let tag = &subtitle.tag;
    let added = qm_db::exec!(
        tx,
        ADD,
        &subtitle.id,
        &subtitle.item_id,
        &subtitle.place,
        key_of(&subtitle.place),
        &tag.language,
        tag.forced,
        tag.sdh,
        tag.by_default,
        subtitle.created_at.ms(),
    )
    .await?;
    Ok(added.rows() > 0)
}

pub async fn remove(tx: &mut Tx, id: &str) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, REMOVE, id).await?;
    Ok(())
}
