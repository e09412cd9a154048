//! Files that are to be named: found below the roots, through handles that follow no link.

use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use qm_confined::{BaseError, Component, ConfinedPath, FsError, Intent, Kind, RelPath, Roots};
use qm_file_operations::{Control, Visit, visit};
use qm_rename_plan::Source;

use crate::error::RenameError;
use crate::model::MAX_FILES;

/// Files of a source, with the real directory of their library.
pub(super) struct Found {
    pub library: String,
    pub sources: Vec<Source>,
    /// Name of the file or folder.
    pub name: String,
}

/// Finds the files at an absolute path. Blocks.
pub(super) fn find_files(
    roots: &Roots,
    path: &str,
    library: &str,
    control: &Control,
) -> Result<Found, RenameError> {
    let library = real_directory(roots, library);
    let item = locate(roots, path)?;
    let absolute = item.absolute();
    let name = absolute
        .file_name()
        .unwrap_or(OsStr::new(""))
        .to_string_lossy()
        .into_owned();
    let meta = item.meta()?;
    let mut sources = Vec::new();
    let mut add = |path: &Path, size: u64| {
        if sources.len() >= MAX_FILES {
            return false;
        }
        sources.push(source(path, &absolute, &library, size));
        true
    };
    if !meta.is_dir() {
        if meta.kind != Kind::File {
            return Err(FsError::Special(path.to_owned()).into());
        }
        add(&absolute, meta.size);
    } else {
        let (mut is_full, below) = (false, item.rel().components().len());
        visit(&item, control, &mut |visit| {
            if let Visit::Item(found) = visit
                && found.kind == Kind::File
            {
                let rel = found.rel();
                let names = rel.components().iter().skip(below);
                let path = names.fold(absolute.clone(), |path, name| path.join(name.as_os()));
                // A file that vanished meanwhile is none.
                if let Ok(meta) = found.meta()
                    && !add(&path, meta.size)
                {
                    is_full = true;
                    return Err(FsError::Busy);
                }
            }
            Ok(ControlFlow::Continue(()))
        })
        .map_err(|error| {
            if is_full {
                RenameError::TooManyFiles
            } else {
                error.into()
            }
        })?;
    }
    Ok(Found {
        library,
        sources,
        name,
    })
}

/// Source as a plan takes it: it is read by its path below the library, or from the named folder on.
fn source(path: &Path, named: &Path, library: &str, size: u64) -> Source {
    let within = path.strip_prefix(library).ok();
    let beside = named.parent().and_then(|above| path.strip_prefix(above).ok());
    let name = within.or(beside).unwrap_or(path);
    Source {
        path: path.to_string_lossy().into_owned(),
        name: name.to_string_lossy().into_owned(),
        size: Some(size),
    }
}

/// Real path of a directory in the roots; as it is written, where it is not there.
fn real_directory(roots: &Roots, path: &str) -> String {
    let real = roots
        .narrow(path)
        .ok()
        .and_then(|base| base.resolve(&RelPath::root(), Intent::Read).ok());
    let shown = real.map(|real| real.absolute().to_string_lossy().into_owned());
    shown.unwrap_or_else(|| path.trim_end_matches('/').to_owned())
}

/// File or folder at an absolute path in the roots.
fn locate(roots: &Roots, path: &str) -> Result<ConfinedPath, RenameError> {
    let root = RelPath::root();
    match roots.narrow(path) {
        Ok(base) => Ok(base.resolve(&root, Intent::Read)?),
        Err(BaseError::NotADirectory(_)) => {
            let whole = Path::new(path);
            let name = whole.file_name().map(OsStr::as_bytes).unwrap_or_default();
            let name = Component::new(OsStr::from_bytes(name)).ok_or(RenameError::NoSuchPath)?;
            let above = whole.parent().and_then(Path::to_str).unwrap_or("/");
            let base = roots.narrow(above).map_err(refuse_base)?;
            Ok(base.resolve(&root.join(&name), Intent::Read)?)
        }
        Err(error) => Err(refuse_base(error)),
    }
}

fn refuse_base(error: BaseError) -> RenameError {
    match error {
        BaseError::Missing(_) => RenameError::NoSuchPath,
        BaseError::Outside(_) => RenameError::Outside,
        other => RenameError::Base(other),
    }
}
