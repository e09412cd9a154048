//! The loop that settles merges that a crash cut off, and deletes old plans.

use std::sync::Arc;
use std::time::Duration;

use qm_kernel::as_error;
use tokio_util::sync::CancellationToken;

use super::Folders;
use crate::error::MergeError;
use crate::repo;

/// Interval of the loop.
const EVERY: Duration = Duration::from_hours(1);
/// Time for which plans are kept that nobody carried out.
const WAITING: Duration = Duration::from_hours(7 * 24);
/// Time for which plans are kept that were carried out, or begun.
const ENDED: Duration = Duration::from_hours(180 * 24);
/// Most plans deleted in one transaction.
const SOME: u64 = 500;

impl Folders {
    /// Name and interval of [`Folders::upkeep_loop`].
    pub const UPKEEP: (&'static str, Duration) = ("media_show_merges", EVERY);

    /// Settles merges that a crash cut off, and deletes old plans, again and again.
    pub async fn upkeep_loop(self: Arc<Self>, stop: CancellationToken) {
        let mut ticks = tokio::time::interval(EVERY);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        while stop.run_until_cancelled(ticks.tick()).await.is_some() {
            if let Err(error) = self.keep_up().await {
                let error = as_error(&error);
                tracing::warn!(
                    error,
                    "the upkeep of show folders failed; it is tried again in an hour"
                );
            }
        }
    }

    /// One round of the loop.
    pub async fn keep_up(&self) -> Result<(), MergeError> {
        self.settle_cut_off().await?;
        let now = self.ground.ctx.now();
        let mut deleted = SOME;
        while deleted == SOME {
            let mut tx = self.ground.db.begin_write().await?;
            deleted = repo::delete_older(&mut tx, now.minus(WAITING), now.minus(ENDED)).await?;
            tx.commit().await?;
        }
        Ok(())
    }
}
