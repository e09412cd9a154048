//! Removal of long expired refresh tokens, and of old records of ended sessions.
//!
//! Bounds: once an hour, at most 1,000 rows per transaction. A token stays for a week after its expiry, so
//! that its use is still distinguished from an invalid token.

use std::time::Duration;

use qm_kernel::{Timestamp, as_error};
use tokio_util::sync::CancellationToken;

use crate::error::IdentityError;
use crate::repo;
use crate::service::Identity;
use crate::service::session_ends::KEPT;

const EVERY: Duration = Duration::from_hours(1);
const KEPT_AFTER_EXPIRY_MS: i64 = 7 * 24 * 3600 * 1000;
const BATCH: i64 = 1000;

impl Identity {
    /// Name and interval of [`Identity::prune_loop`].
    pub const PRUNING: (&'static str, Duration) = ("token_pruning", EVERY);

    /// Removes old rows hourly; ends when `stop` is cancelled.
    pub async fn prune_loop(self, stop: CancellationToken) {
        let mut ticks = tokio::time::interval(EVERY);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        while stop.run_until_cancelled(ticks.tick()).await.is_some() {
            match self.prune().await {
                Ok(0) => {}
                Ok(pruned) => tracing::debug!(pruned, "expired refresh tokens removed"),
                Err(error) => tracing::warn!(error = as_error(&error), "refresh tokens were not pruned"),
            }
        }
    }

    /// Removes old rows; returns the number of removed tokens.
    pub async fn prune(&self) -> Result<u64, IdentityError> {
        let now = self.inner.ctx.now().ms();
        let tokens_before = Timestamp::from_ms(now - KEPT_AFTER_EXPIRY_MS);
        let ends_before = Timestamp::from_ms(now - KEPT.as_millis() as i64);
        let mut pruned = 0;
        loop {
            let mut tx = self.inner.db.begin_write().await?;
            let batch = repo::tokens::prune(&mut tx, tokens_before, BATCH).await?;
            let ends = repo::session_ends::prune(&mut tx, ends_before, BATCH).await?;
            tx.commit().await?;
            pruned += batch;
            if batch.max(ends) < BATCH as u64 {
                return Ok(pruned);
            }
        }
    }
}
