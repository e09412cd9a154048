//! Files that are to be named: found below the roots, through handles that follow no link.

use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use qm_confined::{BaseError, Component, ConfinedPath, FsError, Intent, Kind, Meta, RelPath, Roots};
use qm_file_operations::{Control, Visit, visit};
use qm_media_names::name::is_video;
use qm_rename_plan::Source;

use crate::error::RenameError;
use crate::model::MAX_FILES;
use crate::model::run::{Fact, Known, KnownFiles};

/// Most files that travel with one video.
const MAX_COMPANIONS: usize = 200;

/// Files of a source, with the real directory of their library.
pub(super) struct Found {
    pub library: String,
    pub sources: Vec<Source>,
    /// The same files as they are on the disk.
    pub known: KnownFiles,
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
    let (mut sources, mut known) = (Vec::new(), KnownFiles::new());
    let mut add = |path: &Path, meta: &Meta| {
        if sources.len() >= MAX_FILES {
            return false;
        }
        let source = source(path, &absolute, &library, meta.size);
        let file = Known {
            path: path.to_owned(),
            fact: Fact::from_meta(meta),
        };
        known
            .entry(source.path.clone())
            .and_modify(|other| {
                if other.as_ref() != Some(&file) {
                    *other = None;
                }
            })
            .or_insert(Some(file.clone()));
        sources.push(source);
        true
    };
    if !meta.is_dir() {
        if meta.kind != Kind::File {
            return Err(FsError::Special(path.to_owned()).into());
        }
        add(&absolute, &meta);
        for (path, meta) in find_companions(roots, &absolute, control)? {
            add(&path, &meta);
        }
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
                    && !add(&path, &meta)
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
        known,
        name,
    })
}

/// Files beside a video that travel with it: their names are its name with more behind it, and they are no videos.
fn find_companions(
    roots: &Roots,
    video: &Path,
    control: &Control,
) -> Result<Vec<(PathBuf, Meta)>, RenameError> {
    let mut found = Vec::new();
    let (Some(above), Some(stem)) = (video.parent(), video.file_stem()) else {
        return Ok(found);
    };
    let own = video.file_name().unwrap_or_default();
    if !is_video(own.as_bytes()) {
        return Ok(found);
    }
    let folder = match roots.item(above, Intent::Read) {
        Ok(folder) => folder,
        // The video itself is a root's only visible entry.
        Err(FsError::Outside | FsError::Denied(_)) => return Ok(found),
        Err(error) => return Err(error.into()),
    };
    visit(&folder, control, &mut |visited| {
        if let Visit::Enter(_) = visited {
            return Ok(ControlFlow::Break(()));
        }
        if let Visit::Item(item) = visited
            && item.kind == Kind::File
            && found.len() < MAX_COMPANIONS
        {
            let name = item.name().as_bytes();
            let rest = name.strip_prefix(stem.as_bytes());
            let is_more = rest.is_some_and(|rest| matches!(rest.first(), Some(b'.' | b'-')));
            if is_more
                && name != own.as_bytes()
                && !is_video(name)
                && let Ok(meta) = item.meta()
            {
                found.push((above.join(item.name().as_os()), meta));
            }
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(found)
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

/// Real path of a directory in the roots; as it is written, where it is in none.
fn real_directory(roots: &Roots, path: &str) -> String {
    let real = roots.directory(Path::new(path)).ok();
    let shown = real.and_then(|real| real.absolute().to_str().map(str::to_owned));
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
