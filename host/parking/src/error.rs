//! Errors of this area, and their meaning for the caller.

use qm_db::DbError;
use qm_engines::TorrentsError;
use qm_kernel::ErrorKind;
use qm_platform::ActingError;
use qm_web::ApiError;

#[derive(Debug, thiserror::Error)]
pub enum ParkingError {
    #[error("Engine not found")]
    NoSuchEngine,
    /// Which engine a request means, or what its client said.
    #[error(transparent)]
    Engine(#[from] TorrentsError),
    #[error(
        "The sweep takes long, and goes on: the realtime message `torrents.parking.updated` and `GET /api/torrents/parking` \
         tell its result"
    )]
    Slow,
    #[error("The server is stopping: try again in a moment")]
    Stopping,
    /// The cause stands in the log.
    #[error("the sweep failed")]
    Failed,
    /// The caller's token allows it, but they no longer may.
    #[error(transparent)]
    Acting(#[from] ActingError),
    #[error(transparent)]
    Database(#[from] DbError),
}

impl ParkingError {
    /// The answer of an error of the torrents area is its own.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::NoSuchEngine => ErrorKind::NotFound,
            Self::Engine(error) => error.kind(),
            Self::Slow => ErrorKind::UpstreamTimeout,
            Self::Stopping => ErrorKind::Unavailable,
            Self::Failed => ErrorKind::Internal,
            Self::Acting(error) => error.kind(),
            Self::Database(error) => error.kind(),
        }
    }

    /// Value of `code` in the answer; never changes.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NoSuchEngine => "not_found.engine",
            Self::Engine(error) => error.code(),
            Self::Slow => "upstream_timeout.sweep",
            Self::Stopping => "unavailable.stopping",
            Self::Failed => ErrorKind::Internal.code(),
            Self::Acting(error) => error.code(),
            Self::Database(error) => error.kind().code(),
        }
    }
}

impl From<ParkingError> for ApiError {
    fn from(error: ParkingError) -> Self {
        if let ParkingError::Engine(error) = error {
            return error.into();
        }
        ApiError::new(error.kind(), error.to_string())
            .with_code(error.code())
            .with_source(error)
    }
}
