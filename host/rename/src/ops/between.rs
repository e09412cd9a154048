//! Steps that a crash left between: what became of them, as the disk shows it. What was begun is finished or taken back.

use std::path::Path;

use qm_confined::{FsError, Intent, Kind, Meta, Roots};
use qm_file_operations::{self as ops, Control};
use qm_rename_plan::Action;

use crate::model::run::{Fact, Step};

/// Fate of a step that was begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Became {
    /// It is done; the file at its destination.
    Done(Option<Fact>),
    /// Nothing has happened, or what had was taken back.
    Nothing,
    /// Somebody has to look, and this is why. Nothing was removed.
    Unclear(String),
}

/// Finds what became of a step, and finishes a move of which both files are left.
pub fn settle(roots: &Roots, step: &Step, control: &Control) -> Result<Became, FsError> {
    let source = find(roots, &step.source)?;
    let Some(to) = &step.destination else {
        return Ok(source.map_or(Became::Done(None), |_| Became::Nothing));
    };
    sweep(roots, to, control);
    let there = find(roots, to)?;
    let Some(there) = there else {
        return Ok(match source {
            Some(_) => Became::Nothing,
            None => Became::Unclear("it is neither at its old place nor at its new one".to_owned()),
        });
    };
    let placed = Fact::of(&there);
    let done = Ok(Became::Done(Some(placed)));
    match (step.action, source) {
        (Action::Rename | Action::Move, None) if placed.is_file(&step.fact) => done,
        (Action::Rename | Action::Move, None) => Ok(Became::Unclear(
            "another file is at its new place, and it is gone from the old one".to_owned(),
        )),
        // A file system that folds case: both spellings are one file, and only its directory knows which.
        (Action::Rename | Action::Move, Some(source)) if source.identity == there.identity => {
            Ok(if is_spelled(roots, to)? { Became::Done(Some(placed)) } else { Became::Nothing })
        }
        (Action::Rename | Action::Move, Some(_)) => match drop_copy(roots, &step.source, to, control) {
            Ok(()) => done,
            Err(_) => Ok(Became::Unclear(
                "it is at its old place, and another file is at the new one: compare them".to_owned(),
            )),
        },
        (Action::Hardlink | Action::Copy, _) if placed.is_file(&step.fact) => done,
        (Action::Symlink, _) if there.kind == Kind::Link => done,
        _ => Ok(Became::Nothing),
    }
}

/// Finds what became of a step that was being undone: true if it is undone.
pub fn settle_undo(roots: &Roots, step: &Step, control: &Control) -> Result<bool, FsError> {
    let Some(to) = &step.destination else {
        return Ok(false);
    };
    sweep(roots, &step.source, control);
    let (source, there) = (find(roots, &step.source)?, find(roots, to)?);
    Ok(match (source, there) {
        (_, None) => true,
        (None, Some(_)) => false,
        (Some(source), Some(there)) if source.identity == there.identity => {
            // Two names of one file, or one name that is spelled in two ways.
            matches!(step.action, Action::Rename | Action::Move) && is_spelled(roots, &step.source)?
        }
        (Some(_), Some(_)) => {
            matches!(step.action, Action::Rename | Action::Move)
                && drop_copy(roots, to, &step.source, control).is_ok()
        }
    })
}

/// Removes a file after its copy was compared with it byte by byte.
pub fn drop_copy(roots: &Roots, file: &Path, copy: &Path, control: &Control) -> Result<(), FsError> {
    let copy = roots.item(copy, Intent::Change)?;
    ops::remove_copied(&roots.item(file, Intent::Change)?, &copy, control)
}

/// State of what is at a path; none: nothing is there.
pub fn find(roots: &Roots, path: &Path) -> Result<Option<Meta>, FsError> {
    match roots.item(path, Intent::Change) {
        Ok(item) => item.meta().map(Some),
        Err(FsError::NotFound(_) | FsError::NotADirectory(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// True if an entry of a directory is spelled so, by its bytes.
fn is_spelled(roots: &Roots, path: &Path) -> Result<bool, FsError> {
    let item = roots.item(path, Intent::Change)?;
    let failed = |errno| FsError::os(errno, path.display());
    let name = item.entry()?;
    for entry in item.parent.entries().map_err(failed)? {
        if entry.map_err(failed)?.file_name().to_bytes() == name.as_bytes() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Removes temporaries that a killed server left beside a path. Whatever stays is left to the next time.
fn sweep(roots: &Roots, path: &Path, control: &Control) {
    let Some(above) = path.parent() else { return };
    if let Ok(directory) = roots.directory(above)
        && directory.exists()
        && let Err(error) = ops::sweep(roots, &directory.place(), false, control)
    {
        tracing::debug!(%error, "a folder was not searched for temporaries");
    }
}
