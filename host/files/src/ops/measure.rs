//! How much lies in a tree, and how much its removal would free.

use super::Control;
use crate::confined::{ConfinedPath, FsError};

/// Sums of a tree. Links are not followed and count as items of no size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Entries below the item; 0 for anything but a directory.
    pub items: u64,
    pub files: u64,
    /// Sizes of its regular files; one with several names inside counts once.
    pub bytes: u64,
    /// What removing it would free: files that have a name outside count nothing.
    pub frees: u64,
    /// Hard links of the item itself; 1 for a directory.
    pub links: u64,
}

pub fn measure(item: &ConfinedPath, control: &Control) -> Result<Usage, FsError> {
    measure_all(std::slice::from_ref(item), control)
}

/// Several items as one: a file with names in two of them counts once, and is freed when all its names lie in them.
/// `items` must not lie in one another.
pub fn measure_all(items: &[ConfinedPath], control: &Control) -> Result<Usage, FsError> {
    let _ = (items, control);
    Err(FsError::Busy)
}
