//! Moving the data of torrents, as an area sees it that drives torrent clients and does not touch files.

use async_trait::async_trait;
use qm_kernel::{ClientInfo, ErrorKind, Principal};

/// A torrent's data and where it is to go, as the torrent client words it. A name that is not UTF-8 has U+FFFD where it is
/// not; the last name of `source` is found nevertheless.
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

/// Whether there is something to move.
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

/// Moves data inside the download folders, and nowhere else. What is at the new place is never replaced.
#[async_trait]
pub trait DataMover: Send + Sync {
    /// Whether the move could be made. Changes nothing. `whole`: files that have to be there with their sizes.
    async fn check(&self, job: &DataMove, whole: &[DataFile]) -> Result<DataCheck, CarryError>;

    /// Moves. At every moment the data is whole at its old place or at its new one. After an error it is at its old place;
    /// a success says that it is at its new one, although the original may be left too when it could not be removed.
    /// `by`: who asked for it; none when a rule did.
    async fn carry(&self, job: &DataMove, by: Option<(&Principal, &ClientInfo)>) -> Result<(), CarryError>;

    /// Looks where the data is, after a crash.
    async fn whereabouts(&self, job: &DataMove) -> Result<Whereabouts, CarryError>;

    /// Of data that is at both places, compared byte by byte, removes the original. False: they differ, and nothing is
    /// removed.
    async fn remove_original(&self, job: &DataMove) -> Result<bool, CarryError>;
}
