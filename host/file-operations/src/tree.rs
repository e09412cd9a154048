//! The one walk over a tree: through handles, without recursion, never through a link.
//!
//! Bounds: [`HELD`] handles however deep the tree; the names of the sibling directories still to be walked on the way down
//! (files are handled while the directory is read, and not kept).

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use rustix::fs::FileType;
use rustix::io::Errno;

use super::Control;
use qm_confined::{Component, Dir, FsError, Identity, Kind, Meta, RelPath};

/// Handles of the deepest directories on the way down; those above are reopened on the way back.
const HELD: usize = 32;

/// A way down a tree.
pub(super) struct Descent {
    /// Identities of the directories from the top to the current one.
    way: Vec<Identity>,
    /// The last of them, never empty.
    held: VecDeque<Dir>,
    current: Dir,
}

impl Descent {
    pub fn new(top: Dir) -> rustix::io::Result<Self> {
        Ok(Self {
            way: vec![top.identity()?],
            held: VecDeque::new(),
            current: top,
        })
    }

    pub fn current(&self) -> &Dir {
        &self.current
    }

    pub fn down(&mut self, name: &Component) -> rustix::io::Result<()> {
        let next = self.current.child(name)?;
        self.way.push(next.identity()?);
        self.held.push_back(std::mem::replace(&mut self.current, next));
        if self.held.len() >= HELD {
            self.held.pop_front();
        }
        Ok(())
    }

    /// Back to the directory above: the same one as before, or `ELOOP`.
    pub fn up(&mut self) -> rustix::io::Result<()> {
        self.way.pop();
        self.current = match (self.held.pop_back(), self.way.last()) {
            (Some(above), _) => above,
            (None, Some(expected)) => self.current.above(*expected)?,
            (None, None) => return Err(Errno::NOENT),
        };
        Ok(())
    }
}

/// The position of a walk: an entry and the directory that holds it.
pub(super) struct At<'a> {
    pub dir: &'a Dir,
    /// The path of the directory.
    pub rel: &'a RelPath,
    pub name: &'a Component,
}

impl At<'_> {
    pub fn failed(&self, errno: Errno) -> FsError {
        FsError::os(errno, self.rel.join(self.name))
    }

    pub fn meta(&self) -> Result<Meta, FsError> {
        let stat = self.dir.stat(self.name).map_err(|e| self.failed(e))?;
        Ok(Meta::from_stat(&stat))
    }
}

/// Actions of a walk on the entries it meets.
pub(super) trait Visitor {
    /// Visits an entry that is not a directory. Called while its directory is being read.
    fn item(&mut self, at: &At<'_>, kind: Kind) -> Result<(), FsError>;

    /// Visits a directory before it is walked. False: leave it out.
    fn enter(&mut self, at: &At<'_>) -> Result<bool, FsError>;

    /// Visits a directory that was entered, after all its entries.
    fn leave(&mut self, at: &At<'_>) -> Result<(), FsError>;

    /// Our own hidden names: the trash, temporaries.
    fn wants_hidden(&self) -> bool {
        true
    }

    /// True: a directory that cannot be read, or vanished, is left out. False: it ends the walk.
    fn is_lenient(&self) -> bool {
        false
    }
}

/// Walks everything below `top`, which is called `rel`.
pub(super) fn walk(
    top: Dir,
    rel: &RelPath,
    visitor: &mut dyn Visitor,
    control: &Control,
) -> Result<(), FsError> {
    let mut rel = rel.clone();
    let mut way = Descent::new(top).map_err(|e| FsError::os(e, &rel))?;
    let mut waiting = vec![read(way.current(), &rel, visitor, control)?];
    while let Some(siblings) = waiting.last_mut() {
        control.check()?;
        let Some(name) = siblings.pop() else {
            waiting.pop();
            if waiting.is_empty() {
                break;
            }
            way.up().map_err(|e| FsError::os(e, &rel))?;
            let Some(name) = rel.pop() else { break };
            visitor.leave(&At {
                dir: way.current(),
                rel: &rel,
                name: &name,
            })?;
            continue;
        };
        let at = At {
            dir: way.current(),
            rel: &rel,
            name: &name,
        };
        if !visitor.enter(&at)? {
            continue;
        }
        if let Err(errno) = way.down(&name) {
            if visitor.is_lenient() {
                continue;
            }
            return Err(FsError::os(errno, rel.join(&name)));
        }
        rel.push(name);
        waiting.push(read(way.current(), &rel, visitor, control)?);
    }
    Ok(())
}

/// Hands the directory's items to the visitor and answers its directories.
fn read(
    dir: &Dir,
    rel: &RelPath,
    visitor: &mut dyn Visitor,
    control: &Control,
) -> Result<Vec<Component>, FsError> {
    let mut directories = Vec::new();
    let result = each(dir, |name, kind| {
        control.check()?;
        if name.is_hidden() && !visitor.wants_hidden() {
            return Ok(());
        }
        let at = At {
            dir,
            rel,
            name: &name,
        };
        let kind = match kind {
            Some(kind) => kind,
            None => at.meta()?.kind,
        };
        if kind == Kind::Directory {
            directories.push(name);
            return Ok(());
        }
        visitor.item(&at, kind)
    });
    match result {
        Ok(()) => {}
        Err(Failed::Read(_)) if visitor.is_lenient() => {}
        Err(Failed::Read(errno)) => return Err(FsError::os(errno, rel)),
        Err(Failed::Caller(error)) => return Err(error),
    }
    Ok(directories)
}

pub(super) enum Failed {
    Read(Errno),
    Caller(FsError),
}

/// Each entry of a directory with its kind, where the file system tells without a stat. What is the server's own is none.
pub(super) fn each(
    dir: &Dir,
    mut tell: impl FnMut(Component, Option<Kind>) -> Result<(), FsError>,
) -> Result<(), Failed> {
    let mut entries = dir.entries().map_err(Failed::Read)?;
    while let Some(entry) = entries.read() {
        let entry = entry.map_err(Failed::Read)?;
        let Some(name) = Component::new(OsStr::from_bytes(entry.file_name().to_bytes())) else {
            continue; // `.` and `..`
        };
        // A stat for each entry would make long listings slower.
        if dir.may_hide(entry.ino()) && matches!(dir.stat(&name), Err(Errno::NOENT)) {
            continue;
        }
        let kind = match entry.file_type() {
            FileType::Unknown => None,
            known => Some(Kind::from_file_type(known)),
        };
        tell(name, kind).map_err(Failed::Caller)?;
    }
    Ok(())
}
