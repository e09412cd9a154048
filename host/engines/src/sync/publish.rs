//! Messages that the loop sends over the realtime channel, and events that it publishes on the bus.

use qm_kernel::event::{Cause, DomainEvent, EventSpec};
use qm_kernel::{Ctx, Permission, Timestamp};
use qm_ports::engine::{GlobalStats, Torrent};
use qm_ports::list::TorrentRecord;
use qm_ports::rules::{Edge, RuleWatch};
use qm_realtime::{Hub, Room};
use serde::Serialize;
use serde_json::{Map, Value};

use super::engine::EngineStatus;
use super::tracker::Batch;
use crate::dto::messages::{DownloadFailed, StatsMessage, StatusMessage};
use crate::model::ledger::Counters;
use crate::repo::snapshots::RowWrite;

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

/// The events that a batch gives rise to once it is stored.
pub fn events_of(engine_id: &str, batch: &Batch, ctx: &Ctx, watch: &dyn RuleWatch) -> Vec<DomainEvent> {
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
            row.completed.then_some(Edge::Completed),
            row.ratio_was.map(|from| Edge::RatioMoved { from }),
            row.failed.then_some(Edge::Failed),
        ];
        for edge in edges.into_iter().flatten() {
            let due = watch.due(edge, &record(engine_id, torrent, ctx));
            events.extend(rules_due(edge, due, row, ctx));
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

/// A torrent as conditions see it now.
pub fn record<'a>(engine_id: &'a str, torrent: &'a Torrent, ctx: &Ctx) -> TorrentRecord<'a> {
    TorrentRecord {
        engine_id,
        torrent,
        now: ctx.now(),
    }
}

fn rules_due(edge: Edge, rules: Vec<String>, row: &RowWrite, ctx: &Ctx) -> Option<DomainEvent> {
    if rules.is_empty() {
        return None;
    }
    let entry = &row.entry;
    let payload = RulesDue {
        trigger: edge.trigger().to_owned(),
        engine_id: entry.engine_id.to_string(),
        hash: entry.torrent.hash.to_string(),
        // What was rendered is an object.
        torrent: serde_json::from_slice(entry.json()).unwrap_or_default(),
        rules,
    };
    Some(DomainEvent::new(ctx, Cause::NONE, &*entry.torrent.hash, &payload))
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
