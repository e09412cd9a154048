//! Notes on the disk: read and written through handles of their directory.

use std::ffi::OsStr;
use std::io::{Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use qm_confined::{Component, Dir, FsError, Identity, Intent, Roots, TEMP_PREFIX};
use qm_media_names::place;

use crate::model::NoteKind;
use crate::model::keep::MOST;

/// Place of a note, and its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Path below the library's directory.
    pub place: String,
    pub path: PathBuf,
}

impl Target {
    /// The note about the video at a place of a library.
    pub fn new(library: &str, video: &str, kind: NoteKind) -> Self {
        let whole = place::decode(video);
        let (directory, name) = match whole.iter().rposition(|byte| *byte == b'/') {
            Some(at) => (&whole[..at], &whole[at + 1..]),
            None => (&whole[..0], &whole[..]),
        };
        let below = place::join(directory, OsStr::from_bytes(&kind.file_name(name)));
        Self {
            path: Path::new(library).join(OsStr::from_bytes(&below)),
            place: place::encode(&below),
        }
    }

    /// The path as people see it.
    pub fn shown(&self) -> String {
        self.path.to_string_lossy().into_owned()
    }
}

/// A note that is there.
#[derive(Debug)]
pub struct There {
    pub bytes: Vec<u8>,
    seen: Seen,
}

/// State of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seen {
    identity: Identity,
    size: u64,
    modified: (i64, u32),
}

/// Reads a note, up to one byte more than is kept; none if there is none.
pub fn read(roots: &Roots, target: &Target) -> Result<Option<There>, FsError> {
    let (dir, name, _) = open(roots, target)?;
    let found = dir
        .find(&name)
        .map_err(|errno| FsError::os(errno, target.shown()))?;
    if found.is_none() {
        return Ok(None);
    }
    let (file, meta) = dir
        .read(&name)
        .map_err(|errno| FsError::os(errno, target.shown()))?;
    let mut bytes = Vec::new();
    let read = file.take(MOST as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|error| FsError::io(error, target.shown()))?;
    let seen = Seen {
        identity: meta.identity,
        size: meta.size,
        modified: meta.times.modified,
    };
    Ok(Some(There { bytes, seen }))
}

/// True if there is no such note in a directory that can be read.
pub fn is_gone(roots: &Roots, target: &Target) -> bool {
    let found = open(roots, target).map(|(dir, name, _)| dir.find(&name));
    matches!(found, Ok(Ok(None)))
}

/// Writes a note in the place of the one that was read, if that is still the same; false if it is not.
pub fn write(roots: &Roots, target: &Target, text: &str, there: Option<&There>) -> Result<bool, FsError> {
    let (dir, name, temporary) = open(roots, target)?;
    let os = |errno| FsError::os(errno, target.shown());
    let io = |error| FsError::io(error, target.shown());
    // One that a killed server left.
    let _ = dir.remove_file(&temporary);
    let mut file = dir.create_file(&temporary).map_err(os)?;
    let written = file
        .write_all(text.as_bytes())
        // Media servers read it, as other users.
        .and_then(|()| file.set_permissions(std::fs::Permissions::from_mode(0o644)))
        .and_then(|()| file.sync_all())
        .map_err(io);
    let put = written.and_then(|()| {
        let now = dir.find(&name).map_err(os)?.map(|meta| Seen {
            identity: meta.identity,
            size: meta.size,
            modified: meta.times.modified,
        });
        let is_same = now == there.map(|there| there.seen);
        if is_same {
            dir.rename(&temporary, &dir, &name).map_err(os)?;
        }
        Ok(is_same)
    });
    if !matches!(put, Ok(true)) {
        let _ = dir.remove_file(&temporary);
    }
    let is_put = put?;
    dir.sync().map_err(os)?;
    Ok(is_put)
}

/// Directory of a note, its name, and its name while it is written.
fn open(roots: &Roots, target: &Target) -> Result<(Dir, Component, Component), FsError> {
    let (Some(directory), Some(name)) = (target.path.parent(), target.path.file_name()) else {
        return Err(FsError::InvalidPath);
    };
    let dir = roots.item(directory, Intent::Read)?.open_dir()?;
    let name = Component::new(name).ok_or(FsError::InvalidPath)?;
    let mark = place::encode(name.as_bytes());
    let mark = hex::encode(<sha2::Sha256 as sha2::Digest>::digest(mark));
    let temporary = Component::trusted(format!("{TEMP_PREFIX}{}", &mark[..16]));
    Ok((dir, name, temporary))
}
