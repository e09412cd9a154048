//! What the loop tells: messages of the realtime channel, and events of the bus.

use bytes::Bytes;
use qm_kernel::engine::{GlobalStats, Torrent};
use qm_kernel::event::{DomainEvent, EventSpec};
use qm_kernel::{Ctx, Permission, Timestamp};
use qm_platform::realtime::{Hub, Room};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::engine::EngineStatus;
use super::tracker::Batch;
use crate::dto::torrent::{DownloadFailed, StatsMessage, StatusMessage};
use crate::model::ledger::Counters;

pub const TORRENT_COMPLETED: &str = "torrent.completed";
pub const TORRENT_FAILED: &str = "torrent.failed";
pub const RATIO_CHANGED: &str = "torrent.ratio_changed";

/// The events of this area.
pub const EVENTS: &[EventSpec] = &[
    EventSpec {
        key: TORRENT_COMPLETED,
        required: &["torrentName", "hash"],
        window_secs: 0,
    },
    EventSpec {
        key: TORRENT_FAILED,
        required: &["torrentName", "hash"],
        window_secs: 3600,
    },
    EventSpec {
        key: RATIO_CHANGED,
        required: &["engineId", "changes"],
        window_secs: 0,
    },
];

/// Payload of `torrent.ratio_changed`: every torrent of one transaction whose ratio is no longer the stored one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RatioChanged {
    pub engine_id: String,
    pub changes: Vec<RatioChange>,
}

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
            events.push(torrent_event(TORRENT_FAILED, engine_id, torrent, ctx));
        }
        if row.completed {
            events.push(torrent_event(TORRENT_COMPLETED, engine_id, torrent, ctx));
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
        // A struct of texts and numbers: it always has a JSON form.
        let payload = serde_json::to_value(RatioChanged {
            engine_id: engine_id.to_owned(),
            changes,
        })
        .unwrap_or_default();
        events.push(event(RATIO_CHANGED, "torrent_engine", engine_id, payload, ctx));
    }
    events
}

fn torrent_event(key: &'static str, engine_id: &str, torrent: &Torrent, ctx: &Ctx) -> DomainEvent {
    let payload = json!({
        "torrentName": torrent.name,
        "hash": &*torrent.hash,
        "sizeBytes": torrent.size.to_string(),
        "savePath": torrent.save_path,
        "contentPath": torrent.content_path,
        "engineId": engine_id,
    });
    event(key, "torrent", &torrent.hash, payload, ctx)
}

fn event(key: &'static str, resource: &'static str, id: &str, payload: Value, ctx: &Ctx) -> DomainEvent {
    DomainEvent {
        id: ctx.id(),
        event_key: key,
        occurred_at: ctx.now(),
        actor_user_id: None,
        subject_user_id: None,
        resource_type: Some(resource),
        resource_id: Some(id.to_owned()),
        payload,
        correlation_id: None,
        causation_id: None,
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
    match serde_json::to_vec(message) {
        Ok(json) => hub.emit(Room::Perm(Permission::TorrentsView), event, Bytes::from(json)),
        Err(error) => tracing::error!(event, %error, "a realtime message cannot be serialised"),
    }
}
