//! Saved views. Pure.

use qm_kernel::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// Largest number of views of a user.
pub const MAX_VIEWS: u64 = 100;

/// Settings of a view, as a user chose them and as they are stored. Names of categories, tags and engines need not exist.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Settings {
    /// An engine's id, or `all`.
    pub engine_id: Option<String>,
    pub state: Option<String>,
    pub category: Option<String>,
    pub tag: Option<String>,
    pub search: Option<String>,
    /// Conditions, as the parameter `filter` of the list takes them.
    pub filter: Option<Value>,
    pub sort_by: Option<String>,
    /// `asc` or `desc`.
    #[serde(alias = "isDescending", deserialize_with = "read_direction")]
    pub sort_dir: Option<String>,
    /// Columns in their order, by names that the client chose.
    pub columns: Vec<String>,
}

/// Direction as a word, or as an older release stored it: true also where nobody had chosen.
fn read_direction<'de, D: Deserializer<'de>>(stored: D) -> Result<Option<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Stored {
        Word(String),
        IsDescending(bool),
    }
    Ok(match Option::deserialize(stored)? {
        Some(Stored::Word(word)) => Some(word),
        Some(Stored::IsDescending(false)) => Some("asc".to_owned()),
        Some(Stored::IsDescending(true)) | None => None,
    })
}

/// A view that a user saved.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    pub id: String,
    pub name: String,
    pub settings: Settings,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}
