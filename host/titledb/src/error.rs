//! Errors of this area and the answer that the caller gets for each.

use qm_db::DbError;
use qm_jobs::JobsError;
use qm_kernel::ErrorKind;
use qm_lanes::LaneError;
use qm_platform::ActingError;
use qm_web::{ApiError, lane_code, lane_kind};

#[derive(Debug, thiserror::Error)]
pub enum TitledbError {
    #[error("Invalid id")]
    InvalidId,
    #[error("Title not found")]
    NoSuchTitle,
    #[error("A path is required.")]
    NoPath,
    #[error("Path is a protected system directory.")]
    Protected,
    /// Refused path, with the list of allowed roots.
    #[error("Path is outside the allowed storage roots ({0}).")]
    Outside(String),
    #[error("No import is running")]
    NotRunning,
    #[error("An import is active: stop it first")]
    Active,
    /// The token still allows it, but the user has lost the permission.
    #[error(transparent)]
    Acting(#[from] ActingError),
    #[error(transparent)]
    Jobs(#[from] JobsError),
    #[error(transparent)]
    Lane(#[from] LaneError),
    #[error(transparent)]
    Database(#[from] DbError),
}

impl TitledbError {
    pub fn kind(&self) -> ErrorKind {
        match self {
            TitledbError::InvalidId | TitledbError::NoPath | TitledbError::Active => ErrorKind::BadRequest,
            TitledbError::NoSuchTitle | TitledbError::NotRunning => ErrorKind::NotFound,
            TitledbError::Protected | TitledbError::Outside(_) => ErrorKind::Forbidden,
            TitledbError::Acting(error) => error.kind(),
            TitledbError::Jobs(error) => error.kind(),
            TitledbError::Lane(error) => lane_kind(error),
            TitledbError::Database(error) => error.kind(),
        }
    }

    /// Stable machine-readable word in `code` of the answer; never changes.
    pub fn code(&self) -> &'static str {
        match self {
            TitledbError::InvalidId => "bad_request.titledb_id",
            TitledbError::NoSuchTitle => "not_found.title",
            TitledbError::NoPath => "bad_request.path_required",
            TitledbError::Protected => "forbidden.protected_path",
            TitledbError::Outside(_) => "forbidden.outside_roots",
            TitledbError::NotRunning => "not_found.titledb_import",
            TitledbError::Active => "bad_request.import_active",
            TitledbError::Acting(error) => error.code(),
            TitledbError::Jobs(error) => error.code(),
            TitledbError::Lane(error) => lane_code(error),
            TitledbError::Database(error) => error.kind().code(),
        }
    }
}

impl From<TitledbError> for ApiError {
    fn from(error: TitledbError) -> Self {
        ApiError::new(error.kind(), error.to_string())
            .with_code(error.code())
            .with_source(error)
    }
}
