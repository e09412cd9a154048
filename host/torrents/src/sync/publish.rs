//! What the loop tells: messages of the realtime channel, and events of the bus.

use qm_kernel::event::{Cause, DomainEvent, EventSpec};
use qm_kernel::{Ctx, Permission, Timestamp};
use qm_ports::engine::{GlobalStats, Torrent};
use qm_realtime::{Hub, Room};
use serde::{Deserialize, Serialize};

use super::engine::EngineStatus;
use super::tracker::Batch;
use crate::dto::torrent::{DownloadFailed, StatsMessage, StatusMessage};
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

    /// Every torrent of one transaction whose ratio is no longer the stored one.
    pub struct RatioChanged: "torrent.ratio_changed" about "torrent_engine" {
        engine_id: String,
        changes: Vec<RatioChange>,
    }
}

/// The events of this area.
pub const EVENTS: &[EventSpec] = &[
    EventSpec::of::<TorrentCompleted>(),
    EventSpec::of::<TorrentFailed>(),
    EventSpec::of::<RatioChanged>(),
];

/// A rule on the ratio fires when `current` satisfies it and `previous` did not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RatioChange {
    pub hash: String,
    pub previous: f64,
    pub current: f64,
}

/// The events that a batch gives rise to once it is stored.
pub fn events_of(engine_id: &str, batch: &Batch, ctx: &Ctx) -> Vec<DomainEvent> {
    let mut events = Vec::new();
    let mut changes = Vec::new();
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
        if let Some(previous) = row.ratio_was {
            changes.push(RatioChange {
                hash: torrent.hash.to_string(),
                previous,
                current: torrent.ratio,
            });
        }
    }
    if !changes.is_empty() {
        let payload = RatioChanged {
            engine_id: engine_id.to_owned(),
            changes,
        };
        events.push(DomainEvent::new(ctx, Cause::NONE, engine_id, &payload));
    }
    events
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
