//! Stored rows that are shown as they stand.

use serde_json::{Map, Value};

use super::mappings::PathMapping;

/// An engine as it is stored: the fields named in `secret_fields` are encrypted.
#[derive(Clone, PartialEq)]
pub struct EngineRow {
    pub id: String,
    pub name: String,
    pub kind: String,
    pub config: Map<String, Value>,
    pub secret_fields: Vec<String>,
    pub path_mappings: Vec<PathMapping>,
    pub is_default: bool,
    pub is_enabled: bool,
}
