//! Jobs that this worker currently runs.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use qm_kernel::Timestamp;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::lock;
use crate::repo::moves::Lease;

/// One job that this worker runs.
pub(super) struct RunningJob {
    pub(super) lease: Lease,
    pub(super) type_key: String,
    /// True when an area does the work itself: it takes no place of the worker.
    pub(super) is_hosted: bool,
    /// Fires when the handler must end: the job was cancelled, the worker stops, or the lease is lost.
    pub(super) cancelled: CancellationToken,
    /// Fires when the handler must pause.
    pub(super) paused: CancellationToken,
    /// Fires when another worker holds the job: the handler is stopped at once.
    pub(super) lost: CancellationToken,
    /// True when the job was asked to end because the worker stops.
    stopping: AtomicBool,
    pub(super) last_progress: Mutex<LastProgress>,
}

/// Progress that the handler reported last.
#[derive(Default)]
pub(super) struct LastProgress {
    pub(super) at: Option<Timestamp>,
    pub(super) percent: i64,
    /// Phase of an update that was dropped.
    pub(super) phase: Option<String>,
    pub(super) beat_at: Option<Timestamp>,
    pub(super) warnings: Vec<Value>,
}

impl RunningJob {
    pub(super) fn new(lease: Lease, type_key: String, is_hosted: bool, last_progress: LastProgress) -> Self {
        Self {
            lease,
            type_key,
            is_hosted,
            cancelled: CancellationToken::new(),
            paused: CancellationToken::new(),
            lost: CancellationToken::new(),
            stopping: AtomicBool::new(false),
            last_progress: Mutex::new(last_progress),
        }
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    pub(super) fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
        self.cancelled.cancel();
    }

    pub(super) fn lose(&self) {
        self.cancelled.cancel();
        self.lost.cancel();
    }
}

#[derive(Default)]
pub(super) struct RunningJobs(Mutex<HashMap<String, Arc<RunningJob>>>);

impl RunningJobs {
    pub(super) fn len(&self) -> usize {
        lock(&self.0).len()
    }

    /// Number of occupied places of the worker.
    pub(super) fn places(&self) -> usize {
        lock(&self.0).values().filter(|hand| !hand.is_hosted).count()
    }

    pub(super) fn take(&self, hand: Arc<RunningJob>) {
        lock(&self.0).insert(hand.lease.job_id.clone(), hand);
    }

    /// Removes a job, unless it was claimed again meanwhile.
    pub(super) fn release(&self, lease: &Lease) {
        let mut hands = lock(&self.0);
        if hands.get(&lease.job_id).is_some_and(|hand| hand.lease == *lease) {
            hands.remove(&lease.job_id);
        }
    }

    pub(super) fn get(&self, id: &str) -> Option<Arc<RunningJob>> {
        lock(&self.0).get(id).cloned()
    }

    pub(super) fn all(&self) -> Vec<Arc<RunningJob>> {
        lock(&self.0).values().cloned().collect()
    }

    pub(super) fn count_of(&self, type_key: &str) -> usize {
        lock(&self.0)
            .values()
            .filter(|hand| hand.type_key == type_key)
            .count()
    }
}
