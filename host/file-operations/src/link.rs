//! Links: one more name of a file, or a symbolic link to it.

use rustix::io::Errno;

use super::Usage;
use super::transfer::Transferred;
use qm_confined::{Component, ConfinedPath, Created, Destination, FsError};

/// Gives `item` one more name in `destination`. `None`, with nothing done: the file system cannot, because it is another one,
/// or knows no such names; then a copy may do.
pub fn link_hard(
    item: &ConfinedPath,
    destination: &Destination,
    name: &Component,
) -> Result<Option<Transferred>, FsError> {
    let own = item.entry()?;
    let done = put(item, destination, name, |made| {
        item.parent.create_hard_link(own, made.dir(), name)
    });
    match done? {
        Ok(done) => Ok(Some(done)),
        Err(Errno::XDEV | Errno::PERM | Errno::MLINK | Errno::NOTSUP | Errno::NOSYS) => Ok(None),
        Err(errno) => Err(refusal(errno, destination, name)),
    }
}

/// Puts a symbolic link to `item` into `destination`. It leads to the absolute path without links.
pub fn link_soft(
    item: &ConfinedPath,
    destination: &Destination,
    name: &Component,
) -> Result<Transferred, FsError> {
    use std::os::unix::ffi::OsStrExt as _;
    let target = item.absolute();
    let target = target.as_os_str().as_bytes();
    let done = put(item, destination, name, |made| {
        made.dir().create_link(name, target)
    });
    done?.map_err(|errno| refusal(errno, destination, name))
}

/// Puts an entry into a destination whose missing folders are created, and removed again after an error.
fn put(
    item: &ConfinedPath,
    destination: &Destination,
    name: &Component,
    make: impl FnOnce(&Created) -> rustix::io::Result<()>,
) -> Result<rustix::io::Result<Transferred>, FsError> {
    let made = destination.create()?;
    if let Err(errno) = make(&made) {
        made.undo();
        return Ok(Err(errno));
    }
    let rel = destination.rel().join(name);
    made.dir().sync().map_err(|errno| FsError::os(errno, &rel))?;
    Ok(Ok(Transferred {
        from: item.absolute(),
        to: destination.absolute().join(name.as_os()),
        usage: Usage::default(),
        rel,
    }))
}

fn refusal(errno: Errno, destination: &Destination, name: &Component) -> FsError {
    match errno {
        Errno::EXIST => FsError::DestinationExists,
        other => FsError::os(other, destination.rel().join(name)),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::MetadataExt as _;

    use super::*;
    use qm_confined::{Intent, Roots};

    #[test]
    fn links_are_made_and_replace_nothing() {
        let home = tempfile::tempdir().expect("a directory");
        let home = home.path().canonicalize().expect("a path");
        let roots = Roots::open(&[home.to_str().expect("text")]);
        fs::write(home.join("film"), "x").expect("a file");
        let item = || roots.item(&home.join("film"), Intent::Change).expect("the file");
        let into = || roots.directory(&home.join("a/b")).expect("a place");
        let name = |name: &str| Component::file(name).expect("a name");
        let done = link_hard(&item(), &into(), &name("hard")).expect("linked");
        assert_eq!(done.map(|done| done.to), Some(home.join("a/b/hard")));
        let inode = |path: &str| fs::metadata(home.join(path)).expect("there").ino();
        assert_eq!(inode("film"), inode("a/b/hard"));
        let _ = link_soft(&item(), &into(), &name("soft")).expect("linked");
        assert_eq!(
            fs::read_link(home.join("a/b/soft")).expect("a link"),
            home.join("film")
        );
        for taken in ["hard", "soft"] {
            let hard = link_hard(&item(), &into(), &name(taken)).map(drop);
            let soft = link_soft(&item(), &into(), &name(taken)).map(drop);
            assert!(matches!(hard, Err(FsError::DestinationExists)));
            assert!(matches!(soft, Err(FsError::DestinationExists)));
        }
        let long = roots.directory(&home.join("c/d")).expect("a place");
        let refused = link_soft(&item(), &long, &name(&"é".repeat(200))).map(drop);
        assert!(matches!(refused, Err(FsError::NameTooLong(_))), "{refused:?}");
        assert!(!home.join("c").exists(), "the folders went with it");
    }
}
