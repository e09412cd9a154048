//! Torrents as every engine kind words them; the mirror of `engine-types` in the plugin contract.
//! Units: bytes, bytes per second, unix seconds, progress 0..=1.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Downloading,
    Seeding,
    Paused,
    Stopped,
    Checking,
    Error,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Torrent {
    /// 40 lower-case hex digits.
    pub hash: String,
    pub name: String,
    pub state: State,
    pub progress: f64,
    pub size: u64,
    pub downloaded: u64,
    pub uploaded: u64,
    /// 1.5 is 150 %.
    pub ratio: f64,
    pub download_rate: u64,
    pub upload_rate: u64,
    /// Seconds; none when unknown or infinite.
    pub eta: Option<u64>,
    pub seeds_connected: u32,
    pub seeds_total: u32,
    pub peers_connected: u32,
    pub peers_total: u32,
    /// 0 off, 1 low, 2 normal, 3 high.
    pub priority: u8,
    pub label: Option<String>,
    pub save_path: String,
    pub content_path: String,
    pub is_private: bool,
    pub message: Option<String>,
    pub added_at: Option<u64>,
    pub completed_at: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GlobalStats {
    pub download_rate: u64,
    pub upload_rate: u64,
    /// 0 = unlimited.
    pub download_rate_limit: u64,
    /// 0 = unlimited.
    pub upload_rate_limit: u64,
    pub total_downloaded: u64,
    pub total_uploaded: u64,
    pub torrent_count: u32,
    /// Downloading or seeding.
    pub active_count: u32,
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
    pub progress: f64,
    pub download_rate: u64,
    pub upload_rate: u64,
    pub encrypted: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tracker {
    pub url: String,
    pub tier: u32,
    pub enabled: bool,
    pub seeders: Option<u32>,
    pub leechers: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionStats {
    pub version: String,
    pub listen_port: Option<u16>,
    pub dht_enabled: bool,
}

/// Bytes per second; none = unlimited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RateLimits {
    pub download: Option<u64>,
    pub upload: Option<u64>,
}

#[derive(Clone, Debug)]
pub enum Source {
    Magnet(String),
    Metainfo(Vec<u8>),
}

/// A torrent to add. What rTorrent has no notion of (tags, order of pieces) is not here.
#[derive(Clone, Debug)]
pub struct AddRequest {
    /// The info-hash the host computed.
    pub hash: String,
    pub source: Source,
    pub category: Option<String>,
    pub save_path: Option<String>,
    pub start_paused: bool,
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
    Rename,
    RenameFile,
    FilePriority {
        index: u32,
        priority: u8,
    },
    Priority(u8),
    UploadLimit(u64),
    DownloadLimit(u64),
    AddTracker(String),
    RemoveTracker(String),
}
