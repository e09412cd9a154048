//! Torrent clients as the host sees them: one trait, [`EngineDriver`], whatever the client and whatever the version
//! of the plugin API its component was written against. Units: bytes, bytes per second, unix milliseconds.

pub mod capability;
mod choices;
mod driver;

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use qm_kernel::{ErrorKind, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use self::choices::{
    Category, ContentLayout, Limit, QueueMove, RateMode, ShareAction, ShareLimits, StopWhen,
};
pub use self::driver::{EngineDriver, FRESH_LIMIT};
use crate::parking::Parked;
use crate::settling::Settling;

/// State of a torrent, mapped from the kind's own states.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TorrentState {
    Downloading,
    Seeding,
    Paused,
    Stopped,
    Queued,
    Checking,
    Error,
    Completed,
    Allocating,
    #[default]
    Unknown,
}

impl TorrentState {
    pub const ALL: &'static [TorrentState] = &[
        TorrentState::Downloading,
        TorrentState::Seeding,
        TorrentState::Paused,
        TorrentState::Stopped,
        TorrentState::Queued,
        TorrentState::Checking,
        TorrentState::Error,
        TorrentState::Completed,
        TorrentState::Allocating,
        TorrentState::Unknown,
    ];

    /// The words of all states, in the order of [`TorrentState::ALL`].
    pub const NAMES: &'static [&'static str] = &{
        let mut names = [""; TorrentState::ALL.len()];
        let mut number = 0;
        while number < names.len() {
            names[number] = TorrentState::ALL[number].as_str();
            number += 1;
        }
        names
    };

    pub const fn as_str(self) -> &'static str {
        match self {
            TorrentState::Downloading => "downloading",
            TorrentState::Seeding => "seeding",
            TorrentState::Paused => "paused",
            TorrentState::Stopped => "stopped",
            TorrentState::Queued => "queued",
            TorrentState::Checking => "checking",
            TorrentState::Error => "error",
            TorrentState::Completed => "completed",
            TorrentState::Allocating => "allocating",
            TorrentState::Unknown => "unknown",
        }
    }

    pub fn from_name(name: &str) -> Option<TorrentState> {
        Self::ALL.iter().copied().find(|state| state.as_str() == name)
    }
}

/// Standing of a torrent with all its trackers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TrackerStanding {
    /// One of them works.
    Working,
    /// None works, and one was not heard yet.
    Updating,
    /// None works.
    Failing,
    /// None works, and one says that it does not know the torrent or its user.
    Unregistered,
}

impl TrackerStanding {
    pub const ALL: &'static [TrackerStanding] = &[
        TrackerStanding::Working,
        TrackerStanding::Updating,
        TrackerStanding::Failing,
        TrackerStanding::Unregistered,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            TrackerStanding::Working => "working",
            TrackerStanding::Updating => "updating",
            TrackerStanding::Failing => "failing",
            TrackerStanding::Unregistered => "unregistered",
        }
    }

    pub fn from_name(name: &str) -> Option<TrackerStanding> {
        Self::ALL
            .iter()
            .copied()
            .find(|standing| standing.as_str() == name)
    }
}

/// One torrent of one client. `hash` is its identity: lower-case hex info-hash, 40 digits.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Torrent {
    pub hash: Arc<str>,
    pub name: String,
    pub state: TorrentState,
    /// 0..=1
    pub progress: f64,
    /// 0 while it has no metadata.
    pub size: u64,
    pub downloaded: u64,
    pub uploaded: u64,
    /// uploaded / downloaded as the client reckons it; 1.5 = 150 %.
    pub ratio: f64,
    pub download_rate: u64,
    pub upload_rate: u64,
    /// Seconds; `None` when unknown or infinite.
    pub eta: Option<u64>,
    pub seeds_connected: u32,
    /// None when unknown; so is the next but one.
    pub seeds_total: Option<u32>,
    pub peers_connected: u32,
    pub peers_total: Option<u32>,
    /// 0 off, 1 low, 2 normal, 3 high.
    pub priority: u8,
    /// The client's category or label.
    pub label: Option<String>,
    /// The client's tags, or those kept for a client that has none.
    pub tags: Vec<String>,
    /// The directory it is saved into, shared by many torrents.
    pub save_path: String,
    /// The torrent's own file or folder.
    pub content_path: String,
    /// Directory of its data while it is incomplete, where that is another one.
    pub download_path: Option<String>,
    /// It is shared by its trackers alone, as its own metadata says; `None` while nobody knows: a client that does not tell, or
    /// a magnet link without metadata.
    pub is_private: Option<bool>,
    /// False for a magnet link whose metadata is still to come; `None` while nobody knows.
    pub has_metadata: Option<bool>,
    pub message: Option<String>,
    pub added_at: Option<Timestamp>,
    pub completed_at: Option<Timestamp>,
    /// Host name of its first tracker.
    pub tracker_host: Option<String>,
    /// Number of its trackers without those that are switched off.
    pub trackers_count: Option<u32>,
    /// None while it has no tracker, or nobody knows.
    pub tracker_standing: Option<TrackerStanding>,
    /// Text of the tracker that the standing comes from.
    pub tracker_message: Option<String>,
    pub seeded: Option<Seeded>,
    /// When the last byte of content moved.
    pub last_activity: Option<Timestamp>,
    /// Distributed copies of the content among the peers connected to.
    pub availability: Option<f64>,
    /// Place in the client's queue, from 1.
    pub queue_position: Option<u32>,
    /// Choices as the client tells them, this one and those that follow; `None` where it tells nothing.
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
    /// Mark that the server keeps of a parked torrent; no client tells it.
    pub parked: Option<Arc<Parked>>,
}

/// The time a torrent was seeded in all. It grows with the clock while the torrent seeds, and no client tells that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seeded {
    pub seconds: u64,
    /// When the client said so.
    pub as_of: Timestamp,
}

impl Seeded {
    /// Seconds by `now`, if it has been in `state` since.
    pub fn seconds_by(&self, now: Timestamp, state: TorrentState) -> u64 {
        if state == TorrentState::Seeding {
            self.seconds.saturating_add(now.since(self.as_of).as_secs())
        } else {
            self.seconds
        }
    }
}

impl Torrent {
    /// Keeps the values that were told `before` where the difference is only drift: seeded seconds that are where the
    /// clock has brought them, an activity some seconds later, an availability that is the same to two digits. A
    /// torrent that is then equal is no news. This saves a message at each poll for each torrent that seeds.
    pub fn keep_drift(&mut self, before: &Torrent) {
        const DRIFT: u64 = 60;
        if let (Some(told), Some(known)) = (self.seeded, before.seeded)
            && known.seconds_by(told.as_of, before.state).abs_diff(told.seconds) <= DRIFT
            && before.state == self.state
        {
            self.seeded = before.seeded;
        }
        if let (Some(told), Some(known)) = (self.last_activity, before.last_activity)
            && told >= known
            && told.since(known).as_secs() < DRIFT
        {
            self.last_activity = before.last_activity;
        }
        if let (Some(told), Some(known)) = (self.availability, before.availability)
            && (told - known).abs() < 0.01
        {
            self.availability = before.availability;
        }
    }
}

/// Rates, limits and counts of a client. Totals are the sums over the client's list; the true totals are in the ledger.
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
    /// Downloading + seeding.
    pub active_count: u32,
    /// The set of limits in force; `None` when the client has one alone or the poll did not tell.
    pub rate_mode: Option<RateMode>,
    /// Bytes free where the client saves.
    pub free_disk_bytes: Option<u64>,
}

/// The audience for the answer of a poll.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attention {
    /// Something is decided by the list: every change is told, at whatever cost.
    Exact,
    /// Somebody looks at the list: changes of moving and of fresh torrents are told at once; a client that must work for each
    /// torrent may tell other changes up to 10 s later.
    Watched,
    /// Nobody looks: changes of moving torrents are told as ever, other changes may be told up to 10 s later.
    Quiet,
}

/// Torrents of one delta that a driver hands over; of a longer one the rest is cut off.
pub const LIST_LIMIT: usize = 200_000;

/// Changes since the poll whose cursor was given.
#[derive(Clone, Debug, Default)]
pub struct Delta {
    /// Goes back into the next poll once this delta was applied.
    pub cursor: u64,
    /// `changed` is the whole list; every other torrent is gone.
    pub full: bool,
    pub changed: Vec<Torrent>,
    pub removed: Vec<String>,
    pub stats: GlobalStats,
    /// Some torrents were left out because the list was too long to be handed over whole: a torrent that is not in it
    /// need not be gone.
    pub cut: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct File {
    pub index: u32,
    pub path: String,
    pub size: u64,
    pub downloaded: u64,
    /// 0..=1
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
    /// 0..=1
    pub progress: f64,
    pub download_rate: u64,
    pub upload_rate: u64,
    pub encrypted: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TrackerStatus {
    Enabled,
    Disabled,
    Working,
    Error,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Tracker {
    pub url: String,
    pub tier: u32,
    pub status: TrackerStatus,
    pub seeders: Option<u32>,
    pub leechers: Option<u32>,
    pub message: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionStats {
    pub engine_version: String,
    pub peer_id: Option<String>,
    pub listen_port: Option<u16>,
    pub dht_enabled: bool,
    /// Torrents wait in a queue now; `None` when the client has none.
    pub queueing: Option<bool>,
    /// Directory of torrents that are added without a save path.
    pub default_save_path: Option<String>,
    pub free_disk_bytes: Option<u64>,
    pub total_disk_bytes: Option<u64>,
}

/// All-time counters of a client, in bytes; never session counters passed off as such.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    pub downloaded: u64,
    pub uploaded: u64,
}

/// Bytes per second; `None` = unlimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct RateLimits {
    pub download: Option<u64>,
    pub upload: Option<u64>,
}

#[derive(Clone, Debug, Default)]
pub struct Health {
    pub version: String,
    /// Capabilities of the kind that this version of the client lacks.
    pub lacks: Vec<String>,
}

#[derive(Clone, Debug)]
pub enum Source {
    Magnet(String),
    Metainfo(bytes::Bytes),
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
    /// Bytes per second.
    pub upload_limit: Option<u64>,
    /// Bytes per second.
    pub download_limit: Option<u64>,
    /// With [`capability::DOWNLOAD_PATH`].
    pub download_path: Option<String>,
    /// With [`capability::AUTO_MANAGE`].
    pub auto_manage: Option<bool>,
    /// With [`capability::SHARE_LIMITS`].
    pub share_limits: Option<ShareLimits>,
    /// With [`capability::SKIP_CHECKING`].
    pub skip_checking: bool,
    /// With [`capability::CONTENT_LAYOUT`].
    pub content_layout: Option<ContentLayout>,
    /// With [`capability::QUEUE_POSITION`].
    pub queue_first: bool,
    /// With [`capability::STOP_WHEN`].
    pub stop_when: Option<StopWhen>,
}

#[derive(Clone, Debug)]
pub struct AddRequest {
    /// The info-hash the host computed from the source; how the torrent will be listed.
    pub hash: String,
    pub source: Source,
    pub options: AddOptions,
}

/// An operation on torrents that a user may ask for. It is answered by one [`Outcome`] for each hash, in the order
/// given.
#[derive(Clone, Debug)]
pub enum Command {
    Start,
    Stop,
    Pause,
    Resume,
    ForceStart(bool),
    Recheck,
    /// With [`capability::REANNOUNCE`].
    Reannounce,
    Remove {
        with_data: bool,
    },
    Move {
        destination: String,
    },
    /// Directory of incomplete data, `None` = the save path; with [`capability::DOWNLOAD_PATH`].
    DownloadPath(Option<String>),
    /// With [`capability::AUTO_MANAGE`].
    AutoManage(bool),
    /// Lets go of the files and remembers how it ran; with [`capability::FOLLOWS_DATA`].
    Detach,
    /// The data lies in this directory: it is saved there and runs as before [`Command::Detach`].
    Attach {
        save_path: String,
    },
    Rename {
        name: String,
    },
    RenameFile {
        index: u32,
        name: String,
    },
    /// A folder's path in the torrent and its new one; with [`capability::RENAME_FOLDER`].
    RenameFolder {
        old_path: String,
        new_path: String,
    },
    FilePriority {
        indexes: Vec<u32>,
        priority: u8,
    },
    Priority(u8),
    /// With [`capability::QUEUE_POSITION`].
    Queue(QueueMove),
    /// With [`capability::SEQUENTIAL`].
    Sequential(bool),
    /// With [`capability::FIRST_LAST_PIECE`].
    FirstLastPiece(bool),
    /// With [`capability::SUPER_SEEDING`].
    SuperSeeding(bool),
    UploadLimit(u64),
    DownloadLimit(u64),
    /// With [`capability::SHARE_LIMITS`].
    ShareLimits(ShareLimits),
    AddTracker {
        url: String,
    },
    RemoveTracker {
        url: String,
    },
    /// With [`capability::REPLACE_TRACKER`].
    ReplaceTracker {
        old_url: String,
        new_url: String,
    },
    /// Peers by `address:port`; with [`capability::BAN_PEERS`].
    BanPeers {
        peers: Vec<String>,
    },
    /// The category or label; an empty one takes it away.
    SetLabel {
        label: String,
    },
    /// Tags beside those it has; with [`capability::TAGS`].
    AddTags {
        tags: Vec<String>,
    },
    /// With [`capability::TAGS`].
    RemoveTags {
        tags: Vec<String>,
    },
}

#[derive(Clone, Debug)]
pub struct Outcome {
    pub hash: String,
    pub result: Result<(), EngineError>,
}

/// A kind of engine an installed plugin provides.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EngineKind {
    /// The neutral id that stands in `kind`, e.g. `scgi_client`.
    pub id: String,
    /// The product's name, e.g. `rTorrent`.
    pub label: String,
    pub version: String,
    /// JSON Schema of `config`.
    pub config_schema: Value,
    pub capabilities: Vec<String>,
}

/// The configuration of one engine, secrets in clear: handed to the driver and nowhere else.
#[derive(Clone, Default)]
pub struct EngineConfig {
    pub fields: Map<String, Value>,
    /// Values of `fields` that are stored encrypted; nothing may repeat them.
    pub secrets: Vec<String>,
}

impl std::fmt::Debug for EngineConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.fields.keys()).finish()
    }
}

/// Why a call to an engine failed. Every variant is an ordinary answer; none of them is a bug of the host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EngineError {
    /// No connection: refused, no route, name unknown, closed early.
    #[error("cannot be reached: {0}")]
    Unreachable(String),
    /// It accepted and fell silent, or the call's time ran out.
    #[error("did not answer in time: {0}")]
    Timeout(String),
    /// It refused the credentials, or bans this address.
    #[error("refused the login: {0}")]
    Auth(String),
    /// The configuration names an endpoint the plugin may not dial, or none.
    #[error("is not configured right: {0}")]
    InvalidConfig(String),
    /// No such torrent, file or tracker.
    #[error("{} not found", .0.label())]
    NotFound(Subject),
    /// This kind cannot do it.
    #[error("{0}")]
    Unsupported(String),
    /// The engine examined the torrent or the request and refused it. Another release may be tried.
    #[error("refused it: {0}")]
    Rejected(String),
    /// It answered, but not in its protocol, or with too much.
    #[error("gave an answer that makes no sense: {0}")]
    Protocol(String),
    /// The lane's queue is full; trying again helps.
    #[error("engine is busy")]
    Busy,
    /// The plugin trapped, ran out of its budget or is parked after too many strikes.
    #[error("its plugin failed: {0}")]
    Plugin(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    Torrent,
    File,
    Tracker,
    Category,
}

impl Subject {
    pub const fn label(self) -> &'static str {
        match self {
            Subject::Torrent => "Torrent",
            Subject::File => "File",
            Subject::Tracker => "Tracker",
            Subject::Category => "Category",
        }
    }
}

impl EngineError {
    pub const fn kind(&self) -> ErrorKind {
        match self {
            EngineError::Unreachable(_)
            | EngineError::Auth(_)
            | EngineError::Protocol(_)
            | EngineError::Plugin(_) => ErrorKind::Upstream,
            EngineError::Timeout(_) => ErrorKind::UpstreamTimeout,
            EngineError::NotFound(_) => ErrorKind::NotFound,
            EngineError::Unsupported(_) | EngineError::InvalidConfig(_) | EngineError::Rejected(_) => {
                ErrorKind::BadRequest
            }
            EngineError::Busy => ErrorKind::Unavailable,
        }
    }

    /// The value of `code` in an answer; it never changes.
    pub const fn code(&self) -> &'static str {
        match self {
            EngineError::Unreachable(_) => "upstream.engine_unreachable",
            EngineError::Auth(_) => "upstream.engine_login",
            EngineError::Protocol(_) => "upstream.engine_protocol",
            EngineError::Plugin(_) => "upstream.plugin",
            EngineError::Timeout(_) => "upstream_timeout.engine",
            EngineError::NotFound(Subject::Torrent) => "not_found.torrent",
            EngineError::NotFound(Subject::File) => "not_found.file",
            EngineError::NotFound(Subject::Tracker) => "not_found.tracker",
            EngineError::NotFound(Subject::Category) => "not_found.category",
            EngineError::Unsupported(_) => "bad_request.unsupported",
            EngineError::InvalidConfig(_) => "bad_request.engine_config",
            EngineError::Rejected(_) => "bad_request.engine_refused",
            EngineError::Busy => "unavailable.engine",
        }
    }

    /// True if the engine itself cannot be used, as opposed to one request being refused.
    pub const fn is_transport(&self) -> bool {
        matches!(
            self,
            EngineError::Unreachable(_)
                | EngineError::Timeout(_)
                | EngineError::Auth(_)
                | EngineError::Protocol(_)
                | EngineError::Plugin(_)
        )
    }
}

/// The installed kinds and the way to a driver. Implemented by `plugin-host`, and by a fake in `testkit`.
#[async_trait]
pub trait EngineKinds: Send + Sync {
    fn kinds(&self) -> Vec<EngineKind>;
    fn kind(&self, id: &str) -> Option<EngineKind> {
        self.kinds().into_iter().find(|kind| kind.id == id)
    }
    /// A notice that a plugin which may provide this kind is still being loaded; `None` once there is no such plugin.
    fn settling(&self, _kind: &str) -> Option<Settling> {
        None
    }
    /// Opens a driver; dials nothing yet. `id` names the engine in logs and in `GET /api/plugins`.
    async fn open(
        &self,
        id: &str,
        kind: &str,
        config: EngineConfig,
    ) -> Result<Arc<dyn EngineDriver>, EngineError>;
    /// Changes whenever the set of kinds does (a plugin appeared, went or was replaced).
    fn generation(&self) -> changes::Receiver;
}

/// A counter others wait on, without making this crate depend on a runtime.
pub mod changes {
    use std::sync::Arc;

    /// Waits for the next change; see [`Changes`].
    pub type Receiver = Arc<dyn Changes>;

    #[async_trait::async_trait]
    pub trait Changes: Send + Sync {
        /// The current count.
        fn current(&self) -> u64;
        /// Returns once the count differs from `seen`, with the new one.
        async fn changed(&self, seen: u64) -> u64;
    }
}

/// Extra facts a plugin gave beyond the typed fields; open-ended on purpose.
pub type Extra = BTreeMap<String, String>;
