//! The directory of a library while a run is at work in it.

use std::path::{Path, PathBuf};

use qm_confined::{FsError, Identity, Intent, Roots};

/// Directory of a library, as it was when the run began. One that was unmounted meanwhile is not filled again below.
#[derive(Clone, Debug)]
pub struct LibraryPlace {
    path: PathBuf,
    identity: Identity,
}

impl LibraryPlace {
    /// Looks at the directory, and makes it if it is not there yet.
    pub fn open(roots: &Roots, path: &Path) -> Result<Self, FsError> {
        let directory = roots.directory(path)?;
        if !directory.exists() {
            directory.create()?;
        }
        Ok(Self {
            identity: identity(roots, path)?,
            path: path.to_owned(),
        })
    }

    /// True if it is still the same directory.
    pub fn is_there(&self, roots: &Roots) -> bool {
        identity(roots, &self.path).is_ok_and(|now| now == self.identity)
    }
}

fn identity(roots: &Roots, path: &Path) -> Result<Identity, FsError> {
    let directory = roots.item(path, Intent::Read)?.open_dir()?;
    directory
        .identity()
        .map_err(|errno| FsError::os(errno, path.display()))
}
