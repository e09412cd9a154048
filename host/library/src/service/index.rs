//! What a walk saw, compared with what is stored, and stored: a few hundred files a transaction.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use qm_db::{DbError, Tx};
use qm_jobs::{JobContext, JobError, Progress};
use serde_json::{Map, Value, json};

use super::Library;
use crate::model::doubt::Known;
use crate::model::item::Facts;
use crate::model::library::{MediaLibrary, ScanSummary};
use crate::model::name::{Read, read};
use crate::model::place;
use crate::ops::walk::{Entries, SeenDirectory, SeenFile};
use crate::repo;
use crate::repo::directories::Stand;
use crate::repo::items::{NewItem, Stored};

/// Changes of one transaction.
const AT_ONCE: usize = 256;
/// Words on how far it is, of one scan.
const REPORTS: usize = 150;
/// Where storing begins and ends, in percent of the whole.
const SHARE: (f64, f64) = (5.0, 65.0);

/// Why a scan does not go on.
#[derive(Debug, thiserror::Error)]
pub enum Stop {
    #[error("it was cancelled")]
    Stopped,
    /// The library is gone, or lies elsewhere.
    #[error("the library changed meanwhile")]
    Changed,
    #[error(transparent)]
    Database(#[from] DbError),
    #[error(transparent)]
    Job(#[from] JobError),
}

/// One thing to store.
enum Change<'a> {
    /// A directory that is new gets its row before what lies in it.
    Directory(&'a SeenDirectory, String),
    Add(&'a SeenFile, String),
    Set(&'a SeenFile, Stored),
    Remove(String),
    /// All that lies in a directory is stored.
    Read(&'a SeenDirectory, String),
    /// A directory that could not be read is not relied on.
    Unsure(String),
}

pub struct Index<'a> {
    library: &'a Arc<Library>,
    job: &'a JobContext,
    of: &'a MediaLibrary,
    known: &'a Known,
    changes: Vec<Change<'a>>,
    /// Removals wait until all else is stored, and with them that their directories were read: a scan that was cut off before
    /// finds them again.
    removals: Vec<Change<'a>>,
    processed: usize,
    total: usize,
    pub summary: ScanSummary,
}

impl<'a> Index<'a> {
    pub fn new(
        library: &'a Arc<Library>,
        job: &'a JobContext,
        of: &'a MediaLibrary,
        known: &'a Known,
    ) -> Self {
        Self {
            library,
            job,
            of,
            known,
            changes: Vec::new(),
            removals: Vec::new(),
            processed: 0,
            total: 0,
            summary: ScanSummary::default(),
        }
    }

    /// Stores what is new and what is different. What `is_kept` names stays as it is.
    pub async fn store(
        &mut self,
        seen: &'a [SeenDirectory],
        is_kept: impl Fn(&str) -> bool,
    ) -> Result<(), Stop> {
        let files = |directory: &SeenDirectory| match &directory.entries {
            Entries::Read(files) => files.len(),
            _ => 0,
        };
        self.total = seen.iter().map(files).sum();
        for directory in seen {
            match &directory.entries {
                Entries::Same => {}
                Entries::Unread(_) => {
                    if let Some(known) = self.known.get(&directory.place) {
                        self.changes.push(Change::Unsure(known.id.clone()));
                    }
                }
                Entries::Read(_) if is_kept(&directory.place) => {}
                Entries::Read(files) => self.compare(directory, files).await?,
            }
            if self.changes.len() >= AT_ONCE {
                self.flush(AT_ONCE).await?;
            }
        }
        self.flush(1).await
    }

    /// Finds what is different in a directory.
    async fn compare(&mut self, directory: &'a SeenDirectory, files: &'a [SeenFile]) -> Result<(), Stop> {
        let known = self.known.get(&directory.place);
        let id = match known {
            Some(known) => known.id.clone(),
            None => {
                let id = self.library.ctx.id();
                self.changes.push(Change::Directory(directory, id.clone()));
                id
            }
        };
        let mut stored: HashMap<String, Stored> = HashMap::new();
        if let Some(known) = known.filter(|known| known.items > 0) {
            let mut tx = self.library.db.begin_read().await?;
            let items = repo::items::of_directory(&mut tx, &known.id).await?;
            stored.extend(items.into_iter().map(|item| (item.place.clone(), item)));
        }
        for file in files {
            match stored.remove(&file.place) {
                None => self.changes.push(Change::Add(file, id.clone())),
                Some(item) if item.size == file.size && item.mtime == file.mtime => self.processed += 1,
                Some(item) => self.changes.push(Change::Set(file, item)),
            }
        }
        let read = Change::Read(directory, id);
        if stored.is_empty() {
            self.changes.push(read);
        } else {
            let gone = stored.into_values().map(|item| Change::Remove(item.id));
            self.removals.extend(gone.chain([read]));
        }
        Ok(())
    }

    /// Removes what is not there any more. What `is_kept` names stays.
    pub async fn prune(
        &mut self,
        seen: &[SeenDirectory],
        is_kept: impl Fn(&str) -> bool,
    ) -> Result<(), Stop> {
        self.changes.append(&mut self.removals);
        self.flush(1).await?;
        let seen: HashSet<&str> = seen.iter().map(|directory| &*directory.place).collect();
        let gone = self
            .known
            .iter()
            .filter(|(place, _)| !seen.contains(&***place) && !is_kept(place));
        for (_, directory) in gone {
            loop {
                let mut tx = self.begin().await?;
                let removed = repo::items::delete_of(&mut tx, &directory.id, AT_ONCE as i64).await?;
                if removed < AT_ONCE as u64 {
                    repo::directories::delete(&mut tx, &directory.id).await?;
                }
                tx.commit().await?;
                self.summary.removed += removed;
                if removed < AT_ONCE as u64 {
                    break;
                }
            }
        }
        Ok(())
    }

    /// A transaction in which the library is as it was when the scan began, and until whose end it stays so.
    async fn begin(&self) -> Result<Tx, Stop> {
        if self.job.is_cancelled() {
            return Err(Stop::Stopped);
        }
        let mut tx = self.library.db.begin_write().await?;
        if repo::libraries::hold(&mut tx, self.of).await? {
            Ok(tx)
        } else {
            Err(Stop::Changed)
        }
    }

    /// Stores what has come together, as long as it is `least` or more.
    async fn flush(&mut self, least: usize) -> Result<(), Stop> {
        let mut changes = std::mem::take(&mut self.changes).into_iter().peekable();
        while changes.len() >= least.max(1) {
            let some: Vec<Change<'a>> = changes.by_ref().take(AT_ONCE).collect();
            self.commit(some).await?;
        }
        self.changes = changes.collect();
        Ok(())
    }

    async fn commit(&mut self, changes: Vec<Change<'a>>) -> Result<(), Stop> {
        let mut read = self.read_names(&changes).await?;
        let now = self.library.ctx.now();
        let mut new: Vec<NewItem> = Vec::new();
        let mut tx = self.begin().await?;
        let (mut added, mut updated, mut removed) = (0, 0, 0);
        for (at, change) in changes.iter().enumerate() {
            match change {
                Change::Directory(seen, id) => {
                    repo::directories::insert(&mut tx, id, &self.of.id, &seen.place, stand(seen)).await?;
                }
                Change::Add(file, directory_id) => {
                    let Some(Read { facts, tech }) = read[at].take() else {
                        continue;
                    };
                    added += 1;
                    new.push(NewItem {
                        id: self.library.ctx.id(),
                        file_id: self.library.ctx.id(),
                        directory_id: directory_id.clone(),
                        place: file.place.clone(),
                        size: file.size,
                        mtime: file.mtime,
                        facts,
                        tech,
                    });
                }
                Change::Set(file, item) => {
                    let Some(read) = read[at].take() else { continue };
                    updated += 1;
                    repo::items::set_state(&mut tx, &item.id, file.size, file.mtime).await?;
                    if item.probed_at.is_none() {
                        repo::items::set_tech(&mut tx, &item.id, &read.tech).await?;
                    }
                    if let Some(facts) = numbers(item, read.facts) {
                        repo::items::set_numbers(&mut tx, &item.id, &facts, now).await?;
                    }
                }
                Change::Remove(id) => removed += repo::items::delete(&mut tx, id).await?,
                // Its items are inserted before this is committed, and nobody sees it earlier.
                Change::Read(seen, id) => {
                    let read_at = seen.is_settled.then_some(now.ms());
                    repo::directories::read(&mut tx, id, stand(seen), read_at).await?;
                }
                Change::Unsure(id) => repo::directories::unsure(&mut tx, id).await?,
            }
        }
        repo::items::insert(&mut tx, &self.of.id, &new, now).await?;
        // What the first scan finds was there all along: it is no news, and there may be a hundred thousand of it.
        let news = if self.of.last_scan_at.is_some() {
            &new[..]
        } else {
            &[]
        };
        for item in news {
            self.library
                .triggers
                .fire(&mut tx, "media.detected", &self.told(item))
                .await?;
        }
        tx.commit().await?;
        self.summary.added += added;
        self.summary.updated += updated;
        self.summary.removed += removed;
        self.report(changes.len()).await
    }

    /// What the names of files say, read off the async threads.
    async fn read_names(&self, changes: &[Change<'a>]) -> Result<Vec<Option<Read>>, Stop> {
        let shown: Vec<Option<String>> = changes
            .iter()
            .map(|change| match change {
                Change::Add(file, _) | Change::Set(file, _) => Some(place::shown(&file.place)),
                _ => None,
            })
            .collect();
        let kind = self.of.kind;
        let reading = tokio::task::spawn_blocking(move || {
            shown
                .into_iter()
                .map(|shown| shown.map(|shown| read(&shown, kind)))
                .collect()
        });
        Ok(reading
            .await
            .map_err(|error| JobError::new("names", error.to_string()))?)
    }

    async fn report(&mut self, changes: usize) -> Result<(), Stop> {
        let step = (self.total / REPORTS).max(1);
        let before = self.processed / step;
        self.processed += changes;
        if self.processed / step == before {
            return Ok(());
        }
        let (processed, total) = (self.processed.min(self.total), self.total.max(1));
        let share = processed as f64 / total as f64;
        let progress = Progress {
            current: Some(processed as u64),
            total: Some(self.total as u64),
            unit: Some("files"),
            ..Progress::percent(SHARE.0 + (SHARE.1 - SHARE.0) * share)
        };
        Ok(self.job.progress(progress.phase("scan")).await?)
    }

    fn told(&self, item: &NewItem) -> Map<String, Value> {
        let told = json!({
            "name": item.facts.title, "title": item.facts.title, "mediaType": item.facts.media_type,
            "year": item.facts.year, "season": item.facts.season, "episode": item.facts.episode,
            "path": place::absolute(&self.of.path, &item.place), "size": item.size, "itemId": item.id,
            "libraryId": self.of.id, "libraryName": self.of.name,
        });
        match told {
            Value::Object(told) => told,
            _ => Map::new(),
        }
    }
}

fn stand(seen: &SeenDirectory) -> Stand {
    Stand {
        device: seen.device,
        inode: seen.inode,
        mtime: seen.mtime,
    }
}

/// What a name says by now that was not known: an episode, or the last one of several.
fn numbers(item: &Stored, read: Facts) -> Option<Facts> {
    if item.locked {
        return None;
    }
    if item.season.is_none() && item.episode.is_none() {
        return (read.season.is_some() && read.episode.is_some()).then_some(read);
    }
    let agrees = item.season == read.season && item.episode == read.episode;
    let is_new = item.episode_end.is_none() && read.episode_end.is_some();
    (agrees && is_new).then(|| Facts {
        title: item.title.clone(),
        ..read
    })
}
