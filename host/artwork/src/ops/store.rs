//! Files of the store, in a hidden folder of the first root. A file is written under a temporary name and renamed into place.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::Path;

use qm_confined::{Component, FsError, Intent, Meta, Roots, TEMP_PREFIX};

use crate::model::picture::MAX_FILE;

/// Folder of the store in the first root.
const FOLDER: &str = ".quartermaster/media-artwork";

/// Path of a file in the store: `directory` is its owner's. None without a root.
pub fn path_in_store(roots: &Roots, directory: &str, name: &str) -> Option<String> {
    let root = roots.paths().into_iter().next()?;
    Some(format!(
        "{}/{FOLDER}/{directory}/{name}",
        root.trim_end_matches('/')
    ))
}

/// Writes a new file of the store.
pub fn write(roots: &Roots, path: &str, bytes: &[u8]) -> Result<(), FsError> {
    let (directory, name, temporary) = parts(path)?;
    let created = roots.directory(directory)?.create()?;
    let dir = created.dir();
    let os = |errno| FsError::os(errno, path);
    let io = |error| FsError::io(error, path);
    // One that a killed server left.
    let _ = dir.remove_file(&temporary);
    let mut file = dir.create_file(&temporary).map_err(os)?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all()).map_err(io);
    let put = written.and_then(|()| match dir.find(&name).map_err(os)? {
        Some(_) => Err(FsError::Exists),
        None => dir.rename(&temporary, dir, &name).map_err(os),
    });
    if put.is_err() {
        let _ = dir.remove_file(&temporary);
    }
    put?;
    dir.sync().map_err(os)
}

/// Removes a file of the store, and its directory if nothing else is there. A file that is gone is none.
pub fn remove(roots: &Roots, path: &str) -> Result<(), FsError> {
    let (directory, name, temporary) = parts(path)?;
    let item = match roots.item(directory, Intent::Change) {
        Ok(item) => item,
        Err(FsError::NotFound(_)) => return Ok(()),
        Err(other) => return Err(other),
    };
    let dir = item.open_dir()?;
    for name in [&temporary, &name] {
        if dir
            .find(name)
            .map_err(|errno| FsError::os(errno, path))?
            .is_some()
        {
            dir.remove_file(name).map_err(|errno| FsError::os(errno, path))?;
        }
    }
    // It fails while there are other files.
    let _ = item.parent.remove_dir(item.entry()?);
    Ok(())
}

/// Directory of a path, its name, and the name while it is written.
fn parts(path: &str) -> Result<(&Path, Component, Component), FsError> {
    let whole = Path::new(path);
    let (Some(directory), Some(name)) = (whole.parent(), whole.file_name()) else {
        return Err(FsError::InvalidPath);
    };
    let name = Component::new(name).ok_or(FsError::InvalidPath)?;
    let temporary = Component::trusted(format!("{TEMP_PREFIX}{}", name.text()));
    Ok((directory, name, temporary))
}

/// Opens the file of a picture.
pub fn open(roots: &Roots, path: &Path) -> Result<(File, Meta), FsError> {
    roots.item(path, Intent::Read)?.open_file()
}

/// Reads a file that has at most [`MAX_FILE`] bytes; `None` for a larger one.
pub fn read(file: File, path: &Path) -> Result<Option<Vec<u8>>, FsError> {
    let mut bytes = Vec::new();
    let read = file.take(MAX_FILE + 1).read_to_end(&mut bytes);
    read.map_err(|error| FsError::io(error, path.display()))?;
    Ok((bytes.len() as u64 <= MAX_FILE).then_some(bytes))
}
