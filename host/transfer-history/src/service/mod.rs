//! Use cases of this area.

mod counting;
mod engine;
mod reading;
#[cfg(test)]
mod tests;
mod upkeep;

use std::sync::Arc;
use std::time::Duration;

use qm_platform::Ground;
use qm_ports::sight::EngineSights;
use tokio::sync::{Mutex, Semaphore};

use self::counting::Counting;

/// Counts of all engines.
pub struct TransferHistory {
    ground: Ground,
    sights: Arc<dyn EngineSights>,
    /// Held while engines are looked at and counts are stored; no request needs it.
    counting: Mutex<Counting>,
    /// The turn of a request that sums over all torrents.
    summing: Semaphore,
}

impl TransferHistory {
    /// Interval between two looks at the lists. A torrent that comes and is checked in between is seen when that is over.
    pub const COUNTING: (&'static str, Duration) = ("transfer_history", Duration::from_secs(5));
    pub const UPKEEP: (&'static str, Duration) = ("transfer_history_upkeep", Duration::from_hours(1));

    pub fn new(ground: Ground, sights: Arc<dyn EngineSights>) -> Arc<Self> {
        Arc::new(Self {
            ground,
            sights,
            counting: Mutex::default(),
            summing: Semaphore::new(1),
        })
    }
}
