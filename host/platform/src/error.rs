//! Errors of changing settings.

use qm_db::DbError;
use qm_web::ApiError;

use crate::acting::ActingError;

#[derive(Debug, thiserror::Error)]
pub enum PlatformError {
    #[error("\"{key}\" cannot be changed here — use {route}.")]
    SettingHasRoute { key: &'static str, route: &'static str },
    /// Refused settings, each with the reason.
    #[error("{}", .0.join(", "))]
    BadSettings(Vec<String>),
    /// The token still allows it, but the user has lost the permission.
    #[error(transparent)]
    Acting(#[from] ActingError),
    #[error(transparent)]
    Db(#[from] DbError),
}

impl PlatformError {
    /// Stable machine-readable word in `code` of the answer; never changes.
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
