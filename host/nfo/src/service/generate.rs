//! Writing of notes.

use qm_kernel::Caller;
use qm_platform::{AuditEntry, judge_alone};
use qm_ports::notes::NotedItem;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::{NEEDED, Nfo};
use crate::error::NfoError;
use crate::lanes::NOTES;
use crate::model::keep::{self, Kept};
use crate::model::text::{compose, list_elements};
use crate::model::{MAX_OF_LIBRARY, Note, NoteKind};
use crate::ops::{self, Target};
use crate::repo;

/// A note with its path, as people see it.
pub type Shown = (Note, String);

impl Nfo {
    /// Writes the note about an item.
    pub async fn generate(&self, caller: Caller<'_>, id: &str, overwrite: bool) -> Result<Shown, NfoError> {
        self.check(caller).await?;
        self.generate_one(caller, id, overwrite).await
    }

    /// Writes the note about an item for a caller who was judged, and who is judged again before each note is stored.
    pub(super) async fn generate_one(
        &self,
        caller: Caller<'_>,
        id: &str,
        overwrite: bool,
    ) -> Result<Shown, NfoError> {
        let item = self.notes.find_noted(id).await?;
        self.write_note(caller, item.ok_or(NfoError::NoSuchItem)?, overwrite)
            .await
    }

    /// Writes the notes about the unlocked items of a library; those that cannot be written are left out.
    pub async fn generate_all(
        &self,
        caller: Caller<'_>,
        library_id: &str,
        overwrite: bool,
    ) -> Result<Vec<Shown>, NfoError> {
        self.check(caller).await?;
        let library = self.notes.find_noted_library(library_id).await?;
        if !library.ok_or(NfoError::NoSuchLibrary)?.nfo_enabled {
            return Err(NfoError::Disabled);
        }
        let ids = self.notes.list_unlocked(library_id, MAX_OF_LIBRARY + 1).await?;
        if ids.len() > MAX_OF_LIBRARY {
            return Err(NfoError::TooLarge);
        }
        let mut written = Vec::new();
        for id in ids {
            match self.generate_one(caller, &id, overwrite).await {
                Ok(shown) => written.push(shown),
                Err(error) if error.is_about_one() => {
                    tracing::debug!(%error, item = id, "a note was not written");
                }
                Err(error) => return Err(error),
            }
        }
        Ok(written)
    }

    /// Refuses a caller who lost the right, before anything is done for them.
    pub(super) async fn check(&self, caller: Caller<'_>) -> Result<(), NfoError> {
        let ground = &self.ground;
        let judged = judge_alone(&*ground.acting, &ground.db, caller.principal, &[NEEDED]);
        Ok(judged.await.map(drop)?)
    }

    async fn write_note(
        &self,
        caller: Caller<'_>,
        item: NotedItem,
        overwrite: bool,
    ) -> Result<Shown, NfoError> {
        if !item.library.nfo_enabled {
            return Err(NfoError::Disabled);
        }
        if item.locked {
            return Err(NfoError::Locked);
        }
        let kind = NoteKind::for_item(&item);
        let target = Target::new(&item.library.path, &item.place, kind);
        let shown = target.shown();
        let (roots, at) = (self.roots.clone(), target.clone());
        let there = NOTES.run(move |_| ops::read(&roots, &at)).await??;
        let mut tx = self.ground.db.begin_read().await?;
        let known = repo::find(&mut tx, &item.id, &target.place).await?;
        drop(tx);
        let old = there.as_ref().map(|there| hash_of(&there.bytes));
        let is_own = |hash: &String| known.as_ref().is_some_and(|known| known.is_own(hash));
        let is_foreign = old.as_ref().is_some_and(|old| !is_own(old));
        let mut kept = Kept::default();
        if let Some(there) = &there {
            if is_foreign && !overwrite {
                return Err(NfoError::Exists(shown));
            }
            if is_foreign {
                self.check_shared(&target)?;
            }
            // One that was written here is kept too: an earlier one may have had elements of others.
            let read = keep::read(&there.bytes, kind);
            kept = read.map_err(|unkept| NfoError::Unkept(shown.clone(), unkept))?;
        }
        let elements = list_elements(&item, kind);
        let text = compose(kind, &elements, &kept);
        let note = Note {
            id: known
                .as_ref()
                .map_or_else(|| self.ground.ctx.ordered_id(), |known| known.id.clone()),
            item_id: item.id,
            kind,
            place: target.place.clone(),
            hash: hash_of(text.as_bytes()),
            earlier: old.filter(|old| is_own(old)),
            generated_at: self.ground.ctx.now(),
        };
        self.store(caller, &note).await?;
        let (roots, at) = (self.roots.clone(), target);
        let writing = NOTES.run(move |_| ops::write(&roots, &at, &text, there.as_ref()));
        if !writing.await?? {
            return Err(NfoError::Changed(shown));
        }
        Ok((note, shown))
    }

    /// Stores what is about to be written, with its audit: after a crash the file is known to be ours.
    async fn store(&self, caller: Caller<'_>, note: &Note) -> Result<(), NfoError> {
        let mut tx = self.ground.db.begin_write().await?;
        let acting = &self.ground.acting;
        let actor = acting.judge(&mut tx, caller.principal, &[NEEDED]).await?;
        let stored = repo::put(&mut tx, note).await;
        stored.map_err(|error| {
            if error.is_foreign_key_violation() {
                NfoError::NoSuchItem
            } else {
                error.into()
            }
        })?;
        let entry = AuditEntry {
            object_type: Some("media_item"),
            object_id: Some(note.item_id.clone()),
            metadata: Some(json!({ "type": note.kind.as_str(), "path": note.place })),
            ..actor.entry("media.nfo.generate", caller.client)
        };
        self.ground.audit.record(&mut tx, entry).await?;
        Ok(tx.commit().await?)
    }

    /// Refuses to replace a file that a torrent holds.
    fn check_shared(&self, target: &Target) -> Result<(), NfoError> {
        let holders = self.payloads.touching(&[&target.path]);
        if holders.is_empty() {
            return Ok(());
        }
        let names: Vec<&str> = holders
            .iter()
            .take(5)
            .map(|holder| holder.name.as_str())
            .collect();
        Err(NfoError::Shared(target.shown(), names.join(", ")))
    }
}

pub(super) fn hash_of(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}
