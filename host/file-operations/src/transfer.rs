//! Move and copy.
//!
//! A move is one rename. Where that cannot be (another file system), the item is copied under a temporary name beside its
//! new place, synced, compared with its source and renamed into place; only then is the source removed. At every moment the
//! item is whole at its old place or at its new one.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::fsync;
use rustix::io::Errno;

use super::compare::{Comparer, compare_item};
use super::copy::{Copier, Fitting, Manner, copy_file, copy_item, replace_item};
use super::erase::vanish;
use super::notes::Noted;
use super::place::{Over, Replaced, rename_over};
use super::temp::Temp;
use super::tree::{At, walk};
use super::{Control, Usage, measure};
use qm_confined::{Component, ConfinedPath, Destination, Dir, FsError, Kind, Meta, Place, RelPath};

#[derive(Clone, Debug, Default)]
pub struct Transfer {
    /// Replaces an entry at the new place. Move: the old entry is removed for good. Copy: folders are merged, file by file.
    pub overwrite: bool,
    /// Compare a BLAKE3 hash of both sides of every copied file before the copy is put into place.
    pub verify: bool,
    /// New name of the item; `None` keeps its name.
    pub name: Option<Component>,
}

#[derive(Debug)]
pub struct Transferred {
    /// The item's path now, in the form of the request.
    pub rel: RelPath,
    /// Absolute.
    pub from: PathBuf,
    pub to: PathBuf,
    pub usage: Usage,
}

/// Source of a transfer: an entry in an open directory.
pub(super) struct Source<'a> {
    pub dir: &'a Dir,
    /// The place of that directory.
    pub place: &'a Place,
    pub name: &'a Component,
    /// The path of the entry.
    pub rel: &'a RelPath,
    pub meta: Meta,
}

/// The target of a transfer: a name in an open directory.
pub(super) struct Target<'a> {
    pub dir: &'a Dir,
    /// The place of that directory.
    pub place: &'a Place,
    pub name: &'a Component,
    pub rel: &'a RelPath,
}

impl Source<'_> {
    fn vanish(&self, control: &Control) -> Result<(), FsError> {
        vanish(self.dir, self.place, self.name, self.rel, control)
    }

    /// After it was copied for a move: no more to be stopped.
    pub fn remove_original(&self, control: &Control) -> Result<(), FsError> {
        self.vanish(&control.last_step())
            .map_err(|error| FsError::SourceKept {
                path: self.rel.text(),
                source: Box::new(error),
            })
    }
}

impl Target<'_> {
    fn failed(&self, errno: Errno) -> FsError {
        match errno {
            Errno::EXIST => FsError::DestinationExists,
            other => FsError::os(other, self.rel),
        }
    }
}

/// Moves `item` into `destination`, whose missing directories are created once everything else is checked.
pub fn move_to(
    item: &ConfinedPath,
    destination: &Destination,
    how: &Transfer,
    control: &Control,
) -> Result<Transferred, FsError> {
    transfer(item, destination, how, control, |source, target, there| {
        relocate(source, target, there, how.verify, control)
    })
}

/// Copies `item` into `destination`: links as links, times and permissions kept, holes kept where the file system tells.
pub fn copy(
    item: &ConfinedPath,
    destination: &Destination,
    how: &Transfer,
    control: &Control,
) -> Result<Transferred, FsError> {
    transfer(item, destination, how, control, |source, target, there| {
        duplicate(source, target, there, how.verify, control)
    })
}

fn transfer(
    item: &ConfinedPath,
    destination: &Destination,
    how: &Transfer,
    control: &Control,
    act: impl FnOnce(&Source<'_>, &Target<'_>, Option<&Meta>) -> Result<(), FsError>,
) -> Result<Transferred, FsError> {
    let own_name = item.entry()?;
    let name = how.name.as_ref().unwrap_or(own_name);
    let meta = item.meta()?;
    let rel = destination.rel().join(name);
    let done = Transferred {
        from: item.absolute(),
        to: destination.absolute().join(name.as_os()),
        usage: Usage::default(),
        rel,
    };
    let there = check(&meta, destination, name, how, &done)?;
    let usage = measure(item, control)?;
    control.expect(usage.items + 1, usage.bytes);
    control.check()?;
    let created = destination.create()?;
    let source = Source {
        dir: &item.parent,
        place: &item.place(),
        name: own_name,
        rel: item.rel(),
        meta,
    };
    let target = Target {
        dir: created.dir(),
        place: &destination.place(),
        name,
        rel: &done.rel,
    };
    if let Err(error) = act(&source, &target, there.as_ref()) {
        created.undo();
        return Err(error);
    }
    Ok(Transferred { usage, ..done })
}

/// Refuses a transfer that would lose data, before anything is touched. Returns the entry at the new place.
pub(super) fn check(
    meta: &Meta,
    destination: &Destination,
    name: &Component,
    how: &Transfer,
    paths: &Transferred,
) -> Result<Option<Meta>, FsError> {
    let is_below = |lower: &Path, upper: &Path| lower.starts_with(upper);
    if meta.is_dir()
        && (is_below(&destination.absolute(), &paths.from) || destination.lineage()?.contains(&meta.identity))
    {
        return Err(FsError::IntoItself);
    }
    if !destination.exists() {
        return Ok(None);
    }
    let there = destination
        .existing()
        .find(name)
        .map_err(|e| FsError::os(e, &paths.rel))?;
    let Some(there) = there else { return Ok(None) };
    if !how.overwrite {
        return Err(FsError::DestinationExists);
    }
    if paths.from == paths.to || (meta.is_dir() && there.identity == meta.identity) {
        return Err(FsError::IntoItself);
    }
    if is_below(&paths.from, &paths.to) {
        return Err(FsError::ContainsSource);
    }
    destination.refuse_protected(&paths.to, &there, &paths.rel)?;
    Ok(Some(there))
}

/// Moves the source, over the entry `there` if one is.
pub(super) fn relocate(
    source: &Source<'_>,
    target: &Target<'_>,
    there: Option<&Meta>,
    verify: bool,
    control: &Control,
) -> Result<(), FsError> {
    if there.is_some_and(|there| there.identity == source.meta.identity) {
        // Two names of one file: renaming one over the other is a no-op for the system.
        return source.vanish(control);
    }
    let involves_directory = |there: &Meta| there.is_dir() || source.meta.is_dir();
    let noted = match there {
        Some(there) if involves_directory(there) => Some(control.note(target.place, false)?),
        _ => None,
    };
    let over = match (there, &noted) {
        (None, _) => Over::Nothing,
        (Some(_), None) => Over::File,
        (Some(_), Some(noted)) => Over::Directory(noted),
    };
    match rename_over(source.dir, source.name, target.dir, target.name, over) {
        Ok(Replaced::Swapped) => source.vanish(control)?,
        Ok(Replaced::Gone | Replaced::Aside(_)) => control.item_done(),
        Err(Errno::XDEV) => return relocate_by_copy(source, target, there, verify, control),
        // It could only be the source that is missing: the destination is an open handle.
        Err(Errno::NOENT) => return Err(FsError::NotFound(source.rel.text())),
        Err(errno) => return Err(target.failed(errno)),
    }
    source.dir.sync().map_err(|e| FsError::os(e, source.rel))?;
    target.dir.sync().map_err(|e| target.failed(e))
}

fn relocate_by_copy(
    source: &Source<'_>,
    target: &Target<'_>,
    there: Option<&Meta>,
    verify: bool,
    control: &Control,
) -> Result<(), FsError> {
    let manner = Manner {
        merge: false,
        moving: true,
    };
    prepare(source, target, manner, verify, control)?.put(target, there, control)?;
    source.remove_original(control)
}

/// A copy under a temporary name beside its place, ready to be renamed into it.
pub(super) struct Prepared {
    temp: Temp,
    /// The directory it lies in, and its name there.
    from: Dir,
    name: Component,
    kind: Kind,
    noted: Arc<Noted>,
}

impl Prepared {
    pub fn put(self, target: &Target<'_>, there: Option<&Meta>, control: &Control) -> Result<(), FsError> {
        let failed = |errno| target.failed(errno);
        let over = match there {
            None => Over::Nothing,
            Some(there) if there.is_dir() || self.kind == Kind::Directory => Over::Directory(&self.noted),
            Some(_) => Over::File,
        };
        control.check()?;
        match rename_over(&self.from, &self.name, target.dir, target.name, over).map_err(failed)? {
            // What was replaced lies under the temporary name now, or in the temporary directory, and goes with it.
            Replaced::Swapped => drop(self.temp),
            Replaced::Gone | Replaced::Aside(_) if self.kind == Kind::Link => drop(self.temp),
            Replaced::Gone | Replaced::Aside(_) => self.temp.published(),
        }
        control.item_done();
        target.dir.sync().map_err(failed)
    }
}

/// Copies under a temporary name and compares.
pub(super) fn prepare(
    source: &Source<'_>,
    target: &Target<'_>,
    manner: Manner,
    verify: bool,
    control: &Control,
) -> Result<Prepared, FsError> {
    let failed = |errno| target.failed(errno);
    if source.meta.kind == Kind::Special {
        return Err(FsError::Special(source.rel.text()));
    }
    // Found out before hours of copying rather than after.
    if manner.moving && !source.dir.access().1 {
        return Err(FsError::Denied(source.rel.text()));
    }
    let above = source.rel.parent().unwrap_or_default();
    let at = At {
        dir: source.dir,
        rel: &above,
        name: source.name,
    };
    let noted = control.note(target.place, false)?;
    let (temp, from, name) = match source.meta.kind {
        Kind::Directory => {
            let (temp, made) = Temp::directory(target.dir, &noted).map_err(failed)?;
            copy_tree(&at, source, &made, manner, verify, &noted, control)?;
            let name = temp.name().clone();
            (temp, target.dir.try_clone().map_err(failed)?, name)
        }
        Kind::File => {
            let (temp, file) = Temp::file(target.dir, &noted).map_err(failed)?;
            copy_file(&at, &file, manner, control)?;
            fsync(&file).map_err(failed)?;
            compare_item(&at, target.dir, temp.name(), verify, control)?;
            let name = temp.name().clone();
            (temp, target.dir.try_clone().map_err(failed)?, name)
        }
        Kind::Link | Kind::Special => {
            let (temp, aside) = Temp::directory(target.dir, &noted).map_err(failed)?;
            copy_item(&at, source.meta.kind, &aside, target.name, manner, control)?;
            (temp, aside, target.name.clone())
        }
    };
    control.check()?;
    Ok(Prepared {
        temp,
        from,
        name,
        kind: source.meta.kind,
        noted,
    })
}

fn copy_tree(
    at: &At<'_>,
    source: &Source<'_>,
    to: &Dir,
    manner: Manner,
    verify: bool,
    noted: &Arc<Noted>,
    control: &Control,
) -> Result<(), FsError> {
    let failed = |errno| at.failed(errno);
    let open = || at.dir.child(at.name).map_err(failed);
    let again = || to.try_clone().map_err(failed);
    if manner.merge {
        let mut fitting = Fitting::new(again()?).map_err(failed)?;
        walk(open()?, source.rel, &mut fitting, control)?;
    }
    let mut copier = Copier::new(again()?, manner, noted, control).map_err(failed)?;
    walk(open()?, source.rel, &mut copier, control)?;
    let top = (!manner.merge).then(open).transpose()?;
    copier
        .finish(top.as_ref().map(|dir| (dir, &source.meta)))
        .map_err(failed)?;
    if manner.moving || verify {
        let mut comparer = Comparer::new(again()?, verify, control).map_err(failed)?;
        walk(open()?, source.rel, &mut comparer, control)?;
    }
    Ok(())
}

/// Copies the source, into the entry `there` if one is.
fn duplicate(
    source: &Source<'_>,
    target: &Target<'_>,
    there: Option<&Meta>,
    verify: bool,
    control: &Control,
) -> Result<(), FsError> {
    let failed = |errno| target.failed(errno);
    let manner = |merge| Manner { merge, moving: false };
    if source.meta.kind == Kind::Special {
        return Err(FsError::Special(source.rel.text()));
    }
    let above = source.rel.parent().unwrap_or_default();
    let at = At {
        dir: source.dir,
        rel: &above,
        name: source.name,
    };
    let is_dir = source.meta.is_dir();
    match there {
        None => prepare(source, target, manner(false), verify, control)?.put(target, None, control),
        Some(there) if there.is_dir() != is_dir => Err(FsError::MixedKinds(target.rel.text())),
        Some(_) if is_dir => {
            let into = target.dir.child(target.name).map_err(failed)?;
            // Files are replaced one by one, each by a temporary beside it.
            let noted = control.note(&target.place.below(target.name), true)?;
            copy_tree(&at, source, &into, manner(true), verify, &noted, control)?;
            control.item_done();
            Ok(())
        }
        // A copy over another name of the same file has nothing to do.
        Some(there) if there.identity == source.meta.identity => Ok(()),
        Some(_) => {
            let noted = control.note(target.place, false)?;
            let over = (target.dir, target.name);
            replace_item(&at, source.meta.kind, over, manner(false), &noted, control)?;
            control.item_done();
            target.dir.sync().map_err(failed)
        }
    }
}
