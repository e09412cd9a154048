//! Comparison of a walk with the stored index, and the changes to it, a few hundred files a transaction.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use qm_db::Tx;
use qm_jobs::{JobContext, Progress};
use qm_media::model::library::{MediaLibrary, ScanSummary};
use qm_media::repo;
use qm_media::repo::items::Stored;
use qm_media::service::jobs::Stop;
use qm_media_names::naming::member::Beside;
use qm_media_names::place;

use super::Scanner;
use crate::model::doubt::{Known, KnownDirectory};
use crate::ops::walk::{Entries, SeenDirectory, SeenFile};
use crate::repo::directories;

mod commit;
mod renames;

/// Most changes of one transaction.
const AT_ONCE: usize = 256;
/// Most progress reports of one scan.
const REPORTS: usize = 150;
/// Progress at which storing begins, in percent.
const BEGIN: f64 = 5.0;

/// One change to the index.
enum Change<'a> {
    /// A new directory: its row is stored before its files.
    Directory(&'a SeenDirectory, String),
    Add(&'a SeenFile, String),
    Set(&'a SeenFile, Stored),
    /// A file beside it gives its ids.
    Name(&'a SeenFile, Stored),
    /// The key of the item's files is not known yet.
    Key(&'a SeenFile, Stored),
    /// Its number (inode) on the file system is another one.
    Node(&'a SeenFile, Stored),
    /// It was renamed: the item goes along into this directory.
    Move(&'a SeenFile, Stored, String),
    /// The extras of a directory.
    Extras(&'a SeenDirectory, String),
    /// A file that is gone, with the directory that it was in.
    Remove(Stored, &'a KnownDirectory),
    /// Everything in a directory is stored.
    Read(&'a SeenDirectory, String),
    /// A directory that could not be read: the next scan reads it again.
    Unsure(String),
}

/// Items that changed during the scan, which it leaves alone.
struct Meanwhile {
    /// Places that got an item meanwhile.
    came: HashSet<String>,
    /// Items that were moved meanwhile, or may have been.
    went: HashSet<String>,
}

pub struct Index<'a> {
    room: &'a Arc<Scanner>,
    job: &'a JobContext,
    of: &'a MediaLibrary,
    known: &'a Known,
    changes: Vec<Change<'a>>,
    /// New files, which wait until the missing ones are known: they may be the same files.
    additions: Vec<Change<'a>>,
    /// Removals, which wait until everything else is stored, together with the marks that their directories were read. A
    /// scan that was cut off before then finds them again.
    removals: Vec<Change<'a>>,
    /// Directories that got a row meanwhile, when something was moved into them: real ids by the planned ones.
    others: HashMap<String, String>,
    processed: usize,
    total: usize,
    /// Neighbours of the files of directories in which something changed.
    beside: HashMap<&'a str, Beside>,
    /// Places of the directories that were seen.
    present: HashSet<&'a str>,
    /// Renamed folders of shows: old and new place.
    carried: HashSet<(String, String)>,
    /// True if rules run for each new file.
    tells: bool,
    /// Progress at which storing ends, in percent.
    end: f64,
    pub summary: ScanSummary,
}

impl<'a> Index<'a> {
    pub fn new(room: &'a Arc<Scanner>, job: &'a JobContext, of: &'a MediaLibrary, known: &'a Known) -> Self {
        Self {
            room,
            job,
            of,
            known,
            changes: Vec::new(),
            additions: Vec::new(),
            removals: Vec::new(),
            others: HashMap::new(),
            processed: 0,
            total: 0,
            beside: HashMap::new(),
            present: HashSet::new(),
            carried: HashSet::new(),
            // The files of a first scan are not new, and there may be a hundred thousand: no rules run for them.
            tells: of.last_scan_at.is_some(),
            end: 80.0,
            summary: ScanSummary::default(),
        }
    }

    /// Runs no rules for new files: the caller does.
    pub fn untold(mut self) -> Self {
        self.tells = false;
        self
    }

    /// Ends storing at this progress in percent, as other work follows.
    pub fn ending_at(mut self, end: f64) -> Self {
        self.end = end;
        self
    }

    /// Stores new and changed files. Places that `is_kept` names stay as they are.
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
        self.present = seen.iter().map(|directory| &*directory.place).collect();
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
        self.follow_renames(is_kept).await?;
        self.flush(1).await?;
        self.changes = std::mem::take(&mut self.additions);
        self.flush(1).await
    }

    /// Compares a directory with the index.
    async fn compare(&mut self, directory: &'a SeenDirectory, files: &'a [SeenFile]) -> Result<(), Stop> {
        self.summary.passed_over += directory.passed;
        self.summary.extras += directory.extras.len() as u64;
        let known = self.known.get(&directory.place);
        let id = match known {
            Some(known) => known.id.clone(),
            None => {
                let id = self.room.ctx.ordered_id();
                self.changes.push(Change::Directory(directory, id.clone()));
                id
            }
        };
        let mut stored: HashMap<String, Stored> = HashMap::new();
        if let Some(known) = known.filter(|known| known.items > 0) {
            let mut tx = self.room.db.begin_read().await?;
            let items = repo::items::of_directory(&mut tx, &known.id).await?;
            stored.extend(items.into_iter().map(|item| (item.place.clone(), item)));
        }
        let mut new: Vec<&SeenFile> = Vec::new();
        let mut changes: Vec<Change<'a>> = Vec::new();
        let mut same: Vec<(&SeenFile, Stored)> = Vec::new();
        for file in files {
            match stored.remove(&file.place) {
                None => new.push(file),
                Some(item) if is_as(file, &item) => same.push((file, item)),
                Some(item) => changes.extend(self.differing(file, item)),
            }
        }
        let is_changed = !new.is_empty() || !changes.is_empty() || !directory.extras.is_empty();
        if is_changed && !self.of.kind.has_shows() {
            let shown = place::shown(&directory.place);
            let names: Vec<String> = files.iter().map(|file| place::shown(&file.place)).collect();
            let names = names.iter().map(|name| name.rsplit('/').next().unwrap_or(name));
            self.beside
                .insert(&directory.place, Beside::read_names(&shown, names));
        }
        self.processed += same.len();
        if let Some(beside) = self.beside.get(&*directory.place).filter(|_| !new.is_empty()) {
            // New files may show that other files are parts.
            let counted = same.into_iter().filter(|(file, item)| {
                let shown = place::shown(&file.place);
                let name = shown.rsplit('/').next().unwrap_or(&shown);
                item.copy_id.is_none() && beside.is_counted(name)
            });
            changes.extend(counted.map(|(file, item)| Change::Key(file, item)));
        }
        let has_extras = !directory.extras.is_empty() || known.is_some_and(|known| known.extras > 0);
        if has_extras {
            changes.push(Change::Extras(directory, id.clone()));
        }
        self.changes.extend(changes);
        // Sorted, so that the first of several files of an item does not depend on chance.
        new.sort_by(|one, other| one.place.cmp(&other.place));
        let is_new = !new.is_empty();
        self.additions
            .extend(new.into_iter().map(|file| Change::Add(file, id.clone())));
        let read = Change::Read(directory, id);
        match known {
            Some(known) if !stored.is_empty() => {
                let gone = stored.into_values().map(|item| Change::Remove(item, known));
                self.removals.extend(gone.chain([read]));
            }
            _ if is_new => self.additions.push(read),
            _ => self.changes.push(read),
        }
        Ok(())
    }

    /// Differences of a file that is known.
    fn differing(&mut self, file: &'a SeenFile, item: Stored) -> Vec<Change<'a>> {
        if item.size != file.size || item.mtime != file.mtime {
            return vec![Change::Set(file, item)];
        }
        self.processed += 1;
        let is_first = item.copy_id.is_none();
        let mut changes = Vec::new();
        if is_first && item.same_key.is_none() {
            changes.push(Change::Key(file, item.clone()));
        } else if item.inode != Some(file.node.1) {
            changes.push(Change::Node(file, item.clone()));
        }
        if is_first && !file.ids.is_empty() && !item.locked {
            changes.push(Change::Name(file, item));
        }
        changes
    }

    /// Removes missing files from the index. Places that `is_kept` names stay.
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
            // A missing file may have been moved with an event that was not handled yet.
            let caught_up = self.room.catch_up().await;
            caught_up.map_err(|error| Stop::Job(error.into()))?;
        }
        self.changes.append(&mut self.removals);
        self.flush(1).await?;
        for directory in gone {
            loop {
                let mut tx = self.begin().await?;
                if !directories::is_undisturbed(&mut tx, &directory.id, directory.moves).await? {
                    break;
                }
                // An item with another file elsewhere stays.
                let now = self.room.ctx.now();
                let raised =
                    repo::copies::raise_elsewhere(&mut tx, &directory.id, AT_ONCE as i64, now).await?;
                if raised == AT_ONCE as u64 {
                    tx.commit().await?;
                    continue;
                }
                let removed = repo::items::delete_of(&mut tx, &directory.id, AT_ONCE as i64).await?;
                if removed < AT_ONCE as u64 {
                    directories::delete(&mut tx, &directory.id).await?;
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

    /// Begins a transaction, checks that the library is unchanged since the scan began, and locks it until the end.
    async fn begin(&self) -> Result<Tx, Stop> {
        if self.job.is_cancelled() {
            return Err(Stop::Stopped);
        }
        let mut tx = self.room.db.begin_write().await?;
        if repo::libraries::hold(&mut tx, self.of).await? {
            Ok(tx)
        } else {
            Err(Stop::Changed)
        }
    }

    /// Stores the collected changes in transactions, while there are `least` or more.
    async fn flush(&mut self, least: usize) -> Result<(), Stop> {
        let mut changes = std::mem::take(&mut self.changes).into_iter().peekable();
        while changes.len() >= least.max(1) {
            let some: Vec<Change<'a>> = changes.by_ref().take(AT_ONCE).collect();
            self.commit(some).await?;
        }
        self.changes = changes.collect();
        Ok(())
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
}

/// True if a file is stored as it is, so nothing must be written.
fn is_as(file: &SeenFile, item: &Stored) -> bool {
    let says = item.copy_id.is_none() && !file.ids.is_empty() && !item.locked;
    let is_keyed = item.copy_id.is_some() || item.same_key.is_some();
    (item.size, item.mtime) == (file.size, file.mtime) && is_keyed && item.inode == Some(file.node.1) && !says
}
