//! Errors of this area, and their meaning for the caller.

use qm_confined::FsError;
use qm_db::DbError;
use qm_jobs::JobsError;
use qm_kernel::ErrorKind;
use qm_lanes::LaneError;
use qm_platform::ActingError;
use qm_ports::notes::NotesUnread;
use qm_ports::subjects::SubjectsUnread;
use qm_web::{ApiError, lane_code, lane_kind};

use crate::model::keep::Unkept;
use crate::model::{MAX_ITEMS, MAX_OF_LIBRARY};

#[derive(Debug, thiserror::Error)]
pub enum NfoError {
    #[error("Item not found")]
    NoSuchItem,
    #[error("Library not found")]
    NoSuchLibrary,
    #[error("Provide either itemId or libraryId.")]
    NothingGiven,
    #[error("NFO generation is disabled for this library.")]
    Disabled,
    #[error("Item is locked: unlock it first")]
    Locked,
    #[error("No items selected.")]
    NoItems,
    #[error("More than {MAX_ITEMS} items are named: name fewer at once")]
    TooManyItems,
    #[error(
        "The library has more than {MAX_OF_LIBRARY} unlocked items: name some of them in POST /api/media/items/bulk/nfo"
    )]
    TooLarge,
    /// Path of the note.
    #[error(
        "{0} was written or changed by somebody else: send overwrite: true to replace what is known here in it"
    )]
    Exists(String),
    /// Path of the note, and the reason.
    #[error("{0} is not replaced, because {1}: move or delete it first")]
    Unkept(String, Unkept),
    /// Path of the note, and the torrents.
    #[error("{0} is data of a torrent, and is not replaced: {1}")]
    Shared(String, String),
    #[error("{0} changed meanwhile: try again")]
    Changed(String),
    #[error("The order was cancelled")]
    Cancelled,
    #[error(transparent)]
    Path(#[from] FsError),
    #[error("The media library cannot be read: try again in some seconds")]
    Notes(#[from] NotesUnread),
    #[error("The media library cannot be read: try again in some seconds")]
    Subjects(#[from] SubjectsUnread),
    #[error(transparent)]
    Jobs(#[from] JobsError),
    #[error(transparent)]
    Lane(#[from] LaneError),
    /// The caller's token allows it, but they no longer may.
    #[error(transparent)]
    Acting(#[from] ActingError),
    #[error(transparent)]
    Database(#[from] DbError),
}

impl NfoError {
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::NoSuchItem | Self::NoSuchLibrary => ErrorKind::NotFound,
            Self::NothingGiven | Self::Disabled | Self::NoItems | Self::TooManyItems | Self::TooLarge => {
                ErrorKind::BadRequest
            }
            Self::Locked
            | Self::Exists(_)
            | Self::Unkept(..)
            | Self::Shared(..)
            | Self::Changed(_)
            | Self::Cancelled => ErrorKind::Conflict,
            Self::Path(error) => error.kind(),
            Self::Notes(_) | Self::Subjects(_) => ErrorKind::Unavailable,
            Self::Jobs(error) => error.kind(),
            Self::Lane(error) => lane_kind(error),
            Self::Acting(error) => error.kind(),
            Self::Database(error) => error.kind(),
        }
    }

    /// Value of `code` in the answer; never changes.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoSuchItem => "not_found.media_item",
            Self::NoSuchLibrary => "not_found.media_library",
            Self::NothingGiven => "bad_request.nothing_to_note",
            Self::Disabled => "bad_request.nfo_disabled",
            Self::NoItems => "bad_request.no_items",
            Self::TooManyItems => "bad_request.too_many_items",
            Self::TooLarge => "bad_request.library_too_large",
            Self::Locked => "conflict.media_item_locked",
            Self::Exists(_) => "conflict.nfo_exists",
            Self::Unkept(..) => "conflict.nfo_unreadable",
            Self::Shared(..) => "conflict.shared_data",
            Self::Changed(_) => "conflict.nfo_changed",
            Self::Cancelled => "conflict.cancelled",
            Self::Path(error) => error.code(),
            Self::Notes(_) | Self::Subjects(_) => "unavailable.library",
            Self::Jobs(error) => error.code(),
            Self::Lane(error) => lane_code(error),
            Self::Acting(error) => error.code(),
            Self::Database(error) => error.kind().code(),
        }
    }

    /// True if it is about this note alone, so that others may be fine.
    pub fn is_about_one(&self) -> bool {
        match self {
            Self::NoSuchItem
            | Self::Disabled
            | Self::Locked
            | Self::Exists(_)
            | Self::Unkept(..)
            | Self::Shared(..)
            | Self::Changed(_)
            | Self::Path(_) => true,
            Self::NoSuchLibrary
            | Self::NothingGiven
            | Self::NoItems
            | Self::TooManyItems
            | Self::TooLarge
            | Self::Cancelled
            | Self::Notes(_)
            | Self::Subjects(_)
            | Self::Jobs(_)
            | Self::Lane(_)
            | Self::Acting(_)
            | Self::Database(_) => false,
        }
    }
}

impl From<NfoError> for ApiError {
    fn from(error: NfoError) -> Self {
        ApiError::new(error.kind(), error.to_string())
            .with_code(error.code())
            .with_source(error)
    }
}
