//! Changes within one directory: create, rename, remove.

use std::path::PathBuf;

use super::{Control, Usage};
use crate::confined::{Component, ConfinedPath, FsError, RelPath};

/// A rename that happened. Equal paths when the name was the same already.
#[derive(Debug)]
pub struct Renamed {
    pub rel: RelPath,
    /// Absolute.
    pub from: PathBuf,
    pub to: PathBuf,
}

/// Creates one folder in `parent` and answers its path. There already: [`FsError::Exists`].
pub fn create_dir(parent: &ConfinedPath, name: &Component) -> Result<RelPath, FsError> {
    let _ = (parent, name);
    Err(FsError::Busy)
}

/// Renames within the directory. With `overwrite` a file replaces a file in one step, and a folder an empty folder.
pub fn rename(item: &ConfinedPath, name: &Component, overwrite: bool) -> Result<Renamed, FsError> {
    let _ = (item, name, overwrite);
    Err(FsError::Busy)
}

/// Removes for good, at any depth. The item vanishes in one step; should something in it refuse to go, what is left is
/// back at its place and the error says why. Once begun it is not cancelled half way.
pub fn remove(item: &ConfinedPath, control: &Control) -> Result<Usage, FsError> {
    let _ = (item, control);
    Err(FsError::Busy)
}
