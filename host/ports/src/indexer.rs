//! Indexers. [`Protocols`] talks to the product behind an indexer, whatever the plugin and the version of the API its
//! component was written against. [`Indexers`] searches all configured indexers together, and fetches what they list.

use async_trait::async_trait;
use qm_kernel::ErrorKind;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::settling::Settling;

/// A protocol that an installed plugin speaks.
#[derive(Clone, Debug, PartialEq)]
pub struct ProtocolKind {
    /// The neutral id that indexers are stored with, e.g. `torznab`.
    pub id: String,
    /// Its name for people.
    pub label: String,
    /// The way its releases are downloaded: `torrent` or `usenet`.
    pub protocol: String,
    /// The id of the plugin that provides it.
    pub plugin: String,
    /// The plugin's own version.
    pub version: String,
    /// JSON Schema of a configuration.
    pub config_schema: Value,
    /// Words for what it offers beyond the common ground.
    pub capabilities: Vec<String>,
}

/// The configuration of one indexer, secrets in clear: handed to the plugin and nowhere else.
#[derive(Clone, Default)]
pub struct IndexerConfig {
    pub fields: Map<String, Value>,
    /// Time limit on one call, in milliseconds.
    pub timeout_ms: u32,
}

impl std::fmt::Debug for IndexerConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.fields.keys()).finish()
    }
}

/// Capabilities that an indexer declares.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Caps {
    /// Left out when it says nothing of its server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<CapsServer>,
    #[serde(default)]
    pub tv_search: bool,
    #[serde(default)]
    pub movie_search: bool,
    /// Parameters that a search for an episode supports.
    #[serde(default)]
    pub supported_params: Vec<String>,
    #[serde(default)]
    pub categories: Vec<CapsCategory>,
    /// Left out when it says nothing of limits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<CapsLimits>,
    /// Oddities of the answer, as sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapsServer {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapsCategory {
    pub id: u32,
    pub name: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapsLimits {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<u32>,
}

/// One question to one indexer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// As somebody entered it; the plugin makes of it what its product understands.
    pub term: String,
    pub season: Option<u32>,
    pub episode: Option<u32>,
    pub categories: Vec<u32>,
    /// Season and episode may be asked for by number; otherwise they stand in the term.
    pub tv_search: bool,
}

/// A release as an indexer lists it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Release {
    pub title: String,
    /// A magnet link, or the URL of a file; none when there is neither.
    pub download_url: Option<String>,
    /// Lower-case hexadecimal where it can be told.
    pub info_hash: Option<String>,
    /// Bytes.
    pub size: Option<u64>,
    pub seeders: Option<u32>,
    pub peers: Option<u32>,
    pub grabs: Option<u32>,
    pub categories: Vec<u32>,
    /// Unix milliseconds.
    pub published: Option<i64>,
    /// The indexer's own id of the release.
    pub guid: Option<String>,
    /// Its page, for people.
    pub page: Option<String>,
    /// Whatever else it says, by its own names.
    pub extra: Vec<(String, String)>,
}

/// The answer of an indexer to a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    pub releases: Vec<Release>,
    /// Oddities of the answer, as sentences.
    pub warnings: Vec<String>,
}

/// The target of an indexer's link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Payload {
    /// A .torrent file.
    Torrent(Vec<u8>),
    Magnet(String),
    /// A URL that is not the indexer's own: it goes through the URL guard.
    Elsewhere(String),
}

/// Why an indexer did not answer. None of them is a bug of the host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IndexerError {
    #[error("{0}")]
    Unreachable(String),
    #[error("{0}")]
    Timeout(String),
    /// It refused the API key.
    #[error("{0}")]
    Auth(String),
    /// It asks to come back after so many seconds, when it says so.
    #[error("{message}")]
    Throttled { seconds: Option<u32>, message: String },
    /// It answered a page on which people sign in.
    #[error("{0}")]
    LoginPage(String),
    /// It, or what stands before it, wants to see a person.
    #[error("{0}")]
    Captcha(String),
    /// It answered something else than its protocol.
    #[error("{0}")]
    Unparsable(String),
    /// It answered an error of its protocol.
    #[error("{code}: {description}")]
    Api { code: String, description: String },
    #[error("{message}")]
    Status { status: u16, message: String },
    #[error("{0}")]
    TooLarge(String),
    /// It redirects elsewhere.
    #[error("{0}")]
    Redirected(String),
    #[error("is not configured right: {0}")]
    InvalidConfig(String),
    #[error("{0}")]
    Unsupported(String),
    /// The plugin asked for something nobody granted it.
    #[error("its plugin may not do that: {0}")]
    Denied(String),
    /// Too many calls wait for its plugin.
    #[error("is busy")]
    Busy,
    /// No installed plugin speaks the protocol.
    #[error("{0}")]
    Missing(String),
    /// The plugin trapped, ran out of its budget or is parked after too many strikes.
    #[error("its plugin failed: {0}")]
    Plugin(String),
}

/// The protocols that installed plugins speak. Calls never panic and never block a thread; every one ends.
#[async_trait]
pub trait Protocols: Send + Sync {
    /// Every protocol, sorted by id.
    fn protocols(&self) -> Vec<ProtocolKind>;
    /// A notice that a plugin which may provide this protocol is still being loaded; `None` once there is no such
    /// plugin.
    fn settling(&self, _protocol: &str) -> Option<Settling> {
        None
    }
    /// The capabilities that the indexer declares.
    async fn caps(&self, protocol: &str, config: IndexerConfig) -> Result<Caps, IndexerError>;
    async fn search(
        &self,
        protocol: &str,
        config: IndexerConfig,
        query: Query,
    ) -> Result<Found, IndexerError>;
    /// The target of a link of the indexer's own origin.
    async fn download(
        &self,
        protocol: &str,
        config: IndexerConfig,
        link: &str,
    ) -> Result<Payload, IndexerError>;
}

/// One question to several indexers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    pub term: String,
    pub season: Option<u32>,
    pub episode: Option<u32>,
    /// Empty: those of each indexer.
    pub categories: Vec<u32>,
    /// Ids; none: every enabled indexer. One that is disabled is not asked.
    pub indexers: Option<Vec<String>>,
}

/// A release, and who lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub indexer_id: String,
    pub indexer_name: String,
    pub release: Release,
}

/// An indexer that did not answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchFailure {
    pub indexer_id: String,
    pub name: String,
    /// A sentence that names the indexer and the reason.
    pub message: String,
    /// A word for the kind of failure, e.g. `timeout`, `login_page`; never changes.
    pub code: &'static str,
}

/// The results of a search across indexers. If all that were asked have failed, nobody could look; that is not the same
/// as "no result".
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchResult {
    /// Each release once, the one with most seeders first.
    pub candidates: Vec<Candidate>,
    pub queried: usize,
    pub failed: usize,
    pub failures: Vec<SearchFailure>,
    /// Oddities of answers that were read all the same, as sentences that name the indexer.
    pub warnings: Vec<String>,
}

impl SearchResult {
    /// Indexers were asked, and none of them answered.
    pub fn nothing_looked(&self) -> bool {
        self.queried > 0 && self.failed == self.queried
    }
}

/// A release as it was fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fetched {
    /// A .torrent file.
    Torrent(Vec<u8>),
    Magnet(String),
}

/// Why the indexers as a whole could not do it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct IndexersError {
    pub kind: ErrorKind,
    /// A word that never changes.
    pub code: &'static str,
    /// A sentence that names the thing and the way out.
    pub message: String,
}

/// The configured indexers, all together.
#[async_trait]
pub trait Indexers: Send + Sync {
    /// Asks them, each within its own bounds; those that fail are told in the result.
    async fn search(&self, wanted: Wanted) -> Result<SearchResult, IndexersError>;

    /// Fetches a release by its link, a magnet link or a URL. A link of an enabled indexer's own origin is fetched by its
    /// protocol, with its grant and within its budget; every other one through the URL guard. `indexer`: who listed it, when
    /// that is known.
    async fn fetch(&self, link: &str, indexer: Option<&str>) -> Result<Fetched, IndexersError>;
}
