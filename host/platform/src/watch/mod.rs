//! Watches: loops that look every now and then and tell when something got worse or better.
//!
//! What changed is decided by pure state machines ([`storage`], [`engines`]); the first look after the start tells
//! nothing, because nobody knows since when it is so.
//! Events: `system.storage_warning`, `system.storage_critical`, `system.storage_recovered`, `provider.offline`,
//! `provider.recovered`. The bus drops a repetition within the window of its kind.

pub mod engines;
pub mod storage;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use qm_db::Db;
use qm_kernel::event::{DomainEvent, EventSpec};
use qm_kernel::{Ctx, EngineProbes};
use serde_json::Value;

use self::engines::EngineWatch;
use self::storage::StorageWatch;
use crate::background::Background;
use crate::health::ENGINE_PATIENCE;
use crate::health::disks::Disks;

const STORAGE_INTERVAL: Duration = Duration::from_mins(5);
const ENGINE_INTERVAL: Duration = Duration::from_mins(1);

const SIX_HOURS: u32 = 6 * 3600;
const ONE_HOUR: u32 = 3600;

/// What the watches tell.
pub const EVENTS: &[EventSpec] = &[
    EventSpec {
        key: storage::WARNING,
        required: &["path", "freePercent"],
        window_secs: SIX_HOURS,
    },
    EventSpec {
        key: storage::CRITICAL,
        required: &["path", "freePercent"],
        window_secs: SIX_HOURS,
    },
    EventSpec {
        key: storage::RECOVERED,
        required: &["path", "freePercent"],
        window_secs: 0,
    },
    EventSpec {
        key: engines::OFFLINE,
        required: &["providerName"],
        window_secs: ONE_HOUR,
    },
    EventSpec {
        key: engines::RECOVERED,
        required: &["providerName"],
        window_secs: 0,
    },
];

/// What the watches look at, and whom they tell.
#[derive(Clone)]
pub struct Watches {
    pub disks: Disks,
    pub engines: Arc<dyn EngineProbes>,
    /// Tells whom its events concern.
    pub db: Db,
    pub ctx: Ctx,
}

impl Watches {
    /// Starts both loops.
    pub fn start(self, background: &Background) {
        self.start_every(background, STORAGE_INTERVAL, ENGINE_INTERVAL);
    }

    fn start_every(self, background: &Background, storage_interval: Duration, engine_interval: Duration) {
        let storage = Arc::new(Mutex::new(StorageWatch::default()));
        let watches = self.clone();
        background.every("storage_watch", storage_interval, move || {
            let (watches, state) = (watches.clone(), storage.clone());
            async move {
                let disks = watches.disks.read().await;
                let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
                for (path, told) in state.look(&disks) {
                    watches.tell(told.key(), storage::RESOURCE, path.clone(), told.payload(&path));
                }
            }
        });
        let engines = Arc::new(Mutex::new(EngineWatch::default()));
        background.every("provider_watch", engine_interval, move || {
            let (watches, state) = (self.clone(), engines.clone());
            async move {
                let probes = watches.engines.probe_all(ENGINE_PATIENCE).await;
                let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
                for told in state.look(&probes) {
                    let id = told.probe().engine_id.clone();
                    watches.tell(told.key(), engines::RESOURCE, id, told.payload());
                }
            }
        });
    }

    fn tell(&self, key: &'static str, resource: &'static str, id: String, payload: Value) {
        self.db.tell(DomainEvent {
            id: self.ctx.id(),
            event_key: key,
            occurred_at: self.ctx.now(),
            actor_user_id: None,
            subject_user_id: None,
            resource_type: Some(resource),
            resource_id: Some(id),
            payload,
            correlation_id: None,
            causation_id: None,
        });
    }
}

#[cfg(test)]
mod tests;
