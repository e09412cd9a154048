//! Additions to the metadata of an item: its rating from the data set of titles, and its id at a provider that finds titles
//! by ids of that data set. Where the data set has no rating, a provider of ratings is asked.
//!
//! All questions are asked outside of any transaction. The answers are stored together with the other metadata, if the item
//! still has the id that was asked about. They are additions: a provider that cannot be asked leaves the item as it is.

use qm_db::Tx;
use qm_kernel::{Permission, as_error};
use qm_media::LibraryError;
use qm_media::model::external::{self, PROVIDER_A, TITLEDB};
use qm_media::model::item::Item;
use qm_media::model::metadata::ItemMetadata;
use qm_media::model::titles::{TitledNews, is_series};
use qm_media::repo;
use qm_platform::AuditEntry;
use qm_ports::metadata::{Alone, ExternalId, Metadata, Rated, TitleKind, Unsettled};
use qm_ports::titledb::TitleRecord;
use qm_realtime::Room;
use serde_json::json;

use super::Identification;

/// Action in the audit trail.
pub(super) const ADDED: &str = "media.titledb.enrichment.completed";

/// Additions to an item with this id in the data set.
#[derive(Clone, Debug, Default)]
pub(super) struct Crossed {
    pub titledb_id: String,
    rated: Option<Rated>,
    /// Its kind and its id at the provider.
    own: Option<(TitleKind, String)>,
}

/// Additions that were stored.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Added {
    titledb_id: String,
    rating: Option<f64>,
    own: Option<String>,
}

impl Added {
    fn is_any(&self) -> bool {
        self.rating.is_some() || self.own.is_some()
    }
}

/// The answer, if there is one. `not_asked` is the log message for a silent or failed provider.
fn answer_of<T>(answer: Result<Alone<T>, Unsettled>, titledb_id: &str, not_asked: &str) -> Option<T> {
    match answer {
        Ok(Alone::Told(told)) => Some(told),
        Ok(Alone::Unknown | Alone::Unsure(_) | Alone::Nobody) => None,
        Ok(Alone::Silent(silent)) => {
            tracing::info!(titledb_id, why = &*silent.reason, "{not_asked}");
            None
        }
        Err(error) => {
            let error = as_error(&error);
            tracing::warn!(titledb_id, error, "{not_asked}");
            None
        }
    }
}

impl Identification {
    /// Asks for additions to an item that providers described; `None`: it has no id in the data set.
    pub(super) async fn cross_told(
        &self,
        item_id: &str,
        told: &Metadata,
    ) -> Result<Option<Crossed>, LibraryError> {
        let stored = repo::external::of_item(&mut self.db.begin_read().await?, item_id).await?;
        let stored_at = |source: &str| stored.iter().find(|id| id.provider == source);
        let told_by = |source: &str| told.ids.iter().find(|id| id.source == source);
        let id = stored_at(TITLEDB).map(|id| &id.value);
        let Some(id) = id.or(told_by(TITLEDB).map(|id| &id.id)) else {
            return Ok(None);
        };
        let title = match self.titles.title(id).await {
            Ok(title) => title,
            Err(error) => {
                let error = as_error(&error);
                tracing::warn!(item = item_id, error, "no rating was looked for");
                None
            }
        };
        let has_own = stored_at(PROVIDER_A).is_some() || told_by(PROVIDER_A).is_some();
        Ok(Some(self.cross(id, title.as_ref(), has_own).await))
    }

    /// Asks for additions by an id of the data set. `title`: its record of that id.
    pub(super) async fn cross(&self, id: &str, title: Option<&TitleRecord>, has_own: bool) -> Crossed {
        let own = if has_own { None } else { self.own_id_of(id).await };
        let is_series = title.is_some_and(|title| is_series(&title.kind));
        let rated = match title.and_then(|title| title.rating) {
            Some(rating) => Some(Rated { rating, is_series }),
            None => self.rating_of(id).await.map(|rated| Rated {
                is_series: is_series || rated.is_series,
                ..rated
            }),
        };
        Crossed {
            titledb_id: id.to_owned(),
            rated,
            own,
        }
    }

    async fn rating_of(&self, titledb_id: &str) -> Option<Rated> {
        let rated = self.metadata.rating(titledb_id).await;
        answer_of(rated, titledb_id, "a rating was not looked up")
    }

    async fn own_id_of(&self, titledb_id: &str) -> Option<(TitleKind, String)> {
        let id = ExternalId {
            source: TITLEDB.to_owned(),
            id: titledb_id.to_owned(),
        };
        let kinds = [TitleKind::Movie, TitleKind::Show];
        let own = self.metadata.own_id(PROVIDER_A, &id, &kinds).await;
        answer_of(own, titledb_id, "an id was not looked for at a provider")
    }

    /// Adds the findings to an item and its metadata, which the caller stores; `None`: it has another id by now.
    pub(super) async fn add_crossed(
        &self,
        tx: &mut Tx,
        item: &Item,
        metadata: &mut ItemMetadata,
        crossed: Crossed,
    ) -> Result<Option<Added>, LibraryError> {
        let ids = repo::external::of_item(tx, &item.id).await?;
        let has = |provider: &str| ids.iter().find(|id| id.provider == provider);
        if has(TITLEDB).is_none_or(|id| id.value != crossed.titledb_id) {
            return Ok(None);
        }
        let mut added = Added {
            titledb_id: crossed.titledb_id,
            ..Added::default()
        };
        if let Some(Rated { rating, is_series }) = crossed.rated
            // An episode does not take the rating of its series.
            && !(is_series && item.episode.is_some())
            && metadata.rate(rating, TITLEDB)
        {
            added.rating = Some(rating);
        }
        if let (Some((kind, own)), None) = (crossed.own, has(PROVIDER_A)) {
            let id = external::ExternalId {
                id: self.ctx.id(),
                item_id: item.id.clone(),
                provider: PROVIDER_A.to_owned(),
                url: external::page(PROVIDER_A, &own, kind == TitleKind::Show),
                value: own.clone(),
                is_derived: true,
            };
            repo::external::put(tx, &id).await?;
            added.own = Some(own);
        }
        Ok(Some(added))
    }

    /// Sends a realtime event about the additions once they are stored.
    pub(super) fn tell_added(&self, tx: &mut Tx, item_id: &str, added: &Added) {
        let (hub, at) = (self.hub.clone(), self.ctx.now());
        let (item_id, added) = (item_id.to_owned(), added.clone());
        tx.after_commit(move || {
            let news = TitledNews {
                item_id: &item_id,
                titledb_id: &added.titledb_id,
                status: if added.is_any() { "enriched" } else { "unchanged" },
                at,
            };
            let room = Room::Perm(Permission::MediaManagerTitledbView);
            hub.emit_json(room, "titledb.enrichment.completed", &news);
        });
    }

    /// Records the additions in the audit trail. `entry`: [`ADDED`], with the person who asked for the item.
    pub(super) async fn note_added(
        &self,
        tx: &mut Tx,
        entry: AuditEntry<'_>,
        item_id: &str,
        added: &Added,
    ) -> Result<(), LibraryError> {
        if !added.is_any() {
            return Ok(());
        }
        let entry = AuditEntry {
            object_type: Some("media_item"),
            object_id: Some(item_id.to_owned()),
            metadata: Some(json!({
                "titledbId": added.titledb_id, "rating": added.rating, "providerAId": added.own,
            })),
            ..entry
        };
        Ok(self.audit.record(tx, entry).await?)
    }
}
