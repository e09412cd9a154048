//! Opening by handle for areas that walk by themselves: one name below a directory that is open, through no link and without
//! waiting. Calls answer the bare errno; callers know which path to blame.

use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component as Part, Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{self, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::FsError;
use super::own::Own;
use super::roots::Root;
use super::walk::{self, End, Last};

/// Flags to open a directory that is only passed through.
pub(crate) const HOLD: OFlags = OFlags::PATH
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// Flags to open content. They never block, even if the entry is not a file.
pub(crate) const READ: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// Opens the directory at an absolute path, from `/` on: one with a link in it is refused (`ENOTDIR`).
pub fn open_directory(absolute: &Path) -> Result<OwnedFd, Errno> {
    let mut dir = fs::openat(fs::CWD, "/", HOLD, Mode::empty())?;
    for part in absolute.components() {
        match part {
            Part::Normal(name) => dir = open_child(&dir, name)?,
            Part::ParentDir => return Err(Errno::INVAL),
            Part::RootDir | Part::CurDir | Part::Prefix(_) => {}
        }
    }
    Ok(dir)
}

/// Opens the directory at an absolute path, and creates missing directories on the way. No link is followed, as with
/// [`open_directory`].
pub fn make_directory(absolute: &Path) -> Result<OwnedFd, Errno> {
    let mut dir = fs::openat(fs::CWD, "/", HOLD, Mode::empty())?;
    for part in absolute.components() {
        match part {
            Part::Normal(name) => {
                let made = match open_child(&dir, name) {
                    Err(Errno::NOENT) => match fs::mkdirat(&dir, name, Mode::from_raw_mode(0o777)) {
                        // Somebody was quicker: as good, if it is a directory.
                        Ok(()) | Err(Errno::EXIST) => open_child(&dir, name),
                        Err(errno) => Err(errno),
                    },
                    opened => opened,
                };
                dir = made?;
            }
            Part::ParentDir => return Err(Errno::INVAL),
            Part::RootDir | Part::CurDir | Part::Prefix(_) => {}
        }
    }
    Ok(dir)
}

/// Opens the directory of that name in `dir`; `ENOTDIR` when it is something else, or a link.
pub fn open_child(dir: impl AsFd, name: &OsStr) -> Result<OwnedFd, Errno> {
    fs::openat(dir, name, HOLD, Mode::empty())
}

/// Opens the same directory so that its entries can be read.
pub fn open_listing(dir: impl AsFd) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    fs::openat(dir, ".", flags, Mode::empty())
}

/// Opens the content of the regular file of that name in `dir`, and its state by the same handle. `ELOOP`: it is a link;
/// `EINVAL`: it is something else, whose content is never touched and whose writer nobody waits for.
pub fn open_content(dir: impl AsFd, name: &OsStr) -> Result<(OwnedFd, Stat), Errno> {
    let is_file = |stat: &Stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    // Opening a device can have effects.
    let there = fs::statat(&dir, name, fs::AtFlags::SYMLINK_NOFOLLOW)?;
    match FileType::from_raw_mode(there.st_mode) {
        FileType::RegularFile => {}
        FileType::Symlink => return Err(Errno::LOOP),
        _ => return Err(Errno::INVAL),
    }
    // Should it be swapped for something else now, it is opened without waiting and given back unread.
    let file = fs::openat(dir, name, READ, Mode::empty())?;
    let stat = fs::fstat(&file)?;
    if is_file(&stat) {
        Ok((file, stat))
    } else {
        Err(Errno::INVAL)
    }
}

/// Opens the content of the regular file at an absolute path that has no link in it; see [`open_content`].
pub fn open_content_at(absolute: &Path) -> Result<(OwnedFd, Stat), Errno> {
    let (Some(folder), Some(name)) = (absolute.parent(), absolute.file_name()) else {
        return Err(Errno::INVAL);
    };
    open_content(open_directory(folder)?, name)
}

/// The place that a path means, wherever that is: its links resolved by handles as far as it exists, the rest as it stands. A
/// link to nothing means what it leads to. What is done there goes through [`open_directory`], which follows no link that
/// was put there meanwhile.
pub fn resolve(path: &Path) -> Result<PathBuf, FsError> {
    let absolute = std::path::absolute(path).map_err(|error| FsError::io(error, path.display()))?;
    let everything = [Root {
        configured: PathBuf::from("/"),
        canonical: PathBuf::from("/"),
        own: Arc::new(Own::default()),
    }];
    let names = everything[0].below(&absolute).ok_or(FsError::InvalidPath)?;
    let walked = walk::walk(&everything, 0, &names, Last::Follow, &path.display())?;
    let missing = match walked.end {
        End::Root(_) | End::Entry(_) => Vec::new(),
        End::Missing(_, missing) => missing,
    };
    let names = walked.real.iter().chain(&missing);
    Ok(names.fold(PathBuf::from("/"), |path, name| path.join(name.as_os())))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_path_means_where_its_links_lead_as_far_as_it_exists() {
        let home = tempfile::tempdir().expect("a directory");
        let home = home.path().canonicalize().expect("a path");
        std::fs::create_dir_all(home.join("real/deep")).expect("a folder");
        std::fs::write(home.join("real/file"), "x").expect("a file");
        for (target, link) in [
            ("real", "link"),
            ("../real/./deep", "real/up"),
            ("not there", "dangling"),
            ("loop", "loop"),
        ] {
            symlink(target, home.join(link)).expect("a link");
        }
        symlink(home.join("real/deep"), home.join("real/whole")).expect("a link");
        for (path, meant) in [
            ("real/deep", "real/deep"),
            ("link/deep/new/er", "real/deep/new/er"),
            ("real/up/x", "real/deep/x"),
            ("real/whole", "real/deep"),
            ("link/file", "real/file"),
            ("dangling/x", "not there/x"),
            ("none", "none"),
        ] {
            let resolved = resolve(&home.join(path)).expect(path);
            assert_eq!(resolved, home.join(meant), "{path}");
        }
        assert_eq!(resolve(Path::new("/")).expect("the root"), Path::new("/"));
        assert!(matches!(
            resolve(&home.join("loop/x")),
            Err(FsError::TooManyLinks(_))
        ));
        assert!(matches!(
            resolve(&home.join("link/file/x")),
            Err(FsError::NotADirectory(_))
        ));
    }

    #[test]
    fn only_regular_files_are_opened_and_through_no_link() {
        let home = tempfile::tempdir().expect("a directory");
        let home = home.path().canonicalize().expect("a path");
        std::fs::create_dir(home.join("folder")).expect("a folder");
        std::fs::write(home.join("file"), "four").expect("a file");
        symlink("file", home.join("link")).expect("a link");
        symlink("folder", home.join("way")).expect("a link");
        fs::mkfifoat(fs::CWD, home.join("fifo"), Mode::RUSR | Mode::WUSR).expect("a FIFO");
        let _socket = std::os::unix::net::UnixListener::bind(home.join("socket")).expect("a socket");
        let of = |path: &str| open_content_at(&home.join(path)).map(|(_, stat)| stat.st_size);
        for (path, opened) in [
            ("file", Ok(4)),
            ("link", Err(Errno::LOOP)),
            ("folder", Err(Errno::INVAL)),
            ("fifo", Err(Errno::INVAL)),
            ("socket", Err(Errno::INVAL)),
            ("none", Err(Errno::NOENT)),
            ("way/x", Err(Errno::NOTDIR)),
        ] {
            assert_eq!(of(path), opened, "{path}");
        }
        assert_eq!(
            open_content_at(Path::new("/dev/null")).map(drop),
            Err(Errno::INVAL)
        );
        assert_eq!(open_directory(&home.join("way")).map(drop), Err(Errno::NOTDIR));
        assert_eq!(
            open_directory(&home.join("folder/../folder")).map(drop),
            Err(Errno::INVAL)
        );
        make_directory(&home.join("folder/new/er")).expect("two folders");
        assert!(home.join("folder/new/er").is_dir());
        make_directory(&home.join("folder/new")).expect("one that is there");
        for (path, refused) in [
            ("way/x", Errno::NOTDIR),
            ("file/x", Errno::NOTDIR),
            ("folder/../x", Errno::INVAL),
        ] {
            assert_eq!(make_directory(&home.join(path)).map(drop), Err(refused), "{path}");
        }
        assert!(!home.join("folder/x").exists() && !home.join("x").exists());
    }
}
