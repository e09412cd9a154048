//! Replacing across file systems: the copy is made beside its place while what it replaces is still there, and renamed into
//! place once that has stepped aside. The name is missing for a moment, not for as long as the copy takes.

use std::path::Path;

use super::copy::Manner;
use super::transfer::{Prepared, Source, Target, Transfer, Transferred, check, prepare};
use super::{Control, Usage, measure};
use qm_confined::{Component, ConfinedPath, Destination, Dir, FsError, Meta, Place, RelPath};

/// A copy that is ready. Dropped, it is gone, which takes long for a tree.
pub struct Staged {
    item: ConfinedPath,
    meta: Meta,
    moving: bool,
    dir: Dir,
    place: Place,
    name: Component,
    prepared: Prepared,
    done: Transferred,
}

/// True when a move would have to copy, because a rename cannot reach the destination.
pub fn must_copy(item: &ConfinedPath, destination: &Destination) -> Result<bool, FsError> {
    let one = item.parent.is_one_with(destination.existing());
    Ok(!one.map_err(|errno| FsError::os(errno, item.rel()))?)
}

/// Copies `item` into `destination`, which exists, under a temporary name. Nothing of its own name may be there but `old`,
/// the absolute path of what it is to replace.
pub fn stage(
    item: ConfinedPath,
    destination: &Destination,
    old: &Path,
    moving: bool,
    control: &Control,
) -> Result<Staged, FsError> {
    let name = item.entry()?.clone();
    let meta = item.meta()?;
    let mut done = Transferred {
        rel: destination.rel().join(&name),
        from: item.absolute(),
        to: destination.absolute().join(name.as_os()),
        usage: Usage::default(),
    };
    let over = Transfer {
        overwrite: true,
        ..Transfer::default()
    };
    let there = check(&meta, destination, &name, &over, &done)?;
    if there.is_some() && done.to != old {
        return Err(FsError::DestinationExists);
    }
    done.usage = measure(&item, control)?;
    control.expect(done.usage.items + 1, done.usage.bytes);
    let dir = destination.existing().try_clone();
    let dir = dir.map_err(|errno| FsError::os(errno, destination.rel()))?;
    let place = destination.place();
    let source = Source {
        dir: &item.parent,
        place: &item.place(),
        name: &name,
        rel: item.rel(),
        meta,
    };
    let target = Target {
        dir: &dir,
        place: &place,
        name: &name,
        rel: &done.rel,
    };
    let manner = Manner { merge: false, moving };
    let prepared = prepare(&source, &target, manner, false, control)?;
    Ok(Staged {
        item,
        meta,
        moving,
        dir,
        place,
        name,
        prepared,
        done,
    })
}

impl Staged {
    /// The item as it was asked for.
    pub fn item(&self) -> &ConfinedPath {
        &self.item
    }

    /// The directory that it is to be in.
    pub fn directory(&self) -> RelPath {
        self.done.rel.parent().unwrap_or_default()
    }

    /// Renames the copy into place, where nothing may be now; of a move, the original goes.
    pub fn put(self, control: &Control) -> Result<Transferred, FsError> {
        let source = Source {
            dir: &self.item.parent,
            place: &self.item.place(),
            name: &self.name,
            rel: self.item.rel(),
            meta: self.meta,
        };
        let target = Target {
            dir: &self.dir,
            place: &self.place,
            name: &self.name,
            rel: &self.done.rel,
        };
        self.prepared.put(&target, None, control)?;
        if self.moving {
            source.remove_original(control)?;
        }
        Ok(self.done)
    }
}
