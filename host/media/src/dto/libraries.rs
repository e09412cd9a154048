//! Libraries as they are answered.

use qm_kernel::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use crate::model::library::MediaLibrary;

/// A library.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MediaLibrary)]
pub struct LibraryView {
    pub id: String,
    pub name: String,
    pub kind: &'static str,
    pub path: String,
    pub preset: &'static str,
    pub template: Option<String>,
    pub mode: &'static str,
    pub auto_organize: bool,
    pub is_enabled: bool,
    /// Null: no periodic scan.
    pub scan_interval_minutes: Option<i64>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_scan_at: Option<Timestamp>,
    pub watch_enabled: bool,
    pub scan_on_startup: bool,
    pub nfo_enabled: bool,
    pub artwork_enabled: bool,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Timestamp,
}

impl From<MediaLibrary> for LibraryView {
    fn from(library: MediaLibrary) -> Self {
        Self {
            id: library.id,
            name: library.name,
            kind: library.kind.as_str(),
            path: library.path,
            preset: library.preset.as_str(),
            template: library.template,
            mode: library.mode.as_str(),
            auto_organize: library.auto_organize,
            is_enabled: library.is_enabled,
            scan_interval_minutes: library.scan_interval_minutes,
            last_scan_at: library.last_scan_at,
            watch_enabled: library.watch_enabled,
            scan_on_startup: library.scan_on_startup,
            nfo_enabled: library.nfo_enabled,
            artwork_enabled: library.artwork_enabled,
            created_at: library.created_at,
            updated_at: library.updated_at,
        }
    }
}
