//! Preferences of the torrent clients themselves: one trait, [`ClientPreferences`], over the loaded engines.

use async_trait::async_trait;
use qm_kernel::ErrorKind;
use serde_json::{Map, Value};

/// Preferences of a client as its plugin tells them.
#[derive(Clone, Debug)]
pub struct ToldPreferences {
    /// The engine's name.
    pub engine: String,
    /// JSON Schema, an object schema.
    pub schema: Value,
    /// By the names of the schema's properties.
    pub values: Map<String, Value>,
}

/// Why preferences were neither read nor changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct PreferencesError {
    pub kind: ErrorKind,
    /// A word that never changes.
    pub code: &'static str,
    /// A sentence that names the engine.
    pub message: String,
}

impl PreferencesError {
    /// Every code there is, for the document of whoever asks.
    pub const CODES: &[(ErrorKind, &str)] = &[
        (ErrorKind::NotFound, "not_found.engine"),
        (ErrorKind::NotFound, "not_found.engine_unavailable"),
        (ErrorKind::Unavailable, "unavailable.plugin_settling"),
        (ErrorKind::Unavailable, "unavailable.engine"),
        (ErrorKind::Unavailable, "unavailable.busy"),
        (ErrorKind::BadRequest, "bad_request.unsupported"),
        (ErrorKind::Unsupported, "unsupported.preferences"),
        (ErrorKind::BadRequest, "bad_request.engine_config"),
        (ErrorKind::BadRequest, "bad_request.engine_refused"),
        (ErrorKind::BadRequest, "bad_request.path"),
        (ErrorKind::BadRequest, "bad_request.path_characters"),
        (ErrorKind::Forbidden, "forbidden.system_directory"),
        (ErrorKind::Forbidden, "forbidden.outside_roots"),
        (ErrorKind::Upstream, "upstream.engine_unreachable"),
        (ErrorKind::Upstream, "upstream.engine_login"),
        (ErrorKind::Upstream, "upstream.engine_protocol"),
        (ErrorKind::Upstream, "upstream.plugin"),
        (ErrorKind::UpstreamTimeout, "upstream_timeout.engine"),
    ];
}

/// Offered by torrents. Knows the paths that clients may be told; the schema is the caller's to hold changes against.
#[async_trait]
pub trait ClientPreferences: Send + Sync {
    /// Asks a client for its preferences.
    async fn read_preferences(&self, engine_id: &str) -> Result<ToldPreferences, PreferencesError>;

    /// Changes the preferences that are named, and no others. `directories` are those whose value is a directory: each is judged
    /// as a save path is, and the client is told where it leads.
    async fn change_preferences(
        &self,
        engine_id: &str,
        changes: Map<String, Value>,
        directories: &[String],
    ) -> Result<(), PreferencesError>;
}
