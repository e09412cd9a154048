//! Removal of counts that are old or too many, and of torrents that have none left.
//!
//! Bounds: [`PAGE`] rows a transaction, with a pause between two for others to write.

use std::sync::Arc;

use qm_db::DbError;
use qm_kernel::as_error;
use tokio_util::sync::CancellationToken;

use super::TransferHistory;
use crate::model::{MOST_ROWS, Step};
use crate::repo;

const PAGE: i64 = 1_000;
/// Torrents of one transaction; each may have some thousand counts when its engine is gone.
const FORGOTTEN: i64 = 50;

impl TransferHistory {
    pub async fn upkeep_loop(self: Arc<Self>, stop: CancellationToken) {
        loop {
            if let Some(Err(error)) = stop.run_until_cancelled(self.forget_old(MOST_ROWS)).await {
                let error = as_error(&error);
                tracing::warn!(error, "old counts of transfers cannot be removed");
            }
            let wait = tokio::time::sleep(Self::UPKEEP.1);
            if stop.run_until_cancelled(wait).await.is_none() {
                return;
            }
        }
    }

    /// Removes what is older than it is kept for, and the oldest counts of torrents beyond `most` of a step.
    pub async fn forget_old(&self, most: i64) -> Result<(), DbError> {
        let now = self.ground.ctx.now();
        for step in Step::ALL {
            let mut before = now.minus(step.retention()).ms();
            let mut tx = self.ground.db.begin_read().await?;
            if let Some(excess) = repo::find_excess(&mut tx, step, most).await? {
                before = before.max(excess + 1);
            }
            drop(tx);
            let mut tx = self.ground.db.begin_write().await?;
            // Those of engines are few: they are only ever old.
            let old = now.minus(step.retention()).ms();
            repo::prune_engines(&mut tx, step, old).await?;
            tx.commit().await?;
            loop {
                let mut tx = self.ground.db.begin_write().await?;
                let gone = repo::prune_torrents(&mut tx, step, before, PAGE).await?;
                tx.commit().await?;
                if gone < PAGE as u64 {
                    break;
                }
                tokio::task::yield_now().await;
            }
        }
        self.forget_torrents().await
    }

    async fn forget_torrents(&self) -> Result<(), DbError> {
        let mut after = 0;
        loop {
            let mut tx = self.ground.db.begin_read().await?;
            let page = repo::left_over(&mut tx, after, FORGOTTEN).await?;
            drop(tx);
            let Some((last, _)) = page.last() else {
                return Ok(());
            };
            after = *last;
            let mut tx = self.ground.db.begin_write().await?;
            for (number, is_alone) in page {
                repo::forget_torrent(&mut tx, number, is_alone).await?;
            }
            tx.commit().await?;
            tokio::task::yield_now().await;
        }
    }
}
