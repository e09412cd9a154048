//! The database rows of one engine's torrents, and the changes that have to be written.
//!
//! Owned by the engine's sync loop. A row is written
//! * at once when the torrent is new, or its name, state, size, place, label or instants changed, when it became complete
//!   or incomplete, or when a counter fell;
//! * with the next flush (every 10 s, and when the loop ends) when only progress, counters or ratio moved.
//!
//! Completions and ratio changes are judged between the stored row and the one that replaces it, and are told only after
//! the transaction that stores it has committed: nothing is told twice, whatever crashes when. A torrent that is listed for the first
//! time only sets the line, unless it was handed to the client here: that one had nothing before. The ledger's invariant is
//! in [`crate::model::ledger`].
//! Bounds: one record a torrent, an instant each of [`DEPARTED`] torrents that are gone; a transaction of 500 rows at most, made in
//! time that depends on those alone.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use qm_kernel::{Ctx, Timestamp};
use qm_ports::engine::{Torrent, TorrentState};
use qm_torrent_lists::{Changes, Snapshot, TorrentEntry};

use crate::model::departures::{Departures, Return};
use crate::model::edges;
use crate::model::edges::Prior;
use crate::model::intake::Intakes;
use crate::model::ledger::{Counters, Growth};
use crate::repo::snapshots::{RowWrite, StoredRow};

/// Number of departed torrents whose instants of adding are kept; with one more, all of them are forgotten.
const DEPARTED: usize = 50_000;
/// Rows of one transaction.
pub const BATCH: usize = 500;

/// One torrent's record.
#[derive(Debug)]
struct Tracked {
    /// The stored row, as far as it matters here; `None` until the torrent's first row is written.
    stored: Option<Stored>,
    /// The torrent as last seen; `None` for a row of an earlier run that was not seen yet.
    entry: Option<Arc<TorrentEntry>>,
    /// Counters as last seen.
    seen: Counters,
    /// Growth since the stored counters.
    unwritten: Growth,
    /// It fell into an error and nobody was told yet.
    failed: bool,
    /// It was handed to the client here, and is listed for the first time since.
    is_new_here: bool,
    /// It was removed from its client and added once more, and nobody was told yet.
    renewed: bool,
    /// It was seen fetching since it was complete last, in this run of the service.
    fetched: bool,
    /// It is new on its engine, and nobody was told yet.
    added: bool,
    /// Since when it wants data and has got none.
    stalled_since: Option<Timestamp>,
    /// Rules that were told of this stall.
    stall_told: Vec<String>,
}

/// The moment of a look, and what it may tell.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    pub at: Timestamp,
    /// Torrents that have no record are new on their engine, and those that are not listed left it. False at the first sight of
    /// an engine, where some of its torrents are not taken, and where it is another one than before.
    pub is_news: bool,
}

/// The stored fields that decide whether a row has to be written.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Stored {
    prior: Prior,
    counters: Counters,
    state: Option<TorrentState>,
    size: u64,
    added_at: Option<Timestamp>,
    /// There is an instant since which it stalls.
    stalls: bool,
    /// Hash of name, save path and label.
    texts: u64,
}

/// Everything one transaction writes.
#[derive(Debug, Default)]
pub struct Batch {
    pub rows: Vec<RowWrite>,
    /// Hashes the engine no longer lists; their last rows are among `rows` where they had changed.
    pub retired: Vec<Arc<str>>,
    /// The sum over `rows`.
    pub growth: Growth,
}

#[derive(Debug, Default)]
pub struct Tracker {
    torrents: HashMap<Arc<str>, Tracked>,
    /// Must be written this tick. No hash is in both sets.
    due: HashSet<Arc<str>>,
    /// Differ from their rows in what may wait.
    dirty: HashSet<Arc<str>>,
    /// No longer listed, still in the database.
    retiring: HashMap<Arc<str>, Tracked>,
    /// The keys of `retiring` in the order in which they went.
    leaving: VecDeque<Arc<str>>,
    /// Instants of adding of torrents that are no longer listed. A torrent that comes back with a later instant is
    /// another one.
    departed: HashMap<Arc<str>, Timestamp>,
    /// Torrents that went and may come back.
    pub departures: Departures,
    hasher: RandomState,
}

impl Tracker {
    /// Starts from the rows of an earlier run.
    pub fn from_rows(rows: Vec<StoredRow>) -> Self {
        let mut tracker = Tracker::default();
        for row in rows {
            let counters = Counters {
                downloaded: row.downloaded,
                uploaded: row.uploaded,
            };
            let stored = Stored {
                prior: Prior {
                    progress: row.progress,
                    ratio: row.ratio,
                    completed_at: row.completed_at,
                },
                counters,
                state: TorrentState::from_name(&row.state),
                size: row.size,
                added_at: row.added_at,
                stalls: row.stalled_since.is_some(),
                texts: tracker.texts(&row.name, &row.save_path, row.label.as_deref()),
            };
            let tracked = Tracked {
                stalled_since: row.stalled_since,
                ..Tracked::new(Some(stored), counters)
            };
            tracker.torrents.insert(row.hash.into(), tracked);
        }
        tracker
    }

    /// Takes in what a delta changed; `intakes` know what was handed to the client here.
    pub fn observe(&mut self, changes: &Changes, intakes: &Intakes, look: Look) {
        for entry in &changes.removed {
            self.retire(&entry.torrent.hash, look);
        }
        for (before, now) in &changes.changed {
            self.see(before.as_deref(), now, intakes, look);
        }
    }

    /// True if several torrents are known and a whole list has none of them: the engine is another one than before, or lost
    /// everything.
    pub fn shares_nothing(&self, snapshot: &Snapshot) -> bool {
        self.torrents.len() > 1 && !self.torrents.keys().any(|hash| snapshot.get(hash).is_some())
    }

    /// True if there is a record of a torrent: it was taken before.
    pub fn knows(&self, hash: &str) -> bool {
        self.torrents.contains_key(hash)
    }

    /// Retires rows of an earlier run that the engine's whole list does not have: neither `snapshot` nor what was `left_out`
    /// of it. To be called once, with the first such list.
    pub fn reconcile(&mut self, snapshot: &Snapshot, left_out: &HashSet<Arc<str>>, look: Look) {
        let gone: Vec<Arc<str>> = self
            .torrents
            .keys()
            .filter(|hash| snapshot.get(hash).is_none() && !left_out.contains(*hash))
            .cloned()
            .collect();
        for hash in gone {
            self.retire(&hash, look);
        }
    }

    fn retire(&mut self, hash: &Arc<str>, look: Look) {
        self.due.remove(hash);
        self.dirty.remove(hash);
        let Some(tracked) = self.torrents.remove(hash) else {
            return;
        };
        let added_at = tracked.entry.as_ref().and_then(|entry| entry.torrent.added_at);
        let added_at = added_at.or_else(|| tracked.stored.and_then(|stored| stored.added_at));
        if look.is_news {
            self.departures.note(hash.clone(), added_at, look.at, false);
        }
        if let Some(added_at) = added_at {
            if self.departed.len() >= DEPARTED {
                self.departed.clear();
            }
            self.departed.insert(hash.clone(), added_at);
        }
        match self.retiring.entry(hash.clone()) {
            Entry::Vacant(place) => {
                self.leaving.push_back(hash.clone());
                place.insert(tracked);
            }
            // It left, came back and left again before its row was gone: one row, and both times' growth.
            Entry::Occupied(mut place) => {
                let before = place.get();
                let (stored, unwritten) = (before.stored, before.unwritten.plus(tracked.unwritten));
                place.insert(Tracked {
                    stored,
                    unwritten,
                    ..tracked
                });
            }
        }
    }

    fn see(&mut self, before: Option<&TorrentEntry>, now: &Arc<TorrentEntry>, intakes: &Intakes, look: Look) {
        let torrent = &now.torrent;
        let texts = self.texts(&torrent.name, &torrent.save_path, torrent.label.as_deref());
        let counters = Counters::from(torrent);
        let is_recorded = self.torrents.contains_key(&torrent.hash);
        let tracked = self
            .torrents
            .entry(torrent.hash.clone())
            .or_insert_with(|| Tracked::new(None, counters));
        if intakes.take_awaited(&torrent.hash) {
            (tracked.is_new_here, tracked.renewed) = (true, true);
        }
        let returned = self
            .departures
            .take_back(&torrent.hash, torrent.added_at, look.at);
        tracked.added |= tracked.is_new_here
            || returned == Return::Another
            || look.is_news && !is_recorded && returned == Return::No;
        // One that a client only lost for a while, as when it starts, is as old as before.
        let left = self.departed.remove(&torrent.hash);
        tracked.renewed |= left
            .zip(torrent.added_at)
            .is_some_and(|(before, now)| now > before);
        let growth = Growth::between(tracked.seen, counters);
        tracked.unwritten = tracked.unwritten.plus(growth);
        tracked.seen = counters;
        let known = before.map(|before| before.torrent.progress);
        let known = known.or_else(|| tracked.stored.map(|stored| stored.prior.progress));
        let rose =
            torrent.state != TorrentState::Checking && known.is_some_and(|known| torrent.progress > known);
        let since = edges::stalled_since(
            tracked.stalled_since,
            torrent,
            rose || growth.moved.downloaded > 0,
            look.at,
        );
        if since != tracked.stalled_since {
            (tracked.stalled_since, tracked.stall_told) = (since, Vec::new());
        }
        tracked.fetched |= edges::is_fetching(torrent);
        tracked.failed |= edges::has_failed(before.map(|before| &before.torrent), torrent);
        tracked.entry = Some(now.clone());
        let hash = torrent.hash.clone();
        let urgency = tracked
            .stored
            .map(|stored| stored.urgency(torrent, texts, since.is_some(), growth.resets > 0));
        match urgency {
            None | Some(Urgency::Due) => {
                self.dirty.remove(&hash);
                self.due.insert(hash);
            }
            // What a refused write left due stays due.
            Some(Urgency::MayWait | Urgency::Same) if self.due.contains(&hash) => {}
            Some(Urgency::MayWait) => {
                self.dirty.insert(hash);
            }
            Some(Urgency::Same) => {
                self.dirty.remove(&hash);
            }
        }
    }

    /// Stored torrents that want data and have got none, and the rules among those of `due` that were not told of that stall.
    pub fn stalls(
        &self,
        due: impl Fn(&Torrent, Timestamp) -> Vec<String>,
    ) -> Vec<(Arc<TorrentEntry>, Timestamp, Vec<String>)> {
        let stalled = self.torrents.values().filter(|tracked| tracked.stored.is_some());
        let stalled = stalled.filter_map(|tracked| {
            let (entry, since) = (tracked.entry.as_ref()?, tracked.stalled_since?);
            let mut rules = due(&entry.torrent, since);
            rules.retain(|rule| !tracked.stall_told.contains(rule));
            (!rules.is_empty()).then(|| (entry.clone(), since, rules))
        });
        stalled.collect()
    }

    /// Notes that rules were told of the stall of a torrent.
    pub fn note_stall_told(&mut self, hash: &str, since: Timestamp, rules: &[String]) {
        let tracked = self.torrents.get_mut(hash);
        if let Some(tracked) = tracked.filter(|tracked| tracked.stalled_since == Some(since)) {
            tracked.stall_told.extend_from_slice(rules);
        }
    }

    pub fn has_due(&self) -> bool {
        !self.due.is_empty() || !self.retiring.is_empty()
    }

    pub fn has_dirty(&self) -> bool {
        !self.dirty.is_empty()
    }

    /// Makes everything that differs from the database due.
    pub fn flush(&mut self) {
        self.due.extend(self.dirty.drain());
    }

    /// Makes torrents due at once whose ratio is no longer the stored one, if that is worth it: `is_wanted` gets the
    /// torrent and the stored ratio.
    pub fn hasten(&mut self, is_wanted: impl Fn(&Torrent, f64) -> bool) {
        let wanted = self.dirty.extract_if(|hash| {
            let tracked = self.torrents.get(hash);
            let both =
                tracked.and_then(|tracked| Some((tracked.entry.as_ref()?, tracked.stored?.prior.ratio)));
            both.is_some_and(|(entry, from)| {
                let torrent = &entry.torrent;
                from.total_cmp(&torrent.ratio).is_ne() && is_wanted(torrent, from)
            })
        });
        self.due.extend(wanted);
    }

    /// Growth the ledger does not have yet.
    pub fn unwritten(&self) -> Growth {
        let waiting = self
            .due
            .iter()
            .chain(&self.dirty)
            .filter_map(|hash| self.torrents.get(hash));
        waiting
            .chain(self.retiring.values())
            .map(|t| t.unwritten)
            .fold(Growth::default(), Growth::plus)
    }

    /// The next transaction's worth of what is due; `None` when nothing is. The caller answers with [`Tracker::written`]
    /// once it has committed; until then everything stays due.
    pub fn next_batch(&self, ctx: &Ctx) -> Option<Batch> {
        let mut batch = Batch::default();
        for hash in self.leaving.iter().take(BATCH) {
            // Its last counters belong into the archive, and what they grew by into the ledger.
            if let Some(row) = self.retiring.get(hash).and_then(|tracked| tracked.row(ctx)) {
                batch.push(RowWrite {
                    completed: false,
                    failed: false,
                    added: false,
                    renewed: false,
                    ratio_was: None,
                    ..row
                });
            }
            batch.retired.push(hash.clone());
        }
        let room = BATCH - batch.retired.len();
        // One that left and came back waits for its old row to be gone.
        for hash in self
            .due
            .iter()
            .filter(|hash| !self.retiring.contains_key(*hash))
            .take(room)
        {
            if let Some(row) = self.torrents.get(hash).and_then(|tracked| tracked.row(ctx)) {
                batch.push(row);
            }
        }
        (!batch.rows.is_empty() || !batch.retired.is_empty()).then_some(batch)
    }

    /// The batch is in the database.
    pub fn written(&mut self, batch: &Batch) {
        for hash in &batch.retired {
            self.leaving.pop_front();
            self.retiring.remove(hash);
        }
        let retired: HashSet<&str> = batch.retired.iter().map(|hash| &**hash).collect();
        for row in batch
            .rows
            .iter()
            .filter(|row| !retired.contains(&*row.entry.torrent.hash))
        {
            let torrent = &row.entry.torrent;
            let texts = self.texts(&torrent.name, &torrent.save_path, torrent.label.as_deref());
            self.due.remove(&torrent.hash);
            if let Some(tracked) = self.torrents.get_mut(&torrent.hash) {
                tracked.stored = Some(Stored::new(
                    torrent,
                    row.prior,
                    texts,
                    row.stalled_since.is_some(),
                ));
                tracked.unwritten = Growth::default();
                (tracked.failed, tracked.added) = (false, false);
                (tracked.is_new_here, tracked.renewed) = (false, false);
                tracked.fetched &= row.prior.progress < 1.0;
            }
        }
    }

    /// Puts the completion instants of the rows in the place of those that the client told: the first one counts. A client may
    /// tell none, as rTorrent of a torrent of which only some files are wanted: then it is the instant `at` which it was seen.
    pub fn mend(&self, told: &mut [Torrent], at: Timestamp) {
        for torrent in told {
            if torrent.completed_at.is_none() && !edges::is_complete(torrent) {
                continue;
            }
            let tracked = match self.torrents.get(&torrent.hash) {
                None => self.torrents.get(&*torrent.hash.to_ascii_lowercase()),
                tracked => tracked,
            };
            let Some(tracked) = tracked else { continue };
            let first = tracked.stored.and_then(|stored| stored.prior.completed_at);
            torrent.completed_at = first
                .or(torrent.completed_at)
                .or_else(|| tracked.seen_completion(at));
        }
    }

    fn texts(&self, name: &str, save_path: &str, label: Option<&str>) -> u64 {
        self.hasher.hash_one((name, save_path, label))
    }
}

impl Batch {
    fn push(&mut self, row: RowWrite) {
        self.growth = self.growth.plus(row.growth);
        self.rows.push(row);
    }
}

enum Urgency {
    Due,
    MayWait,
    Same,
}

impl Stored {
    fn new(torrent: &Torrent, prior: Prior, texts: u64, stalls: bool) -> Self {
        Self {
            prior,
            counters: Counters::from(torrent),
            state: Some(torrent.state),
            size: torrent.size,
            added_at: torrent.added_at,
            stalls,
            texts,
        }
    }

    fn urgency(&self, now: &Torrent, texts: u64, stalls: bool, fell: bool) -> Urgency {
        let prior = next_prior(Some(&self.prior), now);
        let next = Stored::new(now, prior, texts, stalls);
        if next == *self && !fell {
            return Urgency::Same;
        }
        let crossed = (self.prior.progress < 1.0) != (prior.progress < 1.0);
        // What is left once the fields that may wait are made equal has to go at once.
        let waiting = Prior {
            completed_at: prior.completed_at,
            ..self.prior
        };
        let slow = Stored {
            prior: waiting,
            counters: self.counters,
            ..next
        };
        if fell || crossed || slow != *self {
            Urgency::Due
        } else {
            Urgency::MayWait
        }
    }
}

fn next_prior(prior: Option<&Prior>, now: &Torrent) -> Prior {
    Prior {
        progress: edges::progress_to_store(prior, now),
        ratio: now.ratio,
        completed_at: edges::completion_to_store(prior, now),
    }
}

impl Tracked {
    /// Instant at which a torrent became complete that is complete `at` this one, if that was seen.
    fn seen_completion(&self, at: Timestamp) -> Option<Timestamp> {
        let shown = self.entry.as_ref().and_then(|entry| entry.torrent.completed_at);
        let was_partial = self.stored.is_some_and(|stored| stored.prior.progress < 1.0);
        shown.or_else(|| was_partial.then_some(at))
    }

    /// A torrent as it was stored, or that has no row yet, and of which nothing else is known.
    fn new(stored: Option<Stored>, seen: Counters) -> Self {
        Self {
            stored,
            entry: None,
            seen,
            unwritten: Growth::default(),
            failed: false,
            is_new_here: false,
            renewed: false,
            fetched: false,
            added: false,
            stalled_since: None,
            stall_told: Vec::new(),
        }
    }

    /// The row as it stands; `None` for a torrent of an earlier run that was not seen in this one.
    fn row(&self, ctx: &Ctx) -> Option<RowWrite> {
        let entry = self.entry.clone()?;
        let torrent = &entry.torrent;
        let of_new = || self.is_new_here.then(|| Prior::of_new(torrent));
        let prior = self.stored.map(|stored| stored.prior).or_else(of_new);
        Some(RowWrite {
            id: ctx.id(),
            prior: next_prior(prior.as_ref(), torrent),
            growth: self.unwritten,
            completed: prior.is_some_and(|prior| edges::has_completed(&prior, torrent, self.fetched)),
            failed: self.failed,
            added: self.added,
            stalled_since: self.stalled_since,
            renewed: self.renewed,
            ratio_was: prior
                .map(|prior| prior.ratio)
                .filter(|ratio| ratio.total_cmp(&torrent.ratio).is_ne()),
            entry,
        })
    }
}

#[cfg(test)]
mod tests;
