//! Errors of this area, and their meaning for the caller.

use qm_confined::FsError;
use qm_db::DbError;
use qm_jobs::JobsError;
use qm_kernel::ErrorKind;
use qm_lanes::LaneError;
use qm_platform::ActingError;
use qm_web::{ApiError, lane_code, lane_kind};

use crate::model::{MAX_ACTIVE, State};

#[derive(Debug, thiserror::Error)]
pub enum CreatedError {
    #[error("Created torrent not found")]
    NoSuchTorrent,
    /// There is no file yet, or never will be.
    #[error("There is no file of this torrent, which is {}: wait until it is completed, or create it again", .0.as_str())]
    NotMade(State),
    #[error("{MAX_ACTIVE} torrents of yours are being created: wait until one is done, or delete one")]
    TooMany,
    #[error("There is no engine with the id \"{0}\": name one of `GET /api/engines`, or leave seed out")]
    NoSuchEngine(String),
    /// The engine would refuse the torrent.
    #[error("seed: {0}")]
    Seed(String),
    #[error("{0}")]
    Engine(String),
    /// Name of an engine.
    #[error(
        "{0} does not complete hybrid torrents of a folder, because it takes their padding for files: create a v1 torrent, \
         or leave seed out"
    )]
    HybridFolder(String),
    #[error(transparent)]
    Path(#[from] FsError),
    /// Setting that cannot be read.
    #[error("The root of the files cannot be read: try again in some seconds")]
    Root(String),
    #[error(transparent)]
    Lane(#[from] LaneError),
    #[error(transparent)]
    Jobs(#[from] JobsError),
    /// The caller's token allows it, but they no longer may.
    #[error(transparent)]
    Acting(#[from] ActingError),
    #[error(transparent)]
    Database(#[from] DbError),
}

impl CreatedError {
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::NoSuchTorrent | Self::NoSuchEngine(_) => ErrorKind::NotFound,
            Self::NotMade(_) | Self::TooMany => ErrorKind::Conflict,
            Self::Seed(_) | Self::HybridFolder(_) => ErrorKind::BadRequest,
            Self::Engine(_) | Self::Root(_) => ErrorKind::Unavailable,
            Self::Path(error) => error.kind(),
            Self::Lane(error) => lane_kind(error),
            Self::Jobs(error) => error.kind(),
            Self::Acting(error) => error.kind(),
            Self::Database(error) => error.kind(),
        }
    }

    /// Value of `code` in the answer; never changes.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoSuchTorrent => "not_found.created_torrent",
            Self::NoSuchEngine(_) => "not_found.engine",
            Self::NotMade(_) => "conflict.not_made",
            Self::TooMany => "conflict.too_many_created",
            Self::Seed(_) => "bad_request.seed",
            Self::HybridFolder(_) => "bad_request.hybrid_folder",
            Self::Engine(_) => "unavailable.engine",
            Self::Root(_) => "unavailable.database",
            Self::Path(error) => error.code(),
            Self::Lane(error) => lane_code(error),
            Self::Jobs(error) => error.code(),
            Self::Acting(error) => error.code(),
            Self::Database(error) => error.kind().code(),
        }
    }
}

impl From<CreatedError> for ApiError {
    fn from(error: CreatedError) -> Self {
        ApiError::new(error.kind(), error.to_string())
            .with_code(error.code())
            .with_source(error)
    }
}
