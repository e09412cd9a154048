//! Categories and tags on the wire.

use qm_kernel::Timestamp;
use qm_web::FromBody;
use serde::Serialize;
use utoipa::ToSchema;

use crate::model::stored::{CategoryRow, TagRow};

const MAX_NAME: usize = 80;
const MAX_COLOR: usize = 64;

/// A category. Clients are told its name; adding a torrent does not check it against this list.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Category)]
pub struct CategoryView {
    pub id: String,
    pub name: String,
    pub color: Option<String>,
    /// Directory of torrents that are added with this category and no path of their own. One that is put into the category later stays
    /// where it is.
    pub save_path: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
}

impl From<CategoryRow> for CategoryView {
    fn from(row: CategoryRow) -> Self {
        Self {
            id: row.id,
            name: row.name,
            color: row.color,
            save_path: row.save_path,
            created_at: Timestamp::from_ms(row.created_at),
        }
    }
}

/// A tag.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Tag)]
pub struct TagView {
    pub id: String,
    pub name: String,
    pub color: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
}

impl From<TagRow> for TagView {
    fn from(row: TagRow) -> Self {
        Self {
            id: row.id,
            name: row.name,
            color: row.color,
            created_at: Timestamp::from_ms(row.created_at),
        }
    }
}

/// A new category.
#[derive(Debug, ToSchema, FromBody)]
#[schema(rename_all = "camelCase")]
pub struct NewCategory {
    #[field(max = MAX_NAME, not_empty)]
    pub name: String,
    #[field(given, max = MAX_COLOR)]
    pub color: Option<String>,
    /// Absolute directory inside the allowed storage roots, for torrents that are added with this category and no path of their own.
    #[field(given, max = 4096)]
    pub save_path: Option<String>,
}

/// A new tag.
#[derive(Debug, ToSchema, FromBody)]
#[schema(rename_all = "camelCase")]
pub struct NewTag {
    #[field(max = MAX_NAME, not_empty)]
    pub name: String,
    #[field(given, max = MAX_COLOR)]
    pub color: Option<String>,
}
