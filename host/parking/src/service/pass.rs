//! A pass over one engine: what became of its parked torrents, then those to park and to probe (`park`).
//!
//! A row is stored before a client is told anything that it cannot tell by itself afterwards: a process that ends in between leaves
//! a row that the next pass settles. Bounds: torrents of one command ([`AT_ONCE`]), and torrents that a pass parks.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use qm_engines::Engine;
use qm_kernel::Timestamp;
use qm_platform::AuditEntry;
use qm_ports::engine::{Command, EngineError, Torrent};
use qm_ports::parking::ParkReason;
use qm_torrent_lists::Snapshot;
use serde_json::{Value, json};

use super::{ParkingLot, Turn};
use crate::error::ParkingError;
use crate::model::judge::{Probe, is_alive, is_another, is_at_rest, is_taken_up, judge_probe, known_seeders};
use crate::model::row::Row;
use crate::model::rules::Rules;
use crate::model::summary::Summary;
use crate::repo;

/// Time that an engine has to tell its whole list.
const PATIENCE: Duration = Duration::from_secs(30);
/// Torrents of one command; other work of the client takes its turn in between.
const AT_ONCE: usize = 200;
/// Time that a torrent may be missing from its list before its row is dropped: a client that starts tells its torrents little by
/// little.
const MISSING_LIMIT: Duration = Duration::from_mins(10);
/// Time for which a row is kept of a torrent that was let go.
const KEPT: Duration = Duration::from_hours(30 * 24);
const OBJECT: &str = "torrent_engine";

/// An engine with its rows, while it is passed over.
pub(super) struct Pass<'a> {
    pub lot: &'a ParkingLot,
    pub engine: &'a Arc<Engine>,
    pub list: Arc<Snapshot>,
    pub rules: &'a Rules,
    /// By hash; also rows of torrents that were let go.
    pub rows: BTreeMap<String, Row>,
    pub summary: Summary,
}

/// Results of a command. Of other torrents nobody knows: the client did not answer.
#[derive(Default)]
pub(super) struct Ordered {
    pub done: HashSet<String>,
    pub refused: HashSet<String>,
}

/// True if the command was not carried out, and never will be.
fn is_refusal(error: &EngineError) -> bool {
    !error.is_transport() && *error != EngineError::Busy
}

impl ParkingLot {
    /// Passes over an engine. One that cannot be read is left out.
    pub(super) async fn pass_engine(
        &self,
        engine: &Arc<Engine>,
        rules: &Rules,
    ) -> Result<Summary, ParkingError> {
        if let Err(error) = engine.refresh_exactly(PATIENCE).await {
            tracing::debug!(engine.id = %engine.id, %error, "an engine that cannot be read is left out of a sweep");
            return Ok(Summary::default());
        }
        let turn = self.turn_of(&engine.id);
        let mut turn = turn.lock().await;
        let Some(list) = engine.snapshot() else {
            return Ok(Summary::default());
        };
        let mut tx = self.ground.db.begin_read().await?;
        if !repo::has_engine(&mut tx, &engine.id).await? {
            return Ok(Summary::default());
        }
        let rows = repo::list_of(&mut tx, &engine.id).await?;
        drop(tx);
        let mut pass = Pass {
            lot: self,
            engine,
            list,
            rules,
            rows: rows.into_iter().map(|row| (row.hash.clone(), row)).collect(),
            summary: Summary::default(),
        };
        let passed = pass.run(&mut turn).await;
        // Also after a failure: some of it may be stored.
        let read = self.read_engine(&engine.id).await;
        passed.and(read)?;
        Ok(pass.summary)
    }
}

impl Pass<'_> {
    async fn run(&mut self, turn: &mut Turn) -> Result<(), ParkingError> {
        self.drop_gone(turn).await?;
        self.let_go().await?;
        self.settle().await?;
        self.judge_probes().await?;
        if self.rules.enabled {
            self.park_dead().await?;
            self.begin_probes().await?;
        }
        Ok(())
    }

    pub fn now(&self) -> Timestamp {
        self.lot.ground.ctx.now()
    }

    /// A listed torrent that nothing else is done to now.
    pub fn find_free(&self, hash: &str) -> Option<&Torrent> {
        let torrent = &self.list.get(hash)?.torrent;
        self.is_free(hash).then_some(torrent)
    }

    /// False while the data of a torrent is being moved.
    pub fn is_free(&self, hash: &str) -> bool {
        self.lot.data.refuse_busy(self.engine, hash).is_ok()
    }

    /// Drops the rows of torrents that are gone, or others than those that were parked.
    async fn drop_gone(&mut self, turn: &mut Turn) -> Result<(), ParkingError> {
        let now = self.now();
        let is_whole = self
            .engine
            .status()
            .is_some_and(|status| status.online && status.limited.is_none());
        turn.missing
            .retain(|hash, _| self.rows.contains_key(hash) && self.list.get(hash).is_none());
        let mut gone = Vec::new();
        for (hash, row) in &self.rows {
            let is_gone = match self.list.get(hash) {
                Some(entry) => is_another(row, &entry.torrent),
                None if is_whole => {
                    let since = *turn.missing.entry(hash.clone()).or_insert(now);
                    now.since(since) >= MISSING_LIMIT
                }
                None => false,
            };
            let is_old = row.released_at.is_some_and(|at| now.since(at) >= KEPT);
            if is_gone || is_old {
                gone.push(hash.clone());
            }
        }
        self.delete(&gone).await
    }

    /// Lets go of torrents that somebody has started.
    async fn let_go(&mut self) -> Result<(), ParkingError> {
        let now = self.now();
        let confirmed_at = self.engine.confirmed_at().unwrap_or(self.list.changed_at);
        let is_taken = |row: &Row| {
            let entry = self.list.get(&row.hash);
            entry.is_some_and(|entry| is_taken_up(row, &entry.torrent, confirmed_at))
        };
        let taken: Vec<String> = self
            .rows
            .values()
            .filter(|row| is_taken(row))
            .map(|row| row.hash.clone())
            .collect();
        self.change(&taken, |row| row.release(now));
        self.store(&taken, Vec::new()).await
    }

    /// Ends what an earlier pass began and nobody knows the end of: torrents that were to be paused.
    async fn settle(&mut self) -> Result<(), ParkingError> {
        let (mut resting, mut running, mut alive) = (Vec::new(), Vec::new(), Vec::new());
        for row in self.rows.values().filter(|row| row.is_unsettled()) {
            match self.find_free(&row.hash) {
                Some(torrent) if is_at_rest(torrent.state) => resting.push(row.hash.clone()),
                Some(torrent) if is_alive(torrent) => alive.push(row.hash.clone()),
                Some(_) => running.push(row.hash.clone()),
                None => {}
            }
        }
        let now = self.now();
        self.change(&alive, |row| row.release(now));
        self.store(&alive, Vec::new()).await?;
        self.pause(running, resting).await
    }

    /// Pauses torrents whose rows are stored, and notes those that rest, now or already. A torrent that its client refuses to pause
    /// is not parked.
    pub async fn pause(
        &mut self,
        running: Vec<String>,
        mut resting: Vec<String>,
    ) -> Result<(), ParkingError> {
        let paused = self.order(&running, &Command::Pause).await;
        let (refused, others): (Vec<_>, Vec<_>) = running
            .into_iter()
            .partition(|hash| paused.refused.contains(hash));
        resting.extend(others.into_iter().filter(|hash| paused.done.contains(hash)));
        let now = self.now();
        self.change(&resting, |row| row.rest(now));
        let audit = self.describe_parked(&resting);
        self.store(&resting, audit.into_iter().collect()).await?;
        self.summary.parked += resting.len() as u64;
        self.delete(&refused).await
    }

    /// Audit row of torrents that were parked.
    fn describe_parked(&self, hashes: &[String]) -> Option<AuditEntry<'static>> {
        let rows = hashes.iter().filter_map(|hash| self.rows.get(hash));
        let without = rows.filter(|row| row.reason == ParkReason::NoSeeders).count();
        let counts = json!({
            "count": hashes.len(), "no_seeders": without, "stalled": hashes.len() - without,
        });
        (!hashes.is_empty()).then(|| self.audit("torrents.parking.parked", counts))
    }

    fn audit(&self, action: &'static str, metadata: Value) -> AuditEntry<'static> {
        AuditEntry {
            action,
            object_type: Some(OBJECT),
            object_id: Some(self.engine.id.to_string()),
            metadata: Some(metadata),
            ..AuditEntry::default()
        }
    }

    /// Ends probes: torrents that somebody shares run as before, the others are paused again. So do torrents that were completed
    /// while they were parked.
    async fn judge_probes(&mut self) -> Result<(), ParkingError> {
        let now = self.now();
        let (mut alive, mut dead, mut idle, mut complete) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for row in self.rows.values().filter(|row| row.is_parked()) {
            let Some(torrent) = self.find_free(&row.hash) else {
                continue;
            };
            let hash = row.hash.clone();
            if row.is_probing() {
                match judge_probe(row, torrent, now) {
                    Probe::Alive => alive.push(hash),
                    Probe::Dead => dead.push(hash),
                    Probe::Idle => idle.push(hash),
                    Probe::Early => {}
                }
            } else if row.is_resting() && torrent.progress >= 1.0 && is_at_rest(torrent.state) {
                complete.push(hash);
            }
        }
        let probed = [&*alive, &*dead].concat();
        let unforced = self.order(&probed, &Command::ForceStart(false)).await;
        // A client that cannot force a start has not done so.
        let is_unforced = |hash: &String| unforced.done.contains(hash) || unforced.refused.contains(hash);
        alive.retain(is_unforced);
        dead.retain(is_unforced);
        alive.append(&mut complete);
        let resumed = self.order(&alive, &Command::Resume).await;
        alive.retain(|hash| resumed.done.contains(hash));
        let paused = self.order(&dead, &Command::Pause).await;
        dead.retain(|hash| paused.done.contains(hash));
        self.note_judged(&alive, &dead, &idle).await
    }

    /// Stores the ends of probes.
    async fn note_judged(
        &mut self,
        alive: &[String],
        dead: &[String],
        idle: &[String],
    ) -> Result<(), ParkingError> {
        let now = self.now();
        let list = self.list.clone();
        self.change(alive, |row| row.release(now));
        self.change(idle, |row| row.rest(now));
        self.change(dead, |row| {
            let Some(entry) = list.get(&row.hash) else {
                return;
            };
            row.count_probe(known_seeders(&entry.torrent), now);
            row.name.clone_from(&entry.torrent.name);
        });
        let counts = json!({ "count": alive.len() });
        let audit = (!alive.is_empty()).then(|| self.audit("torrents.parking.revived", counts));
        let changed = [alive, dead, idle].concat();
        self.store(&changed, audit.into_iter().collect()).await?;
        self.summary.revived += alive.len() as u64;
        self.summary.still_dead += dead.len() as u64;
        Ok(())
    }

    /// Has the client do a command to torrents.
    pub async fn order(&self, hashes: &[String], command: &Command) -> Ordered {
        let mut ordered = Ordered::default();
        let mut failure = None;
        for part in hashes.chunks(AT_ONCE) {
            match self.engine.order(part, command.clone()).await {
                Ok(outcomes) => {
                    for outcome in outcomes {
                        match outcome.result {
                            Ok(()) => _ = ordered.done.insert(outcome.hash),
                            Err(error) => {
                                if is_refusal(&error) {
                                    ordered.refused.insert(outcome.hash);
                                }
                                failure = Some(error);
                            }
                        }
                    }
                }
                Err(error) => {
                    if is_refusal(&error) {
                        ordered.refused.extend(part.iter().cloned());
                    }
                    failure = Some(error);
                }
            }
        }
        if let Some(error) = failure {
            let (done, asked) = (ordered.done.len(), hashes.len());
            tracing::warn!(engine.id = %self.engine.id, ?command, done, asked, %error, "not all torrents were parked or probed");
        }
        ordered
    }

    /// Changes rows in memory; [`Pass::store`] stores them.
    pub fn change(&mut self, hashes: &[String], change: impl Fn(&mut Row)) {
        let now = self.now();
        for hash in hashes {
            if let Some(row) = self.rows.get_mut(hash) {
                change(row);
                row.updated_at = now;
            }
        }
    }

    /// Stores rows as they are in memory, with what is told of them. Nothing is stored of an engine that was deleted meanwhile.
    pub async fn store(
        &self,
        hashes: &[String],
        audit: Vec<AuditEntry<'static>>,
    ) -> Result<(), ParkingError> {
        if hashes.is_empty() {
            return Ok(());
        }
        let rows: Vec<Row> = hashes
            .iter()
            .filter_map(|hash| self.rows.get(hash))
            .cloned()
            .collect();
        let mut tx = self.lot.ground.db.begin_write().await?;
        if !repo::has_engine(&mut tx, &self.engine.id).await? {
            return Err(ParkingError::NoSuchEngine);
        }
        repo::put(&mut tx, &self.engine.id, &rows).await?;
        for entry in audit {
            self.lot.ground.audit.record(&mut tx, entry).await?;
        }
        tx.commit().await?;
        Ok(())
    }

    async fn delete(&mut self, hashes: &[String]) -> Result<(), ParkingError> {
        if hashes.is_empty() {
            return Ok(());
        }
        let mut tx = self.lot.ground.db.begin_write().await?;
        for hash in hashes {
            repo::delete(&mut tx, &self.engine.id, hash).await?;
        }
        tx.commit().await?;
        for hash in hashes {
            self.rows.remove(hash);
        }
        Ok(())
    }
}
