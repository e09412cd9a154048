//! Notes that people and other programs wrote, read wherever a scan saw a change: the library fills with them what nobody else said.
//!
//! Ids in notes are the library's own reading (`qm_media_names::nfo`). A change is forgotten only after its notes are taken: a crash
//! repeats that, which then finds nothing new. Bounds: [`CHANGES`] changes and [`ITEMS`] items at once; a note of more than [`nfo::MOST`]
//! bytes is not read.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use qm_kernel::as_error;
use qm_media_names::note::{About, Note, read as read_notes};
use qm_media_names::{nfo, place};
use qm_ports::subjects::{ChangeReader, SubjectChange, SubjectItem, SubjectShow};
use tokio_util::sync::CancellationToken;

use super::Nfo;
use crate::error::NfoError;
use crate::lanes::NOTES;
use crate::model::found::{facts_of, kind_of, note_about, place_of_show, places_of};
use crate::ops::{self, Target};
use crate::repo;

/// Changes that are taken at once.
const CHANGES: usize = 64;
/// Items whose notes are read at once.
const ITEMS: usize = 64;

impl Nfo {
    /// Name and interval of the loop.
    pub const CHANGED: (&'static str, Duration) = ("nfo_looks", Duration::from_secs(15));

    pub async fn looks_loop(self: Arc<Self>, stop: CancellationToken) {
        loop {
            if let Some(Err(error)) = stop.run_until_cancelled(self.take_changed_notes()).await {
                let error = as_error(&error);
                tracing::warn!(error, "notes beside media cannot be read");
            }
            let wait = tokio::time::sleep(Self::CHANGED.1);
            if stop.run_until_cancelled(wait).await.is_none() {
                return;
            }
        }
    }

    /// Takes notes wherever something changed; returns the number of items and shows of which something new was learnt.
    pub async fn take_changed_notes(&self) -> Result<usize, NfoError> {
        let mut learnt = 0;
        while self.ground.db.mandate().holds() {
            let changes = self.subjects.list_changes(ChangeReader::Notes, CHANGES).await?;
            if changes.is_empty() {
                break;
            }
            for change in merge(&changes) {
                learnt += self.take_notes_of(&change).await?;
            }
            let numbers: Vec<i64> = changes.iter().map(|change| change.number).collect();
            self.subjects.forget_changes(&numbers).await?;
        }
        Ok(learnt)
    }

    async fn take_notes_of(&self, change: &SubjectChange) -> Result<usize, NfoError> {
        let mut learnt = 0;
        for show in self.subjects.list_changed_shows(change).await? {
            learnt += usize::from(self.take_note_of_show(show).await?);
        }
        let mut after = String::new();
        loop {
            let items = self.subjects.list_changed_items(change, &after, ITEMS).await?;
            let Some(last) = items.last() else { break };
            after.clone_from(&last.id);
            for (item, note) in self.read_items(items).await? {
                learnt += usize::from(self.take_note_of_item(item, note).await?);
            }
        }
        Ok(learnt)
    }

    /// Reads the notes about items; those without one are left out. Each comes with its place.
    async fn read_items(
        &self,
        items: Vec<SubjectItem>,
    ) -> Result<Vec<(SubjectItem, (String, Note))>, NfoError> {
        let roots = self.roots.clone();
        let reading = NOTES.run(move |cancel| {
            let mut found = Vec::new();
            for item in items {
                if cancel.is_set() {
                    break;
                }
                let mut places = places_of(&item).into_iter();
                let note = places.find_map(|at| {
                    let notes = read_at(&roots, &item.library, &at);
                    note_about(&item, notes).map(|note| (at, note))
                });
                found.extend(note.map(|note| (item, note)));
            }
            found
        });
        Ok(reading.await?)
    }

    async fn take_note_of_item(
        &self,
        item: SubjectItem,
        (at, note): (String, Note),
    ) -> Result<bool, NfoError> {
        let kind = kind_of(&item);
        let is_new = self.takers.take_item_note(&item.id, facts_of(note)).await?;
        let mut tx = self.ground.db.begin_read().await?;
        let is_known = repo::find(&mut tx, &item.id, &at).await?.is_some();
        drop(tx);
        if !is_known {
            let mut tx = self.ground.db.begin_write().await?;
            let id = self.ground.ctx.id();
            let noticed = repo::notice(&mut tx, &id, (&*item.id, kind, &*at), self.ground.ctx.now()).await;
            match noticed {
                Ok(()) => tx.commit().await?,
                // The item is gone meanwhile.
                Err(error) if error.is_foreign_key_violation() => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(is_new)
    }

    async fn take_note_of_show(&self, show: SubjectShow) -> Result<bool, NfoError> {
        let (roots, library, at) = (self.roots.clone(), show.library, place_of_show(&show.place));
        let reading = NOTES.run(move |_| read_at(&roots, &library, &at));
        let mut notes = reading.await?.into_iter();
        let Some(note) = notes.find(|note| note.about == About::Show) else {
            return Ok(false);
        };
        Ok(self.takers.take_show_note(&show.id, facts_of(note)).await?)
    }
}

/// Notes in the file at a place of a library; none if it cannot be read or is too large.
fn read_at(roots: &qm_confined::Roots, library: &str, at: &str) -> Vec<Note> {
    let target = Target {
        path: Path::new(library).join(OsStr::from_bytes(&place::decode(at))),
        place: at.to_owned(),
    };
    match ops::read(roots, &target) {
        Ok(Some(there)) if there.bytes.len() as u64 <= nfo::MOST => read_notes(&there.bytes),
        Ok(_) => Vec::new(),
        Err(error) => {
            tracing::debug!(%error, path = target.shown(), "a note beside media was not read");
            Vec::new()
        }
    }
}

/// Changes with each directory once; one that concerns what lies below counts for both.
fn merge(changes: &[SubjectChange]) -> Vec<SubjectChange> {
    let mut merged: BTreeMap<&str, SubjectChange> = BTreeMap::new();
    for change in changes {
        let known = merged
            .entry(&change.directory_id)
            .or_insert_with(|| change.clone());
        known.below |= change.below;
    }
    merged.into_values().collect()
}
