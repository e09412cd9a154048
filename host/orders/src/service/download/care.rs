//! Work of a library on what a download brought: its files are named, pictures and subtitles are looked for, notes are
//! written, each if the library is set up to do so. Rules can run after each step.
//!
//! Other areas do it ([`MediaHelpers`](qm_ports::helpers::MediaHelpers)), for the person who set up the library, whom they judge
//! again. A fault is a warning of the job, and the next step follows.
//!
//! Bounds: [`KEPT`] items of a download, whose progress is stored after each [`AT_ONCE`]; pictures for as many items as
//! providers are asked about; no more pictures after [`FAULTS`] faults in a row.

use qm_jobs::JobError;
use qm_kernel::Requester;
use qm_media::model::library::MediaLibrary;
use qm_media::repo;
use qm_media::service::jobs::{self, stopped};
use qm_ports::helpers::NamingOrder;
use serde_json::{Value, json};

use super::{AT_ONCE, Download, Stage};

/// Most items of one download that are taken care of; their ids are kept with the progress of the job.
const KEPT: usize = 4000;
/// Most warnings about single items.
const WARNINGS: usize = 20;
/// Faults in a row after which no more pictures are fetched.
const FAULTS: usize = 3;

/// Types of pictures, and languages of subtitles, that an item lacks.
struct Lacking {
    item: String,
    pictures: Vec<String>,
    subtitles: Vec<String>,
}

impl Download<'_> {
    /// Names the identified items, and fires the rules of `media.rename_completed`.
    pub(super) async fn name_files(&mut self, id: &str) -> Result<(), JobError> {
        let Some((library, at)) = self.find_library(id).await? else {
            return self.pass().await;
        };
        let items = match self.state.items.clone() {
            Some(items) => items,
            None => self.keep_items(&library, &at).await?,
        };
        let naming = self.room.helpers.naming().filter(|_| library.auto_organize);
        let Some(naming) = naming.filter(|_| !items.is_empty()) else {
            return self.turn_to(Stage::Complete).await;
        };
        let Some(who) = self.find_person(&library).await? else {
            return self.turn_to(Stage::Complete).await;
        };
        let hash = self.state.torrent.get("hash").and_then(Value::as_str);
        let order = NamingOrder {
            library_id: &library.id,
            item_ids: &items,
            torrent_hash: hash.filter(|hash| !hash.is_empty()),
            is_moving: false,
        };
        let done = self.room.name_patiently(self.job, &*naming, &who, order).await?;
        let mut named = match done {
            Ok(named) => named,
            Err(error) => {
                let warning = format!("Its files were not named: {error}");
                self.job.warning(&warning).await?;
                return self.turn_to(Stage::Complete).await;
            }
        };
        for (item, why) in &named.failed {
            self.warn_of(item, "its file was not named", why).await?;
        }
        // Rules, and the next stages, see the new places.
        self.room.scanner.catch_up().await?;
        self.state.named += named.renamed.len() as u64;
        named.settled.sort();
        let left = named.settled.into_iter().filter(|id| *id > self.state.after);
        for some in left.collect::<Vec<_>>().chunks(AT_ONCE) {
            let mut tx = self.room.db.begin_write().await?;
            for arrived in repo::downloads::find_arrived(&mut tx, some).await? {
                let told = self.facts_for(&library, Some(&arrived));
                self.room
                    .triggers
                    .fire(&mut tx, "media.rename_completed", &told)
                    .await?;
            }
            self.state.after = some.last().cloned().unwrap_or_default();
            self.store(tx).await?;
        }
        self.turn_to(Stage::Complete).await
    }

    /// Looks for pictures and subtitles of the items, and fires the rules for those that are missing.
    pub(super) async fn complete(&mut self, id: &str) -> Result<(), JobError> {
        let Some((library, _)) = self.find_library(id).await? else {
            return self.pass().await;
        };
        let Some(companions) = self.room.helpers.companions() else {
            return self.turn_to(Stage::Note).await;
        };
        let left = self.items_left();
        let mut who = None;
        if library.artwork_enabled && !left.is_empty() {
            who = self.find_person(&library).await?;
        }
        let (bound, mut faults) = (self.room.identify.bound(), 0);
        let mut lacking = Vec::new();
        for (done, item) in left.into_iter().enumerate() {
            if self.job.is_cancelled() {
                return Err(stopped());
            }
            self.job.heartbeat().await?;
            let mut pictures = Vec::new();
            let fetches = faults < FAULTS && !bound.is_reached(done);
            if let Some(who) = who.as_ref().filter(|_| fetches) {
                match companions.complete_pictures(who, &item).await {
                    Ok(missing) => (pictures, faults) = (missing, 0),
                    Err(error) => {
                        faults += 1;
                        self.warn_of(&item, "no pictures were fetched", &error.to_string())
                            .await?;
                    }
                }
            }
            let subtitles = match companions.look_for_subtitles(&item).await {
                Ok(missing) => missing,
                Err(error) => {
                    self.warn_of(&item, "no subtitles were looked for", &error.to_string())
                        .await?;
                    Vec::new()
                }
            };
            lacking.push(Lacking {
                item,
                pictures,
                subtitles,
            });
            if lacking.len() == AT_ONCE {
                self.tell_missing(&library, std::mem::take(&mut lacking)).await?;
            }
        }
        if !lacking.is_empty() {
            self.tell_missing(&library, lacking).await?;
        }
        self.turn_to(Stage::Note).await
    }

    /// Writes notes about the items.
    pub(super) async fn write_notes(&mut self, id: &str) -> Result<(), JobError> {
        let Some((library, _)) = self.find_library(id).await? else {
            return self.pass().await;
        };
        let left = self.items_left();
        let notes = self.room.helpers.notes().filter(|_| library.nfo_enabled);
        let Some(notes) = notes.filter(|_| !left.is_empty()) else {
            return self.pass().await;
        };
        let Some(who) = self.find_person(&library).await? else {
            return self.pass().await;
        };
        for (done, item) in left.into_iter().enumerate() {
            if self.job.is_cancelled() {
                return Err(stopped());
            }
            self.job.heartbeat().await?;
            match notes.write_note_of(&who, &item).await {
                Ok(is_written) => self.state.notes += u64::from(is_written),
                Err(error) => {
                    self.warn_of(&item, "no note was written", &error.to_string())
                        .await?;
                }
            }
            self.state.after = item;
            // A note that is written twice is the same, and the stored progress names all items.
            if (done + 1).is_multiple_of(AT_ONCE) {
                jobs::save(self.job, &self.state).await?;
            }
        }
        self.pass().await
    }

    /// Stores the ids of the identified items of the download: when they are named, they may leave its place.
    async fn keep_items(&mut self, library: &MediaLibrary, at: &str) -> Result<Vec<String>, JobError> {
        let mut tx = self.room.db.begin_read().await?;
        let ids = repo::downloads::at_or_below(&mut tx, &library.id, at).await?;
        let mut items = Vec::new();
        for some in ids.chunks(AT_ONCE) {
            let arrived = repo::downloads::find_arrived(&mut tx, some).await?;
            let known = arrived.into_iter().filter(repo::downloads::Arrived::is_known);
            items.extend(known.map(|arrived| arrived.item.id));
        }
        drop(tx);
        if items.len() > KEPT {
            let warning = format!(
                "{} items came, and the first {KEPT} are taken care of: start the other steps by hand for the rest",
                items.len()
            );
            self.job.warning(&warning).await?;
            items.truncate(KEPT);
        }
        self.state.items = Some(items.clone());
        jobs::save(self.job, &self.state).await?;
        Ok(items)
    }

    /// Items for which the stage is not done.
    fn items_left(&self) -> Vec<String> {
        let items = self.state.items.iter().flatten();
        items.filter(|id| **id > self.state.after).cloned().collect()
    }

    /// Person for whom a library works; a warning says so if there is none.
    async fn find_person(&mut self, library: &MediaLibrary) -> Result<Option<Requester>, JobError> {
        let mut tx = self.room.db.begin_read().await?;
        let author = library.author.as_deref();
        let found = self
            .room
            .rights
            .find_person(&mut tx, author, self.job.id())
            .await?;
        drop(tx);
        if found.is_none() && !self.state.is_nobody_told {
            self.state.is_nobody_told = true;
            let warning = format!(
                "The library {} names nothing and fetches nothing by itself: nobody is known for whom it does, or their account is \
                 gone or deactivated. Save its settings again",
                library.name
            );
            self.job.warning(&warning).await?;
        }
        Ok(found)
    }

    /// Fires the rules for what items lack, and stores that the stage is done for them.
    async fn tell_missing(&mut self, library: &MediaLibrary, lacking: Vec<Lacking>) -> Result<(), JobError> {
        let ids: Vec<String> = lacking.iter().map(|one| one.item.clone()).collect();
        let mut tx = self.room.db.begin_write().await?;
        let arrived = repo::downloads::find_arrived(&mut tx, &ids).await?;
        for one in lacking {
            let missing = [
                ("media.missing_artwork", "missingArtwork", one.pictures),
                ("media.missing_subtitles", "missingSubtitles", one.subtitles),
            ];
            let arrived = arrived.iter().find(|arrived| arrived.item.id == one.item);
            for (trigger, field, words) in missing {
                // One that was removed meanwhile lacks nothing.
                let Some(arrived) = arrived.filter(|_| !words.is_empty()) else {
                    continue;
                };
                let mut told = self.facts_for(library, Some(arrived));
                told.insert(field.to_owned(), json!(words));
                self.room.triggers.fire(&mut tx, trigger, &told).await?;
            }
            self.state.after = one.item;
        }
        self.store(tx).await
    }

    async fn warn_of(&mut self, item: &str, what: &str, why: &str) -> Result<(), JobError> {
        self.state.warned += 1;
        if self.state.warned > WARNINGS {
            return Ok(());
        }
        self.job.warning(&format!("Item {item}: {what}: {why}")).await
    }
}
