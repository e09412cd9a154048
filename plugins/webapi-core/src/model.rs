//! What this crate gives back: the records of the plugin contract, in plain Rust. Units are the contract's: bytes, bytes
//! per second, unix seconds, progress 0..=1.

use crate::error::Error;

/// The states this client can be in, after mapping; `stopped` and `completed` are never among them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    Downloading,
    Seeding,
    Paused,
    Queued,
    Checking,
    Error,
    Allocating,
    #[default]
    Unknown,
}

impl State {
    /// The product's own word for a state. 5.x says `stopped…` where 4.x says `paused…`.
    pub fn from_native(native: &str) -> State {
        match native {
            "error" | "missingFiles" => State::Error,
            "pausedUP" | "pausedDL" | "stoppedUP" | "stoppedDL" => State::Paused,
            "queuedUP" | "queuedDL" | "queuedForChecking" => State::Queued,
            "uploading" | "forcedUP" | "stalledUP" => State::Seeding,
            "checkingUP" | "checkingDL" | "checkingResumeData" | "moving" => State::Checking,
            "allocating" => State::Allocating,
            "downloading" | "forcedDL" | "stalledDL" | "metaDL" | "forcedMetaDL" => State::Downloading,
            _ => State::Unknown,
        }
    }

    pub(crate) fn is_active(self) -> bool {
        matches!(self, State::Downloading | State::Seeding)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Torrent {
    pub hash: String,
    pub name: String,
    pub state: State,
    pub progress: f64,
    pub size: u64,
    pub downloaded: u64,
    pub uploaded: u64,
    pub ratio: f64,
    pub download_rate: u64,
    pub upload_rate: u64,
    pub eta: Option<u64>,
    pub seeds_connected: u32,
    pub seeds_total: u32,
    pub peers_connected: u32,
    pub peers_total: u32,
    pub priority: u8,
    pub label: Option<String>,
    pub save_path: String,
    pub content_path: String,
    pub is_private: bool,
    pub added_at: Option<u64>,
    pub completed_at: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GlobalStats {
    pub download_rate: u64,
    pub upload_rate: u64,
    pub download_rate_limit: u64,
    pub upload_rate_limit: u64,
    pub total_downloaded: u64,
    pub total_uploaded: u64,
    pub torrent_count: u32,
    pub active_count: u32,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Delta {
    pub cursor: u64,
    pub full: bool,
    pub changed: Vec<Torrent>,
    pub removed: Vec<String>,
    pub stats: GlobalStats,
}

#[derive(Clone, Debug, PartialEq)]
pub struct File {
    pub index: u32,
    pub path: String,
    pub size: u64,
    pub progress: f64,
    /// 0 skip, 1 normal, 2 high.
    pub priority: u8,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Peer {
    pub ip: String,
    pub port: u16,
    pub client: Option<String>,
    pub country: Option<String>,
    pub progress: f64,
    pub download_rate: u64,
    pub upload_rate: u64,
    pub encrypted: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrackerStatus {
    Enabled,
    Disabled,
    Working,
    Error,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tracker {
    pub url: String,
    pub tier: u32,
    pub status: TrackerStatus,
    pub seeders: Option<u32>,
    pub leechers: Option<u32>,
    pub message: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionStats {
    pub engine_version: String,
    pub listen_port: Option<u16>,
    pub dht_enabled: bool,
    pub free_disk_bytes: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    pub downloaded: u64,
    pub uploaded: u64,
}

/// None = unlimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimits {
    pub download: Option<u64>,
    pub upload: Option<u64>,
}

#[derive(Clone, Debug)]
pub enum Source {
    Magnet(String),
    Metainfo(Vec<u8>),
}

#[derive(Clone, Debug)]
pub struct AddRequest {
    pub hash: String,
    pub source: Source,
    pub options: AddOptions,
}

#[derive(Clone, Debug, Default)]
pub struct AddOptions {
    pub category: Option<String>,
    pub tags: Vec<String>,
    pub save_path: Option<String>,
    pub rename: Option<String>,
    pub start_paused: bool,
    pub sequential_download: bool,
    pub first_last_piece_priority: bool,
    pub upload_limit: Option<u64>,
    pub download_limit: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    Start,
    Stop,
    Pause,
    Resume,
    ForceStart(bool),
    Recheck,
    /// With its data when true.
    Remove(bool),
    Move(String),
    Rename(String),
    RenameFile {
        index: u32,
        name: String,
    },
    FilePriority {
        index: u32,
        priority: u8,
    },
    TorrentPriority(u8),
    UploadLimit(u64),
    DownloadLimit(u64),
    AddTracker(String),
    RemoveTracker(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub hash: String,
    pub error: Option<Error>,
}

#[cfg(test)]
mod tests {
    use super::State;

    #[test]
    fn every_native_state_is_mapped() {
        let table: &[(&str, State)] = &[
            ("error", State::Error),
            ("missingFiles", State::Error),
            ("pausedUP", State::Paused),
            ("pausedDL", State::Paused),
            ("stoppedUP", State::Paused),
            ("stoppedDL", State::Paused),
            ("queuedUP", State::Queued),
            ("queuedDL", State::Queued),
            ("queuedForChecking", State::Queued),
            ("uploading", State::Seeding),
            ("forcedUP", State::Seeding),
            ("stalledUP", State::Seeding),
            ("checkingUP", State::Checking),
            ("checkingDL", State::Checking),
            ("checkingResumeData", State::Checking),
            ("moving", State::Checking),
            ("allocating", State::Allocating),
            ("downloading", State::Downloading),
            ("forcedDL", State::Downloading),
            ("stalledDL", State::Downloading),
            ("metaDL", State::Downloading),
            ("forcedMetaDL", State::Downloading),
            ("unknown", State::Unknown),
            ("", State::Unknown),
            ("PausedUP", State::Unknown),
            ("something a later client says", State::Unknown),
        ];
        for (native, state) in table {
            assert_eq!(State::from_native(native), *state, "{native}");
        }
    }
}
