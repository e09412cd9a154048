//! Walk of a library: it lists the files on the disk, through handles that follow no link.
//!
//! A directory is opened by its name from the one above, so that one that is swapped for a link meanwhile leads nowhere. If
//! a directory did not change since it was read, only its own state is read, and its known subdirectories are walked.
//! Bounds: directories 128 deep, each level a handle; 512 KiB of a file that names the show of a folder.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use qm_confined::{open_child, open_content, open_directory, open_listing, resolve};
use qm_media::model::library::Kind;
use qm_media::ops::reach::mtime;
use qm_media_names::name::{is_marker, is_skipped, is_video};
use qm_media_names::naming::tag::{Ids, split};
use qm_media_names::naming::{extra, is_one_film};
use qm_media_names::{nfo, place};
use rustix::fs::{self, AtFlags, FileType, Stat};
use rustix::io::Errno;

use crate::model::doubt::Known;

/// Largest depth of directories. Deeper ones are reported and not entered.
const MAX_DEPTH: usize = 128;

/// Largest length of a place, in bytes: the bound of an index of PostgreSQL. Files and directories at longer ones are
/// reported and skipped.
const MAX_PLACE: usize = 2_500;

/// Most files beside a film that are read for its ids.
const NOTES: usize = 8;

/// Task of a walk: the directory, and the rules by which it is walked.
pub struct Task {
    /// The library's directory.
    pub root: PathBuf,
    /// `FILE_MANAGER_ROOTS`: a link to a file elsewhere is skipped.
    pub roots: Vec<String>,
    /// The service's own directories, which are always skipped.
    pub own: Vec<PathBuf>,
    pub known: Known,
    /// Milliseconds since 1970.
    pub now: i64,
    /// Age in milliseconds below which a change is not trusted: a newer one may be followed by another that leaves no trace.
    pub settles: i64,
    /// Age in milliseconds at which a directory is read again, whatever its state; 0: all are read.
    pub relies: i64,
    /// Paths of the directories to walk; `None`: the whole library. They are read themselves, whatever their state; the rest
    /// of the library is taken as known.
    pub within: Option<Vec<Vec<u8>>>,
    /// Places that are skipped, with everything below them.
    pub ignored: HashSet<String>,
    /// Kind of the library. In those of shows and films, ids beside a file are read, and extras are not indexed as items.
    pub kind: Kind,
}

/// A file that was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenFile {
    pub place: String,
    pub size: i64,
    /// Nanoseconds since 1970.
    pub mtime: i64,
    /// Number of its file system, and its own (inode) there. For a link, those of its target.
    pub node: (i64, i64),
    /// Ids that a file beside it gives.
    pub ids: Ids,
}

/// A file that belongs to a film or a show and is neither a film nor an episode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenExtra {
    pub place: String,
    pub kind: &'static str,
    pub size: i64,
    /// Nanoseconds since 1970.
    pub mtime: i64,
}

/// Result for the contents of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entries {
    /// Unchanged since the last reading.
    Same,
    Read(Vec<SeenFile>),
    /// Reason why they could not be read.
    Unread(String),
}

/// A directory that was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenDirectory {
    pub place: String,
    pub device: i64,
    pub inode: i64,
    /// Nanoseconds since 1970.
    pub mtime: i64,
    /// True if the next scan may rely on the directory's own state.
    pub is_settled: bool,
    pub entries: Entries,
    /// Id of the series that a `tvshow.nfo` in it names. Only for a directory that was read and lies right in the library's
    /// directory.
    pub nfo: Option<String>,
    /// Extras in it.
    pub extras: Vec<SeenExtra>,
    /// Files in it that are no films, no episodes and no extras.
    pub passed: u64,
}

/// Reason why a walk has no result.
#[derive(Debug, thiserror::Error)]
pub enum WalkError {
    #[error("it was stopped")]
    Stopped,
    #[error("the library's directory `{}` cannot be opened: {errno}", path.display())]
    NoRoot { path: PathBuf, errno: Errno },
}

/// Walks the whole library. `files` counts what was seen, while it goes on.
pub fn walk(
    task: &Task,
    files: &AtomicU64,
    stopped: &dyn Fn() -> bool,
) -> Result<Vec<SeenDirectory>, WalkError> {
    let root = open_directory(&task.root).map_err(|errno| WalkError::NoRoot {
        path: task.root.clone(),
        errno,
    })?;
    let mut children: HashMap<String, Vec<Vec<u8>>> = HashMap::new();
    for known in task.known.keys() {
        if let Some(above) = place::parent(known) {
            let path = place::decode(known);
            let name = path
                .rsplit(|byte| *byte == b'/')
                .next()
                .unwrap_or_default()
                .to_vec();
            children.entry(above).or_default().push(name);
        }
    }
    let identity = |path: &PathBuf| fs::stat(path).ok().map(|stat| identity(&stat));
    let mut walker = Walker {
        task,
        files,
        stopped,
        children,
        roots: task
            .roots
            .iter()
            .map(|root| qm_media::ops::guard::place_of(Path::new(root)))
            .collect(),
        own: task.own.iter().filter_map(identity).collect(),
        seen: Vec::new(),
    };
    let is_inside = task.within.is_none();
    walker.directory(&root, &mut Vec::new(), 0, is_inside)?;
    Ok(walker.seen)
}

fn identity(stat: &Stat) -> (i64, i64) {
    (stat.st_dev.cast_signed(), stat.st_ino.cast_signed())
}

/// True if a directory of this name may exist. An error of the query counts as true: opening it reports the error.
fn is_directory(dir: &OwnedFd, name: &[u8]) -> bool {
    let stat = fs::statat(dir, OsStr::from_bytes(name), AtFlags::SYMLINK_NOFOLLOW);
    stat.map_or_else(
        |errno| !matches!(errno, Errno::NOENT | Errno::NOTDIR),
        |stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory,
    )
}

fn too_long() -> String {
    format!("its path below the library's directory is longer than {MAX_PLACE} bytes")
}

/// Rest of a path below another one; `None` if it does not lie below.
fn below<'a>(path: &'a [u8], above: &[u8]) -> Option<&'a [u8]> {
    if above.is_empty() {
        return Some(path);
    }
    path.strip_prefix(above)?.strip_prefix(b"/")
}

/// Keeps, of the files of a disc, the first file of the longest part; returns the number of skipped files.
fn keep_feature(path: &[u8], files: &mut Vec<SeenFile>) -> u64 {
    let folder = path.to_ascii_lowercase();
    let is_disc = folder.ends_with(b"video_ts") || folder.ends_with(b"bdmv/stream");
    if !is_disc || files.len() < 2 {
        return 0;
    }
    let part = |file: &SeenFile| match file.place.rsplit_once('_') {
        Some((part, _)) if folder.ends_with(b"video_ts") => part.to_owned(),
        _ => file.place.clone(),
    };
    let mut sizes: HashMap<String, i64> = HashMap::new();
    for file in files.iter() {
        *sizes.entry(part(file)).or_default() += file.size;
    }
    let longest = sizes
        .into_iter()
        .max_by(|(a, one), (b, other)| one.cmp(other).then_with(|| b.cmp(a)));
    let all = files.len();
    files.retain(|file| {
        longest
            .as_ref()
            .is_some_and(|(longest, _)| part(file) == *longest)
    });
    files.sort_by(|one, other| one.place.cmp(&other.place));
    let menu = files
        .iter()
        .position(|file| !file.place.to_ascii_lowercase().ends_with("_0.vob"))
        .unwrap_or(0);
    files.swap(0, menu);
    files.truncate(1);
    (all - files.len()) as u64
}

/// Files of one directory that may say which films lie in it.
struct Notes {
    all: Vec<Vec<u8>>,
    /// Places in `all`, by the names without their endings.
    by_stem: HashMap<Vec<u8>, Vec<usize>>,
    /// True if the directory holds one film, about which any of these files may speak.
    is_of_one: bool,
}

impl Notes {
    fn new(all: Vec<Vec<u8>>, files: &[(Vec<u8>, FileType)]) -> Self {
        let mut by_stem: HashMap<Vec<u8>, Vec<usize>> = HashMap::new();
        for (at, note) in all.iter().enumerate() {
            by_stem.entry(stem_of(note).to_vec()).or_default().push(at);
        }
        let names = files
            .iter()
            .filter_map(|(name, _)| std::str::from_utf8(name).ok());
        Self {
            is_of_one: !all.is_empty() && is_one_film(names),
            by_stem,
            all,
        }
    }

    /// Files that may speak of a film: those with its name first.
    fn beside(&self, film: &[u8]) -> impl Iterator<Item = &Vec<u8>> {
        let own = self.by_stem.get(stem_of(film)).into_iter().flatten();
        let of_any = self.all.iter().filter(|_| self.is_of_one);
        own.map(|at| &self.all[*at]).chain(of_any)
    }
}

/// A name without its ending.
fn stem_of(name: &[u8]) -> &[u8] {
    let end = name.iter().rposition(|byte| *byte == b'.');
    &name[..end.unwrap_or(name.len())]
}

struct Walker<'a> {
    task: &'a Task,
    files: &'a AtomicU64,
    stopped: &'a dyn Fn() -> bool,
    /// Names of known directories, by the place above them.
    children: HashMap<String, Vec<Vec<u8>>>,
    roots: Vec<PathBuf>,
    own: HashSet<(i64, i64)>,
    seen: Vec<SeenDirectory>,
}

/// Contents of a directory.
#[derive(Default)]
struct Listing {
    files: Vec<SeenFile>,
    directories: Vec<Vec<u8>>,
    /// Id of the series that its `tvshow.nfo` names.
    nfo: Option<String>,
    /// Newest modification time of files that name ids, in nanoseconds since 1970; 0: there is none.
    nfo_mtime: i64,
    extras: Vec<SeenExtra>,
    passed: u64,
}

impl Walker<'_> {
    /// Walks one directory. `is_inside`: true to walk everything in it; false to walk only the way to wanted directories.
    fn directory(
        &mut self,
        dir: &OwnedFd,
        path: &mut Vec<u8>,
        depth: usize,
        is_inside: bool,
    ) -> Result<(), WalkError> {
        if (self.stopped)() {
            return Err(WalkError::Stopped);
        }
        let place = place::encode(path);
        let stat = match fs::fstat(dir) {
            Ok(stat) => stat,
            Err(errno) => {
                self.unread(place, errno.to_string());
                return Ok(());
            }
        };
        let (device, inode) = identity(&stat);
        if self.own.contains(&(device, inode)) {
            return Ok(());
        }
        let mtime = mtime(&stat);
        let mut seen = SeenDirectory {
            device,
            inode,
            mtime,
            is_settled: false,
            entries: Entries::Same,
            nfo: None,
            extras: Vec::new(),
            passed: 0,
            place,
        };
        let within = self.task.within.as_deref().unwrap_or_default();
        let is_named = within.iter().any(|named| named == path);
        if !is_inside
            && !is_named
            && self.may_pass(&seen)
            && let Some(leading) = self.leading(dir, path)
        {
            return self.pass(dir, seen, path, depth, &leading);
        }
        let directories = if depth >= MAX_DEPTH {
            seen.entries = Entries::Unread(format!("it lies deeper than {MAX_DEPTH} directories"));
            Vec::new()
        } else if seen.place.len() > MAX_PLACE {
            seen.entries = Entries::Unread(too_long());
            Vec::new()
        } else if !is_named && self.is_same(&seen) && self.has_all(dir, &seen.place) {
            let items = self.task.known.get(&seen.place).map_or(0, |known| known.items);
            self.files.fetch_add(items.unsigned_abs(), Ordering::Relaxed);
            self.children.get(&seen.place).cloned().unwrap_or_default()
        } else {
            match self.list(dir, path, depth) {
                Ok(listing) => {
                    self.files
                        .fetch_add(listing.files.len() as u64, Ordering::Relaxed);
                    let beside = listing.extras.iter().map(|extra| extra.mtime).max().unwrap_or(0);
                    let latest = mtime.max(listing.nfo_mtime).max(beside);
                    seen.is_settled = self.is_settled(latest, &listing.files);
                    seen.nfo = listing.nfo;
                    seen.passed = listing.passed;
                    seen.extras = listing.extras;
                    seen.entries = Entries::Read(listing.files);
                    listing.directories
                }
                Err(errno) => {
                    seen.entries = Entries::Unread(errno.to_string());
                    Vec::new()
                }
            }
        };
        self.seen.push(seen);
        for name in directories {
            if !self.is_ignored(path, &name) {
                self.child(dir, &name, path, depth, true)?;
            }
        }
        Ok(())
    }

    /// True if a directory on the way may be passed without being read: it is known, and the library's own directory is
    /// still the known one, which tells a disk from its empty mount point.
    fn may_pass(&self, seen: &SeenDirectory) -> bool {
        let known = self.task.known.get(&seen.place);
        known.is_some_and(|known| {
            let is_same = (known.device, known.inode) == (Some(seen.device), Some(seen.inode));
            is_same || !seen.place.is_empty() || known.device.is_none()
        })
    }

    /// Names of the directories that lead on from one on the way; `None` if one of them is missing, so that this one must be
    /// read.
    fn leading(&self, dir: &OwnedFd, path: &[u8]) -> Option<HashSet<Vec<u8>>> {
        let within = self.task.within.as_deref().unwrap_or_default();
        let names: HashSet<Vec<u8>> = within
            .iter()
            .filter_map(|named| below(named, path))
            .map(|rest| {
                rest.split(|byte| *byte == b'/')
                    .next()
                    .unwrap_or_default()
                    .to_vec()
            })
            .collect();
        names.iter().all(|name| is_directory(dir, name)).then_some(names)
    }

    /// Passes through a directory that only lies on the way.
    fn pass(
        &mut self,
        dir: &OwnedFd,
        seen: SeenDirectory,
        path: &mut Vec<u8>,
        depth: usize,
        leading: &HashSet<Vec<u8>>,
    ) -> Result<(), WalkError> {
        let known = self.children.get(&seen.place).cloned().unwrap_or_default();
        self.seen.push(seen);
        for name in known.iter().filter(|name| !leading.contains(*name)) {
            self.as_known(place::encode(&place::join(path, OsStr::from_bytes(name))));
        }
        for name in leading {
            if is_skipped(name) || self.is_ignored(path, name) {
                continue;
            }
            self.child(dir, name, path, depth, false)?;
        }
        Ok(())
    }

    /// Takes a directory that is not walked as known, with everything below it.
    fn as_known(&mut self, place: String) {
        let mut at = vec![place];
        while let Some(place) = at.pop() {
            let path = place::decode(&place);
            let names = self.children.get(&place).into_iter().flatten();
            at.extend(names.map(|name| place::encode(&place::join(&path, OsStr::from_bytes(name)))));
            let known = self.task.known.get(&place);
            self.seen.push(SeenDirectory {
                device: known.and_then(|known| known.device).unwrap_or(0),
                inode: known.and_then(|known| known.inode).unwrap_or(0),
                mtime: known.map_or(0, |known| known.mtime),
                is_settled: false,
                entries: Entries::Same,
                nfo: None,
                extras: Vec::new(),
                passed: 0,
                place,
            });
        }
    }

    fn child(
        &mut self,
        dir: &OwnedFd,
        name: &[u8],
        path: &mut Vec<u8>,
        depth: usize,
        is_inside: bool,
    ) -> Result<(), WalkError> {
        let length = path.len();
        let child = place::join(path, OsStr::from_bytes(name));
        match open_child(dir, OsStr::from_bytes(name)) {
            Ok(opened) => {
                path.extend_from_slice(&child[length..]);
                let done = self.directory(&opened, path, depth + 1, is_inside);
                path.truncate(length);
                done?;
            }
            // It is no longer a directory, or a link now.
            Err(Errno::NOTDIR | Errno::LOOP) => {}
            // It was renamed just now, or its file system was unmounted.
            Err(errno) => self.unread(place::encode(&child), errno.to_string()),
        }
        Ok(())
    }

    fn unread(&mut self, place: String, reason: String) {
        let known = self.task.known.get(&place);
        self.seen.push(SeenDirectory {
            device: known.and_then(|known| known.device).unwrap_or(0),
            inode: known.and_then(|known| known.inode).unwrap_or(0),
            mtime: 0,
            is_settled: false,
            entries: Entries::Unread(reason),
            nfo: None,
            extras: Vec::new(),
            passed: 0,
            place,
        });
    }

    fn is_same(&self, seen: &SeenDirectory) -> bool {
        self.task.known.get(&seen.place).is_some_and(|known| {
            known.device == Some(seen.device)
                && known.inode == Some(seen.inode)
                && known.mtime == seen.mtime
                && known
                    .read_at
                    .is_some_and(|at| self.task.now - at < self.task.relies)
        })
    }

    /// True if the known directories inside one that looks unchanged still exist. A scan that was cut off, or found nothing
    /// at all, has stored the new state of their parent, but not that they are gone.
    fn has_all(&self, dir: &OwnedFd, place: &str) -> bool {
        let names = self.children.get(place).into_iter().flatten();
        names.into_iter().all(|name| is_directory(dir, name))
    }

    /// True if nothing in it was changed lately. A file that is still written does not change its directory.
    fn is_settled(&self, mtime: i64, files: &[SeenFile]) -> bool {
        let edge = (self.task.now - self.task.settles).saturating_mul(1_000_000);
        mtime <= edge && files.iter().all(|file| file.mtime <= edge)
    }

    /// True if a person asked to ignore this name in a directory. The directories above it were checked before.
    fn is_ignored(&self, path: &[u8], name: &[u8]) -> bool {
        !self.task.ignored.is_empty()
            && self
                .task
                .ignored
                .contains(&place::encode(&place::join(path, OsStr::from_bytes(name))))
    }

    fn list(&mut self, dir: &OwnedFd, path: &[u8], depth: usize) -> Result<Listing, Errno> {
        let mut listing = Listing::default();
        let mut files: Vec<(Vec<u8>, FileType)> = Vec::new();
        let mut notes: Vec<Vec<u8>> = Vec::new();
        for entry in fs::Dir::new(open_listing(dir)?)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if matches!(name, b"." | b"..") {
                continue;
            }
            let mut kind = entry.file_type();
            if kind == FileType::Unknown {
                match fs::statat(dir, OsStr::from_bytes(name), AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(stat) => kind = FileType::from_raw_mode(stat.st_mode),
                    Err(_) => continue,
                }
            }
            if kind == FileType::Directory {
                if !is_skipped(name) && !self.is_ignored(path, name) {
                    listing.directories.push(name.to_vec());
                }
            } else if is_marker(name) {
                return Ok(Listing::default());
            } else if depth == 1 && kind == FileType::RegularFile && name.eq_ignore_ascii_case(nfo::NAME) {
                if self.task.kind.has_shows()
                    && let Ok((said, mtime)) = self.nfo(dir, name, nfo::series_id)
                {
                    (listing.nfo, listing.nfo_mtime) = (said, mtime);
                }
            } else if self.task.kind == Kind::Movie && kind == FileType::RegularFile && nfo::is_note(name) {
                notes.push(name.to_vec());
            } else if is_video(name) && matches!(kind, FileType::RegularFile | FileType::Symlink) {
                if self.is_ignored(path, name) {
                    listing.passed += 1;
                } else {
                    files.push((name.to_vec(), kind));
                }
            }
        }
        if depth == 1 && self.task.kind.has_shows() && listing.nfo.is_none() {
            listing.nfo = split(&String::from_utf8_lossy(path)).1.titledb;
        }
        let is_extra = |name: &[u8]| {
            let shown = place::shown(&place::encode(&place::join(path, OsStr::from_bytes(name))));
            extra(&shown, self.task.kind)
        };
        let (files, extras): (Vec<_>, Vec<_>) =
            files.into_iter().partition(|(name, _)| is_extra(name).is_none());
        for (name, kind) in extras {
            let full = place::join(path, OsStr::from_bytes(&name));
            let place = place::encode(&full);
            let stat = self.file(dir.as_fd(), &name, kind, &full);
            let (Some(kind), Some(stat)) = (is_extra(&name), stat.filter(|_| place.len() <= MAX_PLACE))
            else {
                listing.passed += 1;
                continue;
            };
            listing.extras.push(SeenExtra {
                place,
                kind,
                size: stat.st_size,
                mtime: mtime(&stat),
            });
        }
        // Names of trailers must not count when films are counted.
        let notes = Notes::new(notes, &files);
        for (name, kind) in files {
            let full = place::join(path, OsStr::from_bytes(&name));
            let place = place::encode(&full);
            if place.len() > MAX_PLACE {
                self.unread(place, too_long());
                continue;
            }
            if let Some(stat) = self.file(dir.as_fd(), &name, kind, &full) {
                let (ids, noted) = self.noted(dir, &name, &notes);
                listing.nfo_mtime = listing.nfo_mtime.max(noted);
                listing.files.push(SeenFile {
                    place,
                    size: stat.st_size,
                    mtime: mtime(&stat),
                    node: identity(&stat),
                    ids,
                });
            }
        }
        listing.passed += keep_feature(path, &mut listing.files);
        Ok(listing)
    }

    /// Ids from a file beside a film, and its modification time. The file has the film's name; if there is only one film,
    /// any name.
    fn noted(&self, dir: &OwnedFd, film: &[u8], notes: &Notes) -> (Ids, i64) {
        let mut latest = 0;
        for note in notes.beside(film).take(NOTES) {
            if let Ok((said, mtime)) = self.nfo(dir, note, |text| {
                Some(nfo::film_ids(text)).filter(|ids| !ids.is_empty())
            }) {
                latest = latest.max(mtime);
                if let Some(ids) = said {
                    return (ids, latest);
                }
            }
        }
        (Ids::default(), latest)
    }

    /// Result of reading an information file, and its modification time. A file that is too large is not read.
    fn nfo<T>(
        &self,
        dir: &OwnedFd,
        name: &[u8],
        read: impl FnOnce(&[u8]) -> Option<T>,
    ) -> Result<(Option<T>, i64), Errno> {
        let (file, stat) = open_content(dir, OsStr::from_bytes(name))?;
        if self.own.contains(&identity(&stat)) {
            return Err(Errno::INVAL);
        }
        let mut text = Vec::new();
        let mut bounded = std::fs::File::from(file).take(nfo::MOST + 1);
        let filled = bounded.read_to_end(&mut text);
        filled.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
        let is_whole = text.len() as u64 <= nfo::MOST;
        Ok((is_whole.then(|| read(&text)).flatten(), mtime(&stat)))
    }

    /// State of a regular file, or of the one a link leads to inside the roots.
    fn file(
        &self,
        dir: std::os::fd::BorrowedFd<'_>,
        name: &[u8],
        kind: FileType,
        full: &[u8],
    ) -> Option<Stat> {
        let of_own = |dir: std::os::fd::BorrowedFd<'_>, name: &OsStr| {
            fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW).ok()
        };
        let stat = if kind == FileType::Symlink {
            let target = resolve(&self.task.root.join(OsStr::from_bytes(full))).ok()?;
            if !self.roots.iter().any(|root| target.starts_with(root)) {
                return None;
            }
            let folder = open_directory(target.parent()?).ok()?;
            of_own(folder.as_fd(), target.file_name()?)?
        } else {
            of_own(dir, OsStr::from_bytes(name))?
        };
        let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        (is_file && !self.own.contains(&identity(&stat))).then_some(stat)
    }
}
