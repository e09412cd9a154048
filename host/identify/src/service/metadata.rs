//! Metadata of items: asked of providers, or entered by people.

use qm_db::Tx;
use qm_kernel::{Caller, Permission};
use qm_media::LibraryError;
use qm_media::model::external::{self, TITLEDB};
use qm_media::model::item::Item;
use qm_media::model::metadata::{ItemMetadata, MetadataEdit, lookup, question};
use qm_media::repo;
use qm_media_names::place;
use qm_platform::{Actor, AuditEntry, AuditResult, judge_alone};
use qm_ports::metadata::{ExternalId, Lookup, Silent, Told};
use serde_json::{Value, json};

use super::Identification;
use super::cross::{ADDED, Added, Crossed};

/// Answer of providers about an item, with the question.
pub(super) struct Heard {
    asked: Lookup,
    pub told: Told,
    /// True if there was a provider to ask.
    was_asked: bool,
    crossed: Option<Crossed>,
}

impl Heard {
    /// True if it answers this question.
    pub fn is_about(&self, question: &Lookup) -> bool {
        self.asked == *question
    }
}

impl Identification {
    /// Asks providers about an item; the caller stores the answer afterwards. No transaction is open meanwhile.
    pub(super) async fn ask_chain(&self, id: &str, asked: Lookup) -> Result<Heard, LibraryError> {
        let told = self.metadata.details(&asked).await?;
        let was_asked = !self.metadata.chain(asked.kind).await?.is_empty();
        let crossed = match &told.metadata {
            Some(metadata) => self.cross_told(id, metadata).await?,
            None => None,
        };
        Ok(Heard {
            asked,
            told,
            was_asked,
            crossed,
        })
    }

    /// Asks providers for metadata of an item, outside of any transaction. The answer is stored in one, if the item is
    /// unchanged: an interruption leaves it as it was.
    pub async fn fetch_metadata(&self, caller: Caller<'_>, id: &str) -> Result<ItemMetadata, LibraryError> {
        let needed = [Permission::MediaManagerEditMetadata];
        judge_alone(&*self.rights.acting, &self.db, caller.principal, &needed).await?;
        let (_, question) = asked(&mut self.db.begin_read().await?, id).await?;
        let heard = self.ask_chain(id, question).await?;
        let mut tx = self.db.begin_write().await?;
        let actor = self.may_describe(&mut tx, caller).await?;
        let entry = |action| actor.entry(action, caller.client);
        self.store_audited(tx, id, heard, entry).await
    }

    /// Asks providers for metadata of an item, for a rule of automation and without a user.
    pub(super) async fn fetch_for_a_rule(&self, id: &str) -> Result<ItemMetadata, LibraryError> {
        let (_, question) = asked(&mut self.db.begin_read().await?, id).await?;
        let heard = self.ask_chain(id, question).await?;
        let tx = self.db.begin_write().await?;
        let entry = |action| AuditEntry {
            action,
            ..AuditEntry::default()
        };
        self.store_audited(tx, id, heard, entry).await
    }

    /// Stores an answer, with rows of the audit trail that name the sources and the silent providers. `entry` starts a row.
    async fn store_audited<'a>(
        &self,
        mut tx: Tx,
        id: &str,
        heard: Heard,
        entry: impl Fn(&'static str) -> AuditEntry<'a>,
    ) -> Result<ItemMetadata, LibraryError> {
        let (silent, is_told) = (heard.told.silent.clone(), heard.told.metadata.is_some());
        let stored = self.store_heard(&mut tx, id, heard).await;
        if let Err(error @ LibraryError::Database(_)) = stored {
            return Err(error);
        }
        for silent in &silent {
            let said = json!({ "provider": silent.provider, "reason": silent.reason });
            let mut entry = entry("media.metadata.fetch_failed");
            entry.result = AuditResult::Failure;
            self.note_metadata(&mut tx, entry, id, said).await?;
        }
        if let Ok((metadata, added)) = &stored {
            let said = json!({ "provider": metadata.provider_name, "matched": is_told });
            self.note_metadata(&mut tx, entry("media.metadata.fetch"), id, said)
                .await?;
            if let Some(added) = added {
                self.note_added(&mut tx, entry(ADDED), id, added).await?;
            }
        }
        // Committed after a refusal too: only the audit was written before it.
        tx.commit().await?;
        Ok(stored?.0)
    }

    /// Stores the answer of providers about an item, unless the item has changed or no provider answered.
    pub(super) async fn store_heard(
        &self,
        tx: &mut Tx,
        id: &str,
        heard: Heard,
    ) -> Result<(ItemMetadata, Option<Added>), LibraryError> {
        let Heard {
            asked: asked_before,
            told,
            was_asked,
            crossed,
        } = heard;
        repo::metadata::hold(tx, id).await?;
        let (item, asked) = asked(tx, id).await?;
        if asked != asked_before {
            return Err(LibraryError::Changed);
        }
        if told.metadata.is_none() && !told.silent.is_empty() {
            return Err(LibraryError::Silent(reasons(&told.silent)));
        }
        let now = self.ctx.now();
        let stored = repo::metadata::find(tx, id).await?;
        let mut metadata = stored.unwrap_or_else(|| ItemMetadata::new(self.ctx.id(), &item, now));
        let ids = told
            .metadata
            .as_ref()
            .map(|told| told.ids.clone())
            .unwrap_or_default();
        metadata.hear(&item, &question(&asked), told, was_asked, now);
        self.store_ids(tx, &item, ids, asked.kind.is_show()).await?;
        let mut added = None;
        if let Some(crossed) = crossed {
            added = self.add_crossed(tx, &item, &mut metadata, crossed).await?;
        }
        repo::metadata::put(tx, &metadata).await?;
        if let Some(added) = &added {
            self.tell_added(tx, id, added);
        }
        Ok((metadata, added))
    }

    /// Stores outside ids of an item. Ids from people stay, and the id of an episode is not replaced by that of its series.
    async fn store_ids(
        &self,
        tx: &mut Tx,
        item: &Item,
        ids: Vec<ExternalId>,
        is_show: bool,
    ) -> Result<(), LibraryError> {
        let stored = repo::external::of_item(tx, &item.id).await?;
        for id in ids {
            let before = stored.iter().find(|stored| stored.provider == id.source);
            if before.is_some_and(|before| !before.is_derived || (is_show && id.source == TITLEDB)) {
                continue;
            }
            let kept = external::ExternalId {
                id: self.ctx.id(),
                item_id: item.id.clone(),
                url: external::page(&id.source, &id.id, is_show),
                provider: id.source,
                value: id.id,
                is_derived: true,
            };
            repo::external::put(tx, &kept).await?;
        }
        Ok(())
    }

    /// Stores changes of a person to the metadata of an item. From then on no provider changes these fields.
    pub async fn describe_item(
        &self,
        caller: Caller<'_>,
        id: &str,
        edit: MetadataEdit,
    ) -> Result<ItemMetadata, LibraryError> {
        let mut tx = self.db.begin_write().await?;
        let actor = self.may_describe(&mut tx, caller).await?;
        repo::metadata::hold(&mut tx, id).await?;
        let (item, _) = asked(&mut tx, id).await?;
        let now = self.ctx.now();
        let stored = repo::metadata::find(&mut tx, id).await?;
        let mut metadata = stored.unwrap_or_else(|| ItemMetadata::new(self.ctx.id(), &item, now));
        metadata.take(edit, now);
        repo::metadata::put(&mut tx, &metadata).await?;
        let said = json!({ "title": metadata.title, "year": metadata.year });
        let entry = actor.entry("media.metadata.update", caller.client);
        self.note_metadata(&mut tx, entry, id, said).await?;
        tx.commit().await?;
        Ok(metadata)
    }

    async fn may_describe(&self, tx: &mut Tx, caller: Caller<'_>) -> Result<Actor, LibraryError> {
        self.rights
            .judge(tx, caller, Permission::MediaManagerEditMetadata)
            .await
    }

    async fn note_metadata(
        &self,
        tx: &mut Tx,
        mut entry: AuditEntry<'_>,
        id: &str,
        said: Value,
    ) -> Result<(), LibraryError> {
        entry.object_type = Some("media_item");
        entry.object_id = Some(id.to_owned());
        entry.metadata = Some(said);
        Ok(self.audit.record(tx, entry).await?)
    }
}

/// An item, and the question to providers about it.
pub(super) async fn asked(tx: &mut Tx, id: &str) -> Result<(Item, Lookup), LibraryError> {
    let found = repo::lists::find(tx, id).await?;
    let (item, _) = found.ok_or(LibraryError::NoSuchItem)?;
    let id = |source: &str, id: String| ExternalId {
        source: source.to_owned(),
        id,
    };
    let mut ids: Vec<ExternalId> = Vec::new();
    if matches!(&*item.media_type, "tv" | "anime" | "episode") {
        let (show, is_below) = place::top(&item.place);
        let known = repo::metadata::ids_of_show(tx, &item.library_id, &show).await?;
        let known = if is_below { known } else { [None, None, None] };
        let [a, b, titledb] = known;
        for (source, known) in [
            (external::PROVIDER_A, a),
            (external::PROVIDER_B, b),
            (TITLEDB, item.series_titledb_id.clone().or(titledb)),
        ] {
            ids.extend(known.map(|known| id(source, known)));
        }
    } else {
        // Ids that providers found by the title are left out, as they are found again.
        let said = repo::external::of_item(tx, &item.id).await?.into_iter();
        let said = said.filter(|id| !id.is_derived);
        ids.extend(said.map(|said| id(&said.provider, said.value)));
        if ids.iter().all(|id| id.source != TITLEDB) {
            let found = repo::metadata::found_id(tx, &item.id).await?;
            ids.extend(found.map(|found| id(TITLEDB, found)));
        }
    }
    let lookup = lookup(&item, ids);
    Ok((item, lookup))
}

pub(super) fn reasons(silent: &[Silent]) -> String {
    let each = silent
        .iter()
        .map(|one| format!("{}: {}", one.provider, one.reason));
    each.collect::<Vec<_>>().join("; ")
}
