//! Watches on a library's directories, and the changes that they report.
//!
//! A directory is watched before it is listed, so that new entries are reported meanwhile. When a directory appears,
//! disappears or is renamed, its watches and those below it are set anew. Bounds: one watch a directory, as many as the
//! caller says; [`MOST_NOTED`] directories wait for a scan, beyond which the whole library does.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ffi::OsStr;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use qm_confined::{open_directory, open_listing};
use qm_lanes::IgnorePoison;
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::fs::{self, AtFlags, FileType};
use rustix::io::Errno;
use tokio::io::unix::AsyncFd;
use tokio::sync::Notify;

use qm_media_names::name::{is_marker, is_skipped, is_video};

/// Events that a watch on a directory reports.
const TOLD: WatchFlags = WatchFlags::ATTRIB
    .union(WatchFlags::CLOSE_WRITE)
    .union(WatchFlags::CREATE)
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MOVE)
    .union(WatchFlags::ONLYDIR)
    .union(WatchFlags::DONT_FOLLOW)
    .union(WatchFlags::EXCL_UNLINK);
/// Events of an entry that was renamed or moved.
const MOVED: ReadFlags = ReadFlags::MOVED_FROM.union(ReadFlags::MOVED_TO);
/// Events of the library's own directory when it was moved, deleted or unmounted.
const GONE: ReadFlags = ReadFlags::DELETE_SELF
    .union(ReadFlags::MOVE_SELF)
    .union(ReadFlags::UNMOUNT);
/// Size of the buffer for events, in bytes.
const BUFFER: usize = 16 * 1024;
/// Most directories that wait for a scan.
const MOST_NOTED: usize = 10_000;

/// Reason why a library is not watched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unwatched {
    #[error("it has more than {0} directories, which are the most that are watched")]
    TooMany(usize),
    #[error(
        "the system's limit of inotify watches is reached (ENOSPC): raise fs.inotify.max_user_watches, then it is watched again"
    )]
    NoWatches,
    #[error(
        "the system's limit of inotify instances or open files is reached (EMFILE): raise fs.inotify.max_user_instances, \
         then it is watched again"
    )]
    NoInstances,
    #[error("`{path}` cannot be watched: {why}")]
    Directory { path: String, why: String },
    #[error("its directory, or a file system in it, is not there any more")]
    Gone,
    #[error("watching failed: {0}")]
    Failed(String),
    /// Events were lost: the watches must be set anew, and the whole library scanned.
    #[error("changes came faster than they could be told of")]
    Overflow,
    #[error("it was stopped")]
    Stopped,
}

/// Changes since the last call. Paths are bytes below the library's directory.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Noted {
    /// Directories in which something changed.
    pub changed: BTreeSet<Vec<u8>>,
    /// Entries that appeared, disappeared or were renamed, and may be directories.
    pub turned: BTreeSet<Vec<u8>>,
    pub lost: Option<Unwatched>,
}

/// Collection of the changes that the watches report.
#[derive(Default)]
pub struct Notes {
    noted: Mutex<Noted>,
    /// Paths of the watched directories below the library's, by the numbers of their watches.
    names: Mutex<HashMap<i32, PathBuf>>,
    /// Signal that there are changes.
    pub told: Notify,
}

impl Notes {
    pub fn take(&self) -> Noted {
        std::mem::take(&mut *self.noted.lock().ignore_poison())
    }

    /// Collects the events of the system until reading them fails.
    pub async fn listen(&self, told: Arc<OwnedFd>) -> Unwatched {
        let failed = |error: io::Error| Unwatched::Failed(error.to_string());
        #[expect(
            deprecated,
            reason = "what replaces it is not safe to call; an `OwnedFd` is the same descriptor as long as it lives"
        )]
        let told = match AsyncFd::new(told) {
            Ok(told) => told,
            Err(error) => return failed(error),
        };
        loop {
            let mut ready = match told.readable().await {
                Ok(ready) => ready,
                Err(error) => return failed(error),
            };
            match self.read(told.get_ref()) {
                Err(Errno::AGAIN) => ready.clear_ready(),
                Err(Errno::INTR) => {}
                Err(errno) => return failed(errno.into()),
                // Other tasks can run in between.
                Ok(()) => tokio::task::yield_now().await,
            }
        }
    }

    /// Reads all waiting events.
    fn read(&self, told: &OwnedFd) -> Result<(), Errno> {
        let mut buffer = [MaybeUninit::uninit(); BUFFER];
        let mut reader = Reader::new(told, &mut buffer);
        loop {
            let event = reader.next()?;
            let name = event.file_name().map(|name| OsStr::from_bytes(name.to_bytes()));
            self.note(event.wd(), event.events(), name);
            if reader.is_buffer_empty() {
                return Ok(());
            }
        }
    }

    fn note(&self, watch: i32, what: ReadFlags, name: Option<&OsStr>) {
        let mut noted = self.noted.lock().ignore_poison();
        let mut names = self.names.lock().ignore_poison();
        if what.contains(ReadFlags::QUEUE_OVERFLOW) {
            noted.lost = Some(Unwatched::Overflow);
        } else if let Some(folder) = names.get(&watch) {
            noted.add(folder, what, name);
        }
        if what.contains(ReadFlags::IGNORED) {
            names.remove(&watch);
        }
        drop(names);
        if *noted != Noted::default() {
            self.told.notify_one();
        }
    }
}

impl Noted {
    /// Notes one event. `folder`: path of the directory below the library's.
    fn add(&mut self, folder: &Path, what: ReadFlags, name: Option<&OsStr>) {
        let above = folder.as_os_str().as_bytes();
        let Some(name) = name else {
            if what.intersects(GONE) && (above.is_empty() || what.contains(ReadFlags::UNMOUNT)) {
                self.lost = Some(Unwatched::Gone);
            }
            return;
        };
        let (is_directory, is_marker) = (what.contains(ReadFlags::ISDIR), is_marker(name.as_bytes()));
        // A change of a folder's permissions is no change in the folder above.
        let is_its_own = is_directory && !what.intersects(MOVED | ReadFlags::CREATE | ReadFlags::DELETE);
        if is_its_own || (is_skipped(name.as_bytes()) && !is_marker) {
            return;
        }
        if is_directory {
            self.turned
                .insert(folder.join(name).into_os_string().as_bytes().to_vec());
        } else if is_marker {
            self.turned.insert(above.to_vec());
        }
        if is_directory || is_marker || is_video(name.as_bytes()) {
            self.changed.insert(above.to_vec());
        }
        if self.changed.len() > MOST_NOTED {
            self.changed = BTreeSet::from([Vec::new()]);
        }
        if self.turned.len() > MOST_NOTED {
            self.turned = BTreeSet::from([Vec::new()]);
        }
    }
}

/// Channel of inotify events, without any watch yet.
pub fn channel(root: &Path) -> Result<Arc<OwnedFd>, Unwatched> {
    let told = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK);
    told.map(Arc::new).map_err(|errno| refused(errno, root))
}

/// The watches of one library.
pub struct Watches {
    root: PathBuf,
    /// The service's own directories.
    own: HashSet<(u64, u64)>,
    most: usize,
    channel: Arc<OwnedFd>,
    notes: Arc<Notes>,
    /// Numbers of the watches by the paths of their directories.
    watched: BTreeMap<PathBuf, i32>,
}

impl Watches {
    /// Watches every directory of a library, up to `most`. Events come through `channel`, and `notes` has the names.
    pub fn open(
        root: PathBuf,
        own: &[PathBuf],
        most: usize,
        (channel, notes): (Arc<OwnedFd>, Arc<Notes>),
        stopped: &dyn Fn() -> bool,
    ) -> Result<Self, Unwatched> {
        let identity = |path: &PathBuf| std::fs::metadata(path).ok().map(|it| (it.dev(), it.ino()));
        let state = std::fs::symlink_metadata(&root).map_err(|error| unreadable(&root, &error))?;
        if !state.is_dir() {
            return Err(unreadable(&root, &io::ErrorKind::NotADirectory.into()));
        }
        let mut watches = Self {
            own: own.iter().filter_map(identity).collect(),
            root,
            most,
            channel,
            notes,
            watched: BTreeMap::new(),
        };
        watches.add(watches.root.clone(), stopped)?;
        Ok(watches)
    }

    pub fn count(&self) -> usize {
        self.watched.len()
    }

    /// Sets watches anew for entries that appeared, disappeared or were renamed.
    pub fn renew(&mut self, turned: &BTreeSet<Vec<u8>>, stopped: &dyn Fn() -> bool) -> Result<(), Unwatched> {
        let paths: Vec<PathBuf> = turned
            .iter()
            .map(|below| self.root.join(OsStr::from_bytes(below)).components().collect())
            .collect();
        // Old watches are removed first: a directory that moved has one watch, whatever its name.
        for path in &paths {
            // Paths are sorted: those below a directory follow it.
            let old: Vec<PathBuf> = self
                .watched
                .range(path.clone()..)
                .map(|(watched, _)| watched)
                .take_while(|watched| watched.starts_with(path))
                .cloned()
                .collect();
            for path in old {
                if let Some(watch) = self.watched.remove(&path) {
                    // If the directory is gone, its watch is gone too.
                    let _ = inotify::remove_watch(&*self.channel, watch);
                }
            }
        }
        for path in paths {
            // A path in a directory without a watch is added with that directory, or is skipped.
            let is_reached = path
                .parent()
                .is_some_and(|above| self.watched.contains_key(above));
            if path == self.root || is_reached {
                self.add(path, stopped)?;
            }
        }
        Ok(())
    }

    fn add(&mut self, path: PathBuf, stopped: &dyn Fn() -> bool) -> Result<(), Unwatched> {
        let mut at = vec![path];
        while let Some(path) = at.pop() {
            if stopped() {
                return Err(Unwatched::Stopped);
            }
            let Ok(state) = std::fs::symlink_metadata(&path) else {
                continue;
            };
            let is_other = !state.is_dir() || self.own.contains(&(state.dev(), state.ino()));
            if is_other || self.watched.contains_key(&path) {
                continue;
            }
            if self.watched.len() >= self.most {
                return Err(Unwatched::TooMany(self.most));
            }
            if !self.watch(&path)? {
                continue;
            }
            match directories(&path) {
                Ok(directories) => at.extend(directories),
                Err(error) if is_gone(&error) => {}
                Err(error) => return Err(unreadable(&path, &error)),
            }
        }
        Ok(())
    }

    /// Watches one directory; false if it does not exist.
    fn watch(&mut self, path: &Path) -> Result<bool, Unwatched> {
        let is_root = path == self.root;
        let ends = WatchFlags::DELETE_SELF | WatchFlags::MOVE_SELF;
        let flags = if is_root { TOLD | ends } else { TOLD };
        // No lock is held while the disk is accessed. An event before the watch has its name is a change in the directory,
        // which is read afterwards.
        match inotify::add_watch(&*self.channel, path, flags) {
            Ok(watch) => {
                let below = path.strip_prefix(&self.root).unwrap_or(Path::new(""));
                let mut names = self.notes.names.lock().ignore_poison();
                names.insert(watch, below.to_owned());
                drop(names);
                self.watched.insert(path.to_owned(), watch);
                Ok(true)
            }
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(false),
            Err(errno) => Err(refused(errno, path)),
        }
    }
}

/// Subdirectories of a directory that a scan would enter.
fn directories(path: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let dir = open_directory(path)?;
    for entry in fs::Dir::new(open_listing(&dir)?)? {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let kind = match entry.file_type() {
            // Some file systems do not report the type.
            FileType::Unknown => fs::statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW)
                .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode)),
            kind => kind,
        };
        // One that disappeared meanwhile causes an event.
        let is_directory = kind == FileType::Directory;
        if is_directory && !is_skipped(name.to_bytes()) {
            found.push(path.join(OsStr::from_bytes(name.to_bytes())));
        } else if !is_directory && is_marker(name.to_bytes()) {
            return Ok(Vec::new());
        }
    }
    Ok(found)
}

fn is_gone(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

fn unreadable(path: &Path, error: &io::Error) -> Unwatched {
    Unwatched::Directory {
        path: path.display().to_string(),
        why: error.to_string(),
    }
}

fn refused(errno: Errno, path: &Path) -> Unwatched {
    match errno {
        Errno::NOSPC => Unwatched::NoWatches,
        Errno::MFILE | Errno::NFILE => Unwatched::NoInstances,
        errno => unreadable(path, &errno.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_may_change_the_index_is_noted() {
        let notes = Notes::default();
        let folders = [(1, ""), (2, "a")].map(|(watch, folder)| (watch, PathBuf::from(folder)));
        notes.names.lock().unwrap().extend(folders);
        let after = |watch: i32, what: ReadFlags, name: &str| {
            notes.note(
                watch,
                what,
                Some(OsStr::new(name)).filter(|name| !name.is_empty()),
            );
            let noted = notes.take();
            let texts = |set: BTreeSet<Vec<u8>>| {
                let texts = set.into_iter().map(|path| String::from_utf8(path).unwrap());
                texts.collect::<Vec<_>>().join(",")
            };
            (texts(noted.changed), texts(noted.turned), noted.lost.is_some())
        };
        let is = |changed: &str, turned: &str| (changed.to_owned(), turned.to_owned(), false);
        let (create, directory) = (ReadFlags::CREATE, ReadFlags::ISDIR);
        assert_eq!(after(2, ReadFlags::CLOSE_WRITE, "x.mkv"), is("a", ""));
        assert_eq!(after(2, ReadFlags::CLOSE_WRITE, "x.srt"), is("", ""));
        assert_eq!(after(2, create | directory, "b"), is("a", "a/b"));
        assert_eq!(after(2, ReadFlags::ATTRIB | directory, "b"), is("", ""));
        assert_eq!(after(2, create | directory, ".b"), is("", ""));
        assert_eq!(after(2, create, ".nomedia"), is("a", "a"));
        assert_eq!(after(2, ReadFlags::MOVED_TO, "x.mkv"), is("a", ""));
        assert_eq!(
            after(9, ReadFlags::MOVED_TO, "x.mkv"),
            is("", ""),
            "no watch of ours"
        );
        assert!(
            after(1, ReadFlags::MOVE_SELF, "").2,
            "the library's own directory is gone"
        );
        notes.note(-1, ReadFlags::QUEUE_OVERFLOW, None);
        assert_eq!(notes.take().lost, Some(Unwatched::Overflow));
        for number in 0..=MOST_NOTED {
            let watch = i32::try_from(number).unwrap() + 10;
            notes
                .names
                .lock()
                .unwrap()
                .insert(watch, PathBuf::from(number.to_string()));
            notes.note(watch, create, Some(OsStr::new("x.mkv")));
        }
        assert_eq!(
            notes.take().changed,
            BTreeSet::from([Vec::new()]),
            "the whole library"
        );
        notes.note(2, ReadFlags::IGNORED, None);
        assert!(!notes.names.lock().unwrap().contains_key(&2));
    }

    #[test]
    fn a_limit_of_the_system_names_the_way_out() {
        let of = |errno| refused(errno, Path::new("/tv")).to_string();
        assert!(of(Errno::NOSPC).contains("ENOSPC") && of(Errno::NOSPC).contains("max_user_watches"));
        assert!(of(Errno::MFILE).contains("EMFILE") && of(Errno::MFILE).contains("max_user_instances"));
        assert!(of(Errno::ACCESS).starts_with("`/tv` cannot be watched"));
    }

    #[test]
    fn directories_are_watched_up_to_a_number() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().canonicalize().unwrap();
        for path in ["a/b", "a/.hidden/c", "skipped/d", "own/e"] {
            std::fs::create_dir_all(root.join(path)).unwrap();
        }
        std::fs::write(root.join("skipped/.nomedia"), "").unwrap();
        std::os::unix::fs::symlink(&root, root.join("a/loop")).unwrap();
        let open = |root: PathBuf, most: usize| {
            let own = [home.path().join("own")];
            let told = (channel(&root).unwrap(), Arc::default());
            Watches::open(root, &own, most, told, &|| false)
        };
        let mut watches = open(root.clone(), 4).unwrap();
        assert_eq!(watches.count(), 4, "{:?}", watches.watched);
        assert_eq!(open(root.clone(), 3).err(), Some(Unwatched::TooMany(3)));
        assert!(matches!(
            open(root.join("gone"), 4).err(),
            Some(Unwatched::Directory { .. })
        ));
        std::fs::rename(root.join("a"), root.join("z")).unwrap();
        let turned = BTreeSet::from([b"a".to_vec(), b"z".to_vec()]);
        watches.renew(&turned, &|| false).unwrap();
        let watched: Vec<&Path> = watches.watched.keys().map(PathBuf::as_path).collect();
        let expected =
            ["", "skipped", "z", "z/b"].map(|below| root.join(below).components().collect::<PathBuf>());
        assert_eq!(watched, expected);
    }
}
