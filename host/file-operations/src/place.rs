//! Renaming into place: over nothing, over something, or in exchange.

use std::sync::Arc;

use rustix::fs::{Mode, RenameFlags};
use rustix::io::{Errno, Result};

use super::notes::Noted;
use super::temp::Temp;
use qm_confined::{Component, Dir, Meta};

/// The file system does not know how to rename that way.
fn is_unsupported(errno: Errno) -> bool {
    matches!(errno, Errno::INVAL | Errno::NOSYS | Errno::NOTSUP)
}

/// Renames to a free name; `EEXIST` when an entry has it, even one made at the same moment.
pub(super) fn rename_new(from: &Dir, name: &Component, to: &Dir, new: &Component) -> Result<()> {
    match from.rename_with(name, to, new, RenameFlags::NOREPLACE) {
        Err(errno) if is_unsupported(errno) => rename_over_placeholder(from, name, to, new),
        result => result,
    }
}

/// Substitute for `RENAME_NOREPLACE` on file systems without it: creates an empty entry of that name, then renames over it.
fn rename_over_placeholder(from: &Dir, name: &Component, to: &Dir, new: &Component) -> Result<()> {
    let is_dir = Meta::from_stat(&from.stat(name)?).is_dir();
    if is_dir {
        to.create_dir(new, Mode::RWXU)?;
    } else {
        to.create_file(new)?;
    }
    from.rename(name, to, new).inspect_err(|_| {
        let _ = if is_dir {
            to.remove_dir(new)
        } else {
            to.remove_file(new)
        };
    })
}

/// Entry that a rename may replace at the new place.
#[derive(Clone, Copy)]
pub(super) enum Over<'a> {
    Nothing,
    /// A file or link, replaced by a file or link.
    File,
    /// The old entry, the new one, or both are a directory; the note is of the new place.
    Directory(&'a Arc<Noted>),
}

/// Renames over the entry that is there. If the old entry could not be removed yet, it lies under the returned name.
pub(super) fn rename_over(
    from: &Dir,
    name: &Component,
    to: &Dir,
    new: &Component,
    over: Over<'_>,
) -> Result<Replaced> {
    let noted = match over {
        Over::Nothing => return rename_new(from, name, to, new).map(|()| Replaced::Gone),
        Over::File => return from.rename(name, to, new).map(|()| Replaced::Gone),
        Over::Directory(noted) => noted,
    };
    match from.rename_with(name, to, new, RenameFlags::EXCHANGE) {
        Ok(()) => return Ok(Replaced::Swapped),
        Err(errno) if is_unsupported(errno) => {}
        Err(other) => return Err(other),
    }
    replace_in_two_steps(from, name, to, new, noted)
}

/// Substitute for `RENAME_EXCHANGE` on file systems without it: the old entry is moved aside, and back if the new one fails.
fn replace_in_two_steps(
    from: &Dir,
    name: &Component,
    to: &Dir,
    new: &Component,
    noted: &Arc<Noted>,
) -> Result<Replaced> {
    let old = Temp::discard(to, new, noted)?;
    if let Err(errno) = from.rename(name, to, new) {
        to.rename(old.name(), to, new)?;
        return Err(errno);
    }
    Ok(Replaced::Aside(old.doomed()))
}

/// Place of the replaced entry.
pub(super) enum Replaced {
    Gone,
    /// Under the name the new one came from.
    Swapped,
    /// Under a temporary name, removed when this is dropped.
    Aside(#[expect(dead_code, reason = "held to be dropped")] Temp),
}

#[cfg(test)]
mod tests {
    use super::*;
    use qm_confined::{Place, RelPath};

    fn component(name: &str) -> Component {
        Component::file(name).expect("a name")
    }

    #[test]
    fn without_the_kernels_help_nothing_is_replaced_unasked() {
        let root = tempfile::tempdir().expect("a directory");
        let path = root.path().canonicalize().expect("a path");
        let (dir, _) = Dir::open_at(&path, Arc::default()).expect("a handle");
        let (a, b) = (component("a"), component("b"));
        for kind in ["file", "directory"] {
            let make = |name: &str| match kind {
                "file" => std::fs::write(path.join(name), name).expect("a file"),
                _ => std::fs::create_dir(path.join(name)).expect("a folder"),
            };
            make("a");
            make("b");
            assert_eq!(
                rename_over_placeholder(&dir, &a, &dir, &b),
                Err(Errno::EXIST),
                "{kind}"
            );
            assert!(path.join("a").exists(), "{kind}");
            dir.remove_file(&b).or_else(|_| dir.remove_dir(&b)).expect("room");
            assert_eq!(rename_over_placeholder(&dir, &a, &dir, &b), Ok(()), "{kind}");
            assert!(!path.join("a").exists() && path.join("b").exists(), "{kind}");
            dir.remove_file(&b).or_else(|_| dir.remove_dir(&b)).expect("room");
        }
    }

    #[test]
    fn without_an_exchange_the_old_one_steps_aside_and_goes() {
        let root = tempfile::tempdir().expect("a directory");
        let path = root.path().canonicalize().expect("a path");
        let (dir, _) = Dir::open_at(&path, Arc::default()).expect("a handle");
        std::fs::create_dir_all(path.join("new")).expect("a folder");
        std::fs::create_dir_all(path.join("old/deep")).expect("a folder");
        std::fs::write(path.join("new/file"), "new").expect("a file");
        let place = Place {
            root: String::new(),
            directory: RelPath::root(),
        };
        let noted = Noted::write(None, &place, false).expect("nowhere to write");
        let replaced =
            replace_in_two_steps(&dir, &component("new"), &dir, &component("old"), &noted).expect("replaced");
        assert!(path.join("old/file").exists() && !path.join("old/deep").exists());
        drop(replaced);
        let left: Vec<_> = std::fs::read_dir(&path).expect("a listing").collect();
        assert_eq!(left.len(), 1, "{left:?}");
    }
}
