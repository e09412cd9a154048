//! The last known list of one engine: immutable, swapped whole, its torrents shared between versions.
//!
//! Owns: the torrents as the client told them, and each torrent's JSON, rendered once when the torrent changed and from
//! then on shared by the REST list, the single answer and every realtime message.
//! Never: a database row, a lock held while a client is asked.
//! Bounds: as many torrents as the client lists; what a delta does not touch is neither copied nor rendered again.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use bytes::Bytes;
use qm_kernel::Timestamp;
use qm_kernel::engine::{Delta, Torrent};

use crate::dto::torrent;
use crate::service::pages::Pages;

/// One torrent of a snapshot with its JSON.
#[derive(Debug)]
pub struct TorrentEntry {
    pub engine_id: Arc<str>,
    pub torrent: Torrent,
    json: Bytes,
}

impl TorrentEntry {
    pub fn new(engine_id: &Arc<str>, torrent: Torrent) -> Self {
        let json = torrent::render(engine_id, &torrent);
        Self {
            engine_id: engine_id.clone(),
            torrent,
            json,
        }
    }

    /// The object as it stands in lists, in `torrents:update` and alone.
    pub fn json(&self) -> &Bytes {
        &self.json
    }

    /// The object as a request sees it; `stale`: its engine is offline.
    pub fn shown(&self, stale: bool) -> Bytes {
        if !stale {
            return self.json.clone();
        }
        let mut json = Vec::with_capacity(self.json.len() + 16);
        torrent::push_stale(&mut json, &self.json);
        json.into()
    }
}

/// What one delta did to a snapshot.
#[derive(Debug, Default)]
pub struct Changes {
    /// The torrent before (none: it is new) and now. Torrents that were reported but are the same are left out.
    pub changed: Vec<(Option<Arc<TorrentEntry>>, Arc<TorrentEntry>)>,
    pub removed: Vec<Arc<TorrentEntry>>,
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
    /// Sorted orders and rendered pages of this version.
    pub pages: Pages,
}

impl Snapshot {
    /// A snapshot of nothing, before the first delta. `seq` is the last one used for this engine, so that a client that
    /// followed an earlier configuration of it sees a gap.
    pub fn empty(engine_id: &Arc<str>, seq: u64, at: Timestamp) -> Self {
        Self::build(engine_id.clone(), seq, at, Vec::new(), Arc::default())
    }

    fn build(
        engine_id: Arc<str>,
        seq: u64,
        changed_at: Timestamp,
        entries: Vec<Arc<TorrentEntry>>,
        index: Arc<HashMap<Arc<str>, usize>>,
    ) -> Self {
        let entries = Arc::new(entries);
        Self {
            engine_id,
            seq,
            changed_at,
            pages: Pages::new(entries.clone()),
            entries,
            index,
        }
    }

    pub fn len(&self) -> usize {
        self.entries.len()
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
    /// is none is dropped, of two entries with one hash the later counts, numbers that are none become 0.
    pub fn apply(&self, delta: Delta, at: Timestamp) -> (Option<Snapshot>, Changes) {
        let mut changes = Changes::default();
        let mut listed = delta.full.then(|| HashSet::with_capacity(delta.changed.len()));
        // Position in `changes.changed` of a hash reported before in this delta.
        let mut reported: HashMap<Arc<str>, usize> = HashMap::new();
        for torrent in delta.changed.into_iter().filter_map(tidy) {
            if let Some(listed) = &mut listed {
                listed.insert(torrent.hash.clone());
            }
            let before = self.get(&torrent.hash);
            if let Some(position) = reported.get(&torrent.hash) {
                changes.changed[*position].1 = Arc::new(TorrentEntry::new(&self.engine_id, torrent));
            } else if before.is_none_or(|before| before.torrent != torrent) {
                reported.insert(torrent.hash.clone(), changes.changed.len());
                let now = Arc::new(TorrentEntry::new(&self.engine_id, torrent));
                changes.changed.push((before.cloned(), now));
            }
        }
        changes.removed = match &listed {
            Some(listed) => self
                .entries
                .iter()
                .filter(|e| !listed.contains(&e.torrent.hash))
                .cloned()
                .collect(),
            None => {
                let gone: HashSet<String> = delta
                    .removed
                    .iter()
                    .map(|hash| hash.to_ascii_lowercase())
                    .collect();
                gone.iter()
                    .filter(|h| !reported.contains_key(h.as_str()))
                    .filter_map(|h| self.get(h).cloned())
                    .collect()
            }
        };
        if changes.is_empty() {
            (None, changes)
        } else {
            (Some(self.succeed(&changes, at)), changes)
        }
    }

    /// The next version with the same torrents.
    pub fn successor(&self, at: Timestamp) -> Snapshot {
        self.succeed(&Changes::default(), at)
    }

    /// The whole list as if it were all new.
    pub fn as_changes(&self) -> Changes {
        Changes {
            changed: self.entries.iter().map(|entry| (None, entry.clone())).collect(),
            removed: Vec::new(),
        }
    }

    fn succeed(&self, changes: &Changes, at: Timestamp) -> Snapshot {
        let mut entries: Vec<Arc<TorrentEntry>> = self.entries.as_ref().clone();
        let mut same_torrents = changes.removed.is_empty();
        for (before, now) in &changes.changed {
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
        Self::build(self.engine_id.clone(), self.seq + 1, at, entries, index)
    }

    /// `{engineId, seq, full:true, torrents, at}`: what a realtime client that follows deltas starts from.
    pub fn full_message(&self) -> Bytes {
        torrent::state_message(self, &self.entries, &[], true)
    }

    /// `{engineId, torrents, at}`: the whole list for realtime clients that do not follow deltas.
    pub fn list_message(&self) -> Bytes {
        torrent::list_message(self, &self.entries)
    }

    /// `{engineId, seq, full:false, torrents, removed, at}`: how this version came from the one before.
    pub fn delta_message(&self, changes: &Changes) -> Bytes {
        let changed: Vec<Arc<TorrentEntry>> = changes.changed.iter().map(|(_, now)| now.clone()).collect();
        torrent::state_message(self, &changed, &changes.removed, false)
    }
}

fn index_of(entries: &[Arc<TorrentEntry>]) -> HashMap<Arc<str>, usize> {
    entries
        .iter()
        .enumerate()
        .map(|(position, entry)| (entry.torrent.hash.clone(), position))
        .collect()
}

/// A torrent as the host can use it, whatever the plugin sent.
fn tidy(mut torrent: Torrent) -> Option<Torrent> {
    if torrent.hash.len() != 40 || !torrent.hash.bytes().all(|byte| byte.is_ascii_hexdigit()) {
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
    if let Some(label) = torrent.label.as_mut().filter(|label| label.contains('\0')) {
        label.retain(|c| c != '\0');
    }
    Some(torrent)
}

#[cfg(test)]
pub mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use qm_kernel::engine::{GlobalStats, TorrentState};

    use super::*;

    pub fn hash(n: u8) -> Arc<str> {
        format!("{n:040x}").into()
    }

    pub fn torrent(n: u8) -> Torrent {
        Torrent {
            hash: hash(n),
            name: format!("torrent {n}"),
            state: TorrentState::Downloading,
            progress: 0.0,
            size: 1000,
            downloaded: 0,
            uploaded: 0,
            ratio: 0.0,
            download_rate: 0,
            upload_rate: 0,
            eta: None,
            seeds_connected: 0,
            seeds_total: 0,
            peers_connected: 0,
            peers_total: 0,
            priority: 2,
            label: None,
            tags: vec![],
            save_path: "/downloads".into(),
            content_path: "/downloads/x".into(),
            is_private: false,
            message: None,
            added_at: None,
            completed_at: None,
        }
    }

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_ms(ms)
    }

    fn start() -> Snapshot {
        Snapshot::empty(&"engine".into(), 0, at(0))
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
            stats: GlobalStats::default(),
        }
    }

    #[test]
    fn an_unchanged_report_makes_no_new_version() {
        let (first, _) = start().apply(delta(true, vec![torrent(1), torrent(2)], vec![]), at(1));
        let first = first.expect("a first version");
        assert_eq!((first.seq, first.len()), (1, 2));
        let (second, changes) = first.apply(delta(true, vec![torrent(2), torrent(1)], vec![]), at(2));
        assert!(second.is_none() && changes.is_empty());
        let (third, _) = first.apply(delta(false, vec![], vec![]), at(3));
        assert!(third.is_none());
    }

    #[test]
    fn untouched_torrents_are_shared_between_versions() {
        let first = start()
            .apply(delta(true, vec![torrent(1), torrent(2)], vec![]), at(1))
            .0
            .expect("version");
        let moved = Torrent {
            downloaded: 5,
            ..torrent(2)
        };
        let second = first
            .apply(delta(false, vec![moved], vec![]), at(2))
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
        let (version, _) = start().apply(delta(true, vec![odd, none], vec![]), at(1));
        let version = version.expect("version");
        assert_eq!(version.len(), 1);
        let kept = &version
            .get("00000000000000000000000000000000000000ab")
            .expect("lower-cased")
            .torrent;
        assert_eq!((kept.progress, kept.ratio, kept.name.as_str()), (0.0, 0.0, "ab"));
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
                let (next, changes) = snapshot.apply(delta(full, changed, removed), at(tick as i64));
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
            }
        }
    }
}
