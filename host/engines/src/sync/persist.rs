//! Storing what a tick changed: rows, archive and ledger of one engine, with the events that leave after the commit.

mod edges;

use std::sync::Arc;
use std::time::Duration;

use qm_db::DbError;
use qm_kernel::Timestamp;
use qm_ports::engine::{Delta, EngineError, capability};
use qm_ports::rules::Edge;
use qm_torrent_lists::{Changes, Snapshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use self::edges::Reads;
use super::engine::Engine;
use super::publish::Asking;
use super::tracker::{Batch, Tracker};
use super::{SyncDeps, publish};
use crate::model::ledger::{Baseline, BaselineSource, Counters, Ledger};
use crate::repo;

/// Interval between two writes of what may wait: counters, ratio, progress.
const FLUSH_EVERY: Duration = Duration::from_secs(10);

/// A client that is slow to refuse its all-time counters must not hold up every tick.
const BASELINE_RETRY: Duration = Duration::from_secs(30);

/// The loop's hand on the database.
pub struct Store {
    engine: Arc<Engine>,
    deps: SyncDeps,
    /// `None` until the rows of the last run are loaded.
    tracker: Option<Tracker>,
    /// `None` until there is a baseline; what moves before is part of it.
    ledger: Option<Ledger>,
    /// True once the first list was compared with the rows of the last run.
    observed: bool,
    /// True once a whole list was seen, and the rows that the client no longer lists were retired.
    reconciled: bool,
    last_flush: Instant,
    /// The instant of the next sweep: records of torrents that are gone are removed.
    next_sweep: Instant,
    /// The instant at which a client that did not tell its all-time counters is asked again.
    next_baseline: Instant,
    reads: Reads,
}

impl Store {
    pub fn new(engine: Arc<Engine>, deps: SyncDeps) -> Self {
        Self {
            engine,
            deps,
            tracker: None,
            ledger: None,
            observed: false,
            reconciled: false,
            last_flush: Instant::now(),
            next_sweep: Instant::now(),
            next_baseline: Instant::now(),
            reads: Reads::default(),
        }
    }

    /// Stores what has to be stored now. What fails stays due.
    pub async fn store(
        &mut self,
        changes: &Changes,
        current: &Snapshot,
        at: Timestamp,
    ) -> Result<(), DbError> {
        let loaded = self.load().await;
        let look = self.look(changes, current, at);
        let Some(tracker) = &mut self.tracker else {
            return loaded;
        };
        if self.observed {
            tracker.observe(changes, &self.engine.intakes, look);
        } else {
            // The first list since the rows were loaded, however many reads that took: everything listed counts as seen.
            tracker.observe(&current.as_changes(), &self.engine.intakes, look);
            self.observed = true;
        }
        // What a list that was cut short does not have is not known to be gone.
        if !self.reconciled && changes.whole {
            tracker.reconcile(current, &changes.left_out, look);
            self.reconciled = true;
        }
        if tracker.has_dirty() && self.deps.watch.watches_ratios() {
            // A rule that waits for a ratio does not wait for the next flush as well.
            let asking = Asking::new(&self.engine, &self.deps);
            tracker.hasten(|torrent, from| !asking.due(Edge::RatioMoved { from }, torrent).is_empty());
        }
        if tracker.has_dirty() && self.last_flush.elapsed() >= FLUSH_EVERY {
            tracker.flush();
            self.last_flush = Instant::now();
        }
        if tracker.has_due() {
            self.write(at).await?;
        }
        self.tell_by_time(at).await
    }

    /// Stores everything that is not stored yet.
    pub async fn flush(&mut self) -> Result<(), DbError> {
        if let Some(tracker) = &mut self.tracker {
            tracker.flush();
        }
        self.write(self.deps.ctx.now()).await
    }

    /// Forgets what was known of torrents that are no longer listed.
    pub async fn sweep(&mut self, current: &Snapshot, at: Timestamp) -> Result<(), DbError> {
        if Instant::now() < self.next_sweep {
            return Ok(());
        }
        self.next_sweep = Instant::now() + FLUSH_EVERY;
        let gone = self.engine.intakes.gone(|hash| current.get(hash).is_some(), at);
        if gone.is_empty() {
            return Ok(());
        }
        let mut tx = self.deps.db.begin_write().await?;
        for (hash, noted_at) in &gone {
            repo::intake::delete(&mut tx, &self.engine.id, hash, *noted_at).await?;
        }
        tx.commit().await?;
        self.engine.intakes.forget(&gone);
        Ok(())
    }

    /// Corrects what the client told by what the rows know better. True if earlier reports went without that and have
    /// to be asked for again.
    pub async fn mend(&mut self, delta: &mut Delta, at: Timestamp) -> bool {
        let was_loaded = self.tracker.is_some();
        // Whatever is wrong with the database is told when the delta is stored.
        if self.load().await.is_err() {
            return false;
        }
        if let Some(tracker) = &self.tracker {
            tracker.mend(&mut delta.changed, at);
        }
        !was_loaded && !delta.full
    }

    /// True if a torrent was taken before, in this run or the last one.
    pub fn knows(&self, hash: &str) -> bool {
        self.tracker.as_ref().is_some_and(|tracker| tracker.knows(hash))
    }

    async fn load(&mut self) -> Result<(), DbError> {
        if self.tracker.is_none() {
            let mut tx = self.deps.db.begin_read().await?;
            let rows = repo::snapshots::load(&mut tx, &self.engine.id).await?;
            self.ledger = repo::ledger::load(&mut tx, &self.engine.id).await?;
            let mut tracker = Tracker::from_rows(rows);
            let now = self.deps.ctx.now();
            for (hash, added_at) in repo::departures::load(&mut tx, &self.engine.id).await? {
                tracker.departures.note(hash.into(), added_at, now, true);
            }
            self.engine.intakes.await_unlisted(|hash| tracker.knows(hash));
            self.tracker = Some(tracker);
        }
        Ok(())
    }

    async fn write(&mut self, at: Timestamp) -> Result<(), DbError> {
        while let Some(batch) = self
            .tracker
            .as_ref()
            .and_then(|tracker| tracker.next_batch(&self.deps.ctx))
        {
            self.write_batch(&batch, at).await?;
            // Nothing is told or stored of an engine that is gone, however much there was to do.
            if self.engine.is_discarded() {
                break;
            }
            if let Some(tracker) = &mut self.tracker {
                tracker.written(&batch);
            }
        }
        Ok(())
    }

    async fn write_batch(&mut self, batch: &Batch, at: Timestamp) -> Result<(), DbError> {
        let engine_id = &*self.engine.id;
        let ledger = self.ledger.map(|ledger| ledger.grown(batch.growth));
        let mut tx = self.deps.db.begin_write().await?;
        if !repo::engines::is_there(&mut tx, engine_id).await? {
            // Another server deleted it.
            self.engine.discard();
            return Ok(());
        }
        repo::snapshots::upsert(&mut tx, engine_id, &batch.rows, at).await?;
        let noted = self.note_departures(&mut tx, batch, at).await?;
        for hash in &batch.retired {
            repo::snapshots::retire(&mut tx, engine_id, hash, at).await?;
        }
        if let Some(ledger) = ledger.filter(|_| !batch.growth.is_zero()) {
            repo::ledger::set_accrued(&mut tx, engine_id, ledger.accrued).await?;
        }
        for event in publish::events_of(Asking::new(&self.engine, &self.deps), batch) {
            tx.publish(event);
        }
        tx.commit().await?;
        self.ledger = ledger;
        if let Some(tracker) = &mut self.tracker {
            tracker.departures.forget_returned(&noted.struck);
            tracker
                .departures
                .mark_noted(noted.put.iter().map(|hash| &**hash));
        }
        Ok(())
    }

    /// Sets where the ledger begins, once in the life of an engine: its all-time counters if it has them, else what its
    /// torrents have moved so far. A client that does not tell now is asked again later.
    pub async fn take_baseline(
        &mut self,
        current: &Snapshot,
        at: Timestamp,
        stop: &CancellationToken,
    ) -> Result<(), DbError> {
        if self.ledger.is_some() || self.tracker.is_none() || Instant::now() < self.next_baseline {
            return Ok(());
        }
        let of_torrents = || (Counters::sum(current.torrents()), BaselineSource::CurrentTorrents);
        let (counters, source) = if self.engine.driver.has(capability::ALL_TIME) {
            match stop.run_until_cancelled(self.engine.driver.all_time()).await {
                Some(Ok(Some(transfer))) => (transfer.into(), BaselineSource::EngineAllTime),
                Some(Ok(None) | Err(EngineError::Unsupported(_))) => of_torrents(),
                Some(Err(error)) => {
                    tracing::debug!(engine.id = %self.engine.id, %error, "no baseline for the ledger yet");
                    self.next_baseline = Instant::now() + BASELINE_RETRY;
                    return Ok(());
                }
                None => return Ok(()),
            }
        } else {
            of_torrents()
        };
        // Whatever moved until now is in the baseline: rows catch up with it first, so that it is not counted again.
        self.flush().await?;
        if self.engine.is_discarded() {
            return Ok(());
        }
        let baseline = Baseline { counters, source, at };
        let mut tx = self.deps.db.begin_write().await?;
        repo::ledger::insert(&mut tx, &self.engine.id, &baseline).await?;
        tx.commit().await?;
        self.ledger = Some(Ledger::starting_at(baseline));
        Ok(())
    }

    /// Bytes that the engine has moved in all, including those that are not stored yet; `None` before there is a
    /// baseline.
    pub fn totals(&self) -> Option<Counters> {
        let unwritten = self.tracker.as_ref().map(Tracker::unwritten).unwrap_or_default();
        self.ledger.map(|ledger| ledger.totals(unwritten))
    }
}
