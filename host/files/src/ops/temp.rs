//! Temporaries: where an operation prepares what it will rename into place, or puts what is to vanish.
//!
//! A temporary never holds the only copy of anything that is to be kept, so whoever finds one that nobody works on may
//! remove it. Who works on one holds a lock (`flock`) on it; a killed process lets go of its locks.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{FlockOperation, Mode, flock};
use rustix::io::{Errno, Result};

use super::Control;
use super::erase::erase;
use super::tree::{At, Visitor, walk};
use crate::confined::{Component, Dir, FsError, Kind, Meta, RelPath, Roots, TEMP_PREFIX};

/// Names tried before giving up: only the leftovers of killed processes stand in the way.
const ATTEMPTS: u32 = 1000;

static NEXT: AtomicU64 = AtomicU64::new(0);

fn fresh_name() -> Component {
    let process = rustix::process::getpid().as_raw_nonzero();
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    Component::trusted(format!("{TEMP_PREFIX}{process:08x}{number:08x}"))
}

/// A locked temporary in a directory; removed when dropped before it was published.
pub(super) struct Temp {
    dir: Dir,
    name: Component,
    /// None where the file system has no locks.
    _lock: Option<OwnedFd>,
    kept: bool,
}

impl Temp {
    /// An empty file, and its handle.
    pub fn file(dir: &Dir) -> Result<(Temp, File)> {
        attempt(|name| {
            let file = dir.create_file(&name)?;
            let lock = OwnedFd::from(file.try_clone().map_err(errno)?);
            let temp = Temp::hold(dir, name, lock)?;
            Ok((temp, file))
        })
    }

    /// An empty directory, and its handle.
    pub fn directory(dir: &Dir) -> Result<(Temp, Dir)> {
        attempt(|name| {
            dir.create_dir(&name, Mode::RWXU)?;
            let made = dir.child(&name)?;
            let temp = Temp::hold(dir, name, made.readable()?)?;
            Ok((temp, made))
        })
    }

    /// Renames `name`, a directory that is to vanish, out of the way. Dropping this does nothing yet: see
    /// [`doomed`](Self::doomed).
    pub fn discard(dir: &Dir, name: &Component) -> Result<Temp> {
        let lock = dir.child(name)?.lock().ok().flatten();
        attempt(|temporary| {
            super::place::rename_new(dir, name, dir, &temporary)?;
            Ok(Temp {
                dir: dir.try_clone()?,
                name: temporary,
                _lock: lock.as_ref().map(OwnedFd::try_clone).transpose().map_err(errno)?,
                kept: true,
            })
        })
    }

    /// Locks what was just made, and looks whether a sweep took it before the lock was there.
    fn hold(dir: &Dir, name: Component, made: OwnedFd) -> Result<Temp> {
        let lock = match flock(&made, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Some(made),
            Err(Errno::WOULDBLOCK) => return Err(Errno::EXIST),
            Err(_) => None,
        };
        if let Some(lock) = &lock
            && dir.find(&name)?.map(|meta| meta.identity)
                != Some(Meta::of(&rustix::fs::fstat(lock)?).identity)
        {
            return Err(Errno::EXIST);
        }
        Ok(Temp {
            dir: dir.try_clone()?,
            name,
            _lock: lock,
            kept: false,
        })
    }

    pub fn name(&self) -> &Component {
        &self.name
    }

    /// To be removed when dropped.
    pub fn doomed(mut self) -> Self {
        self.kept = false;
        self
    }

    /// It lies under its own name now: nothing is left to remove.
    pub fn published(mut self) {
        self.kept = true;
    }
}

impl Drop for Temp {
    fn drop(&mut self) {
        if !self.kept
            && let Err(error) = erase(&self.dir, &self.name, &RelPath::root())
        {
            tracing::warn!(%error, name = %self.name.text(), "a temporary could not be removed; the next start tries again");
        }
    }
}

fn errno(error: std::io::Error) -> Errno {
    Errno::from_io_error(&error).unwrap_or(Errno::IO)
}

fn attempt<T>(mut make: impl FnMut(Component) -> Result<T>) -> Result<T> {
    for _ in 0..ATTEMPTS {
        match make(fresh_name()) {
            Err(Errno::EXIST) => {}
            result => return result,
        }
    }
    Err(Errno::EXIST)
}

/// Removes what killed processes left under temporary names anywhere below the roots; what somebody works on stays.
/// Answers how many it removed. To be run once at start, in the background.
pub fn sweep(roots: &Roots, control: &Control) -> std::result::Result<u64, FsError> {
    let mut sweeper = Sweeper::default();
    for (_, root) in roots.handles() {
        walk(root, &RelPath::root(), &mut sweeper, control)?;
    }
    Ok(sweeper.removed)
}

#[derive(Default)]
struct Sweeper {
    removed: u64,
}

impl Sweeper {
    fn take(&mut self, at: &At<'_>, lock: Result<Option<OwnedFd>>) {
        // Without a lock it may be somebody's work.
        let Ok(Some(_lock)) = lock else { return };
        match erase(at.dir, at.name, at.rel) {
            Ok(()) => self.removed += 1,
            Err(error) => tracing::warn!(%error, "a leftover temporary could not be removed"),
        }
    }
}

impl Visitor for Sweeper {
    fn item(&mut self, at: &At<'_>, kind: Kind) -> std::result::Result<(), FsError> {
        if !at.name.is_temporary() {
            return Ok(());
        }
        match kind {
            Kind::File => {
                let lock = at.dir.read(at.name).and_then(|(file, _)| {
                    let file = OwnedFd::from(file);
                    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                        Ok(()) => Ok(Some(file)),
                        Err(Errno::WOULDBLOCK) => Ok(None),
                        Err(other) => Err(other),
                    }
                });
                self.take(at, lock);
            }
            // Never ours: links are made inside a temporary directory.
            Kind::Link | Kind::Directory | Kind::Special => {}
        }
        Ok(())
    }

    fn enter(&mut self, at: &At<'_>) -> std::result::Result<bool, FsError> {
        if !at.name.is_temporary() {
            return Ok(true);
        }
        let lock = at.dir.child(at.name).and_then(|dir| dir.lock());
        self.take(at, lock);
        Ok(false)
    }

    fn leave(&mut self, _: &At<'_>) -> std::result::Result<(), FsError> {
        Ok(())
    }

    fn is_lenient(&self) -> bool {
        true
    }
}
