//! Requests and small responses of the torrent routes.

use qm_conditions::{Filter as Conditions, FilterError};
use qm_engines::dto::engines::engine_id;
use qm_kernel::{PageQuery, Permission, Principal};
use qm_platform::masked;
use qm_ports::engine::{AddOptions, File, Peer, TorrentState, Tracker, TrackerStatus};
use qm_ports::list::FIELDS;
use qm_torrent_lists::{Filter, ListQuery, Order, SortBy};
use qm_web::{Fields, FromBody, FromQuery};
use serde::Serialize;
use utoipa::ToSchema;

use crate::model::answers::{Added, EngineChoice};

/// `engineId=all`
const ALL_ENGINES: &str = "all";

/// Hashes in one request.
const MAX_HASHES: usize = 1000;

/// The query of the torrent list.
pub struct ListParams {
    pub engines: EngineChoice,
    pub query: ListQuery,
}

impl FromQuery for ListParams {
    fn from_query(f: &mut Fields<'_>) -> Self {
        let engines = engine_choice(f);
        let state = f.string("state").given().one_of(TorrentState::NAMES).optional();
        let (category, search) = (f.string("category").optional(), f.string("search").optional());
        let tag = f.string("tag").optional();
        let sort_by = f.string("sortBy").given().one_of(SortBy::NAMES).optional();
        let sort_dir = f.string("sortDir").optional();
        let filter = Filter::new(
            state.as_deref(),
            category.as_deref(),
            tag.as_deref(),
            search.as_deref(),
        )
        .with(conditions(f));
        let order = Order::parse(sort_by.as_deref(), sort_dir.as_deref());
        let page: PageQuery = f.page(ListQuery::MAX_PAGE_SIZE);
        Self {
            engines,
            query: ListQuery::new(filter, order, page),
        }
    }
}

/// `filter`: conditions like those of a rule.
fn conditions(f: &mut Fields<'_>) -> Option<Conditions> {
    let text = f.string("filter").given().optional()?;
    match Conditions::read(&text, &|name| FIELDS.contains(&name)) {
        Ok(conditions) => Some(conditions),
        Err(fault @ FilterError::Condition { .. }) => {
            f.broken(format!("filter{fault}"));
            None
        }
        Err(fault) => {
            f.broken(format!("filter {fault}"));
            None
        }
    }
}

/// `engineId` of a query that may mean every engine.
pub fn engine_choice(f: &mut Fields<'_>) -> EngineChoice {
    match engine_id(f, "engineId") {
        Some(id) if id == ALL_ENGINES => EngineChoice::All,
        id => EngineChoice::One(id),
    }
}

/// A torrent to add, by magnet link or URL; as an upload also by file.
#[derive(Debug, ToSchema, FromBody)]
#[schema(rename_all = "camelCase")]
pub struct AddTorrent {
    /// A magnet link; goes before `url`.
    pub magnet: Option<String>,
    /// Where the service fetches a .torrent file; internal addresses are refused.
    pub url: Option<String>,
    #[field(with = engine_id)]
    pub engine_id: Option<String>,
    #[field(max = 500)]
    pub category: Option<String>,
    /// Absolute directory inside the allowed storage roots.
    #[field(max = 4096)]
    pub save_path: Option<String>,
    /// Kept by the service where the client has no tags.
    #[field(max_items = 100, each_max = 200, default)]
    pub tags: Vec<String>,
    #[field(default)]
    pub start_paused: bool,
    #[field(default)]
    pub sequential_download: bool,
    #[field(default)]
    pub first_last_piece_priority: bool,
    /// Bytes per second.
    pub upload_limit: Option<u64>,
    /// Bytes per second.
    pub download_limit: Option<u64>,
}

impl AddTorrent {
    /// Blank categories and tags are none, and so is a limit of 0.
    pub fn options(&self) -> AddOptions {
        AddOptions {
            category: self
                .category
                .clone()
                .filter(|category| !category.trim().is_empty()),
            tags: tags(&self.tags),
            save_path: self.save_path.clone(),
            rename: None,
            start_paused: self.start_paused,
            sequential_download: self.sequential_download,
            first_last_piece_priority: self.first_last_piece_priority,
            upload_limit: self.upload_limit.filter(|limit| *limit > 0),
            download_limit: self.download_limit.filter(|limit| *limit > 0),
            ..AddOptions::default()
        }
    }
}

/// Tags as every client understands them: without commas, each once.
fn tags(given: &[String]) -> Vec<String> {
    let mut tags: Vec<String> = Vec::new();
    for tag in given.iter().flat_map(|text| text.split(',')).map(str::trim) {
        if !tag.is_empty() && !tags.iter().any(|known| known == tag) {
            tags.push(tag.to_owned());
        }
    }
    tags
}

/// The torrents whose library items are wanted.
#[derive(ToSchema, FromBody)]
#[expect(
    dead_code,
    reason = "nothing is imported from torrents yet, so there is nothing to look up"
)]
pub struct ImportedItemsBody {
    #[field(max_items = MAX_HASHES)]
    pub hashes: Vec<String>,
}

/// A library item that was imported from a torrent.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportedItem {
    pub torrent_hash: String,
    pub item_id: String,
    pub title: String,
    pub path: String,
    pub library: Option<String>,
}

/// The rule that chose a torrent.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MatchedRule {
    pub rule_id: String,
    pub rule_name: String,
    pub feed_id: String,
    pub matched_candidate_id: Option<String>,
    #[schema(format = DateTime)]
    pub matched_at: String,
}

/// Where to save a torrent from now on.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase")]
pub struct MoveBody {
    /// Absolute directory inside the allowed storage roots.
    #[field(max = 4096)]
    pub destination: String,
    #[field(with = engine_id)]
    pub engine_id: Option<String>,
}

/// The torrent was moved, or is being moved.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = TorrentMoved)]
pub struct MoveDone {
    /// Always true.
    pub success: bool,
    /// Id of the file operation of a move that takes longer than a request may wait: the move goes on as this
    /// operation, which tells its end over the realtime channel and can be cancelled. Left out when the move is done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation_id: Option<String>,
}

/// A rate limit.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase")]
pub struct LimitBody {
    /// 0 = unlimited.
    pub bytes_per_sec: u64,
    #[field(with = engine_id)]
    pub engine_id: Option<String>,
}

/// The priority of a file.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase")]
pub struct FilePriorityBody {
    pub file_index: u32,
    /// 0 skip, 1 normal, 2 high.
    #[field(one_of = &[0, 1, 2])]
    pub priority: u8,
    #[field(with = engine_id)]
    pub engine_id: Option<String>,
}

/// A tracker to add or remove.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase")]
pub struct TrackerBody {
    /// `http`, `https` or `udp`.
    #[field(with = tracker_url)]
    pub url: String,
    #[field(with = engine_id)]
    pub engine_id: Option<String>,
}

fn tracker_url(f: &mut Fields<'_>, name: &'static str) -> String {
    let url = f.string(name).required().max(2000).get();
    if !url.is_empty() && !is_tracker_url(&url) {
        f.broken("Tracker URL must be http(s) or udp");
    }
    url
}

fn is_tracker_url(url: &str) -> bool {
    let scheme_fits = ["http://", "https://", "udp://"].iter().any(|scheme| {
        url.get(..scheme.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    });
    scheme_fits && !url.contains(char::is_control)
}

/// A new name for a torrent.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase")]
pub struct RenameBody {
    #[field(len(1, 255))]
    pub name: String,
    #[field(with = engine_id)]
    pub engine_id: Option<String>,
}

/// Query of the removal with data.
#[derive(FromQuery)]
pub struct RemoveDataQuery {
    #[field(with = engine_id)]
    pub engine_id: Option<String>,
    #[field(default)]
    pub remove_library: bool,
    #[field(default)]
    pub keep_shared: bool,
}

/// The result of adding a torrent.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AddedTorrent)]
pub struct AddedView {
    /// The hash under which the engine lists it.
    pub hash: String,
    /// The engine had it already, and nothing about it was changed; left out of a torrent that is new.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub existed: bool,
    /// Names of what was asked for and was applied to a torrent that existed; left out of a torrent that is new, to which everything was,
    /// and where nothing was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, value_type = Vec<String>)]
    pub applied: Option<Vec<&'static str>>,
    /// Names of what was asked for and was not applied, because it existed: `category`, `tags`, `savePath`. Left out when empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false, value_type = Vec<String>)]
    pub ignored: Vec<&'static str>,
    /// Directory of the category, where that decided; left out otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, value_type = String)]
    pub save_path: Option<String>,
}

impl From<Added> for AddedView {
    fn from(added: Added) -> Self {
        let Added { hash, existed, asked } = added;
        let ignored = if existed { asked.names() } else { Vec::new() };
        Self {
            hash,
            existed,
            applied: (!ignored.is_empty()).then(Vec::new),
            ignored,
            save_path: asked.path_of_category.filter(|_| !existed),
        }
    }
}

/// It happened.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = TorrentDone)]
pub struct Done {
    pub success: bool,
    /// Library items removed along with the data, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub library_items_removed: Option<u32>,
}

impl Done {
    pub const fn new() -> Self {
        Self {
            success: true,
            library_items_removed: None,
        }
    }
}

/// A file of a torrent.
#[derive(Serialize, ToSchema)]
#[schema(as = TorrentFile)]
pub struct FileView {
    pub index: u32,
    /// Relative to the save path.
    pub path: String,
    /// Bytes.
    pub size: u64,
    /// Bytes.
    pub downloaded: u64,
    /// 0..1
    pub progress: f64,
    /// 0 skip, 1 normal, 2 high.
    pub priority: u8,
}

impl From<File> for FileView {
    fn from(file: File) -> Self {
        let File {
            index,
            path,
            size,
            downloaded,
            progress,
            priority,
            availability: _,
        } = file;
        Self {
            index,
            path,
            size,
            downloaded,
            progress,
            priority,
        }
    }
}

/// A peer of a torrent.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = TorrentPeer)]
pub struct PeerView {
    pub ip: String,
    pub port: u16,
    /// Its client software.
    pub client: Option<String>,
    pub country: Option<String>,
    /// 0..1
    pub progress: f64,
    /// Bytes per second, from it.
    pub download_rate: u64,
    /// Bytes per second, to it.
    pub upload_rate: u64,
    pub encrypted: bool,
}

impl From<Peer> for PeerView {
    fn from(peer: Peer) -> Self {
        let Peer {
            ip,
            port,
            client,
            country,
            progress,
            download_rate,
            upload_rate,
            encrypted,
        } = peer;
        Self {
            ip,
            port,
            client,
            country,
            progress,
            download_rate,
            upload_rate,
            encrypted,
        }
    }
}

/// A tracker of a torrent.
#[derive(Serialize, ToSchema)]
#[schema(as = TorrentTracker)]
pub struct TrackerView {
    pub url: String,
    /// From 0.
    pub tier: u32,
    /// `enabled`, `disabled`, `working` or `error`.
    #[schema(value_type = String)]
    pub status: TrackerStatus,
    pub seeders: Option<u32>,
    pub leechers: Option<u32>,
    /// The tracker's own message.
    pub message: Option<String>,
}

impl TrackerView {
    /// As `reader` may see it: private trackers put the user's key into the address.
    pub fn seen_by(tracker: Tracker, reader: &Principal) -> Self {
        let mut view = Self::from(tracker);
        if !reader.has_permission(Permission::TorrentsManageTrackers) {
            view.url = masked::url(&view.url);
            view.message = view.message.map(|message| masked::addresses(&message));
        }
        view
    }
}

impl From<Tracker> for TrackerView {
    fn from(tracker: Tracker) -> Self {
        let Tracker {
            url,
            tier,
            status,
            seeders,
            leechers,
            message,
        } = tracker;
        Self {
            url,
            tier,
            status,
            seeders,
            leechers,
            message,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::is_tracker_url;

    #[test]
    fn tracker_urls() {
        for url in ["http://t/a", "HTTPS://t/a", "udp://t:80", "Udp://t"] {
            assert!(is_tracker_url(url), "{url}");
        }
        for url in ["ftp://t", "t/announce", "wss://t", "http://t/\n", "ünd://x"] {
            assert!(!is_tracker_url(url), "{url}");
        }
    }
}
