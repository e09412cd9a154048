//! Errors of this area, and their meaning for the caller.

use qm_db::DbError;
use qm_engines::TorrentsError;
use qm_kernel::ErrorKind;
use qm_platform::ActingError;
use qm_web::ApiError;

#[derive(Debug, thiserror::Error)]
pub enum LimitsError {
    #[error("Engine not found")]
    NoSuchEngine,
    #[error("Category not found")]
    NoSuchCategory,
    #[error("Torrent not found")]
    NoSuchTorrent,
    /// Which engine a request means, or that engine, also what it lacks.
    #[error(transparent)]
    Engine(#[from] TorrentsError),
    #[error("No limits of speed are set for the engine: set them first, by `PUT /api/engines/{0}/speed`")]
    NoSpeed(String),
    /// The client's own limits could not be cleared.
    #[error("The limits are set, but those of the client itself are not cleared: {0}")]
    NotCleared(String),
    /// The caller's token allows it, but they no longer may.
    #[error(transparent)]
    Acting(#[from] ActingError),
    #[error(transparent)]
    Database(#[from] DbError),
}

impl LimitsError {
    /// The answer of an error of the torrents area is its own.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::NoSuchEngine | Self::NoSuchCategory | Self::NoSuchTorrent => ErrorKind::NotFound,
            Self::Engine(error) => error.kind(),
            Self::NoSpeed(_) => ErrorKind::Conflict,
            Self::NotCleared(_) => ErrorKind::Upstream,
            Self::Acting(error) => error.kind(),
            Self::Database(error) => error.kind(),
        }
    }

    /// Value of `code` in the answer; never changes.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NoSuchEngine => "not_found.engine",
            Self::NoSuchCategory => "not_found.category",
            Self::NoSuchTorrent => "not_found.torrent",
            Self::Engine(error) => error.code(),
            Self::NoSpeed(_) => "conflict.no_speed",
            Self::NotCleared(_) => "upstream.limits_not_cleared",
            Self::Acting(error) => error.code(),
            Self::Database(error) => error.kind().code(),
        }
    }
}

impl From<LimitsError> for ApiError {
    fn from(error: LimitsError) -> Self {
        if let LimitsError::Engine(error) = error {
            return error.into();
        }
        ApiError::new(error.kind(), error.to_string())
            .with_code(error.code())
            .with_source(error)
    }
}
