//! The facts of one stat.

use qm_kernel::Timestamp;
use rustix::fs::{FileType, Stat};

/// The identity of a file, whatever it is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity {
    pub device: u64,
    pub inode: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    File,
    Directory,
    Link,
    /// A FIFO, a socket, a device: listed, renamed, moved on its file system, deleted; never opened.
    Special,
}

impl Kind {
    pub fn from_file_type(kind: FileType) -> Self {
        match kind {
            FileType::RegularFile => Kind::File,
            FileType::Directory => Kind::Directory,
            FileType::Symlink => Kind::Link,
            _ => Kind::Special,
        }
    }
}

/// A file's size, times and identity. Of a link: the link's own.
#[derive(Clone, Copy, Debug)]
pub struct Meta {
    pub kind: Kind,
    pub size: u64,
    pub modified: Timestamp,
    /// Hard links.
    pub links: u64,
    pub identity: Identity,
    /// Permission bits.
    pub mode: u32,
    pub times: Times,
    pub owner: (u32, u32),
}

/// Access and modification, to the nanosecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    pub accessed: (i64, u32),
    pub modified: (i64, u32),
}

impl Meta {
    #[allow(
        clippy::unnecessary_cast,
        reason = "the fields are narrower on other processors"
    )]
    pub fn from_stat(stat: &Stat) -> Self {
        let modified = (stat.st_mtime as i64, stat.st_mtime_nsec as u32);
        Self {
            kind: Kind::from_file_type(FileType::from_raw_mode(stat.st_mode)),
            size: u64::try_from(stat.st_size).unwrap_or(0),
            modified: Timestamp::from_ms(
                modified
                    .0
                    .saturating_mul(1000)
                    .saturating_add(i64::from(modified.1 / 1_000_000)),
            ),
            links: stat.st_nlink as u64,
            identity: Identity {
                device: stat.st_dev,
                inode: stat.st_ino,
            },
            mode: stat.st_mode & 0o7777,
            times: Times {
                accessed: (stat.st_atime as i64, stat.st_atime_nsec as u32),
                modified,
            },
            owner: (stat.st_uid, stat.st_gid),
        }
    }

    pub fn is_dir(&self) -> bool {
        self.kind == Kind::Directory
    }
}
