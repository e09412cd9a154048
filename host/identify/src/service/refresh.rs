//! Metadata of a show from a provider, on request.
//!
//! One provider is asked, outside of any transaction. Its answer is stored in one, if the show is unchanged: an interruption
//! leaves it as it was.

use qm_db::Tx;
use qm_kernel::{Caller, Permission};
use qm_media::LibraryError;
use qm_media::model::details::{Refreshed, ShowMetadata};
use qm_media::model::external::{PROVIDER_A, PROVIDER_B, TITLEDB};
use qm_media::model::show::Show;
use qm_media::repo;
use qm_media::service::find::show as find_show;
use qm_platform::{AuditResult, judge_alone};
use qm_ports::metadata::{Alone, ExternalId, Lookup, LookupKind, Metadata};
use serde_json::{Value, json};

use super::Identification;
use super::metadata::reasons;

impl Identification {
    /// Asks a provider about a show: by its id there, else by its id in the data set of titles, else by title and year. An
    /// answer about another show is dropped.
    pub async fn refresh_show(&self, caller: Caller<'_>, id: &str) -> Result<Refreshed, LibraryError> {
        let needed = [Permission::MediaManagerEditMetadata];
        judge_alone(&*self.rights.acting, &self.db, caller.principal, &needed).await?;
        let question = question(&find_show(&mut self.db.begin_read().await?, id).await?);
        let said = self.metadata.details_of(PROVIDER_A, &question).await?;
        let mut tx = self.db.begin_write().await?;
        let actor = self.may_edit(&mut tx, caller).await?;
        repo::details::hold(&mut tx, id).await?;
        let show = find_show(&mut tx, id).await?;
        if self::question(&show) != question {
            return Err(LibraryError::ShowChanged);
        }
        let refreshed = match said {
            Alone::Told(told) => Ok(self.store_show(&mut tx, show.clone(), *told).await?),
            Alone::Unknown => Ok(Refreshed::NotFound(Vec::new())),
            Alone::Unsure(suggested) => Ok(Refreshed::NotFound(suggested)),
            Alone::Nobody => return Ok(Refreshed::NoProvider),
            Alone::Silent(silent) => Err(LibraryError::Silent(reasons(&[silent]))),
        };
        let mut entry = actor.entry("media.show.metadata_refresh", caller.client);
        let reason = reason(&refreshed);
        if reason.is_some() {
            entry.result = AuditResult::Failure;
        }
        let mut told = json!({ "provider": PROVIDER_A });
        if let Some(reason) = reason {
            told["reason"] = reason;
        }
        self.note_about(&mut tx, entry, &show, told).await?;
        // Committed after a failure too: only the audit was written before it.
        tx.commit().await?;
        refreshed
    }

    async fn store_show(
        &self,
        tx: &mut Tx,
        mut show: Show,
        told: Metadata,
    ) -> Result<Refreshed, LibraryError> {
        let id_at = |source: &str| {
            let id = told.ids.iter().find(|id| id.source == source);
            id.map(|id| id.id.clone())
        };
        let (own, second, titledb) = (id_at(PROVIDER_A), id_at(PROVIDER_B), id_at(TITLEDB));
        if let (Some(known), Some(other)) = (&show.titledb_id, &titledb)
            && known != other
        {
            return Ok(Refreshed::Other {
                title: told.title,
                titledb_id: other.clone(),
            });
        }
        let now = self.ctx.now();
        let stored = repo::details::metadata(tx, &show.id).await?;
        let mut metadata = stored.unwrap_or_else(|| ShowMetadata::new(self.ctx.id(), show.id.clone(), now));
        metadata.hear(told, now);
        repo::details::put_metadata(tx, &metadata).await?;
        let before = show.clone();
        show.provider_a_id = show.provider_a_id.or(own);
        show.provider_b_id = show.provider_b_id.or(second);
        show.titledb_id = show.titledb_id.or(titledb);
        if before != show {
            show.updated_at = now;
            repo::details::identify(tx, &show).await?;
        }
        if let (None, Some(series)) = (before.titledb_id, &show.titledb_id) {
            repo::shows::join_series(tx, &show, series, None, now).await?;
        }
        Ok(Refreshed::Told(show.provider_a_id))
    }
}

/// Question to a provider about a show.
fn question(show: &Show) -> Lookup {
    let ids = [
        (PROVIDER_A, &show.provider_a_id),
        (PROVIDER_B, &show.provider_b_id),
        (TITLEDB, &show.titledb_id),
    ];
    let ids = ids.into_iter().filter_map(|(source, id)| {
        let id = id.clone()?;
        let source = source.to_owned();
        Some(ExternalId { source, id })
    });
    Lookup {
        kind: if show.media_type == "anime" {
            LookupKind::Anime
        } else {
            LookupKind::Tv
        },
        title: show.title.clone(),
        year: show.year.and_then(|year| u32::try_from(year).ok()),
        season: None,
        episode: None,
        ids: ids.collect(),
    }
}

/// Reason why nothing was stored.
fn reason(refreshed: &Result<Refreshed, LibraryError>) -> Option<Value> {
    match refreshed {
        Ok(Refreshed::Told(_)) => None,
        Ok(Refreshed::NoProvider) => Some("no_provider".into()),
        Ok(Refreshed::NotFound(_)) => Some("not_found".into()),
        Ok(Refreshed::Other { .. }) => Some("identity_mismatch".into()),
        Err(error) => Some(error.to_string().into()),
    }
}
