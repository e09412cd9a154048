//! The way back of a step.

use std::path::Path;

use qm_confined::{FsError, Intent, Kind, Roots};
use qm_file_operations::{self as ops, Control, Transfer};
use qm_rename_plan::Action;

use super::between::{drop_copy, find};
use super::step::parts;
use crate::model::run::{Fact, Step};

/// Reason for which a step is not undone.
#[derive(Debug)]
pub enum Kept {
    /// A deletion.
    NotReversible,
    /// The file is not at its destination any more, or another one is.
    MovedSince,
    /// Something else is at its old place.
    Occupied,
    Failed(FsError),
}

impl From<FsError> for Kept {
    fn from(error: FsError) -> Self {
        match error {
            FsError::DestinationExists | FsError::Exists => Kept::Occupied,
            error => Kept::Failed(error),
        }
    }
}

/// Brings a file back to its old place. What was copied or linked from a file that is still there, and the same, goes.
/// `placed`: the file as the step left it.
pub fn take_back(
    roots: &Roots,
    step: &Step,
    placed: Option<Fact>,
    made: u32,
    control: &Control,
) -> Result<(), Kept> {
    let Some(to) = &step.destination else {
        return Err(Kept::NotReversible);
    };
    let there = find(roots, to)?.ok_or(Kept::MovedSince)?;
    let is_ours = placed.is_none_or(|placed| placed.is_file(&Fact::from_meta(&there)));
    if !is_ours {
        return Err(Kept::MovedSince);
    }
    match (step.action, find(roots, &step.source)?) {
        (Action::Delete | Action::Skip, _) => return Err(Kept::NotReversible),
        // One name in two spellings.
        (Action::Rename | Action::Move, Some(source))
            if source.identity == there.identity && there.links <= 1 =>
        {
            let (_, name) = parts(&step.source)?;
            let _ = ops::rename(&roots.item(to, Intent::Change)?, &name, false)?;
        }
        (Action::Rename | Action::Move, Some(_)) => return Err(Kept::Occupied),
        (Action::Symlink, source) => {
            if there.kind != Kind::Link || source.is_none() {
                return Err(Kept::MovedSince);
            }
            ops::remove(&roots.item(to, Intent::Change)?, control)?;
        }
        (Action::Hardlink | Action::Copy, Some(source)) if source.identity == there.identity => {
            ops::remove(&roots.item(to, Intent::Change)?, control)?;
        }
        (Action::Hardlink | Action::Copy, Some(_)) => match drop_copy(roots, to, &step.source, control) {
            Ok(()) => {}
            Err(FsError::Changed(_) | FsError::Mismatch(_)) => return Err(Kept::Occupied),
            Err(error) => return Err(error.into()),
        },
        (_, None) => {
            let (above, name) = parts(&step.source)?;
            let how = Transfer {
                name: Some(name),
                verify: true,
                overwrite: false,
            };
            let item = roots.item(to, Intent::Change)?;
            match ops::move_to(&item, &roots.directory(above)?, &how, control) {
                Err(error @ FsError::SourceKept { .. }) => {
                    let _ = drop_copy(roots, &step.source, to, &Control::quiet(<_>::default()));
                    return Err(error.into());
                }
                moved => drop(moved?),
            }
        }
    }
    remove_folders(roots, to, made);
    Ok(())
}

/// Removes folders that a step made, from the lowest on, as far as nothing is in them.
pub fn remove_folders(roots: &Roots, to: &Path, made: u32) {
    let above = to.ancestors().skip(1).take(made as usize);
    for folder in above {
        let removed = roots
            .item(folder, Intent::Change)
            .and_then(|folder| ops::remove_empty(&folder));
        if removed.is_err() {
            return;
        }
    }
}
