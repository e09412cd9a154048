//! Passes over the engines: which torrents have reached a limit.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use qm_engines::Engine;
use qm_kernel::{Timestamp, as_error};
use qm_lanes::IgnorePoison;
use qm_ports::engine::{EngineError, ShareAction};
use qm_torrent_lists::Snapshot;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::Limits;
use super::book::Layers;
use super::watch::{Held, Watch};
use crate::error::LimitsError;
use crate::model::count::WatchClock;
use crate::model::ledger::State;
use crate::model::share::{is_sharing, read_action};
use crate::repo;

/// Interval between two passes, that of the lists.
const INTERVAL: Duration = Duration::from_secs(2);
/// Interval between two writes of counts.
const FLUSH_EVERY: Duration = Duration::from_mins(1);
/// Interval between two looks for torrents that are gone, and the time for which such a one is remembered.
const FORGET_EVERY: Duration = Duration::from_mins(10);
/// Time that passes under way have when the server ends.
const LAST_WAIT: Duration = Duration::from_secs(5);
/// Torrents that are acted on in one pass over an engine; the others follow in the next.
const ACTS_A_PASS: usize = 50;

impl Limits {
    pub const SHARING: (&'static str, Duration) = ("share_limits", INTERVAL);

    /// Runs until it is stopped. Each engine is passed over by a task of its own, so that one that hangs delays no other.
    pub async fn sharing_loop(self: Arc<Self>, stop: CancellationToken) {
        let mandate = self.ground.db.mandate();
        let mut changes = self.ground.db.changes();
        let mut passes: JoinSet<()> = JoinSet::new();
        let mut forgotten_at = self.ground.ctx.now();
        let mut ticks = tokio::time::interval(INTERVAL);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        while stop.run_until_cancelled(ticks.tick()).await.is_some() {
            while passes.try_join_next().is_some() {}
            if !mandate.holds() {
                continue;
            }
            if self.book.is_stale()
                && let Err(error) = self.read_book().await
            {
                tracing::warn!(
                    error = as_error(&error),
                    "limits that were changed cannot be read"
                );
            }
            if !self.book.layers().names.is_empty()
                && changes.any()
                && let Err(error) = self.follow_categories().await
            {
                changes.forget();
                tracing::warn!(error = as_error(&error), "limits of categories cannot be read");
            }
            let (layers, engines) = (self.book.layers(), self.engines.all());
            self.drop_watches(|id| layers.concern(id) && engines.iter().any(|engine| *engine.id == *id));
            for engine in engines {
                let limits = self.clone();
                if layers.concern(&engine.id) {
                    passes.spawn(async move { limits.pass(&engine).await });
                }
            }
            let now = self.ground.ctx.now();
            if now.since(forgotten_at) >= FORGET_EVERY {
                forgotten_at = now;
                if let Err(error) = self.forget_gone(now).await {
                    tracing::warn!(
                        error = as_error(&error),
                        "limits of torrents that are gone are kept for now"
                    );
                }
            }
        }
        // What is under way may have told a client something. What is cut off is finished by the next start.
        let ended = async { while passes.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(LAST_WAIT, ended).await;
        passes.shutdown().await;
        self.flush_all().await;
    }

    /// Lets go of what is kept for engines that need it no more, their last lists above all. What a pass has in its hands stays:
    /// a second one would begin beside it.
    pub(super) fn drop_watches(&self, is_needed: impl Fn(&str) -> bool) {
        let mut watches = self.watches.lock().ignore_poison();
        watches.retain(|id, watch| is_needed(id) || Arc::strong_count(watch) > 1);
        let mut renewed = self.renewed.lock().ignore_poison();
        renewed.retain(|id, _| is_needed(id) || watches.contains_key(id));
    }

    /// Reads the limits again when a category that has some was renamed or deleted.
    pub(super) async fn follow_categories(&self) -> Result<(), LimitsError> {
        let layers = self.book.layers();
        let mut tx = self.ground.db.begin_read().await?;
        let names = repo::share::list_categories(&mut tx).await?;
        drop(tx);
        if names != layers.names {
            self.read_book().await?;
        }
        Ok(())
    }

    /// Deletes what is kept of torrents that left their engine some time ago.
    pub(super) async fn forget_gone(&self, now: Timestamp) -> Result<(), LimitsError> {
        let before = now.minus(FORGET_EVERY);
        let mut tx = self.ground.db.begin_write().await?;
        let gone = repo::share::forget_gone(&mut tx, before).await?;
        repo::ledger::forget_gone(&mut tx, before).await?;
        tx.commit().await?;
        let watches: Vec<_> = self.watches.lock().ignore_poison().values().cloned().collect();
        for watch in watches {
            if let Ok(mut watch) = watch.try_lock() {
                watch.is_outdated = true;
            }
        }
        if gone > 0 {
            self.read_book().await?;
        }
        Ok(())
    }

    async fn pass(&self, engine: &Arc<Engine>) {
        if let Err(error) = self.pass_engine(engine).await {
            let error = as_error(&error);
            tracing::warn!(engine.id = %engine.id, error, "limits on sharing cannot be held to; the next pass tries again");
        }
    }

    /// Judges what changed on an engine, and acts. Does nothing while an earlier pass is under way.
    pub async fn pass_engine(&self, engine: &Arc<Engine>) -> Result<(), LimitsError> {
        let watch = self.watch_of(&engine.id);
        let Ok(mut watch) = watch.try_lock() else {
            return Ok(());
        };
        let now = self.ground.ctx.now();
        let online = engine.status().is_some_and(|status| status.online);
        let Some(list) = engine.snapshot().filter(|_| online) else {
            watch.clock.stop();
            return Ok(());
        };
        let layers = self.book.layers();
        self.load(engine, &mut watch, &layers).await?;
        for hash in self.take_renewed(&engine.id) {
            watch.ledger.remove(&hash);
        }
        watch.clock.advance(now);
        let passed = self.pass_list(engine, &mut watch, (&list, &layers), now).await;
        if passed.is_err() {
            // Some of those that were taken from the queue may not have been acted on.
            watch.judge_all_again();
        }
        passed
    }

    async fn pass_list(
        &self,
        engine: &Arc<Engine>,
        watch: &mut Watch,
        (list, layers): (&Arc<Snapshot>, &Layers),
        now: Timestamp,
    ) -> Result<(), LimitsError> {
        self.settle_begun(engine, watch, list).await?;
        let candidates = watch.take_candidates(list, layers.version, now);
        let mut due = Vec::new();
        for entry in &candidates {
            let reached = watch.judge_entry(&engine.id, entry, layers, now);
            match reached {
                Some(reached) if due.len() < ACTS_A_PASS => due.push(reached),
                Some(_) => watch.due.schedule(&entry.torrent.hash, now),
                None => {}
            }
        }
        self.forget_voided(&engine.id, watch).await?;
        for reached in due {
            self.act(engine, watch, reached).await?;
        }
        if watch.is_reread {
            self.read_book().await?;
            watch.is_reread = false;
        }
        if watch.flushed_at.is_none_or(|at| now.since(at) >= FLUSH_EVERY) {
            self.flush(&engine.id, watch, now).await?;
        }
        Ok(())
    }

    /// Deletes entries of the ledger that are about other limits than those in force.
    async fn forget_voided(&self, engine_id: &str, watch: &mut Watch) -> Result<(), LimitsError> {
        if watch.voided.is_empty() {
            return Ok(());
        }
        let mut tx = self.ground.db.begin_write().await?;
        for hash in &watch.voided {
            repo::ledger::delete(&mut tx, engine_id, hash).await?;
        }
        tx.commit().await?;
        watch.voided.clear();
        Ok(())
    }

    fn take_renewed(&self, engine_id: &str) -> HashSet<String> {
        let mut renewed = self.renewed.lock().ignore_poison();
        renewed.remove(engine_id).unwrap_or_default()
    }

    /// Reads what is stored of an engine, at the first pass and after torrents were forgotten.
    async fn load(&self, engine: &Engine, watch: &mut Watch, layers: &Layers) -> Result<(), LimitsError> {
        if watch.is_loaded && !watch.is_outdated {
            return Ok(());
        }
        let mut tx = self.ground.db.begin_read().await?;
        let entries = repo::ledger::list(&mut tx, &engine.id).await?;
        if !watch.is_loaded {
            let (counts, watched) = repo::ledger::load_counts(&mut tx, &engine.id).await?;
            watch.counts = counts;
            watch.clock = WatchClock::starting_at(watched);
        }
        let held = entries.into_iter().map(|entry| {
            let version = match watch.ledger.get(&entry.hash) {
                Some(held) => held.version,
                // What failed before a restart is tried again at its time.
                None => layers.version,
            };
            (entry.hash.clone(), Held { entry, version })
        });
        watch.ledger = held.collect();
        (watch.is_loaded, watch.is_outdated) = (true, false);
        Ok(())
    }

    /// Ends what a crash cut off where the client shows that it is done. The rest is simply done again: each action done twice is
    /// done once. A torrent that is not listed may only be missing from the list, so the client is asked for it.
    async fn settle_begun(
        &self,
        engine: &Engine,
        watch: &mut Watch,
        list: &Snapshot,
    ) -> Result<(), LimitsError> {
        use ShareAction::{Inherit, Remove, RemoveWithData, Stop, SuperSeed};
        let begun = watch
            .ledger
            .values()
            .filter(|held| held.entry.state == State::Acting);
        let begun: Vec<_> = begun.map(|held| held.entry.clone()).collect();
        for entry in begun {
            let is_done = match (list.get(&entry.hash), read_action(&entry.action)) {
                (None, Remove | RemoveWithData) => {
                    let asked = engine.driver.get(&entry.hash).await;
                    matches!(asked, Ok(None) | Err(EngineError::NotFound(_)))
                }
                (Some(listed), SuperSeed) => listed.torrent.super_seeding == Some(true),
                (Some(listed), Inherit | Stop) => !is_sharing(&listed.torrent),
                (Some(_), Remove | RemoveWithData) | (None, Inherit | Stop | SuperSeed) => false,
            };
            if is_done {
                self.note_settled(engine, watch, entry).await?;
            }
        }
        Ok(())
    }

    /// Writes the counts that changed, and the clock that they refer to.
    async fn flush(&self, engine_id: &str, watch: &mut Watch, now: Timestamp) -> Result<(), LimitsError> {
        let counts: Vec<_> = watch
            .dirty
            .iter()
            .filter_map(|hash| Some((hash.clone(), *watch.counts.get(hash)?)))
            .collect();
        if watch.counts.is_empty() && watch.dropped.is_empty() {
            return Ok(());
        }
        let mut tx = self.ground.db.begin_write().await?;
        if !repo::share::has_engine(&mut tx, engine_id).await? {
            return Ok(());
        }
        repo::ledger::put_counts(&mut tx, engine_id, &counts, watch.clock.watched).await?;
        for hash in &watch.dropped {
            repo::ledger::delete_count(&mut tx, engine_id, hash).await?;
        }
        tx.commit().await?;
        watch.dirty.clear();
        watch.dropped.clear();
        watch.flushed_at = Some(now);
        Ok(())
    }

    /// Writes the counts of all engines.
    pub async fn flush_all(&self) {
        let watches: Vec<_> = {
            let watches = self.watches.lock().ignore_poison();
            watches
                .iter()
                .map(|(id, watch)| (id.clone(), watch.clone()))
                .collect()
        };
        let now = self.ground.ctx.now();
        for (engine_id, watch) in watches {
            let Ok(mut watch) = watch.try_lock() else { continue };
            if let Err(error) = self.flush(&engine_id, &mut watch, now).await {
                let error = as_error(&error);
                tracing::warn!(
                    engine.id = engine_id,
                    error,
                    "the last minute of seeding times is not stored"
                );
            }
        }
    }
}
