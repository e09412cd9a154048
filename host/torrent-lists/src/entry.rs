//! A torrent on the wire, and the lists and realtime messages put together from torrents that are rendered already.

use std::sync::Arc;

use bytes::Bytes;
use qm_kernel::Timestamp;
use qm_ports::engine::{Torrent, TorrentState, TrackerStanding};
use qm_ports::list::Listed;
use serde::Serialize;
use utoipa::ToSchema;

/// A torrent of a torrent client. Sizes in bytes, rates in bytes per second, instants in ISO 8601.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Torrent)]
pub struct TorrentView<'a> {
    /// Lower-case hex info-hash, 40 digits.
    pub hash: &'a str,
    pub name: &'a str,
    #[schema(value_type = TorrentStateView)]
    pub state: TorrentState,
    /// 0..1
    pub progress: f64,
    pub size: u64,
    pub downloaded: u64,
    pub uploaded: u64,
    /// uploaded / downloaded as the client reckons; 1.5 is 150 %.
    pub ratio: f64,
    pub download_rate: u64,
    pub upload_rate: u64,
    /// Seconds to completion; null when unknown or infinite.
    pub eta: Option<u64>,
    pub seeds_connected: u32,
    /// Seeders that the trackers know of; null when unknown.
    pub seeds_total: Option<u32>,
    pub peers_connected: u32,
    /// Peers without the whole data that the trackers know of; null when unknown.
    pub peers_total: Option<u32>,
    /// 0 off, 1 low, 2 normal, 3 high.
    pub priority: u8,
    /// The client's category or label.
    pub label: Option<&'a str>,
    /// The client's tags; for a client that has none, those it was added with.
    pub tags: &'a [String],
    /// The directory it is saved into; many torrents share it.
    pub save_path: &'a str,
    /// The torrent's own file or folder.
    pub content_path: &'a str,
    /// True while its category chooses where its data lies; null where nobody has said.
    pub auto_managed: Option<bool>,
    /// Null while nobody knows: some clients do not tell, and a magnet link says nothing before its metadata is there.
    pub is_private: Option<bool>,
    /// The client's message about it, e.g. a tracker's complaint.
    pub message: Option<&'a str>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub added_at: Option<Timestamp>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub completed_at: Option<Timestamp>,
    /// Host name of its first tracker, without port; null when it has none or the client does not tell.
    pub tracker_host: Option<&'a str>,
    /// Standing with its trackers taken together; null when it has none, or the client does not tell or was not asked yet.
    #[schema(value_type = Option<TrackerStatusView>)]
    pub tracker_status: Option<TrackerStanding>,
    /// Text of the tracker that `trackerStatus` comes from, e.g. why it fails; null when it says nothing.
    pub tracker_message: Option<&'a str>,
    /// Seconds it was seeded in all, as of `secondsSeededAt`: while it seeds, add the time since. Null when the client does
    /// not count them.
    pub seconds_seeded: Option<u64>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub seconds_seeded_at: Option<Timestamp>,
    /// When the last byte of content moved, to a minute; null when unknown.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_activity: Option<Timestamp>,
    /// Distributed copies among the peers connected to; null when the client does not count them.
    pub availability: Option<f64>,
    /// The engine that lists it.
    pub engine_id: &'a str,
    /// Null unless the torrent is parked as dead.
    #[schema(value_type = Option<Object>)]
    pub parked: (),
    /// Always null.
    #[schema(value_type = Option<Object>)]
    pub intake: (),
    /// True while the engine is offline: this is what it said last. Left out otherwise, and in realtime messages, where
    /// `engine:status` says it of all its torrents at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = bool, required = false)]
    pub stale: Option<bool>,
}

impl<'a> TorrentView<'a> {
    pub fn new(engine_id: &'a str, torrent: &'a Torrent) -> Self {
        Self {
            hash: &torrent.hash,
            name: &torrent.name,
            state: torrent.state,
            progress: torrent.progress,
            size: torrent.size,
            downloaded: torrent.downloaded,
            uploaded: torrent.uploaded,
            ratio: torrent.ratio,
            download_rate: torrent.download_rate,
            upload_rate: torrent.upload_rate,
            eta: torrent.eta,
            seeds_connected: torrent.seeds_connected,
            seeds_total: torrent.seeds_total,
            peers_connected: torrent.peers_connected,
            peers_total: torrent.peers_total,
            priority: torrent.priority,
            label: torrent.label.as_deref(),
            tags: &torrent.tags,
            save_path: &torrent.save_path,
            content_path: &torrent.content_path,
            auto_managed: torrent.auto_managed,
            is_private: torrent.is_private,
            message: torrent.message.as_deref(),
            added_at: torrent.added_at,
            completed_at: torrent.completed_at,
            tracker_host: torrent.tracker_host.as_deref(),
            tracker_status: torrent.tracker_standing,
            tracker_message: torrent.tracker_message.as_deref(),
            seconds_seeded: torrent.seeded.map(|seeded| seeded.seconds),
            seconds_seeded_at: torrent.seeded.map(|seeded| seeded.as_of),
            last_activity: torrent.last_activity,
            availability: torrent.availability,
            engine_id,
            parked: (),
            intake: (),
            stale: None,
        }
    }
}

/// The state of a torrent.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = TorrentState)]
#[expect(
    dead_code,
    reason = "only describes the values of `state` in the API document"
)]
pub enum TorrentStateView {
    Downloading,
    Seeding,
    Paused,
    Stopped,
    Queued,
    Checking,
    Error,
    Completed,
    Allocating,
    Unknown,
}

/// Standing of a torrent with its trackers: `working` when one of them works; `updating` while none does and one was not heard yet;
/// `failing` when those that were asked fail; `unregistered` when none works and one says that it does not know the torrent or its user.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = TorrentTrackerStatus)]
#[expect(
    dead_code,
    reason = "only describes the values of `trackerStatus` in the API document"
)]
pub enum TrackerStatusView {
    Working,
    Updating,
    Failing,
    Unregistered,
}

/// A page of torrents.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TorrentPage<'a> {
    pub items: Vec<TorrentView<'a>>,
    /// Torrents that match, over all pages.
    pub total: u64,
    /// The page used, from 1.
    pub page: u64,
    /// The page size used, at most 500.
    pub page_size: u64,
}

/// The JSON of a torrent.
pub fn render(engine_id: &str, torrent: &Torrent) -> Bytes {
    let mut json =
        Vec::with_capacity(640 + torrent.name.len() + torrent.content_path.len() + torrent.save_path.len());
    if serde_json::to_writer(&mut json, &TorrentView::new(engine_id, torrent)).is_err() {
        // Never: only texts and numbers go in, and there is nothing the writer could refuse.
        json.clear();
    }
    json.into()
}

/// The end of the JSON of a torrent whose engine is offline.
const STALE_TAIL: &[u8] = b",\"stale\":true}";

/// The JSON of a torrent, as that of an engine that is offline.
pub fn push_stale(json: &mut Vec<u8>, torrent: &[u8]) {
    json.extend_from_slice(torrent.strip_suffix(b"}").unwrap_or(torrent));
    json.extend_from_slice(STALE_TAIL);
}

/// One torrent of an engine with its JSON, rendered once.
#[derive(Debug)]
pub struct TorrentEntry {
    pub engine_id: Arc<str>,
    pub torrent: Torrent,
    json: Bytes,
}

impl TorrentEntry {
    pub fn new(engine_id: &Arc<str>, torrent: Torrent) -> Self {
        let json = render(engine_id, &torrent);
        Self {
            engine_id: engine_id.clone(),
            torrent,
            json,
        }
    }

    /// The object as it stands in lists, in `torrents:update` and alone.
    pub fn json(&self) -> &Bytes {
        &self.json
    }

    /// The torrent as other areas see it.
    pub fn listed(&self) -> Listed<'_> {
        Listed {
            torrent: &self.torrent,
            json: &self.json,
        }
    }

    /// The object as a request sees it; `stale`: its engine is offline.
    pub fn shown(&self, stale: bool) -> Bytes {
        if !stale {
            return self.json.clone();
        }
        let mut json = Vec::with_capacity(self.json.len() + 16);
        push_stale(&mut json, &self.json);
        json.into()
    }
}

/// One version of an engine's list.
#[derive(Clone, Copy)]
pub struct Version<'a> {
    pub engine_id: &'a str,
    pub seq: u64,
    pub at: Timestamp,
}

/// A page of rendered torrents; those of the engines that are `down` are marked.
pub fn render_page(
    items: &[&TorrentEntry],
    total: usize,
    (page, page_size): (u64, u64),
    down: &[Arc<str>],
) -> Bytes {
    let marks = if down.is_empty() {
        0
    } else {
        items.len() * STALE_TAIL.len()
    };
    let mut json = Vec::with_capacity(64 + marks + length_of(items.iter().copied()));
    json.extend_from_slice(b"{\"items\":[");
    if down.is_empty() {
        push_entries(&mut json, items.iter().copied());
    } else {
        for (position, entry) in items.iter().enumerate() {
            if position > 0 {
                json.push(b',');
            }
            if down.contains(&entry.engine_id) {
                push_stale(&mut json, entry.json());
            } else {
                json.extend_from_slice(entry.json());
            }
        }
    }
    json.extend_from_slice(
        format!("],\"total\":{total},\"page\":{page},\"pageSize\":{page_size}}}").as_bytes(),
    );
    json.into()
}

/// A `torrents:update` for clients that follow deltas.
pub fn state_message(
    version: Version<'_>,
    changed: &[Arc<TorrentEntry>],
    removed: &[Arc<TorrentEntry>],
    full: bool,
) -> Bytes {
    let mut json = Vec::with_capacity(160 + length_of(changed.iter().map(|e| &**e)) + removed.len() * 43);
    let head = format!(
        "{{\"engineId\":\"{}\",\"seq\":{},\"full\":{full},\"torrents\":[",
        version.engine_id, version.seq
    );
    json.extend_from_slice(head.as_bytes());
    push_entries(&mut json, changed.iter().map(|e| &**e));
    if !full {
        json.extend_from_slice(b"],\"removed\":[");
        for (position, entry) in removed.iter().enumerate() {
            // A hash is hex digits: it needs no escaping.
            json.extend_from_slice(if position == 0 { b"\"" } else { b",\"" });
            json.extend_from_slice(entry.torrent.hash.as_bytes());
            json.push(b'"');
        }
    }
    push_end(&mut json, version.at);
    json.into()
}

/// A `torrents:update` with the whole list, for clients that replace theirs.
pub fn list_message(version: Version<'_>, entries: &[Arc<TorrentEntry>]) -> Bytes {
    let mut json = Vec::with_capacity(128 + length_of(entries.iter().map(|e| &**e)));
    json.extend_from_slice(format!("{{\"engineId\":\"{}\",\"torrents\":[", version.engine_id).as_bytes());
    push_entries(&mut json, entries.iter().map(|e| &**e));
    push_end(&mut json, version.at);
    json.into()
}

fn length_of<'a>(entries: impl Iterator<Item = &'a TorrentEntry>) -> usize {
    entries.map(|entry| entry.json().len() + 1).sum()
}

fn push_entries<'a>(json: &mut Vec<u8>, entries: impl Iterator<Item = &'a TorrentEntry>) {
    for (position, entry) in entries.enumerate() {
        if position > 0 {
            json.push(b',');
        }
        json.extend_from_slice(entry.json());
    }
}

fn push_end(json: &mut Vec<u8>, at: Timestamp) {
    json.extend_from_slice(format!("],\"at\":\"{at}\"}}").as_bytes());
}

#[cfg(test)]
mod tests {
    use qm_test_base::blank::torrent;
    use serde_json::Value;

    use super::*;

    #[test]
    fn a_rendered_torrent_is_what_the_schema_says() {
        let torrent = Torrent {
            name: "quote \" and \u{1f600}".into(),
            label: Some("tv".into()),
            tags: vec!["a".into(), "b".into()],
            added_at: Some(Timestamp::from_secs(1_900_000_000)),
            ratio: 1.5,
            ..torrent(7)
        };
        let view = serde_json::to_value(TorrentView::new("e", &torrent)).expect("JSON");
        let entry = TorrentEntry::new(&"e".into(), torrent.clone());
        let rendered: Value = serde_json::from_slice(entry.json()).expect("JSON");
        assert_eq!(rendered, view);
        assert_eq!(rendered["tags"], serde_json::json!(["a", "b"]));
        assert_eq!(rendered["addedAt"], "2030-03-17T17:46:40.000Z");
        assert_eq!(rendered["parked"], Value::Null);
        let render = |down: &[Arc<str>]| -> Value {
            let page = render_page(&[&entry, &entry], 7, (2, 2), down);
            serde_json::from_slice(&page).expect("JSON")
        };
        let page = render(&["other".into()]);
        assert_eq!(page["items"][1]["hash"], *torrent.hash);
        assert!(page["items"][1].get("stale").is_none());
        assert_eq!(render(&["e".into()])["items"][1]["stale"], true);
        assert_eq!(
            (&page["total"], &page["page"], &page["pageSize"]),
            (&7.into(), &2.into(), &2.into())
        );
    }
}
