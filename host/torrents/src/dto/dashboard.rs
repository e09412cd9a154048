//! The dashboard and the search on the wire.

use qm_kernel::{PageQuery, Timestamp};
use qm_web::{Fields, FromQuery};
use serde::Serialize;
use utoipa::ToSchema;

use super::requests::engine_choice;
use crate::model::activity::{Level, Line};
use crate::model::answers::EngineChoice;
use crate::model::stored::SnapshotRow;

const MAX_FOUND: u64 = 200;
const MAX_SEARCH_TEXT: usize = 256;

/// Torrents counted.
#[derive(Debug, Default, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = DashboardSummary)]
pub struct SummaryView {
    /// The engine is configured, enabled and loaded; whether its client answers is another question.
    pub engine_online: bool,
    /// Bytes per second; 0 while the client does not answer.
    pub download_rate: u64,
    /// Bytes per second; 0 while the client does not answer.
    pub upload_rate: u64,
    pub total_torrents: u64,
    pub downloading: u64,
    /// Paused or stopped.
    pub paused: u64,
    /// All of it is there, whatever it is doing.
    pub completed: u64,
    pub seeding: u64,
    pub errored: u64,
    /// `totalUploaded` / `totalDownloaded`; 0 when nothing was downloaded.
    pub ratio: f64,
    /// Bytes, over the life of the engine as far as it is known.
    pub total_uploaded: u64,
    /// Bytes, over the life of the engine as far as it is known.
    pub total_downloaded: u64,
}

/// The query of the summary.
pub struct SummaryParams {
    pub engines: EngineChoice,
}

impl FromQuery for SummaryParams {
    fn from_query(f: &mut Fields<'_>) -> Self {
        let engines = match engine_choice(f) {
            EngineChoice::One(None) => EngineChoice::All,
            chosen => chosen,
        };
        Self { engines }
    }
}

/// The level that a line is shown with.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = ActivityLevel)]
pub enum LevelView {
    Info,
    Success,
    Error,
}

impl From<Level> for LevelView {
    fn from(level: Level) -> Self {
        match level {
            Level::Info => LevelView::Info,
            Level::Success => LevelView::Success,
            Level::Error => LevelView::Error,
        }
    }
}

/// Something that happened, or several things alike.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ActivityItem)]
pub struct ActivityView {
    pub id: String,
    /// The audited action, e.g. `torrents.add`.
    #[serde(rename = "type")]
    pub action: String,
    pub message: String,
    /// `<n> events` of an item that stands for several.
    pub detail: Option<String>,
    pub level: LevelView,
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// The events that the item stands for, newest first; absent when it stands for itself.
    #[schema(no_recursion)]
    pub events: Option<Vec<ActivityView>>,
}

impl From<Line> for ActivityView {
    fn from(line: Line) -> Self {
        let events: Vec<ActivityView> = line.events.into_iter().map(ActivityView::from).collect();
        Self {
            id: line.id,
            action: line.action,
            message: line.message,
            detail: line.detail,
            level: line.level.into(),
            at: line.at,
            events: (!events.is_empty()).then_some(events),
        }
    }
}

/// The query of the search.
pub struct SearchParams {
    pub text: String,
    pub limit: u64,
}

impl FromQuery for SearchParams {
    fn from_query(f: &mut Fields<'_>) -> Self {
        let text = f.string("q").max(MAX_SEARCH_TEXT).optional();
        let limit = f.integer("limit").or(PageQuery::DEFAULT_SIZE as i64);
        Self {
            text: text.unwrap_or_default(),
            limit: limit.clamp(1, MAX_FOUND as i64) as u64,
        }
    }
}

/// Torrents that were found, newest first.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SearchResult)]
pub struct FoundView {
    pub items: Vec<FoundTorrent>,
}

/// A torrent as it was last stored: up to 10 s older than in the lists. Byte counts are texts.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FoundTorrent {
    pub id: String,
    pub engine_id: String,
    pub hash: String,
    pub name: String,
    pub state: String,
    /// 0..=1
    pub progress: f64,
    pub size: String,
    pub downloaded: String,
    pub uploaded: String,
    pub ratio: f64,
    /// Bytes per second.
    pub download_rate: i64,
    /// Bytes per second.
    pub upload_rate: i64,
    pub save_path: String,
    pub label: Option<String>,
    pub category_id: Option<String>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub added_at: Option<Timestamp>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub completed_at: Option<Timestamp>,
    /// When it was first seen.
    #[schema(value_type = String, format = DateTime)]
    pub captured_at: Timestamp,
}

impl From<SnapshotRow> for FoundTorrent {
    fn from(row: SnapshotRow) -> Self {
        Self {
            id: row.id,
            engine_id: row.engine_id,
            hash: row.hash,
            name: row.name,
            state: row.state,
            progress: row.progress,
            size: row.size.to_string(),
            downloaded: row.downloaded.to_string(),
            uploaded: row.uploaded.to_string(),
            ratio: row.ratio,
            download_rate: row.download_rate,
            upload_rate: row.upload_rate,
            save_path: row.save_path,
            label: row.label,
            category_id: row.category_id,
            added_at: row.added_at.map(Timestamp::from_ms),
            completed_at: row.completed_at.map(Timestamp::from_ms),
            captured_at: Timestamp::from_ms(row.captured_at),
        }
    }
}
