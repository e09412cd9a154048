//! Categories and tags on the wire.

use qm_kernel::Timestamp;
use qm_web::FromBody;
use serde::Serialize;
use utoipa::ToSchema;

use crate::model::groups::{Home, Listed};
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
    /// Directory of torrents that are added with this category and no path of their own, and of those that are put into it with
    /// `autoManage`. Others stay where they are.
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

/// An engine that has a category or tag.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = TaxonomyEngine)]
pub struct HomeView {
    pub engine_id: String,
    /// Torrents of the engine that have it.
    pub torrents: usize,
    /// True if it is in a list that the client itself keeps, also without torrents. Such a list may be 30 s old.
    pub in_client: bool,
    /// Directory that the client has for the category, as this server sees it; null where it has none.
    pub save_path: Option<String>,
}

impl From<Home> for HomeView {
    fn from(home: Home) -> Self {
        Self {
            engine_id: home.engine_id.to_string(),
            torrents: home.torrents,
            in_client: home.is_listed,
            save_path: home.save_path,
        }
    }
}

/// A category, and where it lives.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ListedCategory)]
pub struct ListedCategoryView {
    /// Null where the server's list does not have it, only clients.
    pub id: Option<String>,
    pub name: String,
    pub color: Option<String>,
    /// Directory of the server's list, for torrents that are added with this category and no path of their own.
    pub save_path: Option<String>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub created_at: Option<Timestamp>,
    /// Torrents of all engines that have it.
    pub torrents: usize,
    /// Engines that have it, on torrents or in a list of the client.
    pub engines: Vec<HomeView>,
}

impl From<Listed<CategoryRow>> for ListedCategoryView {
    fn from(listed: Listed<CategoryRow>) -> Self {
        let torrents = listed.torrents();
        let row = listed.row.map(CategoryView::from);
        Self {
            name: listed.name,
            torrents,
            engines: listed.homes.into_iter().map(HomeView::from).collect(),
            created_at: row.as_ref().map(|row| row.created_at),
            color: row.as_ref().and_then(|row| row.color.clone()),
            save_path: row.as_ref().and_then(|row| row.save_path.clone()),
            id: row.map(|row| row.id),
        }
    }
}

/// A tag, and where it lives.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ListedTag)]
pub struct ListedTagView {
    /// Null where the server's list does not have it, only clients.
    pub id: Option<String>,
    pub name: String,
    pub color: Option<String>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub created_at: Option<Timestamp>,
    /// Torrents of all engines that have it.
    pub torrents: usize,
    /// Engines that have it, on torrents or in a list of the client.
    pub engines: Vec<HomeView>,
}

impl From<Listed<TagRow>> for ListedTagView {
    fn from(listed: Listed<TagRow>) -> Self {
        let torrents = listed.torrents();
        let row = listed.row.map(TagView::from);
        Self {
            name: listed.name,
            torrents,
            engines: listed.homes.into_iter().map(HomeView::from).collect(),
            created_at: row.as_ref().map(|row| row.created_at),
            color: row.as_ref().and_then(|row| row.color.clone()),
            id: row.map(|row| row.id),
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

/// Changes of a category; absent fields stay.
#[derive(Debug, ToSchema, FromBody)]
#[schema(rename_all = "camelCase")]
#[expect(clippy::option_option, reason = "absent, null and a value are three things")]
pub struct CategoryChange {
    /// Null takes it away.
    #[field(max = MAX_COLOR)]
    #[schema(value_type = Option<String>)]
    pub color: Option<Option<String>>,
    /// Absolute directory inside the allowed storage roots. It cannot be changed while torrents lie where the category says. Null takes it
    /// away.
    #[field(max = 4096)]
    #[schema(value_type = Option<String>)]
    pub save_path: Option<Option<String>>,
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
