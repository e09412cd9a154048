//! What can go wrong in this area, and what each means to the caller.

use qm_db::DbError;
use qm_kernel::ErrorKind;
use qm_platform::ActingError;
use qm_ports::Settling;
use qm_web::ApiError;

#[derive(Debug, thiserror::Error)]
pub enum MetadataError {
    /// The plugin of a provider may yet come up.
    #[error(transparent)]
    Settling(#[from] Settling),
    /// The caller's token allows it, but they no longer may.
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

    /// What stands in `code` of the answer; never changes.
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
