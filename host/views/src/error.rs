//! Errors of this area, and their meaning for the caller.

use qm_db::DbError;
use qm_kernel::ErrorKind;
use qm_platform::ActingError;
use qm_web::ApiError;

use crate::model::MAX_VIEWS;

#[derive(Debug, thiserror::Error)]
pub enum ViewsError {
    #[error("View not found")]
    NoSuchView,
    #[error("You have a view named \"{0}\" already: choose another name, or change that view")]
    NameTaken(String),
    #[error("You have {MAX_VIEWS} views, and more are not kept: delete one first")]
    TooMany,
    /// The caller's token allows it, but they no longer may.
    #[error(transparent)]
    Acting(#[from] ActingError),
    #[error(transparent)]
    Database(#[from] DbError),
}

impl ViewsError {
    pub const fn kind(&self) -> ErrorKind {
        match self {
            Self::NoSuchView => ErrorKind::NotFound,
            Self::NameTaken(_) | Self::TooMany => ErrorKind::Conflict,
            Self::Acting(error) => error.kind(),
            Self::Database(error) => error.kind(),
        }
    }

    /// Value of `code` in the answer; never changes.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NoSuchView => "not_found.view",
            Self::NameTaken(_) => "conflict.view_name",
            Self::TooMany => "conflict.too_many_views",
            Self::Acting(error) => error.code(),
            Self::Database(error) => error.kind().code(),
        }
    }
}

impl From<ViewsError> for ApiError {
    fn from(error: ViewsError) -> Self {
        ApiError::new(error.kind(), error.to_string())
            .with_code(error.code())
            .with_source(error)
    }
}
