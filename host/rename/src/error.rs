//! Errors of this area, and their meaning for the caller.

use qm_confined::{BaseError, FsError};
use qm_db::DbError;
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
            Self::NoSuchPreset => ErrorKind::NotFound,
            Self::NameTaken(_) | Self::TooMany => ErrorKind::Conflict,
            Self::Template(..)
            | Self::NoLibraryPath
            | Self::LibraryPath(_)
            | Self::NothingGiven
            | Self::NoSuchTorrent
            | Self::NoSuchPath
            | Self::Outside
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
