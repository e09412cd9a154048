//! Why the plugin host as a whole refuses something. A broken plugin is not among it: that is a state of the plugin.

use std::io;
use std::path::PathBuf;

use qm_kernel::ErrorKind;
use qm_ports::Settling;

#[derive(Debug, thiserror::Error)]
pub enum PluginHostError {
    #[error("cannot read the plugins directory `{}`: create it, or set PLUGINS_DIR to where the plugins are", .path.display())]
    Directory {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("cannot read the plugin file `{}`", .path.display())]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("the sandbox cannot start: {0}")]
    Sandbox(String),
    /// Perhaps there will be one of that id.
    #[error(transparent)]
    Settling(Settling),
    #[error("no plugin `{0}`")]
    NoSuchPlugin(String),
    #[error("the plugin `{id}` was not reloaded: {reason}")]
    NotReloaded { id: String, reason: String },
    #[error("the plugin `{id}` cannot be granted that: {reason}")]
    NotGrantable { id: String, reason: String },
    #[error("the plugin `{id}` has no configuration of its own: {reason}")]
    NotConfigurable { id: String, reason: String },
    #[error("`{file}` cannot have the id `{id}`: {reason}")]
    NotAcceptable {
        id: String,
        file: String,
        reason: String,
    },
}

impl PluginHostError {
    pub const fn kind(&self) -> ErrorKind {
        match self {
            PluginHostError::Directory { .. }
            | PluginHostError::File { .. }
            | PluginHostError::Sandbox(_) => ErrorKind::Internal,
            PluginHostError::Settling(_) => Settling::KIND,
            PluginHostError::NoSuchPlugin(_) => ErrorKind::NotFound,
            PluginHostError::NotReloaded { .. }
            | PluginHostError::NotGrantable { .. }
            | PluginHostError::NotConfigurable { .. } => ErrorKind::BadRequest,
            PluginHostError::NotAcceptable { .. } => ErrorKind::Conflict,
        }
    }
}
