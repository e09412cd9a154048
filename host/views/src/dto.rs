//! Views as they are sent and answered.

use qm_conditions::{Filter, FilterError};
use qm_kernel::Timestamp;
use qm_ports::engine::TorrentState;
use qm_ports::list::{FIELDS, SORT_FIELDS};
use qm_web::{Fields, FromBody, is_printable};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::model::{Settings, View};

const MAX_NAME: usize = 120;
const MAX_TEXT: usize = 500;
const MAX_COLUMNS: usize = 60;
const MAX_COLUMN: usize = 64;
const DIRECTIONS: &[&str] = &["asc", "desc"];

/// A view to save. What is left out is no part of it.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase", as = TorrentViewInput)]
#[fields(check = check_filter)]
pub struct ViewInput {
    /// Name, which no other view of the user has. Up to 120 characters.
    #[field(trim, not_empty, max = MAX_NAME, check(is_printable, "must not contain control characters"))]
    #[schema(example = "Long seeded")]
    pub name: String,
    /// An engine's id, or `all`.
    #[field(min = 1, max = MAX_TEXT)]
    pub engine_id: Option<String>,
    /// State of torrents.
    #[field(one_of = TorrentState::NAMES)]
    pub state: Option<String>,
    #[field(max = MAX_TEXT)]
    pub category: Option<String>,
    #[field(max = MAX_TEXT)]
    pub tag: Option<String>,
    /// Part of the name or of the info-hash.
    #[field(max = MAX_TEXT)]
    pub search: Option<String>,
    /// Conditions, as the parameter `filter` of `GET /api/torrents` takes them: an array, or a group.
    #[schema(value_type = Option<Value>)]
    pub filter: Option<Value>,
    /// Field by which the list is sorted.
    #[field(one_of = SORT_FIELDS)]
    pub sort_by: Option<String>,
    /// `asc` or `desc`; without it the list decides.
    #[field(one_of = DIRECTIONS)]
    pub sort_dir: Option<String>,
    /// Columns in their order, by names that the client chooses.
    #[field(max_items = MAX_COLUMNS, each_max = MAX_COLUMN, default)]
    pub columns: Vec<String>,
}

/// Refuses a filter that the list would refuse, with the same words.
fn check_filter(input: &ViewInput, f: &mut Fields<'_>) {
    let Some(filter) = &input.filter else { return };
    match Filter::read(&filter.to_string(), &|name| FIELDS.contains(&name)) {
        Ok(_) => {}
        Err(fault @ FilterError::Condition { .. }) => f.broken(format!("filter{fault}")),
        Err(fault) => f.broken(format!("filter {fault}")),
    }
}

impl ViewInput {
    /// The name, and the rest.
    pub fn into_parts(self) -> (String, Settings) {
        let input = self;
        let settings = Settings {
            engine_id: input.engine_id,
            state: input.state,
            category: input.category,
            tag: input.tag,
            search: input.search,
            filter: input.filter,
            sort_by: input.sort_by,
            sort_dir: input.sort_dir,
            columns: input.columns,
        };
        (input.name, settings)
    }
}

/// A saved view. Its members have the names and values of the parameters of `GET /api/torrents`.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = TorrentView)]
pub struct ViewView {
    pub id: String,
    pub name: String,
    pub engine_id: Option<String>,
    pub state: Option<String>,
    pub category: Option<String>,
    pub tag: Option<String>,
    pub search: Option<String>,
    /// As it was saved.
    #[schema(value_type = Option<Value>)]
    pub filter: Option<Value>,
    pub sort_by: Option<String>,
    /// `asc` or `desc`; null where none was saved.
    pub sort_dir: Option<String>,
    pub columns: Vec<String>,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Timestamp,
}

impl From<View> for ViewView {
    fn from(view: View) -> Self {
        let settings = view.settings;
        Self {
            id: view.id,
            name: view.name,
            engine_id: settings.engine_id,
            state: settings.state,
            category: settings.category,
            tag: settings.tag,
            search: settings.search,
            filter: settings.filter,
            sort_by: settings.sort_by,
            sort_dir: settings.sort_dir,
            columns: settings.columns,
            created_at: view.created_at,
            updated_at: view.updated_at,
        }
    }
}

/// The caller's views.
#[derive(Serialize, ToSchema)]
#[schema(as = TorrentViews)]
pub struct ViewList {
    /// In the order of their names.
    pub items: Vec<ViewView>,
}
