//! A step: the look before it, and the step itself.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use qm_confined::{Component, ConfinedPath, FsError, Identity, Intent, Kind, Roots};
use qm_file_operations::{self as ops, Control, Transfer};
use qm_rename_plan::{Action, MAX_NAME_BYTES};

use super::between;
use crate::model::run::{Fact, Step};

/// Last number of a second file of one name.
const MAX_DOUBLE: u32 = 999;

/// Reason of a step that has nothing to do.
pub const AT_DESTINATION: &str = "it is at the destination already";

/// Result of the look before a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Look {
    Ready {
        destination: Option<PathBuf>,
        /// Folders that are not there yet.
        made: u32,
        /// True if another file has the name that was planned.
        is_double: bool,
    },
    /// The file stays, for this reason.
    Skip(String),
    /// The step cannot be done, for this reason.
    Fail(String),
}

/// Names that other steps of the run take or give up.
#[derive(Debug, Default)]
pub struct Names {
    taken: HashSet<PathBuf>,
    /// Sources that have moved by the time of the next step.
    freed: HashSet<PathBuf>,
}

/// Looks at the source and the destination of a step. Changes nothing.
pub fn look(roots: &Roots, step: &Step, names: &mut Names) -> Look {
    let item = match find_source(roots, step) {
        Ok(item) => item,
        Err(FsError::NotFound(_)) => return Look::Skip("it is not there any more".to_owned()),
        Err(FsError::Changed(_)) => {
            return Look::Skip("it was changed since the plan was made: plan it again".to_owned());
        }
        Err(error) => return Look::Fail(error.to_string()),
    };
    let Some(wanted) = &step.destination else {
        return Look::Ready {
            destination: None,
            made: 0,
            is_double: false,
        };
    };
    match find_name(roots, step, &item, wanted, names) {
        Ok(Some((destination, made))) => {
            names.taken.insert(destination.clone());
            if matches!(step.action, Action::Rename | Action::Move) {
                names.freed.insert(step.source.clone());
            }
            Look::Ready {
                is_double: destination != *wanted,
                destination: Some(destination),
                made,
            }
        }
        Ok(None) => Look::Skip(AT_DESTINATION.to_owned()),
        Err(error) => Look::Fail(error.to_string()),
    }
}

/// The source, if it is as it was planned.
fn find_source(roots: &Roots, step: &Step) -> Result<ConfinedPath, FsError> {
    let item = roots.item(&step.source, Intent::Change)?;
    let meta = item.meta()?;
    if meta.kind != Kind::File || !step.fact.is_same(&Fact::from_meta(&meta)) {
        return Err(FsError::Changed(item.rel().text()));
    }
    Ok(item)
}

/// First free name for a file, and how many folders it needs; none: the file has that name already.
fn find_name(
    roots: &Roots,
    step: &Step,
    item: &ConfinedPath,
    wanted: &Path,
    names: &Names,
) -> Result<Option<(PathBuf, u32)>, FsError> {
    let own = item.meta()?;
    for number in 1..=MAX_DOUBLE {
        let path = numbered(wanted, number);
        if names.taken.contains(&path) {
            continue;
        }
        let (above, name) = parts(&path)?;
        let directory = roots.directory(above)?;
        let there = if directory.exists() {
            // What is hidden has its name all the same.
            directory
                .existing()
                .find(&name)
                .map_err(|errno| FsError::os(errno, path.display()))
        } else {
            Ok(None)
        };
        match there {
            Ok(None) => return Ok(Some((path.clone(), count_missing(roots, above)?))),
            Ok(Some(there)) if there.identity == own.identity => {
                let is_spelling = own.links <= 1 && is_spelling(&step.source, &path);
                return Ok(is_spelling.then_some((path, 0)));
            }
            Ok(Some(_)) if names.freed.contains(&path) => return Ok(Some((path, 0))),
            Ok(Some(_)) | Err(FsError::Exists) => {}
            Err(error) => return Err(error),
        }
    }
    Err(FsError::DestinationExists)
}

/// True if the last names of two paths differ in their spelling alone, as far as a file system may set that aside.
fn is_spelling(one: &Path, other: &Path) -> bool {
    if one.file_name() == other.file_name() {
        return false;
    }
    let folded = |path: &Path| {
        let name = path.file_name().unwrap_or_default();
        name.to_string_lossy().to_lowercase()
    };
    folded(one) == folded(other)
}

/// Path with the number of a second file in its name, which stays as short as names may be.
fn numbered(path: &Path, number: u32) -> PathBuf {
    if number == 1 {
        return path.to_owned();
    }
    let text = |part: Option<&OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
    let (mut stem, ext) = (text(path.file_stem()), text(path.extension()));
    let ending = if ext.is_empty() {
        format!(" [dup{number}]")
    } else {
        format!(" [dup{number}].{ext}")
    };
    let room = MAX_NAME_BYTES.saturating_sub(ending.len());
    stem.truncate(stem.floor_char_boundary(room));
    path.with_file_name(format!("{}{ending}", stem.trim_end()))
}

/// Directory and name of a path.
pub fn parts(path: &Path) -> Result<(&Path, Component), FsError> {
    let name = path.file_name().and_then(Component::new);
    let (Some(above), Some(name)) = (path.parent(), name) else {
        return Err(FsError::InvalidPath);
    };
    Ok((above, name))
}

fn count_missing(roots: &Roots, above: &Path) -> Result<u32, FsError> {
    let (mut path, mut missing) = (above, 0);
    while !roots.directory(path)?.exists() {
        missing += 1;
        match path.parent() {
            Some(next) => path = next,
            None => break,
        }
    }
    Ok(missing)
}

/// Does a step, and answers the file at its destination. After an error everything is as it was.
pub fn perform(roots: &Roots, step: &Step, control: &Control) -> Result<Option<Fact>, FsError> {
    let item = find_source(roots, step)?;
    let Some(destination) = &step.destination else {
        ops::remove(&item, control)?;
        return Ok(None);
    };
    let (above, name) = parts(destination)?;
    let directory = roots.directory(above)?;
    let how = Transfer {
        name: Some(name.clone()),
        // Where a move is a copy, the copy is read again before the source goes.
        verify: matches!(step.action, Action::Rename | Action::Move),
        overwrite: false,
    };
    match step.action {
        Action::Rename | Action::Move => {
            let identity = item.meta()?.identity;
            let is_itself = |there: Identity| there == identity;
            let there = directory
                .exists()
                .then(|| directory.existing().find(&name).ok().flatten());
            if there.flatten().is_some_and(|there| is_itself(there.identity)) {
                let _ = ops::rename(&item, &name, false)?;
            } else if let Err(error) = ops::move_to(&item, &directory, &how, control) {
                if let FsError::SourceKept { .. } = &error {
                    // Two whole files are one too many.
                    let _ =
                        between::drop_copy(roots, destination, &step.source, &Control::quiet(control_free()));
                }
                return Err(error);
            }
        }
        Action::Copy => drop(ops::copy(&item, &directory, &how, control)?),
        Action::Hardlink => {
            if ops::link_hard(&item, &directory, &name)?.is_none() {
                drop(ops::copy(&item, &directory, &how, control)?);
            }
        }
        Action::Symlink => drop(ops::link_soft(&item, &directory, &name)?),
        Action::Delete | Action::Skip => return Err(FsError::InvalidPath),
    }
    let placed = roots.item(destination, Intent::Change)?.meta()?;
    Ok(Some(Fact::from_meta(&placed)))
}

/// Token that nobody cancels, for a step back.
fn control_free() -> tokio_util::sync::CancellationToken {
    tokio_util::sync::CancellationToken::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn second_files_get_numbers_and_names_stay_short() {
        let path = Path::new("/m/Film.mkv");
        assert_eq!(numbered(path, 1), path);
        assert_eq!(numbered(path, 2), Path::new("/m/Film [dup2].mkv"));
        assert_eq!(numbered(Path::new("/m/Film"), 3), Path::new("/m/Film [dup3]"));
        let long = PathBuf::from(format!("/m/{}.mkv", "é".repeat(125)));
        let named = numbered(&long, 12);
        let name = named.file_name().unwrap();
        assert!(name.len() <= MAX_NAME_BYTES && name.to_str().unwrap().ends_with(" [dup12].mkv"));
        assert!(is_spelling(Path::new("/a/Film.mkv"), Path::new("/b/FILM.mkv")));
        assert!(!is_spelling(Path::new("/a/Film.mkv"), Path::new("/a/Film 2.mkv")));
        assert!(!is_spelling(Path::new("/a/Film.mkv"), Path::new("/A/Film.mkv")));
    }
}
