//! The trash of each root: a hidden directory in it, one entry an item.
//!
//! A record must be committed before its item is trashed, and its payload be there before it is shown: after a crash a
//! record without payload is an item still at its old place.

use super::{Control, Transferred, Usage};
use crate::confined::{Component, ConfinedPath, FsError, RelPath, Roots, TrashedItem};

/// Where an item will lie in the trash: the fields of its record. Text, all of it: a name that is not UTF-8 is kept in
/// [`original`](Self::original), percent-encoded on demand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrashPlace {
    /// Canonical path of the root that holds the item and its trash.
    pub storage_root: String,
    /// Absolute: `<storage root>/.quartermaster-trash/<id>__<name>`, the name shortened to fit.
    pub trash_path: String,
    /// Below the storage root.
    pub original: RelPath,
    pub(crate) entry: Component,
}

impl TrashPlace {
    /// `id` is the record's, a UUID.
    pub fn of(item: &ConfinedPath, id: &str) -> Result<Self, FsError> {
        let _ = (item, id);
        Err(FsError::Busy)
    }
}

/// Moves the item to its place in the trash. Answers what it holds.
pub fn trash(item: &ConfinedPath, place: &TrashPlace, control: &Control) -> Result<Usage, FsError> {
    let _ = (item, place, control);
    Err(FsError::Busy)
}

/// Moves an item back to `original` below its storage root; missing directories above are created. Something there:
/// [`FsError::DestinationExists`], or with `overwrite` removed for good. `rel` of the answer is below the storage root.
pub fn untrash(
    item: &TrashedItem,
    original: &RelPath,
    overwrite: bool,
    control: &Control,
) -> Result<Transferred, FsError> {
    let _ = (item, original, overwrite, control);
    Err(FsError::Busy)
}

/// Removes an item from the trash for good.
pub fn purge(item: &TrashedItem, control: &Control) -> Result<Usage, FsError> {
    let _ = (item, control);
    Err(FsError::Busy)
}

/// Names in the trash directories of the hard roots, as (storage root, trash path): to find what has no record.
pub fn stray(roots: &Roots) -> Vec<(String, String)> {
    let _ = roots;
    Vec::new()
}
