//! Errors of this area, and their meaning for the caller.

use qm_confined::FsError;
use qm_db::DbError;
use qm_jobs::JobsError;
use qm_kernel::ErrorKind;
use qm_lanes::LaneError;
use qm_platform::ActingError;
use qm_ports::metadata::Unsettled;
use qm_ports::subjects::SubjectsUnread;
use qm_web::{ApiError, lane_code, lane_kind};

use crate::model::picture::{Format, Refused};

#[derive(Debug, thiserror::Error)]
pub enum ArtworkError {
    #[error("Item not found")]
    NoSuchItem,
    #[error("Show not found")]
    NoSuchShow,
    #[error("Artwork not found")]
    NoSuchArtwork,
    #[error("Invalid season number")]
    BadSeason,
    #[error("Unsupported artwork type \"{0}\".")]
    BadType(String),
    #[error("dataBase64 is not valid base64")]
    NotBase64,
    /// Type that was given, and the format of the bytes.
    #[error("The picture is said to be {0}, and is a {found} picture", found = .1.label())]
    OtherMime(String, Format),
    #[error("The name {0} is not that of a {found} picture, which it is: rename it", found = .1.label())]
    OtherName(String, Format),
    #[error(transparent)]
    Refused(#[from] Refused),
    /// A picture beside media that is not served.
    #[error("{0}")]
    Unusable(Refused),
    #[error("There is no storage root for pictures: name one in FILE_MANAGER_ROOTS")]
    NoRoot,
    #[error("The picture is not stored here: use its url")]
    NotStored,
    #[error("The file of the picture is missing")]
    FileGone,
    #[error(transparent)]
    Path(FsError),
    /// Provider, and the reason.
    #[error("{0} does not answer: {1}")]
    Silent(String, String),
    #[error("The import was cancelled")]
    Cancelled,
    #[error(transparent)]
    Unsettled(#[from] Unsettled),
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

impl From<FsError> for ArtworkError {
    fn from(error: FsError) -> Self {
        match error {
            FsError::NotFound(_) => Self::FileGone,
            other => Self::Path(other),
        }
    }
}

impl ArtworkError {
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::NoSuchItem | Self::NoSuchShow | Self::NoSuchArtwork | Self::NotStored | Self::FileGone => {
                ErrorKind::NotFound
            }
            Self::BadSeason
            | Self::BadType(_)
            | Self::NotBase64
            | Self::OtherMime(..)
            | Self::OtherName(..)
            | Self::Refused(_)
            | Self::NoRoot => ErrorKind::BadRequest,
            Self::Unusable(_) | Self::Cancelled => ErrorKind::Conflict,
            Self::Path(error) => error.kind(),
            Self::Silent(..) => ErrorKind::Upstream,
            Self::Unsettled(_) | Self::Subjects(_) => ErrorKind::Unavailable,
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
            Self::NoSuchShow => "not_found.media_show",
            Self::NoSuchArtwork => "not_found.artwork",
            Self::NotStored => "not_found.stored_image",
            Self::FileGone => "not_found.image_file",
            Self::BadSeason => "bad_request.season",
            Self::BadType(_) => "bad_request.artwork_type",
            Self::NotBase64 => "bad_request.base64",
            Self::OtherMime(..) | Self::OtherName(..) => "bad_request.image_format",
            Self::Refused(_) => "bad_request.image",
            Self::NoRoot => "bad_request.no_root",
            Self::Unusable(_) => "conflict.image",
            Self::Cancelled => "conflict.cancelled",
            Self::Path(error) => error.code(),
            Self::Silent(..) => "upstream.metadata_provider",
            Self::Unsettled(_) => "unavailable.metadata_providers",
            Self::Subjects(_) => "unavailable.library",
            Self::Jobs(error) => error.code(),
            Self::Lane(error) => lane_code(error),
            Self::Acting(error) => error.code(),
            Self::Database(error) => error.kind().code(),
        }
    }
}

impl From<ArtworkError> for ApiError {
    fn from(error: ArtworkError) -> Self {
        ApiError::new(error.kind(), error.to_string())
            .with_code(error.code())
            .with_source(error)
    }
}
