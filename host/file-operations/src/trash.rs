//! The trash of each root: a hidden directory in it, one entry an item.
//!
//! Commit the record first, then trash the item, and drop the record again should that fail: after a crash a record without
//! payload is an item still at its old place, and no payload is without a record.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;

use rustix::fs::Mode;
use rustix::io::Errno;

use super::erase::vanish;
use super::measure::measure_entry;
use super::transfer::{Source, Target, relocate};
use super::tree::each;
use super::{Control, Transferred, Usage, measure};
use qm_confined::{
    Component, ConfinedPath, Dir, FsError, MAX_NAME_BYTES, Meta, RelPath, Roots, TRASH_DIR, TrashedItem,
};

/// Place that an item will have in the trash: the fields of its record. A name that is not UTF-8 is whole in
/// [`original`](Self::original) alone: keep its [`encoded`](RelPath::encoded) form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrashPlace {
    /// Canonical path of the root that holds the item and its trash.
    pub storage_root: String,
    /// Absolute: `<storage root>/.quartermaster-trash/<id>__<name>`, the name shortened to fit.
    pub trash_path: String,
    /// Below the storage root.
    pub original: RelPath,
    entry: Component,
}

impl TrashPlace {
    /// `id` is the record's, a UUID.
    pub fn for_item(item: &ConfinedPath, id: &str) -> Result<Self, FsError> {
        let storage_root = item
            .storage_root()
            .to_str()
            .ok_or(FsError::InvalidPath)?
            .to_owned();
        let mut entry = format!("{id}__{}", item.entry()?.text());
        while entry.len() > MAX_NAME_BYTES {
            entry.pop();
        }
        let entry = Component::new(entry.as_ref()).ok_or(FsError::InvalidPath)?;
        Ok(Self {
            trash_path: format!(
                "{}/{TRASH_DIR}/{}",
                storage_root.trim_end_matches('/'),
                entry.text()
            ),
            storage_root,
            original: item.within_root(),
            entry,
        })
    }
}

/// Moves the item to its place in the trash. Returns its size and counts.
pub fn trash(item: &ConfinedPath, place: &TrashPlace, control: &Control) -> Result<Usage, FsError> {
    let name = item.entry()?;
    let meta = item.meta()?;
    let usage = measure(item, control)?;
    control.expect(usage.items + 1, usage.bytes);
    control.check()?;
    let source = Source {
        dir: &item.parent,
        place: &item.place(),
        name,
        rel: item.rel(),
        meta,
    };
    let target = Target {
        dir: &trash_of(item, place)?,
        place: &item.trash_place(),
        name: &place.entry,
        rel: item.rel(),
    };
    relocate(&source, &target, None, false, control)?;
    Ok(usage)
}

/// The trash directory of the item's root, created on demand; anything else under its name is refused, a link first.
fn trash_of(item: &ConfinedPath, place: &TrashPlace) -> Result<Dir, FsError> {
    let failed = |errno| FsError::os(errno, &place.storage_root);
    let root = item.open_root()?;
    let name = Component::trusted(TRASH_DIR.to_owned());
    match root.create_dir(&name, Mode::RWXU) {
        Ok(()) => root.sync().map_err(failed)?,
        Err(Errno::EXIST) => {}
        Err(other) => return Err(failed(other)),
    }
    root.child(&name).map_err(|errno| match errno {
        Errno::NOTDIR | Errno::LOOP => FsError::TrashUnusable(place.storage_root.clone()),
        other => failed(other),
    })
}

/// Moves an item back to `original` below its storage root; missing directories above are created. Something there:
/// [`FsError::DestinationExists`], or with `overwrite` removed for good. `rel` of the answer is below the storage root.
pub fn untrash(
    item: &TrashedItem,
    original: &RelPath,
    overwrite: bool,
    control: &Control,
) -> Result<Transferred, FsError> {
    let name = original
        .name()
        .ok_or_else(|| FsError::Protected(original.text()))?;
    let destination = item.base.destination(&original.parent().unwrap_or_default())?;
    let failed = |errno| FsError::os(errno, original);
    let meta = Meta::from_stat(&item.trash.stat(&item.name).map_err(failed)?);
    if name.is_hidden() {
        return Err(FsError::Protected(original.text()));
    }
    let there = if destination.exists() {
        destination.existing().find(name).map_err(failed)?
    } else {
        None
    };
    let to = destination.absolute().join(name.as_os());
    if let Some(there) = &there {
        if !overwrite {
            return Err(FsError::DestinationExists);
        }
        destination.refuse_protected(&to, there, original)?;
    }
    let usage = measure_entry(&item.trash, &item.name, original, control)?;
    control.expect(usage.items + 1, usage.bytes);
    control.check()?;
    let created = destination.create()?;
    let source = Source {
        dir: &item.trash,
        place: &item.place(),
        name: &item.name,
        rel: original,
        meta,
    };
    let target = Target {
        dir: created.dir(),
        place: &destination.place(),
        name,
        rel: original,
    };
    if let Err(error) = relocate(&source, &target, there.as_ref(), false, control) {
        created.undo();
        return Err(error);
    }
    Ok(Transferred {
        rel: original.clone(),
        from: item.absolute(),
        to,
        usage,
    })
}

/// Removes an item from the trash for good. One that is gone already is [`FsError::NotFound`].
pub fn purge(item: &TrashedItem, control: &Control) -> Result<(), FsError> {
    vanish(
        &item.trash,
        &item.place(),
        &item.name,
        &RelPath::root().join(&item.name),
        control,
    )
}

/// Entries of the trash directories of the hard roots and of `others`, as (storage root, trash path). The caller finds among
/// them those without a record. Names that are not UTF-8 are skipped: the server never makes such names.
pub fn stray(roots: &Roots, others: &BTreeSet<String>) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (root, dir) in roots.handles(others) {
        let Ok(trash) = dir.child(&Component::trusted(TRASH_DIR.to_owned())) else {
            continue;
        };
        let _ = each(&trash, |name, _| {
            if let Ok(text) = std::str::from_utf8(name.as_os().as_bytes()) {
                found.push((
                    root.clone(),
                    format!("{}/{TRASH_DIR}/{text}", root.trim_end_matches('/')),
                ));
            }
            Ok(())
        });
    }
    found
}
