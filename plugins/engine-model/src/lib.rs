//! The records of the plugin contract in plain Rust, for the crates that speak a product's wire format: they have no
//! bindings, so that they are tested natively. `sdk` turns these records into the contract's own and back.
//!
//! Units are the contract's: bytes, bytes per second, unix seconds, progress 0..=1.

mod error;
mod peer;
pub mod standing;
mod tracker_url;

pub use error::{Error, Subject};
pub use peer::{ip_addresses, peer_addresses};
pub use standing::{Standing, Tracked};
pub use tracker_url::host_of;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    Downloading,
    Seeding,
    Paused,
    Stopped,
    Queued,
    Checking,
    Error,
    Allocating,
    #[default]
    Unknown,
}

impl State {
    /// True when it counts in [`GlobalStats::active_count`].
    pub const fn is_active(self) -> bool {
        matches!(self, State::Downloading | State::Seeding)
    }
}

/// Urgency of a poll: something is decided by the list, some user is looking at it, or nobody is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attention {
    /// The answer holds every change, at whatever cost.
    Exact,
    /// The answer holds every change, but for torrents at rest where asking for them all is dear: theirs may come up to 10 s
    /// late.
    Watched,
    /// The answer holds every torrent that transfers data or is checked; other changes may come up to 10 s late.
    Quiet,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Torrent {
    /// 40 lower-case hex digits.
    pub hash: String,
    pub name: String,
    pub state: State,
    pub progress: f64,
    /// None while there is no metadata.
    pub size: Option<u64>,
    pub downloaded: u64,
    pub uploaded: u64,
    /// 1.5 is 150 %.
    pub ratio: f64,
    pub download_rate: u64,
    pub upload_rate: u64,
    /// Seconds; none when unknown or infinite.
    pub eta: Option<u64>,
    pub seeds_connected: u32,
    /// None when unknown.
    pub seeds_total: Option<u32>,
    pub peers_connected: u32,
    /// None when unknown.
    pub peers_total: Option<u32>,
    /// 0 off, 1 low, 2 normal, 3 high.
    pub priority: u8,
    pub label: Option<String>,
    /// Empty where the client has none.
    pub tags: Vec<String>,
    /// The directory it is saved into, shared by many torrents.
    pub save_path: String,
    /// The torrent's own file or folder; the save path when that is not known.
    pub content_path: String,
    /// Path for incomplete data, where it is another one.
    pub download_path: Option<String>,
    /// None while the client does not tell.
    pub is_private: Option<bool>,
    pub has_metadata: Option<bool>,
    pub message: Option<String>,
    pub added_at: Option<u64>,
    pub completed_at: Option<u64>,
    /// Host name of the first tracker, without port.
    pub tracker_host: Option<String>,
    /// Number of trackers without those that are switched off.
    pub trackers_count: Option<u32>,
    /// Standing with all its trackers; `None` while it has no tracker, or while none is known.
    pub tracker_standing: Option<Standing>,
    /// Text of the tracker that the standing comes from.
    pub tracker_message: Option<String>,
    /// Seconds it was seeded in all; growing with the clock is no change.
    pub seconds_seeded: Option<u64>,
    /// Unix seconds of the last byte of content received or sent.
    pub last_activity: Option<u64>,
    /// Distributed copies among the peers connected to.
    pub availability: Option<f64>,
    /// Place in the queue, from 1; `None` outside of it.
    pub queue_position: Option<u32>,
    pub sequential: Option<bool>,
    pub first_last_piece: Option<bool>,
    pub super_seeding: Option<bool>,
    pub force_started: Option<bool>,
    /// The client chooses the paths by the label.
    pub auto_managed: Option<bool>,
    /// 0 = unlimited.
    pub upload_limit: Option<u64>,
    /// 0 = unlimited.
    pub download_limit: Option<u64>,
    pub share_limits: Option<ShareLimits>,
}

/// Limit of sharing, of a ratio or of seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Limit<T> {
    /// As the client is set.
    #[default]
    Inherit,
    Unlimited,
    At(T),
}

/// Action at a limit of sharing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ShareAction {
    /// As the client is set.
    #[default]
    Inherit,
    Stop,
    Remove,
    RemoveWithData,
    SuperSeed,
}

/// Limits of sharing; the first that is reached counts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ShareLimits {
    pub ratio: Limit<f64>,
    pub seeding_seconds: Limit<u64>,
    pub inactive_seconds: Limit<u64>,
    pub action: ShareAction,
}

/// The two sets of limits on all torrents together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateMode {
    Normal,
    Alternative,
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
    /// The set of limits in force.
    pub rate_mode: Option<RateMode>,
    pub free_disk_bytes: Option<u64>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct File {
    pub index: u32,
    pub path: String,
    pub size: u64,
    pub progress: f64,
    /// 0 skip, 1 normal, 2 high.
    pub priority: u8,
    /// Distributed copies among the peers connected to.
    pub availability: Option<f64>,
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
    /// Torrents wait in a queue now.
    pub queueing: Option<bool>,
    /// Directory of torrents that are added without a save path.
    pub default_save_path: Option<String>,
    pub free_disk_bytes: Option<u64>,
}

/// All-time counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    pub downloaded: u64,
    pub uploaded: u64,
}

/// None = unlimited.
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

#[derive(Clone, Debug)]
pub struct AddRequest {
    /// The info-hash the host computed.
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
    pub download_path: Option<String>,
    pub auto_manage: Option<bool>,
    pub share_limits: Option<ShareLimits>,
    pub skip_checking: bool,
    pub content_layout: Option<ContentLayout>,
    pub queue_first: bool,
    pub stop_when: Option<StopWhen>,
}

/// Folder around the files of a torrent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentLayout {
    Original,
    Subfolder,
    NoSubfolder,
}

/// Moment at which a torrent that is added stops by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopWhen {
    MetadataReceived,
    FilesChecked,
}

/// A category with its paths; `None` where the client chooses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Category {
    pub name: String,
    pub save_path: Option<String>,
    pub download_path: Option<String>,
}

/// Version of a client, with the capabilities that it lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    pub version: String,
    pub lacks: Vec<&'static str>,
}

/// Change of the place in a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueMove {
    Top,
    Up,
    Down,
    Bottom,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    Start,
    Stop,
    Pause,
    Resume,
    ForceStart(bool),
    Recheck,
    Reannounce,
    /// Removes the torrent, with its data when true.
    Remove(bool),
    Move(String),
    /// None = the save path.
    DownloadPath(Option<String>),
    AutoManage(bool),
    /// Let go of the files, and remember how it ran.
    Detach,
    /// The data lies in this directory: save there, and run as before [`Command::Detach`].
    Attach(String),
    Rename(String),
    RenameFile {
        index: u32,
        name: String,
    },
    RenameFolder {
        old_path: String,
        new_path: String,
    },
    FilePriority {
        indexes: Vec<u32>,
        priority: u8,
    },
    TorrentPriority(u8),
    Queue(QueueMove),
    Sequential(bool),
    FirstLastPiece(bool),
    SuperSeeding(bool),
    UploadLimit(u64),
    DownloadLimit(u64),
    ShareLimits(ShareLimits),
    AddTracker(String),
    RemoveTracker(String),
    ReplaceTracker {
        old_url: String,
        new_url: String,
    },
    /// Peers by `address:port`.
    BanPeers(Vec<String>),
    /// An empty one takes it away.
    SetLabel(String),
    AddTags(Vec<String>),
    RemoveTags(Vec<String>),
}
