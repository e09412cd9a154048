//! The last known list of one engine: immutable, swapped whole, its torrents shared between versions.
//!
//! Owns: the torrents as the client told them, and each torrent's JSON, rendered once when the torrent changed and from
//! then on shared by the REST list, the single answer and every realtime message.
//! Never: a database row, a lock held while a client is asked.
//! Bounds: the [`Limits`] of an engine, counted as deltas are applied; what a delta does not touch is neither copied nor
//! rendered again.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use bytes::Bytes;
use qm_kernel::Timestamp;
use qm_metainfo::info_hash::is_info_hash;
use qm_platform::masked;
use qm_ports::engine::{Delta, Torrent};
use qm_ports::list::{Listed, TorrentList};

use crate::entry::{self, TorrentEntry, Version};
use crate::limits::{Excess, Limits, Room};
use crate::pages::Pages;

/// Changes that one delta made to a snapshot.
#[derive(Debug, Default)]
pub struct Changes {
    /// The torrent before (none: it is new) and now. Torrents that were reported but are the same are left out.
    pub changed: Vec<(Option<Arc<TorrentEntry>>, Arc<TorrentEntry>)>,
    pub removed: Vec<Arc<TorrentEntry>>,
    /// The delta was the whole list: what it does not have is gone.
    pub whole: bool,
    /// Why not everything was taken, if anything was left out.
    pub excess: Option<Excess>,
    /// New torrents of the whole list that were left out.
    pub left_out: HashSet<Arc<str>>,
}

/// The bytes an entry is counted with.
fn weight(entry: &TorrentEntry) -> usize {
    entry.json().len() + texts(&entry.torrent)
}

/// The rule by which torrents of a delta are taken.
pub struct Admission<'a> {
    pub limits: Limits,
    /// True for a torrent that was taken before; in a first list those are taken first.
    pub is_known: &'a dyn Fn(&str) -> bool,
}

impl Changes {
    pub fn is_empty(&self) -> bool {
        self.changed.is_empty() && self.removed.is_empty()
    }
}

/// The torrents of one engine at one moment.
#[derive(Debug)]
pub struct Snapshot {
    pub engine_id: Arc<str>,
    /// Grows by one with every version that differs from the one before.
    pub seq: u64,
    /// When the version came about; the engine may have confirmed it many times since.
    pub changed_at: Timestamp,
    entries: Arc<Vec<Arc<TorrentEntry>>>,
    /// Hash to position in `entries`; shared by versions that list the same torrents.
    index: Arc<HashMap<Arc<str>, usize>>,
    /// The weight of `entries`.
    bytes: usize,
    /// Sorted orders and rendered pages of this version.
    pub pages: Pages,
}

impl Snapshot {
    /// A snapshot of nothing, before the first delta. `seq` is the last one used for this engine, so that a client that
    /// followed an earlier configuration of it sees a gap.
    pub fn empty(engine_id: &Arc<str>, seq: u64, at: Timestamp) -> Self {
        Self::build(engine_id.clone(), (seq, at), Vec::new(), Arc::default(), 0)
    }

    fn build(
        engine_id: Arc<str>,
        (seq, changed_at): (u64, Timestamp),
        entries: Vec<Arc<TorrentEntry>>,
        index: Arc<HashMap<Arc<str>, usize>>,
        bytes: usize,
    ) -> Self {
        let entries = Arc::new(entries);
        Self {
            engine_id,
            seq,
            changed_at,
            pages: Pages::new(entries.clone()),
            entries,
            index,
            bytes,
        }
    }

    /// The version as messages name it.
    pub fn version(&self) -> Version<'_> {
        Version {
            engine_id: &self.engine_id,
            seq: self.seq,
            at: self.changed_at,
        }
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Bytes of the torrents' texts and their JSON.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    pub fn entries(&self) -> &[Arc<TorrentEntry>] {
        &self.entries
    }

    pub fn torrents(&self) -> impl Iterator<Item = &Torrent> {
        self.entries.iter().map(|entry| &entry.torrent)
    }

    pub fn get(&self, hash: &str) -> Option<&Arc<TorrentEntry>> {
        self.index
            .get(hash)
            .and_then(|position| self.entries.get(*position))
    }

    /// Applies a delta. `None` when nothing differs: this version stays. What a client may get wrong is mended: a hash that
    /// is none is dropped, of two entries with one hash the later counts, numbers that are none become 0. What there is no
    /// room for is not taken; a torrent that grew too large stays as it was.
    pub fn apply(
        &self,
        delta: Delta,
        at: Timestamp,
        admission: &Admission<'_>,
    ) -> (Option<Snapshot>, Changes) {
        let mut changes = Changes {
            whole: delta.full && !delta.cut,
            excess: delta.cut.then_some(Excess::List),
            ..Changes::default()
        };
        let mut told: Vec<Torrent> = delta.changed.into_iter().filter_map(tidy).collect();
        if delta.full {
            if changes.whole {
                changes.removed = self.missing_from(&told);
            }
        } else if !delta.removed.is_empty() {
            changes.removed = self.named(&delta.removed, &told);
        }
        if self.entries.is_empty() {
            prefer_known(&mut told, admission);
        }
        self.take(told, admission.limits, &mut changes);
        if changes.is_empty() {
            (None, changes)
        } else {
            (Some(self.succeed(&changes, at)), changes)
        }
    }

    /// The torrents that the whole list `told` does not have.
    fn missing_from(&self, told: &[Torrent]) -> Vec<Arc<TorrentEntry>> {
        let listed: HashSet<&str> = told.iter().map(|torrent| &*torrent.hash).collect();
        let entries = self.entries.iter();
        entries
            .filter(|entry| !listed.contains(&*entry.torrent.hash))
            .cloned()
            .collect()
    }

    /// The torrents of `removed`, but for those that are told of in the same breath.
    fn named(&self, removed: &[String], told: &[Torrent]) -> Vec<Arc<TorrentEntry>> {
        let listed: HashSet<&str> = told.iter().map(|torrent| &*torrent.hash).collect();
        let removed: HashSet<String> = removed.iter().map(|hash| hash.to_ascii_lowercase()).collect();
        let gone = removed.iter().filter(|hash| !listed.contains(hash.as_str()));
        gone.filter_map(|hash| self.get(hash).cloned()).collect()
    }

    /// Adds to `changes` what differs and has room.
    fn take(&self, told: Vec<Torrent>, limits: Limits, changes: &mut Changes) {
        let freed: usize = changes.removed.iter().map(|entry| weight(entry)).sum();
        let mut room = limits.room_beside(self.len() - changes.removed.len(), self.bytes - freed);
        // Position in `changes.changed` of a hash told of before in this delta.
        let mut reported: HashMap<Arc<str>, usize> = HashMap::new();
        for mut torrent in told {
            let before = self.get(&torrent.hash);
            if let Some(before) = before {
                torrent.keep_drift(&before.torrent);
            }
            let again = reported.get(&torrent.hash).copied();
            if again.is_none() && before.is_some_and(|before| before.torrent == torrent) {
                continue;
            }
            let hash = torrent.hash.clone();
            let taken = match again {
                Some(position) => Some(weight(&changes.changed[position].1)),
                None => before.map(|before| weight(before)),
            };
            match (self.fit(torrent, taken, &mut room), again) {
                (Ok(entry), Some(position)) => changes.changed[position].1 = entry,
                (Ok(entry), None) => {
                    reported.insert(hash, changes.changed.len());
                    changes.changed.push((before.cloned(), entry));
                }
                (Err(excess), _) => {
                    changes.excess.get_or_insert(excess);
                    if changes.whole && taken.is_none() {
                        changes.left_out.insert(hash);
                    }
                }
            }
        }
    }

    /// The entry of a torrent that has taken so many bytes (none: it is new), if there is room for it.
    fn fit(
        &self,
        torrent: Torrent,
        taken: Option<usize>,
        room: &mut Room,
    ) -> Result<Arc<TorrentEntry>, Excess> {
        // Nothing is rendered that there is surely no room for.
        if taken.is_none()
            && let Some(excess) = room.refuses(least_weight(&torrent))
        {
            return Err(excess);
        }
        let entry = Arc::new(TorrentEntry::new(&self.engine_id, torrent));
        match taken {
            None => room.enter(weight(&entry))?,
            Some(before) => room.change(before, weight(&entry))?,
        }
        Ok(entry)
    }

    /// The next version with the same torrents.
    pub fn successor(&self, at: Timestamp) -> Snapshot {
        self.succeed(&Changes::default(), at)
    }

    /// The whole list as if it were all new.
    pub fn as_changes(&self) -> Changes {
        Changes {
            changed: self.entries.iter().map(|entry| (None, entry.clone())).collect(),
            ..Changes::default()
        }
    }

    fn succeed(&self, changes: &Changes, at: Timestamp) -> Snapshot {
        let mut entries: Vec<Arc<TorrentEntry>> = self.entries.as_ref().clone();
        let mut same_torrents = changes.removed.is_empty();
        let freed: usize = changes.removed.iter().map(|entry| weight(entry)).sum();
        let mut bytes = self.bytes - freed;
        for (before, now) in &changes.changed {
            bytes -= before.as_ref().map_or(0, |before| weight(before));
            bytes += weight(now);
            match before.as_ref().and_then(|_| self.index.get(&now.torrent.hash)) {
                Some(position) => entries[*position] = now.clone(),
                None => {
                    same_torrents = false;
                    entries.push(now.clone());
                }
            }
        }
        if !changes.removed.is_empty() {
            let gone: HashSet<&str> = changes.removed.iter().map(|entry| &*entry.torrent.hash).collect();
            entries.retain(|entry| !gone.contains(&*entry.torrent.hash));
        }
        let index = if same_torrents {
            self.index.clone()
        } else {
            Arc::new(index_of(&entries))
        };
        Self::build(self.engine_id.clone(), (self.seq + 1, at), entries, index, bytes)
    }

    /// `{engineId, seq, full:true, torrents, at}`: what a realtime client that follows deltas starts from.
    pub fn full_message(&self) -> Bytes {
        entry::state_message(self.version(), &self.entries, &[], true)
    }

    /// `{engineId, torrents, at}`: the whole list for realtime clients that do not follow deltas.
    pub fn list_message(&self) -> Bytes {
        entry::list_message(self.version(), &self.entries)
    }

    /// `{engineId, seq, full:false, torrents, removed, at}`: how this version came from the one before.
    pub fn delta_message(&self, changes: &Changes) -> Bytes {
        let changed: Vec<Arc<TorrentEntry>> = changes.changed.iter().map(|(_, now)| now.clone()).collect();
        entry::state_message(self.version(), &changed, &changes.removed, false)
    }
}

impl AsRef<Pages> for Snapshot {
    fn as_ref(&self) -> &Pages {
        &self.pages
    }
}

impl TorrentList for Snapshot {
    fn engine_id(&self) -> &str {
        &self.engine_id
    }

    fn version(&self) -> u64 {
        self.seq
    }

    fn len(&self) -> usize {
        self.entries.len()
    }

    fn entry_at(&self, position: usize) -> Option<Listed<'_>> {
        self.entries.get(position).map(|entry| entry.listed())
    }

    fn find(&self, hash: &str) -> Option<Listed<'_>> {
        self.get(hash).map(|entry| entry.listed())
    }
}

fn index_of(entries: &[Arc<TorrentEntry>]) -> HashMap<Arc<str>, usize> {
    entries
        .iter()
        .enumerate()
        .map(|(position, entry)| (entry.torrent.hash.clone(), position))
        .collect()
}

/// Bytes of a torrent's texts.
fn texts(torrent: &Torrent) -> usize {
    let optional = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    torrent.name.len()
        + torrent.save_path.len()
        + torrent.content_path.len()
        + optional(&torrent.download_path)
        + optional(&torrent.label)
        + optional(&torrent.message)
        + optional(&torrent.tracker_host)
        + optional(&torrent.tracker_message)
        + torrent.tags.iter().map(String::len).sum::<usize>()
}

/// The least memory a torrent takes, in bytes, before it is rendered: its texts stand in its JSON too.
fn least_weight(torrent: &Torrent) -> usize {
    const NAMES_AND_NUMBERS: usize = 400;
    2 * texts(torrent) + NAMES_AND_NUMBERS
}

/// Puts what was taken before in front, where there may not be room for all.
fn prefer_known(told: &mut [Torrent], admission: &Admission<'_>) {
    let weight: usize = told.iter().map(least_weight).sum();
    // A text of control characters is six times as long in JSON.
    let fits = told.len() <= admission.limits.torrents && weight.saturating_mul(6) <= admission.limits.bytes;
    if !fits {
        told.sort_by_cached_key(|torrent| !(admission.is_known)(&torrent.hash));
    }
}

/// A torrent as the host can use it, whatever the plugin sent.
fn tidy(mut torrent: Torrent) -> Option<Torrent> {
    if !is_info_hash(&torrent.hash) {
        return None;
    }
    if torrent.hash.bytes().any(|byte| byte.is_ascii_uppercase()) {
        torrent.hash = torrent.hash.to_ascii_lowercase().into();
    }
    torrent.progress = if torrent.progress.is_finite() {
        torrent.progress.clamp(0.0, 1.0)
    } else {
        0.0
    };
    torrent.ratio = if torrent.ratio.is_finite() {
        torrent.ratio.max(0.0)
    } else {
        0.0
    };
    for text in [
        &mut torrent.name,
        &mut torrent.save_path,
        &mut torrent.content_path,
    ] {
        // A database may refuse NUL inside a text.
        if text.contains('\0') {
            text.retain(|c| c != '\0');
        }
    }
    for text in [
        &mut torrent.label,
        &mut torrent.tracker_host,
        &mut torrent.tracker_message,
    ] {
        if let Some(text) = text.as_mut().filter(|text| text.contains('\0')) {
            text.retain(|c| c != '\0');
        }
    }
    // Whoever sees the torrent sees it, and a complaint about a tracker may hold the passkey of its address.
    for text in [&mut torrent.message, &mut torrent.tracker_message] {
        if let Some(text) = text.as_mut().filter(|text| text.contains("://")) {
            *text = masked::links(text);
        }
    }
    Some(torrent)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use qm_ports::engine::{Seeded, TorrentState, TrackerStanding};
    use qm_test_base::blank::{hash, torrent};

    use super::*;

    #[test]
    fn what_only_drifts_is_no_news() {
        let seeding = |seconds, at: i64, active: i64, copies| Torrent {
            state: TorrentState::Seeding,
            tracker_host: Some("tracker.example".into()),
            seeded: Some(Seeded {
                seconds,
                as_of: Timestamp::from_secs(at),
            }),
            last_activity: Some(Timestamp::from_secs(active)),
            availability: Some(copies),
            ..torrent(1)
        };
        let full = |torrent| Delta {
            full: true,
            changed: vec![torrent],
            ..Delta::default()
        };
        let empty = Snapshot::empty(&"e".into(), 0, instant(0));
        let (first, _) = empty.apply(full(seeding(100, 1000, 900, 1.5)), instant(1), &endless());
        let first = first.unwrap();
        let (same, _) = first.apply(full(seeding(1102, 2000, 950, 1.505)), instant(2), &endless());
        assert!(same.is_none(), "the clock alone went on");
        for news in [
            seeding(2000, 2000, 900, 1.5),
            seeding(100, 2000, 900, 1.5),
            seeding(1100, 2000, 960, 1.5),
            seeding(1100, 2000, 899, 1.5),
            seeding(1100, 2000, 900, 1.52),
            Torrent {
                state: TorrentState::Stopped,
                ..seeding(1100, 2000, 900, 1.5)
            },
            Torrent {
                tracker_host: None,
                ..seeding(1100, 2000, 900, 1.5)
            },
            Torrent {
                tracker_standing: Some(TrackerStanding::Failing),
                tracker_message: Some("try later".into()),
                ..seeding(1100, 2000, 900, 1.5)
            },
        ] {
            let (next, _) = first.apply(full(news.clone()), instant(2), &endless());
            let next = next.unwrap_or_else(|| panic!("news: {news:?}"));
            let shown: serde_json::Value = serde_json::from_slice(next.entries()[0].json()).unwrap();
            assert_eq!(shown["trackerHost"], serde_json::json!(news.tracker_host));
            let standing = news.tracker_standing.map(TrackerStanding::as_str);
            assert_eq!(shown["trackerStatus"], serde_json::json!(standing));
            assert_eq!(shown["trackerMessage"], serde_json::json!(news.tracker_message));
            assert!(shown["secondsSeededAt"].is_string(), "{shown}");
        }
    }

    /// Room for everything.
    const fn endless() -> Admission<'static> {
        admission(usize::MAX, usize::MAX)
    }

    const fn admission(torrents: usize, bytes: usize) -> Admission<'static> {
        Admission {
            limits: Limits { torrents, bytes },
            is_known: &|_| false,
        }
    }

    fn instant(ms: i64) -> Timestamp {
        Timestamp::from_ms(ms)
    }

    fn start() -> Snapshot {
        Snapshot::empty(&"engine".into(), 0, instant(0))
    }

    fn listed(snapshot: &Snapshot) -> BTreeMap<String, Torrent> {
        snapshot
            .entries()
            .iter()
            .map(|e| (e.torrent.hash.to_string(), e.torrent.clone()))
            .collect()
    }

    fn delta(full: bool, changed: Vec<Torrent>, removed: Vec<String>) -> Delta {
        Delta {
            cursor: 1,
            full,
            changed,
            removed,
            ..Delta::default()
        }
    }

    #[test]
    fn an_unchanged_report_makes_no_new_version() {
        let (first, _) = start().apply(
            delta(true, vec![torrent(1), torrent(2)], vec![]),
            instant(1),
            &endless(),
        );
        let first = first.expect("a first version");
        assert_eq!((first.seq, first.len()), (1, 2));
        let (second, changes) = first.apply(
            delta(true, vec![torrent(2), torrent(1)], vec![]),
            instant(2),
            &endless(),
        );
        assert!(second.is_none() && changes.is_empty());
        let (third, _) = first.apply(delta(false, vec![], vec![]), instant(3), &endless());
        assert!(third.is_none());
    }

    #[test]
    fn untouched_torrents_are_shared_between_versions() {
        let first = start()
            .apply(
                delta(true, vec![torrent(1), torrent(2)], vec![]),
                instant(1),
                &endless(),
            )
            .0
            .expect("version");
        let moved = Torrent {
            downloaded: 5,
            ..torrent(2)
        };
        let second = first
            .apply(delta(false, vec![moved], vec![]), instant(2), &endless())
            .0
            .expect("version");
        assert!(Arc::ptr_eq(
            first.get(&hash(1)).expect("1"),
            second.get(&hash(1)).expect("1")
        ));
        assert!(!Arc::ptr_eq(
            first.get(&hash(2)).expect("2"),
            second.get(&hash(2)).expect("2")
        ));
        assert!(Arc::ptr_eq(&first.index, &second.index));
    }

    #[test]
    fn nonsense_of_a_client_is_mended() {
        let odd = Torrent {
            hash: "00000000000000000000000000000000000000AB".into(),
            progress: f64::NAN,
            ratio: f64::INFINITY,
            name: "a\0b".into(),
            ..torrent(1)
        };
        let none = Torrent {
            hash: "xyz".into(),
            ..torrent(1)
        };
        let (version, _) = start().apply(delta(true, vec![odd, none], vec![]), instant(1), &endless());
        let version = version.expect("version");
        assert_eq!(version.len(), 1);
        let kept = &version
            .get("00000000000000000000000000000000000000ab")
            .expect("lower-cased")
            .torrent;
        assert_eq!((kept.progress, kept.ratio, kept.name.as_str()), (0.0, 0.0, "ab"));
    }

    #[test]
    fn every_text_that_a_client_chooses_is_counted() {
        let long = || "x".repeat(1000);
        let longer = Torrent {
            download_path: Some(long()),
            tracker_message: Some(long()),
            tags: vec![long()],
            ..torrent(1)
        };
        assert_eq!(texts(&longer) - texts(&torrent(1)), 3000);
    }

    proptest! {
        /// Any run of deltas ends in the same list as one full report of where they lead, and the change sets tell the
        /// whole way there.
        #[test]
        fn deltas_lead_where_a_full_list_would(
            steps in prop::collection::vec((any::<bool>(), prop::collection::vec((0u8..12, 0u64..4), 0..10), prop::collection::vec(0u8..12, 0..4)), 1..12)
        ) {
            let mut snapshot = start();
            let mut oracle: BTreeMap<String, Torrent> = BTreeMap::new();
            let mut told: BTreeMap<String, Torrent> = BTreeMap::new();
            for (tick, (full, changed, removed)) in steps.into_iter().enumerate() {
                let changed: Vec<Torrent> = changed.into_iter().map(|(n, d)| Torrent { downloaded: d, ..torrent(n) }).collect();
                let removed: Vec<String> = removed.into_iter().map(|n| hash(n).to_string())
                    .filter(|h| !changed.iter().any(|t| *t.hash == **h)).collect();
                if full { oracle.clear(); } else { for h in &removed { oracle.remove(h); } }
                for t in &changed { oracle.insert(t.hash.to_string(), t.clone()); }
                let seq = snapshot.seq;
                let (next, changes) = snapshot.apply(delta(full, changed, removed), instant(tick as i64), &endless());
                prop_assert_eq!(next.is_none(), changes.is_empty());
                for gone in &changes.removed { prop_assert!(told.remove(&*gone.torrent.hash).is_some()); }
                for (before, now) in &changes.changed {
                    let known = told.insert(now.torrent.hash.to_string(), now.torrent.clone());
                    prop_assert_eq!(known.as_ref(), before.as_ref().map(|b| &b.torrent));
                }
                if let Some(next) = next { prop_assert_eq!(next.seq, seq + 1); snapshot = next; }
                prop_assert_eq!(&listed(&snapshot), &oracle);
                prop_assert_eq!(&told, &oracle);
                for (hash, position) in snapshot.index.iter() { prop_assert_eq!(&snapshot.entries[*position].torrent.hash, hash); }
                prop_assert_eq!(snapshot.index.len(), snapshot.entries.len());
                prop_assert_eq!(snapshot.bytes(), snapshot.entries.iter().map(|entry| weight(entry)).sum::<usize>());
            }
        }

        /// Whatever is listed, no limit is passed; what was taken goes only when it is gone; and of a whole list everything
        /// is taken or known to be left out.
        #[test]
        fn limits_hold_and_nothing_is_lost_to_them(
            steps in prop::collection::vec((any::<bool>(), prop::collection::btree_map(0u8..12, 0usize..300, 0..10), prop::collection::btree_set(0u8..12, 0..3)), 1..10),
            torrents in 0usize..8,
            bytes in 0usize..6000,
        ) {
            let admission = admission(torrents, bytes);
            let mut snapshot = start();
            for (full, told, removed) in steps {
                let removed: Vec<u8> = removed.into_iter().filter(|n| !full && !told.contains_key(n)).collect();
                let before: Vec<u8> = (0..12).filter(|n| snapshot.get(&hash(*n)).is_some()).collect();
                let changed = told.iter().map(|(n, long)| Torrent { label: Some("x".repeat(*long)), ..torrent(*n) }).collect();
                let gone = removed.iter().map(|n| hash(*n).to_string()).collect();
                let (next, changes) = snapshot.apply(delta(full, changed, gone), instant(1), &admission);
                snapshot = next.unwrap_or(snapshot);
                prop_assert!(snapshot.len() <= torrents && snapshot.bytes() <= bytes);
                for n in before {
                    let stays = if full { told.contains_key(&n) } else { !removed.contains(&n) };
                    prop_assert_eq!(snapshot.get(&hash(n)).is_some(), stays);
                }
                prop_assert_eq!(changes.whole, full);
                for (n, long) in &told {
                    let shown = snapshot.get(&hash(*n));
                    let is_right = shown.is_some_and(|e| e.torrent.label.as_ref().is_some_and(|label| label.len() == *long));
                    prop_assert!(is_right || changes.excess.is_some());
                    if full { prop_assert_eq!(shown.is_none(), changes.left_out.contains(&hash(*n))); }
                }
            }
        }
    }
}
