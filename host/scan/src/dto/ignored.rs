//! Places that scans pass over, as they are asked for and answered.

use qm_kernel::{PageQuery, Timestamp};
use qm_media::model::ignored::Ignored;
use qm_media::model::library::MAX_PATH;
use qm_media_names::place;
use qm_web::{Fields, FromBody, FromQuery};
use serde::Serialize;
use utoipa::ToSchema;

use qm_media::dto::fields::text;

/// Most characters of an id.
const MAX_ID: usize = 200;

/// A place that scans are to pass over.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase", as = MediaIgnoredInput)]
pub struct IgnoredInput {
    pub library_id: String,
    /// Whole path of a file, or of a folder, below the library's directory. It need not be there.
    pub path: String,
}

impl FromBody for IgnoredInput {
    fn from_body(f: &mut Fields<'_>) -> Self {
        Self {
            library_id: f.string("libraryId").required().not_empty().max(MAX_ID).get(),
            path: f.string("path").required().not_empty().max(MAX_PATH).get(),
        }
    }
}

/// Library whose ignored files are wanted; absent: all libraries.
pub struct IgnoredQuery {
    pub library_id: Option<String>,
    pub page: PageQuery,
}

impl FromQuery for IgnoredQuery {
    fn from_query(f: &mut Fields<'_>) -> Self {
        let page = f.page_or(60, 200);
        Self {
            library_id: text(f, "libraryId"),
            page,
        }
    }
}

/// A file, or a folder, that scans pass over.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MediaIgnored)]
pub struct IgnoredView {
    pub id: String,
    pub library_id: String,
    pub path: String,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
}

impl From<(Ignored, String)> for IgnoredView {
    fn from((ignored, library): (Ignored, String)) -> Self {
        Self {
            path: place::absolute(&library, &ignored.place),
            id: ignored.id,
            library_id: ignored.library_id,
            created_at: ignored.created_at,
        }
    }
}

/// A page of what scans pass over.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MediaIgnoredPage)]
pub struct IgnoredPage {
    pub items: Vec<IgnoredView>,
    pub total: u64,
    pub page: u64,
    pub page_size: u64,
}
