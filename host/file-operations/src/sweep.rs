//! Removal of the temporaries that killed processes left in noted directories.

use std::os::fd::OwnedFd;

use rustix::fs::{FlockOperation, flock};
use rustix::io::{Errno, Result};

use super::Control;
use super::erase::erase;
use super::tree::{At, Failed, Visitor, each, walk};
use qm_confined::{Dir, FsError, Kind, Place, RelPath, Roots};

/// Result of the sweep of one note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Swept {
    pub removed: u64,
    /// True when nothing is left to do there. False when a temporary is in use or cannot be removed, or when the directory is
    /// empty: then its disk may be away, and this is the directory it is mounted on.
    pub settled: bool,
}

/// Looks into one noted directory, or with `whole_tree` below it, and removes the temporaries that no process has locked.
pub fn sweep(
    roots: &Roots,
    place: &Place,
    whole_tree: bool,
    control: &Control,
) -> std::result::Result<Swept, FsError> {
    let (dir, is_there) = roots.reopen(place)?;
    let empty = is_empty(&dir)?;
    if empty || !is_there {
        return Ok(Swept {
            removed: 0,
            settled: !empty,
        });
    }
    let mut sweeper = Sweeper {
        whole_tree,
        removed: 0,
        left: false,
    };
    walk(dir, &RelPath::root(), &mut sweeper, control)?;
    Ok(Swept {
        removed: sweeper.removed,
        settled: !sweeper.left,
    })
}

fn is_empty(dir: &Dir) -> std::result::Result<bool, FsError> {
    // An entry ends the look.
    match each(dir, |_, _| Err(FsError::Exists)) {
        Ok(()) => Ok(true),
        Err(Failed::Caller(_)) => Ok(false),
        Err(Failed::Read(errno)) => Err(FsError::os(errno, RelPath::root())),
    }
}

struct Sweeper {
    whole_tree: bool,
    removed: u64,
    left: bool,
}

impl Sweeper {
    fn take(&mut self, at: &At<'_>, lock: Result<Option<OwnedFd>>) {
        // Without a lock it may be somebody's work.
        let Ok(Some(_lock)) = lock else {
            self.left = true;
            return;
        };
        match erase(at.dir, at.name, at.rel) {
            Ok(()) => self.removed += 1,
            Err(error) => {
                self.left = true;
                let error = error.to_string();
                tracing::warn!(error, "a leftover temporary could not be removed");
            }
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
            return Ok(self.whole_tree);
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
