//! Errors of this area, and their meaning for the caller.

use qm_db::DbError;
use qm_kernel::{ErrorKind, Timestamp};
use qm_web::ApiError;

use crate::model::{MOST_POINTS, Step};

#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    #[error("No torrent engine is configured")]
    NoEngine,
    #[error("Engine not found")]
    NoSuchEngine,
    #[error("Torrent not found: no engine lists it, and nothing is kept of it")]
    NoSuchTorrent,
    #[error("from ({0}) must be before to ({1})")]
    EmptyRange(Timestamp, Timestamp),
    #[error(
        "From `from` to `to` there are {count} steps of {}, and {MOST_POINTS} are answered at most: ask for a longer step or a shorter time",
        .step.as_str()
    )]
    TooManyPoints { count: i64, step: Step },
    #[error(transparent)]
    Database(#[from] DbError),
}

impl HistoryError {
    pub const fn kind(&self) -> ErrorKind {
        match self {
            Self::NoEngine | Self::NoSuchEngine | Self::NoSuchTorrent => ErrorKind::NotFound,
            Self::EmptyRange(..) | Self::TooManyPoints { .. } => ErrorKind::BadRequest,
            Self::Database(error) => error.kind(),
        }
    }

    /// Value of `code` in the answer; never changes.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NoEngine => "not_found.no_engine",
            Self::NoSuchEngine => "not_found.engine",
            Self::NoSuchTorrent => "not_found.torrent",
            Self::EmptyRange(..) => "bad_request.range",
            Self::TooManyPoints { .. } => "bad_request.too_many_steps",
            Self::Database(error) => error.kind().code(),
        }
    }
}

impl From<HistoryError> for ApiError {
    fn from(error: HistoryError) -> Self {
        ApiError::new(error.kind(), error.to_string())
            .with_code(error.code())
            .with_source(error)
    }
}
