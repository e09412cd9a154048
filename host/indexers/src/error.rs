//! What can go wrong in this area, and what each means to the caller.

use qm_db::DbError;
use qm_kernel::ErrorKind;
use qm_platform::ActingError;
use qm_web::ApiError;

use crate::model::failure::Failure;

#[derive(Debug, thiserror::Error)]
pub enum IndexersAreaError {
    #[error("Indexer not found")]
    NoSuchIndexer,
    #[error("Indexer is disabled")]
    Disabled,
    #[error("There are {0} indexers already: delete one that is no longer used first.")]
    TooMany(i64),
    /// Every broken rule of a configuration.
    #[error("{}", .0.join("; "))]
    Config(Vec<String>),
    /// What the indexer said, or why it was not asked.
    #[error("Indexer \"{name}\" request failed: {}", .failure.message)]
    Failed { name: String, failure: Failure },
    /// The caller's token allows it, but they no longer may.
    #[error(transparent)]
    Acting(#[from] ActingError),
    #[error(transparent)]
    Database(#[from] DbError),
}

impl IndexersAreaError {
    pub const fn kind(&self) -> ErrorKind {
        match self {
            IndexersAreaError::NoSuchIndexer => ErrorKind::NotFound,
            IndexersAreaError::Disabled | IndexersAreaError::Config(_) | IndexersAreaError::Failed { .. } => {
                ErrorKind::BadRequest
            }
            IndexersAreaError::TooMany(_) => ErrorKind::Conflict,
            IndexersAreaError::Acting(error) => error.kind(),
            IndexersAreaError::Database(error) => error.kind(),
        }
    }

    /// What stands in `code` of the answer; never changes.
    pub const fn code(&self) -> &'static str {
        match self {
            IndexersAreaError::NoSuchIndexer => "not_found.indexer",
            IndexersAreaError::Disabled => "bad_request.indexer_disabled",
            IndexersAreaError::TooMany(_) => "conflict.too_many_indexers",
            IndexersAreaError::Config(_) => "bad_request.rules",
            IndexersAreaError::Failed { failure, .. } => failure.code,
            IndexersAreaError::Acting(error) => error.code(),
            IndexersAreaError::Database(error) => error.kind().code(),
        }
    }
}

impl From<IndexersAreaError> for ApiError {
    fn from(error: IndexersAreaError) -> Self {
        if let IndexersAreaError::Config(messages) = error {
            return ApiError::validation(messages);
        }
        ApiError::new(error.kind(), error.to_string())
            .with_code(error.code())
            .with_source(error)
    }
}
