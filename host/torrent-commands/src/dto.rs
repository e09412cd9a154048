//! Requests and answers of the routes.

use qm_engines::dto::engines::engine_id;
use qm_kernel::PageQuery;
use qm_torrent_data::DataSight;
use qm_web::{Fields, FromBody, FromQuery};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::error::CommandsError;
use crate::model::MOST;
use crate::model::act::{Act, Order};
use crate::model::kinds::{FIRST, KINDS, Kind, NAMES, REPLACE_HOST};
use crate::model::params::{Fault, Params, Texts, read_tags};
use crate::model::results::{ItemResult, Outcome, Standing};
use crate::model::wish::{BulkWish, Chosen};

/// `engineId=all`
const ALL_ENGINES: &str = "all";
/// Hashes in one bulk.
const MOST_HASHES: usize = 1_000;
/// Results of a page.
const MAX_PAGE: u64 = 1_000;

/// The order of a command with parameters.
fn order(name: &str, params: &Params) -> Result<Order, Fault> {
    let kind = Kind::from_name(name).unwrap_or(&KINDS[0]);
    kind.order(params)
}

/// A switch.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase", as = TorrentSwitch)]
pub struct EnabledBody {
    pub enabled: bool,
    #[field(with = engine_id)]
    pub engine_id: Option<String>,
}

impl EnabledBody {
    pub fn order(self, name: &str) -> Result<Order, Fault> {
        let enabled = Some(self.enabled);
        order(
            name,
            &Params {
                enabled,
                ..Params::default()
            },
        )
    }
}

/// A category for a torrent.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase", as = TorrentCategoryChange)]
pub struct CategoryBody {
    /// The category; an empty one takes it away.
    #[field(max = 500)]
    pub category: String,
    #[field(with = engine_id)]
    pub engine_id: Option<String>,
}

impl CategoryBody {
    pub fn order(self) -> Result<Order, Fault> {
        let category = Some(self.category);
        order(
            "setCategory",
            &Params {
                category,
                ..Params::default()
            },
        )
    }
}

/// A change of the tags of a torrent: some to add and some to take away, or all that it has afterwards.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase", as = TorrentTagsChange)]
#[fields(check = check_tags)]
pub struct TagsBody {
    #[field(max_items = 100, each_max = 200, default)]
    pub add: Vec<String>,
    #[field(max_items = 100, each_max = 200, default)]
    pub remove: Vec<String>,
    /// All tags that the torrent has afterwards; not together with the others.
    #[field(max_items = 100, each_max = 200)]
    pub set: Option<Vec<String>>,
    #[field(with = engine_id)]
    pub engine_id: Option<String>,
}

fn check_tags(body: &TagsBody, f: &mut Fields<'_>) {
    let is_change = !body.add.is_empty() || !body.remove.is_empty();
    if is_change == body.set.is_some() {
        f.broken("give tags to add or to remove, or those to set");
    }
}

impl TagsBody {
    pub fn order(self) -> Result<Order, Fault> {
        let (name, tags) = match self.set {
            Some(set) => ("setTags", set),
            None if !self.add.is_empty() => ("addTags", self.add),
            None => ("removeTags", self.remove.clone()),
        };
        let tags = Some(Texts::Many(tags));
        let mut made = order(
            name,
            &Params {
                tags,
                ..Params::default()
            },
        )?;
        if let Act::Tags(change) = &mut made.act
            && name == "addTags"
        {
            change.remove = read_tags(&self.remove)?;
        }
        Ok(made)
    }
}

/// A change of the place in the queue of the client.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase", as = TorrentQueueMove)]
pub struct QueueBody {
    /// `top`, `up`, `down` or `bottom`.
    #[field(one_of = &["top", "up", "down", "bottom"])]
    pub position: String,
    #[field(with = engine_id)]
    pub engine_id: Option<String>,
}

impl QueueBody {
    pub fn order(self) -> Result<Order, Fault> {
        let position = Some(self.position);
        order(
            "queue",
            &Params {
                position,
                ..Params::default()
            },
        )
    }
}

/// A priority of a torrent.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase", as = TorrentPriority)]
pub struct PriorityBody {
    /// 0 off, 1 low, 2 normal, 3 high.
    #[field(one_of = &[0, 1, 2, 3])]
    pub priority: u8,
    #[field(with = engine_id)]
    pub engine_id: Option<String>,
}

impl PriorityBody {
    pub fn order(self) -> Result<Order, Fault> {
        let priority = Some(self.priority);
        order(
            "priority",
            &Params {
                priority,
                ..Params::default()
            },
        )
    }
}

/// A directory for incomplete data.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase", as = TorrentDownloadPath)]
pub struct DownloadPathBody {
    /// Absolute directory inside the allowed storage roots; absent, `null` or empty: incomplete data lies where complete data does.
    #[field(max = 4096)]
    pub path: Option<String>,
    #[field(with = engine_id)]
    pub engine_id: Option<String>,
}

impl DownloadPathBody {
    pub fn order(self) -> Result<Order, Fault> {
        let download_path = self.path;
        order(
            "downloadPath",
            &Params {
                download_path,
                ..Params::default()
            },
        )
    }
}

/// A new name for a file of a torrent.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase", as = TorrentFileRename)]
pub struct RenameFileBody {
    /// `index` of the file in the list of files.
    pub file_index: u32,
    /// The new name in the same folder; with slashes in it the new path, relative to the torrent's directory. Parts of 255 bytes at
    /// most, none of them `.` or `..`.
    pub name: String,
    #[field(with = engine_id)]
    pub engine_id: Option<String>,
}

impl RenameFileBody {
    pub fn order(self) -> Result<Order, Fault> {
        let params = Params {
            file_index: Some(self.file_index),
            name: Some(self.name),
            ..Params::default()
        };
        order("renameFile", &params)
    }
}

/// A new name for a folder of a torrent.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase", as = TorrentFolderRename)]
pub struct RenameFolderBody {
    /// The folder, relative to the torrent's directory.
    pub path: String,
    /// Its new path, by the same rules as the name of a file.
    pub new_path: String,
    #[field(with = engine_id)]
    pub engine_id: Option<String>,
}

impl RenameFolderBody {
    pub fn order(self) -> Result<Order, Fault> {
        let params = Params {
            path: Some(self.path),
            new_path: Some(self.new_path),
            ..Params::default()
        };
        order("renameFolder", &params)
    }
}

/// A tracker in place of another one.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase", as = TorrentTrackerChange)]
pub struct ReplaceTrackerBody {
    /// The tracker as it is.
    #[field(max = 2000)]
    pub url: String,
    /// `http`, `https` or `udp`.
    #[field(max = 2000)]
    pub new_url: String,
    #[field(with = engine_id)]
    pub engine_id: Option<String>,
}

impl ReplaceTrackerBody {
    pub fn order(self) -> Result<Order, Fault> {
        let params = Params {
            url: Some(self.url),
            new_url: Some(self.new_url),
            ..Params::default()
        };
        order("replaceTracker", &params)
    }
}

/// Another host, or another address, for the trackers of a host in all torrents that have one.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase", as = TrackerHostChange)]
pub struct ReplaceHostBody {
    /// Host of the trackers; with a port only those at that port.
    #[field(max = 255)]
    pub host: String,
    /// Host instead of it. The rest of each address stays, and its port unless one is given here.
    #[field(max = 255)]
    pub new_host: Option<String>,
    /// Address instead of all of them; this or `newHost`.
    #[field(max = 2000)]
    pub new_url: Option<String>,
    /// An engine, or `all`; absent: the default one.
    #[field(with = engine_id)]
    pub engine_id: Option<String>,
}

impl ReplaceHostBody {
    pub fn wish(self) -> Result<BulkWish, Fault> {
        let params = Params {
            host: Some(self.host),
            new_host: self.new_host,
            new_url: self.new_url,
            ..Params::default()
        };
        let all = self.engine_id.as_deref() == Some(ALL_ENGINES);
        Ok(BulkWish {
            order: order(REPLACE_HOST, &params)?,
            chosen: Chosen::OfHost {
                engine_id: self.engine_id,
                all,
            },
            waits: false,
        })
    }
}

/// Peers that a client is to have nothing to do with.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase", as = TorrentPeersBan)]
pub struct BanPeersBody {
    /// Each with its port; an IPv6 address stands in brackets.
    #[field(min_items = 1, max_items = 100, each_max = 100)]
    pub peers: Vec<String>,
    #[field(with = engine_id)]
    pub engine_id: Option<String>,
}

impl BanPeersBody {
    pub fn order(self) -> Result<Order, Fault> {
        let peers = Some(self.peers);
        order(
            "banPeers",
            &Params {
                peers,
                ..Params::default()
            },
        )
    }
}

/// It happened.
#[derive(Serialize, ToSchema)]
#[schema(as = TorrentOrderDone)]
pub struct Done {
    /// Always true.
    pub success: bool,
}

/// The place of the data of a torrent.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = TorrentLocation)]
pub struct LocationView {
    /// As the client says.
    pub save_path: String,
    /// As the client says.
    pub content_path: String,
    /// `present`: all files are there; `partial`: some are; `missing`: none is; `unseen`: the server does not see that place, and nothing is known.
    pub state: &'static str,
    /// Files that are there, as the server sees them.
    pub found: usize,
    /// Files that are not there. Of a torrent that is not complete, some may never have been.
    pub missing: usize,
}

impl From<DataSight> for LocationView {
    fn from(sight: DataSight) -> Self {
        let state = match (sight.is_seen, sight.found, sight.missing) {
            (false, ..) => "unseen",
            (true, 0, _) => "missing",
            (true, _, 0) => "present",
            (true, ..) => "partial",
        };
        Self {
            save_path: sight.save_path,
            content_path: sight.content_path,
            state,
            found: sight.found,
            missing: sight.missing,
        }
    }
}

/// A torrent of a bulk.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase", as = BulkItem)]
#[expect(dead_code, reason = "it is read by `read_items`, and describes that")]
pub struct BulkItem {
    /// Its engine; absent: that of the request.
    #[schema(required = false)]
    pub engine_id: Option<String>,
    pub hash: String,
}

/// The torrents as they were given.
#[derive(Debug, Default)]
pub struct Given {
    pub hashes: Vec<String>,
    pub items: Option<Vec<(Option<String>, String)>>,
}

/// One command for many torrents.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase")]
pub struct BulkBody {
    /// Torrents of one engine, at most 1,000.
    #[field(with = read_given)]
    #[schema(value_type = Option<Vec<String>>)]
    pub hashes: Given,
    /// `start`, `stop`, `pause`, `resume`, `recheck`, `remove`, `removeData`, `forceStart`, `reannounce`, `setCategory`, `addTags`, `removeTags`,
    /// `setTags`, `queue`, `priority`, `sequential`, `firstLastPiece`, `superSeeding`, `autoManage`, `downloadPath`, `move`, `rename`,
    /// `renameFile`, `renameFolder`, `filePriority`, `uploadLimit`, `downloadLimit`, `addTracker`, `removeTracker`, `replaceTracker`,
    /// `replaceTrackerHost` or `banPeers`.
    #[field(words(NAMES, Kind::from_name), stand_in = &KINDS[0])]
    #[schema(value_type = String)]
    pub action: &'static Kind,
    /// An engine; absent: the default one; `all`: each engine that lists the torrent.
    #[field(with = engine_id)]
    pub engine_id: Option<String>,
    /// Heeded by `removeData` only.
    #[field(default)]
    pub remove_library: bool,
    /// Heeded by `removeData` only: of torrents whose data others use the data is kept, instead of them being refused.
    #[field(default)]
    pub keep_shared: bool,
    /// Torrents of several engines, at most 10,000, instead of `hashes`.
    #[field(skip)]
    #[schema(value_type = Option<Vec<BulkItem>>)]
    #[expect(dead_code, reason = "it describes what `hashes` reads beside them")]
    pub items: (),
    /// Parameters of the command, named as in the body of its own route.
    #[schema(value_type = Option<Object>)]
    pub params: Option<Map<String, Value>>,
}

const ITEMS: &str = "items";

fn read_given(f: &mut Fields<'_>, name: &'static str) -> Given {
    f.either(name, ITEMS);
    let Some(rows) = f.rows(ITEMS) else {
        if f.any(ITEMS).optional().is_some() {
            f.broken(format!("{ITEMS} must be an array"));
        }
        let hashes = f.strings(name).max_items(MOST_HASHES).get();
        return Given { hashes, items: None };
    };
    if f.strings(name).optional().is_some() {
        f.broken(format!("give {name} or {ITEMS}, one of them"));
    }
    let rows = rows.read();
    if rows.len() > MOST {
        f.broken(format!("{ITEMS} must contain no more than {MOST} elements"));
        return Given::default();
    }
    let mut items = Vec::with_capacity(rows.len());
    for row in rows {
        let Some(item) = row.ok().and_then(read_item) else {
            f.broken(format!(
                "each value in {ITEMS} must be an object with a hash and, or without, an engineId"
            ));
            return Given::default();
        };
        items.push(item);
    }
    Given {
        hashes: Vec::new(),
        items: Some(items),
    }
}

fn read_item(row: Value) -> Option<(Option<String>, String)> {
    let Value::Object(mut row) = row else { return None };
    let Some(Value::String(hash)) = row.remove("hash") else {
        return None;
    };
    let engine = match row.remove("engineId") {
        None | Some(Value::Null) => None,
        Some(Value::String(id)) => Some(id).filter(|id| !id.is_empty()),
        Some(_) => return None,
    };
    row.is_empty().then_some((engine, hash))
}

impl BulkBody {
    /// Number of library items removed along, where that was asked for.
    pub fn library_items_removed(&self) -> Option<u32> {
        let is_wanted = self.remove_library && matches!(self.action.name, "removeData");
        is_wanted.then_some(0)
    }

    pub fn wish(self) -> Result<BulkWish, CommandsError> {
        let mut order = self.action.read_order(&self.params.unwrap_or_default())?;
        if let Act::RemoveData { keep_shared } = &mut order.act {
            *keep_shared = self.keep_shared;
        }
        let on_all = self.engine_id.as_deref() == Some(ALL_ENGINES);
        let is_first = KINDS[..FIRST].iter().any(|kind| kind.name == order.kind.name);
        let (chosen, waits) = match (self.hashes.items, on_all) {
            (Some(items), all) => (chosen_of(items, self.engine_id, all)?, false),
            (None, true) => (Chosen::OnAll(self.hashes.hashes), false),
            (None, false) => {
                let hashes = self.hashes.hashes;
                let engine_id = self.engine_id;
                (Chosen::OfEngine { engine_id, hashes }, is_first)
            }
        };
        Ok(BulkWish { order, chosen, waits })
    }
}

/// Items with the engine of the request where they name none. With `all`, either all name one or none does.
fn chosen_of(
    items: Vec<(Option<String>, String)>,
    engine_id: Option<String>,
    all: bool,
) -> Result<Chosen, CommandsError> {
    if !all {
        let with_engine = |(own, hash): (Option<String>, String)| (own.or_else(|| engine_id.clone()), hash);
        return Ok(Chosen::Items(items.into_iter().map(with_engine).collect()));
    }
    let named = items.iter().filter(|(own, _)| own.is_some()).count();
    match named {
        0 => Ok(Chosen::OnAll(items.into_iter().map(|(_, hash)| hash).collect())),
        some if some == items.len() => Ok(Chosen::Items(items)),
        _ => Err(CommandsError::Value(format!(
            "{ITEMS}: with engineId=all each item names its engine, or none does"
        ))),
    }
}

/// To how many torrents a command was done.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BulkView {
    pub succeeded: usize,
    pub failed: usize,
    /// The result for each torrent, in the order in which they were given.
    pub results: Vec<BulkResultView>,
    /// Library items removed along with the data, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub library_items_removed: Option<u32>,
    /// Id of the job that does it, for more than 200 torrents; `GET /api/torrents/bulk/{id}` has the results, which are not here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job_id: Option<String>,
    /// Torrents that the job is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<usize>,
}

impl BulkView {
    /// The results; `full`: each with its engine and the code of its error.
    pub fn done(outcome: Outcome, full: bool, library_items_removed: Option<u32>) -> Self {
        let (succeeded, failed) = (outcome.succeeded(), outcome.failed);
        let results = outcome.results.into_iter();
        Self {
            succeeded,
            failed,
            results: results.map(|result| BulkResultView::new(result, full)).collect(),
            library_items_removed,
            job_id: None,
            total: None,
        }
    }

    pub const fn begun(id: String, total: usize) -> Self {
        Self {
            succeeded: 0,
            failed: 0,
            results: Vec::new(),
            library_items_removed: None,
            job_id: Some(id),
            total: Some(total),
        }
    }
}

/// The result for one torrent of a bulk.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = BulkResult)]
pub struct BulkResultView {
    /// As it was given.
    pub hash: String,
    /// It was done.
    pub ok: bool,
    /// Why it was not.
    pub error: Option<String>,
    /// Word for the reason, as in `code` of an error; left out where it was done, and of requests that know `hashes` of one engine alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<&'static str>,
    /// Its engine; left out where none was found, and of those requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine_id: Option<String>,
}

impl BulkResultView {
    pub fn new(result: ItemResult, full: bool) -> Self {
        let failure = result.failure;
        Self {
            hash: result.hash,
            ok: failure.is_none(),
            code: failure.as_ref().map(|failure| failure.code).filter(|_| full),
            error: failure.map(|failure| failure.text.to_string()),
            engine_id: result.engine_id.map(|id| id.to_string()).filter(|_| full),
        }
    }
}

/// Page of the results of a bulk job.
#[derive(FromQuery)]
pub struct BulkQuery(#[field(page = MAX_PAGE)] pub PageQuery);

/// A bulk job of the caller.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BulkJobView {
    pub job_id: String,
    /// The command.
    pub action: &'static str,
    /// Torrents that it is about.
    pub total: usize,
    /// Torrents that were tried so far.
    pub done: usize,
    /// It is over, and its results are here.
    pub ended: bool,
    pub succeeded: usize,
    pub failed: usize,
    /// A page of the results, in the order in which the torrents were given; none before its end.
    pub results: Vec<BulkResultView>,
    pub results_total: usize,
    pub page: u64,
    pub page_size: u64,
}

impl BulkJobView {
    pub fn new(job_id: String, standing: Standing, page: PageQuery) -> Self {
        let results = standing.results.into_iter();
        Self {
            job_id,
            action: standing.action,
            total: standing.total,
            done: standing.done,
            ended: standing.has_ended,
            succeeded: standing.succeeded,
            failed: standing.failed,
            results: results.map(|result| BulkResultView::new(result, true)).collect(),
            results_total: standing.results_total,
            page: page.page,
            page_size: page.page_size,
        }
    }
}
