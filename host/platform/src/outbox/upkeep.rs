//! Upkeep of the outbox: removes events that every consumer has passed, ended windows, and consumers that no
//! server has any more. Without anything to remove, nothing is written.

use std::time::Duration;

use qm_db::DbError;
use qm_kernel::{Timestamp, as_error};

use super::{FORGOTTEN, Outbox, PRUNED_AT_ONCE, SEEN_EVERY, repo};

/// The loop `events.upkeep`.
#[derive(Clone)]
pub(super) struct Upkeep {
    outbox: Outbox,
    /// Names of this server's consumers.
    names: Vec<&'static str>,
}

impl Upkeep {
    pub fn new(outbox: Outbox, names: Vec<&'static str>) -> Self {
        Self { outbox, names }
    }

    pub async fn run(&self) {
        if let Err(error) = self.once().await {
            tracing::warn!(error = as_error(&error), "the outbox was not pruned");
        }
    }

    /// One run. Consumers come first, so that events held back by a deleted one go in the same run.
    pub async fn once(&self) -> Result<(), DbError> {
        let now = self.outbox.ctx.now();
        let before = |age: Duration| Timestamp::from_ms(now.ms() - age.as_millis() as i64);
        self.consumers(now, before(SEEN_EVERY), before(FORGOTTEN)).await?;
        // A newer server may have started beside this one, with consumers of its own.
        self.outbox.keep_what_is_wanted().await?;
        self.windows(now).await?;
        let (first, passed) = repo::prunable(&mut self.outbox.db.begin_read().await?).await?;
        let Some(first) = first else {
            self.outbox.metrics.stored(0);
            return Ok(());
        };
        let mut gone = first - 1;
        while gone < passed {
            gone = passed.min(gone + PRUNED_AT_ONCE);
            let mut tx = self.outbox.db.begin_write().await?;
            repo::prune(&mut tx, gone).await?;
            tx.commit().await?;
        }
        let mut tx = self.outbox.db.begin_read().await?;
        self.outbox.metrics.stored(repo::last(&mut tx).await? - gone);
        Ok(())
    }

    /// Removes windows that have ended.
    async fn windows(&self, now: Timestamp) -> Result<(), DbError> {
        loop {
            let mut tx = self.outbox.db.begin_read().await?;
            let ended = repo::ended_windows(&mut tx, now, PRUNED_AT_ONCE).await?;
            drop(tx);
            if ended.is_empty() {
                return Ok(());
            }
            let mut tx = self.outbox.db.begin_write().await?;
            for occurrence in &ended {
                repo::prune_window(&mut tx, occurrence, now).await?;
            }
            tx.commit().await?;
        }
    }

    /// Records this server's consumers, and deletes those that no server has had for long.
    async fn consumers(&self, now: Timestamp, recent: Timestamp, long_ago: Timestamp) -> Result<(), DbError> {
        let unseen = {
            let mut tx = self.outbox.db.begin_read().await?;
            repo::unseen(&mut tx, recent).await?
        };
        for name in unseen {
            let is_ours = self.names.contains(&&*name);
            let mut tx = self.outbox.db.begin_write().await?;
            if is_ours {
                repo::seen(&mut tx, &name, now, recent).await?;
            } else if repo::forget(&mut tx, &name, long_ago).await? {
                tracing::warn!(
                    consumer = name,
                    "a consumer of events that no server has was forgotten"
                );
            }
            tx.commit().await?;
        }
        Ok(())
    }
}
