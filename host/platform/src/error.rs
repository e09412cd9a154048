//! What can go wrong when somebody changes settings.

use qm_db::DbError;
use qm_web::ApiError;

use crate::acting::ActingError;

#[derive(Debug, thiserror::Error)]
pub enum PlatformError {
    #[error("\"{key}\" cannot be changed here — use {route}.")]
    SettingHasRoute { key: &'static str, route: &'static str },
    /// Every setting that cannot be stored, and why.
    #[error("{}", .0.join(", "))]
    BadSettings(Vec<String>),
    /// The caller's token allows it, but they no longer may.
    #[error(transparent)]
    Acting(#[from] ActingError),
    #[error(transparent)]
    Db(#[from] DbError),
}

impl PlatformError {
    /// What stands in `code` of the answer; never changes.
    fn code(&self) -> &'static str {
        match self {
            PlatformError::SettingHasRoute { .. } => "forbidden.setting",
            PlatformError::BadSettings(_) => "bad_request.rules",
            PlatformError::Acting(acting) => acting.code(),
            PlatformError::Db(db) => db.kind().code(),
        }
    }
}

impl From<PlatformError> for ApiError {
    fn from(error: PlatformError) -> Self {
        let (kind, message) = match &error {
            PlatformError::SettingHasRoute { .. } => (qm_kernel::ErrorKind::Forbidden, error.to_string()),
            PlatformError::BadSettings(broken) => return ApiError::validation(broken.clone()),
            PlatformError::Acting(acting) => (acting.kind(), acting.to_string()),
            PlatformError::Db(db) => (db.kind(), db.to_string()),
        };
        ApiError::new(kind, message)
            .with_code(error.code())
            .with_source(error)
    }
}
