//! What can go wrong in the routes of this area.

use qm_db::DbError;
use qm_plugin_host::PluginHostError;
use qm_web::ApiError;

#[derive(Debug, thiserror::Error)]
pub enum PlatformError {
    #[error(transparent)]
    Plugin(#[from] PluginHostError),
    #[error("\"{key}\" cannot be changed here — use {route}.")]
    SettingHasRoute { key: &'static str, route: &'static str },
    /// Every setting that cannot be stored, and why.
    #[error("{}", .0.join(", "))]
    BadSettings(Vec<String>),
    #[error(transparent)]
    Db(#[from] DbError),
}

impl From<PlatformError> for ApiError {
    fn from(error: PlatformError) -> Self {
        let (kind, message) = match &error {
            PlatformError::Plugin(PluginHostError::NoSuchPlugin(_)) => {
                return ApiError::new(qm_kernel::ErrorKind::NotFound, "Plugin not found");
            }
            PlatformError::Plugin(plugin) => (plugin.kind(), plugin.to_string()),
            PlatformError::SettingHasRoute { .. } => (qm_kernel::ErrorKind::Forbidden, error.to_string()),
            PlatformError::BadSettings(broken) => return ApiError::validation(broken.clone()),
            PlatformError::Db(db) => (db.kind(), db.to_string()),
        };
        ApiError::new(kind, message).with_source(error)
    }
}
