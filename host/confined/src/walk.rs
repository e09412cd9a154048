//! The walk from a root to a name: one component, one handle; links read by hand.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;
use rustix::io::Errno;

use super::roots::Root;
use super::{Component, Dir, FsError};

/// Most links that are followed in one path: the kernel's own limit.
const MAX_LINKS: u32 = 40;

/// Directories opened anew because links climb: far more than honest trees need, few enough to be quick.
const MAX_REOPENED: usize = 65_536;

/// Treatment of the last component when it is a link.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Last {
    Follow,
    Keep,
}

/// Result of a walk: the place where it ended.
pub(super) struct Walked {
    /// Index of the root it ended in.
    pub root: usize,
    /// Real components below that root, the last one included; without those that are missing.
    pub real: Vec<Component>,
    pub end: End,
}

pub(super) enum End {
    /// The root itself.
    Root(Dir),
    /// `real`'s last component exists in this directory.
    Entry(Dir),
    /// `real` is this directory; the rest, at least one, does not exist.
    Missing(Dir, Vec<Component>),
}

enum Step {
    Down(Component),
    Up,
}

struct Walk<'a> {
    roots: &'a [Root],
    root: usize,
    real: Vec<Component>,
    dir: Dir,
    /// The directory above `dir`; none at the root.
    above: Option<Dir>,
    pending: VecDeque<Step>,
    links: u32,
    reopened: usize,
    /// Path as error messages name it.
    shown: &'a dyn std::fmt::Display,
}

/// Walks `path` from `roots[start]`. Links may lead into any of `roots`.
pub(super) fn walk(
    roots: &[Root],
    start: usize,
    path: &[Component],
    last: Last,
    shown: &dyn std::fmt::Display,
) -> Result<Walked, FsError> {
    let root = roots.get(start).ok_or(FsError::NoRoot)?;
    Walk {
        roots,
        root: start,
        real: Vec::with_capacity(path.len()),
        dir: root.open()?.0,
        above: None,
        pending: path.iter().cloned().map(Step::Down).collect(),
        links: 0,
        reopened: 0,
        shown,
    }
    .run(last)
}

impl Walk<'_> {
    fn run(mut self, last: Last) -> Result<Walked, FsError> {
        while let Some(step) = self.pending.pop_front() {
            let name = match step {
                Step::Up => {
                    self.up()?;
                    continue;
                }
                Step::Down(name) => name,
            };
            let node = match self.dir.node(&name) {
                Ok(node) => node,
                Err(Errno::NOENT) => return self.missing(name),
                Err(errno) => return Err(FsError::os(errno, self.shown)),
            };
            match node.file_type() {
                FileType::Directory => self.down(name, node.into_dir()),
                FileType::Symlink if last == Last::Follow || !self.pending.is_empty() => {
                    let target = node.link_target().map_err(|e| FsError::os(e, self.shown))?;
                    self.follow(&target)?;
                }
                _ if self.pending.is_empty() => {
                    self.real.push(name);
                    return Ok(self.ended(End::Entry));
                }
                _ => return Err(FsError::NotADirectory(self.shown.to_string())),
            }
        }
        match self.above.take() {
            None => Ok(self.ended(End::Root)),
            Some(above) => {
                self.dir = above;
                Ok(self.ended(End::Entry))
            }
        }
    }

    fn ended(self, end: impl FnOnce(Dir) -> End) -> Walked {
        Walked {
            root: self.root,
            real: self.real,
            end: end(self.dir),
        }
    }

    fn missing(self, first: Component) -> Result<Walked, FsError> {
        let mut missing = vec![first];
        for step in &self.pending {
            match step {
                Step::Down(name) => missing.push(name.clone()),
                // A link's target climbs out of a directory that is not there.
                Step::Up => return Err(FsError::NotFound(self.shown.to_string())),
            }
        }
        Ok(self.ended(|dir| End::Missing(dir, missing)))
    }

    fn down(&mut self, name: Component, into: Dir) {
        self.real.push(name);
        self.above = Some(std::mem::replace(&mut self.dir, into));
    }

    /// `..` in a link's target. The way up is a new way down: a handle is never asked for its parent.
    fn up(&mut self) -> Result<(), FsError> {
        if self.real.pop().is_none() {
            let mut outside = self.here().to_path_buf();
            outside.pop();
            return self.outside(outside);
        }
        let real = std::mem::take(&mut self.real);
        self.reopened += real.len() + 1;
        if self.reopened > MAX_REOPENED {
            return Err(FsError::TooManyLinks(self.shown.to_string()));
        }
        self.enter(self.root)?;
        for name in real {
            let next = self
                .dir
                .child(&name)
                .map_err(|_| FsError::Changed(self.shown.to_string()))?;
            self.down(name, next);
        }
        Ok(())
    }

    fn here(&self) -> &Path {
        &self.roots[self.root].canonical
    }

    fn enter(&mut self, root: usize) -> Result<(), FsError> {
        self.dir = self.roots[root].open()?.0;
        self.root = root;
        self.real.clear();
        self.above = None;
        Ok(())
    }

    fn follow(&mut self, target: &[u8]) -> Result<(), FsError> {
        self.links += 1;
        if self.links > MAX_LINKS {
            return Err(FsError::TooManyLinks(self.shown.to_string()));
        }
        for part in target.split(|b| *b == b'/').rev() {
            match part {
                b"" | b"." => {}
                b".." => self.pending.push_front(Step::Up),
                name => {
                    if let Some(name) = Component::new(OsStr::from_bytes(name)) {
                        self.pending.push_front(Step::Down(name));
                    }
                }
            }
        }
        if target.first() == Some(&b'/') {
            return self.outside(PathBuf::from("/"));
        }
        Ok(())
    }

    /// Outside the roots nothing is opened: the pending names are only put together until they name a root.
    fn outside(&mut self, mut at: PathBuf) -> Result<(), FsError> {
        loop {
            if let Some(root) = self.roots.iter().position(|root| root.is_at(&at)) {
                return self.enter(root);
            }
            match self.pending.pop_front() {
                Some(Step::Down(name)) => at.push(name.as_os()),
                Some(Step::Up) => {
                    at.pop();
                }
                None => return Err(FsError::Escapes),
            }
        }
    }
}
