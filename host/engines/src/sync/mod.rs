//! Sync loop: reads one engine every 2 s and publishes what changed.
//!
//! Owns: the engine's snapshot, the rows of its torrents, its ledger. Never: writes to the engine, except for names it
//! repairs. One task an engine, so that an engine that hangs delays no other.
//! Bounds: one read in flight; a tick that comes late is skipped, not queued; a tick that brings nothing new writes
//! nothing and copies nothing.
//!
//! A panic ends one run of a loop, not the engine's polling: whoever runs the loop makes another one, which begins with
//! what is stored. Meanwhile the engine is offline.
//!
//! While nobody looks (no subscriber, no request for a list lately, no command just run) a read is a quiet one, which may
//! leave out for some seconds what does not move: a client with thousands of torrents pays dearly for the question what
//! changed. Whoever looks then causes another read at once, and a list waits for it. What decides by the list has it read exactly
//! ([`Engine::refresh_exactly`]).
//!
//! An engine that lists more than its [`Limits`] is shown as far as they go, and says so. It is asked for its whole list again
//! when there is room, and now and then: what was left out is told nowhere else.
//!
//! An engine that was deleted is not flushed: its loop ends between two transactions.
//!
//! A tick: poll → apply the delta → store what edges need, in one transaction that also carries the events → show the new
//! snapshot → `torrents:update`, `stats:update`, `engine:status`. Stored first: nobody acts on what a crash could undo.

pub mod engine;
pub mod mapped;
pub mod metrics;
mod orders;
mod persist;
pub mod publish;
pub mod pulse;
mod repair;
#[cfg(test)]
mod tests;
pub mod tracker;

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use qm_db::{Db, DbError};
use qm_kernel::{Ctx, Mandate, Permission, Timestamp};
use qm_ports::engine::{Attention, Delta, EngineError, GlobalStats, Torrent};
use qm_ports::rules::RuleWatch;
use qm_realtime::{Hub, Room};
use qm_torrent_lists::{Admission, Changes, Excess, Limits, Snapshot};
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use self::engine::{Engine, EngineStatus};
use self::metrics::{EngineMetrics, SyncMetrics};
use self::persist::Store;
use self::repair::Repairs;
use crate::error::describe;

/// Interval between two ticks.
pub const INTERVAL: Duration = Duration::from_secs(2);

/// Interval between reads as for somebody who looks, whoever does: a plugin may have missed what nobody asked it for.
const WATCHED_EVERY: Duration = Duration::from_mins(5);

/// The users who may see torrents.
const AUDIENCE: Room = Room::Perm(Permission::TorrentsView);

/// Reads that users' commands ask for are at least this far apart.
const EARLY_READ_GAP: Duration = Duration::from_millis(200);

/// Intervals between two whole lists of an engine of which something was left out: with room for more, and without.
const WHOLE_EVERY: (Duration, Duration) = (Duration::from_secs(30), Duration::from_mins(5));

/// Dependencies of a loop.
#[derive(Clone)]
pub struct SyncDeps {
    pub db: Db,
    pub hub: Hub,
    pub ctx: Ctx,
    pub metrics: SyncMetrics,
    /// As the settings say at the moment.
    pub limits: Arc<ArcSwap<Limits>>,
    /// The rules that wait for edges.
    pub watch: Arc<dyn RuleWatch>,
}

/// The loop of one engine.
pub struct SyncLoop {
    engine: Arc<Engine>,
    deps: SyncDeps,
    stop: CancellationToken,
    /// The right to ask the client; without it the client is not asked.
    mandate: Mandate,
    store: Store,
    repairs: Repairs,
    metrics: EngineMetrics,
    /// The cursor of the last delta applied; `None` asks for everything.
    cursor: Option<u64>,
    last_watched: Instant,
    /// Why the last whole list, or a delta since, was not taken whole.
    excess: Option<Excess>,
    last_whole: Instant,
    /// The channel knows the engine.
    attached: bool,
    /// The log says that it is offline, and not yet that it is back.
    told_offline: bool,
    /// The database refused the last write; this is logged once.
    db_failing: bool,
}

impl SyncLoop {
    pub fn new(engine: Arc<Engine>, deps: SyncDeps, stop: CancellationToken) -> Self {
        engine.ends_by(&stop);
        if engine.is_discarded() {
            stop.cancel();
        }
        Self {
            store: Store::new(engine.clone(), deps.clone()),
            repairs: Repairs::new(engine.clone(), stop.clone()),
            metrics: deps.metrics.for_engine(&engine.id),
            mandate: deps.db.mandate(),
            engine,
            deps,
            stop,
            cursor: None,
            last_watched: Instant::now(),
            excess: None,
            last_whole: Instant::now(),
            attached: false,
            told_offline: false,
            db_failing: false,
        }
    }

    /// Runs until it is stopped; what still waits to be stored is stored then, unless the engine was deleted.
    pub async fn run(mut self) {
        let mut ticks = tokio::time::interval(INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let mut last = Instant::now() - EARLY_READ_GAP;
        let mut arrivals = self.deps.hub.arrivals();
        loop {
            let early = tokio::select! {
                biased;
                () = self.stop.cancelled() => break,
                _ = ticks.tick() => false,
                () = self.engine.poked() => true,
                Ok(()) = arrivals.changed(), if self.engine.is_quiet() => {
                    if !self.deps.hub.has_audience(&AUDIENCE) {
                        continue;
                    }
                    true
                }
            };
            if early {
                let stop = self.stop.clone();
                let settled = tokio::time::sleep_until(last + EARLY_READ_GAP);
                if stop.run_until_cancelled(settled).await.is_none() {
                    break;
                }
            }
            if !self.mandate.holds() {
                // Another server may be polling by now; whether that is so is found out elsewhere, soon.
                continue;
            }
            last = Instant::now();
            let span = tracing::debug_span!("torrents.sync.tick", engine.id = %self.engine.id);
            self.tick().instrument(span).await;
        }
        if self.engine.is_discarded() {
            return;
        }
        if let Err(error) = self.store.flush().await {
            tracing::error!(engine.id = %self.engine.id, %error, "the last counters of an engine were not stored");
        }
    }

    /// One read and all that follows from it. Returns early when the loop is stopped meanwhile.
    pub async fn tick(&mut self) {
        let number = self.engine.begin_read();
        let begun = Instant::now();
        let attention = self.attention();
        // The cursor is given up until this delta is applied: after any failure everything is read again.
        let cursor = self.cursor.take();
        let stop = self.stop.clone();
        let fresh = self.engine.fresh();
        let poll = self.engine.driver.poll(cursor, attention, &fresh);
        let Some(polled) = stop.run_until_cancelled(poll).await else {
            return;
        };
        let at = self.deps.ctx.now();
        let error = match polled {
            Ok(delta) => {
                self.cursor = Some(delta.cursor);
                self.take_in(delta, at).await;
                None
            }
            Err(error) => {
                self.offline(&error, at);
                Some(error)
            }
        };
        if attention != Attention::Quiet && error.is_none() {
            self.last_watched = begun;
        }
        let told_at = error.is_none().then_some(at);
        self.engine.note_read(attention, told_at);
        let torrents = self.engine.snapshot().map_or(0, |snapshot| snapshot.len());
        self.metrics
            .note(self.engine.name(), begun.elapsed(), error.is_some(), torrents);
        self.engine.end_read(number, error);
    }

    fn attention(&self) -> Attention {
        // Asked first: a demand is granted by any read that is not quiet.
        let wanted = self.engine.is_wanted();
        if self.engine.is_exact_wanted() {
            Attention::Exact
        } else if wanted
            || self.cursor.is_none()
            || self.last_watched.elapsed() >= WATCHED_EVERY
            || self.deps.hub.has_audience(&AUDIENCE)
        {
            Attention::Watched
        } else {
            Attention::Quiet
        }
    }

    async fn take_in(&mut self, mut delta: Delta, at: Timestamp) {
        if self.store.mend(&mut delta, at).await {
            self.cursor = None;
        }
        let stats = delta.stats;
        self.engine.note_free_bytes(stats.free_disk_bytes);
        self.engine.intakes.fill(&mut delta.changed);
        let base = self.engine.base(at);
        self.retag(&base, &mut delta);
        let limits = **self.deps.limits.load();
        let (version, changes) = self.admit(&base, delta, limits, at);
        let first = self.engine.snapshot().is_none();
        let version = match version {
            Some(version) => Some(Arc::new(version)),
            // An empty client's first list is news too.
            None => first.then(|| Arc::new(base.successor(at))),
        };
        let current = version.clone().unwrap_or(base);
        let stored = self.store.store(&changes, &current, at).await;
        self.note_database(stored);
        if self.engine.is_discarded() {
            return;
        }
        self.note_excess(&changes, &current, limits);
        if let Some(version) = version {
            self.show(version, &changes);
        }
        let swept = self.store.sweep(&current, at).await;
        self.note_database(swept);
        self.repairs.run(&changes);
        self.online(&current, stats, limits, at);
        let stored = self.store.take_baseline(&current, at, &self.stop).await;
        self.note_database(stored);
    }

    /// Adds the torrents that were tagged here, where the client has nothing to tell of them.
    fn retag(&self, base: &Snapshot, delta: &mut Delta) {
        let mut retagged = self.engine.intakes.take_retagged();
        if retagged.is_empty() {
            return;
        }
        for told in &mut delta.changed {
            if let Some(tags) = retagged.remove(&*told.hash) {
                told.tags = tags;
            }
        }
        if delta.full && !delta.cut {
            return;
        }
        for hash in &delta.removed {
            retagged.remove(hash);
        }
        let untold = retagged.into_iter().filter_map(|(hash, tags)| {
            let torrent = base.get(&hash)?.torrent.clone();
            Some(Torrent { tags, ..torrent })
        });
        delta.changed.extend(untold);
    }

    fn admit(
        &self,
        base: &Snapshot,
        delta: Delta,
        limits: Limits,
        at: Timestamp,
    ) -> (Option<Snapshot>, Changes) {
        let is_known = &|hash: &str| self.store.knows(hash);
        base.apply(delta, at, &Admission { limits, is_known })
    }

    /// Remembers whether something was left out, tells it once, and asks for the whole list again when that is worth it.
    fn note_excess(&mut self, changes: &Changes, current: &Snapshot, limits: Limits) {
        let before = self.excess;
        // Less than the whole list says nothing of what was left out before.
        self.excess = if changes.whole {
            changes.excess
        } else {
            changes.excess.or(before)
        };
        match (before, self.excess) {
            (None, Some(excess)) => {
                let reason = excess.sentence(limits);
                tracing::warn!(engine.id = %self.engine.id, torrents = current.len(), %reason, "not all of an engine's torrents are taken");
            }
            (Some(_), None) => {
                tracing::info!(engine.id = %self.engine.id, torrents = current.len(), "all of an engine's torrents are taken again");
            }
            (None, None) | (Some(_), Some(_)) => {}
        }
        if before.is_none() || changes.whole {
            self.last_whole = Instant::now();
        }
        let room = limits.room_beside(current.len(), current.bytes());
        let (with_room, without) = WHOLE_EVERY;
        let pause = if room.is_worth_a_list(limits) {
            with_room
        } else {
            without
        };
        if self.excess.is_some() && self.last_whole.elapsed() >= pause {
            self.last_whole = Instant::now();
            self.cursor = None;
        }
    }

    fn show(&mut self, version: Arc<Snapshot>, changes: &Changes) {
        self.engine.show(version.clone());
        if self.attached {
            let delta = version.delta_message(changes);
            self.deps.hub.state_changed(&self.engine.id, version.seq, delta);
        } else {
            // Everybody who may see it gets the whole of it now.
            self.attached = true;
            let source = Arc::new(engine::EngineSource(self.engine.clone()));
            self.deps.hub.attach_source(&self.engine.id, source);
        }
    }

    fn online(&mut self, current: &Snapshot, stats: GlobalStats, limits: Limits, at: Timestamp) {
        let limited = self.excess.map(|excess| excess.sentence(limits));
        let totals = self.store.totals();
        publish::stats(&self.deps.hub, &self.engine.id, stats, totals, at);
        let status = EngineStatus {
            online: true,
            error: None,
            since: self.engine.since(true, limited.is_some(), at),
            limited,
            at,
            last_seen_at: Some(at),
            torrent_count: current.len(),
        };
        publish::status(&self.deps.hub, &self.engine.id, &status);
        self.engine.set_status(status);
        if std::mem::take(&mut self.told_offline) {
            tracing::info!(engine.id = %self.engine.id, "engine is back");
        }
    }

    fn offline(&mut self, error: &EngineError, at: Timestamp) {
        let reason = describe(&self.engine.name(), error);
        self.engine.forget_free_bytes();
        let before = self.engine.status();
        let status = EngineStatus {
            online: false,
            error: Some(reason.clone()),
            since: self.engine.since(false, false, at),
            limited: None,
            at,
            last_seen_at: before.as_ref().and_then(|status| status.last_seen_at),
            torrent_count: before.as_ref().map_or(0, |status| status.torrent_count),
        };
        publish::status(&self.deps.hub, &self.engine.id, &status);
        self.engine.set_status(status);
        if !std::mem::replace(&mut self.told_offline, true) {
            tracing::warn!(engine.id = %self.engine.id, %reason, "engine is offline");
        }
    }

    /// Logs once, not every 2 s, that the database refuses. What it refused stays due.
    fn note_database(&mut self, result: Result<(), DbError>) {
        let failing = result.is_err();
        match result {
            Err(error) if !self.db_failing => {
                let cause = std::error::Error::source(&error).map(ToString::to_string);
                tracing::error!(engine.id = %self.engine.id, %error, cause, "torrents cannot be stored; they stay due");
            }
            Ok(()) if self.db_failing => {
                tracing::info!(engine.id = %self.engine.id, "torrents are stored again");
            }
            Ok(()) | Err(_) => {}
        }
        self.db_failing = failing;
    }
}

impl Drop for SyncLoop {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // Whoever waits for the read that ended so is told.
            let error = EngineError::Unreachable("reading its list failed unexpectedly".into());
            self.offline(&error, self.deps.ctx.now());
            self.engine.give_up_read(error);
        }
        if self.attached {
            self.deps.hub.detach_source(&self.engine.id);
        }
    }
}
