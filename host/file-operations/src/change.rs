//! Changes within one directory: create, rename, remove.

use std::path::PathBuf;

use rustix::fs::Mode;
use rustix::io::Errno;

use super::erase::vanish;
use super::measure::measure_for_removal;
use super::place::rename_new;
use super::{Control, Usage};
use qm_confined::{Component, ConfinedPath, FsError, RelPath};

/// A rename that happened. Equal paths when the name was the same already.
#[derive(Debug)]
pub struct Renamed {
    pub rel: RelPath,
    /// Absolute.
    pub from: PathBuf,
    pub to: PathBuf,
}

/// Creates one folder in `parent` and answers its path. There already: [`FsError::Exists`].
pub fn create_dir(parent: &ConfinedPath, name: &Component) -> Result<RelPath, FsError> {
    let rel = parent.rel().join(name);
    let failed = |errno| FsError::os(errno, &rel);
    let dir = parent.open_dir()?;
    dir.create_dir(name, Mode::from_raw_mode(0o777)).map_err(failed)?;
    dir.sync().map_err(failed)?;
    Ok(rel)
}

/// Renames within the directory. With `overwrite` a file replaces a file in one step, and a folder an empty folder.
pub fn rename(item: &ConfinedPath, name: &Component, overwrite: bool) -> Result<Renamed, FsError> {
    let old = item.entry()?;
    let rel = item.rel().parent().unwrap_or_default().join(name);
    let from = item.absolute();
    let renamed = Renamed {
        to: from.with_file_name(name.as_os()),
        from,
        rel,
    };
    if old == name {
        return Ok(renamed);
    }
    let dir = &item.parent;
    let failed = |errno| FsError::os(errno, &renamed.rel);
    match rename_new(dir, old, dir, name) {
        Ok(()) => {}
        Err(Errno::EXIST) => {
            let source = item.meta()?;
            let there = dir.find(name).map_err(failed)?;
            match there {
                // The same file under another spelling: a file system that folds case.
                Some(there) if there.identity == source.identity && there.links <= 1 => {
                    dir.rename(old, dir, name).map_err(failed)?;
                }
                Some(_) if !overwrite => return Err(FsError::Exists),
                Some(there) if there.identity == source.identity => {
                    // Two names of one file: renaming one over the other is a no-op for the system.
                    dir.remove_file(old).map_err(failed)?;
                }
                Some(there) if there.is_dir() != source.is_dir() => {
                    return Err(FsError::MixedKinds(renamed.rel.text()));
                }
                Some(there) => {
                    item.refuse_protected(&renamed.to, &there, &renamed.rel)?;
                    dir.rename(old, dir, name).map_err(|errno| match errno {
                        Errno::EXIST => FsError::NotEmpty(renamed.rel.text()),
                        other => failed(other),
                    })?;
                }
                None => return Err(FsError::Changed(renamed.rel.text())),
            }
        }
        Err(Errno::NOENT) => return Err(FsError::NotFound(item.rel().text())),
        Err(other) => return Err(failed(other)),
    }
    dir.sync().map_err(failed)?;
    Ok(renamed)
}

/// Removes for good, at any depth. The item vanishes in one step; should something in it refuse to go, what is left is
/// back at its place and the error says why. It can be cancelled before that step, not after. A tree with another file
/// system mounted in it is refused.
pub fn remove(item: &ConfinedPath, control: &Control) -> Result<Usage, FsError> {
    let name = item.entry()?;
    let usage = measure_for_removal(item, control)?;
    control.expect(usage.items + 1, usage.bytes);
    control.check()?;
    vanish(&item.parent, &item.place(), name, item.rel(), control)?;
    Ok(usage)
}

/// Removes a folder in which nothing is; one that holds something is [`FsError::NotEmpty`].
pub fn remove_empty(item: &ConfinedPath) -> Result<Usage, FsError> {
    let failed = |errno| match errno {
        Errno::EXIST => FsError::NotEmpty(item.rel().text()),
        other => FsError::os(other, item.rel()),
    };
    item.parent.remove_dir(item.entry()?).map_err(failed)?;
    item.parent.sync().map_err(failed)?;
    Ok(Usage::default())
}
