//! Answers that show what an operation would do: delete previews, conflicts, cleanups.

use qm_kernel::Timestamp;
use qm_ports::TorrentPayload;
use serde::Serialize;
use utoipa::ToSchema;

/// Effects of a delete, before it is done.
#[derive(Debug, Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeletePreview {
    /// Absolute.
    pub path: String,
    pub exists: bool,
    /// Names the file has; 1 for a directory.
    pub links: u64,
    pub size_bytes: u64,
    /// Bytes that the file system gets back: a file with another name frees nothing.
    pub frees_bytes: u64,
    /// The first of `torrents`.
    pub torrent: Option<Linked>,
    /// Those whose data is at stake.
    pub torrents: Vec<Linked>,
}

/// The same for several items; what cannot be found is left out.
#[derive(Debug, Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BulkDeletePreview {
    /// Items that were found.
    pub paths: u64,
    pub size_bytes: u64,
    pub frees_bytes: u64,
    pub torrents: Vec<Linked>,
}

/// A torrent whose data lies at, above or below a path.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Linked {
    pub torrent_hash: String,
    pub engine_id: Option<String>,
    /// The last part of `sourcePath`.
    pub name: String,
    /// Absolute.
    pub source_path: String,
    pub state: &'static str,
    pub size_bytes: u64,
    /// Always empty: no media library is linked here.
    pub item_ids: Vec<String>,
    /// True when the engine of the torrent answers.
    pub live: bool,
}

impl From<&TorrentPayload> for Linked {
    fn from(payload: &TorrentPayload) -> Self {
        let name = payload.path.trim_end_matches('/').rsplit('/').next();
        Self {
            torrent_hash: payload.hash.clone(),
            engine_id: Some(payload.engine_id.clone()),
            name: name
                .filter(|name| !name.is_empty())
                .unwrap_or(&payload.name)
                .to_owned(),
            source_path: payload.path.clone(),
            state: payload.state,
            size_bytes: 0,
            item_ids: Vec::new(),
            live: payload.live,
        }
    }
}

/// Which of some files would meet another in a directory.
#[derive(Debug, Serialize, ToSchema)]
pub struct ConflictReport {
    pub destination: String,
    pub conflicts: Vec<Conflict>,
    /// Sources without a conflict, as they were asked for.
    pub clean: Vec<String>,
}

/// Two files that want the same place, or are releases of the same thing.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Conflict {
    pub source: ReleaseInfo,
    pub target: ReleaseInfo,
    /// `identical`, `same_episode` or `name_clash`.
    pub kind: &'static str,
    /// Method by which identical files were recognised.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identity_basis: Option<&'static str>,
    /// `source_better`, `target_better` or `equivalent`.
    pub verdict: &'static str,
    pub verdict_reasons: Vec<String>,
    pub recommended: &'static str,
    pub allowed: Vec<&'static str>,
}

/// A file and what its name says.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReleaseInfo {
    pub path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_raw: Option<String>,
    pub name: String,
    pub size: u64,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub modified_at: Option<Timestamp>,
    pub show: Option<String>,
    pub season: Option<u32>,
    pub episode: Option<u32>,
    pub resolution: Option<&'static str>,
    pub source: Option<&'static str>,
    pub codec: Option<&'static str>,
    pub release_group: Option<String>,
    pub proper: bool,
    pub repack: bool,
}

/// Items of a folder that may be cleaned up.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CleanupPreview {
    pub root: String,
    pub categories: Vec<CleanupGroup>,
    pub total_items: u64,
    pub total_size: u64,
    pub estimated_space_saved: u64,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CleanupGroup {
    pub category: &'static str,
    pub label: &'static str,
    pub item_count: u64,
    pub total_size: u64,
    pub items: Vec<CleanupItem>,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CleanupItem {
    pub path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_raw: Option<String>,
    pub name: String,
    pub is_directory: bool,
    pub size: u64,
    pub category: &'static str,
    pub reason: String,
}

/// Result of a cleanup.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CleanupResult {
    pub removed: u64,
    pub failed: u64,
    pub bytes_reclaimed: u64,
    /// `trash` or `permanent`.
    pub mode: &'static str,
}
