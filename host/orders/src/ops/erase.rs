//! Deletion of files and folders of a library, through handles that follow no link. It is final: there is no trash.

use std::collections::HashSet;
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use qm_confined::{open_child, open_listing};
use qm_media_names::name::is_video;
use qm_media_names::place;
use rustix::fs::{self, AtFlags, FileType, Stat};
use rustix::io::Errno;

use qm_media::ops::reach::Reach;

/// Largest depth of a folder that is deleted as a whole.
const MAX_DEPTH: usize = 32;
/// Most entries of a folder that is deleted as a whole.
const MAX_ENTRIES: usize = 20_000;

/// Check and deletion of one folder.
struct Tree<'a> {
    /// Files to delete, as whole paths below the library's directory.
    going: &'a HashSet<Vec<u8>>,
    own: &'a [(u64, u64)],
    device: u64,
    entries: usize,
}

fn identity(stat: &Stat) -> (u64, u64) {
    (stat.st_dev, stat.st_ino)
}

/// Numbers (device, inode) of the service's own files and directories, which are never deleted.
pub fn identities(own: &[PathBuf]) -> Vec<(u64, u64)> {
    own.iter()
        .filter_map(|path| fs::stat(path).ok())
        .map(|stat| identity(&stat))
        .collect()
}

fn is_directory(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Directory
}

fn names(dir: &OwnedFd) -> Result<Vec<OsString>, Errno> {
    let mut names = Vec::new();
    for entry in fs::Dir::new(open_listing(dir)?)? {
        let name = entry?.file_name().to_bytes().to_vec();
        if name != b"." && name != b".." {
            names.push(OsString::from_vec(name));
        }
    }
    Ok(names)
}

impl Tree<'_> {
    /// True if a folder holds no video that stays, no other file system and nothing of the service's own.
    fn may_go(&mut self, dir: &OwnedFd, path: &[u8], depth: usize) -> Result<bool, Errno> {
        let here = fs::fstat(dir)?;
        if depth > MAX_DEPTH || here.st_dev != self.device || self.own.contains(&identity(&here)) {
            return Ok(false);
        }
        for name in names(dir)? {
            self.entries += 1;
            let stat = fs::statat(dir, &name, AtFlags::SYMLINK_NOFOLLOW)?;
            if self.entries > MAX_ENTRIES || self.own.contains(&identity(&stat)) {
                return Ok(false);
            }
            let below = place::join(path, &name);
            if is_directory(&stat) {
                let child = open_child(dir, &name)?;
                if !self.may_go(&child, &below, depth + 1)? {
                    return Ok(false);
                }
            } else if is_video(name.as_bytes()) && !self.going.contains(&below) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Empties a folder; `gone` counts deleted files. A video that appeared meanwhile stays, and with it the folder.
    fn empty(&self, dir: &OwnedFd, path: &[u8], gone: &mut u64) -> Result<(), Errno> {
        for name in names(dir)? {
            let below = place::join(path, &name);
            let stat = match fs::statat(dir, &name, AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) => continue,
                stat => stat?,
            };
            if is_directory(&stat) {
                let child = open_child(dir, &name)?;
                if fs::fstat(&child)?.st_dev != self.device {
                    return Err(Errno::XDEV);
                }
                self.empty(&child, &below, gone)?;
                fs::unlinkat(dir, &name, AtFlags::REMOVEDIR)?;
            } else if is_video(name.as_bytes()) && !self.going.contains(&below) {
                return Err(Errno::NOTEMPTY);
            } else {
                fs::unlinkat(dir, &name, AtFlags::empty())?;
                *gone += 1;
            }
        }
        Ok(())
    }
}

/// Deletion of files and folders below the directory of a library.
pub struct Eraser(Reach);

impl Eraser {
    /// Opens the directory of a library.
    pub fn open(path: &Path) -> Result<Self, Errno> {
        Reach::open(path).map(Self)
    }

    /// True if a folder may be deleted as a whole together with the files of `going`: it holds no other video, no other file
    /// system and nothing of the service's own. False if it is not there.
    pub fn is_own_folder(
        &self,
        path: &[u8],
        going: &HashSet<Vec<u8>>,
        own: &[(u64, u64)],
    ) -> Result<bool, Errno> {
        let opened = self.0.parent(path).and_then(|(above, name)| {
            let dir = open_child(&above, name)?;
            Ok((dir, fs::fstat(&above)?.st_dev))
        });
        let (dir, device) = match opened {
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(false),
            opened => opened?,
        };
        let mut tree = Tree {
            going,
            own,
            device,
            entries: 0,
        };
        tree.may_go(&dir, path, 0)
    }

    /// Deletes a folder that may be deleted, with everything in it. `gone` counts files, also if it ends early.
    pub fn erase_folder(&self, path: &[u8], going: &HashSet<Vec<u8>>, gone: &mut u64) -> Result<(), Errno> {
        let (above, name) = self.0.parent(path)?;
        let dir = open_child(&above, name)?;
        let tree = Tree {
            going,
            own: &[],
            device: fs::fstat(&dir)?.st_dev,
            entries: 0,
        };
        tree.empty(&dir, path, gone)?;
        fs::unlinkat(&above, name, AtFlags::REMOVEDIR)
    }

    /// Deletes a file, and its folder if that is empty then; false if the file did not exist.
    pub fn erase_file(&self, path: &[u8]) -> Result<bool, Errno> {
        let was_there = match self.0.parent(path) {
            Err(Errno::NOENT) => return Ok(false),
            Err(errno) => return Err(errno),
            Ok((dir, name)) => match fs::statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) => false,
                Err(errno) => return Err(errno),
                Ok(stat) if is_directory(&stat) => {
                    return Err(Errno::ISDIR);
                }
                Ok(_) => {
                    fs::unlinkat(&dir, name, AtFlags::empty())?;
                    true
                }
            },
        };
        let above = path.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at);
        if above > 0
            && let Ok((dir, name)) = self.0.parent(&path[..above])
        {
            // One that is not empty stays, whatever the reason.
            let _ = fs::unlinkat(&dir, name, AtFlags::REMOVEDIR);
        }
        Ok(was_there)
    }
}

/// Size in bytes of a file, or of everything below a folder, through no link; 0 if nothing is there. In a folder with more
/// entries than one of items may have, only the first are counted.
pub fn size(path: &Path) -> u64 {
    let Some((above, name)) = path.parent().zip(path.file_name()) else {
        return 0;
    };
    let measured = Reach::open(above).and_then(|reach| {
        let stat = fs::statat(reach.dir(), name, AtFlags::SYMLINK_NOFOLLOW)?;
        if !is_directory(&stat) {
            return Ok(u64::try_from(stat.st_size).unwrap_or(0));
        }
        let mut entries = 0;
        sum(&open_child(reach.dir(), name)?, 0, &mut entries)
    });
    measured.unwrap_or(0)
}

fn sum(dir: &OwnedFd, depth: usize, entries: &mut usize) -> Result<u64, Errno> {
    let mut bytes = 0;
    for name in names(dir)? {
        *entries += 1;
        if *entries > MAX_ENTRIES {
            break;
        }
        let stat = fs::statat(dir, &name, AtFlags::SYMLINK_NOFOLLOW)?;
        if is_directory(&stat) {
            if depth < MAX_DEPTH {
                let child = open_child(dir, &name)?;
                bytes += sum(&child, depth + 1, entries)?;
            }
        } else {
            bytes += u64::try_from(stat.st_size).unwrap_or(0);
        }
    }
    Ok(bytes)
}

/// Text of an error, for people.
pub fn describe_errno(errno: Errno) -> String {
    match errno {
        Errno::XDEV => "another file system lies in it".to_owned(),
        Errno::NOTEMPTY => "another video came into it meanwhile".to_owned(),
        errno => errno.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn going(paths: &[&str]) -> HashSet<Vec<u8>> {
        paths.iter().map(|path| path.as_bytes().to_vec()).collect()
    }

    #[test]
    fn only_what_belongs_to_what_goes_is_deleted() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        let root = home.join("films");
        for file in [
            "A/a.mkv",
            "A/a.srt",
            "A/extras/b.nfo",
            "B/b.mkv",
            "B/other.mkv",
            "B/b.nfo",
            "C/c.mkv",
            "C/own/x",
        ] {
            let path = root.join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "12345").unwrap();
        }
        std::fs::create_dir_all(home.join("beside")).unwrap();
        std::fs::write(home.join("beside/kept.txt"), "x").unwrap();
        std::os::unix::fs::symlink(home.join("beside"), root.join("A/link")).unwrap();
        std::os::unix::fs::symlink(home.join("beside"), root.join("D")).unwrap();
        let own = identities(&[root.join("C/own")]);
        let reach = Eraser::open(&root).unwrap();
        assert!(reach.is_own_folder(b"A", &going(&["A/a.mkv"]), &own).unwrap());
        assert!(
            !reach.is_own_folder(b"B", &going(&["B/b.mkv"]), &own).unwrap(),
            "another video stays"
        );
        assert!(
            !reach.is_own_folder(b"C", &going(&["C/c.mkv"]), &own).unwrap(),
            "the service's own"
        );
        assert!(!reach.is_own_folder(b"D", &going(&[]), &own).unwrap(), "a link");
        assert!(!reach.is_own_folder(b"E", &going(&[]), &own).unwrap(), "nothing");
        let mut gone = 0;
        assert_eq!(
            reach.erase_folder(b"B", &going(&["B/b.mkv"]), &mut gone),
            Err(Errno::NOTEMPTY)
        );
        assert!(root.join("B/other.mkv").exists());
        gone = 0;
        assert_eq!(reach.erase_folder(b"A", &going(&["A/a.mkv"]), &mut gone), Ok(()));
        assert_eq!(
            (gone, root.join("A").exists()),
            (4, false),
            "the link itself counts"
        );
        assert!(home.join("beside/kept.txt").exists(), "no link is followed");
        assert_eq!(reach.erase_file(b"C/c.mkv"), Ok(true));
        assert_eq!(reach.erase_file(b"C/c.mkv"), Ok(false));
        assert!(root.join("C/own/x").exists());
        assert!(reach.erase_file(b"C/own").is_err(), "a directory is no file");
        assert!(reach.erase_file(b"D/kept.txt").is_err() && reach.erase_file(b"../beside/kept.txt").is_err());
        std::fs::write(root.join("last.mkv"), "x").unwrap();
        assert_eq!(reach.erase_file(b"last.mkv"), Ok(true));
        assert!(root.exists());
        assert_eq!(
            (
                size(&root.join("C")),
                size(&root.join("none")),
                size(&root.join("D"))
            ),
            (5, 0, { std::fs::symlink_metadata(root.join("D")).unwrap().len() })
        );
    }
}
