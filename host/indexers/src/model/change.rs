//! Changes of an indexer by users, and the form in which users see one.

use qm_kernel::Secret;
use qm_ports::indexer::Caps;
use serde_json::{Map, Value};

use super::indexer::Indexer;

/// Changed fields of an indexer; `None` leaves a field as it is.
#[derive(Default)]
pub struct Change {
    pub name: Option<String>,
    pub implementation: Option<String>,
    pub protocol: Option<String>,
    pub base_url: Option<String>,
    /// Inner `None` removes the key.
    pub api_key: Option<Option<Secret>>,
    /// Changed properties by name; null removes one.
    pub config: Option<Map<String, Value>>,
    pub is_enabled: Option<bool>,
    pub priority: Option<i64>,
    pub categories: Option<Vec<u32>>,
    pub min_seeders: Option<Option<u32>>,
    pub timeout_ms: Option<u32>,
    pub requests_per_minute: Option<u32>,
}

/// An indexer with the part of its configuration that may be shown.
pub struct Shown {
    pub indexer: Indexer,
    pub config: Map<String, Value>,
    /// True when an installed plugin supports its protocol.
    pub is_installed: bool,
    /// Secrets to enter again, because the address changed.
    pub wanted: Vec<String>,
}

/// Result of a test: the updated indexer, and its capabilities or the error.
pub struct Outcome {
    pub indexer: Indexer,
    pub answer: Result<Caps, String>,
}
