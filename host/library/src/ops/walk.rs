//! The walk of a library: what lies on the disk, through handles that follow no link.
//!
//! A directory is opened by its name from the one above, so that one that is swapped for a link meanwhile leads nowhere. Of a
//! directory that did not change since it was read nothing but its own state is asked, and what lies in it is gone into as it
//! is known. Bounds: directories 128 deep, each level a handle.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{self, AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::model::doubt::Known;
use crate::model::name::{is_marker, is_skipped, is_video};
use crate::model::place;

/// Deeper directories are told of and not entered.
const MAX_DEPTH: usize = 128;

const HOLD: OFlags = OFlags::PATH
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// What a walk goes by.
pub struct Task {
    /// The library's directory.
    pub root: PathBuf,
    /// `FILE_MANAGER_ROOTS`: a link to a file elsewhere is passed over.
    pub roots: Vec<String>,
    /// The service's own directories, which are not there for anybody.
    pub own: Vec<PathBuf>,
    pub known: Known,
    /// Milliseconds since 1970.
    pub now: i64,
    /// What was touched later than this many milliseconds ago may change again without a trace.
    pub settles: i64,
    /// A directory that was read earlier than this many milliseconds ago is read again; 0: all are.
    pub relies: i64,
}

/// A file that was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenFile {
    pub place: String,
    pub size: i64,
    /// Nanoseconds since 1970.
    pub mtime: i64,
}

/// What became of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entries {
    /// As they are known.
    Same,
    Read(Vec<SeenFile>),
    /// Why they could not be read.
    Unread(String),
}

/// A directory that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenDirectory {
    pub place: String,
    pub device: i64,
    pub inode: i64,
    /// Nanoseconds since 1970.
    pub mtime: i64,
    /// Whether it will do to look at its state next time.
    pub is_settled: bool,
    pub entries: Entries,
}

/// Why a walk has nothing to show.
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
    let root = open_root(&task.root).map_err(|errno| WalkError::NoRoot {
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
            .map(|root| super::guard::resolve(Path::new(root)))
            .collect(),
        own: task.own.iter().filter_map(identity).collect(),
        seen: Vec::new(),
    };
    walker.directory(&root, &mut Vec::new(), 0)?;
    Ok(walker.seen)
}

/// Opens a directory from `/` on, through no link.
fn open_root(path: &Path) -> Result<OwnedFd, Errno> {
    let mut dir = fs::openat(fs::CWD, "/", HOLD, Mode::empty())?;
    for part in path.components() {
        if let Component::Normal(name) = part {
            dir = fs::openat(&dir, name, HOLD, Mode::empty())?;
        }
    }
    Ok(dir)
}

fn identity(stat: &Stat) -> (i64, i64) {
    (stat.st_dev.cast_signed(), stat.st_ino.cast_signed())
}

fn mtime(stat: &Stat) -> i64 {
    let nanos = i64::try_from(stat.st_mtime_nsec).unwrap_or(0);
    stat.st_mtime.saturating_mul(1_000_000_000).saturating_add(nanos)
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

/// What a directory holds.
#[derive(Default)]
struct Listing {
    files: Vec<SeenFile>,
    directories: Vec<Vec<u8>>,
}

impl Walker<'_> {
    fn directory(&mut self, dir: &OwnedFd, path: &mut Vec<u8>, depth: usize) -> Result<(), WalkError> {
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
            place,
        };
        let directories = if depth >= MAX_DEPTH {
            seen.entries = Entries::Unread(format!("it lies deeper than {MAX_DEPTH} directories"));
            Vec::new()
        } else if self.is_same(&seen) {
            let items = self.task.known.get(&seen.place).map_or(0, |known| known.items);
            self.files.fetch_add(items.unsigned_abs(), Ordering::Relaxed);
            self.children.get(&seen.place).cloned().unwrap_or_default()
        } else {
            match self.list(dir, path) {
                Ok(listing) => {
                    self.files
                        .fetch_add(listing.files.len() as u64, Ordering::Relaxed);
                    seen.is_settled = self.is_settled(mtime, &listing.files);
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
            self.child(dir, &name, path, depth)?;
        }
        Ok(())
    }

    fn child(
        &mut self,
        dir: &OwnedFd,
        name: &[u8],
        path: &mut Vec<u8>,
        depth: usize,
    ) -> Result<(), WalkError> {
        let length = path.len();
        let child = place::join(path, OsStr::from_bytes(name));
        match fs::openat(dir, OsStr::from_bytes(name), HOLD, Mode::empty()) {
            Ok(opened) => {
                path.extend_from_slice(&child[length..]);
                let done = self.directory(&opened, path, depth + 1);
                path.truncate(length);
                done?;
            }
            // It is something else by now, or a link.
            Err(Errno::NOTDIR | Errno::LOOP) => {}
            // Of a directory that is known and did not change above, this is a mount that went away, or a rename just now.
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

    /// Whether nothing in it was touched lately: what is still written changes no directory.
    fn is_settled(&self, mtime: i64, files: &[SeenFile]) -> bool {
        let edge = (self.task.now - self.task.settles).saturating_mul(1_000_000);
        mtime <= edge && files.iter().all(|file| file.mtime <= edge)
    }

    fn list(&self, dir: &OwnedFd, path: &[u8]) -> Result<Listing, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = fs::openat(dir, ".", flags, Mode::empty())?;
        let mut listing = Listing::default();
        let mut files: Vec<(Vec<u8>, FileType)> = Vec::new();
        for entry in fs::Dir::new(opened)? {
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
                if !is_skipped(name) {
                    listing.directories.push(name.to_vec());
                }
            } else if is_marker(name) {
                return Ok(Listing::default());
            } else if is_video(name) && matches!(kind, FileType::RegularFile | FileType::Symlink) {
                files.push((name.to_vec(), kind));
            }
        }
        for (name, kind) in files {
            let full = place::join(path, OsStr::from_bytes(&name));
            if let Some(stat) = self.file(dir.as_fd(), &name, kind, &full) {
                listing.files.push(SeenFile {
                    place: place::encode(&full),
                    size: stat.st_size,
                    mtime: mtime(&stat),
                });
            }
        }
        Ok(listing)
    }

    /// State of a regular file, or of the one a link leads to inside the roots.
    fn file(
        &self,
        dir: std::os::fd::BorrowedFd<'_>,
        name: &[u8],
        kind: FileType,
        full: &[u8],
    ) -> Option<Stat> {
        let flags = if kind == FileType::Symlink {
            let target = self.task.root.join(OsStr::from_bytes(full)).canonicalize().ok()?;
            if !self.roots.iter().any(|root| target.starts_with(root)) {
                return None;
            }
            AtFlags::empty()
        } else {
            AtFlags::SYMLINK_NOFOLLOW
        };
        let stat = fs::statat(dir, OsStr::from_bytes(name), flags).ok()?;
        let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        (is_file && !self.own.contains(&identity(&stat))).then_some(stat)
    }
}
