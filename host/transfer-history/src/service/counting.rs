//! The looks at engines, and the writes of what they moved.
//!
//! A write adds to the counts of five minutes, hour and day at once, in the transaction that also moves the counters of its torrents
//! forward: a crash neither loses nor doubles a byte, for whatever was not written is seen again as growth. What was counted up to a
//! step's end is written at the first look after it.
//!
//! Bounds: [`PAGE`] torrents a transaction. A write that fails is tried again with the next look, and loses nothing. After a commit that
//! failed nobody knows what is stored: the engine is read again, as after a crash.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use jiff::tz::TimeZone;
use qm_db::{DbError, Tx};
use qm_kernel::as_error;
use tokio_util::sync::CancellationToken;

use super::TransferHistory;
use super::engine::{CountedEngine, Known, Moved};
use crate::model::count::Sight;
use crate::model::{Step, Tally, Watch};
use crate::repo::{self, Mark};

/// Torrents of one transaction.
const PAGE: usize = 500;
/// Torrents that are read together at the start.
const LOADED: i64 = 2_000;

/// All that is counted.
#[derive(Default)]
pub struct Counting {
    engines: HashMap<String, CountedEngine>,
    /// Time zone of days, as it was read last.
    zone: Option<TimeZone>,
    /// Number that the next torrent gets.
    next_number: i64,
    /// Begin of the five minutes of the last write.
    written: Option<i64>,
}

impl TransferHistory {
    pub async fn counting_loop(self: Arc<Self>, stop: CancellationToken) {
        let mut ticks = tokio::time::interval(Self::COUNTING.1);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut is_failing = false;
        while stop.run_until_cancelled(ticks.tick()).await.is_some() {
            let counted = self.count().await;
            if let Err(error) = &counted
                && !is_failing
            {
                let error = as_error(error);
                tracing::warn!(error, "what torrents moved cannot be stored; it is counted on");
            }
            is_failing = counted.is_err();
        }
        if let Err(error) = self.write_all().await {
            let error = as_error(&error);
            tracing::warn!(error, "what torrents moved lately is stored by the next start");
        }
    }

    /// Looks at every engine that is online; writes at first, when five minutes are over, and when an engine is new.
    pub async fn count(&self) -> Result<(), DbError> {
        let now = self.ground.ctx.now().ms();
        let mut counting = self.counting.lock().await;
        let counting = &mut *counting;
        let zone = self.prepare(counting).await?;
        let sights = self.sights.sights();
        let mut is_due = false;
        for sight in sights.iter().filter(|sight| sight.is_online) {
            let id = sight.list.engine_id();
            if !counting.engines.contains_key(id) {
                let engine = self.load(id).await?;
                counting.engines.insert(id.to_owned(), engine);
            }
            if let Some(engine) = counting.engines.get_mut(id) {
                engine.look(sight, now, &zone);
                is_due |= !engine.is_stored;
            }
        }
        let start = Step::FiveMinutes.find_start(now, &zone);
        is_due |= counting.written != Some(start);
        // An engine that is loaded no longer may come back otherwise.
        let loaded: HashSet<&str> = sights.iter().map(|sight| sight.list.engine_id()).collect();
        let left: HashSet<String> = counting.engines.keys().cloned().collect();
        let left: HashSet<String> = left
            .into_iter()
            .filter(|id| !loaded.contains(id.as_str()))
            .collect();
        if is_due || !left.is_empty() {
            let written = self.write(counting).await;
            counting.engines.retain(|id, _| !left.contains(id));
            written?;
            counting.zone = None;
        }
        counting.written = Some(start);
        Ok(())
    }

    /// Writes everything that was counted.
    pub async fn write_all(&self) -> Result<(), DbError> {
        let mut counting = self.counting.lock().await;
        self.write(&mut counting).await
    }

    /// Reads what every look needs, where it is not known yet.
    async fn prepare(&self, counting: &mut Counting) -> Result<TimeZone, DbError> {
        if let Some(zone) = &counting.zone {
            return Ok(zone.clone());
        }
        let mut tx = self.ground.db.begin_read().await?;
        let zone = self.ground.settings.find_zone(&mut tx).await?;
        if counting.next_number == 0 {
            counting.next_number = repo::last_number(&mut tx).await? + 1;
        }
        counting.zone = Some(zone.clone());
        Ok(zone)
    }

    /// An engine as it was counted last.
    async fn load(&self, engine_id: &str) -> Result<CountedEngine, DbError> {
        let mut tx = self.ground.db.begin_read().await?;
        let mut engine = CountedEngine::default();
        engine.seen_at = repo::seen_at(&mut tx, engine_id).await?;
        engine.is_stored = engine.seen_at.is_some();
        let mut after = 0;
        loop {
            let page = repo::torrents(&mut tx, engine_id, after, LOADED).await?;
            let Some(last) = page.last() else { break };
            after = last.number;
            for torrent in page {
                let sight = Sight {
                    counters: torrent.counters(),
                    ..Sight::default()
                };
                let number = Some(torrent.number);
                engine
                    .torrents
                    .insert(torrent.hash.into(), Known { number, sight });
            }
        }
        Ok(engine)
    }

    async fn write(&self, counting: &mut Counting) -> Result<(), DbError> {
        let zone = self.prepare(counting).await?;
        let mut result = Ok(());
        for (id, engine) in &mut counting.engines {
            let next_number = &mut counting.next_number;
            // The others are written all the same.
            if let Err(error) = self.write_engine(id, engine, next_number, &zone).await {
                result = Err(error);
            }
        }
        counting.engines.retain(|_, engine| !engine.is_unsure);
        result
    }

    /// Writes what an engine moved, page by page.
    async fn write_engine(
        &self,
        id: &str,
        engine: &mut CountedEngine,
        next_number: &mut i64,
        zone: &TimeZone,
    ) -> Result<(), DbError> {
        let Some(seen_at) = engine.seen_at else {
            return Ok(());
        };
        if !engine.is_stored {
            let mut tx = self.ground.db.begin_write().await?;
            repo::add_engine(&mut tx, id, seen_at).await?;
            engine.commit(tx).await?;
            engine.is_stored = true;
        }
        while !engine.moved.is_empty() || !engine.watches.is_empty() {
            let page: Vec<Arc<str>> = engine.moved.keys().take(PAGE).cloned().collect();
            let is_last = page.len() == engine.moved.len();
            let mut tx = self.ground.db.begin_write().await?;
            let mut numbers = HashMap::new();
            let unknown: Vec<&str> = page
                .iter()
                .filter(|hash| engine.number(hash).is_none())
                .map(|hash| &**hash)
                .collect();
            let found = repo::numbers(&mut tx, id, &unknown).await?;
            let mut next = *next_number;
            let mut marks = Vec::with_capacity(page.len());
            let mut torrents = BTreeMap::<(i64, i64, i64), Tally>::new();
            let mut steps = BTreeMap::<(i64, i64), (Tally, Watch)>::new();
            for hash in &page {
                let Some(moved) = engine.moved.get(hash) else {
                    continue;
                };
                let number = engine.number(hash).or_else(|| found.get(&**hash).copied());
                let number = number.unwrap_or_else(|| {
                    next += 1;
                    next - 1
                });
                numbers.insert(hash.clone(), number);
                marks.push(mark(hash, number, moved, seen_at));
                for (at, tally) in &moved.tallies {
                    for step in Step::ALL {
                        let start = step.find_start(*at, zone);
                        torrents
                            .entry((number, step.minutes(), start))
                            .or_default()
                            .add(*tally);
                        let bytes = Tally {
                            moved: tally.moved,
                            ..Tally::default()
                        };
                        steps.entry((step.minutes(), start)).or_default().0.add(bytes);
                    }
                }
            }
            for (at, (tally, watch)) in engine.watches.iter().filter(|_| is_last) {
                for step in Step::ALL {
                    let start = step.find_start(*at, zone);
                    let sum = steps.entry((step.minutes(), start)).or_default();
                    sum.0.add(*tally);
                    sum.1.add(*watch);
                }
            }
            if !repo::set_seen(&mut tx, id, seen_at).await? {
                // It was deleted.
                engine.is_unsure = true;
                return Ok(());
            }
            repo::put_torrents(&mut tx, id, &marks).await?;
            repo::count_torrents(&mut tx, &torrents).await?;
            repo::count_engine(&mut tx, id, &steps).await?;
            // Before the commit: if that fails, nobody knows if they are taken.
            *next_number = next;
            engine.commit(tx).await?;
            engine.forget_written(&numbers, is_last);
        }
        Ok(())
    }
}

fn mark<'a>(hash: &'a str, number: i64, moved: &'a Moved, at: i64) -> Mark<'a> {
    Mark {
        number,
        hash,
        name: &moved.name,
        counters: moved.counters,
        gone_at: moved.gone.then_some(at),
    }
}

impl CountedEngine {
    async fn commit(&mut self, tx: Tx) -> Result<(), DbError> {
        let committed = tx.commit().await;
        self.is_unsure |= committed.is_err();
        committed
    }

    /// Number of a torrent that is listed.
    fn number(&self, hash: &str) -> Option<i64> {
        self.torrents.get(hash)?.number
    }

    /// Lets go of what a transaction stored.
    fn forget_written(&mut self, numbers: &HashMap<Arc<str>, i64>, with_watches: bool) {
        for (hash, number) in numbers {
            self.moved.remove(hash);
            if let Some(known) = self.torrents.get_mut(hash) {
                known.number = Some(*number);
            }
        }
        if with_watches {
            self.watches.clear();
        }
    }
}
