//! Moves and deletions by other areas, applied to the index: an item goes along with its file, and a show with its folder.
//!
//! The consumer of events stores each change under the position of its event. Here changes are applied one after the other,
//! some items a transaction that also stores the progress. Each change is therefore applied once to each item, whenever the
//! server dies. A scan applies all of them before it looks at the disk, and before it removes anything.
//!
//! In a library of the same kind an item keeps the values of people and what it was recognised as; values from its name are
//! read again, unless a person decided them. In a library of another kind the item is recognised anew. Outside of all
//! libraries it is deleted.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use qm_db::Tx;
use qm_kernel::as_error;
use qm_media::LibraryError;
use qm_media::lanes::{COMPUTE, LOOKS};
use qm_media::model::library::{Kind, MediaLibrary};
use qm_media::model::show::Show;
use qm_media::repo;
use qm_media_names::name::{Identity, Read, identify, read};
use qm_media_names::naming::is_one_film;
use qm_media_names::naming::tag::split;
use qm_media_names::place;
use qm_media_names::show::{canonical_key, named};
use qm_platform::Beats;
use tokio_util::sync::CancellationToken;

use super::Scanner;
use super::follow_up::{FILE_EVENTS, FILE_KEYS, below};
use crate::repo::moves;
use crate::repo::moves::{Change, Lying, Taken};

/// Items of one transaction.
const AT_ONCE: usize = 256;
/// Interval between looks for changes that no signal announced.
const INTERVAL: Duration = Duration::from_mins(5);
/// Pause before a failed change is tried again.
const AGAIN: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(20);

/// Effect of a change on one library.
struct Source<'a> {
    library: &'a MediaLibrary,
    from: String,
    /// Library and new place; `None`: it is in no library any more.
    to: Option<(&'a MediaLibrary, String)>,
}

/// An item with its place and its goal.
struct Moving {
    source: usize,
    item: Lying,
    /// New place and identity; `None`: the item is deleted.
    to: Option<Goal>,
}

pub(super) struct Goal {
    place: String,
    /// Identity by its new path; `None` if the old path gave the same.
    identity: Option<Identity>,
    /// Values of its name; `None` if the name is the same as before.
    read: Option<Read>,
    /// True if the file was moved alone, from one show to another.
    leaves: bool,
}

/// Work of one transaction.
struct Batch<'a> {
    change: Change,
    sources: Vec<Source<'a>>,
    moving: Vec<Moving>,
    /// Items at the places to which others move.
    taken: Vec<Taken>,
    /// States of those among `taken` whose own file is still there, by their ids.
    staying: HashMap<String, State>,
    /// True if there is something at the old path again.
    is_there: bool,
    /// True if this batch completes the change.
    is_last: bool,
}

impl<'a> Batch<'a> {
    /// Libraries of the batch, in the order in which their rows are locked.
    fn involved(&self) -> Vec<&'a MediaLibrary> {
        let involved = self
            .sources
            .iter()
            .flat_map(|source| [Some(source.library), source.to.as_ref().map(|to| to.0)]);
        let mut involved: Vec<&MediaLibrary> = involved.flatten().collect();
        involved.sort_by(|a, b| a.id.cmp(&b.id));
        involved.dedup_by(|a, b| a.id == b.id);
        involved
    }

    /// True if another file than that of the item lies at a place. A file with the size and time of the item's is the item's
    /// own: a scan has indexed it before the move was known.
    fn stands(&self, library: &MediaLibrary, place: &str, item: &Lying) -> bool {
        let here = |other: &&Taken| other.library_id == library.id && other.place == place;
        let others = self.taken.iter().filter(here).filter(|other| other.id != item.id);
        others
            .filter_map(|other| self.staying.get(&other.id))
            .any(|state| *state != (item.size, item.mtime))
    }
}

/// Size and modification time (nanoseconds since 1970) of a file.
type State = (i64, i64);

impl Scanner {
    /// Name and interval of the loop.
    pub const MOVES: (&'static str, Duration) = ("media.file_events", INTERVAL);

    /// Applies changes until it is told to stop. Of several servers on a database only the active one has loops.
    pub async fn moves_loop(self: Arc<Self>, stop: CancellationToken) {
        let mut beats = Beats::every(INTERVAL);
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = beats.next() => {}
                () = self.told.notified() => {}
            }
            if let Some(Err(error)) = stop.run_until_cancelled(self.follow_moves()).await {
                tracing::warn!(
                    error = as_error(&error),
                    "what was moved on the disk could not be moved in the media library"
                );
                let _ = stop.run_until_cancelled(tokio::time::sleep(AGAIN)).await;
                self.told.notify_one();
            }
        }
    }

    /// Applies all stored changes.
    pub async fn follow_moves(&self) -> Result<(), LibraryError> {
        let _turn = self.moving.lock().await;
        let mut touched = BTreeSet::new();
        while self.follow_some(&mut touched).await? {}
        self.recount(&touched).await
    }

    /// Applies all changes up to now, also those whose events were not handled yet.
    pub async fn catch_up(&self) -> Result<(), LibraryError> {
        let until = tokio::time::Instant::now() + self.pace.waits;
        let mut tx = self.db.begin_read().await?;
        let ahead = qm_platform::outbox::ahead(&mut tx, FILE_EVENTS, FILE_KEYS).await?;
        drop(tx);
        let Some(happened) = ahead else {
            return self.follow_moves().await;
        };
        loop {
            let mut tx = self.db.begin_read().await?;
            let passed = qm_platform::outbox::passed(&mut tx, FILE_EVENTS).await?;
            drop(tx);
            if passed.is_none_or(|passed| passed >= happened) || tokio::time::Instant::now() > until {
                return self.follow_moves().await;
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Applies changes in one transaction; true if there may be more. `touched`: collects the libraries whose items it
    /// changed.
    pub async fn follow_some(&self, touched: &mut BTreeSet<String>) -> Result<bool, LibraryError> {
        let mut tx = self.db.begin_read().await?;
        let Some(change) = moves::first(&mut tx).await? else {
            return Ok(false);
        };
        let libraries = repo::libraries::all(&mut tx).await?;
        let sources = sources(&libraries, &change);
        let mut rows: Vec<(usize, Lying)> = Vec::new();
        for (at, source) in sources.iter().enumerate() {
            let most = AT_ONCE as i64;
            let (library, from) = (&source.library.id, &source.from);
            let lying = moves::at_or_below(&mut tx, library, from, &change.after_id, most).await?;
            rows.extend(lying.into_iter().map(|item| (at, item)));
        }
        rows.sort_by(|(_, a), (_, b)| a.id.cmp(&b.id));
        // Each library gave at most this many: items behind the last one come in the next transaction.
        let is_last = rows.len() < AT_ONCE;
        rows.truncate(AT_ONCE);
        let moving = self.read_moving(&sources, rows).await?;
        let wanted: Vec<(&str, &str)> = moving
            .iter()
            .filter_map(|one| {
                let (library, _) = sources[one.source].to.as_ref()?;
                Some((&*library.id, &*one.to.as_ref()?.place))
            })
            .collect();
        let taken = moves::taken(&mut tx, &wanted).await?;
        drop(tx);
        let (staying, is_there) = self.on_disk(&libraries, &taken, &change.from_path).await?;
        let batch = Batch {
            change,
            sources,
            moving,
            taken,
            staying,
            is_there,
            is_last,
        };
        if self.write_moving(&batch).await? && !batch.moving.is_empty() {
            touched.extend(batch.involved().iter().map(|library| library.id.clone()));
        }
        Ok(true)
    }

    /// Writes one batch; false, with nothing done, if the stored change is not as it was.
    async fn write_moving(&self, batch: &Batch<'_>) -> Result<bool, LibraryError> {
        let mut tx = self.db.begin_write().await?;
        for library in batch.involved() {
            if !repo::libraries::hold(&mut tx, library).await? {
                return Ok(false);
            }
        }
        let change = &batch.change;
        let is_ours = match batch.moving.last() {
            Some(last) if !batch.is_last => moves::reached(&mut tx, change, &last.item.id).await?,
            _ => moves::done(&mut tx, change).await?,
        };
        if !is_ours {
            return Ok(false);
        }
        if change.after_id.is_empty() {
            for source in &batch.sources {
                self.carry_show(&mut tx, source).await?;
            }
        }
        let mut directories = HashMap::new();
        for one in &batch.moving {
            let source = &batch.sources[one.source];
            let library = &source.library.id;
            // An item with another file that stays keeps that one; a scan finds the moved file.
            let is_alone = one.to.is_none() || one.item.place == source.from;
            let may_stay = is_alone && !(one.to.is_none() && batch.is_there);
            if may_stay && self.stays(&mut tx, &one.item, library, &source.from).await? {
                continue;
            }
            match &one.to {
                Some(goal) => self.settle(&mut tx, batch, one, goal, &mut directories).await?,
                // Something is there again, or still: a scan compares the two.
                None if batch.is_there => {}
                None => {
                    moves::delete(&mut tx, &one.item.id, library, &one.item.place).await?;
                }
            }
        }
        tx.commit().await?;
        Ok(true)
    }

    /// Makes another file of an item its first one, if one lies outside of the moved or deleted path.
    async fn stays(
        &self,
        tx: &mut Tx,
        item: &Lying,
        library_id: &str,
        from: &str,
    ) -> Result<bool, LibraryError> {
        if !moves::lies(tx, &item.id, library_id, &item.place).await? {
            return Ok(false);
        }
        let copies = repo::copies::lying(tx, &item.id, library_id).await?;
        let staying = copies
            .into_iter()
            .find(|copy| !place::is_within(&copy.place, from));
        if let Some(copy) = &staying {
            repo::copies::raise(tx, &copy.id, self.ctx.now()).await?;
        }
        Ok(staying.is_some())
    }

    /// Identifies items by their old and new paths, off the async threads.
    async fn read_moving(
        &self,
        sources: &[Source<'_>],
        rows: Vec<(usize, Lying)>,
    ) -> Result<Vec<Moving>, LibraryError> {
        type Ends = (String, Kind, Option<(String, Kind)>);
        let ends = |source: &Source<'_>| -> Ends {
            let to = source.to.as_ref();
            let to = to.map(|(library, to)| (to.clone(), library.kind));
            (source.from.clone(), source.library.kind, to)
        };
        let ends: Vec<Ends> = sources.iter().map(ends).collect();
        let reading = COMPUTE.run(move |_| {
            let mut beside: HashMap<Option<String>, Vec<String>> = HashMap::new();
            for (_, item) in &rows {
                beside
                    .entry(place::parent(&item.place))
                    .or_default()
                    .push(place::shown(&item.place));
            }
            let reading = rows.into_iter().map(|(source, item)| {
                // An item that moves with its directory moves with all its neighbours.
                let is_alone = |from: &str| {
                    let beside = beside
                        .get(&place::parent(&item.place))
                        .map(Vec::as_slice)
                        .unwrap_or_default();
                    item.place != from && is_one_film(beside.iter().map(String::as_str))
                };
                let (from, before, to) = &ends[source];
                let to = to.as_ref().and_then(|(to, kind)| {
                    let place = place::rebased(&item.place, from, to)?;
                    Some(goal(&item, from, place, (*before, *kind), is_alone(from)))
                });
                Moving { source, item, to }
            });
            reading.collect()
        });
        Ok(reading.await?)
    }

    /// States of the items whose own file is still there, and whether anything exists at a path.
    async fn on_disk(
        &self,
        libraries: &[MediaLibrary],
        taken: &[Taken],
        path: &str,
    ) -> Result<(HashMap<String, State>, bool), LibraryError> {
        let paths: HashMap<&str, &str> = libraries
            .iter()
            .map(|library| (&*library.id, &*library.path))
            .collect();
        let looked: Vec<(String, PathBuf, State)> = taken
            .iter()
            .filter_map(|item| {
                let path = Path::new(paths.get(&*item.library_id)?)
                    .join(OsStr::from_bytes(&place::decode(&item.place)));
                Some((item.id.clone(), path, (item.size, item.mtime)))
            })
            .collect();
        let path = PathBuf::from(path);
        let looking = LOOKS.run(move |_| {
            let standing = looked.into_iter().filter(|(_, path, state)| {
                let now = path.metadata().ok().map(|now| state_of(&now));
                now == Some(*state)
            });
            let standing = standing.map(|(id, _, state)| (id, state)).collect();
            (standing, path.symlink_metadata().is_ok())
        });
        Ok(looking.await?)
    }

    /// Stores the new place of an item, unless it was moved elsewhere meanwhile, or the file at the new place belongs to
    /// another item.
    async fn settle(
        &self,
        tx: &mut Tx,
        batch: &Batch<'_>,
        moving: &Moving,
        goal: &Goal,
        directories: &mut HashMap<(String, String), String>,
    ) -> Result<(), LibraryError> {
        let (item, source) = (&moving.item, &batch.sources[moving.source]);
        let (before, Some((library, _))) = (source.library, &source.to) else {
            return Ok(());
        };
        if batch.stands(library, &goal.place, item)
            || !moves::lies(tx, &item.id, &before.id, &item.place).await?
        {
            return Ok(());
        }
        let folder = place::parent(&goal.place).unwrap_or_default();
        let key = (library.id.clone(), folder);
        let directory = match directories.get(&key) {
            Some(known) => known.clone(),
            None => repo::bulk::directory(tx, &library.id, &key.1, self.ctx.id()).await?,
        };
        let now = self.ctx.now();
        repo::bulk::relocate(tx, &item.id, &library.id, &directory, &goal.place, now).await?;
        directories.insert(key, directory);
        if let Some(read) = &goal.read {
            repo::items::set_tech(tx, &item.id, &read.tech).await?;
        }
        let is_decided = before.kind == library.kind && (item.locked || item.match_status == "manual");
        let Some(identity) = goal.identity.clone().filter(|_| !is_decided) else {
            return Ok(());
        };
        let Some((mut known, _)) = repo::lists::find(tx, &item.id).await? else {
            return Ok(());
        };
        let earlier = known.clone();
        if before.kind != library.kind {
            moves::forget_ids(tx, &item.id).await?;
            known.locked = false;
            (known.series_titledb_id, known.sort_title) = (None, None);
            if let Some(Read { facts, .. }) = &goal.read {
                (known.media_type, known.title) = (facts.media_type.clone(), facts.title.clone());
            }
        } else if goal.leaves {
            known.series_titledb_id = None;
        }
        known.recognised(identity);
        if !known.is_called(&earlier) {
            repo::external::forget_derived(tx, &item.id).await?;
        }
        known.updated_at = now;
        Ok(repo::items::edit(tx, &known).await?)
    }

    /// Stores the new place of an item in its library, as a scan saw it. `directory`: row of the directory that it is in.
    pub(super) async fn settle_seen(
        &self,
        tx: &mut Tx,
        library: &MediaLibrary,
        item: Lying,
        goal: Goal,
        directory: String,
    ) -> Result<(), LibraryError> {
        let folder = place::parent(&goal.place).unwrap_or_default();
        let mut directories = HashMap::from([((library.id.clone(), folder), directory)]);
        let batch = Batch {
            change: Change {
                position: 0,
                from_path: String::new(),
                to_path: None,
                after_id: String::new(),
            },
            sources: vec![Source {
                library,
                from: item.place.clone(),
                to: Some((library, goal.place.clone())),
            }],
            moving: Vec::new(),
            taken: Vec::new(),
            staying: HashMap::new(),
            is_there: false,
            is_last: true,
        };
        let moving = Moving {
            source: 0,
            item,
            to: None,
        };
        self.settle(tx, &batch, &moving, &goal, &mut directories).await
    }

    /// Moves a show along with its folder, which a scan saw elsewhere in its library.
    pub(super) async fn carry_seen_show(
        &self,
        tx: &mut Tx,
        library: &MediaLibrary,
        from: String,
        to: String,
    ) -> Result<(), LibraryError> {
        let source = Source {
            library,
            from,
            to: Some((library, to)),
        };
        self.carry_show(tx, &source).await
    }

    /// Moves a show along with its folder, if the new place is again that of a show.
    async fn carry_show(&self, tx: &mut Tx, source: &Source<'_>) -> Result<(), LibraryError> {
        let Some((library, to)) = &source.to else {
            return Ok(());
        };
        let is_show = |place: &str| !place.is_empty() && !place::top(place).1;
        let is_kind = source.library.kind == library.kind && library.kind.has_shows();
        if !is_kind || !is_show(&source.from) || !is_show(to) {
            return Ok(());
        }
        let Some(id) = moves::show_at(tx, &source.library.id, &source.from).await? else {
            return Ok(());
        };
        moves::give_way(tx, &library.id, to).await?;
        let (Some(show), None) = (
            repo::shows::find(tx, &id).await?,
            moves::show_at(tx, &library.id, to).await?,
        ) else {
            return Ok(());
        };
        let folder = place::shown(to);
        let (title, year) = named(&folder);
        let mut moved = Show {
            library_id: library.id.clone(),
            place: to.clone(),
            canonical_key: canonical_key(&folder),
            title,
            year,
            ..show.clone()
        };
        let now = self.ctx.now();
        if moved.tag(split(&folder).1) {
            repo::shows::change_series(tx, &show, &moved, now).await?;
        }
        Ok(moves::move_show(tx, &moved, now).await?)
    }
}

fn state_of(file: &std::fs::Metadata) -> State {
    let size = i64::try_from(file.len()).unwrap_or(i64::MAX);
    let mtime = file.mtime().saturating_mul(1_000_000_000);
    (size, mtime.saturating_add(file.mtime_nsec()))
}

/// Goal of an item that was moved within a library of this kind.
pub(super) fn goal_within(item: &Lying, place: String, kind: Kind, is_alone: bool) -> Goal {
    goal(item, &item.place, place, (kind, kind), is_alone)
}

fn goal(item: &Lying, from: &str, place: String, (before, kind): (Kind, Kind), is_alone: bool) -> Goal {
    let (old, new) = (place::shown(&item.place), place::shown(&place));
    let identity = identify(&new, kind, is_alone);
    let name = |path: &str| path.rsplit('/').next().map(str::to_owned);
    let is_new = before != kind || (identity.is_matched() && identity != identify(&old, before, is_alone));
    Goal {
        read: (before != kind || name(&old) != name(&new)).then(|| read(&new, kind, is_alone)),
        identity: is_new.then_some(identity),
        leaves: item.place == from && place::top(&item.place).0 != place::top(&place).0,
        place,
    }
}

/// Effects of a change on the libraries that hold the old path. The target is the same library if it holds the new path too,
/// else one of the same kind, else another one; of several, the deepest. No library is given the same files twice.
fn sources<'a>(libraries: &'a [MediaLibrary], change: &Change) -> Vec<Source<'a>> {
    let mut given: HashSet<&str> = HashSet::new();
    let has = |path: &str| -> Vec<(&'a MediaLibrary, String)> {
        let mut has: Vec<_> = libraries
            .iter()
            .filter_map(|library| Some((library, below(library, path)?)))
            // The library's own directory is skipped: it was named by people, and its disk may be back soon.
            .filter(|(_, place)| !place.is_empty())
            .collect();
        has.sort_by_key(|(library, _)| std::cmp::Reverse(library.path.len()));
        has
    };
    let to = change.to_path.as_deref().map(has).unwrap_or_default();
    let mut from = has(&change.from_path);
    // Libraries that hold both paths come first: no other library is given their files.
    from.sort_by_key(|(library, _)| !to.iter().any(|(other, _)| other.id == library.id));
    let sources = from.into_iter().map(|(library, from)| {
        let fits = |test: &dyn Fn(&MediaLibrary) -> bool| {
            let mut fitting = to.iter().filter(|(other, _)| !given.contains(&*other.id));
            fitting.find(|(other, _)| test(other))
        };
        let to = fits(&|other| other.id == library.id)
            .or_else(|| fits(&|other| other.kind == library.kind))
            .or_else(|| fits(&|_| true));
        if let Some((other, _)) = to {
            given.insert(&other.id);
        }
        Source {
            library,
            from,
            to: to.cloned(),
        }
    });
    sources.collect()
}
