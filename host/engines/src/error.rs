//! Errors of this area, each with its meaning for the caller.

pub mod samples;

use qm_db::DbError;
use qm_kernel::ErrorKind;
use qm_lanes::LaneError;
use qm_metainfo::{MagnetError, MetainfoError};
use qm_net::GuardError;
use qm_platform::ActingError;
use qm_ports::Settling;
use qm_ports::carry::CarryError;
use qm_ports::engine::EngineError;
use qm_web::{ApiError, lane_code, lane_kind};

use crate::model::abilities::Ability;
use crate::model::paths::PathError;

#[derive(Debug, thiserror::Error)]
pub enum TorrentsError {
    #[error("No torrent engine is configured")]
    NoEngine,
    /// Not loaded: unknown, disabled, or of a kind nobody provides.
    #[error("Engine {0} is not available")]
    EngineUnavailable(String),
    /// The plugin of an engine may yet come up.
    #[error(transparent)]
    Settling(#[from] Settling),
    #[error("Engine not found")]
    NoSuchEngine,
    #[error("Torrent not found")]
    NoSuchTorrent,
    /// The engine, or its plugin, said no.
    #[error("{}", describe(.engine, .source))]
    Engine { engine: String, source: EngineError },
    /// The kind of client, or its version, lacks what the request needs.
    #[error("{engine} cannot {}: `GET /api/engines/kinds` tells what each kind of client can", .ability.verb)]
    Lacks {
        engine: String,
        ability: &'static Ability,
    },
    /// Broken rules of a body that need more than the body to judge.
    #[error("{}", .0.join(", "))]
    Fields(Vec<String>),
    #[error(transparent)]
    Path(#[from] PathError),
    #[error(transparent)]
    Magnet(#[from] MagnetError),
    #[error("Invalid .torrent file{}", fault(.0))]
    Metainfo(#[from] MetainfoError),
    #[error(transparent)]
    Lane(#[from] LaneError),
    /// The patterns of a filter need too much of each torrent.
    #[error(
        "filter takes too long: after {seconds} s {judged} torrents were judged; make its patterns simpler, or put the conditions on numbers first"
    )]
    SlowFilter { judged: usize, seconds: u64 },
    #[error(transparent)]
    Fetch(#[from] GuardError),
    #[error("No torrent source provided")]
    NoSource,
    #[error("A torrent file is required")]
    NoFile,
    #[error("Missing permission: {0}")]
    MissingPermission(&'static str),
    /// The directory of a category, which no torrent could be saved into.
    #[error("{0}")]
    CategoryPath(PathError),
    #[error("A category with that name already exists")]
    CategoryTaken,
    #[error("Category not found")]
    NoSuchCategory,
    #[error("A tag with that name already exists")]
    TagTaken,
    #[error("Tag not found")]
    NoSuchTag,
    /// The caller's token allows it, but the user no longer has the right.
    #[error(transparent)]
    Acting(#[from] ActingError),
    /// The torrent's data is being moved; nothing else is done to the torrent meanwhile.
    #[error("The torrent's data is being moved: wait until that has ended, or cancel the file operation")]
    Moving,
    /// The change of an engine that would part a torrent from its data, which is being moved.
    #[error(
        "The engine's torrent {name:?} is being moved to {destination}: wait until that has ended, or cancel the file operation"
    )]
    EngineMoves { name: String, destination: String },
    /// The engine was changed between the request and the move.
    #[error("The engine was changed a moment ago: try again")]
    EngineChanged,
    /// A torrent whose files lie loose in a directory that others may share.
    #[error(
        "The files of the torrent lie in {0} itself, not in a folder of their own: move them with the torrent client"
    )]
    NoFolderOfItsOwn(String),
    #[error(
        "The torrent's data is not at {0} as this server sees it: the torrent client and the server must see the download \
         folders under the same paths, or the engine needs `pathMappings` (POST /api/engines/{{id}}/paths/check says what both see)"
    )]
    DataNotSeen(String),
    /// A removal with data; the text names the torrents that use the data too.
    #[error(
        "Other torrents use the data too: {0}. Remove them in the same request, or ask with keepShared: true to remove the torrent \
         and keep the data"
    )]
    SharedData(String),
    /// A move; the text names the torrents that use the data too.
    #[error("Other torrents use the data too: {0}. It is not moved: remove or move those first")]
    SharedMove(String),
    /// The client's own category has another directory, where torrents lie that would be moved.
    #[error(
        "{engine} has the category {category:?} at {theirs:?}, the server's list has it at {ours:?}, and {used} torrents lie where {engine} \
         says: turn autoManage off for those, or give both the same path (PATCH /api/categories/{{id}})"
    )]
    CategoryElsewhere {
        engine: String,
        category: String,
        theirs: String,
        ours: String,
        used: usize,
    },
    /// A change of the directory of a category that chooses directories.
    #[error(
        "{used} torrents lie where the category {category:?} says: turn autoManage off for those, or put them into another category, \
         before it gets another path"
    )]
    CategoryInUse { category: String, used: usize },
    #[error("Another removal or move of data at that place is under way: try again in a moment")]
    DataBusy,
    /// The torrent is gone, its data is not.
    #[error("The torrent is removed, but {count} of its files stayed, e.g. {path}: {why}")]
    DataStayed { count: usize, path: String, why: String },
    /// The torrent is gone; its data is called otherwise than its client says.
    #[error(
        "The torrent is removed, but its files were not found under the name that its client tells, and may have stayed: look in \
         its save path"
    )]
    DataUnfound,
    /// A crash would leave data behind.
    #[error("The removal could not be noted, and nothing was removed: try again in a moment")]
    NotNoted,
    /// The file manager refused, or failed.
    #[error(transparent)]
    Carry(#[from] CarryError),
    #[error("The server is starting: try again in a moment")]
    NoMover,
    #[error("a move ended unexpectedly")]
    MoveFailed(#[source] tokio::task::JoinError),
    #[error(transparent)]
    Database(#[from] DbError),
    /// Two areas registered counters of one name.
    #[error("the counters of the sync loops cannot be registered")]
    Metrics(#[from] prometheus::Error),
}

impl TorrentsError {
    /// The same for an order that moves data, where it is told of data that others use.
    #[must_use]
    pub fn of_move(self) -> Self {
        match self {
            TorrentsError::SharedData(names) => TorrentsError::SharedMove(names),
            other => other,
        }
    }

    /// Turns an error of `engine` into one of this area, for `map_err`.
    pub fn blame_engine(engine: &str) -> impl FnOnce(EngineError) -> TorrentsError {
        let engine = engine.to_owned();
        move |source| TorrentsError::Engine { engine, source }
    }

    /// True if the torrent is gone all the same.
    pub const fn left_data(&self) -> bool {
        matches!(
            self,
            TorrentsError::DataStayed { .. } | TorrentsError::DataUnfound
        )
    }

    pub fn kind(&self) -> ErrorKind {
        match self {
            TorrentsError::NoEngine
            | TorrentsError::EngineUnavailable(_)
            | TorrentsError::NoSuchEngine
            | TorrentsError::NoSuchTorrent
            | TorrentsError::NoSuchCategory
            | TorrentsError::NoSuchTag => ErrorKind::NotFound,
            TorrentsError::CategoryTaken
            | TorrentsError::TagTaken
            | TorrentsError::Moving
            | TorrentsError::EngineMoves { .. }
            | TorrentsError::EngineChanged
            | TorrentsError::NoFolderOfItsOwn(_)
            | TorrentsError::DataNotSeen(_)
            | TorrentsError::SharedData(_)
            | TorrentsError::SharedMove(_)
            | TorrentsError::CategoryElsewhere { .. }
            | TorrentsError::CategoryInUse { .. }
            | TorrentsError::DataBusy
            | TorrentsError::DataStayed { .. }
            | TorrentsError::DataUnfound => ErrorKind::Conflict,
            TorrentsError::Carry(error) => error.kind,
            TorrentsError::Settling(_) => Settling::KIND,
            TorrentsError::NoMover | TorrentsError::NotNoted => ErrorKind::Unavailable,
            TorrentsError::MoveFailed(_) => ErrorKind::Internal,
            TorrentsError::Engine { source, .. } => source.kind(),
            TorrentsError::Lacks { .. } => ErrorKind::Unsupported,
            TorrentsError::Fields(_)
            | TorrentsError::Magnet(_)
            | TorrentsError::Metainfo(_)
            | TorrentsError::NoSource
            | TorrentsError::SlowFilter { .. }
            | TorrentsError::CategoryPath(_)
            | TorrentsError::NoFile => ErrorKind::BadRequest,
            TorrentsError::Path(error) => error.kind(),
            TorrentsError::Fetch(error) => error.kind(),
            TorrentsError::MissingPermission(_) => ErrorKind::Forbidden,
            TorrentsError::Acting(error) => error.kind(),
            TorrentsError::Database(error) => error.kind(),
            TorrentsError::Lane(error) => lane_kind(error),
            TorrentsError::Metrics(_) => ErrorKind::Internal,
        }
    }
}

impl TorrentsError {
    /// The value of `code` in the answer; it never changes.
    pub const fn code(&self) -> &'static str {
        match self {
            TorrentsError::NoEngine => "not_found.no_engine",
            TorrentsError::EngineUnavailable(_) => "not_found.engine_unavailable",
            TorrentsError::Settling(_) => Settling::CODE,
            TorrentsError::NoSuchEngine => "not_found.engine",
            TorrentsError::NoSuchTorrent => "not_found.torrent",
            TorrentsError::NoSuchCategory => "not_found.category",
            TorrentsError::NoSuchTag => "not_found.tag",
            TorrentsError::CategoryTaken => "conflict.category",
            TorrentsError::TagTaken => "conflict.tag",
            TorrentsError::Engine { source, .. } => source.code(),
            TorrentsError::Lacks { ability, .. } => ability.code,
            TorrentsError::Fields(_) => "bad_request.rules",
            TorrentsError::Magnet(_) => "bad_request.magnet",
            TorrentsError::Metainfo(_) => "bad_request.torrent_file",
            TorrentsError::NoSource => "bad_request.no_source",
            TorrentsError::SlowFilter { .. } => "bad_request.slow_filter",
            TorrentsError::CategoryPath(_) => "bad_request.category_path",
            TorrentsError::NoFile => "bad_request.no_file",
            TorrentsError::Path(error) => error.code(),
            TorrentsError::Fetch(error) => error.code(),
            TorrentsError::MissingPermission(_) => "forbidden.permission",
            TorrentsError::Acting(error) => error.code(),
            TorrentsError::Moving => "conflict.moving",
            TorrentsError::EngineMoves { .. } => "conflict.engine_moves",
            TorrentsError::EngineChanged => "conflict.engine_changed",
            TorrentsError::NoFolderOfItsOwn(_) => "conflict.no_own_folder",
            TorrentsError::DataNotSeen(_) => "conflict.data_not_seen",
            TorrentsError::SharedData(_) | TorrentsError::SharedMove(_) => "conflict.shared_data",
            TorrentsError::CategoryElsewhere { .. } => "conflict.category_elsewhere",
            TorrentsError::CategoryInUse { .. } => "conflict.category_in_use",
            TorrentsError::DataBusy => "conflict.data_busy",
            TorrentsError::DataStayed { .. } | TorrentsError::DataUnfound => "conflict.data_stayed",
            TorrentsError::NotNoted => ErrorKind::Unavailable.code(),
            TorrentsError::Carry(error) => error.code,
            TorrentsError::NoMover => "unavailable.starting",
            TorrentsError::MoveFailed(_) => ErrorKind::Internal.code(),
            TorrentsError::Database(error) => error.kind().code(),
            TorrentsError::Lane(error) => lane_code(error),
            TorrentsError::Metrics(_) => ErrorKind::Internal.code(),
        }
    }
}

/// The text after `Invalid .torrent file`. It is empty for bytes that are no torrent at all: there is nothing more to
/// say.
fn fault(error: &MetainfoError) -> String {
    match error {
        MetainfoError::NotBencode => String::new(),
        MetainfoError::TooLarge
        | MetainfoError::Instead(_)
        | MetainfoError::Bencode(_)
        | MetainfoError::NoInfo
        | MetainfoError::UnknownVersion(_)
        | MetainfoError::Faulty { .. } => format!(": {error}"),
    }
}

/// A sentence that names the engine.
pub fn describe(engine: &str, error: &EngineError) -> String {
    match error {
        EngineError::NotFound(_) | EngineError::Unsupported(_) => error.to_string(),
        EngineError::Busy => format!("{engine}: {error}"),
        EngineError::Unreachable(_)
        | EngineError::Timeout(_)
        | EngineError::Auth(_)
        | EngineError::InvalidConfig(_)
        | EngineError::Rejected(_)
        | EngineError::Protocol(_)
        | EngineError::Plugin(_) => format!("{engine} {error}"),
    }
}

impl From<TorrentsError> for ApiError {
    fn from(error: TorrentsError) -> Self {
        if let TorrentsError::Fields(messages) = error {
            return ApiError::validation(messages);
        }
        ApiError::new(error.kind(), error.to_string())
            .with_code(error.code())
            .with_source(error)
    }
}
