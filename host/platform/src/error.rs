//! What can go wrong in the routes of this area.

use qm_db::DbError;
use qm_plugin_host::PluginHostError;
use qm_web::ApiError;

use crate::acting::ActingError;

#[derive(Debug, thiserror::Error)]
pub enum PlatformError {
    #[error(transparent)]
    Plugin(#[from] PluginHostError),
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
            PlatformError::Plugin(PluginHostError::NoSuchPlugin(_)) => "not_found.plugin",
            PlatformError::Plugin(PluginHostError::NotReloaded { .. }) => "bad_request.plugin",
            PlatformError::Plugin(PluginHostError::NotAcceptable { .. }) => "conflict.plugin",
            PlatformError::Plugin(PluginHostError::NotGrantable { .. }) => "bad_request.plugin_grant",
            PlatformError::Plugin(
                plugin @ (PluginHostError::Directory { .. }
                | PluginHostError::File { .. }
                | PluginHostError::Sandbox(_)),
            ) => plugin.kind().code(),
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
            PlatformError::Plugin(PluginHostError::NoSuchPlugin(_)) => {
                (qm_kernel::ErrorKind::NotFound, "Plugin not found".to_owned())
            }
            PlatformError::Plugin(plugin) => (plugin.kind(), plugin.to_string()),
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
