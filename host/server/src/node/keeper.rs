//! Task that keeps the lease of the active node, and notices its loss.

use std::sync::Arc;
use std::time::Duration;

use qm_db::Lease;
use qm_kernel::{Mandate, as_error};
use qm_platform::Node;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::CAUTION;
use super::place::Place;

/// Interval between two renewals: two of them may fail before the mandate ends.
const RENEW_EVERY: Duration = Duration::from_millis(1500);
/// Pause after a failed renewal.
const RETRY_AFTER: Duration = Duration::from_millis(250);

/// The task that keeps a lease.
pub struct Keeper {
    stop: CancellationToken,
    task: TaskTracker,
    succeeded: watch::Receiver<bool>,
    /// Lock on the place, held for as long as anything of this server may run.
    _place: Place,
}

/// Parts of the task that keeps a lease.
pub struct Kept {
    pub lease: Lease,
    pub term: i64,
    pub node: Node,
    pub mandate: Mandate,
    /// Signal that a write was refused.
    pub refused: Arc<Notify>,
    /// Value that turns true when another server has taken over.
    pub succeeded: watch::Sender<bool>,
}

impl Keeper {
    pub fn start(kept: Kept, place: Place) -> Self {
        let (stop, task) = (CancellationToken::new(), TaskTracker::new());
        let succeeded = kept.succeeded.subscribe();
        task.spawn(kept.keep(stop.clone()));
        task.close();
        Self {
            stop,
            task,
            succeeded,
            _place: place,
        }
    }

    pub fn succession(&self) -> watch::Receiver<bool> {
        self.succeeded.clone()
    }

    /// Stops the task and gives the lease back. If the server was succeeded, the task has ended by itself.
    pub async fn give_back(&self) {
        self.stop.cancel();
        self.task.wait().await;
    }
}

impl Kept {
    async fn keep(mut self, stop: CancellationToken) {
        let mut failing = false;
        let mut pause = RENEW_EVERY;
        loop {
            tokio::select! {
                () = stop.cancelled() => break,
                () = self.refused.notified() => {}
                () = tokio::time::sleep(pause) => {}
            }
            let asked = Mandate::clock();
            match self.lease.renew(self.term).await {
                Ok(true) => {
                    self.mandate
                        .prolong(asked + self.lease.length().saturating_sub(CAUTION));
                    pause = RENEW_EVERY;
                    if std::mem::take(&mut failing) {
                        tracing::info!("the lease was prolonged: this server is still the active one");
                    }
                }
                Ok(false) => {
                    self.node.note_succeeded();
                    // Ignored: nobody listens any more when the server stops anyway.
                    let _ = self.succeeded.send(true);
                    return;
                }
                Err(error) => {
                    pause = RETRY_AFTER;
                    if !std::mem::replace(&mut failing, true) {
                        let error = as_error(&error);
                        tracing::warn!(
                            error,
                            "the lease was not prolonged: unless it is soon, this server does nothing until it knows \
                             that it is still the active one"
                        );
                    }
                }
            }
        }
        self.mandate.take_away();
        if let Err(error) = self.lease.give_back(self.term).await {
            let error = as_error(&error);
            tracing::warn!(
                error,
                "the lease was not given back: another node has to wait for its end"
            );
        }
    }
}
