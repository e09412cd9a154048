//! Saved views. Pure.

use qm_kernel::Timestamp;
use serde_json::Value;

/// Largest number of views of a user.
pub const MAX_VIEWS: u64 = 100;

/// Settings of a view, as a user chose them. Names of categories, tags and engines need not exist.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    pub name: String,
    /// An engine's id, or `all`.
    pub engine_id: Option<String>,
    pub state: Option<String>,
    pub category: Option<String>,
    pub tag: Option<String>,
    pub search: Option<String>,
    /// Conditions, as the parameter `filter` of the list takes them.
    pub filter: Option<Value>,
    pub sort_by: Option<String>,
    pub is_descending: bool,
    /// Columns in their order, by names that the client chose.
    pub columns: Vec<String>,
}

/// A view that a user saved.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    pub id: String,
    pub settings: Settings,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}
