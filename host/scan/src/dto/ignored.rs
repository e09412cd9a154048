//! Places that scans pass over, as they are asked for and answered.

use qm_kernel::{PageQuery, Timestamp};
use qm_media::model::ignored::Ignored;
use qm_media::model::library::MAX_PATH;
use qm_media_names::place;
use qm_web::{FromBody, FromQuery};
use serde::Serialize;
use utoipa::ToSchema;

use qm_media::dto::fields::{MAX_TEXT, keep_filled};

/// Most characters of an id.
const MAX_ID: usize = 200;

/// A place that scans are to pass over.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase", as = MediaIgnoredInput)]
pub struct IgnoredInput {
    #[field(not_empty, max = MAX_ID)]
    pub library_id: String,
    /// Whole path of a file, or of a folder, below the library's directory. It need not be there.
    #[field(not_empty, max = MAX_PATH)]
    pub path: String,
}

/// Library whose ignored files are wanted; absent: all libraries.
#[derive(FromQuery)]
pub struct IgnoredQuery {
    #[field(page(60, 200))]
    pub page: PageQuery,
    #[field(max = MAX_TEXT, and_then = keep_filled)]
    pub library_id: Option<String>,
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
