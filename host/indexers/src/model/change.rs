//! What people change of an indexer, and what they are shown.

use qm_kernel::Secret;
use qm_ports::indexer::Caps;
use serde_json::{Map, Value};

use super::indexer::Indexer;

/// What is to be different; what is `None` stays.
#[derive(Default)]
pub struct Change {
    pub name: Option<String>,
    pub implementation: Option<String>,
    pub protocol: Option<String>,
    pub base_url: Option<String>,
    /// The inner `None` takes it away.
    pub api_key: Option<Option<Secret>>,
    /// By name; null takes a property away.
    pub config: Option<Map<String, Value>>,
    pub is_enabled: Option<bool>,
    pub priority: Option<i64>,
    pub categories: Option<Vec<u32>>,
    pub min_seeders: Option<Option<u32>>,
    pub timeout_ms: Option<u32>,
    pub requests_per_minute: Option<u32>,
}

/// An indexer, and what of its configuration may be shown.
pub struct Shown {
    pub indexer: Indexer,
    pub config: Map<String, Value>,
    /// An installed plugin speaks its protocol.
    pub is_installed: bool,
    /// Secrets to enter again, because the address changed.
    pub wanted: Vec<String>,
}

/// How a test went: the indexer as it is now, and what it said of itself or why not.
pub struct Outcome {
    pub indexer: Indexer,
    pub answer: Result<Caps, String>,
}
