//! Opening the files of the data set: by a handle of their directory, following no link, waiting for no pipe, and regular
//! files only. Whoever may write into the directory leads nobody out of it.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};
use rustix::io::Errno;

/// Why a file was not opened.
#[derive(Debug)]
pub enum Unopened {
    Missing,
    /// A link, a pipe, a socket, a device, a directory.
    Irregular,
    Io(io::Error),
}

/// Opens a regular file right in a directory.
pub fn open(directory: &Path, name: &str) -> Result<File, Unopened> {
    let refused = |errno| match errno {
        Errno::NOENT | Errno::NOTDIR => Unopened::Missing,
        // A link; a socket, or a device without a driver.
        Errno::LOOP | Errno::NXIO | Errno::NODEV => Unopened::Irregular,
        other => Unopened::Io(other.into()),
    };
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let directory = openat(CWD, directory, flags | OFlags::DIRECTORY, Mode::empty()).map_err(refused)?;
    let file = openat(&directory, name, flags | OFlags::NOFOLLOW, Mode::empty()).map_err(refused)?;
    let stat = fstat(&file).map_err(refused)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(Unopened::Irregular);
    }
    Ok(file.into())
}

/// What becomes of what a file that is written to holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    Anew,
    /// What it holds stays, and what comes stands behind it.
    Behind,
}

/// Opens a regular file right in a directory to write to it; makes it where there is none.
pub fn open_to_write(directory: &Path, name: &str, written: Written) -> io::Result<File> {
    let flags = OFlags::CLOEXEC | OFlags::NONBLOCK;
    let directory = openat(CWD, directory, flags | OFlags::DIRECTORY, Mode::empty())?;
    let behind = if written == Written::Behind {
        OFlags::APPEND
    } else {
        OFlags::empty()
    };
    let flags = flags | OFlags::WRONLY | OFlags::CREATE | OFlags::NOFOLLOW | behind;
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

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn only_regular_files_are_opened_and_nothing_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("file"), "plain").unwrap();
        std::fs::create_dir(at("directory")).unwrap();
        std::os::unix::fs::symlink("file", at("link")).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", at("outside")).unwrap();
        std::os::unix::fs::symlink("/dev/zero", at("endless")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        rustix::fs::mknodat(CWD, at("pipe"), FileType::Fifo, Mode::RWXU, 0).unwrap();
        let mut text = String::new();
        open(folder.path(), "file")
            .unwrap()
            .read_to_string(&mut text)
            .unwrap();
        assert_eq!(text, "plain");
        assert!(matches!(open(folder.path(), "nothing"), Err(Unopened::Missing)));
        assert!(matches!(open(&at("nowhere"), "file"), Err(Unopened::Missing)));
        for name in ["directory", "link", "outside", "endless", "socket", "pipe"] {
            let opened = open(folder.path(), name);
            assert!(matches!(opened, Err(Unopened::Irregular)), "{name}: {opened:?}");
            let opened = open_to_write(folder.path(), name, Written::Anew);
            assert!(opened.is_err(), "{name}: {opened:?}");
        }
        assert_eq!(std::fs::read_to_string(at("file")).unwrap(), "plain");
    }
}
