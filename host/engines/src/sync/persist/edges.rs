//! Rules told of torrents by the clock: of those that went and do not come back, and of those that get no data.

use std::sync::Arc;
use std::time::Duration;

use qm_db::{DbError, Tx};
use qm_kernel::Timestamp;
use qm_kernel::event::{Cause, DomainEvent};
use qm_ports::rules::Edge;
use qm_torrent_lists::{Changes, Snapshot, TorrentEntry};

use super::Store;
use crate::model::departures::GRACE;
use crate::repo;
use crate::repo::departures::Departure;
use crate::sync::publish::{self, Asking, RulesDue};
use crate::sync::tracker::{BATCH, Batch, Look};

/// Time between two reads after which nothing is known of the time between.
const GAP: Duration = Duration::from_secs(30);
/// Time for which a client has to be read until its torrents count as stalled: after a pause they may only be starting.
const SETTLED: Duration = Duration::from_mins(10);
/// Interval between two looks for stalled torrents.
const STALLS_EVERY: Duration = Duration::from_mins(1);

/// Time as the reads of an engine saw it.
#[derive(Debug, Default)]
pub(super) struct Reads {
    last: Option<Timestamp>,
    /// Since when it was read without a gap.
    since: Option<Timestamp>,
    /// Instant of the first whole list of an engine that was never read before.
    begun: Option<Timestamp>,
    /// Some torrents were not taken from the last whole list, or one since.
    limited: bool,
    stalls_at: Option<Timestamp>,
}

/// Changes of the table of departures in one transaction.
#[derive(Debug, Default)]
pub(super) struct Noted {
    /// Torrents that went.
    pub put: Vec<Arc<str>>,
    /// Torrents that came back.
    pub struck: Vec<Arc<str>>,
}

impl Store {
    /// Notes a read, and answers what it may tell.
    pub(super) fn look(&mut self, changes: &Changes, current: &Snapshot, at: Timestamp) -> Look {
        let has_baseline = self.ledger.is_some();
        let reads = &mut self.reads;
        if reads.last.is_none_or(|last| last.plus(GAP) < at) {
            reads.since = Some(at);
            if let Some(tracker) = &mut self.tracker {
                tracker.departures.restart(at);
            }
        }
        reads.last = Some(at);
        let was_limited = reads.limited;
        reads.limited = changes.excess.is_some() || was_limited && !changes.whole;
        let is_first = !self.observed && !has_baseline;
        if is_first {
            reads.begun = Some(at);
        }
        // A client that is just starting may list the rest of its torrents within a minute.
        let is_settled = reads.begun.is_none_or(|begun| begun.plus(GRACE) < at);
        let is_other = changes.whole
            && self
                .tracker
                .as_ref()
                .is_some_and(|tracker| tracker.shares_nothing(current));
        Look {
            at,
            is_news: is_settled && !is_other && !was_limited && !reads.limited,
        }
    }

    /// Stores the removals of a batch for which rules wait, and removes the rows of some torrents that came back.
    pub(super) async fn note_departures(
        &self,
        tx: &mut Tx,
        batch: &Batch,
        at: Timestamp,
    ) -> Result<Noted, DbError> {
        let mut noted = Noted::default();
        let Some(tracker) = &self.tracker else {
            return Ok(noted);
        };
        let engine_id = &*self.engine.id;
        // A torrent that came back is due itself: there are batches enough for all of them.
        noted.struck = tracker.departures.returned(BATCH);
        for hash in &noted.struck {
            repo::departures::delete(tx, engine_id, hash).await?;
        }
        if !self.deps.watch.remembers() {
            return Ok(noted);
        }
        for hash in batch
            .retired
            .iter()
            .filter(|hash| tracker.departures.waits_for(hash))
        {
            let Some(due) = self.due_by_removal(tx, batch, hash).await? else {
                continue;
            };
            let departure = Departure {
                hash,
                gone_at: at,
                added_at: tracker.departures.added_at(hash),
                due: &due,
            };
            repo::departures::put(tx, engine_id, &departure).await?;
            noted.put.push(hash.clone());
        }
        Ok(noted)
    }

    /// The event for rules about the removal of a torrent, as JSON; `None`: no rule waits for it.
    async fn due_by_removal(
        &self,
        tx: &mut Tx,
        batch: &Batch,
        hash: &str,
    ) -> Result<Option<String>, DbError> {
        let last = batch.rows.iter().find(|row| &*row.entry.torrent.hash == hash);
        let entry = match last {
            Some(row) => row.entry.clone(),
            // It went while the server did not run: its row is all that is known.
            None => match repo::snapshots::find(tx, &self.engine.id, hash).await? {
                Some(row) => TorrentEntry::new(&self.engine.id, row.into_torrent()).into(),
                None => return Ok(None),
            },
        };
        let rules = Asking::new(&self.engine, &self.deps).due(Edge::Removed, &entry.torrent);
        let payload = publish::due_payload(Edge::Removed, rules, &entry);
        Ok(payload.and_then(|payload| serde_json::to_string(&payload).ok()))
    }

    /// Tells rules of what the clock has brought.
    pub(super) async fn tell_by_time(&mut self, at: Timestamp) -> Result<(), DbError> {
        if self.engine.is_discarded() {
            return Ok(());
        }
        self.tell_removals(at).await?;
        if self
            .reads
            .stalls_at
            .is_some_and(|last| last.plus(STALLS_EVERY) > at)
        {
            return Ok(());
        }
        self.reads.stalls_at = Some(at);
        let is_settled = self.reads.since.is_some_and(|since| since.plus(SETTLED) <= at);
        if is_settled && self.deps.watch.watches_stalls() {
            self.tell_stalls().await?;
        }
        Ok(())
    }

    async fn tell_removals(&mut self, at: Timestamp) -> Result<(), DbError> {
        let Some(tracker) = &mut self.tracker else {
            return Ok(());
        };
        let engine_id = &*self.engine.id;
        for some in tracker.departures.find_gone(at).chunks(BATCH) {
            let mut tx = self.deps.db.begin_write().await?;
            for hash in some {
                let due = repo::departures::take(&mut tx, engine_id, hash).await?;
                let due = due.and_then(|due| serde_json::from_str::<RulesDue>(&due).ok());
                if let Some(due) = due {
                    tx.publish(DomainEvent::new(&self.deps.ctx, Cause::NONE, &**hash, &due));
                }
            }
            tx.commit().await?;
            tracker.departures.forget_gone(some);
        }
        Ok(())
    }

    async fn tell_stalls(&mut self) -> Result<(), DbError> {
        let Some(tracker) = &mut self.tracker else {
            return Ok(());
        };
        let asking = Asking::new(&self.engine, &self.deps);
        let stalls = tracker.stalls(|torrent, since| asking.due(Edge::Stalled { since }, torrent));
        for some in stalls.chunks(BATCH) {
            let mut tx = self.deps.db.begin_write().await?;
            for (entry, since, rules) in some {
                let edge = Edge::Stalled { since: *since };
                if let Some(event) = publish::rules_due(edge, rules.clone(), entry, &self.deps.ctx) {
                    tx.publish(event);
                }
            }
            tx.commit().await?;
            for (entry, since, rules) in some {
                tracker.note_stall_told(&entry.torrent.hash, *since, rules);
            }
        }
        Ok(())
    }
}
