//! A walk over a tree, for those who look for something in it.

use std::ops::ControlFlow;

use super::Control;
use crate::confined::{Component, ConfinedPath, FsError, Meta, RelPath};

/// What the walk came by.
pub enum Visit<'a> {
    /// A directory, before its contents. `Break`: leave it out.
    Enter(&'a Found<'a>),
    /// Anything else.
    Item(&'a Found<'a>),
    /// A directory, after its contents.
    Leave(&'a RelPath),
}

/// An entry of the tree.
pub struct Found<'a> {
    /// Below the same root as the path the walk began at.
    pub rel: &'a RelPath,
    pub name: &'a Component,
    pub meta: Meta,
}

/// Walks everything below `dir`, files of a directory before its directories, both in no promised order. Links are not
/// followed, hidden names and directories that cannot be read are left out.
pub fn visit(
    dir: &ConfinedPath,
    control: &Control,
    seen: &mut dyn FnMut(Visit<'_>) -> Result<ControlFlow<()>, FsError>,
) -> Result<(), FsError> {
    let _ = (dir, control, seen);
    Err(FsError::Busy)
}
