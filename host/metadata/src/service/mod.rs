//! Use cases of the area.

mod cache;
mod images;
mod keys;
mod lookup;
mod pace;
mod rating;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use qm_db::{Db, DbError};
use qm_kernel::Secret;
use qm_net::Net;
use qm_platform::{Acting, Audit, Ground, Settings};
use qm_ports::metadata::{
    Alone, ExternalId, ImageDetails, ImagesOf, Lookup, LookupKind, Metadata, MetadataChain, ProviderConfig,
    ProviderKind, Providers, Rated, TitleKind, Told, Unsettled,
};

use crate::dto::{ChainsView, ProvidersView, UniversalView};
use crate::error::MetadataError;
use crate::model::{chain, merge};
use crate::settings::{METADATA_PROVIDER_ORDER, UNIVERSAL_SCRAPER, UNIVERSAL_SCRAPER_FIELDS};

use cache::Cache;
use pace::Paces;

pub use keys::{EnvironmentKeys, KeyOf};

/// Dependencies of the area, supplied by the server.
pub struct MetadataDeps {
    pub ground: Ground,
    pub providers: Arc<dyn Providers>,
    /// Keys for providers without a setting.
    pub environment: EnvironmentKeys,
    /// For ratings, which no plugin provides.
    pub net: Net,
}

/// The area.
pub struct MetadataArea {
    db: Db,
    settings: Settings,
    audit: Audit,
    acting: Arc<dyn Acting>,
    providers: Arc<dyn Providers>,
    environment: EnvironmentKeys,
    net: Net,
    cache: Cache,
    paces: Paces,
}

/// A provider with its configuration.
struct Usable {
    kind: ProviderKind,
    config: ProviderConfig,
}

/// Providers and their order, by the present settings.
struct Arrangement {
    order: Vec<String>,
    is_universal: bool,
    fields: BTreeMap<String, String>,
    usable: Vec<Usable>,
}

impl Arrangement {
    fn chain(&self, kind: LookupKind) -> Vec<String> {
        let usable: Vec<ProviderKind> = self.usable.iter().map(|usable| usable.kind.clone()).collect();
        chain::order(kind, &self.order, &usable)
    }

    /// True when answers are merged.
    fn is_merging(&self) -> bool {
        self.is_universal && self.usable.len() > 1
    }

    fn shown(&self, kind: LookupKind) -> Vec<String> {
        if self.is_merging() {
            vec![chain::UNIVERSAL.to_owned()]
        } else {
            self.chain(kind)
        }
    }
}

impl MetadataArea {
    pub fn new(deps: MetadataDeps) -> Arc<Self> {
        Arc::new(Self {
            db: deps.ground.db,
            settings: deps.ground.settings,
            audit: deps.ground.audit,
            acting: deps.ground.acting,
            providers: deps.providers,
            environment: deps.environment,
            net: deps.net,
            cache: Cache::default(),
            paces: Paces::default(),
        })
    }

    async fn arrangement(&self) -> Result<Arrangement, DbError> {
        let mut tx = self.db.begin_read().await?;
        let order = self.settings.get(&mut tx, &METADATA_PROVIDER_ORDER).await?;
        let is_universal = self.settings.get(&mut tx, &UNIVERSAL_SCRAPER).await?;
        let fields = self.settings.get(&mut tx, &UNIVERSAL_SCRAPER_FIELDS).await?;
        let keys = self.keys(&mut tx).await?;
        drop(tx);
        let mut usable = Vec::new();
        for kind in self.providers.providers() {
            let config = keys.config(&kind.id);
            if self
                .providers
                .is_configured(&kind.id, config.clone())
                .await
                .is_ok()
            {
                usable.push(Usable { kind, config });
            }
        }
        let text =
            |(field, provider): (String, serde_json::Value)| Some((field, provider.as_str()?.to_owned()));
        Ok(Arrangement {
            order,
            is_universal,
            fields: fields.into_iter().filter_map(text).collect(),
            usable,
        })
    }

    /// The providers for display.
    pub async fn overview(&self) -> Result<ProvidersView, MetadataError> {
        let all = self.arrangement().await?;
        let (tv, movie) = (all.chain(LookupKind::Tv), all.chain(LookupKind::Movie));
        let mut configured = tv;
        for id in movie
            .into_iter()
            .chain(all.usable.iter().map(|usable| usable.kind.id.clone()))
        {
            if !configured.contains(&id) {
                configured.push(id);
            }
        }
        Ok(ProvidersView {
            configured,
            chains: ChainsView {
                tv: all.shown(LookupKind::Tv),
                movie: all.shown(LookupKind::Movie),
            },
            universal: UniversalView {
                enabled: all.is_universal,
                active: all.is_merging(),
                composable_fields: merge::fields(),
                fields: all.fields,
            },
        })
    }
}

#[async_trait]
impl MetadataChain for MetadataArea {
    async fn chain(&self, kind: LookupKind) -> Result<Vec<String>, Unsettled> {
        let all = self.arrangement().await.map_err(unsettled)?;
        Ok(all.chain(kind))
    }

    async fn details(&self, lookup: &Lookup) -> Result<Told, Unsettled> {
        let all = self.arrangement().await.map_err(unsettled)?;
        Ok(self.look_up(&all, lookup).await)
    }

    async fn details_of(&self, provider: &str, lookup: &Lookup) -> Result<Alone<Box<Metadata>>, Unsettled> {
        let all = self.arrangement().await.map_err(unsettled)?;
        Ok(self.look_up_at(&all, provider, lookup).await)
    }

    async fn own_id(
        &self,
        provider: &str,
        id: &ExternalId,
        kinds: &[TitleKind],
    ) -> Result<Alone<(TitleKind, String)>, Unsettled> {
        let all = self.arrangement().await.map_err(unsettled)?;
        Ok(self.find_at(&all, provider, id, kinds).await)
    }

    async fn images(
        &self,
        provider: &str,
        title: (TitleKind, &str),
        part: ImagesOf,
    ) -> Result<Alone<Vec<ImageDetails>>, Unsettled> {
        let all = self.arrangement().await.map_err(unsettled)?;
        Ok(self.images_at(&all, provider, title, part).await)
    }

    async fn rating(&self, titledb_id: &str) -> Result<Alone<Rated>, Unsettled> {
        let key = self.rating_key().await.map_err(unsettled)?;
        Ok(self.rated(key, titledb_id).await)
    }
}

fn unsettled(error: DbError) -> Unsettled {
    Unsettled(error.to_string())
}

/// A secret as a member of a configuration.
fn member(secret: Option<&Secret>) -> Option<serde_json::Value> {
    secret.map(|secret| secret.expose().into())
}
