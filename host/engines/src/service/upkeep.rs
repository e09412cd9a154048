//! Work beside requests and reads: the settings of the area are followed, engines that another server deleted are
//! dropped, and the rows of deleted engines are removed.
//!
//! Rows go in steps of a few hundred, each a transaction of its own, with a pause as long as the step between two: half of
//! the time at least the database is free for others. What a crash cuts short the next start, or another server on the same
//! database, goes on with: what is to be done stands in the database.
//! Bounds: one engine's rows at a time; a look every [`LOOK`].

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use qm_db::{Db, DbError, Tx};
use qm_kernel::{BEAT, as_error};
use qm_platform::{Beats, Settings};
use qm_torrent_lists::Limits;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Engines;
use crate::error::TorrentsError;
use crate::repo;
use crate::repo::retire::{Progress, Step};
use crate::settings::{MAX_SNAPSHOT_BYTES, MAX_TORRENTS};

/// Interval between two looks at the settings and at what others deleted.
const LOOK: Duration = BEAT.saturating_mul(5);
/// The longest pause between two steps.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// State that the loops share.
pub struct Upkeep {
    settings: Settings,
    limits: Arc<ArcSwap<Limits>>,
    deleted: Notify,
}

impl Upkeep {
    pub async fn new(db: &Db, settings: Settings) -> Result<Self, DbError> {
        let limits = limits(&settings, &mut db.begin_read().await?).await?;
        Ok(Self {
            settings,
            limits: Arc::new(ArcSwap::from_pointee(limits)),
            deleted: Notify::new(),
        })
    }

    /// The limits that the settings give at the moment.
    pub fn limits(&self) -> Arc<ArcSwap<Limits>> {
        self.limits.clone()
    }

    /// Notes that there are rows to remove.
    pub fn has_deleted(&self) {
        self.deleted.notify_one();
    }
}

async fn limits(settings: &Settings, tx: &mut Tx) -> Result<Limits, DbError> {
    let whole = |number: i64| usize::try_from(number).unwrap_or(0);
    Ok(Limits {
        torrents: whole(settings.get(tx, &MAX_TORRENTS).await?),
        bytes: whole(settings.get(tx, &MAX_SNAPSHOT_BYTES).await?),
    })
}

impl Engines {
    /// Name and interval of [`Engines::upkeep_loop`].
    pub const UPKEEP: (&'static str, Duration) = ("torrent_upkeep", LOOK);

    /// Runs until it is stopped.
    pub async fn upkeep_loop(self: Arc<Self>, stop: CancellationToken) {
        tokio::join!(self.look_loop(&stop), self.retire_loop(&stop));
    }

    async fn look_loop(self: &Arc<Self>, stop: &CancellationToken) {
        let mut looks = Beats::every(LOOK);
        let mut changes = self.db.changes();
        while stop.run_until_cancelled(looks.next()).await.is_some() {
            if changes.any()
                && let Err(error) = self.look().await
            {
                changes.forget();
                let error = as_error(&error);
                tracing::warn!(error, "settings of torrents cannot be read");
            }
        }
    }

    /// Follows what settings and other servers changed.
    pub async fn look(self: &Arc<Self>) -> Result<(), TorrentsError> {
        let loaded = self.registry.all();
        let mut tx = self.db.begin_read().await?;
        let limits = limits(&self.upkeep.settings, &mut tx).await?;
        let deleted = repo::retire::list(&mut tx).await?;
        drop(tx);
        if **self.upkeep.limits.load() != limits {
            self.upkeep.limits.store(Arc::new(limits));
        }
        let mut gone = loaded
            .iter()
            .filter(|engine| deleted.iter().any(|id| **id == *engine.id));
        if let Some(first) = gone.next() {
            self.registry.discard(&first.id);
            gone.for_each(|engine| self.registry.discard(&engine.id));
            self.registry.reload().await?;
        }
        Ok(())
    }

    async fn retire_loop(&self, stop: &CancellationToken) {
        let mut looks = Beats::every(LOOK);
        let mut changes = self.db.changes();
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = self.upkeep.deleted.notified() => {}
                () = looks.next() => {}
            }
            if changes.any()
                && let Err(error) = self.retire_deleted(stop).await
            {
                changes.forget();
                let error = as_error(&error);
                tracing::warn!(error, "rows of deleted engines cannot be removed; they stay due");
            }
        }
    }

    /// Removes the rows of deleted engines until none are left.
    pub async fn retire_deleted(&self, stop: &CancellationToken) -> Result<(), DbError> {
        let deleted = repo::retire::list(&mut self.db.begin_read().await?).await?;
        for id in deleted {
            let mut progress = Progress::begin(id);
            let mut rows = 0;
            loop {
                let begun = Instant::now();
                let mut tx = self.db.begin_write().await?;
                let step = progress.step(&mut tx, self.ctx.now()).await?;
                tx.commit().await?;
                match step {
                    Step::More(gone) => rows += gone,
                    Step::Done => break,
                }
                let pause = begun.elapsed().min(LONGEST_PAUSE);
                if stop
                    .run_until_cancelled(tokio::time::sleep(pause))
                    .await
                    .is_none()
                {
                    return Ok(());
                }
            }
            tracing::info!(
                engine.id = progress.engine_id(),
                rows,
                "the rows of a deleted engine are gone"
            );
        }
        Ok(())
    }
}
