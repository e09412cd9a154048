//! Messages that the loop sends over the realtime channel, and events that it publishes on the bus.

use qm_kernel::event::{Cause, DomainEvent, EventSpec};
use qm_kernel::{Ctx, Permission, Timestamp};
use qm_ports::engine::{GlobalStats, Torrent};
use qm_ports::list::TorrentRecord;
use qm_ports::rules::{Edge, RuleWatch};
use qm_realtime::{Hub, Room};
use qm_torrent_lists::TorrentEntry;
use serde::Serialize;
use serde_json::{Map, Value};

use super::SyncDeps;
use super::engine::{Engine, EngineStatus};
use super::tracker::Batch;
use crate::dto::messages::{DownloadFailed, StatsMessage, StatusMessage};
use crate::model::ledger::Counters;

qm_kernel::events! {
    pub struct TorrentCompleted: "torrent.completed" about "torrent" {
        torrent_name: String,
        hash: String,
        /// A number as text.
        size_bytes: String,
        save_path: String,
        content_path: String,
        engine_id: String,
    }

    pub struct TorrentFailed: "torrent.failed" about "torrent", once in 3600 {
        torrent_name: String,
        hash: String,
        /// A number as text.
        size_bytes: String,
        save_path: String,
        content_path: String,
        engine_id: String,
    }

    /// Torrents were added to their engine once more after they had been removed, as the same transaction stores. Nobody else is
    /// told.
    pub struct TorrentsRenewed: "torrent.renewed" about "engine" {
        engine_id: String,
        hashes: Vec<String>,
    }

    /// Rules are to run for a torrent because of what the same transaction stores of it. Nobody else is told.
    pub struct RulesDue: "torrent.rules_due" about "torrent" {
        /// e.g. `torrent.completed`
        trigger: String,
        engine_id: String,
        hash: String,
        /// The torrent at that moment, as `GET /api/torrents` shows it.
        torrent: Map<String, Value>,
        /// The ids of the rules, in the order in which they are to run.
        rules: Vec<String>,
    }
}

/// The events of this area.
pub const EVENTS: &[EventSpec] = &[
    EventSpec::for_event::<TorrentCompleted>(),
    EventSpec::for_event::<TorrentFailed>(),
    EventSpec::for_event::<TorrentsRenewed>(),
    EventSpec::for_event::<RulesDue>(),
];

/// The engine whose torrents rules are asked about, and the rules.
#[derive(Clone, Copy)]
pub struct Asking<'a> {
    pub engine_id: &'a str,
    /// Bytes free where its client saves.
    pub free_bytes: Option<u64>,
    pub ctx: &'a Ctx,
    pub watch: &'a dyn RuleWatch,
}

impl<'a> Asking<'a> {
    pub fn new(engine: &'a Engine, deps: &'a SyncDeps) -> Self {
        Self {
            engine_id: &engine.id,
            free_bytes: engine.free_bytes(),
            ctx: &deps.ctx,
            watch: &*deps.watch,
        }
    }

    /// The ids of the rules that are to run for a torrent because of that.
    pub fn due(&self, edge: Edge, torrent: &Torrent) -> Vec<String> {
        let record = TorrentRecord {
            engine_id: self.engine_id,
            torrent,
            now: self.ctx.now(),
            free_bytes: self.free_bytes,
        };
        self.watch.due(edge, &record)
    }
}

/// The events that a batch gives rise to once it is stored.
pub fn events_of(asking: Asking<'_>, batch: &Batch) -> Vec<DomainEvent> {
    let Asking {
        engine_id,
        ctx,
        watch,
        ..
    } = asking;
    // What is known of them goes before anything that is told of them.
    let mut events: Vec<DomainEvent> = renewed(engine_id, batch, ctx, watch).into_iter().collect();
    for row in &batch.rows {
        let torrent = &row.entry.torrent;
        if row.failed {
            events.push(DomainEvent::new(
                ctx,
                Cause::NONE,
                &*torrent.hash,
                &failed(engine_id, torrent),
            ));
        }
        if row.completed {
            events.push(DomainEvent::new(
                ctx,
                Cause::NONE,
                &*torrent.hash,
                &completed(engine_id, torrent),
            ));
        }
        let edges = [
            row.added.then_some(Edge::Added),
            row.completed.then_some(Edge::Completed),
            row.ratio_was.map(|from| Edge::RatioMoved { from }),
            row.failed.then_some(Edge::Failed),
        ];
        for edge in edges.into_iter().flatten() {
            let due = asking.due(edge, torrent);
            events.extend(rules_due(edge, due, &row.entry, ctx));
        }
    }
    events
}

/// The event of the torrents of a batch that were added once more; none where none was, or nobody remembers them.
fn renewed(engine_id: &str, batch: &Batch, ctx: &Ctx, watch: &dyn RuleWatch) -> Option<DomainEvent> {
    let renewed = batch.rows.iter().filter(|row| row.renewed);
    let hashes: Vec<String> = renewed.map(|row| row.entry.torrent.hash.to_string()).collect();
    if hashes.is_empty() || !watch.remembers() {
        return None;
    }
    let payload = TorrentsRenewed {
        engine_id: engine_id.to_owned(),
        hashes,
    };
    Some(DomainEvent::new(ctx, Cause::NONE, engine_id, &payload))
}

/// The event that rules are due; none where there are none.
pub fn rules_due(edge: Edge, rules: Vec<String>, entry: &TorrentEntry, ctx: &Ctx) -> Option<DomainEvent> {
    let payload = due_payload(edge, rules, entry)?;
    Some(DomainEvent::new(ctx, Cause::NONE, &*entry.torrent.hash, &payload))
}

/// The payload of that event.
pub fn due_payload(edge: Edge, rules: Vec<String>, entry: &TorrentEntry) -> Option<RulesDue> {
    if rules.is_empty() {
        return None;
    }
    // What was rendered is an object.
    let mut torrent: Map<String, Value> = serde_json::from_slice(entry.json()).unwrap_or_default();
    if let Edge::Stalled { since } = edge {
        torrent.insert("stalledSince".to_owned(), since.to_string().into());
    }
    Some(RulesDue {
        trigger: edge.trigger().to_owned(),
        engine_id: entry.engine_id.to_string(),
        hash: entry.torrent.hash.to_string(),
        torrent,
        rules,
    })
}

fn completed(engine_id: &str, torrent: &Torrent) -> TorrentCompleted {
    TorrentCompleted {
        torrent_name: torrent.name.clone(),
        hash: torrent.hash.to_string(),
        size_bytes: torrent.size.to_string(),
        save_path: torrent.save_path.clone(),
        content_path: torrent.content_path.clone(),
        engine_id: engine_id.to_owned(),
    }
}

fn failed(engine_id: &str, torrent: &Torrent) -> TorrentFailed {
    TorrentFailed {
        torrent_name: torrent.name.clone(),
        hash: torrent.hash.to_string(),
        size_bytes: torrent.size.to_string(),
        save_path: torrent.save_path.clone(),
        content_path: torrent.content_path.clone(),
        engine_id: engine_id.to_owned(),
    }
}

/// `stats:update`; the client's totals give way to the ledger's once there is one.
pub fn stats(hub: &Hub, engine_id: &str, mut stats: GlobalStats, totals: Option<Counters>, at: Timestamp) {
    if let Some(totals) = totals {
        stats.total_downloaded = totals.downloaded;
        stats.total_uploaded = totals.uploaded;
    }
    emit(
        hub,
        "stats:update",
        &StatsMessage {
            engine_id,
            stats: stats.into(),
            at,
        },
    );
}

/// `engine:status`
pub fn status(hub: &Hub, engine_id: &str, status: &EngineStatus) {
    let error = status.error.as_deref();
    emit(
        hub,
        "engine:status",
        &StatusMessage {
            engine_id,
            online: status.online,
            error,
            at: status.at,
        },
    );
}

/// `download.failed`
pub fn download_failed(hub: &Hub, message: &DownloadFailed<'_>) {
    emit(hub, "download.failed", message);
}

fn emit(hub: &Hub, event: &'static str, message: &impl Serialize) {
    hub.emit_json(Room::Perm(Permission::TorrentsView), event, message);
}
