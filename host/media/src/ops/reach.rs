//! Files of a library, reached from its directory through handles that follow no link.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use qm_confined::{open_child, open_content, open_content_at, open_directory, resolve};
use rustix::fs::{self, AtFlags, FileType, Stat};
use rustix::io::Errno;

/// The open directory of a library.
pub struct Reach {
    dir: OwnedFd,
    path: PathBuf,
}

impl Reach {
    /// Opens the directory of a library, from `/` on, through no link.
    pub fn open(path: &Path) -> Result<Self, Errno> {
        Ok(Self {
            dir: open_directory(path)?,
            path: path.to_owned(),
        })
    }

    /// The directory itself.
    pub fn dir(&self) -> &OwnedFd {
        &self.dir
    }

    /// The directory that a path below the library's lies in, and its name there.
    pub fn parent<'a>(&self, path: &'a [u8]) -> Result<(OwnedFd, &'a OsStr), Errno> {
        let mut parts = path.split(|byte| *byte == b'/');
        let name = parts.next_back().unwrap_or_default();
        let is_plain = |part: &[u8]| !matches!(part, b"" | b"." | b"..");
        let mut dir = self.dir.try_clone().map_err(|_| Errno::MFILE)?;
        for part in parts {
            if !is_plain(part) {
                return Err(Errno::INVAL);
            }
            dir = open_child(&dir, OsStr::from_bytes(part))?;
        }
        if !is_plain(name) {
            return Err(Errno::INVAL);
        }
        Ok((dir, OsStr::from_bytes(name)))
    }

    /// True if a scan would index this file: a regular file, or a link to one inside the roots.
    pub fn is_file(&self, path: &[u8], roots: &[PathBuf]) -> bool {
        let kind = self.parent(path).and_then(|(dir, name)| {
            let stat = fs::statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
            Ok(FileType::from_raw_mode(stat.st_mode))
        });
        match kind {
            Ok(FileType::RegularFile) => true,
            Ok(FileType::Symlink) => self.open_target(path, roots).is_ok(),
            _ => false,
        }
    }

    /// Opens a file that a scan would index, and reads its state. The error `EINVAL` means that it is no such file.
    pub fn open_file(&self, path: &[u8], roots: &[PathBuf]) -> Result<(OwnedFd, Stat), Errno> {
        let (dir, name) = self.parent(path)?;
        match open_content(&dir, name) {
            Err(Errno::LOOP) => self.open_target(path, roots),
            opened => opened,
        }
    }

    /// Opens the target of a link inside the roots, by a path without links.
    fn open_target(&self, path: &[u8], roots: &[PathBuf]) -> Result<(OwnedFd, Stat), Errno> {
        let target = resolve(&self.path.join(OsStr::from_bytes(path))).map_err(|_| Errno::NOENT)?;
        if !roots.iter().any(|root| target.starts_with(root)) {
            return Err(Errno::INVAL);
        }
        open_content_at(&target)
    }
}

/// Instant at which a file was written last, in nanoseconds since 1970.
pub fn mtime(stat: &Stat) -> i64 {
    let nanos = i64::try_from(stat.st_mtime_nsec).unwrap_or(0);
    stat.st_mtime.saturating_mul(1_000_000_000).saturating_add(nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_lies_in_the_library_is_reached() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        let (library, beside) = (home.join("library"), home.join("beside"));
        for dir in [library.join("a"), beside.clone()] {
            std::fs::create_dir_all(dir).unwrap();
        }
        for file in [library.join("a/one.mkv"), beside.join("two.mkv")] {
            std::fs::write(file, "x").unwrap();
        }
        std::os::unix::fs::symlink(&beside, library.join("out")).unwrap();
        std::os::unix::fs::symlink(beside.join("two.mkv"), library.join("a/two.mkv")).unwrap();
        let reach = Reach::open(&library).unwrap();
        let is_file = |path: &str| reach.is_file(path.as_bytes(), std::slice::from_ref(&library));
        assert!(is_file("a/one.mkv"));
        for path in [
            "a",
            "a/none.mkv",
            "out/two.mkv",
            "a/two.mkv",
            "../beside/two.mkv",
            "a//one.mkv",
            "",
            "a/../a/one.mkv",
        ] {
            assert!(!is_file(path), "{path}");
        }
        assert!(
            reach.is_file(b"a/two.mkv", std::slice::from_ref(&home)),
            "a link inside the roots"
        );
        assert!(Reach::open(&library.join("out")).is_err(), "a link is no library");
        let open = |path: &str, root: &Path| {
            let opened = reach.open_file(path.as_bytes(), &[root.to_owned()]);
            opened.map(|(_, stat)| stat.st_size)
        };
        assert_eq!(open("a/one.mkv", &library), Ok(1));
        assert_eq!(open("a/two.mkv", &home), Ok(1), "a link inside the roots");
        assert_eq!(open("a/two.mkv", &library), Err(Errno::INVAL));
        assert_eq!(open("out/two.mkv", &home), Err(Errno::NOTDIR));
        assert_eq!(open("a", &library), Err(Errno::INVAL));
        assert_eq!(open("a/none.mkv", &library), Err(Errno::NOENT));
        rustix::fs::mkfifoat(
            rustix::fs::CWD,
            library.join("a/pipe.mkv"),
            rustix::fs::Mode::RUSR,
        )
        .unwrap();
        assert_eq!(
            open("a/pipe.mkv", &library),
            Err(Errno::INVAL),
            "nobody waits for its writer"
        );
    }
}
