//! Removal of files in the store that no picture needs: those of owners that are gone, those that were replaced, and what a
//! crash left. Only files that this database noted are touched.

use std::sync::Arc;
use std::time::Duration;

use qm_kernel::{Timestamp, as_error};
use tokio_util::sync::CancellationToken;

use super::ArtworkArea;
use crate::error::ArtworkError;
use crate::lanes::STORE;
use crate::ops::store;
use crate::repo;

/// Age below which a file may still get its picture.
const YOUNG: Duration = Duration::from_hours(1);
/// Files of one round.
const MOST: i64 = 200;

impl ArtworkArea {
    /// Name and interval of the loop.
    pub const SWEEP: (&'static str, Duration) = ("artwork_sweep", Duration::from_mins(30));

    pub async fn sweep_loop(self: Arc<Self>, stop: CancellationToken) {
        loop {
            if let Some(Err(error)) = stop.run_until_cancelled(self.sweep()).await {
                let error = as_error(&error);
                tracing::warn!(error, "pictures that nothing needs cannot be removed");
            }
            let wait = tokio::time::sleep(Self::SWEEP.1);
            if stop.run_until_cancelled(wait).await.is_none() {
                return;
            }
        }
    }

    /// Removes files that no picture needs; returns their number.
    pub async fn sweep(&self) -> Result<usize, ArtworkError> {
        let young = i64::try_from(YOUNG.as_millis()).unwrap_or(i64::MAX);
        let before = Timestamp::from_ms(self.ground.ctx.now().ms() - young);
        let mut tx = self.ground.db.begin_read().await?;
        let idle = repo::idle_files(&mut tx, before, MOST).await?;
        drop(tx);
        let mut removed = 0;
        for path in idle {
            if !self.ground.db.mandate().holds() {
                break;
            }
            let (roots, at) = (self.roots.clone(), path.clone());
            let gone = STORE.run_for(None, move |_| store::remove(&roots, &at)).await?;
            if let Err(error) = gone {
                // A root that is not mounted comes back.
                tracing::debug!(%error, path, "a picture that nothing needs was not removed");
                continue;
            }
            let mut tx = self.ground.db.begin_write().await?;
            repo::forget_file(&mut tx, &path).await?;
            tx.commit().await?;
            removed += 1;
        }
        Ok(removed)
    }
}
