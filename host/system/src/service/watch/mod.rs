//! Watches: loops that check disks and engines periodically and publish changes.
//!
//! Pure state machines decide about changes ([`storage`], [`engines`]); the first check after the start
//! reports nothing, because the state may be old. Events: `system.storage_warning`,
//! `system.storage_critical`, `system.storage_recovered`, `storage.low` (for rules), `provider.offline`,
//! `provider.recovered`. A repetition within the window of its kind is dropped.

pub mod engines;
pub mod storage;

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use qm_db::Db;
use qm_kernel::Ctx;
use qm_kernel::event::EventSpec;
use qm_lanes::IgnorePoison;
use qm_platform::Background;
use qm_ports::EngineProbes;

use self::engines::EngineWatch;
use self::storage::StorageWatch;
use crate::service::health::ENGINE_PATIENCE;
use crate::service::health::disks::Disks;

const STORAGE_INTERVAL: Duration = Duration::from_mins(5);
const ENGINE_INTERVAL: Duration = Duration::from_mins(1);

/// Events that the watches publish.
pub const EVENTS: &[EventSpec] = &[
    EventSpec::for_event::<storage::StorageWarning>(),
    EventSpec::for_event::<storage::StorageCritical>(),
    EventSpec::for_event::<storage::StorageRecovered>(),
    EventSpec::for_event::<storage::StorageLow>(),
    EventSpec::for_event::<engines::ProviderOffline>(),
    EventSpec::for_event::<engines::ProviderRecovered>(),
];

/// Sources of the watches, and the database for their events.
#[derive(Clone)]
pub struct Watches {
    pub disks: Disks,
    pub engines: Arc<dyn EngineProbes>,
    /// Publishes the events.
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
                let told = lock(&state).look(&disks);
                for (path, told) in told {
                    let low = storage::low(&watches.ctx, &disks, &path, told);
                    watches.db.tell(told.event(&watches.ctx, path)).await;
                    if let Some(low) = low {
                        watches.db.tell(low).await;
                    }
                }
            }
        });
        let engines = Arc::new(Mutex::new(EngineWatch::default()));
        background.every("provider_watch", engine_interval, move || {
            let (watches, state) = (self.clone(), engines.clone());
            async move {
                let probes = watches.engines.probe_all(ENGINE_PATIENCE).await;
                let told = lock(&state).look(&probes);
                for told in told {
                    watches.db.tell(told.event(&watches.ctx)).await;
                }
            }
        });
    }
}

/// No panic can leave a watch half changed.
fn lock<T>(state: &Mutex<T>) -> MutexGuard<'_, T> {
    state.lock().ignore_poison()
}

#[cfg(test)]
mod tests;
