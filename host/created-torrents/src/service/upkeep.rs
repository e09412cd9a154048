//! Removal of torrents that were created long ago.

use std::sync::Arc;
use std::time::Duration;

use qm_kernel::as_error;
use tokio_util::sync::CancellationToken;

use super::{AT_A_TIME, CreatedTorrents};
use crate::error::CreatedError;
use crate::model::KEPT_FOR;
use crate::repo;

/// Torrents that are looked at together.
const PAGE: usize = 100;
const INTERVAL: Duration = Duration::from_hours(1);

impl CreatedTorrents {
    pub const UPKEEP: (&'static str, Duration) = ("created_torrents_upkeep", INTERVAL);

    pub async fn upkeep_loop(self: Arc<Self>, stop: CancellationToken) {
        loop {
            if let Some(Err(error)) = stop.run_until_cancelled(self.forget_old()).await {
                tracing::warn!(
                    error = as_error(&error),
                    "torrents that were created long ago cannot be forgotten"
                );
            }
            let wait = tokio::time::sleep(INTERVAL);
            if stop.run_until_cancelled(wait).await.is_none() {
                return;
            }
        }
    }

    /// Ends what its job left open, and deletes what ended long ago.
    pub async fn forget_old(&self) -> Result<(), CreatedError> {
        let mut after = String::new();
        loop {
            let mut tx = self.ground.db.begin_read().await?;
            let active = repo::list_all_active(&mut tx, &after, PAGE).await?;
            drop(tx);
            let Some(last) = active.last() else { break };
            after.clone_from(&last.id);
            self.settle(active).await?;
        }
        let before = self.ground.ctx.now().minus(KEPT_FOR);
        loop {
            let mut tx = self.ground.db.begin_write().await?;
            let gone = repo::prune_old(&mut tx, before, AT_A_TIME).await?;
            tx.commit().await?;
            if gone < AT_A_TIME as u64 {
                return Ok(());
            }
        }
    }
}
