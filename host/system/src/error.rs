//! Errors of the routes of this area.

use qm_db::DbError;
use qm_platform::ActingError;
use qm_platform::config_schema::BadSchema;
use qm_plugin_host::PluginHostError;
use qm_ports::Settling;
use qm_web::ApiError;

#[derive(Debug, thiserror::Error)]
pub enum SystemError {
    #[error(transparent)]
    Plugin(#[from] PluginHostError),
    #[error("There is no module \"{0}\": GET /api/modules lists them")]
    NoSuchModule(String),
    /// The token still allows it, but the user has lost the permission.
    #[error(transparent)]
    Acting(#[from] ActingError),
    /// Every rule that a configuration violates.
    #[error("{}", .0.join(", "))]
    Configuration(Vec<String>),
    /// The plugin's schema cannot be used.
    #[error(transparent)]
    Schema(BadSchema),
    #[error(transparent)]
    Db(#[from] DbError),
}

impl SystemError {
    /// Stable machine-readable word in `code` of the answer; never changes.
    fn code(&self) -> &'static str {
        match self {
            SystemError::Plugin(PluginHostError::NoSuchPlugin(_)) => "not_found.plugin",
            SystemError::Plugin(PluginHostError::Settling(_)) => Settling::CODE,
            SystemError::Plugin(PluginHostError::NotReloaded { .. }) => "bad_request.plugin",
            SystemError::Plugin(PluginHostError::NotAcceptable { .. }) => "conflict.plugin",
            SystemError::Plugin(PluginHostError::NotGrantable { .. }) => "bad_request.plugin_grant",
            SystemError::Plugin(PluginHostError::NotConfigurable { .. }) => {
                "bad_request.plugin_configuration"
            }
            SystemError::Plugin(
                plugin @ (PluginHostError::Directory { .. }
                | PluginHostError::File { .. }
                | PluginHostError::Sandbox(_)),
            ) => plugin.kind().code(),
            SystemError::NoSuchModule(_) => "not_found.module",
            SystemError::Acting(acting) => acting.code(),
            SystemError::Configuration(_) => "bad_request.rules",
            SystemError::Schema(_) => "upstream.plugin_schema",
            SystemError::Db(db) => db.kind().code(),
        }
    }
}

impl From<SystemError> for ApiError {
    fn from(error: SystemError) -> Self {
        let (kind, message) = match &error {
            SystemError::Plugin(PluginHostError::NoSuchPlugin(_)) => {
                (qm_kernel::ErrorKind::NotFound, "Plugin not found".to_owned())
            }
            SystemError::Plugin(plugin) => (plugin.kind(), plugin.to_string()),
            SystemError::NoSuchModule(_) => (qm_kernel::ErrorKind::NotFound, error.to_string()),
            SystemError::Acting(acting) => (acting.kind(), acting.to_string()),
            SystemError::Configuration(broken) => return ApiError::validation(broken.clone()),
            SystemError::Schema(schema) => (qm_kernel::ErrorKind::Upstream, schema.to_string()),
            SystemError::Db(db) => (db.kind(), db.to_string()),
        };
        ApiError::new(kind, message)
            .with_code(error.code())
            .with_source(error)
    }
}
