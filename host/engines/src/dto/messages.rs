//! Realtime messages about an engine and what is added to it. Those of its torrents are rendered by `qm_torrent_lists`.

use qm_kernel::Timestamp;
use qm_ports::engine::GlobalStats;
use serde::Serialize;

/// `stats:update`
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StatsMessage<'a> {
    pub engine_id: &'a str,
    pub stats: StatsView,
    pub at: Timestamp,
}

/// Rates, limits and totals of an engine.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StatsView {
    pub download_rate: u64,
    pub upload_rate: u64,
    pub download_rate_limit: u64,
    pub upload_rate_limit: u64,
    pub total_downloaded: u64,
    pub total_uploaded: u64,
    pub torrent_count: u32,
    pub active_count: u32,
}

impl From<GlobalStats> for StatsView {
    fn from(stats: GlobalStats) -> Self {
        Self {
            download_rate: stats.download_rate,
            upload_rate: stats.upload_rate,
            download_rate_limit: stats.download_rate_limit,
            upload_rate_limit: stats.upload_rate_limit,
            total_downloaded: stats.total_downloaded,
            total_uploaded: stats.total_uploaded,
            torrent_count: stats.torrent_count,
            active_count: stats.active_count,
        }
    }
}

/// `engine:status`
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StatusMessage<'a> {
    pub engine_id: &'a str,
    pub online: bool,
    pub error: Option<&'a str>,
    pub at: Timestamp,
}

/// `download.failed`
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DownloadFailed<'a> {
    pub engine_id: &'a str,
    pub hash: Option<&'a str>,
    pub name: Option<&'a str>,
    pub error: &'a str,
    pub at: Timestamp,
}
