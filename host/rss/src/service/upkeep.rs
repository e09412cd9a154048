//! Removal of old history items, evaluations and grabs.
//!
//! Bounds: [`AT_ONCE`] rows per transaction; the newest [`KEPT`] evaluations of each rule stay up to the age
//! limit.

use std::sync::Arc;
use std::time::Duration;

use qm_db::DbError;
use qm_kernel::as_error;
use tokio_util::sync::CancellationToken;

use super::Rss;
use crate::repo;
use crate::settings::{EVALUATION_DAYS, HISTORY_DAYS};

const INTERVAL: Duration = Duration::from_hours(1);
const AT_ONCE: usize = 1000;
/// Largest number of evaluations kept per rule.
const KEPT: usize = 5000;
/// Age at which unsuccessful grabs are deleted.
const VAIN: Duration = Duration::from_hours(30 * 24);

impl Rss {
    pub const UPKEEP: (&'static str, Duration) = ("rss_upkeep", INTERVAL);

    pub async fn upkeep_loop(self: Arc<Self>, stop: CancellationToken) {
        loop {
            if let Some(Err(error)) = stop.run_until_cancelled(self.forget()).await {
                tracing::warn!(
                    error = as_error(&error),
                    "what feeds showed long ago cannot be forgotten"
                );
            }
            let wait = tokio::time::sleep(INTERVAL);
            if stop.run_until_cancelled(wait).await.is_none() {
                return;
            }
        }
    }

    /// Deletes rows that are older than the settings say.
    pub(super) async fn forget(&self) -> Result<(), DbError> {
        let now = self.ctx.now();
        let mut tx = self.db.begin_read().await?;
        let days = |days: f64| Duration::from_secs_f64(days.clamp(1.0, 36_500.0) * 86_400.0);
        let evaluations = now.minus(days(self.settings.get(&mut tx, &EVALUATION_DAYS).await?));
        let history = now.minus(days(self.settings.get(&mut tx, &HISTORY_DAYS).await?));
        let rules = repo::rules::names(&mut tx).await?;
        drop(tx);
        loop {
            let mut tx = self.db.begin_write().await?;
            let mut gone = repo::evaluations::prune(&mut tx, evaluations, AT_ONCE).await?;
            gone = gone.max(repo::history::prune(&mut tx, history, AT_ONCE).await?);
            gone = gone.max(repo::grabs::prune(&mut tx, now.minus(VAIN), AT_ONCE).await?);
            tx.commit().await?;
            if gone < AT_ONCE as u64 {
                break;
            }
        }
        for (id, ..) in rules {
            let mut tx = self.db.begin_write().await?;
            repo::evaluations::prune_rule(&mut tx, &id, KEPT).await?;
            tx.commit().await?;
        }
        Ok(())
    }
}
