//! Identities of places: the directory that a path really leads into, so that two spellings of one place (a link on the way, a
//! second mount) are found to be one. Nothing is opened, and what is outside the roots is not looked at.

use std::collections::HashMap;
use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use qm_ports::carry::{DirectoryId, Sighting};

use qm_confined::Roots;

/// Directory: its real path, and the identities of it and those above it, nearest first.
type Known = Option<(PathBuf, Arc<[DirectoryId]>)>;

/// One answer a path, which is absolute; none for what is outside the roots, or lies in a directory that is not there.
pub fn sight(roots: &Roots, paths: &[String]) -> Vec<Option<Sighting>> {
    let configured: Vec<PathBuf> = roots.paths().into_iter().map(PathBuf::from).collect();
    let aliases = roots.aliases().into_iter().map(|(alias, _)| alias);
    let within: Vec<PathBuf> = configured.into_iter().chain(aliases).collect();
    let mut known = HashMap::new();
    let seen = paths.iter().map(|path| {
        let path = Path::new(path);
        let is_within = within.iter().any(|root| path.starts_with(root));
        is_within.then(|| sight_path(path, &mut known)).flatten()
    });
    seen.collect()
}

fn id(meta: &Metadata) -> DirectoryId {
    (meta.dev(), meta.ino())
}

fn sight_path(path: &Path, known: &mut HashMap<PathBuf, Known>) -> Option<Sighting> {
    let (above, name) = (path.parent()?, path.file_name()?);
    let (real, chain) = directory(above, known)?;
    let place = real.join(name);
    let meta = std::fs::symlink_metadata(&place).ok();
    if meta.as_ref().is_some_and(Metadata::is_symlink)
        && let Ok(target) = place.canonicalize()
        && let (Some(above), Some(name)) = (target.parent(), target.file_name())
    {
        let (_, chain) = directory(above, known)?;
        let own = std::fs::metadata(&target).ok().filter(Metadata::is_dir);
        return Some(Sighting {
            above: chain,
            name: name.as_bytes().to_vec(),
            own: own.as_ref().map(id),
        });
    }
    Some(Sighting {
        above: chain,
        name: name.as_bytes().to_vec(),
        own: meta.filter(Metadata::is_dir).as_ref().map(id),
    })
}

fn directory(path: &Path, known: &mut HashMap<PathBuf, Known>) -> Known {
    if let Some(found) = known.get(path) {
        return found.clone();
    }
    let found = path.canonicalize().ok().and_then(|real| {
        let ids = real.ancestors().map(std::fs::metadata);
        let chain: Vec<DirectoryId> = ids.collect::<Result<Vec<_>, _>>().ok()?.iter().map(id).collect();
        Some((real, Arc::from(chain)))
    });
    known.insert(path.to_owned(), found.clone());
    found
}
