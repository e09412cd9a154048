//! Table `media_external_ids`.

use std::collections::HashMap;

use qm_db::{DbError, FromRow, Tx, bulk, sql};

use super::{clean, filled};
use crate::model::external::ExternalId;
use crate::model::item::{Item, MediaFile};

sql! {
    PUT = "INSERT INTO media_external_ids (id, item_id, provider, external_id, url, is_derived) \
        VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (item_id, provider) DO UPDATE SET \
        external_id = excluded.external_id, url = excluded.url, is_derived = excluded.is_derived";
    BETWEEN = "SELECT id, item_id, provider, external_id, url, is_derived FROM media_external_ids \
        WHERE item_id > $1 AND item_id <= $2 ORDER BY item_id, provider";
    FORGET = "DELETE FROM media_external_ids WHERE item_id = $1 AND is_derived";
}

bulk! {
    OF_ITEMS = "SELECT e.id, e.item_id, e.provider, e.external_id, e.url, e.is_derived FROM (VALUES", 1,
        ") w CROSS JOIN media_external_ids e WHERE e.item_id = w.column1";
}

#[derive(FromRow)]
struct Row {
    id: String,
    item_id: String,
    provider: String,
    external_id: String,
    url: Option<String>,
    is_derived: bool,
}

impl From<Row> for ExternalId {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            item_id: row.item_id,
            provider: row.provider,
            value: row.external_id,
            url: row.url,
            is_derived: row.is_derived,
        }
    }
}

/// The ids of items, by the items, each item's by their providers.
pub async fn of_items(tx: &mut Tx, items: &[&str]) -> Result<HashMap<String, Vec<ExternalId>>, DbError> {
    let items = filled(items.iter().copied());
    let rows = qm_db::each!(tx, Row, OF_ITEMS, items, |id| *id).await?;
    let mut found: HashMap<String, Vec<ExternalId>> = HashMap::new();
    for row in rows {
        found.entry(row.item_id.clone()).or_default().push(row.into());
    }
    for ids in found.values_mut() {
        ids.sort_by(|one, other| one.provider.cmp(&other.provider));
    }
    Ok(found)
}

/// The ids of an item, by their providers.
pub async fn of_item(tx: &mut Tx, item: &str) -> Result<Vec<ExternalId>, DbError> {
    Ok(of_items(tx, &[item]).await?.remove(item).unwrap_or_default())
}

/// Adds their ids to items.
pub async fn fill(tx: &mut Tx, items: &mut [(Item, MediaFile)]) -> Result<(), DbError> {
    let ids: Vec<&str> = items.iter().map(|(item, _)| &*item.id).collect();
    let mut found = of_items(tx, &ids).await?;
    for (item, _) in items {
        item.external_ids = found.remove(&item.id).unwrap_or_default();
    }
    Ok(())
}

/// Adds their ids to all items behind `after`, up to the last one of these, which are in the order of their ids.
pub async fn fill_page(tx: &mut Tx, after: &str, items: &mut [(Item, MediaFile)]) -> Result<(), DbError> {
    let Some(last) = items.last().map(|(item, _)| item.id.clone()) else {
        return Ok(());
    };
    let mut found: HashMap<String, Vec<ExternalId>> = HashMap::new();
    for row in qm_db::all!(tx, Row, BETWEEN, after, last).await? {
        found.entry(row.item_id.clone()).or_default().push(row.into());
    }
    for (item, _) in items {
        item.external_ids = found.remove(&item.id).unwrap_or_default();
    }
    Ok(())
}

/// Stores the id of an item at a provider; there is one a provider.
pub async fn put(tx: &mut Tx, of: &ExternalId) -> Result<(), DbError> {
    qm_db::exec!(
        tx,
        PUT,
        &of.id,
        &of.item_id,
        clean(&of.provider),
        clean(&of.value),
        of.url.as_deref().map(clean),
        of.is_derived
    )
    .await?
    .exactly(1)
}

/// Deletes the ids of an item that were derived from its name.
pub async fn forget_derived(tx: &mut Tx, item: &str) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, FORGET, item).await?;
    Ok(())
}
