//! One engine that is counted: its torrents as they were seen last, and what is still to be stored.
//!
//! Each look at a list that changed walks it once and skips what is the same value in memory. Memory: a few words for each torrent,
//! and a tally for each that moved since the last write.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use jiff::tz::TimeZone;
use qm_ports::engine::Torrent;
use qm_ports::list::TorrentList;
use qm_ports::sight::EngineSight;

use crate::model::count::{Budget, Sight};
use crate::model::steps::{Part, cut_at_days, share_out};
use crate::model::{Counters, Tally, Watch};

/// Time by which the clock of a client may be behind ours, in milliseconds.
const SLACK: i64 = 60_000;
/// Tallies of one torrent that wait: as many while nothing can be written, then the last one takes the rest.
const MOST_TALLIES: usize = 24;

/// A torrent as it was seen last.
#[derive(Debug)]
pub struct Known {
    /// None until it is stored.
    pub number: Option<i64>,
    pub sight: Sight,
}

/// Counts of a torrent that are still to be stored.
#[derive(Debug, Default)]
pub struct Moved {
    pub name: String,
    /// By the begin of their five minutes.
    pub tallies: Vec<(i64, Tally)>,
    /// Counters up to these counts.
    pub counters: Counters,
    pub gone: bool,
}

impl Moved {
    fn add(&mut self, start: i64, tally: Tally) {
        let full = self.tallies.len() >= MOST_TALLIES;
        match self.tallies.last_mut() {
            Some((last, sum)) if *last == start || full => sum.add(tally),
            _ => self.tallies.push((start, tally)),
        }
    }
}

#[derive(Default)]
pub struct CountedEngine {
    /// Instant of the last look; none before the first one ever.
    pub seen_at: Option<i64>,
    /// It has its row.
    pub is_stored: bool,
    /// Nobody knows what is stored of it: it is to be read again.
    pub is_unsure: bool,
    pub torrents: HashMap<Arc<str>, Known>,
    pub moved: HashMap<Arc<str>, Moved>,
    /// Looks by the begin of their five minutes, with the time that they cover and the rates.
    pub watches: BTreeMap<i64, (Tally, Watch)>,
    list: Option<Arc<dyn TorrentList>>,
    rates: Rates,
}

/// Rates and torrents at a look.
#[derive(Clone, Copy, Debug, Default)]
struct Rates {
    download: u64,
    upload: u64,
    active: u64,
}

impl CountedEngine {
    /// Counts what its torrents moved since the last look.
    pub fn look(&mut self, sight: &EngineSight, now: i64, zone: &TimeZone) {
        let is_first = self.seen_at.is_none();
        let from = self.seen_at.unwrap_or(now).min(now);
        let parts = cut_at_days(from, now, zone);
        let before = self.list.take();
        let is_same = before
            .as_ref()
            .is_some_and(|before| before.version() == sight.list.version());
        if !is_same {
            self.rates = self.walk(sight, before.as_deref(), (from, now), is_first, &parts);
        }
        self.list = Some(sight.list.clone());
        self.seen_at = Some(now);
        self.note_watch(&parts, is_first);
    }

    fn walk(
        &mut self,
        sight: &EngineSight,
        before: Option<&dyn TorrentList>,
        (from, now): (i64, i64),
        is_first: bool,
        parts: &[Part],
    ) -> Rates {
        let list = &*sight.list;
        let mut rates = Rates::default();
        let mut budget = Budget::for_time(now - from);
        for at in 0..list.len() {
            let Some(listed) = list.entry_at(at) else { break };
            let torrent = listed.torrent;
            rates.download = rates.download.saturating_add(torrent.download_rate);
            rates.upload = rates.upload.saturating_add(torrent.upload_rate);
            rates.active += u64::from(torrent.download_rate > 0 || torrent.upload_rate > 0);
            let was = before.and_then(|before| before.entry_at(at));
            if was.is_some_and(|was| std::ptr::eq(was.torrent, torrent)) {
                continue;
            }
            self.count_torrent(torrent, from, is_first, parts, &mut budget);
        }
        if sight.is_whole && self.torrents.len() > list.len() {
            self.part_from_missing(list);
        }
        rates
    }

    fn count_torrent(
        &mut self,
        torrent: &Torrent,
        from: i64,
        is_first: bool,
        parts: &[Part],
        budget: &mut Budget,
    ) {
        let sight = Sight::from(torrent);
        let known = match self.torrents.get_mut(&torrent.hash) {
            Some(known) => {
                let before = std::mem::replace(&mut known.sight, sight);
                if before.counters == sight.counters {
                    return;
                }
                Some(before)
            }
            None => None,
        };
        let before = known.unwrap_or_else(|| {
            self.torrents
                .insert(torrent.hash.clone(), Known { number: None, sight });
            // One that was added since the last look began at nothing. Of another one nobody knows when it moved what.
            let is_new = !is_first && torrent.added_at.is_some_and(|at| at.ms() >= from - SLACK);
            if is_new {
                Sight {
                    counters: Counters::default(),
                    ..sight
                }
            } else {
                sight
            }
        });
        let grown = budget.count_growth(before, sight);
        let moved = self.moved.entry(torrent.hash.clone()).or_default();
        if moved.name.is_empty() {
            moved.name.clone_from(&torrent.name);
        }
        (moved.counters, moved.gone) = (sight.counters, false);
        if grown.is_zero() {
            return;
        }
        let down = share_out(grown.downloaded, parts);
        let up = share_out(grown.uploaded, parts);
        let last = parts.len() - 1;
        for (at, part) in parts.iter().enumerate() {
            let is_last = at == last;
            let tally = Tally {
                moved: Counters {
                    downloaded: down[at],
                    uploaded: up[at],
                },
                covered_ms: part.length.unsigned_abs(),
                peak_download: if is_last { torrent.download_rate } else { 0 },
                peak_upload: if is_last { torrent.upload_rate } else { 0 },
            };
            if !tally.moved.is_zero() {
                moved.add(part.start, tally);
            }
        }
    }

    /// Notes that the torrents which are listed no longer are gone.
    fn part_from_missing(&mut self, list: &dyn TorrentList) {
        let moved = &mut self.moved;
        self.torrents.retain(|hash, known| {
            let is_there = list.find(hash).is_some();
            if !is_there {
                let left = moved.entry(hash.clone()).or_default();
                (left.counters, left.gone) = (known.sight.counters, true);
            }
            is_there
        });
    }

    fn note_watch(&mut self, parts: &[Part], is_first: bool) {
        let last = parts.len() - 1;
        for (at, part) in parts.iter().enumerate() {
            let is_last = at == last;
            let tally = Tally {
                moved: Counters::default(),
                covered_ms: part.length.unsigned_abs(),
                peak_download: if is_last { self.rates.download } else { 0 },
                peak_upload: if is_last { self.rates.upload } else { 0 },
            };
            let watch = Watch {
                samples: u64::from(is_last && !is_first),
                active: if is_last && !is_first {
                    self.rates.active
                } else {
                    0
                },
                peak_active: if is_last { self.rates.active } else { 0 },
            };
            let start = self.room_for(part.start);
            let (sum, looks) = self.watches.entry(start).or_default();
            sum.add(tally);
            looks.add(watch);
        }
    }

    /// The begin of five minutes; the last one that waits, where nothing can be written for long.
    fn room_for(&self, start: i64) -> i64 {
        let full = self.watches.len() >= MOST_TALLIES * 4 && !self.watches.contains_key(&start);
        let last = self.watches.last_key_value().filter(|_| full);
        last.map_or(start, |(last, _)| *last)
    }
}
