//! Choices of users that a client keeps: limits of sharing, places in a queue, categories, and the ways to add a torrent.

use serde::Serialize;

/// Limit of sharing, of a ratio or of seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Limit<T> {
    /// As the client is set for all torrents, or for those of the category.
    #[default]
    Inherit,
    /// No limit, whatever the client is set to.
    Unlimited,
    At(T),
}

/// Action at a limit of sharing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ShareAction {
    /// As the client is set.
    #[default]
    Inherit,
    Stop,
    Remove,
    RemoveWithData,
    SuperSeed,
}

/// Limits of sharing as they are set on a torrent; the first that is reached counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ShareLimits {
    /// 1.5 = 150 %.
    pub ratio: Limit<f64>,
    /// Seconds seeded in all.
    pub seeding_time: Limit<u64>,
    /// Seconds seeded since a peer last took something; with [`super::capability::INACTIVE_LIMIT`].
    pub inactive_time: Limit<u64>,
    /// With [`super::capability::SHARE_ACTION`].
    pub action: ShareAction,
}

/// The two sets of limits on all torrents of a client together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RateMode {
    Normal,
    Alternative,
}

/// Change of the place in a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueMove {
    Top,
    Up,
    Down,
    Bottom,
}

/// Folder around the files of a torrent that is added.
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

/// Category of a client, which its torrents have as their label; a path that is `None` is the client's own choice.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Category {
    pub name: String,
    /// Directory of its torrents.
    pub save_path: Option<String>,
    /// Directory of their data while it is incomplete.
    pub download_path: Option<String>,
}
