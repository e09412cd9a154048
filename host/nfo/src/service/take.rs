//! Notes that people and other programs wrote, read wherever a scan saw a change: the library fills with them what nobody else said.
//!
//! Ids in notes are the library's own reading (`qm_media_names::nfo`), and notes that were written here tell the library nothing.
//! A change is forgotten only after its notes are taken: a crash repeats that, which then finds nothing new. Bounds: [`CHANGES`]
//! changes are asked for at once, [`ITEMS`] items listed, and the notes of [`NOTES_AT_ONCE`] read; one of more than [`nfo::MOST`]
//! bytes is not read.

use std::collections::{BTreeMap, BTreeSet};
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
use super::generate::hash_of;
use crate::error::NfoError;
use crate::lanes::NOTES;
use crate::model::found::{facts_of, kind_of, note_about, place_of_show, places_of};
use crate::ops::{self, Target};
use crate::repo;

/// Changes that are taken at once.
const CHANGES: usize = 64;
/// Items that are listed at once.
const ITEMS: usize = 512;
/// Items whose notes are read at once: strangers write them, and each may be large.
const NOTES_AT_ONCE: usize = 16;
/// Changes that are forgotten at once.
const FORGOTTEN: usize = 1000;

/// A note about an item.
struct Read {
    item: SubjectItem,
    /// Its place below the library's directory.
    at: String,
    hash: String,
    note: Note,
}

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
            let mut shows = BTreeSet::new();
            for change in merge(&changes) {
                learnt += self.take_notes_of(&change, &mut shows).await?;
            }
            let numbers: Vec<i64> = changes.iter().map(|change| change.number).collect();
            for numbers in numbers.chunks(FORGOTTEN) {
                self.subjects.forget_changes(numbers).await?;
            }
        }
        Ok(learnt)
    }

    /// Takes the notes in a directory, and those of the shows above it that are not among `shows` yet.
    async fn take_notes_of(
        &self,
        change: &SubjectChange,
        shows: &mut BTreeSet<String>,
    ) -> Result<usize, NfoError> {
        let mut learnt = 0;
        for show in self.subjects.list_changed_shows(change).await? {
            if shows.insert(show.id.clone()) {
                learnt += usize::from(self.take_note_of_show(show).await?);
            }
        }
        let mut after = String::new();
        loop {
            let items = self.subjects.list_changed_items(change, &after, ITEMS).await?;
            let Some(last) = items.last() else { break };
            let is_alone = after.is_empty() && items.len() == 1;
            after.clone_from(&last.id);
            self.forget_gone(&items).await?;
            for items in items.chunks(NOTES_AT_ONCE) {
                let alone_in = is_alone.then(|| change.place.clone());
                for read in self.read_items(items.to_vec(), alone_in).await? {
                    learnt += usize::from(self.take_note_of_item(read).await?);
                }
            }
        }
        Ok(learnt)
    }

    /// Reads the notes about items; those without one are left out. `alone_in`: directory in which there is no other item.
    async fn read_items(
        &self,
        items: Vec<SubjectItem>,
        alone_in: Option<String>,
    ) -> Result<Vec<Read>, NfoError> {
        let roots = self.roots.clone();
        let reading = NOTES.run(move |cancel| {
            let mut found = Vec::new();
            for item in items {
                if cancel.is_set() {
                    break;
                }
                let mut places = places_of(&item, alone_in.as_deref()).into_iter();
                let first = places.find_map(|at| {
                    let (notes, hash) = read_at(&roots, &item.library, &at)?;
                    Some((at, hash, note_about(&item, notes)?))
                });
                if let Some((at, hash, note)) = first {
                    found.push(Read { item, at, hash, note });
                }
            }
            found
        });
        Ok(reading.await?)
    }

    async fn take_note_of_item(&self, read: Read) -> Result<bool, NfoError> {
        let (item, at) = (read.item, read.at);
        let mut tx = self.ground.db.begin_read().await?;
        let known = repo::find(&mut tx, &item.id, &at).await?;
        drop(tx);
        // It says what the library said. Taken for the word of somebody else, it would keep providers from being asked.
        if known.as_ref().is_some_and(|known| known.is_own(&read.hash)) {
            return Ok(false);
        }
        let is_new = self.takers.take_item_note(&item.id, facts_of(read.note)).await?;
        if known.is_none() {
            let (kind, now) = (kind_of(&item), self.ground.ctx.now());
            let mut tx = self.ground.db.begin_write().await?;
            let id = self.ground.ctx.id();
            match repo::notice(&mut tx, &id, (&*item.id, kind, &*at), now).await {
                Ok(()) => tx.commit().await?,
                // The item is gone meanwhile.
                Err(error) if error.is_foreign_key_violation() => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(is_new)
    }

    /// Forgets notes of others that were read once, and that are gone from directories that can be read.
    async fn forget_gone(&self, items: &[SubjectItem]) -> Result<(), NfoError> {
        let ids: Vec<String> = items.iter().map(|item| item.id.clone()).collect();
        let mut tx = self.ground.db.begin_read().await?;
        let noticed = repo::noticed(&mut tx, &ids).await?;
        drop(tx);
        let targets: Vec<(String, Target)> = noticed
            .into_iter()
            .filter_map(|(id, item_id, at)| {
                let item = items.iter().find(|item| item.id == item_id)?;
                Some((id, target_of(&item.library, &at)))
            })
            .collect();
        if targets.is_empty() {
            return Ok(());
        }
        let roots = self.roots.clone();
        let looking = NOTES.run(move |_| {
            let gone = targets.into_iter().filter(|(_, at)| ops::is_gone(&roots, at));
            gone.map(|(id, _)| id).collect::<Vec<String>>()
        });
        let gone = looking.await?;
        if gone.is_empty() {
            return Ok(());
        }
        let mut tx = self.ground.db.begin_write().await?;
        for id in &gone {
            repo::forget_noticed(&mut tx, id).await?;
        }
        Ok(tx.commit().await?)
    }

    async fn take_note_of_show(&self, show: SubjectShow) -> Result<bool, NfoError> {
        let (roots, library, at) = (self.roots.clone(), show.library, place_of_show(&show.place));
        let reading = NOTES.run(move |_| read_at(&roots, &library, &at));
        let mut notes = reading.await?.into_iter().flat_map(|(notes, _)| notes);
        let Some(note) = notes.find(|note| note.about == About::Show) else {
            return Ok(false);
        };
        Ok(self.takers.take_show_note(&show.id, facts_of(note)).await?)
    }
}

fn target_of(library: &str, at: &str) -> Target {
    Target {
        path: Path::new(library).join(OsStr::from_bytes(&place::decode(at))),
        place: at.to_owned(),
    }
}

/// Notes in the file at a place of a library, and the hash of the file; `None`: it cannot be read, or is too large.
fn read_at(roots: &qm_confined::Roots, library: &str, at: &str) -> Option<(Vec<Note>, String)> {
    let target = target_of(library, at);
    match ops::read(roots, &target) {
        Ok(there) => there
            .filter(|there| there.bytes.len() as u64 <= nfo::MOST)
            .map(|there| (read_notes(&there.bytes), hash_of(&there.bytes))),
        Err(error) => {
            tracing::debug!(%error, path = target.shown(), "a note beside media was not read");
            None
        }
    }
}

/// Changes with each directory once. Notes about items lie beside their files, so that none concerns what lies below.
fn merge(changes: &[SubjectChange]) -> Vec<SubjectChange> {
    let mut merged: BTreeMap<&str, SubjectChange> = BTreeMap::new();
    for change in changes {
        let own = || SubjectChange {
            below: false,
            ..change.clone()
        };
        merged.entry(&change.directory_id).or_insert_with(own);
    }
    merged.into_values().collect()
}
