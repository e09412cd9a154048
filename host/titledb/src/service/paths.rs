//! Check of directories that callers name: inside a storage root or the service's own directory, after links
//! are resolved.
//!
//! A checked path has no links; later work uses the handles of [`crate::ops::open`], which do not follow
//! links created meanwhile.

use std::path::{Component, Path, PathBuf};

use super::Titledb;
use crate::error::TitledbError;
use crate::lanes::LOOKS;

/// Default directory of the files, within the data directory.
const OWN: &str = "titledb-datasets";

impl Titledb {
    /// The default directory, with links resolved.
    pub async fn own_directory(&self) -> Result<PathBuf, TitledbError> {
        let (own, roots) = (self.data_dir.join(OWN), self.file_roots.clone());
        LOOKS
            .run(move |_| resolve(&own).ok_or_else(|| outside(&roots)))
            .await?
    }

    /// The directory at `path`, with links resolved as far as it exists. A hanging disk delays only this
    /// lane.
    pub async fn guarded(&self, path: &str) -> Result<PathBuf, TitledbError> {
        let (path, roots, own) = (path.to_owned(), self.file_roots.clone(), self.data_dir.join(OWN));
        LOOKS.run(move |_| guarded(&path, &roots, &own)).await?
    }
}

fn outside(roots: &[PathBuf]) -> TitledbError {
    let roots: Vec<String> = roots.iter().map(|root| root.display().to_string()).collect();
    TitledbError::Outside(roots.join(", "))
}

fn guarded(path: &str, roots: &[PathBuf], own: &Path) -> Result<PathBuf, TitledbError> {
    let path = path.trim();
    if path.is_empty() {
        return Err(TitledbError::NoPath);
    }
    let named = Path::new(path);
    let is_plain = named.is_absolute()
        && !path.contains('\0')
        && named
            .components()
            .all(|part| !matches!(part, Component::ParentDir));
    if !is_plain {
        return Err(outside(roots));
    }
    let Some(resolved) = resolve(named) else {
        return Err(outside(roots));
    };
    let mut allowed = roots.iter().map(PathBuf::as_path).chain([own]);
    if allowed.any(|root| resolve(root).is_some_and(|root| resolved.starts_with(root))) {
        return Ok(resolved);
    }
    if qm_confined::is_system(&resolved) {
        return Err(TitledbError::Protected);
    }
    Err(outside(roots))
}

/// Resolves the links of the existing part of a path; `None` for a loop of links, or a path through a file.
fn resolve(path: &Path) -> Option<PathBuf> {
    qm_confined::resolve(path).ok()
}
