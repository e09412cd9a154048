//! Moving the data of torrents, as an area sees it that drives torrent clients and does not touch files.

use std::sync::Arc;

use async_trait::async_trait;
use qm_kernel::{Caller, ErrorKind};
use serde::{Deserialize, Serialize};

/// A torrent's data and the place it should go to, in the torrent client's words. Bytes of a name that are not UTF-8
/// are U+FFFD here; the last name of `source` is found all the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataMove {
    /// Also the id of the file operation that people see and may cancel.
    pub id: String,
    /// Absolute: the torrent's only file, or the folder of its files.
    pub source: String,
    /// Absolute: the directory it goes into, under its own name.
    pub directory: String,
}

/// A file that has to be there, whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataFile {
    /// Below the torrent's folder, which may be its first name; of a torrent that is one file, anything.
    pub path: String,
    /// Bytes.
    pub size: u64,
}

/// The answer of a check before a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataCheck {
    /// Nothing stands in the way of the move, as things are now.
    Ready,
    /// Nothing is at the source, and what has to be there is at the new place: somebody moved it by hand.
    Moved,
    /// Nothing is at the source, as the server sees it.
    Absent,
}

/// Where data is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whereabouts {
    Source,
    Destination,
    Both,
    Neither,
}

/// Why data was not moved.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct CarryError {
    pub kind: ErrorKind,
    /// A word that never changes.
    pub code: &'static str,
    /// A sentence that names the thing and the way out.
    pub message: String,
}

impl CarryError {
    /// Every code there is, beside the words of the kinds, for the document of whoever asks for a move.
    pub const CODES: &[(ErrorKind, &str)] = &[
        (ErrorKind::BadRequest, "bad_request.file_name"),
        (ErrorKind::BadRequest, "bad_request.file_too_large"),
        (ErrorKind::BadRequest, "bad_request.folder_name"),
        (ErrorKind::BadRequest, "bad_request.in_trash"),
        (ErrorKind::BadRequest, "bad_request.into_itself"),
        (ErrorKind::BadRequest, "bad_request.name_too_long"),
        (ErrorKind::BadRequest, "bad_request.no_space"),
        (ErrorKind::BadRequest, "bad_request.not_a_directory"),
        (ErrorKind::BadRequest, "bad_request.path"),
        (ErrorKind::BadRequest, "bad_request.special_file"),
        (ErrorKind::BadRequest, "bad_request.too_many_links"),
        (ErrorKind::BadRequest, "bad_request.too_many_missing"),
        (ErrorKind::Forbidden, "forbidden.data_outside_roots"),
        (ErrorKind::Forbidden, "forbidden.denied"),
        (ErrorKind::Forbidden, "forbidden.no_root"),
        (ErrorKind::Forbidden, "forbidden.outside_roots"),
        (ErrorKind::Forbidden, "forbidden.protected"),
        (ErrorKind::Forbidden, "forbidden.read_only"),
        (ErrorKind::Forbidden, "forbidden.reserved"),
        (ErrorKind::Forbidden, "forbidden.system_directory"),
        (ErrorKind::NotFound, "not_found.item"),
        (ErrorKind::Conflict, "conflict.cancelled"),
        (ErrorKind::Conflict, "conflict.changed"),
        (ErrorKind::Conflict, "conflict.exists"),
        (ErrorKind::Conflict, "conflict.in_use"),
        (ErrorKind::Conflict, "conflict.mixed_kinds"),
        (ErrorKind::Conflict, "conflict.not_empty"),
        (ErrorKind::Conflict, "conflict.other_data"),
        (ErrorKind::Conflict, "conflict.source_kept"),
        (ErrorKind::Unavailable, "unavailable.database"),
        (ErrorKind::Unavailable, "unavailable.disk"),
        (ErrorKind::Unavailable, "unavailable.file_system"),
        (ErrorKind::Unavailable, "unavailable.mismatch"),
        (ErrorKind::Unavailable, "unavailable.operations"),
        (ErrorKind::Unavailable, "unavailable.standby"),
    ];
}

/// A directory, by device and inode.
pub type DirectoryId = (u64, u64);

/// A place as the file system knows it, whatever path leads there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sighting {
    /// The directory it lies in and those above that one, nearest first.
    pub above: Arc<[DirectoryId]>,
    /// Its name there, by its bytes.
    pub name: Vec<u8>,
    /// Its own id, if it is a directory.
    pub own: Option<DirectoryId>,
}

/// The files of a torrent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataPlace {
    /// Absolute, by its bytes: the only file, or the folder of the files.
    pub top: Vec<u8>,
    /// Below the folder, by their bytes; none: `top` is the only file.
    pub files: Vec<Vec<u8>>,
    /// Bytes of each; none where they are not known.
    pub sizes: Vec<u64>,
    /// The names come from a client, which may have replaced what it could not write by `?` or U+FFFD.
    pub is_told: bool,
}

/// A file that was seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenFile {
    /// Below the folder; empty: the only file.
    pub path: Vec<u8>,
    /// Its number in its file system, which tells it from one that was made in its place.
    pub inode: u64,
}

/// The files of a torrent that are there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataSeen {
    pub top: Vec<u8>,
    pub files: Vec<SeenFile>,
    /// Files that the torrent has and that were not found.
    pub missing: usize,
}

/// A file that could not be removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stayed {
    /// As it is shown.
    pub path: String,
    pub why: String,
}

/// Moves data inside the download folders, and nowhere else. What is at the new place is never replaced.
#[async_trait]
pub trait DataMover: Send + Sync {
    /// Checks that the move could be made, and changes nothing. `whole`: files that have to be there with their sizes.
    async fn check(&self, job: &DataMove, whole: &[DataFile]) -> Result<DataCheck, CarryError>;

    /// Moves. At every moment the data is whole at its old place or at its new one. After an error it is at its old place;
    /// a success says that it is at its new one, although the original may be left too when it could not be removed.
    /// `by`: who asked for it; none when a rule did.
    async fn carry(&self, job: &DataMove, by: Option<Caller<'_>>) -> Result<(), CarryError>;

    /// Looks where the data is, after a crash.
    async fn whereabouts(&self, job: &DataMove) -> Result<Whereabouts, CarryError>;

    /// Removes the original of data that is at both places, after comparing them byte by byte. False: they differ, and
    /// nothing is removed.
    async fn remove_original(&self, job: &DataMove) -> Result<bool, CarryError>;

    /// Looks up the places that the paths lead to, one answer for each path; `None` for a path that is outside the
    /// download folders, or that leads to nothing. Paths are absolute.
    async fn sight(&self, paths: Vec<String>) -> Result<Vec<Option<Sighting>>, CarryError> {
        Ok(vec![None; paths.len()])
    }

    /// Looks for the files of a torrent; none: the server does not see the place.
    async fn see(&self, _place: &DataPlace) -> Result<Option<DataSeen>, CarryError> {
        Ok(None)
    }

    /// Counts the files that are still those that were seen.
    async fn count_remains(&self, _seen: &DataSeen) -> Result<usize, CarryError> {
        Ok(0)
    }

    /// Removes the files that are still those that were seen, and the folders of theirs that are empty then. Links are not
    /// followed. Answers what is still there.
    async fn remove_remains(&self, _seen: &DataSeen) -> Result<Vec<Stayed>, CarryError> {
        Ok(Vec::new())
    }
}
