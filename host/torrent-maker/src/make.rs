//! A torrent from the disk: list, plan, read and hash.

use std::fs::File;
use std::io::{ErrorKind, Read};

use qm_confined::{Component, ConfinedPath, Dir, FsError, Kind, Meta, RelPath};
use qm_lanes::Cancel;
use qm_metainfo::create::{Created, Hasher, Options, Plan, PlannedFile};
use rustix::fs::{Advice, fadvise, fstat};
use rustix::io::Errno;

use crate::MakeError;
use crate::lanes::HASHING;
use crate::list::{Found, Limits, Listing, State, show_path};

/// Bytes that are read at once. Progress is told, and cancellation seen, after each block.
pub const BLOCK_BYTES: usize = 1024 * 1024;

/// Progress of the reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Bytes that are read and hashed.
    pub done: u64,
    /// Bytes of all files.
    pub total: u64,
}

/// Makes a torrent of the file or folder `item`, in a lane and on behalf of the task's user. `progress` is called in that
/// lane: once before the first block and once after each, so it must be quick. Dropping the future cancels the work, which
/// ends after the block at hand.
pub async fn make_torrent(
    item: ConfinedPath,
    options: Options,
    progress: impl FnMut(Progress) + Send + 'static,
) -> Result<Created, MakeError> {
    HASHING
        .run(move |cancel| make_here(&item, options, Limits::USUAL, &cancel, progress))
        .await?
}

/// Makes a torrent in the thread that calls it.
pub(crate) fn make_here(
    item: &ConfinedPath,
    options: Options,
    limits: Limits,
    cancel: &Cancel,
    progress: impl FnMut(Progress),
) -> Result<Created, MakeError> {
    let rel = item.rel();
    let name = own_name(item)?;
    let meta = item.meta()?;
    match meta.kind {
        Kind::File => {
            let plan = Plan::of_file(&name, meta.size, options)?;
            let entry = item.entry()?;
            let state = State::from(&meta);
            let mut reading = Reading::begin(plan, cancel, progress);
            reading.read_file(&item.parent, entry, state, &rel.text())?;
            reading.finish()
        }
        Kind::Directory => {
            let top = item.open_dir()?;
            let found = Listing::read(&top, rel, limits, cancel)?;
            let planned = found.iter().map(|file| PlannedFile {
                path: file.path.clone(),
                size: file.state.size,
            });
            let plan = Plan::of_folder(&name, planned.collect(), options)?;
            let mut reading = Reading::begin(plan, cancel, progress);
            // Both are sorted by path.
            for file in &found {
                reading.read_below(&top, rel, file)?;
            }
            reading.finish()
        }
        Kind::Link => Err(MakeError::Link(rel.text())),
        Kind::Special => Err(MakeError::Special(rel.text())),
    }
}

/// The name on the disk, links resolved.
fn own_name(item: &ConfinedPath) -> Result<String, MakeError> {
    let absolute = item.absolute();
    let name = absolute.file_name().unwrap_or_default();
    let name = name.to_str().map(str::to_owned);
    name.ok_or_else(|| MakeError::NotUtf8(item.rel().text()))
}

/// The reading of all files, one after the other.
struct Reading<'a, P> {
    hasher: Hasher,
    block: Vec<u8>,
    cancel: &'a Cancel,
    progress: P,
    state: Progress,
}

impl<'a, P: FnMut(Progress)> Reading<'a, P> {
    fn begin(plan: Plan, cancel: &'a Cancel, mut progress: P) -> Self {
        let state = Progress {
            done: 0,
            total: plan.total_bytes(),
        };
        progress(state);
        Self {
            hasher: Hasher::new(plan),
            block: vec![0; BLOCK_BYTES],
            cancel,
            progress,
            state,
        }
    }

    /// Reads a file below a folder, through one handle a name.
    fn read_below(&mut self, top: &Dir, rel: &RelPath, file: &Found) -> Result<(), MakeError> {
        let shown = show_path(rel, &file.path);
        let changed = || MakeError::Changed(shown.clone());
        let Some((name, folders)) = file.path.split_last() else {
            return Err(changed());
        };
        let component = |name: &String| Component::new(name.as_ref()).ok_or_else(changed);
        let mut dir = None;
        for folder in folders {
            let above = dir.as_ref().unwrap_or(top);
            let next = above.child(&component(folder)?);
            dir = Some(next.map_err(|errno| failed(errno, &shown))?);
        }
        self.read_file(dir.as_ref().unwrap_or(top), &component(name)?, file.state, &shown)
    }

    /// Reads a file to its end, which must be where it was.
    fn read_file(
        &mut self,
        dir: &Dir,
        name: &Component,
        expected: State,
        shown: &str,
    ) -> Result<(), MakeError> {
        let (mut file, meta) = dir.read(name).map_err(|errno| failed(errno, shown))?;
        if State::from(&meta) != expected {
            return Err(MakeError::Changed(shown.to_owned()));
        }
        // The disk reads ahead further; where it cannot, nothing is lost.
        let _ = fadvise(&file, 0, None, Advice::Sequential);
        let mut left = expected.size;
        while left > 0 {
            if self.cancel.is_set() {
                return Err(MakeError::Cancelled);
            }
            let most = usize::try_from(left).map_or(BLOCK_BYTES, |left| left.min(BLOCK_BYTES));
            let read = read_block(&mut file, &mut self.block[..most]);
            let read = read.map_err(|error| FsError::io(error, shown))?;
            if read == 0 {
                return Err(MakeError::Changed(shown.to_owned()));
            }
            self.hasher.push(&self.block[..read])?;
            left -= read as u64;
            self.state.done += read as u64;
            (self.progress)(self.state);
        }
        let now = fstat(&file).map_err(|errno| FsError::os(errno, shown))?;
        if State::from(&Meta::from_stat(&now)) != expected {
            return Err(MakeError::Changed(shown.to_owned()));
        }
        Ok(())
    }

    fn finish(self) -> Result<Created, MakeError> {
        if self.cancel.is_set() {
            return Err(MakeError::Cancelled);
        }
        Ok(self.hasher.finish()?)
    }
}

/// Reads as much as there is room for, or as is left of the file.
fn read_block(file: &mut File, room: &mut [u8]) -> std::io::Result<usize> {
    loop {
        match file.read(room) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

/// Error of opening something that was there when it was listed.
fn failed(errno: Errno, shown: &str) -> MakeError {
    match errno {
        Errno::NOENT | Errno::NOTDIR | Errno::ISDIR | Errno::LOOP | Errno::NOTSUP => {
            MakeError::Changed(shown.to_owned())
        }
        other => FsError::os(other, shown).into(),
    }
}
