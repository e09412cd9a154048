//! Questions to the services and their answers, before they are shaped for the wire.

use qm_kernel::Permission;
use qm_ports::engine::Command;

/// The engines whose torrents a list shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EngineChoice {
    /// One engine; `None` is the default one.
    One(Option<String>),
    /// Every loaded engine that has a snapshot, merged.
    All,
}

/// An action on many torrents at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BulkAction {
    Start,
    Stop,
    Pause,
    Resume,
    Recheck,
    Remove,
    RemoveData,
}

impl BulkAction {
    pub const NAMES: &'static [&'static str] = &[
        "start",
        "stop",
        "pause",
        "resume",
        "recheck",
        "remove",
        "removeData",
    ];

    pub const ALL: &'static [BulkAction] = &[
        BulkAction::Start,
        BulkAction::Stop,
        BulkAction::Pause,
        BulkAction::Resume,
        BulkAction::Recheck,
        BulkAction::Remove,
        BulkAction::RemoveData,
    ];

    pub fn from_name(name: &str) -> Option<BulkAction> {
        BulkAction::ALL
            .iter()
            .copied()
            .find(|action| action.name() == name)
    }

    pub const fn name(self) -> &'static str {
        match self {
            BulkAction::Start => "start",
            BulkAction::Stop => "stop",
            BulkAction::Pause => "pause",
            BulkAction::Resume => "resume",
            BulkAction::Recheck => "recheck",
            BulkAction::Remove => "remove",
            BulkAction::RemoveData => "removeData",
        }
    }

    pub const fn audited_as(self) -> &'static str {
        match self {
            BulkAction::Start => "torrents.bulk.start",
            BulkAction::Stop => "torrents.bulk.stop",
            BulkAction::Pause => "torrents.bulk.pause",
            BulkAction::Resume => "torrents.bulk.resume",
            BulkAction::Recheck => "torrents.bulk.recheck",
            BulkAction::Remove => "torrents.bulk.remove",
            BulkAction::RemoveData => "torrents.bulk.removeData",
        }
    }

    pub const fn permission(self) -> Permission {
        match self {
            BulkAction::Start => Permission::TorrentsStart,
            BulkAction::Stop => Permission::TorrentsStop,
            BulkAction::Pause => Permission::TorrentsPause,
            BulkAction::Resume => Permission::TorrentsResume,
            BulkAction::Recheck => Permission::TorrentsRecheck,
            BulkAction::Remove => Permission::TorrentsDelete,
            BulkAction::RemoveData => Permission::TorrentsDeleteData,
        }
    }

    pub const fn command(self) -> Command {
        match self {
            BulkAction::Start => Command::Start,
            BulkAction::Stop => Command::Stop,
            BulkAction::Pause => Command::Pause,
            BulkAction::Resume => Command::Resume,
            BulkAction::Recheck => Command::Recheck,
            BulkAction::Remove => Command::Remove { with_data: false },
            BulkAction::RemoveData => Command::Remove { with_data: true },
        }
    }

    pub const fn removes(self) -> bool {
        matches!(self, BulkAction::Remove | BulkAction::RemoveData)
    }
}

/// The result for one of the torrents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BulkResult {
    /// The hash as it was given.
    pub hash: String,
    /// The reason why nothing was done with it.
    pub error: Option<String>,
}

/// The result of adding a torrent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Added {
    /// The hash the engine lists it under, or will.
    pub hash: String,
    /// The engine had it already; it stays as it was.
    pub existed: bool,
    /// Wishes that came with it.
    pub asked: Asked,
}

/// Wishes that may come with a torrent to add.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    pub category: Option<String>,
    pub tags: Vec<String>,
    pub save_path: Option<String>,
    /// Directory that the category gave, because none was asked for.
    pub path_of_category: Option<String>,
}

impl Asked {
    /// The names of what is there, as requests spell them.
    pub fn names(&self) -> Vec<&'static str> {
        let given = [
            ("category", self.category.is_some()),
            ("tags", !self.tags.is_empty()),
            ("savePath", self.save_path.is_some()),
        ];
        given
            .into_iter()
            .filter(|(_, is_given)| *is_given)
            .map(|(name, _)| name)
            .collect()
    }
}
