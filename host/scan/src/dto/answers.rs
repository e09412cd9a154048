//! Answers to clients.

use std::collections::BTreeMap;

use qm_kernel::Timestamp;
use qm_media::model::library::MediaLibrary;
use qm_media::model::view::{Asked, Consistency, Health, MissingFile, WatchState};
use serde::Serialize;
use utoipa::ToSchema;

use qm_media::dto::libraries::LibraryView;

/// A library, and the job of the scan that was asked for.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MediaLibraryWithScan)]
pub struct ScannedLibraryView {
    #[serde(flatten)]
    pub library: LibraryView,
    pub scan_job_id: String,
    /// Things you may not have meant: that another library lies in this one, say.
    pub warnings: Vec<String>,
}

impl From<Asked> for ScannedLibraryView {
    fn from(asked: Asked) -> Self {
        Self {
            library: asked.library.into(),
            scan_job_id: asked.scan_job_id,
            warnings: asked.warnings,
        }
    }
}

/// The job that was asked for.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MediaJobAsked)]
pub struct JobView {
    pub job_id: String,
}

/// State of the watch on a library.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MediaWatchStatus)]
pub struct WatchView {
    pub library_id: String,
    pub name: String,
    pub watching: bool,
    /// Directories that are watched.
    pub watch_count: usize,
    /// Why it is not watched, though it should be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub degraded_reason: Option<String>,
}

impl From<(MediaLibrary, WatchState)> for WatchView {
    fn from((library, state): (MediaLibrary, WatchState)) -> Self {
        Self {
            library_id: library.id,
            name: library.name,
            watching: state.count.is_some(),
            watch_count: state.count.unwrap_or(0),
            degraded_reason: state.degraded,
        }
    }
}

/// Result of a request to cancel a job.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MediaJobCancelled)]
pub struct CancelledView {
    /// False: it is unknown, or over.
    pub requested: bool,
}

/// Health of all libraries together.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MediaHealth)]
pub struct HealthView {
    pub total: i64,
    pub by_media_type: BTreeMap<String, i64>,
    pub unmatched: i64,
    /// Below 0.5.
    pub low_confidence: i64,
    /// Items without any picture.
    pub missing_artwork: i64,
    /// Items without any subtitles.
    pub missing_subtitles: i64,
    /// In the last seven days.
    pub recently_added: i64,
    pub duplicate_groups: i64,
    pub failed_jobs: u64,
    /// Problems that keep libraries from working in full, each with the way out.
    pub problems: Vec<String>,
}

impl From<Health> for HealthView {
    fn from(health: Health) -> Self {
        let counts = health.counts;
        Self {
            total: counts.total,
            by_media_type: counts.by_type.into_iter().collect(),
            unmatched: counts.unmatched,
            low_confidence: counts.unsure,
            missing_artwork: counts.missing_artwork,
            missing_subtitles: counts.missing_subtitles,
            recently_added: counts.recent,
            duplicate_groups: health.duplicate_groups,
            failed_jobs: health.failed_jobs,
            problems: health.problems,
        }
    }
}

/// A library on the first page.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MediaLibraryCount)]
pub struct CountedLibraryView {
    pub id: String,
    pub name: String,
    pub kind: &'static str,
    pub path: String,
    pub is_enabled: bool,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_scan_at: Option<Timestamp>,
    pub item_count: i64,
}

impl From<(MediaLibrary, i64)> for CountedLibraryView {
    fn from((library, item_count): (MediaLibrary, i64)) -> Self {
        Self {
            id: library.id,
            name: library.name,
            kind: library.kind.as_str(),
            path: library.path,
            is_enabled: library.is_enabled,
            last_scan_at: library.last_scan_at,
            item_count,
        }
    }
}

/// The first page.
#[derive(Serialize, ToSchema)]
#[schema(as = MediaDashboard)]
pub struct DashboardView {
    pub health: HealthView,
    /// The oldest first.
    pub libraries: Vec<CountedLibraryView>,
}

/// A file that is known and is not there.
#[derive(Serialize, ToSchema)]
#[schema(as = MediaMissingFile)]
pub struct MissingFileView {
    /// Id of the item or the file.
    pub id: String,
    pub path: String,
    /// `item` or `file`
    pub kind: &'static str,
}

impl From<MissingFile> for MissingFileView {
    fn from(missing: MissingFile) -> Self {
        Self {
            id: missing.id,
            path: missing.path,
            kind: missing.kind,
        }
    }
}

/// Files of a library that are missing on its disk.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MediaConsistency)]
pub struct ConsistencyView {
    pub library_id: String,
    /// Paths that were looked for: each file once as an item and once as a file.
    pub checked: u64,
    /// The first 500.
    pub missing_files: Vec<MissingFileView>,
    /// Number of missing paths of each kind, including those not named.
    #[schema(value_type = BTreeMap<String, u64>)]
    pub by_kind: BTreeMap<&'static str, u64>,
    /// True if more is missing than is named.
    pub truncated: bool,
}

impl From<(String, Consistency)> for ConsistencyView {
    fn from((library_id, report): (String, Consistency)) -> Self {
        Self {
            library_id,
            checked: report.checked,
            truncated: report.is_truncated(),
            missing_files: report.missing.into_iter().map(MissingFileView::from).collect(),
            by_kind: report.by_kind,
        }
    }
}
