//! What a walk saw, compared with what is stored, and stored: a few hundred files a transaction.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use qm_db::{DbError, Tx};
use qm_jobs::{JobContext, JobError, Progress};
use serde_json::{Map, Value, json};

use super::Library;
use crate::lanes::COMPUTE;
use crate::model::doubt::{Known, KnownDirectory};
use crate::model::item::Facts;
use crate::model::library::{MediaLibrary, ScanSummary};
use crate::model::name::{Read, read};
use crate::model::naming::is_one_film;
use crate::model::naming::tag::Ids;
use crate::model::place;
use crate::ops::walk::{Entries, SeenDirectory, SeenFile};
use crate::repo;
use crate::repo::directories::Stand;
use crate::repo::items::{NewItem, Stored};

/// Changes of one transaction.
const AT_ONCE: usize = 256;
/// Words on how far it is, of one scan.
const REPORTS: usize = 150;
/// Where storing begins, in percent of the whole.
const BEGIN: f64 = 5.0;

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
    /// A file beside it says which it is.
    Name(&'a SeenFile, Stored),
    /// With the directory it lay in.
    Remove(Stored, &'a KnownDirectory),
    /// All that lies in a directory is stored.
    Read(&'a SeenDirectory, String),
    /// A directory that could not be read is not relied on.
    Unsure(String),
}

/// What a scan does not touch.
struct Meanwhile {
    /// Places that have an item by now.
    came: HashSet<String>,
    /// Items that lie elsewhere by now, or of which that cannot be told.
    went: HashSet<String>,
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
    /// Directories that got a row when something was moved into them: by the ids they were to have.
    others: HashMap<String, String>,
    processed: usize,
    total: usize,
    /// Directories that hold one film at most.
    alone: HashSet<&'a str>,
    /// Rules hear of each file that is new.
    tells: bool,
    /// Where storing ends, in percent of the whole.
    end: f64,
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
            others: HashMap::new(),
            processed: 0,
            total: 0,
            alone: HashSet::new(),
            // What the first scan finds was there all along: it is no news, and there may be a hundred thousand of it.
            tells: of.last_scan_at.is_some(),
            end: 80.0,
            summary: ScanSummary::default(),
        }
    }

    /// Somebody else tells of what is new.
    pub fn untold(mut self) -> Self {
        self.tells = false;
        self
    }

    /// Other work follows, which begins at this percentage of the whole.
    pub fn ending_at(mut self, end: f64) -> Self {
        self.end = end;
        self
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
        self.summary.passed_over += directory.passed;
        if is_one_film(files.iter().map(|file| &*file.place)) {
            self.alone.insert(&directory.place);
        }
        let known = self.known.get(&directory.place);
        let id = match known {
            Some(known) => known.id.clone(),
            None => {
                let id = self.library.ctx.ordered_id();
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
                Some(item) if item.size == file.size && item.mtime == file.mtime => {
                    self.processed += 1;
                    if !file.ids.is_empty() && !item.locked {
                        self.changes.push(Change::Name(file, item));
                    }
                }
                Some(item) => self.changes.push(Change::Set(file, item)),
            }
        }
        let read = Change::Read(directory, id);
        match known {
            Some(known) if !stored.is_empty() => {
                let gone = stored.into_values().map(|item| Change::Remove(item, known));
                self.removals.extend(gone.chain([read]));
            }
            _ => self.changes.push(read),
        }
        Ok(())
    }

    /// Removes what is not there any more. What `is_kept` names stays.
    pub async fn prune(
        &mut self,
        seen: &[SeenDirectory],
        is_kept: impl Fn(&str) -> bool,
    ) -> Result<(), Stop> {
        let seen: HashSet<&str> = seen.iter().map(|directory| &*directory.place).collect();
        let gone: Vec<&KnownDirectory> = self
            .known
            .iter()
            .filter(|(place, _)| !seen.contains(&***place) && !is_kept(place))
            .map(|(_, known)| known)
            .collect();
        if !self.removals.is_empty() || gone.iter().any(|known| known.items > 0) {
            // What is not there may have been moved, by somebody who tells of it.
            let caught_up = self.library.catch_up().await;
            caught_up.map_err(|error| Stop::Job(error.into()))?;
        }
        self.changes.append(&mut self.removals);
        self.flush(1).await?;
        for directory in gone {
            loop {
                let mut tx = self.begin().await?;
                if !repo::directories::is_undisturbed(&mut tx, &directory.id, directory.moves).await? {
                    break;
                }
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
        let mut said: Vec<(String, Ids)> = Vec::new();
        let mut tx = self.begin().await?;
        let meanwhile = self.meanwhile(&mut tx, &changes).await?;
        let (mut added, mut updated, mut removed) = (0, 0, 0);
        for (at, change) in changes.iter().enumerate() {
            match change {
                Change::Directory(seen, id) => {
                    let (library, at) = (&self.of.id, &seen.place);
                    let other = repo::directories::insert(&mut tx, id, library, at, stand(seen)).await?;
                    self.others.extend(other.map(|other| (id.clone(), other)));
                }
                Change::Add(file, _) if meanwhile.came.contains(&file.place) => {}
                Change::Add(file, directory_id) => {
                    let Some(Read { facts, tech, ids }) = read[at].take() else {
                        continue;
                    };
                    added += 1;
                    let id = self.library.ctx.ordered_id();
                    said.push((id.clone(), ids.or(file.ids.clone())));
                    new.push(NewItem {
                        id,
                        file_id: self.library.ctx.ordered_id(),
                        directory_id: self.row(directory_id).to_owned(),
                        place: file.place.clone(),
                        size: file.size,
                        mtime: file.mtime,
                        facts,
                        tech,
                    });
                }
                Change::Set(_, item) | Change::Name(_, item) | Change::Remove(item, _)
                    if meanwhile.went.contains(&item.id) => {}
                Change::Set(file, item) => {
                    let Some(read) = read[at].take() else { continue };
                    updated += 1;
                    repo::items::set_state(&mut tx, &item.id, file.size, file.mtime).await?;
                    repo::items::set_tech(&mut tx, &item.id, &read.tech).await?;
                    if let Some(facts) = numbers(item, read.facts) {
                        repo::items::set_numbers(&mut tx, &item.id, &facts, now).await?;
                    }
                }
                Change::Name(file, item) => said.push((item.id.clone(), file.ids.clone())),
                Change::Remove(item, _) => removed += repo::items::delete(&mut tx, &item.id).await?,
                // Its items are inserted before this is committed, and nobody sees it earlier.
                Change::Read(seen, id) => {
                    let read_at = seen.is_settled.then_some(now.ms());
                    let moves = self.known.get(&seen.place).map_or(0, |known| known.moves);
                    let id = self.row(id);
                    repo::directories::read(&mut tx, id, stand(seen), read_at, moves).await?;
                }
                Change::Unsure(id) => repo::directories::unsure(&mut tx, id).await?,
            }
        }
        repo::items::insert(&mut tx, &self.of.id, &new, now).await?;
        // Of episodes the folder of their show says it.
        said.retain(|(_, ids)| !ids.is_empty() && !self.of.kind.has_shows());
        self.library.take_ids(&mut tx, &said).await?;
        let news = if self.tells { &new[..] } else { &[] };
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

    /// The row of a directory that was to have this one.
    fn row<'i>(&'i self, id: &'i str) -> &'i str {
        self.others.get(id).map_or(id, String::as_str)
    }

    /// What was moved since the scan looked: it knows nothing of that, and leaves it alone.
    async fn meanwhile(&self, tx: &mut Tx, changes: &[Change<'a>]) -> Result<Meanwhile, DbError> {
        let mut new: Vec<(&str, &str)> = Vec::new();
        let mut stored: Vec<(&Stored, Option<&KnownDirectory>)> = Vec::new();
        for change in changes {
            match change {
                Change::Add(file, _) => new.push((&self.of.id, &file.place)),
                Change::Set(_, item) | Change::Name(_, item) => stored.push((item, None)),
                Change::Remove(item, known) => stored.push((item, Some(known))),
                _ => {}
            }
        }
        let came = repo::moves::taken(tx, &new).await?;
        let ids: Vec<String> = stored.iter().map(|(item, _)| item.id.clone()).collect();
        let lying = repo::bulk::lying(tx, &ids).await?;
        let mut quiet: HashMap<&str, bool> = HashMap::new();
        let mut went = HashSet::new();
        for (item, directory) in stored {
            let is_there = lying
                .get(&item.id)
                .is_some_and(|lies| lies.library_id == self.of.id && lies.place == item.place);
            let is_quiet = match directory {
                None => true,
                Some(known) => match quiet.get(&*known.id) {
                    Some(is_quiet) => *is_quiet,
                    None => {
                        let is_quiet = repo::directories::is_undisturbed(tx, &known.id, known.moves).await?;
                        quiet.insert(&known.id, is_quiet);
                        is_quiet
                    }
                },
            };
            if !is_there || !is_quiet {
                went.insert(item.id.clone());
            }
        }
        Ok(Meanwhile {
            came: came.into_iter().map(|item| item.place).collect(),
            went,
        })
    }

    /// What the names of files say, read off the async threads.
    async fn read_names(&self, changes: &[Change<'a>]) -> Result<Vec<Option<Read>>, Stop> {
        let is_alone = |file: &SeenFile| {
            let above = place::parent(&file.place).unwrap_or_default();
            self.alone.contains(&*above)
        };
        let shown: Vec<Option<(String, bool)>> = changes
            .iter()
            .map(|change| match change {
                Change::Add(file, _) | Change::Set(file, _) => {
                    Some((place::shown(&file.place), is_alone(file)))
                }
                _ => None,
            })
            .collect();
        let kind = self.of.kind;
        let reading = COMPUTE.run(move |_| {
            shown
                .into_iter()
                .map(|shown| shown.map(|(shown, is_alone)| read(&shown, kind, is_alone)))
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
            ..Progress::percent(BEGIN + (self.end - BEGIN) * share)
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
