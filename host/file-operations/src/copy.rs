//! Copying: the content of one file, and a tree.
//!
//! A reflink where the file system has them, else `copy_file_range`, else a buffer. Holes stay holes where the file system
//! tells of them. Times, permission bits, access control lists and extended attributes of users are kept; `setuid` and the
//! like are not.
//!
//! Bounds: one buffer of 1 MiB; at most [`CHUNK`] bytes between two looks at the cancellation.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use rustix::fs::{self, AtFlags, Gid, Mode, SeekFrom, Timespec, Timestamps, Uid};
use rustix::io::Errno;

use super::notes::Noted;
use super::temp::Temp;
use super::tree::{At, Descent, Visitor};
use super::{Control, attributes};
use qm_confined::{Component, Dir, FsError, Kind, Meta};

const CHUNK: u64 = 8 << 20;
const BUFFER: usize = 1 << 20;

/// Files from this size are synced one by one; the small ones of a tree together, at its end.
const SYNC_ALONE: u64 = 1 << 20;

/// The manner in which a copy is made.
#[derive(Clone, Copy)]
pub(super) struct Manner {
    /// Into directories that exist, replacing files one by one.
    pub merge: bool,
    /// The copy takes the original's place: hidden names come along, and the owner where the server's user may set it.
    pub moving: bool,
}

/// The entry `at`, which is not a directory, as `new` in `to`, where nothing of that name is.
pub(super) fn copy_item(
    at: &At<'_>,
    kind: Kind,
    to: &Dir,
    new: &Component,
    manner: Manner,
    control: &Control,
) -> Result<(), FsError> {
    match kind {
        Kind::File => {
            let file = to.create_file(new).map_err(|e| at.failed(e))?;
            copy_file(at, &file, manner, control)
        }
        Kind::Link => {
            let node = at.dir.node(at.name).map_err(|e| at.failed(e))?;
            let target = node.link_target().map_err(|e| at.failed(e))?;
            to.create_link(new, &target).map_err(|e| at.failed(e))?;
            let meta = Meta::from_stat(&node.stat);
            // Not every file system keeps times of links.
            let _ = fs::utimensat(to, new.as_os(), &times(&meta), AtFlags::SYMLINK_NOFOLLOW);
            Ok(())
        }
        Kind::Special | Kind::Directory => Err(FsError::Special(at.rel.join(at.name).text())),
    }
}

/// Content, times and permissions of the regular file `at` into the empty file `to`, synced when it is large.
pub(super) fn copy_file(at: &At<'_>, to: &File, manner: Manner, control: &Control) -> Result<(), FsError> {
    let failed = |errno| at.failed(errno);
    let (from, meta) = at.dir.read(at.name).map_err(|errno| match errno {
        Errno::NOTSUP => FsError::Special(at.rel.join(at.name).text()),
        other => at.failed(other),
    })?;
    copy_content(&from, to, meta.size, at, control)?;
    let after = Meta::from_stat(&fs::fstat(&from).map_err(failed)?);
    if (after.size, after.times.modified) != (meta.size, meta.times.modified) {
        return Err(FsError::Changed(at.rel.join(at.name).text()));
    }
    // Before the permissions, which may forbid it; the list after them, because it is the finer word.
    attributes::keep_users(&from, to);
    dress(to, &meta, manner).map_err(failed)?;
    attributes::keep_lists(&from, to);
    if meta.size >= SYNC_ALONE {
        fs::fsync(to).map_err(failed)?;
    }
    Ok(())
}

fn copy_content(from: &File, to: &File, size: u64, at: &At<'_>, control: &Control) -> Result<(), FsError> {
    if fs::ioctl_ficlone(to, from).is_ok() {
        control.bytes_done(size);
        return Ok(());
    }
    let mut pump = Pump {
        from,
        to,
        at,
        control,
        by_kernel: true,
        buffer: Vec::new(),
    };
    let mut position = 0;
    while position < size {
        let data = match fs::seek(from, SeekFrom::Data(position)) {
            Ok(data) => data.min(size),
            Err(Errno::NXIO) => size, // a hole to the end
            Err(_) => position,       // it does not tell: all is data
        };
        control.bytes_done(data - position);
        let hole = match fs::seek(from, SeekFrom::Hole(data)) {
            Ok(hole) if hole > data => hole.min(size),
            _ => size,
        };
        pump.run(data, hole)?;
        position = hole;
    }
    fs::ftruncate(to, size).map_err(|e| at.failed(e))
}

struct Pump<'a> {
    from: &'a File,
    to: &'a File,
    at: &'a At<'a>,
    control: &'a Control,
    by_kernel: bool,
    buffer: Vec<u8>,
}

impl Pump<'_> {
    fn run(&mut self, mut position: u64, end: u64) -> Result<(), FsError> {
        while position < end {
            self.control.check()?;
            let wanted = (end - position).min(CHUNK);
            let moved = if self.by_kernel {
                self.kernel(position, wanted)?
            } else {
                self.through_buffer(position, wanted)?
            };
            position += moved;
            self.control.bytes_done(moved);
        }
        Ok(())
    }

    /// 0: the kernel cannot, and is not asked again.
    fn kernel(&mut self, position: u64, wanted: u64) -> Result<u64, FsError> {
        let (mut read, mut write) = (position, position);
        let length = usize::try_from(wanted).unwrap_or(BUFFER);
        match fs::copy_file_range(self.from, Some(&mut read), self.to, Some(&mut write), length) {
            Ok(0) | Err(Errno::XDEV | Errno::INVAL | Errno::NOSYS | Errno::NOTSUP | Errno::PERM) => {
                self.by_kernel = false;
                Ok(0)
            }
            Ok(moved) => Ok(moved as u64),
            Err(other) => Err(self.at.failed(other)),
        }
    }

    fn through_buffer(&mut self, position: u64, wanted: u64) -> Result<u64, FsError> {
        self.buffer.resize(BUFFER, 0);
        let length = usize::try_from(wanted).map_or(BUFFER, |wanted| wanted.min(BUFFER));
        let failed = |e| FsError::io(e, self.at.rel.join(self.at.name));
        let read = loop {
            match self.from.read_at(&mut self.buffer[..length], position) {
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                result => break result.map_err(failed)?,
            }
        };
        if read == 0 {
            // Shorter than it was when the copy began.
            return Err(FsError::Changed(self.at.rel.join(self.at.name).text()));
        }
        self.to
            .write_all_at(&self.buffer[..read], position)
            .map_err(failed)?;
        Ok(read as u64)
    }
}

fn times(meta: &Meta) -> Timestamps {
    let spec = |(seconds, nanoseconds): (i64, u32)| Timespec {
        tv_sec: seconds,
        tv_nsec: i64::from(nanoseconds),
    };
    Timestamps {
        last_access: spec(meta.times.accessed),
        last_modification: spec(meta.times.modified),
    }
}

/// Owner, permissions and times of a finished copy.
fn dress(to: impl std::os::fd::AsFd, meta: &Meta, manner: Manner) -> rustix::io::Result<()> {
    if manner.moving {
        // Only a privileged server may; a copy of its own user's is the usual case.
        let _ = fs::fchown(
            &to,
            Some(Uid::from_raw(meta.owner.0)),
            Some(Gid::from_raw(meta.owner.1)),
        );
    }
    // Shares without permissions of their own refuse; the content is what matters.
    match fs::fchmod(&to, Mode::from_raw_mode(meta.mode & 0o777)) {
        Ok(()) | Err(Errno::PERM | Errno::NOTSUP) => {}
        Err(other) => return Err(other),
    }
    match fs::futimens(&to, &times(meta)) {
        Ok(()) | Err(Errno::PERM | Errno::NOTSUP) => Ok(()),
        Err(other) => Err(other),
    }
}

fn dress_directory(from: &Dir, to: &OwnedFd, meta: &Meta, manner: Manner) -> rustix::io::Result<()> {
    let from = from.readable();
    if let Ok(from) = &from {
        attributes::keep_users(from, to);
    }
    dress(to, meta, manner)?;
    if let Ok(from) = &from {
        attributes::keep_lists(from, to);
    }
    Ok(())
}

/// Visitor that copies each entry of a walk into another directory.
pub(super) struct Copier<'a> {
    to: Descent,
    /// Note of the top directory and the tree below it.
    noted: &'a Arc<Noted>,
    /// Metadata to give each open directory of the copy once it is full; `None` for one that was there before.
    looks: Vec<Option<Meta>>,
    manner: Manner,
    control: &'a Control,
}

impl<'a> Copier<'a> {
    pub fn new(
        to: Dir,
        manner: Manner,
        noted: &'a Arc<Noted>,
        control: &'a Control,
    ) -> rustix::io::Result<Self> {
        Ok(Self {
            to: Descent::new(to)?,
            noted,
            looks: Vec::new(),
            manner,
            control,
        })
    }

    /// After the walk: the look of the top directory, and everything on disk.
    pub fn finish(self, top: Option<(&Dir, &Meta)>) -> rustix::io::Result<()> {
        let dir = self.to.current().readable()?;
        if let Some((from, meta)) = top {
            dress_directory(from, &dir, meta, self.manner)?;
        }
        fs::syncfs(&dir)
    }

    fn merge_item(&self, at: &At<'_>, kind: Kind) -> Result<(), FsError> {
        let to = self.to.current();
        if to
            .find(at.name)
            .map_err(|e| at.failed(e))?
            .is_some_and(|there| there.is_dir())
        {
            return Err(FsError::MixedKinds(at.rel.join(at.name).text()));
        }
        let over = (to, at.name);
        replace_item(at, kind, over, self.manner, self.noted, self.control)
    }
}

/// Looks before a merge whether a folder would meet a file or a file a folder: then nothing is merged.
pub(super) struct Fitting(Descent);

impl Fitting {
    pub fn new(to: Dir) -> rustix::io::Result<Self> {
        Ok(Self(Descent::new(to)?))
    }
}

impl Visitor for Fitting {
    fn item(&mut self, at: &At<'_>, _: Kind) -> Result<(), FsError> {
        match self.0.current().find(at.name).map_err(|e| at.failed(e))? {
            Some(there) if there.is_dir() => Err(FsError::MixedKinds(at.rel.join(at.name).text())),
            _ => Ok(()),
        }
    }

    fn enter(&mut self, at: &At<'_>) -> Result<bool, FsError> {
        match self.0.down(at.name) {
            Ok(()) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(Errno::NOTDIR) => Err(FsError::MixedKinds(at.rel.join(at.name).text())),
            Err(other) => Err(at.failed(other)),
        }
    }

    fn leave(&mut self, at: &At<'_>) -> Result<(), FsError> {
        self.0.up().map_err(|e| at.failed(e))
    }

    fn wants_hidden(&self) -> bool {
        false
    }
}

/// Same as [`copy_item`], over a file or link that may be there: prepared aside, renamed in one step.
pub(super) fn replace_item(
    at: &At<'_>,
    kind: Kind,
    (to, new): (&Dir, &Component),
    manner: Manner,
    noted: &Arc<Noted>,
    control: &Control,
) -> Result<(), FsError> {
    let failed = |errno| at.failed(errno);
    if kind == Kind::File {
        let (temp, file) = Temp::file(to, noted).map_err(failed)?;
        copy_file(at, &file, manner, control)?;
        fs::fsync(&file).map_err(failed)?;
        to.rename(temp.name(), to, new).map_err(failed)?;
        temp.published();
        return Ok(());
    }
    let (_temp, aside) = Temp::directory(to, noted).map_err(failed)?;
    copy_item(at, kind, &aside, new, manner, control)?;
    aside.rename(new, to, new).map_err(failed)
}

impl Visitor for Copier<'_> {
    fn item(&mut self, at: &At<'_>, kind: Kind) -> Result<(), FsError> {
        if self.manner.merge {
            self.merge_item(at, kind)?;
        } else {
            copy_item(at, kind, self.to.current(), at.name, self.manner, self.control)?;
        }
        self.control.item_done();
        Ok(())
    }

    fn enter(&mut self, at: &At<'_>) -> Result<bool, FsError> {
        let meta = at.meta()?;
        let look = match self.to.current().create_dir(at.name, Mode::RWXU) {
            Ok(()) => Some(meta),
            Err(Errno::EXIST) if self.manner.merge => None,
            Err(other) => return Err(at.failed(other)),
        };
        self.to.down(at.name).map_err(|errno| match errno {
            Errno::NOTDIR => FsError::MixedKinds(at.rel.join(at.name).text()),
            other => at.failed(other),
        })?;
        self.looks.push(look);
        Ok(true)
    }

    fn leave(&mut self, at: &At<'_>) -> Result<(), FsError> {
        let failed = |errno| at.failed(errno);
        if let Some(Some(meta)) = self.looks.pop() {
            let dir = self.to.current().readable().map_err(failed)?;
            let from = at.dir.child(at.name).map_err(failed)?;
            dress_directory(&from, &dir, &meta, self.manner).map_err(failed)?;
        }
        self.to.up().map_err(failed)?;
        self.control.item_done();
        Ok(())
    }

    fn wants_hidden(&self) -> bool {
        self.manner.moving
    }
}
