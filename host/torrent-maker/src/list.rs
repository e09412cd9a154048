//! Files below a folder, with what is needed to notice that one of them changed.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use qm_confined::{Component, Dir, FsError, Identity, Kind, Meta, RelPath};
use qm_lanes::Cancel;
use qm_metainfo::MAX_TORRENT_BYTES;
use qm_metainfo::create::{CreateError, MAX_FILES, MAX_LEVELS};
use rustix::io::Errno;

use crate::MakeError;

/// State of a file that stays the same while nothing writes to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct State {
    identity: Identity,
    pub size: u64,
    /// Seconds and nanoseconds.
    modified: (i64, u32),
}

impl From<&Meta> for State {
    fn from(meta: &Meta) -> Self {
        Self {
            identity: meta.identity,
            size: meta.size,
            modified: meta.times.modified,
        }
    }
}

/// A regular file.
pub(crate) struct Found {
    /// Names below the folder; none: the file itself was asked for.
    pub path: Vec<String>,
    pub state: State,
}

/// Limits of a listing.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    pub files: usize,
    pub folders: usize,
    /// All paths together, in bytes: each stands in the torrent as a whole.
    pub path_bytes: usize,
}

impl Limits {
    pub const USUAL: Self = Self {
        files: MAX_FILES,
        folders: MAX_FILES,
        path_bytes: MAX_TORRENT_BYTES,
    };
}

/// A listing that grows.
pub(crate) struct Listing<'a> {
    /// The folder, as messages name it.
    top: &'a RelPath,
    limits: Limits,
    cancel: &'a Cancel,
    path: Vec<String>,
    found: Vec<Found>,
    folders: usize,
    path_bytes: usize,
}

impl<'a> Listing<'a> {
    /// All files below a folder, sorted by path.
    pub fn read(
        dir: &Dir,
        top: &'a RelPath,
        limits: Limits,
        cancel: &'a Cancel,
    ) -> Result<Vec<Found>, MakeError> {
        let mut listing = Self {
            top,
            limits,
            cancel,
            path: Vec::new(),
            found: Vec::new(),
            folders: 0,
            path_bytes: 0,
        };
        listing.walk(dir)?;
        let mut found = listing.found;
        found.sort_unstable_by(|one, other| one.path.cmp(&other.path));
        Ok(found)
    }

    /// Lists a folder and those below it, [`MAX_LEVELS`] deep at most.
    fn walk(&mut self, dir: &Dir) -> Result<(), MakeError> {
        for (name, text) in self.read_folder(dir)? {
            if self.path.len() == MAX_LEVELS {
                return Err(CreateError::TooDeep(self.path.join("/")).into());
            }
            let below = dir.child(&name).map_err(|errno| self.failed(errno, &text))?;
            self.path.push(text);
            self.walk(&below)?;
            self.path.pop();
        }
        Ok(())
    }

    /// Adds the files of a folder, and answers the folders in it.
    fn read_folder(&mut self, dir: &Dir) -> Result<Vec<(Component, String)>, MakeError> {
        let here = |listing: &Self, errno| FsError::os(errno, show_path(listing.top, &listing.path));
        let mut folders = Vec::new();
        let mut entries = dir.entries().map_err(|errno| here(self, errno))?;
        while let Some(entry) = entries.read() {
            if self.cancel.is_set() {
                return Err(MakeError::Cancelled);
            }
            let entry = entry.map_err(|errno| here(self, errno))?;
            let Some(name) = Component::new(OsStr::from_bytes(entry.file_name().to_bytes())) else {
                continue;
            };
            if name.is_hidden() {
                continue;
            }
            let stat = match dir.stat(&name) {
                Ok(stat) => stat,
                // It is gone, or belongs to the server.
                Err(Errno::NOENT) => continue,
                Err(errno) => return Err(self.failed(errno, &name.text())),
            };
            let Some(text) = name.as_os().to_str().map(str::to_owned) else {
                return Err(MakeError::NotUtf8(self.show(&name.text())));
            };
            let meta = Meta::from_stat(&stat);
            match meta.kind {
                Kind::File => self.add(text, &meta)?,
                Kind::Directory => {
                    self.folders += 1;
                    if self.folders > self.limits.folders {
                        let top = show_path(self.top, &[]);
                        return Err(MakeError::TooManyFolders(self.limits.folders, top));
                    }
                    folders.push((name, text));
                }
                Kind::Link => return Err(MakeError::Link(self.show(&text))),
                Kind::Special => return Err(MakeError::Special(self.show(&text))),
            }
        }
        Ok(folders)
    }

    fn add(&mut self, name: String, meta: &Meta) -> Result<(), MakeError> {
        if self.found.len() == self.limits.files {
            return Err(CreateError::TooManyFiles.into());
        }
        let mut path = Vec::with_capacity(self.path.len() + 1);
        path.extend_from_slice(&self.path);
        path.push(name);
        self.path_bytes += path.iter().map(String::len).sum::<usize>();
        if self.path_bytes > self.limits.path_bytes {
            return Err(CreateError::TooLarge(self.path_bytes as u64).into());
        }
        self.found.push(Found {
            path,
            state: State::from(meta),
        });
        Ok(())
    }

    fn show(&self, name: &str) -> String {
        show_path(self.top, &[&self.path[..], &[name.to_owned()]].concat())
    }

    fn failed(&self, errno: Errno, name: &str) -> MakeError {
        FsError::os(errno, self.show(name)).into()
    }
}

/// A path below `top` as messages name it.
pub(crate) fn show_path(top: &RelPath, below: &[String]) -> String {
    let names = below.iter().filter_map(|name| Component::new(OsStr::new(name)));
    names.fold(top.clone(), |path, name| path.join(&name)).text()
}
