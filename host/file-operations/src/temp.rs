//! Temporaries: entries that an operation prepares to rename into place, or renames away to remove.
//!
//! A temporary never holds the only copy of anything that is to be kept, so whoever finds one that nobody works on may
//! remove it. Who works on one holds a lock (`flock`) on it; a killed process lets go of its locks.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{FlockOperation, Mode, flock};
use rustix::io::{Errno, Result};

use super::erase::erase;
use super::notes::Noted;
use qm_confined::{Component, Dir, Meta, RelPath, TEMP_PREFIX};

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
    noted: Arc<Noted>,
}

impl Temp {
    /// An empty file, and its handle.
    pub fn file(dir: &Dir, noted: &Arc<Noted>) -> Result<(Temp, File)> {
        attempt(noted, |name| {
            let file = dir.create_file(&name)?;
            let lock = OwnedFd::from(file.try_clone().map_err(errno)?);
            let temp = Temp::hold(dir, name, lock, noted)?;
            Ok((temp, file))
        })
    }

    /// An empty directory, and its handle.
    pub fn directory(dir: &Dir, noted: &Arc<Noted>) -> Result<(Temp, Dir)> {
        attempt(noted, |name| {
            dir.create_dir(&name, Mode::RWXU)?;
            let made = dir.child(&name)?;
            let temp = Temp::hold(dir, name, made.readable()?, noted)?;
            Ok((temp, made))
        })
    }

    /// Renames `name`, a directory that is to vanish, out of the way. Dropping this does nothing yet: see
    /// [`doomed`](Self::doomed).
    pub fn discard(dir: &Dir, name: &Component, noted: &Arc<Noted>) -> Result<Temp> {
        let lock = dir.child(name)?.lock().ok().flatten();
        let own = dir.try_clone()?;
        // Nothing may fail once it is renamed.
        let temporary = attempt(noted, |temporary| {
            super::place::rename_new(dir, name, dir, &temporary).map(|()| temporary)
        })?;
        Ok(Temp {
            dir: own,
            name: temporary,
            _lock: lock,
            kept: true,
            noted: Arc::clone(noted),
        })
    }

    /// Locks a new temporary, and checks that a sweep did not remove it before the lock was there.
    fn hold(dir: &Dir, name: Component, made: OwnedFd, noted: &Arc<Noted>) -> Result<Temp> {
        let lock = match flock(&made, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Some(made),
            Err(Errno::WOULDBLOCK) => return Err(Errno::EXIST),
            Err(_) => None,
        };
        if let Some(lock) = &lock
            && dir.find(&name)?.map(|meta| meta.identity)
                != Some(Meta::from_stat(&rustix::fs::fstat(lock)?).identity)
        {
            return Err(Errno::EXIST);
        }
        Ok(Temp {
            dir: dir.try_clone()?,
            name,
            _lock: lock,
            kept: false,
            noted: Arc::clone(noted),
        })
    }

    pub fn name(&self) -> &Component {
        &self.name
    }

    /// Marks the temporary to be removed when it is dropped.
    pub fn doomed(mut self) -> Self {
        self.kept = false;
        self
    }

    /// Leaves the temporary where it is, for the next sweep.
    pub fn left_behind(mut self) {
        self.noted.leave();
        self.kept = true;
    }

    /// Marks the temporary as renamed to its final name: nothing is left to remove.
    pub fn published(mut self) {
        self.kept = true;
    }
}

impl Drop for Temp {
    fn drop(&mut self) {
        if !self.kept
            && let Err(error) = erase(&self.dir, &self.name, &RelPath::root())
        {
            self.noted.leave();
            let (error, name) = (error.to_string(), self.name.text());
            tracing::warn!(
                error,
                name,
                "a temporary could not be removed; the next sweep tries again"
            );
        }
    }
}

fn errno(error: std::io::Error) -> Errno {
    Errno::from_io_error(&error).unwrap_or(Errno::IO)
}

fn attempt<T>(noted: &Noted, mut make: impl FnMut(Component) -> Result<T>) -> Result<T> {
    for _ in 0..ATTEMPTS {
        match make(fresh_name()) {
            Err(Errno::EXIST) => {}
            Err(other) => {
                // It may have been made and not opened.
                noted.leave();
                return Err(other);
            }
            made => return made,
        }
    }
    Err(Errno::EXIST)
}
