//! Ids that names and `.nfo` files give for items.

use qm_db::{DbError, Tx};
use qm_media::model::external::{ExternalId, PROVIDER_A, PROVIDER_B, TITLEDB, page};
use qm_media::repo;
use qm_media_names::naming::tag::Ids;

use super::Identification;

impl Identification {
    /// Stores given ids of items, instead of those found by their titles. Ids from people stay.
    pub async fn take_ids(&self, tx: &mut Tx, said: &[(String, Ids)]) -> Result<(), DbError> {
        let items: Vec<&str> = said.iter().map(|(item, _)| &**item).collect();
        if items.is_empty() {
            return Ok(());
        }
        let known = repo::external::of_items(tx, &items).await?;
        for (item, ids) in said {
            let known = known.get(item).map(Vec::as_slice).unwrap_or_default();
            for (provider, value) in [
                (TITLEDB, &ids.titledb),
                (PROVIDER_A, &ids.provider_a),
                (PROVIDER_B, &ids.provider_b),
            ] {
                let Some(value) = value else { continue };
                if known
                    .iter()
                    .any(|known| known.provider == provider && !known.is_derived)
                {
                    continue;
                }
                let id = ExternalId {
                    id: self.ctx.id(),
                    item_id: item.clone(),
                    provider: provider.to_owned(),
                    value: value.clone(),
                    url: page(provider, value, false),
                    is_derived: false,
                };
                repo::external::put(tx, &id).await?;
            }
        }
        Ok(())
    }
}
