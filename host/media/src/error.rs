//! Errors of the media areas, and the kind and code that each has for the caller.

use qm_db::DbError;
use qm_jobs::{JobError, JobsError};
use qm_kernel::ErrorKind;
use qm_lanes::LaneError;
use qm_platform::ActingError;
use qm_ports::beside::BesideUnread;
use qm_ports::metadata::Unsettled;
use qm_ports::titledb::TitleDataError;
use qm_web::{ApiError, lane_code, lane_kind};

use crate::model::bulk::MOST;
use crate::model::ignored::MOST as MOST_IGNORED;
use crate::model::library::{MAX_LIBRARIES, Mode};

#[derive(Debug, thiserror::Error)]
pub enum LibraryError {
    #[error("Library not found")]
    NoSuchLibrary,
    #[error("Item not found")]
    NoSuchItem,
    #[error("Show not found")]
    NoSuchShow,
    #[error("No show record for this key")]
    NoSuchKey,
    #[error("Invalid series key")]
    NoSeriesKey,
    #[error("Invalid season number")]
    NoSeason,
    #[error("No items selected.")]
    NothingSelected,
    #[error("{0} items are selected, and {MOST} are the most: select fewer")]
    TooManySelected(usize),
    #[error("targetLibraryId is required.")]
    NoTarget,
    #[error("Target library not found.")]
    NoSuchTarget,
    #[error("Invalid id")]
    NoTitledbId,
    /// Reason why an awaited job did not finish.
    #[error("Not all was done: {0}")]
    Unfinished(String),
    #[error(transparent)]
    Titles(#[from] TitleDataError),
    #[error(transparent)]
    Unsettled(#[from] Unsettled),
    #[error("Pictures, subtitles or notes beside media cannot be read: try again in some seconds")]
    Beside(#[from] BesideUnread),
    #[error("Item is locked: unlock it first")]
    Locked,
    #[error("Item became another one while providers were asked about it: ask again")]
    Changed,
    #[error("Show became another one while a provider was asked about it: ask again")]
    ShowChanged,
    /// Names of the silent providers, with the reason of each.
    #[error("No provider of metadata answers, so nothing was changed; try again later ({0})")]
    Silent(String),
    #[error("name and path are required")]
    NameAndPath,
    #[error("A path is required.")]
    NoPath,
    #[error("Path is a protected system directory.")]
    Protected,
    /// The roots, separated by commas.
    #[error("Path is outside the allowed storage roots ({0}).")]
    Outside(String),
    #[error("A library cannot use mode preview; turn autoOrganize off instead")]
    PreviewMode,
    #[error("Unknown mode `{0}`: use one of {modes}", modes = Mode::WORDS.join(", "))]
    UnknownMode(String),
    /// Sentence that names other torrents which use the data that would be deleted.
    #[error("{0}")]
    SharedData(String),
    /// Name of the library that has it.
    #[error("Library `{0}` has this directory already: name another one, or change that library")]
    SamePath(String),
    #[error("Not on the list of what is ignored")]
    NotIgnored,
    #[error("Path is not below the directory of the library.")]
    OutsideLibrary,
    #[error(
        "{0} places of the library are ignored, and {MOST_IGNORED} are the most: name a folder above them, or heed some again"
    )]
    TooManyIgnored(u64),
    #[error("There are {0} libraries, and {MAX_LIBRARIES} are the most: delete one first")]
    TooMany(u64),
    /// The caller's token allows it, but the account has lost the permission.
    #[error(transparent)]
    Acting(#[from] ActingError),
    #[error(transparent)]
    Jobs(#[from] JobsError),
    #[error("a table could not be written")]
    Table(#[from] csv::Error),
    #[error(transparent)]
    Lane(#[from] LaneError),
    #[error(transparent)]
    Database(#[from] DbError),
}

impl LibraryError {
    pub fn kind(&self) -> ErrorKind {
        match self {
            LibraryError::NoSuchLibrary
            | LibraryError::NoSuchItem
            | LibraryError::NoSuchShow
            | LibraryError::NotIgnored
            | LibraryError::NoSuchKey => ErrorKind::NotFound,
            LibraryError::NameAndPath
            | LibraryError::OutsideLibrary
            | LibraryError::NoSeriesKey
            | LibraryError::NoSeason
            | LibraryError::NothingSelected
            | LibraryError::TooManySelected(_)
            | LibraryError::NoTarget
            | LibraryError::NoTitledbId
            | LibraryError::NoSuchTarget
            | LibraryError::NoPath
            | LibraryError::PreviewMode
            | LibraryError::UnknownMode(_) => ErrorKind::BadRequest,
            LibraryError::Protected | LibraryError::Outside(_) => ErrorKind::Forbidden,
            LibraryError::TooMany(_)
            | LibraryError::SharedData(_)
            | LibraryError::TooManyIgnored(_)
            | LibraryError::SamePath(_)
            | LibraryError::Locked
            | LibraryError::Changed
            | LibraryError::ShowChanged
            | LibraryError::Unfinished(_) => ErrorKind::Conflict,
            LibraryError::Silent(_) => ErrorKind::Upstream,
            LibraryError::Titles(_) | LibraryError::Unsettled(_) | LibraryError::Beside(_) => {
                ErrorKind::Unavailable
            }
            LibraryError::Acting(error) => error.kind(),
            LibraryError::Jobs(error) => error.kind(),
            LibraryError::Lane(error) => lane_kind(error),
            LibraryError::Table(_) => ErrorKind::Internal,
            LibraryError::Database(error) => error.kind(),
        }
    }

    /// Stable error code for the `code` field of the answer. It never changes.
    pub fn code(&self) -> &'static str {
        match self {
            LibraryError::NoSuchLibrary => "not_found.media_library",
            LibraryError::NoSuchItem => "not_found.media_item",
            LibraryError::NoSuchShow | LibraryError::NoSuchKey => "not_found.media_show",
            LibraryError::NoSeason => "bad_request.season_number",
            LibraryError::NothingSelected => "bad_request.no_items",
            LibraryError::TooManySelected(_) => "bad_request.too_many_items",
            LibraryError::NoTarget | LibraryError::NoSuchTarget => "bad_request.target_library",
            LibraryError::NoSeriesKey => "bad_request.series_key",
            LibraryError::NoTitledbId => "bad_request.titledb_id",
            LibraryError::Unfinished(_) => "conflict.media_job_unfinished",
            LibraryError::Titles(_) => "unavailable.titledb",
            LibraryError::Unsettled(_) => "unavailable.metadata_providers",
            LibraryError::Beside(_) => "unavailable.beside_media",
            LibraryError::Locked => "conflict.media_item_locked",
            LibraryError::Changed => "conflict.media_item_changed",
            LibraryError::ShowChanged => "conflict.media_show_changed",
            LibraryError::Silent(_) => "upstream.metadata_providers",
            LibraryError::NameAndPath => "bad_request.library_name_and_path",
            LibraryError::NoPath => "bad_request.path",
            LibraryError::PreviewMode | LibraryError::UnknownMode(_) => "bad_request.library_mode",
            LibraryError::Protected => "forbidden.protected_path",
            LibraryError::Outside(_) => "forbidden.outside_roots",
            LibraryError::SharedData(_) => "conflict.shared_data",
            LibraryError::SamePath(_) => "conflict.library_path",
            LibraryError::NotIgnored => "not_found.media_ignored",
            LibraryError::OutsideLibrary => "bad_request.outside_library",
            LibraryError::TooManyIgnored(_) => "conflict.too_many_ignored",
            LibraryError::TooMany(_) => "conflict.too_many_libraries",
            LibraryError::Acting(error) => error.code(),
            LibraryError::Jobs(error) => error.code(),
            LibraryError::Lane(error) => lane_code(error),
            LibraryError::Table(_) => ErrorKind::Internal.code(),
            LibraryError::Database(error) => error.kind().code(),
        }
    }
}

/// True if another attempt may succeed.
impl From<LibraryError> for JobError {
    fn from(error: LibraryError) -> Self {
        Self::new(error.code(), error.to_string())
    }
}

impl From<LibraryError> for ApiError {
    fn from(error: LibraryError) -> Self {
        ApiError::new(error.kind(), error.to_string())
            .with_code(error.code())
            .with_source(error)
    }
}
