//! Removing for good, at any depth, with a bounded number of handles.

use rustix::io::Errno;

use super::Control;
use super::place::rename_new;
use super::temp::Temp;
use super::tree::{At, Visitor, walk};
use qm_confined::{Component, Dir, FsError, Kind, Meta, Place, RelPath};

/// A directory that still has entries after its entries were removed is read again: some file systems skip entries while
/// others go, and another program may be adding them.
const ROUNDS: u32 = 20;

/// Removes `name` in `dir`, which is at `place`; it vanishes in one step. Should something in it refuse to go, what is left is put back.
pub(super) fn vanish(
    dir: &Dir,
    place: &Place,
    name: &Component,
    rel: &RelPath,
    control: &Control,
) -> Result<(), FsError> {
    let failed = |errno| FsError::os(errno, rel);
    if !Meta::from_stat(&dir.stat(name).map_err(failed)?).is_dir() {
        dir.remove_file(name).map_err(failed)?;
        control.item_done();
    } else if let Err(Errno::NOTEMPTY | Errno::EXIST) = dir.remove_dir(name) {
        let noted = control.note(place, false)?;
        let doomed = Temp::discard(dir, name, &noted).map_err(failed)?;
        if let Err(error) = erase_watched(dir, doomed.name(), rel, Some(control)) {
            if rename_new(dir, doomed.name(), dir, name).is_err() {
                doomed.left_behind();
                tracing::warn!(
                    item = rel.text(),
                    "what is left of a failed removal stays under a temporary name"
                );
            }
            return Err(error);
        }
    } else if dir.stat(name).is_ok() {
        dir.remove_dir(name).map_err(failed)?;
    }
    dir.sync().map_err(failed)
}

/// Removes `name`, whatever it is, as far as it goes.
pub(super) fn erase(dir: &Dir, name: &Component, rel: &RelPath) -> Result<(), FsError> {
    erase_watched(dir, name, rel, None)
}

fn erase_watched(
    dir: &Dir,
    name: &Component,
    rel: &RelPath,
    control: Option<&Control>,
) -> Result<(), FsError> {
    let failed = |errno| FsError::os(errno, rel);
    let meta = Meta::from_stat(&dir.stat(name).map_err(failed)?);
    if !meta.is_dir() {
        return dir.remove_file(name).map_err(failed);
    }
    let mut eraser = Eraser {
        device: meta.identity.device,
        control,
        removed: 0,
    };
    // Once begun it is not left half way: cancelling is for before.
    let unstoppable = Control::unstoppable();
    for _ in 0..ROUNDS {
        let before = eraser.removed;
        walk(dir.child(name).map_err(failed)?, rel, &mut eraser, &unstoppable)?;
        match dir.remove_dir(name) {
            Ok(()) => return Ok(()),
            Err(Errno::NOTEMPTY | Errno::EXIST) if eraser.removed > before => {}
            Err(other) => return Err(failed(other)),
        }
    }
    Err(FsError::Changed(rel.text()))
}

struct Eraser<'a> {
    device: u64,
    control: Option<&'a Control>,
    removed: u64,
}

impl Eraser<'_> {
    fn gone(&mut self) {
        self.removed += 1;
        if let Some(control) = self.control {
            control.item_done();
        }
    }
}

impl Visitor for Eraser<'_> {
    fn item(&mut self, at: &At<'_>, _: Kind) -> Result<(), FsError> {
        match at.dir.remove_file(at.name) {
            Ok(()) => self.gone(),
            Err(Errno::NOENT) => {}
            Err(other) => return Err(at.failed(other)),
        }
        Ok(())
    }

    /// A mounted file system is not ours to empty.
    fn enter(&mut self, at: &At<'_>) -> Result<bool, FsError> {
        let meta = at.meta()?;
        if meta.identity.device != self.device {
            return Err(FsError::InUse(at.rel.join(at.name).text()));
        }
        Ok(true)
    }

    fn leave(&mut self, at: &At<'_>) -> Result<(), FsError> {
        match at.dir.remove_dir(at.name) {
            Ok(()) => self.gone(),
            // Read again in the next round.
            Err(Errno::NOENT | Errno::NOTEMPTY | Errno::EXIST) => {}
            Err(other) => return Err(at.failed(other)),
        }
        Ok(())
    }
}
