//! One configured engine, as the host drives it.

use async_trait::async_trait;
use serde_json::{Map, Value};

use super::{
    AddRequest, Attention, Category, Command, Delta, EngineError, File, Health, Outcome, Peer, RateLimits,
    RateMode, SessionStats, Torrent, Tracker, Transfer, capability,
};

/// Torrents that one poll may be asked to tell as they are now.
pub const FRESH_LIMIT: usize = 1_000;

/// Refusal of a kind that was written before there was such a capability, or has no use for it.
fn lacking(capability: &str) -> EngineError {
    EngineError::Unsupported(format!("This engine has no `{capability}`"))
}

/// One configured engine. Calls never panic and never block a thread; every one ends, in a value or an error.
#[async_trait]
pub trait EngineDriver: Send + Sync {
    /// True if the kind has the capability; see [`capability`].
    fn has(&self, capability: &str) -> bool;
    async fn health(&self) -> Result<Health, EngineError>;
    /// On the sync lane. `cursor` is that of the last delta applied; `None` or an unknown one gives a full answer,
    /// whatever the attention. The torrents in `fresh`, [`FRESH_LIMIT`] at most, are told as they are now.
    async fn poll(
        &self,
        cursor: Option<u64>,
        attention: Attention,
        fresh: &[String],
    ) -> Result<Delta, EngineError>;
    /// Asks the client for one torrent.
    async fn get(&self, hash: &str) -> Result<Option<Torrent>, EngineError>;
    async fn files(&self, hash: &str) -> Result<Vec<File>, EngineError>;
    async fn peers(&self, hash: &str) -> Result<Vec<Peer>, EngineError>;
    async fn trackers(&self, hash: &str) -> Result<Vec<Tracker>, EngineError>;
    /// Hands the torrent over. The caller confirms with [`EngineDriver::get`] that it is listed.
    /// A torrent the client already has is a success.
    async fn add(&self, request: AddRequest) -> Result<(), EngineError>;
    /// One outcome a hash. `Err` only when nothing was attempted.
    async fn run(&self, hashes: &[String], command: Command) -> Result<Vec<Outcome>, EngineError>;
    async fn session_stats(&self) -> Result<SessionStats, EngineError>;
    /// `None` when the kind keeps no all-time counters.
    async fn all_time(&self) -> Result<Option<Transfer>, EngineError>;
    /// Limits on all torrents together; those of [`RateMode::Alternative`] with [`capability::ALTERNATIVE_LIMITS`].
    async fn rate_limits(&self, mode: RateMode) -> Result<RateLimits, EngineError>;
    async fn set_rate_limits(&self, mode: RateMode, limits: RateLimits) -> Result<(), EngineError>;
    /// The set of limits in force; with [`capability::ALTERNATIVE_LIMITS`], as the next one.
    async fn rate_mode(&self) -> Result<RateMode, EngineError> {
        Err(lacking(capability::ALTERNATIVE_LIMITS))
    }
    async fn set_rate_mode(&self, _mode: RateMode) -> Result<(), EngineError> {
        Err(lacking(capability::ALTERNATIVE_LIMITS))
    }
    /// Bytes of the .torrent file; with [`capability::EXPORT`].
    async fn export_metainfo(&self, _hash: &str) -> Result<Vec<u8>, EngineError> {
        Err(lacking(capability::EXPORT))
    }
    /// All categories, also those of no torrent; with [`capability::CATEGORIES`], as the next three.
    async fn categories(&self) -> Result<Vec<Category>, EngineError> {
        Err(lacking(capability::CATEGORIES))
    }
    async fn create_category(&self, _category: Category) -> Result<(), EngineError> {
        Err(lacking(capability::CATEGORIES))
    }
    async fn edit_category(&self, _category: Category) -> Result<(), EngineError> {
        Err(lacking(capability::CATEGORIES))
    }
    async fn remove_categories(&self, _names: Vec<String>) -> Result<(), EngineError> {
        Err(lacking(capability::CATEGORIES))
    }
    /// All tags, also those of no torrent; with [`capability::TAGS`], as the next two, of a plugin that knows them.
    async fn tags(&self) -> Result<Vec<String>, EngineError> {
        Err(lacking(capability::TAGS))
    }
    async fn create_tags(&self, _tags: Vec<String>) -> Result<(), EngineError> {
        Err(lacking(capability::TAGS))
    }
    async fn delete_tags(&self, _tags: Vec<String>) -> Result<(), EngineError> {
        Err(lacking(capability::TAGS))
    }
    /// JSON Schema of the client's preferences; with [`capability::PREFERENCES`], as the next two.
    async fn preferences_schema(&self) -> Result<Value, EngineError> {
        Err(lacking(capability::PREFERENCES))
    }
    async fn preferences(&self) -> Result<Map<String, Value>, EngineError> {
        Err(lacking(capability::PREFERENCES))
    }
    /// Changes those that are named. Whoever calls holds them against the schema, and confines what is a path.
    async fn set_preferences(&self, _changes: Map<String, Value>) -> Result<(), EngineError> {
        Err(lacking(capability::PREFERENCES))
    }
    /// Addresses that take part in nothing; with [`capability::BANNED_PEERS`], as the next one.
    async fn banned_peers(&self) -> Result<Vec<String>, EngineError> {
        Err(lacking(capability::BANNED_PEERS))
    }
    async fn set_banned_peers(&self, _addresses: Vec<String>) -> Result<(), EngineError> {
        Err(lacking(capability::BANNED_PEERS))
    }
    /// Ends the lanes and closes what they hold; later calls answer [`EngineError::Unreachable`].
    async fn close(&self);
}
