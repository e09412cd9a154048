//! Errors of this area and the answer that the caller gets for each.

use qm_db::DbError;
use qm_kernel::ErrorKind;
use qm_platform::ActingError;
use qm_ports::Settling;
use qm_web::ApiError;

#[derive(Debug, thiserror::Error)]
pub enum MetadataError {
    /// Plugins are still being compiled, so the provider may appear soon.
    #[error(transparent)]
    Settling(#[from] Settling),
    /// The token still allows it, but the user has lost the permission.
    #[error(transparent)]
    Acting(#[from] ActingError),
    #[error(transparent)]
    Database(#[from] DbError),
}

impl MetadataError {
    pub fn kind(&self) -> ErrorKind {
        match self {
            MetadataError::Settling(_) => Settling::KIND,
            MetadataError::Acting(error) => error.kind(),
            MetadataError::Database(error) => error.kind(),
        }
    }

    /// Stable machine-readable word in `code` of the answer; never changes.
    pub fn code(&self) -> &'static str {
        match self {
            MetadataError::Settling(_) => Settling::CODE,
            MetadataError::Acting(error) => error.code(),
            MetadataError::Database(error) => error.kind().code(),
        }
    }
}

impl From<MetadataError> for ApiError {
    fn from(error: MetadataError) -> Self {
        ApiError::new(error.kind(), error.to_string())
            .with_code(error.code())
            .with_source(error)
    }
}
