//! Listing a directory: sorted, one stat an entry shown.

use qm_kernel::Timestamp;

use crate::confined::{Base, Component, ConfinedPath, FsError, Kind};

/// Which part of the sorted listing. `limit` none: all of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Page {
    pub offset: usize,
    pub limit: Option<usize>,
}

#[derive(Debug)]
pub struct Listing {
    /// Entries of the directory, hidden ones not counted.
    pub total: usize,
    pub items: Vec<Entry>,
}

#[derive(Debug)]
pub struct Entry {
    pub name: Component,
    /// The entry's own: a link is a link.
    pub kind: Kind,
    /// Of a directory: of its own inode. Of a link: of its target, 0 when that is missing or outside.
    pub size: u64,
    /// None when a link's target is missing or outside.
    pub modified: Option<Timestamp>,
}

/// Directories first, then by name as people sort. `base` is where links of the directory are resolved.
pub fn list(base: &Base, dir: &ConfinedPath, page: Page) -> Result<Listing, FsError> {
    let _ = (base, dir, page);
    Err(FsError::Busy)
}
