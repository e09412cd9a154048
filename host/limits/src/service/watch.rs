//! State of the passes over one engine: its last list that was judged, counts, the queue, and what was done.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use qm_kernel::Timestamp;
use qm_ports::engine::Torrent;
use qm_torrent_lists::{Snapshot, TorrentEntry};

use super::book::Layers;
use crate::model::count::{Count, WatchClock};
use crate::model::due::DueQueue;
use crate::model::ledger::{Entry, State, is_another};
use crate::model::share::{Effective, Facts, Reached, Verdict, is_sharing, judge};

/// Entry of the ledger, and the version of the limits that it was tried with.
#[derive(Clone, Debug)]
pub struct Held {
    pub entry: Entry,
    pub version: u64,
}

#[derive(Default)]
pub struct Watch {
    /// Stored state was read.
    pub is_loaded: bool,
    /// The ledger is to be read again.
    pub is_outdated: bool,
    /// Limits went with torrents: those of all are to be read again.
    pub is_reread: bool,
    seen: Option<Arc<Snapshot>>,
    version: u64,
    pub clock: WatchClock,
    pub counts: HashMap<Arc<str>, Count>,
    /// Counts to write.
    pub dirty: HashSet<Arc<str>>,
    /// Counts to delete.
    pub dropped: HashSet<Arc<str>>,
    pub due: DueQueue,
    pub ledger: HashMap<String, Held>,
    /// Entries of the ledger to delete, because the limits are others now.
    pub voided: Vec<String>,
    /// Instants at which torrents were seen to begin to seed.
    since: HashMap<Arc<str>, Timestamp>,
    pub flushed_at: Option<Timestamp>,
}

/// Torrent that has reached a limit.
#[derive(Clone, Debug)]
pub struct Due {
    pub entry: Arc<TorrentEntry>,
    pub effective: Effective,
    pub reached: Reached,
    /// Fingerprint of the limits.
    pub limits: String,
}

impl Watch {
    /// Torrents to judge: those that changed since the last list, all of them after a change of limits, and those whose time
    /// has come.
    pub fn take_candidates(
        &mut self,
        list: &Arc<Snapshot>,
        version: u64,
        now: Timestamp,
    ) -> Vec<Arc<TorrentEntry>> {
        let before = self.seen.replace(list.clone());
        let is_new_book = std::mem::replace(&mut self.version, version) != version;
        let changed = match &before {
            Some(before) => self.compare(before, list, now),
            None => list.entries().to_vec(),
        };
        let due = self.due.take_due(now);
        if is_new_book {
            return list.entries().to_vec();
        }
        let mut candidates = changed;
        candidates.extend(due.iter().filter_map(|hash| list.get(hash).cloned()));
        candidates
    }

    /// Has the next pass judge all torrents.
    pub fn judge_all_again(&mut self) {
        self.seen = None;
    }

    /// Entries that differ between two lists. Torrents that did not change are the same value in memory, mostly at the same place.
    fn compare(&mut self, before: &Snapshot, list: &Snapshot, now: Timestamp) -> Vec<Arc<TorrentEntry>> {
        if std::ptr::eq(before, list) {
            return Vec::new();
        }
        let (old, new) = (before.entries(), list.entries());
        let mut changed = Vec::new();
        let mut moved = new.len() < old.len();
        for (place, entry) in new.iter().enumerate() {
            let same_place = old.get(place);
            if same_place.is_some_and(|same| Arc::ptr_eq(same, entry)) {
                continue;
            }
            let hash = &entry.torrent.hash;
            moved |= same_place.is_some_and(|same| same.torrent.hash != *hash);
            let was = before.get(hash);
            if was.is_some_and(|was| Arc::ptr_eq(was, entry)) {
                continue;
            }
            if !is_sharing(&entry.torrent) {
                self.since.remove(hash);
            } else if was.is_some_and(|was| !is_sharing(&was.torrent)) {
                self.since.insert(hash.clone(), now);
            }
            changed.push(entry.clone());
        }
        if moved {
            for gone in old.iter().filter(|entry| list.get(&entry.torrent.hash).is_none()) {
                self.let_go(&gone.torrent);
            }
        }
        changed
    }

    /// A torrent that is no longer listed seeds no more, as far as anybody knows.
    fn let_go(&mut self, torrent: &Torrent) {
        let hash = &torrent.hash;
        self.due.forget(hash);
        self.since.remove(hash);
        if let Some(count) = self.counts.get_mut(hash)
            && count.observe(&self.clock, false, count.uploaded)
        {
            self.dirty.insert(hash.clone());
        }
    }

    /// Judges a torrent, and has it looked at again when that is needed.
    pub fn judge_entry(
        &mut self,
        engine_id: &str,
        entry: &Arc<TorrentEntry>,
        layers: &Layers,
        now: Timestamp,
    ) -> Option<Due> {
        let torrent = &entry.torrent;
        let hash = &torrent.hash;
        let effective = layers.merge_for(engine_id, torrent.label.as_deref(), hash);
        let shares = is_sharing(torrent);
        self.count(torrent, &effective, shares);
        let is_void = |held: &Held| held.entry.limits != effective.fingerprint();
        if self.ledger.get(&**hash).is_some_and(is_void) {
            self.ledger.remove(&**hash);
            self.voided.push(hash.to_string());
        }
        if effective.is_endless() || !shares {
            self.due.forget(hash);
            return None;
        }
        let reached = match judge(&effective, &self.facts_of(torrent, now)) {
            Verdict::Open => {
                self.due.forget(hash);
                return None;
            }
            Verdict::In(seconds) => {
                self.due.schedule(hash, now.plus(Duration::from_secs(seconds)));
                return None;
            }
            Verdict::Reached(reached) => reached,
        };
        let limits = effective.fingerprint();
        if let Some(held) = self.held(hash, &limits, torrent.added_at) {
            let rests = held.version == layers.version && held.entry.state == State::Failed;
            match held.entry.next_at.filter(|next| rests && *next > now) {
                _ if held.entry.state == State::Done => return None,
                Some(next) => {
                    self.due.schedule(hash, next);
                    return None;
                }
                None => {}
            }
        }
        Some(Due {
            entry: entry.clone(),
            effective,
            reached,
            limits,
        })
    }

    /// The entry of the ledger, if it is about these limits and this torrent.
    pub fn held(&self, hash: &str, limits: &str, added_at: Option<Timestamp>) -> Option<&Held> {
        let held = self.ledger.get(hash);
        held.filter(|held| held.entry.is_about(limits, added_at))
    }

    /// Keeps the count of a torrent whose client does not count what its limits need.
    fn count(&mut self, torrent: &Torrent, effective: &Effective, shares: bool) {
        let hash = &torrent.hash;
        let needed = (effective.seeding_limit().is_some() && torrent.seeded.is_none())
            || (effective.inactive_limit().is_some() && torrent.last_activity.is_none());
        if !needed {
            if self.counts.remove(hash).is_some() {
                self.dirty.remove(hash);
                self.dropped.insert(hash.clone());
            }
            return;
        }
        let known = self.counts.get(hash).copied();
        let known = known.filter(|count| !is_another(count.added_at, torrent.added_at));
        let mut count = known.unwrap_or(Count {
            uploaded: torrent.uploaded,
            added_at: torrent.added_at,
            ..Count::default()
        });
        if count.observe(&self.clock, shares, torrent.uploaded) || known.is_none() {
            self.dirty.insert(hash.clone());
            self.dropped.remove(hash);
        }
        self.counts.insert(hash.clone(), count);
    }

    /// Facts of a torrent: the client's own where it tells them, else what was counted here.
    pub fn facts_of(&self, torrent: &Torrent, now: Timestamp) -> Facts {
        let count = self.counts.get(&torrent.hash);
        let seeded = torrent.seeded.map(|seeded| seeded.seconds_by(now, torrent.state));
        let idle = torrent.last_activity.map(|active| {
            // Somebody who starts a torrent that rested for a month does not want it stopped at once.
            let since = self.since.get(&torrent.hash).copied();
            now.since(since.map_or(active, |since| since.max(active)))
                .as_secs()
        });
        Facts {
            ratio: torrent.ratio,
            seeded: seeded.or_else(|| count.map(|count| count.seeded_by(&self.clock) / 1000)),
            idle: idle.or_else(|| count.map(|count| count.idle_by(&self.clock) / 1000)),
        }
    }
}

#[cfg(test)]
mod tests {
    use qm_ports::engine::{Delta, TorrentState};
    use qm_test_base::engine::numbered;
    use qm_torrent_lists::{Admission, Limits};

    use super::*;

    const ROOM: Admission<'static> = Admission {
        limits: Limits {
            torrents: usize::MAX,
            bytes: usize::MAX,
        },
        is_known: &|_| false,
    };

    fn seeding(number: u64) -> Torrent {
        Torrent {
            state: TorrentState::Seeding,
            progress: 1.0,
            ..numbered(number)
        }
    }

    fn apply(list: &Arc<Snapshot>, changed: Vec<Torrent>, removed: Vec<String>) -> Arc<Snapshot> {
        let delta = Delta {
            changed,
            removed,
            ..Delta::default()
        };
        let (next, _) = list.apply(delta, Timestamp::from_ms(0), &ROOM);
        next.map_or_else(|| list.clone(), Arc::new)
    }

    fn hashes(entries: &[Arc<TorrentEntry>]) -> Vec<String> {
        entries
            .iter()
            .map(|entry| entry.torrent.hash.to_string())
            .collect()
    }

    #[test]
    fn only_what_changed_is_judged_again() {
        let now = Timestamp::from_secs(100);
        let empty = Arc::new(Snapshot::empty(&"e".into(), 0, now));
        let first = apply(&empty, (0..50).map(seeding).collect(), Vec::new());
        let mut watch = Watch::default();
        assert_eq!(watch.take_candidates(&first, 1, now).len(), 50);
        assert!(watch.take_candidates(&first, 1, now).is_empty());
        assert_eq!(
            watch.take_candidates(&first, 2, now).len(),
            50,
            "the limits changed"
        );
        let moved = Torrent {
            uploaded: 7,
            ..seeding(30)
        };
        let second = apply(&first, vec![moved], Vec::new());
        assert_eq!(
            hashes(&watch.take_candidates(&second, 2, now)),
            [seeding(30).hash.to_string()]
        );
        // Others move up to the place of one that is gone, and are not judged for that.
        let gone = seeding(3).hash.to_string();
        let third = apply(&second, vec![seeding(77)], vec![gone]);
        assert_eq!(
            hashes(&watch.take_candidates(&third, 2, now)),
            [seeding(77).hash.to_string()]
        );
        watch.due.schedule(&seeding(5).hash, now);
        assert_eq!(
            hashes(&watch.take_candidates(&third, 2, now)),
            [seeding(5).hash.to_string()]
        );
    }

    #[test]
    fn a_torrent_that_starts_again_has_rested_only_since_then() {
        let at = Timestamp::from_secs;
        let torrent = |state| Torrent {
            state,
            last_activity: Some(at(1000)),
            ..seeding(1)
        };
        let empty = Arc::new(Snapshot::empty(&"e".into(), 0, at(0)));
        let first = apply(&empty, vec![torrent(TorrentState::Seeding)], Vec::new());
        let mut watch = Watch::default();
        let _ = watch.take_candidates(&first, 1, at(5000));
        assert_eq!(
            watch.facts_of(&torrent(TorrentState::Seeding), at(5000)).idle,
            Some(4000)
        );
        let second = apply(&first, vec![torrent(TorrentState::Stopped)], Vec::new());
        let _ = watch.take_candidates(&second, 1, at(6000));
        let third = apply(&second, vec![torrent(TorrentState::Seeding)], Vec::new());
        let _ = watch.take_candidates(&third, 1, at(9000));
        assert_eq!(
            watch.facts_of(&torrent(TorrentState::Seeding), at(9010)).idle,
            Some(10)
        );
    }
}
