//! Media servers: how a product that plays media is spoken to, whatever the plugin and the version of the API its component
//! was written against.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::settling::Settling;

/// Operations that a product supports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ServerAbilities {
    pub libraries: bool,
    pub recently_added: bool,
    pub sessions: bool,
    pub watch_history: bool,
    pub refresh: bool,
    pub terminate_sessions: bool,
    /// A refresh of one library alone.
    pub refresh_library: bool,
    /// A refresh of one folder alone.
    pub refresh_path: bool,
}

/// A product that an installed plugin speaks to.
#[derive(Clone, Debug, PartialEq)]
pub struct MediaServerKind {
    /// The id that integrations are stored with, e.g. `plex`. It is its plugin's id too.
    pub id: String,
    /// Its name for people.
    pub label: String,
    /// The plugin's own version.
    pub version: String,
    /// JSON Schema of a configuration.
    pub config_schema: Value,
    /// The product's name as its servers are listed with.
    pub platform: String,
    pub abilities: ServerAbilities,
}

/// The configuration of one media server, secrets in clear: handed to the plugin and nowhere else.
#[derive(Clone, Default)]
pub struct MediaServerConfig {
    pub fields: Map<String, Value>,
    /// Time limit on a call, in milliseconds; none: 8,000.
    pub timeout_ms: Option<u32>,
}

impl std::fmt::Debug for MediaServerConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.fields.keys()).finish()
    }
}

/// A media server's name and version, as it tells them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerAbout {
    pub name: Option<String>,
    pub version: Option<String>,
}

/// The part of its content that a media server should look through. Where the product cannot look through that part
/// alone, it looks through everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// The product's id of a library; none: the configured one, or all.
    pub library: Option<String>,
    /// A folder as the media server sees it.
    pub path: Option<String>,
}

/// Somebody who is watching or listening. What the product does not say is none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlaySession {
    pub id: String,
    pub user_id: Option<String>,
    pub user_name: Option<String>,
    /// For people: the show and the episode, or the film.
    pub title: String,
    pub show_title: Option<String>,
    pub episode_title: Option<String>,
    pub season: Option<u32>,
    pub episode: Option<u32>,
    pub year: Option<u32>,
    pub media_type: Option<String>,
    pub library_name: Option<String>,
    pub device: Option<String>,
    pub client: Option<String>,
    /// Without a port.
    pub ip_address: Option<String>,
    pub playback_state: Option<String>,
    /// 0 to 100.
    pub progress_percent: Option<u32>,
    pub playback_method: Option<String>,
    pub video_codec: Option<String>,
    pub audio_codec: Option<String>,
    pub resolution: Option<String>,
    pub dynamic_range: Option<String>,
    pub container: Option<String>,
    /// kbit/s.
    pub bitrate: Option<u32>,
    /// The path of its picture, below the base URL, without a credential.
    pub art_path: Option<String>,
    /// Source (`titledb`, `provider_a`, `provider_b`, ...) and id.
    pub external_ids: Vec<(String, String)>,
}

/// Why a media server did not do it. None of them is a bug of the host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MediaServerError {
    #[error("{0}")]
    Unreachable(String),
    #[error("{0}")]
    Timeout(String),
    /// It refused the credentials.
    #[error("{0}")]
    Auth(String),
    #[error("{message}")]
    Status { status: u16, message: String },
    /// It answered something else than its protocol.
    #[error("{0}")]
    Unparsable(String),
    #[error("{0}")]
    TooLarge(String),
    /// It redirects elsewhere.
    #[error("{0}")]
    Redirected(String),
    #[error("{0}")]
    InvalidConfig(String),
    #[error("{0}")]
    Unsupported(String),
    /// The plugin asked for something nobody granted it.
    #[error("its plugin may not do that: {0}")]
    Denied(String),
    /// Too many calls wait for its plugin.
    #[error("is busy")]
    Busy,
    /// No installed plugin speaks to the product.
    #[error("{0}")]
    Missing(String),
    #[error("Integration is disabled.")]
    Disabled,
    /// Stored data of the server could not be read or written.
    #[error("{0}")]
    Storage(String),
    /// The plugin trapped, ran out of its budget or is parked after too many strikes.
    #[error("its plugin failed: {0}")]
    Plugin(String),
}

/// The products that installed plugins speak to. Calls never panic and never block a thread; every one ends.
#[async_trait]
pub trait MediaServerKinds: Send + Sync {
    /// Every kind, sorted by id.
    fn kinds(&self) -> Vec<MediaServerKind>;
    /// A notice that a plugin which may provide this kind is still being loaded; `None` once there is no such plugin.
    fn settling(&self, _kind: &str) -> Option<Settling> {
        None
    }
    /// Asks who the server is, and proves the credentials.
    async fn test(&self, kind: &str, config: MediaServerConfig) -> Result<ServerAbout, MediaServerError>;
    /// Has it look for new, changed and removed files; it answers before it has looked.
    async fn refresh(
        &self,
        kind: &str,
        config: MediaServerConfig,
        extent: Extent,
    ) -> Result<(), MediaServerError>;
    async fn sessions(
        &self,
        kind: &str,
        config: MediaServerConfig,
    ) -> Result<Vec<PlaySession>, MediaServerError>;
    /// Ends a session, and shows `message` to who is watching where the product can.
    async fn terminate(
        &self,
        kind: &str,
        config: MediaServerConfig,
        session: &str,
        message: Option<&str>,
    ) -> Result<(), MediaServerError>;
}

/// A media server that an administrator connected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MediaServer {
    pub id: String,
    pub name: String,
    pub kind: String,
    pub is_enabled: bool,
    /// True if it answered the last request; none: it was never asked.
    pub is_online: Option<bool>,
    /// Its version, as it told when it last answered.
    pub version: Option<String>,
    /// None of them while no installed plugin speaks to its kind.
    pub abilities: ServerAbilities,
}

/// The result of refreshing one of many servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refreshed {
    pub id: String,
    pub name: String,
    pub outcome: Result<(), MediaServerError>,
}

/// The connected media servers. Who may have them asked is judged by the caller.
#[async_trait]
pub trait MediaServers: Send + Sync {
    /// All of them, the oldest first.
    async fn servers(&self) -> Result<Vec<MediaServer>, MediaServerError>;
    /// Has every enabled one look for files; one that fails holds up no other.
    async fn refresh_all(&self, extent: &Extent) -> Result<Vec<Refreshed>, MediaServerError>;
    async fn refresh(&self, id: &str, extent: Extent) -> Result<(), MediaServerError>;
    async fn sessions(&self, id: &str) -> Result<Vec<PlaySession>, MediaServerError>;
    async fn terminate(&self, id: &str, session: &str, message: Option<&str>)
    -> Result<(), MediaServerError>;
}
