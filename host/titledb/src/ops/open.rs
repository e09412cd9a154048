//! Files of the data set, opened relative to the handle of their directory: links are not followed, pipes not
//! waited for, and only regular files are opened. So nobody with write access to the directory can lead the
//! service out of it.
//!
//! A directory path is absolute and without links, as [`guarded`](crate::service::Titledb::guarded) returns
//! it.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, fstat, openat, renameat, statat, unlinkat};
use rustix::io::Errno;

/// Reason why a file was not opened.
#[derive(Debug)]
pub enum Unopened {
    Missing,
    /// A link, a pipe, a socket, a device, or a directory.
    Irregular,
    Io(io::Error),
}

/// Opens a regular file directly in a directory.
pub fn open(directory: &Path, name: &str) -> Result<File, Unopened> {
    let opened = qm_confined::open_directory(directory)
        .and_then(|directory| qm_confined::open_content(directory, OsStr::new(name)));
    match opened {
        Ok((file, _)) => Ok(file.into()),
        Err(Errno::NOENT | Errno::NOTDIR) => Err(Unopened::Missing),
        Err(Errno::LOOP | Errno::INVAL | Errno::NXIO | Errno::NODEV) => Err(Unopened::Irregular),
        Err(other) => Err(Unopened::Io(other.into())),
    }
}

/// Metadata of a file, known without opening it.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// Bytes.
    pub size: u64,
    pub modified: SystemTime,
}

/// Size and date of the entry with this name directly in a directory (of a link itself); `None` if there is
/// none.
pub fn look(directory: &Path, name: &str) -> Option<Known> {
    let directory = qm_confined::open_directory(directory).ok()?;
    let stat = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    let seconds = u64::try_from(stat.st_mtime).unwrap_or(0);
    let nanoseconds = u32::try_from(stat.st_mtime_nsec).unwrap_or(0);
    let since_1970 = Duration::new(seconds, nanoseconds);
    Some(Known {
        size: u64::try_from(stat.st_size).unwrap_or(0),
        modified: SystemTime::UNIX_EPOCH + since_1970,
    })
}

/// Treatment of the present content of a file that is opened to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    Anew,
    /// New data is appended.
    Behind,
}

/// Creates the directory if it is missing.
pub fn make(directory: &Path) -> io::Result<()> {
    qm_confined::make_directory(directory)?;
    Ok(())
}

/// Opens a regular file directly in a directory to write to it; creates it if missing.
pub fn open_to_write(directory: &Path, name: &str, written: Written) -> io::Result<File> {
    let directory: OwnedFd = qm_confined::open_directory(directory)?;
    let behind = if written == Written::Behind {
        OFlags::APPEND
    } else {
        OFlags::empty()
    };
    let flags =
        OFlags::WRONLY | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | behind;
    let file = openat(&directory, name, flags, Mode::from_raw_mode(0o644))?;
    if FileType::from_raw_mode(fstat(&file)?.st_mode) != FileType::RegularFile {
        return Err(io::Error::other("it is no regular file"));
    }
    let file = File::from(file);
    if written == Written::Anew {
        file.set_len(0)?;
    }
    Ok(file)
}

/// Renames an entry directly in a directory, replacing one with the new name.
pub fn rename(directory: &Path, from: &str, to: &str) -> io::Result<()> {
    let directory = qm_confined::open_directory(directory)?;
    Ok(renameat(&directory, from, &directory, to)?)
}

/// Removes an entry directly in a directory (a link itself).
pub fn remove(directory: &Path, name: &str) -> io::Result<()> {
    let directory = qm_confined::open_directory(directory)?;
    Ok(unlinkat(directory, name, AtFlags::empty())?)
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};

    use rustix::fs::CWD;

    use super::*;

    #[test]
    fn only_regular_files_are_opened_and_nothing_is_waited_for() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().canonicalize().unwrap();
        let at = |name: &str| folder.join(name);
        std::fs::write(at("file"), "plain").unwrap();
        std::fs::create_dir(at("directory")).unwrap();
        std::fs::write(at("directory/file"), "plain").unwrap();
        std::os::unix::fs::symlink("file", at("link")).unwrap();
        std::os::unix::fs::symlink("directory", at("way")).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", at("outside")).unwrap();
        std::os::unix::fs::symlink("/dev/zero", at("endless")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        rustix::fs::mknodat(CWD, at("pipe"), FileType::Fifo, Mode::RWXU, 0).unwrap();
        let mut text = String::new();
        open(&folder, "file").unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "plain");
        assert_eq!(look(&folder, "file").map(|known| known.size), Some(5));
        assert!(matches!(open(&folder, "nothing"), Err(Unopened::Missing)));
        for folder in ["nowhere", "way"] {
            assert!(
                matches!(open(&at(folder), "file"), Err(Unopened::Missing)),
                "{folder}"
            );
            assert!(
                open_to_write(&at(folder), "file", Written::Anew).is_err(),
                "{folder}"
            );
            assert!(look(&at(folder), "file").is_none(), "{folder}");
            assert!(remove(&at(folder), "file").is_err(), "{folder}");
        }
        for name in ["directory", "link", "outside", "endless", "socket", "pipe"] {
            let opened = open(&folder, name);
            assert!(matches!(opened, Err(Unopened::Irregular)), "{name}: {opened:?}");
            let opened = open_to_write(&folder, name, Written::Anew);
            assert!(opened.is_err(), "{name}: {opened:?}");
        }
        assert_eq!(std::fs::read_to_string(at("file")).unwrap(), "plain");
        assert_eq!(std::fs::read_to_string(at("directory/file")).unwrap(), "plain");
    }

    #[test]
    fn a_file_is_written_and_gets_its_name() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().canonicalize().unwrap().join("a/b");
        make(&folder).unwrap();
        for (written, text) in [(Written::Anew, "one"), (Written::Behind, " two")] {
            let mut file = open_to_write(&folder, "part", written).unwrap();
            file.write_all(text.as_bytes()).unwrap();
        }
        rename(&folder, "part", "whole").unwrap();
        assert_eq!(std::fs::read_to_string(folder.join("whole")).unwrap(), "one two");
        remove(&folder, "whole").unwrap();
        assert!(look(&folder, "whole").is_none() && remove(&folder, "whole").is_err());
    }
}
