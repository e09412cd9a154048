//! Orders about many items, in requests and answers.

use qm_web::{Fields, FromBody};
use serde::Serialize;
use utoipa::ToSchema;

use qm_media::model::bulk::{Accepted, SourceTorrent, TorrentAction};

/// Most characters of an id.
const MAX_ID: usize = 200;

/// The items an order is about.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase", as = MediaItemsInput)]
#[fields(open)]
pub struct ItemsInput {
    /// 1000 at most; one that is named twice counts once, and what is no text not at all.
    #[field(with = Fields::strings_among)]
    pub item_ids: Option<Vec<String>>,
}

/// The items whose files are to be deleted.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase", as = MediaDeleteFilesInput)]
#[fields(open)]
pub struct DeleteFilesInput {
    /// 1000 at most; one that is named twice counts once, and what is no text not at all.
    #[field(with = Fields::strings_among)]
    pub item_ids: Option<Vec<String>>,
    /// Treatment of torrents with this data: `keep`, `stop` (removes the torrent, keeps its data) or `stop_and_delete`.
    #[field(words(&TorrentAction::WORDS, TorrentAction::from_word))]
    #[schema(value_type = Option<String>)]
    pub torrent_action: Option<TorrentAction>,
    /// With `stop_and_delete`: data that other torrents use stays. Otherwise nothing is deleted, and the answer is a 409 that names
    /// them.
    #[field(default)]
    #[schema(required = false, default = false)]
    pub keep_shared: bool,
}

/// The items that are to be moved, and where to.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase", as = MediaMoveInput)]
#[fields(open)]
pub struct MoveInput {
    /// 1000 at most; one that is named twice counts once, and what is no text not at all.
    #[field(with = Fields::strings_among)]
    pub item_ids: Option<Vec<String>>,
    /// The library they go into.
    #[field(max = MAX_ID)]
    pub target_library_id: Option<String>,
}

/// Answer to an accepted order.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MediaOrderAccepted)]
pub struct AcceptedView {
    /// Id of the job that carries out the order; empty: it is done already.
    pub job_id: String,
    /// Items it is about.
    pub accepted: usize,
    /// Ids that no item has.
    pub missing: Vec<String>,
}

impl From<Accepted> for AcceptedView {
    fn from(accepted: Accepted) -> Self {
        Self {
            job_id: accepted.job_id.unwrap_or_default(),
            accepted: accepted.count,
            missing: accepted.missing,
        }
    }
}

/// A torrent whose data lies where items do.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MediaSourceTorrent)]
pub struct SourceTorrentView {
    pub torrent_hash: String,
    pub engine_id: Option<String>,
    pub name: String,
    pub source_path: String,
    /// As the list of torrents has it, e.g. `seeding`.
    pub state: &'static str,
    /// Size of everything at `sourcePath`, in bytes; 0 if that is outside the roots or not there.
    pub size_bytes: u64,
    pub item_ids: Vec<String>,
}

impl From<SourceTorrent> for SourceTorrentView {
    fn from(torrent: SourceTorrent) -> Self {
        Self {
            torrent_hash: torrent.hash,
            engine_id: Some(torrent.engine_id),
            name: torrent.name,
            source_path: torrent.path,
            state: torrent.state,
            size_bytes: torrent.size,
            item_ids: torrent.item_ids,
        }
    }
}

/// Torrents whose data lies where items do.
#[derive(Serialize, ToSchema)]
#[schema(as = MediaSourceTorrents)]
pub struct SourceTorrentsView {
    pub torrents: Vec<SourceTorrentView>,
}
