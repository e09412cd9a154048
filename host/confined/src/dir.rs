//! A directory handle: the only door to the file system. Every call names one [`Component`] and follows no link, so nothing
//! it does can leave the directory.
//!
//! Handles are `O_PATH`: they can be stepped through without the right to list. Calls answer the bare errno; callers know
//! which path to blame.
//!
//! Places of the server's own ([`OwnPlace`](super::OwnPlace)) are hidden, under any name: they cannot be opened, looked
//! at, listed or replaced through a handle.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{self, AtFlags, FileType, FlockOperation, Mode, OFlags, RenameFlags, Stat};
use rustix::io::{Errno, Result};

use super::names::Component;
use super::open::{HOLD, READ};
use super::own::Hidden;
use super::{Identity, Kind, Meta};

#[derive(Debug)]
pub struct Dir {
    fd: OwnedFd,
    /// Handed on to every handle that is reached through this one.
    hidden: Hidden,
}

/// Something opened by name, whatever it is; a link is the link itself.
pub struct Node {
    fd: OwnedFd,
    pub stat: Stat,
    hidden: Hidden,
}

impl Node {
    pub fn file_type(&self) -> FileType {
        FileType::from_raw_mode(self.stat.st_mode)
    }

    pub fn into_dir(self) -> Dir {
        Dir {
            fd: self.fd,
            hidden: self.hidden,
        }
    }

    /// The target of this link, read through the handle: that of the link that was looked at.
    pub fn link_target(&self) -> Result<Vec<u8>> {
        Ok(fs::readlinkat(&self.fd, "", Vec::new())?.into_bytes())
    }
}

impl AsFd for Dir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Dir {
    /// The directory at `absolute`, which has no link, `.` or `..` in it: one with a link where none should be is refused
    /// (`ENOTDIR`). Also answers the identities of the directories passed, `/` first, this one last. No directory of
    /// `hidden` is passed.
    pub fn open_at(absolute: &Path, hidden: Hidden) -> Result<(Dir, Vec<Identity>)> {
        let fd = fs::openat(fs::CWD, "/", HOLD, Mode::empty())?;
        let mut dir = Dir { fd, hidden };
        let mut lineage = vec![dir.identity()?];
        for part in absolute.components() {
            if let std::path::Component::Normal(name) = part {
                let name = Component::new(name).ok_or(Errno::INVAL)?;
                dir = dir.child(&name)?;
                lineage.push(dir.identity()?);
            }
        }
        Ok((dir, lineage))
    }

    pub fn try_clone(&self) -> Result<Dir> {
        Ok(self.reached(rustix::io::fcntl_dupfd_cloexec(&self.fd, 0)?))
    }

    /// The directory `name`; `ENOTDIR` when it is something else, or a link.
    pub fn child(&self, name: &Component) -> Result<Dir> {
        let dir = self.reached(fs::openat(&self.fd, name.as_os(), HOLD, Mode::empty())?);
        if !self.hidden.is_empty() {
            self.refuse_hidden(dir.identity()?)?;
        }
        Ok(dir)
    }

    fn reached(&self, fd: OwnedFd) -> Dir {
        Dir {
            fd,
            hidden: Hidden::clone(&self.hidden),
        }
    }

    fn refuse_hidden(&self, identity: Identity) -> Result<()> {
        if self.hidden.contains(&identity) {
            return Err(Errno::NOENT);
        }
        Ok(())
    }

    /// True when an entry of that inode number may be hidden; [`stat`](Self::stat) answers for certain.
    pub fn may_hide(&self, inode: u64) -> bool {
        self.hidden.iter().any(|hidden| hidden.inode == inode)
    }

    /// The directory above, if it is still the one of that identity. Only for ways back that were walked down before.
    pub fn above(&self, expected: Identity) -> Result<Dir> {
        let dir = self.reached(fs::openat(&self.fd, "..", HOLD, Mode::empty())?);
        if dir.identity()? == expected {
            Ok(dir)
        } else {
            Err(Errno::LOOP)
        }
    }

    /// Handle of the entry `name`, of any kind, opened without touching its content.
    pub fn node(&self, name: &Component) -> Result<Node> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = fs::openat(&self.fd, name.as_os(), flags, Mode::empty())?;
        let stat = fs::fstat(&fd)?;
        self.refuse_hidden(Meta::from_stat(&stat).identity)?;
        Ok(Node {
            fd,
            stat,
            hidden: Hidden::clone(&self.hidden),
        })
    }

    pub fn stat(&self, name: &Component) -> Result<Stat> {
        let stat = fs::statat(&self.fd, name.as_os(), AtFlags::SYMLINK_NOFOLLOW)?;
        self.refuse_hidden(Meta::from_stat(&stat).identity)?;
        Ok(stat)
    }

    /// `None` when there is nothing of that name, and it can be given to something.
    pub fn find(&self, name: &Component) -> Result<Option<Meta>> {
        match fs::statat(&self.fd, name.as_os(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if self.hidden.contains(&Meta::from_stat(&stat).identity) => Err(Errno::EXIST),
            Ok(stat) => Ok(Some(Meta::from_stat(&stat))),
            Err(Errno::NOENT) => Ok(None),
            Err(other) => Err(other),
        }
    }

    pub fn meta(&self) -> Result<Meta> {
        Ok(Meta::from_stat(&fs::fstat(&self.fd)?))
    }

    /// True when a rename from here to `other` can work, as far as can be told beforehand: not across file systems, nor across
    /// mounts of one.
    pub fn is_one_with(&self, other: &Dir) -> Result<bool> {
        let mount = |dir: &Dir| {
            let flags = AtFlags::EMPTY_PATH;
            let seen = fs::statx(&dir.fd, "", flags, fs::StatxFlags::MNT_ID).ok()?;
            let known = seen.stx_mask & fs::StatxFlags::MNT_ID.bits() != 0;
            known.then_some(seen.stx_mnt_id)
        };
        Ok(self.identity()?.device == other.identity()?.device && mount(self) == mount(other))
    }

    pub fn identity(&self) -> Result<Identity> {
        Ok(self.meta()?.identity)
    }

    /// Starts to read the entries. `.` and `..` are among them.
    pub fn entries(&self) -> Result<fs::Dir> {
        fs::Dir::new(self.readable()?)
    }

    /// The same directory opened for reading: to list it, to sync it, to lock it.
    pub fn readable(&self) -> Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        fs::openat(&self.fd, ".", flags, Mode::empty())
    }

    /// Rights of the server's user: first to list and enter, second to change the directory.
    pub fn access(&self) -> (bool, bool) {
        let may = |what| fs::accessat(&self.fd, ".", what, AtFlags::EACCESS).is_ok();
        (
            may(fs::Access::READ_OK | fs::Access::EXEC_OK),
            may(fs::Access::WRITE_OK | fs::Access::EXEC_OK),
        )
    }

    /// True when the server's user may write to the entry `name` (a link: to the link's own permissions, which are none).
    pub fn may_write(&self, name: &Component) -> bool {
        let flags = AtFlags::EACCESS | AtFlags::SYMLINK_NOFOLLOW;
        fs::accessat(&self.fd, name.as_os(), fs::Access::WRITE_OK, flags).is_ok()
    }

    /// A regular file's content. Anything else is `ENOTSUP` and never opened: opening a device can have effects, and a
    /// FIFO would wait.
    pub fn read(&self, name: &Component) -> Result<(File, Meta)> {
        match FileType::from_raw_mode(self.stat(name)?.st_mode) {
            FileType::RegularFile => {}
            FileType::Directory => return Err(Errno::ISDIR),
            FileType::Symlink => return Err(Errno::LOOP),
            _ => return Err(Errno::NOTSUP),
        }
        // Should it be swapped for something else now, it is opened without waiting and given back unread.
        let fd = fs::openat(&self.fd, name.as_os(), READ, Mode::empty())?;
        let meta = Meta::from_stat(&fs::fstat(&fd)?);
        if meta.kind != Kind::File {
            return Err(Errno::NOTSUP);
        }
        self.refuse_hidden(meta.identity)?;
        Ok((File::from(fd), meta))
    }

    /// A new, empty file that nobody else can read yet.
    pub fn create_file(&self, name: &Component) -> Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = fs::openat(&self.fd, name.as_os(), flags, Mode::RUSR | Mode::WUSR)?;
        Ok(File::from(fd))
    }

    pub fn create_dir(&self, name: &Component, mode: Mode) -> Result<()> {
        fs::mkdirat(&self.fd, name.as_os(), mode)
    }

    pub fn create_link(&self, name: &Component, target: &[u8]) -> Result<()> {
        fs::symlinkat(target, &self.fd, name.as_os())
    }

    /// Gives the file `name` one more name; `EEXIST` when something has that. A link is not followed.
    pub fn create_hard_link(&self, name: &Component, to: &Dir, new: &Component) -> Result<()> {
        fs::linkat(&self.fd, name.as_os(), &to.fd, new.as_os(), AtFlags::empty())
    }

    pub fn remove_file(&self, name: &Component) -> Result<()> {
        fs::unlinkat(&self.fd, name.as_os(), AtFlags::empty())
    }

    pub fn remove_dir(&self, name: &Component) -> Result<()> {
        fs::unlinkat(&self.fd, name.as_os(), AtFlags::REMOVEDIR)
    }

    /// Replaces a file, or an empty directory by a directory, in one step.
    pub fn rename(&self, name: &Component, to: &Dir, new: &Component) -> Result<()> {
        fs::renameat(&self.fd, name.as_os(), &to.fd, new.as_os())
    }

    pub fn rename_with(&self, name: &Component, to: &Dir, new: &Component, how: RenameFlags) -> Result<()> {
        fs::renameat_with(&self.fd, name.as_os(), &to.fd, new.as_os(), how)
    }

    /// Syncs the directory, so that renames, new entries and removals in it survive a power cut. File systems that cannot are
    /// skipped.
    pub fn sync(&self) -> Result<()> {
        match fs::fsync(self.readable()?) {
            Ok(()) | Err(Errno::INVAL | Errno::NOTSUP | Errno::ROFS) => Ok(()),
            // A directory that may be written but not listed cannot be opened for it.
            Err(Errno::ACCESS) => Ok(()),
            Err(other) => Err(other),
        }
    }

    /// Keeps the directory `name` locked while the answer lives; `None` when somebody else has it.
    pub fn lock(&self) -> Result<Option<OwnedFd>> {
        let fd = self.readable()?;
        match fs::flock(&fd, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(fd)),
            Err(Errno::WOULDBLOCK) => Ok(None),
            Err(other) => Err(other),
        }
    }
}
