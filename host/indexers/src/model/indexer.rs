//! An indexer as it is stored.

use qm_kernel::Timestamp;
use qm_ports::indexer::Caps;
use serde_json::{Map, Value};

pub const MAX_INDEXERS: i64 = 200;
pub const DEFAULT_CATEGORIES: [u32; 3] = [5000, 5030, 5040];

#[derive(Clone, Debug, PartialEq)]
pub struct Indexer {
    pub id: String,
    pub name: String,
    /// The id of a protocol.
    pub implementation: String,
    /// `torrent` or `usenet`; nothing depends on it.
    pub protocol: String,
    pub base_url: String,
    /// Sealed.
    pub api_key: Option<String>,
    /// Sealed: a JSON object of what else the protocol wants.
    pub config: Option<String>,
    pub enabled: bool,
    /// The lower, the earlier.
    pub priority: i64,
    pub categories: Vec<u32>,
    pub min_seeders: Option<i64>,
    pub timeout_ms: i64,
    pub requests_per_minute: i64,
    pub capabilities: Option<Caps>,
    /// Of the last test: `ok`, `error` or `unknown`.
    pub status: String,
    pub status_message: Option<String>,
    pub last_tested_at: Option<Timestamp>,
    /// Since the last answer.
    pub consecutive_failures: i64,
    pub next_try_at: Option<Timestamp>,
    pub last_latency_ms: Option<i64>,
    pub last_error: Option<String>,
    pub last_error_code: Option<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// Which configuration it is.
    pub version: i64,
    pub queries_today: i64,
    pub grabs_today: i64,
}

/// What somebody enters; what is none stays as it is.
#[derive(Clone, Debug, Default)]
pub struct IndexerChange {
    pub name: Option<String>,
    pub implementation: Option<String>,
    pub protocol: Option<String>,
    pub base_url: Option<String>,
    /// In clear; `Some(None)` takes it away.
    pub api_key: Option<Option<String>>,
    /// In clear: properties in place of those of the same name; `null` takes one away.
    pub config: Option<Map<String, Value>>,
    pub enabled: Option<bool>,
    pub priority: Option<i64>,
    pub categories: Option<Vec<u32>>,
    pub min_seeders: Option<Option<i64>>,
    pub timeout_ms: Option<i64>,
    pub requests_per_minute: Option<i64>,
}

impl IndexerChange {
    /// Everything but the secrets.
    pub fn apply(self, indexer: &mut Indexer) {
        fn set<T>(place: &mut T, value: Option<T>) {
            if let Some(value) = value {
                *place = value;
            }
        }
        set(&mut indexer.name, self.name);
        set(&mut indexer.implementation, self.implementation);
        set(&mut indexer.protocol, self.protocol);
        set(&mut indexer.base_url, self.base_url);
        set(&mut indexer.enabled, self.enabled);
        set(&mut indexer.priority, self.priority);
        set(&mut indexer.categories, self.categories);
        set(&mut indexer.min_seeders, self.min_seeders);
        set(&mut indexer.timeout_ms, self.timeout_ms);
        set(&mut indexer.requests_per_minute, self.requests_per_minute);
    }
}

/// Days since 1970, UTC.
pub const fn day(at: Timestamp) -> i64 {
    at.secs().div_euclid(86_400)
}
