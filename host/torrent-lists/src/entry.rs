//! A torrent on the wire, and the lists and realtime messages put together from torrents that are rendered already.

use std::sync::Arc;

use bytes::Bytes;
use qm_kernel::Timestamp;
use qm_ports::engine::{Torrent, TorrentState, TrackerStanding};
use qm_ports::intake::TakenFor;
use qm_ports::list::Listed;
use qm_ports::parking::Parked;
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
    pub parked: Option<ParkedView>,
    /// Film or episode that it was grabbed for, in the answer about one torrent; null where nobody knows, and in lists.
    pub intake: Option<IntakeView<'a>>,
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
            parked: torrent.parked.as_deref().map(ParkedView::from),
            intake: None,
            stale: None,
        }
    }
}

/// Mark of a parked torrent: it is paused because nobody shares it, and started from time to time to see if somebody does again.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = TorrentParked)]
pub struct ParkedView {
    /// `no_seeders` or `stalled`.
    pub reason: &'static str,
    #[schema(value_type = String, format = DateTime)]
    pub parked_at: Timestamp,
    /// Seeders that were known when it was parked or last probed.
    pub last_seeders: u32,
    /// Probes that found nobody.
    pub probe_count: u32,
    /// True while it runs to see if somebody shares it.
    pub probing: bool,
}

impl From<&Parked> for ParkedView {
    fn from(parked: &Parked) -> Self {
        Self {
            reason: parked.reason.as_str(),
            parked_at: parked.parked_at,
            last_seeders: parked.last_seeders,
            probe_count: parked.probe_count,
            probing: parked.probing,
        }
    }
}

/// Film or episode that a torrent was grabbed for.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = TorrentIntake)]
pub struct IntakeView<'a> {
    /// Area that grabbed it, e.g. `media_acquisition`.
    pub source: &'a str,
    /// `movie`, `series`, `season` or `episode`.
    pub kind: &'a str,
    /// Title of the film or the series.
    pub title: &'a str,
    pub year: Option<i64>,
    pub season: Option<i64>,
    pub episode: Option<i64>,
    /// Entry of the watchlist.
    pub watchlist_item_id: Option<&'a str>,
    /// Row of the wanted episode or film.
    pub wanted_id: Option<&'a str>,
    /// Evaluation that decided for it.
    pub evaluation_id: Option<&'a str>,
    /// Name of the release that was chosen.
    pub release_title: Option<&'a str>,
    #[schema(value_type = String, format = DateTime)]
    pub grabbed_at: Timestamp,
}

impl<'a> From<&'a TakenFor> for IntakeView<'a> {
    fn from(taken: &'a TakenFor) -> Self {
        Self {
            source: taken.source,
            kind: taken.kind.as_str(),
            title: &taken.title,
            year: taken.year,
            season: taken.season,
            episode: taken.episode,
            watchlist_item_id: taken.watchlist_item_id.as_deref(),
            wanted_id: taken.wanted_id.as_deref(),
            evaluation_id: taken.evaluation_id.as_deref(),
            release_title: taken.release_title.as_deref(),
            grabbed_at: taken.grabbed_at,
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
    write(&TorrentView::new(engine_id, torrent))
}

fn write(view: &TorrentView<'_>) -> Bytes {
    let mut json = Vec::with_capacity(640 + view.name.len() + view.content_path.len() + view.save_path.len());
    if serde_json::to_writer(&mut json, view).is_err() {
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

    /// The same, with the work that the torrent was grabbed for.
    pub fn shown_taken(&self, stale: bool, taken: &TakenFor) -> Bytes {
        write(&TorrentView {
            intake: Some(taken.into()),
            stale: stale.then_some(true),
            ..TorrentView::new(&self.engine_id, &self.torrent)
        })
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
    use qm_ports::intake::IntakeKind;
    use qm_ports::parking::ParkReason;
    use qm_test_base::blank::torrent;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_mark_of_parking_is_in_lists_and_a_grab_is_not() {
        let at = Timestamp::from_secs(1_900_000_000);
        let parked = Parked {
            reason: ParkReason::Stalled,
            parked_at: at,
            last_seeders: 1,
            probe_count: 2,
            probing: true,
        };
        let torrent = Torrent {
            parked: Some(Arc::new(parked)),
            ..torrent(7)
        };
        let entry = TorrentEntry::new(&"e".into(), torrent);
        let read = |json: &[u8]| serde_json::from_slice::<Value>(json).expect("JSON");
        let plain = read(entry.json());
        let mark = json!({
            "reason": "stalled", "parkedAt": "2030-03-17T17:46:40.000Z", "lastSeeders": 1, "probeCount": 2, "probing": true,
        });
        assert_eq!((&plain["parked"], &plain["intake"]), (&mark, &Value::Null));
        let taken = TakenFor {
            source: "media_acquisition",
            kind: IntakeKind::Episode,
            title: "Orchard \"Lane\"".into(),
            year: None,
            season: Some(2),
            episode: Some(7),
            watchlist_item_id: Some("w".into()),
            wanted_id: None,
            evaluation_id: Some("v".into()),
            release_title: None,
            grabbed_at: at,
        };
        for stale in [false, true] {
            let mut shown = read(&entry.shown_taken(stale, &taken));
            let intake = shown["intake"].take();
            assert_eq!(shown, read(&entry.shown(stale)), "all else is as without it");
            assert_eq!(
                intake,
                json!({
                    "source": "media_acquisition", "kind": "episode", "title": "Orchard \"Lane\"", "year": null, "season": 2,
                    "episode": 7, "watchlistItemId": "w", "wantedId": null, "evaluationId": "v", "releaseTitle": null,
                    "grabbedAt": "2030-03-17T17:46:40.000Z",
                })
            );
        }
    }

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
        assert_eq!(rendered["intake"], Value::Null);
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
