//! Errors of this area, and their meaning for the caller.

use qm_confined::{BaseError, FsError};
use qm_db::DbError;
use qm_jobs::JobsError;
use qm_kernel::ErrorKind;
use qm_lanes::LaneError;
use qm_platform::ActingError;
use qm_ports::shelves::ShelvesUnread;
use qm_rename_plan::TemplateError;
use qm_web::{ApiError, lane_code, lane_kind};

use crate::model::{MAX_FILES, MAX_PRESETS};

#[derive(Debug, thiserror::Error)]
pub enum RenameError {
    #[error("Preset not found")]
    NoSuchPreset,
    #[error("There is a preset named \"{0}\" already: choose another name, or change that preset")]
    NameTaken(String),
    #[error("There are {MAX_PRESETS} presets, and more are not kept: delete one first")]
    TooMany,
    /// Field of the request, and the fault of its template.
    #[error("{0}: {1}")]
    Template(&'static str, TemplateError),
    #[error("libraryPath is required")]
    NoLibraryPath,
    #[error("libraryPath must be absolute, and without ..: \"{0}\" is not")]
    LibraryPath(String),
    #[error("Provide a torrent hash or a path")]
    NothingGiven,
    #[error("Torrent not found")]
    NoSuchTorrent,
    #[error("Path does not exist")]
    NoSuchPath,
    #[error("Path is outside the allowed storage roots")]
    Outside,
    #[error("The folder holds more than {MAX_FILES} files: name a smaller one")]
    TooManyFiles,
    #[error("A runId is required.")]
    NoRunId,
    #[error("Nothing to undo for that run.")]
    NothingToUndo,
    /// Directory of the library in which another run is at work.
    #[error("Files of {0} are being renamed already: wait until that is done")]
    Running(String),
    #[error("The plan is not kept any more: preview it again, then apply it")]
    NoSuchPlan,
    /// Mode in which the plan was made.
    #[error(
        "The plan was made for the mode {0}: preview it again with the mode in which it is to be applied"
    )]
    OtherMode(&'static str),
    #[error("Library not found")]
    NoSuchLibrary,
    #[error("Item not found")]
    NoSuchItem,
    #[error("Item is locked: unlock it first")]
    ItemLocked,
    /// Names of torrents.
    #[error("Other torrents use this data too ({0}): copy or link it instead, or remove them first")]
    SharedData(String),
    /// Reason.
    #[error("The library's directory cannot be used: {0}")]
    LibraryUnusable(String),
    #[error("The rename ended early, and what it did is in the history: {0}")]
    Broken(String),
    #[error(transparent)]
    Jobs(#[from] JobsError),
    #[error(transparent)]
    Base(BaseError),
    #[error(transparent)]
    Path(#[from] FsError),
    #[error("The media library cannot be read: try again in some seconds")]
    Shelves(#[from] ShelvesUnread),
    #[error(transparent)]
    Lane(#[from] LaneError),
    /// The caller's token allows it, but they no longer may.
    #[error(transparent)]
    Acting(#[from] ActingError),
    #[error(transparent)]
    Database(#[from] DbError),
}

impl RenameError {
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::NoSuchPreset | Self::NothingToUndo | Self::NoSuchItem => ErrorKind::NotFound,
            Self::NameTaken(_)
            | Self::TooMany
            | Self::Running(_)
            | Self::NoSuchPlan
            | Self::OtherMode(_)
            | Self::ItemLocked
            | Self::SharedData(_) => ErrorKind::Conflict,
            Self::Broken(_) => ErrorKind::Unavailable,
            Self::Jobs(error) => error.kind(),
            Self::Template(..)
            | Self::NoLibraryPath
            | Self::LibraryPath(_)
            | Self::NothingGiven
            | Self::NoSuchTorrent
            | Self::NoSuchPath
            | Self::Outside
            | Self::NoRunId
            | Self::NoSuchLibrary
            | Self::LibraryUnusable(_)
            | Self::Base(_)
            | Self::TooManyFiles => ErrorKind::BadRequest,
            Self::Path(error) => error.kind(),
            Self::Shelves(_) => ErrorKind::Unavailable,
            Self::Lane(error) => lane_kind(error),
            Self::Acting(error) => error.kind(),
            Self::Database(error) => error.kind(),
        }
    }

    /// Value of `code` in the answer; never changes.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoSuchPreset => "not_found.name_preset",
            Self::NameTaken(_) => "conflict.preset_name",
            Self::TooMany => "conflict.too_many_presets",
            Self::Template(..) => "bad_request.template",
            Self::NoRunId => "bad_request.run_id",
            Self::NothingToUndo => "not_found.rename_run",
            Self::Running(_) => "conflict.rename_running",
            Self::NoSuchPlan => "conflict.plan_gone",
            Self::OtherMode(_) => "conflict.plan_mode",
            Self::NoSuchLibrary => "bad_request.library",
            Self::NoSuchItem => "not_found.media_item",
            Self::ItemLocked => "conflict.media_item_locked",
            Self::SharedData(_) => "conflict.shared_data",
            Self::LibraryUnusable(_) => "bad_request.library_unusable",
            Self::Broken(_) => "unavailable.rename",
            Self::Jobs(error) => error.code(),
            Self::NoLibraryPath | Self::LibraryPath(_) => "bad_request.library_path",
            Self::NothingGiven => "bad_request.nothing_to_name",
            Self::NoSuchTorrent => "bad_request.torrent",
            Self::NoSuchPath | Self::Base(_) => "bad_request.path",
            Self::Outside => "bad_request.outside",
            Self::TooManyFiles => "bad_request.too_many_files",
            Self::Path(error) => error.code(),
            Self::Shelves(_) => "unavailable.library",
            Self::Lane(error) => lane_code(error),
            Self::Acting(error) => error.code(),
            Self::Database(error) => error.kind().code(),
        }
    }
}

impl From<RenameError> for ApiError {
    fn from(error: RenameError) -> Self {
        ApiError::new(error.kind(), error.to_string())
            .with_code(error.code())
            .with_source(error)
    }
}
