//! Categories and tags on the wire.

use qm_kernel::Timestamp;
use qm_web::{Fields, FromBody};
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
#[derive(Debug, ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct NewCategory {
    #[schema(min_length = 1, max_length = 80)]
    pub name: String,
    #[schema(max_length = 64)]
    pub color: Option<String>,
    /// Absolute directory inside the allowed storage roots, for torrents that are added with this category and no path of their own.
    pub save_path: Option<String>,
}

impl FromBody for NewCategory {
    fn from_body(f: &mut Fields<'_>) -> Self {
        Self {
            name: f.string("name").required().max(MAX_NAME).not_empty().get(),
            color: color(f),
            save_path: given(f.string("savePath").max(4096).optional()),
        }
    }
}

/// A new tag.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct NewTag {
    #[schema(min_length = 1, max_length = 80)]
    pub name: String,
    #[schema(max_length = 64)]
    pub color: Option<String>,
}

impl FromBody for NewTag {
    fn from_body(f: &mut Fields<'_>) -> Self {
        Self {
            name: f.string("name").required().max(MAX_NAME).not_empty().get(),
            color: color(f),
        }
    }
}

fn color(f: &mut Fields<'_>) -> Option<String> {
    given(f.string("color").max(MAX_COLOR).optional())
}

/// A form sends what was left blank as an empty text.
fn given(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.is_empty())
}
