//! Facts about torrents that we know and their clients may not: when a torrent was added through us (a client has no
//! instant for one that was handed over paused), its tags if the client has none, whether it is private, and whether it is parked.
//!
//! Bounds: one entry a torrent that was added through us or tagged here, for as long as its engine lists it; one mark a parked
//! torrent.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard};

use qm_kernel::Timestamp;
use qm_lanes::IgnorePoison;
use qm_ports::engine::Torrent;
use qm_ports::parking::Parked;

/// Marks of an engine's parked torrents, by hash.
pub type ParkMarks = HashMap<String, Arc<Parked>>;

/// Time that a torrent may be missing from the list before our record of it is dropped, in milliseconds. A torrent that
/// was just handed over is not listed yet, and a magnet link turns into its torrent under one hash.
const MISSING_LIMIT_MS: i64 = 60_000;

/// Our record of one torrent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intake {
    /// When this was noted: tells it from what is noted later of the same torrent.
    pub noted_at: Timestamp,
    /// None: it came to its client by another way.
    pub added_at: Option<Timestamp>,
    /// Empty where the client keeps them itself.
    pub tags: Vec<String>,
    /// As its metadata says, which its info-hash vouches for; none: nobody here has read it.
    pub is_private: Option<bool>,
    /// Its category chooses where its data lies; none where the client keeps that itself, or nobody said.
    pub auto_managed: Option<bool>,
}

/// Facts of our record that the list shows in the place of the client's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// None: they did not change here.
    pub tags: Option<Vec<String>>,
    pub auto_managed: Option<bool>,
    pub parked: Option<Arc<Parked>>,
}

impl Kept {
    /// Puts them into a torrent as its client tells it.
    pub fn show(self, torrent: &mut Torrent) {
        if let Some(tags) = self.tags {
            torrent.tags = tags;
        }
        torrent.auto_managed = self.auto_managed.or(torrent.auto_managed);
        mark(torrent, self.parked.as_ref());
    }
}

/// Marks a torrent as parked, or as not. One that was added after that is another one with the same hash.
fn mark(torrent: &mut Torrent, parked: Option<&Arc<Parked>>) {
    let is_older = |parked: &&Arc<Parked>| torrent.added_at.is_none_or(|at| at <= parked.parked_at);
    torrent.parked = parked.filter(is_older).cloned();
}

struct Entry {
    intake: Intake,
    missing_since: Option<Timestamp>,
}

/// Our records of the torrents of one engine, by hash.
#[derive(Default)]
pub struct Intakes(Mutex<Known>);

#[derive(Default)]
struct Known {
    entries: HashMap<String, Entry>,
    /// Torrents that were handed over here and not seen in the list since.
    awaited: HashSet<String>,
    /// Torrents of which something that is kept here was changed since the last read of their engine; true: their tags too.
    changed: HashMap<String, bool>,
    parked: Arc<ParkMarks>,
}

impl Intakes {
    pub fn new(stored: Vec<(String, Intake)>) -> Self {
        let intakes = Self::default();
        for (hash, intake) in stored {
            intakes.put(hash, intake);
        }
        intakes
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().ignore_poison()
    }

    pub fn get(&self, hash: &str) -> Option<Intake> {
        self.known().entries.get(hash).map(|entry| entry.intake.clone())
    }

    pub fn put(&self, hash: String, mut intake: Intake) {
        let mut known = self.known();
        // It has a change of its own, which may come between the reading of a record and its storing.
        let before = known.entries.get(&hash);
        if let Some(before) = before.map(|entry| entry.intake.auto_managed) {
            intake.auto_managed = before;
        }
        let entry = Entry {
            intake,
            missing_since: None,
        };
        known.entries.insert(hash, entry);
    }

    /// Stores the record of a torrent that is handed to the client now.
    pub fn put_new(&self, hash: String, intake: Intake) {
        let mut known = self.known();
        known.awaited.insert(hash.clone());
        let entry = Entry {
            intake,
            missing_since: None,
        };
        known.entries.insert(hash, entry);
    }

    /// Marks as handed over the torrents that were added through us and never stored as listed: an earlier run ended in
    /// between.
    pub fn await_unlisted(&self, was_listed: impl Fn(&str) -> bool) {
        let mut known = self.known();
        let Known { entries, awaited, .. } = &mut *known;
        let unlisted = entries
            .iter()
            .filter(|(hash, entry)| entry.intake.added_at.is_some() && !was_listed(hash))
            .map(|(hash, _)| hash.clone());
        awaited.extend(unlisted);
    }

    /// True for a torrent that was handed over here and is in the list for the first time since; asked once.
    pub fn take_awaited(&self, hash: &str) -> bool {
        self.known().awaited.remove(hash)
    }

    /// Stores the record of a torrent whose tags have changed. The next read shows them, whatever the client tells of
    /// the torrent.
    pub fn retag(&self, hash: &str, intake: Intake) {
        self.put(hash.to_owned(), intake);
        self.known().changed.insert(hash.to_owned(), true);
    }

    /// Notes that the category of a torrent chooses where its data lies, or no longer. The next read shows it.
    pub fn mark_auto_managed(&self, hash: &str, on: bool, now: Timestamp) {
        let mut known = self.known();
        let entry = known.entries.entry(hash.to_owned()).or_insert_with(|| Entry {
            intake: Intake {
                noted_at: now,
                added_at: None,
                tags: Vec::new(),
                is_private: None,
                auto_managed: None,
            },
            missing_since: None,
        });
        entry.intake.auto_managed = Some(on);
        known.changed.entry(hash.to_owned()).or_insert(false);
    }

    /// Replaces the marks of parked torrents. The next read shows them. True: they are others than before.
    pub fn set_parked(&self, marks: &Arc<ParkMarks>) -> bool {
        let mut known = self.known();
        if Arc::ptr_eq(&known.parked, marks) {
            return false;
        }
        let before = std::mem::replace(&mut known.parked, marks.clone());
        let hashes = before.keys().chain(marks.keys());
        let changed: Vec<&String> = hashes
            .filter(|hash| before.get(*hash) != marks.get(*hash))
            .collect();
        for hash in &changed {
            known.changed.entry((*hash).clone()).or_insert(false);
        }
        !changed.is_empty()
    }

    /// The torrents of which something was changed here since this was last asked.
    pub fn take_changed(&self) -> HashMap<String, Kept> {
        let mut known = self.known();
        let changed = std::mem::take(&mut known.changed);
        let kept = changed.into_iter().map(|(hash, is_retagged)| {
            let intake = known.entries.get(&hash).map(|entry| &entry.intake);
            let kept = Kept {
                tags: intake.filter(|_| is_retagged).map(|intake| intake.tags.clone()),
                auto_managed: intake.and_then(|intake| intake.auto_managed),
                parked: known.parked.get(&hash).cloned(),
            };
            (hash, kept)
        });
        kept.collect()
    }

    /// Fills in what the client does not tell. The instant of adding is always ours, whenever the client began with the
    /// torrent.
    pub fn fill(&self, told: &mut [Torrent]) {
        let known = self.known();
        if known.entries.is_empty() && known.parked.is_empty() {
            return;
        }
        for torrent in told {
            if let Some(Entry { intake, .. }) = known.entries.get(&*torrent.hash) {
                torrent.added_at = intake.added_at.or(torrent.added_at);
                torrent.is_private = intake.is_private.or(torrent.is_private);
                torrent.auto_managed = intake.auto_managed.or(torrent.auto_managed);
                if !intake.tags.is_empty() {
                    torrent.tags.clone_from(&intake.tags);
                }
            }
            mark(torrent, known.parked.get(&*torrent.hash));
        }
    }

    /// The torrents that have been missing from the list for too long, each with the instant that tells its record from
    /// that of a later add of the same torrent.
    pub fn gone(&self, is_listed: impl Fn(&str) -> bool, at: Timestamp) -> Vec<(String, Timestamp)> {
        let mut gone = Vec::new();
        for (hash, entry) in &mut self.known().entries {
            if is_listed(hash) {
                entry.missing_since = None;
                continue;
            }
            let since = *entry.missing_since.get_or_insert(at);
            if at.ms() - since.ms() >= MISSING_LIMIT_MS {
                gone.push((hash.clone(), entry.intake.noted_at));
            }
        }
        gone
    }

    /// Forgets what [`Intakes::gone`] returned.
    pub fn forget(&self, gone: &[(String, Timestamp)]) {
        let gone: HashSet<(&str, Timestamp)> = gone.iter().map(|(hash, at)| (hash.as_str(), *at)).collect();
        let mut known = self.known();
        let Known { entries, awaited, .. } = &mut *known;
        entries.retain(|hash, entry| !gone.contains(&(hash.as_str(), entry.intake.noted_at)));
        awaited.retain(|hash| entries.contains_key(hash));
    }
}

#[cfg(test)]
mod tests {
    use qm_ports::parking::ParkReason;
    use qm_test_base::blank::{hash, torrent};

    use super::*;

    fn instant(ms: i64) -> Timestamp {
        Timestamp::from_ms(ms)
    }

    fn intake(ms: i64, tags: &[&str]) -> Intake {
        Intake {
            noted_at: instant(ms),
            added_at: Some(instant(ms)),
            tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
            is_private: None,
            auto_managed: None,
        }
    }

    #[test]
    fn what_was_handed_over_is_awaited_once() {
        let intakes = Intakes::new(vec![
            (hash(1).to_string(), intake(5, &[])),
            (hash(2).to_string(), intake(6, &[])),
            (
                hash(3).to_string(),
                Intake {
                    added_at: None,
                    ..intake(7, &["a"])
                },
            ),
        ]);
        assert!(!intakes.take_awaited(&hash(1)), "it may have been listed before");
        intakes.await_unlisted(|listed| listed == &*hash(1));
        assert!(!intakes.take_awaited(&hash(1)) && !intakes.take_awaited(&hash(3)));
        assert!(
            intakes.take_awaited(&hash(2)) && !intakes.take_awaited(&hash(2)),
            "once"
        );
        intakes.put_new(hash(4).to_string(), intake(8, &[]));
        assert!(intakes.take_awaited(&hash(4)));
        // One that never comes is not awaited for ever.
        intakes.put_new(hash(5).to_string(), intake(9, &[]));
        intakes.forget(&[(hash(5).to_string(), instant(9))]);
        assert!(!intakes.take_awaited(&hash(5)));
    }

    #[test]
    fn what_the_client_does_not_tell_is_filled_in() {
        let only_tagged = Intake {
            added_at: None,
            ..intake(7, &["b"])
        };
        let intakes = Intakes::new(vec![
            (hash(1).to_string(), intake(5, &["a"])),
            (hash(2).to_string(), intake(6, &[])),
            (hash(4).to_string(), only_tagged),
        ]);
        let told = |n| Torrent {
            tags: vec!["its own".into()],
            added_at: Some(instant(9)),
            ..torrent(n)
        };
        let mut list = [told(1), told(2), told(3), told(4)];
        intakes.fill(&mut list);
        let known: Vec<_> = list.iter().map(|t| (t.added_at, t.tags[0].as_str())).collect();
        assert_eq!(
            known,
            [
                (Some(instant(5)), "a"),
                (Some(instant(6)), "its own"),
                (Some(instant(9)), "its own"),
                (Some(instant(9)), "b"),
            ]
        );
    }

    #[test]
    fn what_its_metadata_says_goes_before_what_its_client_tells() {
        let private = |is_private| Intake {
            is_private,
            ..intake(5, &[])
        };
        let intakes = Intakes::new(vec![
            (hash(1).to_string(), private(Some(true))),
            (hash(2).to_string(), private(None)),
        ]);
        let told = |n, is_private| Torrent {
            is_private,
            ..torrent(n)
        };
        let mut list = [told(1, None), told(2, None), told(2, Some(true)), told(3, None)];
        intakes.fill(&mut list);
        let known: Vec<_> = list.iter().map(|torrent| torrent.is_private).collect();
        assert_eq!(known, [Some(true), None, Some(true), None]);
    }

    #[test]
    fn what_was_retagged_is_told_once() {
        let intakes = Intakes::new(vec![(hash(1).to_string(), intake(1, &["a"]))]);
        assert_eq!(intakes.take_changed(), HashMap::new());
        intakes.retag(&hash(1), intake(2, &["b"]));
        assert_eq!(intakes.get(&hash(1)), Some(intake(2, &["b"])));
        let kept = |tags: &[&str], auto_managed| Kept {
            tags: Some(tags.iter().map(|tag| (*tag).to_owned()).collect()),
            auto_managed,
            parked: None,
        };
        assert_eq!(
            intakes.take_changed(),
            HashMap::from([(hash(1).to_string(), kept(&["b"], None))])
        );
        assert_eq!(intakes.take_changed(), HashMap::new());
    }

    #[test]
    fn what_a_category_chooses_outlives_other_changes() {
        let intakes = Intakes::default();
        intakes.mark_auto_managed(&hash(1), true, instant(3));
        intakes.retag(&hash(1), intake(5, &["a"]));
        let shown = |n| {
            let mut list = [torrent(n)];
            intakes.fill(&mut list);
            list[0].auto_managed
        };
        assert_eq!((shown(1), shown(2)), (Some(true), None));
        let changed = || intakes.take_changed().remove(&*hash(1)).expect("changed");
        let both = changed();
        assert_eq!(
            (both.tags.map(|tags| tags.len()), both.auto_managed),
            (Some(1), Some(true))
        );
        intakes.mark_auto_managed(&hash(1), true, instant(7));
        assert_eq!(changed().tags, None, "which its client may keep itself");
        intakes.mark_auto_managed(&hash(1), false, instant(7));
        assert_eq!(shown(1), Some(false));
        assert_eq!(
            intakes.get(&hash(1)).map(|intake| intake.noted_at),
            Some(instant(5))
        );
        // Added once more it is another one.
        intakes.put_new(hash(1).to_string(), intake(9, &[]));
        assert_eq!(shown(1), None);
    }

    #[test]
    fn a_parked_torrent_is_marked_until_it_is_another_one_or_parked_no_longer() {
        let marks = |parked: &[u8], probe_count| {
            let mark = Parked {
                reason: ParkReason::NoSeeders,
                parked_at: instant(10),
                last_seeders: 0,
                probe_count,
                probing: false,
            };
            let marks = parked
                .iter()
                .map(|number| (hash(*number).to_string(), Arc::new(mark.clone())));
            Arc::new(marks.collect::<ParkMarks>())
        };
        let intakes = Intakes::default();
        let shown = |number, added_at| {
            let mut list = [Torrent {
                added_at,
                ..torrent(number)
            }];
            intakes.fill(&mut list);
            list[0].parked.as_ref().map(|parked| parked.probe_count)
        };
        let both = marks(&[1, 2], 0);
        assert!(
            intakes.set_parked(&both) && !intakes.set_parked(&both),
            "told once"
        );
        assert_eq!(intakes.take_changed().len(), 2);
        assert_eq!((shown(1, Some(instant(10))), shown(2, None)), (Some(0), Some(0)));
        assert_eq!((shown(1, Some(instant(11))), shown(3, None)), (None, None));
        assert!(intakes.set_parked(&marks(&[1], 1)));
        let changed = intakes.take_changed();
        let told = |number: u8| {
            let mut torrent = Torrent {
                parked: both.get(&*hash(number)).cloned(),
                ..torrent(number)
            };
            changed[&*hash(number)].clone().show(&mut torrent);
            torrent.parked.map(|parked| parked.probe_count)
        };
        assert_eq!((changed.len(), told(1), told(2)), (2, Some(1), None));
        assert!(!intakes.set_parked(&marks(&[1], 1)), "the same in another place");
        assert!(intakes.take_changed().is_empty());
    }

    #[test]
    fn what_is_missing_for_a_minute_is_forgotten_but_not_what_came_again() {
        let intakes = Intakes::new(vec![
            (hash(1).to_string(), intake(1, &[])),
            (hash(2).to_string(), intake(1, &[])),
        ]);
        let listed = |listed: u8| move |asked: &str| asked == &*hash(listed);
        assert_eq!(intakes.gone(listed(1), instant(0)), []);
        assert_eq!(
            intakes.gone(listed(2), instant(59_999)),
            [],
            "the other one, since now"
        );
        assert_eq!(intakes.gone(listed(2), instant(60_000)), []);
        let gone = intakes.gone(listed(2), instant(119_999));
        assert_eq!(gone, [(hash(1).to_string(), instant(1))]);
        intakes.put(hash(1).to_string(), intake(7, &[]));
        intakes.forget(&gone);
        assert!(intakes.get(&hash(1)).is_some(), "added again meanwhile");
        intakes.forget(&[(hash(1).to_string(), instant(7))]);
        assert!(intakes.get(&hash(1)).is_none() && intakes.get(&hash(2)).is_some());
    }
}
