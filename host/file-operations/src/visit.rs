//! A walk over a tree, for those who look for something in it.

use std::fs::File;
use std::ops::ControlFlow;

use rustix::io::Errno;

use super::Control;
use super::tree::{At, Visitor, walk};
use qm_confined::{Component, ConfinedPath, FsError, Kind, Meta, RelPath};

/// An entry that the walk came by.
pub enum Visit<'a> {
    /// A directory, before its contents. `Break`: leave it out.
    Enter(Found<'a>),
    /// An entry that is not a directory. `Break` has no effect here.
    Item(Found<'a>),
    /// A directory, after its contents.
    Leave(Found<'a>),
}

/// An entry of the tree.
pub struct Found<'a> {
    at: &'a At<'a>,
    pub kind: Kind,
}

impl Found<'_> {
    pub fn name(&self) -> &Component {
        self.at.name
    }

    /// The directory that holds it, below the same root as the path the walk began at.
    pub fn directory(&self) -> &RelPath {
        self.at.rel
    }

    pub fn rel(&self) -> RelPath {
        self.at.rel.join(self.at.name)
    }

    /// One stat, not following.
    pub fn meta(&self) -> Result<Meta, FsError> {
        self.at.meta()
    }

    /// The content of a regular file; anything else is refused unopened.
    pub fn open_file(&self) -> Result<(File, Meta), FsError> {
        self.at.dir.read(self.at.name).map_err(|errno| match errno {
            Errno::NOTSUP => FsError::Special(self.rel().text()),
            other => self.at.failed(other),
        })
    }
}

/// Walks everything below `dir`: the files of a directory before its directories, both in no promised order. Links are
/// not followed; hidden names and directories that cannot be read are left out.
pub fn visit(
    dir: &ConfinedPath,
    control: &Control,
    seen: &mut dyn FnMut(Visit<'_>) -> Result<ControlFlow<()>, FsError>,
) -> Result<(), FsError> {
    walk(dir.open_dir()?, dir.rel(), &mut Telling(seen), control)
}

struct Telling<'a>(&'a mut dyn FnMut(Visit<'_>) -> Result<ControlFlow<()>, FsError>);

impl Visitor for Telling<'_> {
    fn item(&mut self, at: &At<'_>, kind: Kind) -> Result<(), FsError> {
        (self.0)(Visit::Item(Found { at, kind })).map(|_| ())
    }

    fn enter(&mut self, at: &At<'_>) -> Result<bool, FsError> {
        let kind = Kind::Directory;
        Ok((self.0)(Visit::Enter(Found { at, kind }))?.is_continue())
    }

    fn leave(&mut self, at: &At<'_>) -> Result<(), FsError> {
        let kind = Kind::Directory;
        (self.0)(Visit::Leave(Found { at, kind })).map(|_| ())
    }

    fn wants_hidden(&self) -> bool {
        false
    }

    fn is_lenient(&self) -> bool {
        true
    }
}
