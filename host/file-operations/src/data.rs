//! Steps around the move of a torrent's data: a check before it, and the repair of what a crash left.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::Path;

use super::Control;
use super::Usage;
use super::change::remove;
use super::compare::{Comparer, compare_item};
use super::measure::measure;
use super::transfer::{Transfer, Transferred, check};
use super::tree::{At, Failed, Visitor, each, walk};
use qm_confined::{ConfinedPath, Destination, FsError, Intent, Kind, Meta, RelPath, Roots};

/// The character that stands for bytes that are not UTF-8 where a name is told as text.
const UNKNOWN: char = '\u{fffd}';

/// The item at an absolute path, for changing it; `None` when nothing is there. The last name may be told as text: what is
/// called so by its bytes, and nothing else is, counts.
pub fn find_told(roots: &Roots, path: &Path) -> Result<Option<ConfinedPath>, FsError> {
    match roots.item(path, Intent::Change) {
        Ok(item) => return Ok(Some(item)),
        Err(FsError::NotFound(_)) => {}
        Err(other) => return Err(other),
    }
    let (Some(above), Some(told)) = (path.parent(), path.file_name().and_then(OsStr::to_str)) else {
        return Ok(None);
    };
    if !told.contains(UNKNOWN) {
        return Ok(None);
    }
    let directory = match roots.item(above, Intent::Read) {
        Ok(directory) => directory.open_dir()?,
        Err(FsError::NotFound(_)) => return Ok(None),
        Err(other) => return Err(other),
    };
    let mut alike = Vec::new();
    let read = each(&directory, |name, _| {
        if name.as_os().to_str().is_none() && name.text() == told {
            alike.push(name);
        }
        Ok(())
    });
    match read {
        Ok(()) => {}
        Err(Failed::Read(errno)) => return Err(FsError::os(errno, above.display())),
        Err(Failed::Caller(error)) => return Err(error),
    }
    match alike.as_slice() {
        [only] => roots.item(&above.join(only.as_os()), Intent::Change).map(Some),
        _ => Ok(None),
    }
}

/// Checks that `item` could be moved into `destination` now. Changes nothing. Errors are those of the move: `Denied` for a
/// missing right, `NoSpace` when a copy would not fit.
pub fn check_move(item: &ConfinedPath, destination: &Destination, control: &Control) -> Result<(), FsError> {
    let name = item.entry()?;
    let meta = item.meta()?;
    let paths = Transferred {
        rel: destination.rel().join(name),
        from: item.absolute(),
        to: destination.absolute().join(name.as_os()),
        usage: Usage::default(),
    };
    check(&meta, destination, name, &Transfer::default(), &paths)?;
    let denied = |rel: &RelPath| Err(FsError::Denied(rel.text()));
    if !item.parent.access().1 {
        return denied(item.rel());
    }
    if !destination.existing().access().1 {
        return denied(destination.rel());
    }
    // A folder that changes its parent is written to itself.
    if meta.is_dir() && !item.open_dir()?.access().1 {
        return denied(item.rel());
    }
    if !is_one_file_system(&meta, destination)? {
        let needed = measure(item, control)?.bytes;
        if destination.free_bytes()?.is_some_and(|free| free < needed) {
            return Err(FsError::NoSpace(destination.rel().text()));
        }
    }
    Ok(())
}

/// True when item and destination are on one file system, so that a move is a rename.
pub fn is_one_file_system(meta: &Meta, destination: &Destination) -> Result<bool, FsError> {
    let identity = destination.existing().identity();
    let identity = identity.map_err(|errno| FsError::os(errno, destination.rel()))?;
    Ok(identity.device == meta.identity.device)
}

/// The files that have to be there and are not, or not with their size: how many, and one of them. Paths are below the
/// item, which may be their first name; an item that is no folder is the only file, whatever it is called.
pub fn missing(
    item: &ConfinedPath,
    files: impl IntoIterator<Item = (String, u64)>,
    control: &Control,
) -> Result<Option<(usize, String)>, FsError> {
    let mut wanted: HashMap<String, u64> = files
        .into_iter()
        .map(|(path, size)| (format!("/{}", path.trim_start_matches('/')), size))
        .collect();
    let meta = item.meta()?;
    if meta.is_dir() {
        let name = item.entry()?.text();
        let mut sieve = Sieve {
            wanted: &mut wanted,
            name: format!("/{name}"),
        };
        walk(item.open_dir()?, &RelPath::root(), &mut sieve, control)?;
    } else if meta.kind == Kind::File {
        wanted.retain(|_, size| *size != meta.size);
    }
    let one = wanted.keys().min().cloned();
    Ok(one.map(|one| (wanted.len(), one)))
}

/// Takes out of the files that are wanted those that are there.
struct Sieve<'a> {
    wanted: &'a mut HashMap<String, u64>,
    /// Name of the folder, with a slash before it.
    name: String,
}

impl Visitor for Sieve<'_> {
    fn item(&mut self, at: &At<'_>, kind: Kind) -> Result<(), FsError> {
        let path = at.rel.join(at.name).text();
        let below = format!("{}{path}", self.name);
        let Some(path) = [path, below]
            .into_iter()
            .find(|path| self.wanted.contains_key(path))
        else {
            return Ok(());
        };
        if kind == Kind::File && self.wanted.get(&path) == Some(&at.meta()?.size) {
            self.wanted.remove(&path);
        }
        Ok(())
    }

    fn enter(&mut self, _: &At<'_>) -> Result<bool, FsError> {
        Ok(true)
    }

    fn leave(&mut self, _: &At<'_>) -> Result<(), FsError> {
        Ok(())
    }
}

/// Removes `original` after its copy was compared with it byte by byte.
pub fn remove_copied(original: &ConfinedPath, copy: &ConfinedPath, control: &Control) -> Result<(), FsError> {
    let name = original.entry()?;
    let above = original.rel().parent().unwrap_or_default();
    let at = At {
        dir: &original.parent,
        rel: &above,
        name,
    };
    let usage = measure(original, control)?;
    control.expect(0, usage.bytes);
    if original.meta()?.is_dir() {
        let failed = |errno| FsError::os(errno, original.rel());
        let mut comparer = Comparer::new(copy.open_dir()?, true, control).map_err(failed)?;
        walk(original.open_dir()?, original.rel(), &mut comparer, control)?;
    } else {
        compare_item(&at, &copy.parent, copy.entry()?, true, control)?;
    }
    remove(original, control).map(drop)
}
