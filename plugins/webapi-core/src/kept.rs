//! The list as it is kept between polls. An answer of `sync/maindata` is merged piece by piece; sums are kept along, so
//! that a tick in which nothing happened touches no torrent at all.

use std::collections::{HashMap, HashSet};

use serde::Deserialize;

use crate::error::{Error, garbled};
use crate::model::Delta;
use crate::pieces::{Place, Sink};
use crate::quiet::is_worked_on;
use crate::row::{Id, Merge, Row, Shared};
use crate::standings::Heard;
use crate::values::{Flag, Num, Text};
use engine_model::{GlobalStats, RateMode, State, Transfer};

/// Answers after which a free space of 0 that never was anything else is believed.
const BELIEVED: u8 = 10;

/// Fields of `server_state`; every answer may name any part of it.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ServerState {
    dl_info_speed: Num,
    up_info_speed: Num,
    dl_rate_limit: Num,
    up_rate_limit: Num,
    alltime_dl: Num,
    alltime_ul: Num,
    free_space_on_disk: Num,
    use_alt_speed_limits: Flag,
    /// Answers since the first free space; [`BELIEVED`] once one told more than 0.
    #[serde(skip)]
    answers: u8,
}

impl ServerState {
    pub(crate) fn merge(&mut self, json: &[u8]) -> Result<(), Error> {
        let news: ServerState =
            serde_json::from_slice(json).map_err(|error| garbled("server_state", &error))?;
        let mut take = |place: fn(&mut ServerState) -> &mut Num| {
            let mut news = news;
            let value = *place(&mut news);
            if !value.is_absent() {
                *place(self) = value;
            }
        };
        take(|s| &mut s.dl_info_speed);
        take(|s| &mut s.up_info_speed);
        take(|s| &mut s.dl_rate_limit);
        take(|s| &mut s.up_rate_limit);
        take(|s| &mut s.alltime_dl);
        take(|s| &mut s.alltime_ul);
        take(|s| &mut s.free_space_on_disk);
        if news.use_alt_speed_limits.0.is_some() {
            self.use_alt_speed_limits = news.use_alt_speed_limits;
        }
        self.answers = match self.free_space_on_disk.non_negative() {
            None => 0,
            Some(0) => self.answers.saturating_add(1),
            Some(_) => BELIEVED,
        };
        Ok(())
    }

    /// None unless the client tells both.
    pub(crate) fn all_time(&self) -> Option<Transfer> {
        let downloaded = self.alltime_dl.non_negative()?;
        let uploaded = self.alltime_ul.non_negative()?;
        Some(Transfer { downloaded, uploaded })
    }

    /// The client says -1 while it does not know, and 0 until it has measured for the first time: that is no full disk.
    pub(crate) fn free_disk_bytes(&self) -> Option<u64> {
        let bytes = self.free_space_on_disk.non_negative()?;
        (bytes > 0 || self.answers >= BELIEVED).then_some(bytes)
    }
}

#[derive(Default)]
pub(crate) struct Kept {
    rows: HashMap<Id, Row>,
    shared: Shared,
    server: ServerState,
    downloaded: u128,
    uploaded: u128,
    active: u32,
    /// Counts the answers merged so far.
    tick: u64,
    /// Torrents to whose trackers something happened, until somebody takes them: also those of an answer that broke off, for their
    /// rows say that they are in a queue.
    stirred: Vec<Id>,
}

impl Kept {
    pub(crate) fn stats(&self) -> GlobalStats {
        GlobalStats {
            download_rate: self.server.dl_info_speed.unsigned(),
            upload_rate: self.server.up_info_speed.unsigned(),
            download_rate_limit: self.server.dl_rate_limit.unsigned(),
            upload_rate_limit: self.server.up_rate_limit.unsigned(),
            total_downloaded: u64::try_from(self.downloaded).unwrap_or(u64::MAX),
            total_uploaded: u64::try_from(self.uploaded).unwrap_or(u64::MAX),
            torrent_count: u32::try_from(self.rows.len()).unwrap_or(u32::MAX),
            active_count: self.active,
            rate_mode: self.server.use_alt_speed_limits.0.map(|alternative| {
                if alternative {
                    RateMode::Alternative
                } else {
                    RateMode::Normal
                }
            }),
            free_disk_bytes: self.server.free_disk_bytes(),
        }
    }

    /// Begins to merge an answer.
    pub(crate) fn answer(&mut self) -> Merging<'_> {
        self.tick += 1;
        Merging {
            kept: self,
            changed: Vec::new(),
            gone: Vec::new(),
            removed: Vec::new(),
            rid: 0,
            full: false,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(crate) fn has(&self, id: Id) -> bool {
        self.rows.contains_key(&id)
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = Id> {
        self.rows.keys().copied()
    }

    /// Names by which the client lists these torrents; those that are not listed keep the name given.
    pub(crate) fn natives(&self, hashes: &[Id]) -> Vec<Id> {
        let mut known = Vec::with_capacity(hashes.len());
        let mut strange: HashSet<Id> = HashSet::new();
        for id in hashes {
            if self.has(*id) {
                known.push(*id);
            } else {
                strange.insert(*id);
            }
        }
        if !strange.is_empty() {
            let hybrids = self.rows.values().filter(|row| strange.contains(&row.hash()));
            known.extend(hybrids.map(|row| row.id));
            known.extend(strange);
        }
        known
    }

    /// Each torrent's category, empty for none.
    pub(crate) fn labels(&self) -> impl Iterator<Item = (Id, &str)> {
        self.rows.values().map(|row| (row.id, row.label()))
    }

    /// Torrents that move or are worked on.
    pub(crate) fn busy(&self) -> Vec<Id> {
        let is_busy = |row: &&Row| row.rates() != (0, 0) || is_worked_on(row.state);
        self.rows.values().filter(is_busy).map(|row| row.id).collect()
    }

    /// Sums of the torrents' rates, download and upload, in bytes per second: the client's own sums are only in `sync/maindata`.
    pub(crate) fn rates(&self) -> (u64, u64) {
        self.rows.values().fold((0, 0), |(down, up), row| {
            let (more_down, more_up) = row.rates();
            (down.saturating_add(more_down), up.saturating_add(more_up))
        })
    }

    /// Full delta with all torrents.
    pub(crate) fn everything(&self, cursor: u64) -> Delta {
        let changed = self.rows.values().map(Row::torrent).collect();
        Delta {
            cursor,
            full: true,
            changed,
            removed: Vec::new(),
            stats: self.stats(),
        }
    }

    fn count(&mut self, id: Id) {
        if let Some(row) = self.rows.get(&id) {
            self.downloaded += u128::from(row.downloaded);
            self.uploaded += u128::from(row.uploaded);
            self.active += u32::from(row.shown_state().is_active());
        }
    }

    /// Torrents to whose trackers something happened since this was last asked.
    pub(crate) fn take_stirred(&mut self) -> Vec<Id> {
        std::mem::take(&mut self.stirred)
    }

    pub(crate) fn row_mut(&mut self, id: Id) -> Option<&mut Row> {
        self.rows.get_mut(&id)
    }

    /// Stores the answer about a torrent's trackers; true when it changes something.
    pub(crate) fn hear(&mut self, id: Id, heard: Heard) -> bool {
        self.discount(id);
        let is_news = self.rows.get_mut(&id).is_some_and(|row| row.hear(heard));
        self.count(id);
        is_news
    }

    fn discount(&mut self, id: Id) {
        if let Some(row) = self.rows.get(&id) {
            self.downloaded -= u128::from(row.downloaded);
            self.uploaded -= u128::from(row.uploaded);
            self.active -= u32::from(row.shown_state().is_active());
        }
    }
}

/// An answer on its way into the list. What it says of removals and whether it is full takes effect at its end, because
/// nothing promises in which order its members come.
pub(crate) struct Merging<'a> {
    kept: &'a mut Kept,
    changed: Vec<Id>,
    /// Hashes under which nothing is listed any more.
    gone: Vec<Id>,
    /// Ids that the answer lists as removed.
    removed: Vec<Id>,
    rid: u64,
    full: bool,
}

/// Result of merging an answer.
pub(crate) struct Merged {
    pub(crate) rid: u64,
    /// The client sent its whole list.
    pub(crate) full: bool,
    changed: Vec<Id>,
    gone: Vec<Id>,
}

impl Merging<'_> {
    /// The rest of the answer lists these torrents; those it leaves out are gone.
    pub(crate) fn expect(&mut self, ids: &[Id]) {
        self.removed.extend_from_slice(ids);
    }

    pub(crate) fn has_seen(&self, id: Id) -> bool {
        self.kept
            .rows
            .get(&id)
            .is_some_and(|row| row.seen == self.kept.tick)
    }

    /// The torrents mentioned so far.
    pub(crate) fn seen(&self) -> impl Iterator<Item = Id> {
        self.seen_in(|_| true)
    }

    /// Torrents mentioned so far whose state fulfils `such`.
    pub(crate) fn seen_in(&self, such: impl Fn(State) -> bool) -> impl Iterator<Item = Id> {
        let tick = self.kept.tick;
        let rows = self.kept.rows.values();
        rows.filter(move |row| row.seen == tick && such(row.state))
            .map(|row| row.id)
    }

    pub(crate) fn finish(self) -> Merged {
        let Merging {
            kept,
            changed,
            mut gone,
            removed,
            rid,
            full,
        } = self;
        let tick = kept.tick;
        let mut leaving = removed;
        if full {
            leaving = kept
                .rows
                .values()
                .filter(|row| row.seen != tick)
                .map(|row| row.id)
                .collect();
        }
        for id in leaving {
            if kept.rows.get(&id).is_some_and(|row| row.seen != tick) {
                kept.discount(id);
                gone.extend(kept.rows.remove(&id).map(|row| row.hash()));
            }
        }
        Merged {
            rid,
            full,
            changed,
            gone,
        }
    }

    fn torrent(&mut self, key: &str, json: &[u8]) -> Result<(), Error> {
        let Some(id) = Id::parse(key) else { return Ok(()) };
        let kept = &mut *self.kept;
        let before = kept.rows.get(&id).map(Row::hash);
        kept.discount(id);
        let row = kept.rows.entry(id).or_insert_with(|| Row::blank(id));
        let first_mention = row.seen != kept.tick;
        row.seen = kept.tick;
        let merged = Merge {
            row,
            shared: &mut kept.shared,
        }
        .json(json);
        row.id = id; // whatever the object claims
        if row.is_news_of_trackers() {
            kept.stirred.push(id);
        }
        let hash = row.hash();
        kept.count(id);
        let changed = merged.map_err(|error| garbled("a torrent", &error))?;
        if (changed || before.is_none()) && (first_mention || !self.changed.contains(&id)) {
            self.changed.push(id);
        }
        if let Some(before) = before.filter(|before| *before != hash) {
            self.gone.push(before);
        }
        Ok(())
    }
}

/// Hash of a torrent in a list; other members are skipped.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Named {
    hash: Text,
}

impl Sink for Merging<'_> {
    fn wants(&self, place: Place) -> bool {
        match place {
            Place::Member(name) => {
                matches!(name, "rid" | "full_update" | "torrents_removed" | "server_state")
            }
            Place::Torrent(_) | Place::Element => true,
        }
    }

    fn piece(&mut self, place: Place, json: &[u8]) -> Result<(), Error> {
        match place {
            Place::Torrent(key) => return self.torrent(key, json),
            Place::Element => {
                let named: Named =
                    serde_json::from_slice(json).map_err(|error| garbled("torrents/info", &error))?;
                return self.torrent(&named.hash.0, json);
            }
            Place::Member("rid") => {
                let rid: Num = serde_json::from_slice(json).map_err(|error| garbled("rid", &error))?;
                self.rid = rid.unsigned();
            }
            Place::Member("full_update") => self.full = json == b"true",
            Place::Member("torrents_removed") => {
                let removed: Vec<Text> =
                    serde_json::from_slice(json).map_err(|error| garbled("torrents_removed", &error))?;
                self.removed = removed.iter().filter_map(|hash| Id::parse(&hash.0)).collect();
            }
            Place::Member("server_state") => self.kept.server.merge(json)?,
            Place::Member(_) => {}
        }
        Ok(())
    }
}

impl Merged {
    /// Counts these as changed too.
    pub(crate) fn add_changed(&mut self, ids: &[Id]) {
        for id in ids {
            if !self.changed.contains(id) {
                self.changed.push(*id);
            }
        }
    }

    /// True when there is no change to report.
    pub(crate) fn is_empty(&self) -> bool {
        self.changed.is_empty() && self.gone.is_empty()
    }

    /// Delta of the changes, with the torrents as they are listed now.
    pub(crate) fn delta(self, kept: &Kept, cursor: u64) -> Delta {
        let changed = self
            .changed
            .iter()
            .filter_map(|id| kept.rows.get(id))
            .map(Row::torrent)
            .collect();
        let removed = self.gone.iter().map(Id::to_string).collect();
        Delta {
            cursor,
            full: false,
            changed,
            removed,
            stats: kept.stats(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pieces::Pieces;
    use proptest::prelude::*;

    fn hash(n: u64) -> String {
        format!("{n:040x}")
    }

    fn merge(kept: &mut Kept, body: &str) -> Delta {
        let mut merging = kept.answer();
        let mut pieces = Pieces::of_object();
        pieces.feed(body.as_bytes(), &mut merging).expect("well laid out");
        pieces.finish().expect("complete");
        let merged = merging.finish();
        merged.delta(kept, 1)
    }

    fn names(delta: &Delta) -> Vec<&str> {
        let mut names: Vec<_> = delta
            .changed
            .iter()
            .map(|torrent| torrent.name.as_str())
            .collect();
        names.sort_unstable();
        names
    }

    fn two() -> String {
        let (a, b) = (hash(1), hash(2));
        format!(
            r#"{{"rid":1,"full_update":true,"server_state":{{"dl_info_speed":5,"up_rate_limit":7,"alltime_dl":8}},"torrents":{{
            "{a}":{{"name":"a","state":"uploading","downloaded":10,"uploaded":1}},
            "{b}":{{"name":"b","state":"pausedUP","downloaded":20,"uploaded":2}}}}}}"#
        )
    }

    #[test]
    fn partial_answers_change_what_they_name() {
        let mut kept = Kept::default();
        assert_eq!(names(&merge(&mut kept, &two())), ["a", "b"]);

        let idle = merge(&mut kept, r#"{"rid":2}"#);
        assert_eq!((idle.changed.len(), idle.removed.len()), (0, 0));

        let a = hash(1);
        let body = format!(r#"{{"rid":3,"torrents":{{"{a}":{{"uploaded":5,"time_active":3}}}}}}"#);
        let busy = merge(&mut kept, &body);
        assert_eq!(names(&busy), ["a"], "the other fields of a are still known");
        let stats = busy.stats;
        assert_eq!((stats.total_downloaded, stats.total_uploaded), (30, 7));
        assert_eq!((stats.torrent_count, stats.active_count), (2, 1));
        assert_eq!(
            (stats.download_rate, stats.upload_rate_limit),
            (5, 7),
            "server_state is merged too"
        );

        let gone = merge(
            &mut kept,
            &format!(r#"{{"rid":4,"torrents_removed":["{a}","junk"]}}"#),
        );
        assert_eq!(gone.removed, [a]);
        assert_eq!(
            (
                gone.stats.total_downloaded,
                gone.stats.torrent_count,
                gone.stats.active_count
            ),
            (20, 1, 0)
        );
    }

    #[test]
    fn a_full_answer_of_a_restarted_client_is_still_only_its_differences() {
        let mut kept = Kept::default();
        merge(&mut kept, &two());
        assert!(names(&merge(&mut kept, &two())).is_empty());
        let (a, c) = (hash(1), hash(3));
        let body = format!(
            r#"{{"torrents":{{"{a}":{{"name":"a","state":"uploading"}},"{c}":{{"name":"c"}}}},"full_update":true,"rid":1}}"#
        );
        let delta = merge(&mut kept, &body);
        assert_eq!(names(&delta), ["c"]);
        assert_eq!(delta.removed, [hash(2)]);
        assert_eq!(kept.everything(9).changed.len(), 2);
    }

    #[test]
    fn a_hash_that_changes_leaves_its_old_one() {
        let mut kept = Kept::default();
        merge(&mut kept, &two());
        let (a, v1) = (hash(1), hash(77));
        let delta = merge(
            &mut kept,
            &format!(r#"{{"torrents":{{"{a}":{{"infohash_v1":"{v1}"}}}},"rid":2}}"#),
        );
        assert_eq!(
            (delta.removed.as_slice(), delta.changed[0].hash.as_str()),
            ([a].as_slice(), v1.as_str())
        );
    }

    #[test]
    fn all_time_needs_both_counters() {
        let mut state = ServerState::default();
        state
            .merge(br#"{"alltime_dl":5,"free_space_on_disk":-1}"#)
            .expect("an object");
        assert_eq!((state.all_time(), state.free_disk_bytes()), (None, None));
        state
            .merge(br#"{"alltime_ul":6,"free_space_on_disk":9}"#)
            .expect("an object");
        assert_eq!(
            state.all_time(),
            Some(Transfer {
                downloaded: 5,
                uploaded: 6
            })
        );
        assert_eq!(state.free_disk_bytes(), Some(9));
        assert!(state.merge(b"[]x").is_err());
    }

    #[test]
    fn a_first_free_space_of_zero_is_none_that_was_measured() {
        let mut state = ServerState::default();
        let mut told = |json: &str| {
            state.merge(json.as_bytes()).expect("an object");
            state.free_disk_bytes()
        };
        assert_eq!(told(r#"{"free_space_on_disk":0}"#), None);
        assert_eq!(told(r#"{"dl_info_speed":1}"#), None);
        assert_eq!(told(r#"{"free_space_on_disk":7}"#), Some(7));
        assert_eq!(told(r#"{"free_space_on_disk":0}"#), Some(0), "it was filled");
        // And one that is full from the beginning.
        let mut state = ServerState::default();
        for answer in 1..=BELIEVED {
            state.merge(br#"{"free_space_on_disk":0}"#).expect("an object");
            assert_eq!(state.free_disk_bytes(), (answer == BELIEVED).then_some(0));
        }
    }

    /// Change in a client between two polls.
    #[derive(Clone, Debug)]
    enum Step {
        Upload(u64, u64),
        Remove(u64),
        Restart,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => (0u64..6, 0u64..4).prop_map(|(n, uploaded)| Step::Upload(n, uploaded)),
            1 => (0u64..6).prop_map(Step::Remove),
            1 => Just(Step::Restart),
        ]
    }

    proptest! {
        /// Applying every delta gives the client's list, and the sums are those of the list.
        #[test]
        fn deltas_add_up(steps in prop::collection::vec(step(), 0..30)) {
            let mut client: HashMap<String, u64> = HashMap::new();
            let mut applied: HashMap<String, u64> = HashMap::new();
            let mut kept = Kept::default();
            for step in steps {
                let body = match step {
                    Step::Upload(n, uploaded) => {
                        client.insert(hash(n), uploaded);
                        serde_json::json!({"rid": 1, "torrents": {hash(n): {"uploaded": uploaded, "state": "uploading"}}})
                    }
                    Step::Remove(n) => {
                        client.remove(&hash(n));
                        serde_json::json!({"rid": 1, "torrents_removed": [hash(n)]})
                    }
                    Step::Restart => {
                        let list: HashMap<_, _> = client.iter()
                            .map(|(hash, uploaded)| (hash, serde_json::json!({"uploaded": uploaded, "state": "uploading"})))
                            .collect();
                        serde_json::json!({"rid": 1, "full_update": true, "torrents": list})
                    }
                };
                let delta = merge(&mut kept, &body.to_string());
                for hash in &delta.removed {
                    prop_assert!(applied.remove(hash).is_some());
                }
                applied.extend(delta.changed.iter().map(|torrent| (torrent.hash.clone(), torrent.uploaded)));
                prop_assert_eq!(&applied, &client);
                prop_assert_eq!(delta.stats.total_uploaded, client.values().sum::<u64>());
                prop_assert_eq!(delta.stats.active_count as usize, client.len());
            }
        }
    }
}
