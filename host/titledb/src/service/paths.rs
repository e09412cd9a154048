//! Directories that callers name: inside a storage root or the service's own, whatever links lead elsewhere.

use std::path::{Component, Path, PathBuf};

use super::Titledb;
use crate::error::TitledbError;
use crate::lanes::LOOKS;

/// Directory of the files in the data directory, unless the settings name another.
const OWN: &str = "titledb-datasets";
const PROTECTED: &[&str] = &[
    "/", "/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/proc", "/root", "/run", "/sbin", "/sys",
    "/usr", "/var",
];

impl Titledb {
    /// Where the files are when nobody said.
    pub fn own_directory(&self) -> PathBuf {
        let own = self.data_dir.join(OWN);
        std::path::absolute(&own).unwrap_or(own)
    }

    /// The directory that `path` names, links resolved as far as it exists. A disk that hangs holds up this alone.
    pub async fn guarded(&self, path: &str) -> Result<PathBuf, TitledbError> {
        let (path, roots, own) = (path.to_owned(), self.file_roots.clone(), self.own_directory());
        LOOKS.run(move |_| guarded(&path, &roots, &own)).await?
    }
}

fn guarded(path: &str, roots: &[PathBuf], own: &Path) -> Result<PathBuf, TitledbError> {
    let path = path.trim();
    if path.is_empty() {
        return Err(TitledbError::NoPath);
    }
    let named = Path::new(path);
    let outside = || {
        let roots: Vec<String> = roots.iter().map(|root| root.display().to_string()).collect();
        TitledbError::Outside(roots.join(", "))
    };
    let is_plain = named.is_absolute()
        && !path.contains('\0')
        && named
            .components()
            .all(|part| !matches!(part, Component::ParentDir));
    if !is_plain {
        return Err(outside());
    }
    let resolved = resolve(named);
    let mut allowed = roots.iter().map(PathBuf::as_path).chain([own]);
    if allowed.any(|root| resolved.starts_with(resolve(root))) {
        return Ok(resolved);
    }
    if PROTECTED.iter().any(|protected| resolved == Path::new(protected)) {
        return Err(TitledbError::Protected);
    }
    Err(outside())
}

/// The path with the links of what exists of it resolved.
fn resolve(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut rest = Vec::new();
    let mut known = path.as_path();
    loop {
        if let Ok(resolved) = known.canonicalize() {
            return rest
                .iter()
                .rev()
                .fold(resolved, |path: PathBuf, part| path.join(part));
        }
        let (Some(parent), Some(name)) = (known.parent(), known.file_name()) else {
            return path;
        };
        rest.push(name.to_owned());
        known = parent;
    }
}
