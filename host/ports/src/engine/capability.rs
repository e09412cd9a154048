//! Capabilities of a kind of engine beyond those that all kinds have, as its plugin declares them.

/// `move` moves the data, not only the pointer.
pub const MOVES_DATA: &str = "moves-data";
/// It can let go of its data and be pointed at it again, so that the host can move the data.
pub const FOLLOWS_DATA: &str = "follows-data";
pub const RENAME: &str = "rename";
pub const RENAME_FILE: &str = "rename-file";
/// It keeps tags, tells them and changes them.
pub const TAGS: &str = "tags";
pub const ALL_TIME: &str = "all-time-stats";
pub const GLOBAL_LIMITS: &str = "global-limits";
/// Takes torrents that are v2 only (BEP 52).
pub const V2: &str = "v2";
pub const RENAME_FOLDER: &str = "rename-folder";
/// It has categories beside the labels of torrents: lists them, makes, changes and removes them.
pub const CATEGORIES: &str = "categories";
pub const REANNOUNCE: &str = "reannounce";
pub const QUEUE_POSITION: &str = "queue-position";
pub const SEQUENTIAL: &str = "sequential";
pub const FIRST_LAST_PIECE: &str = "first-last-piece";
pub const SUPER_SEEDING: &str = "super-seeding";
pub const AUTO_MANAGE: &str = "auto-manage";
pub const DOWNLOAD_PATH: &str = "download-path";
pub const REPLACE_TRACKER: &str = "replace-tracker";
pub const BAN_PEERS: &str = "ban-peers";
pub const BANNED_PEERS: &str = "banned-peers";
pub const SHARE_LIMITS: &str = "share-limits";
pub const INACTIVE_LIMIT: &str = "inactive-limit";
pub const SHARE_ACTION: &str = "share-action";
pub const SKIP_CHECKING: &str = "skip-checking";
pub const CONTENT_LAYOUT: &str = "content-layout";
pub const STOP_WHEN: &str = "stop-when";
pub const EXPORT: &str = "export";
pub const ALTERNATIVE_LIMITS: &str = "alternative-limits";
pub const PREFERENCES: &str = "preferences";
