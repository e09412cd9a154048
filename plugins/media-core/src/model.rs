//! Records of the plugins, without bindings.

use crate::access::Access;
use crate::answer::Net;

/// Features that a product offers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Abilities {
    pub libraries: bool,
    pub recently_added: bool,
    pub sessions: bool,
    pub watch_history: bool,
    pub refresh: bool,
    pub terminate_sessions: bool,
    pub refresh_library: bool,
    pub refresh_path: bool,
}

/// Name and version of a server, as it tells them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    pub name: Option<String>,
    pub version: Option<String>,
}

/// Part of the libraries to scan: one library, one path, or all when both are absent.
#[derive(Clone, Debug, Default)]
pub struct Extent {
    pub library: Option<String>,
    pub path: Option<String>,
}

/// Playback session of a user who is watching or listening.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Playing {
    pub id: String,
    pub user_id: Option<String>,
    pub user_name: Option<String>,
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
    pub ip_address: Option<String>,
    pub playback_state: Option<String>,
    pub progress_percent: Option<u32>,
    pub playback_method: Option<String>,
    pub video_codec: Option<String>,
    pub audio_codec: Option<String>,
    pub resolution: Option<String>,
    pub dynamic_range: Option<String>,
    pub container: Option<String>,
    /// kbit/s.
    pub bitrate: Option<u32>,
    pub art_path: Option<String>,
    pub external_ids: Vec<(&'static str, String)>,
}

/// Failure of a call: a sentence for the person who configured the server, without a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    Unreachable(String),
    Timeout(String),
    Auth(String),
    Status { status: u16, message: String },
    Unparsable(String),
    TooLarge(String),
    Redirected(String),
    InvalidConfig(String),
    Unsupported(String),
    Denied(String),
}

/// A product that plays media.
pub trait Product {
    /// Stored kind of the product's integrations.
    fn id(&self) -> &'static str;
    /// Name of the product for people.
    fn label(&self) -> &'static str;
    /// Name of the product in the list of servers.
    fn platform(&self) -> &'static str;
    fn abilities(&self) -> Abilities;
    /// JSON Schema of a configuration.
    fn schema(&self) -> &'static str;
    /// Refuses a configuration that lacks a value needed by every call.
    fn check(&self, access: &Access) -> Result<(), Fault>;
    fn test(&self, access: &Access, net: &dyn Net) -> Result<About, Fault>;
    fn refresh(&self, access: &Access, extent: &Extent, net: &dyn Net) -> Result<(), Fault>;

    fn sessions(&self, _: &Access, _: &dyn Net) -> Result<Vec<Playing>, Fault> {
        Err(self.lacks("getSessions"))
    }

    fn terminate(&self, _: &Access, _: &str, _: Option<&str>, _: &dyn Net) -> Result<(), Fault> {
        Err(self.lacks("terminateSession"))
    }

    fn lacks(&self, what: &str) -> Fault {
        Fault::Unsupported(format!("{} does not support \"{what}\".", self.id()))
    }
}
