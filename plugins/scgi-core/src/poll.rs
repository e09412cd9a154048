//! Reads the list and tells what changed since the last time.
//!
//! Owns: what the last list said, as fingerprints, numbers and the texts that rest. A row whose fingerprint is the same
//! is not looked into. While nobody looks it asks for less still ([`crate::quiet`]). Mostly a poll asks only what moves ([`fields::MOVING`]); it asks for everything when it knows
//! nothing, every 30 s, and at once for torrents that are new, were started, stopped, finished or moved, or have another message: what
//! their trackers answered stands behind it. The address of a torrent's first tracker is asked once, for [`MAX_FIRST`] torrents a poll;
//! trackers that were not heard yet are counted again, those of [`MAX_SINGLES`] torrents a poll.
//! Never: trusts itself after an error. Whatever fails, the next poll is full.
//! Bounds: a few connections a poll, one after the other; some 300 bytes a torrent.

use std::collections::HashMap;

use crate::client::{Client, MAX_CALLS, hash_bytes};
use crate::error::Error;
use crate::fields::{self, Essential, Flags, Moving, Resting};
use crate::fingerprint::{Print, fingerprint};
use crate::limits::limit_of_rate;
use crate::rows::{self, Rows, Sink};
use crate::trackers;
use crate::wire::{Clock, Transport};
use crate::xml::{self, Param, text};
use engine_model::{Attention, GlobalStats, Torrent};

/// Longest age of the resting fields, in milliseconds.
const FULL_READ_EVERY_MS: u64 = 30_000;
/// Same age while nobody looks: the fields that a user can change are asked for more often then.
const QUIET_FULL_READ_EVERY_MS: u64 = 60_000;
/// Longest age of the labels, in milliseconds. Labels are the only resting field that others change without any other change:
/// with ticks 2 s apart, a new label is told within 10 s.
const LABELS_EVERY_MS: u64 = 8_000;
/// Torrents asked about one by one; when more of them changed, the whole list is cheaper.
pub(crate) const MAX_SINGLES: usize = 50;
/// Torrents whose first tracker is asked for in a poll, beside those asked about one by one.
pub(crate) const MAX_FIRST: usize = MAX_CALLS;
/// More would not fit into a guest.
const MAX_TORRENTS: usize = 100_000;

/// Answer of a poll, without the torrents that changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Comes back in the next poll.
    pub cursor: u64,
    /// The torrents told are all there are.
    pub full: bool,
    /// Hashes of those that are gone; empty when `full`.
    pub removed: Vec<String>,
    pub stats: GlobalStats,
}

/// Memory of one torrent between polls.
pub(crate) struct Entry {
    pub(crate) hash: [u8; 20],
    /// The part of the row that moves; of no text when it was not seen as a row.
    moving: Print,
    /// Fingerprint of the part that rests; 0 when it was not seen as a row.
    resting_print: u64,
    resting: Box<Resting>,
    completed: u64,
    uploaded: u64,
    size: u64,
    directory: u64,
    message: u64,
    wanted_chunks: u64,
    /// Fingerprint of its row of essential fields; 0 when there was none since the last change.
    pub(crate) essential: u64,
    flags: Flags,
    priority: u8,
    is_active: bool,
    /// True when it has a rate or is being hashed.
    pub(crate) is_busy: bool,
    /// The read that saw it last.
    pub(crate) seen: u64,
    /// The poll that told it last.
    pub(crate) told: u64,
}

/// A torrent whose resting part must be asked for before it can be told.
pub(crate) struct Single {
    print: Print,
    moving: Moving,
}

/// Remembers the last list of one rTorrent.
#[derive(Default)]
pub struct Poller {
    /// The cursor given last; none when the next poll must be full.
    cursor: Option<u64>,
    pub(crate) polls: u64,
    pub(crate) reads: u64,
    full_read_at: u64,
    labels_read_at: u64,
    /// The poll before was a quiet one.
    was_quiet: bool,
    /// Time of the last look at all torrents, in any depth.
    pub(crate) swept_at: u64,
    /// This rTorrent does not pick out torrents for us.
    pub(crate) cannot_filter: bool,
    /// This rTorrent does not count trackers in a list.
    cannot_count: bool,
    /// The entry from which on torrents with unheard trackers are asked about.
    unheard_from: usize,
    pub(crate) entries: Vec<Entry>,
    pub(crate) index: HashMap<[u8; 20], usize>,
}

impl Poller {
    /// Reads changes as [`Poller::poll_fresh`] does, where no torrent is fresh.
    pub fn poll<T: Transport, C: Clock>(
        &mut self,
        client: &Client<T, C>,
        cursor: Option<u64>,
        attention: Attention,
        tell: &mut dyn FnMut(Torrent),
    ) -> Result<Summary, Error> {
        self.poll_fresh(client, cursor, attention, &[], tell)
    }

    /// Reads changes and hands every torrent that changed to `tell`, those of `fresh` as they are now. After an error, drop the torrents
    /// told so far.
    pub fn poll_fresh<T: Transport, C: Clock>(
        &mut self,
        client: &Client<T, C>,
        cursor: Option<u64>,
        attention: Attention,
        fresh: &[String],
        tell: &mut dyn FnMut(Torrent),
    ) -> Result<Summary, Error> {
        let full = self.cursor.is_none() || cursor != self.cursor;
        // Until this poll succeeds nothing that is remembered counts.
        self.cursor = None;
        self.polls += 1;
        if full {
            self.entries = Vec::new();
            self.index = HashMap::new();
        }
        let now = client.clock.monotonic_ms();
        let full_read_every = match attention {
            Attention::Exact => 0,
            // More than may be asked about one by one.
            _ if fresh.len() > MAX_SINGLES => 0,
            Attention::Watched => FULL_READ_EVERY_MS,
            Attention::Quiet => QUIET_FULL_READ_EVERY_MS,
        };
        let mut gone = Vec::new();
        let (mut stats, saw_all) = if full || now.saturating_sub(self.full_read_at) >= full_read_every {
            (self.read_everything(client, tell)?, true)
        } else {
            let read = match attention {
                Attention::Exact | Attention::Watched => (self.read_what_moves(client, now, tell)?, true),
                Attention::Quiet => self.read_quietly(client, now, tell)?,
            };
            gone = self.read_fresh(client, fresh, tell)?;
            read
        };
        self.ask_about_trackers(client)?;
        self.was_quiet = attention == Attention::Quiet;
        let reads = self.reads;
        let removed = if saw_all {
            self.drop_where(|entry| entry.seen != reads)
        } else {
            self.drop_where(|entry| gone.contains(&entry.hash))
        };
        self.add_up(&mut stats);
        self.cursor = Some(self.polls);
        Ok(Summary {
            cursor: self.polls,
            full,
            removed,
            stats,
        })
    }

    /// Asks about torrents that were not told in this poll: those that are known, and those that may have come. Those that are gone.
    fn read_fresh<T: Transport, C: Clock>(
        &mut self,
        client: &Client<T, C>,
        fresh: &[String],
        tell: &mut dyn FnMut(Torrent),
    ) -> Result<Vec<[u8; 20]>, Error> {
        let hashes = fresh.iter().filter_map(|hash| hash_bytes(hash));
        let is_told = |hash: &[u8; 20]| {
            let at = self.index.get(hash).copied();
            at.and_then(|at| self.entries.get(at))
                .is_some_and(|entry| entry.told == self.polls)
        };
        let hashes: Vec<[u8; 20]> = hashes.filter(|hash| !is_told(hash)).collect();
        if hashes.is_empty() {
            return Ok(Vec::new());
        }
        self.look(client, &hashes, tell)
    }

    fn read_what_moves<T: Transport, C: Clock>(
        &mut self,
        client: &Client<T, C>,
        now: u64,
        tell: &mut dyn FnMut(Torrent),
    ) -> Result<GlobalStats, Error> {
        // After a quiet poll somebody just came to look.
        let labels = self.was_quiet || now.saturating_sub(self.labels_read_at) >= LABELS_EVERY_MS;
        let (stats, singles) = self.read_moving(client, labels, tell)?;
        if singles.len() > MAX_SINGLES {
            return self.read_everything(client, tell);
        }
        self.swept_at = now;
        if labels {
            self.labels_read_at = now;
        }
        self.read_singles(client, singles, tell)?;
        Ok(stats)
    }

    pub(crate) fn read_everything<T: Transport, C: Clock>(
        &mut self,
        client: &Client<T, C>,
        tell: &mut dyn FnMut(Torrent),
    ) -> Result<GlobalStats, Error> {
        match self.read_all(client, tell) {
            // The answer of a release that words one of the commands in it otherwise.
            Err(Error::Protocol(text)) if text.starts_with(rows::FAULT) && !self.cannot_count => {
                self.cannot_count = true;
                self.read_all(client, tell)
            }
            stats => stats,
        }
    }

    fn read_all<T: Transport, C: Clock>(
        &mut self,
        client: &Client<T, C>,
        tell: &mut dyn FnMut(Torrent),
    ) -> Result<GlobalStats, Error> {
        self.reads += 1;
        let counts = if self.cannot_count {
            trackers::NO_COUNTS
        } else {
            trackers::COUNTS
        };
        let mut reader = FullReader {
            poller: &mut *self,
            next: 0,
            tell,
        };
        let [name, label, base_path] = fields::TEXTS;
        let columns = [
            fields::MOVING,
            fields::DIRECTORY,
            fields::RESTING,
            name,
            label,
            base_path,
            counts,
        ];
        let stats = read_list(client, List::Main, &columns, &mut reader)?;
        self.full_read_at = client.clock.monotonic_ms();
        self.swept_at = self.full_read_at;
        self.labels_read_at = self.full_read_at;
        Ok(stats)
    }

    fn read_moving<T: Transport, C: Clock>(
        &mut self,
        client: &Client<T, C>,
        labels: bool,
        tell: &mut dyn FnMut(Torrent),
    ) -> Result<(GlobalStats, Vec<Single>), Error> {
        self.reads += 1;
        let mut reader = LightReader::new(self, tell);
        reader.labels = labels;
        let [_, label, _] = fields::TEXTS;
        let columns = [fields::MOVING, fields::DIRECTORY, label];
        let asked = if labels { columns.as_slice() } else { &columns[..2] };
        let stats = read_list(client, List::Main, asked, &mut reader)?;
        let singles = reader.singles;
        Ok((stats, singles))
    }

    /// Asks for the resting part of some torrents. One that vanished meanwhile is passed over.
    pub(crate) fn read_singles<T: Transport, C: Clock>(
        &mut self,
        client: &Client<T, C>,
        singles: Vec<Single>,
        tell: &mut dyn FnMut(Torrent),
    ) -> Result<(), Error> {
        let hashes: Vec<String> = singles
            .iter()
            .map(|single| fields::hex(&single.moving.hash).to_uppercase())
            .collect();
        let rests = client.resting(&hashes)?;
        for (single, resting) in singles.into_iter().zip(rests) {
            let Some(resting) = resting else { continue };
            tell(fields::torrent(&single.moving, &resting));
            let at = self.index.get(&single.moving.hash).copied();
            self.remember(at, single.print, 0, &single.moving, Some(resting));
        }
        Ok(())
    }

    /// Asks, at a slow pace, for what the list does not tell of trackers: the first one where it is not known, and of torrents whose
    /// trackers were not heard yet whether they were by now. Who has news is told when its row comes next.
    fn ask_about_trackers<T: Transport, C: Clock>(&mut self, client: &Client<T, C>) -> Result<(), Error> {
        let target = |entry: &Entry| fields::hex(&entry.hash).to_uppercase();
        let entries = self.entries.iter().enumerate();
        let nameless = entries.filter(|(_, entry)| entry.resting.trackers.needs_host());
        let (nameless, targets): (Vec<usize>, Vec<String>) = nameless
            .take(MAX_FIRST)
            .map(|(at, entry)| (at, target(entry)))
            .unzip();
        if !targets.is_empty() {
            for (at, url) in nameless.into_iter().zip(client.first_trackers(&targets)?) {
                let Some(entry) = self.entries.get_mut(at) else {
                    continue;
                };
                entry
                    .resting
                    .trackers
                    .put_first(url.as_deref().unwrap_or_default());
                if entry.resting.trackers.host.is_some() {
                    entry.look_again();
                }
            }
        }
        let entries = self.entries.iter().enumerate().cycle().skip(self.unheard_from);
        let unheard = entries
            .take(self.entries.len())
            .filter(|(_, entry)| entry.flags.active && entry.resting.trackers.is_unheard());
        let (unheard, targets): (Vec<usize>, Vec<String>) = unheard
            .take(MAX_SINGLES)
            .map(|(at, entry)| (at, target(entry)))
            .unzip();
        self.unheard_from = unheard.last().map_or(0, |last| last + 1);
        if self.cannot_count || targets.is_empty() {
            return Ok(());
        }
        for (at, counts) in unheard.into_iter().zip(client.count_trackers(&targets)?) {
            let Some(entry) = self.entries.get_mut(at) else {
                continue;
            };
            if entry.resting.trackers.count_anew(&counts) {
                entry.look_again();
            }
        }
        Ok(())
    }

    /// Stores the values of a row. Without `resting` the remembered ones stay.
    pub(crate) fn remember(
        &mut self,
        at: Option<usize>,
        print: Print,
        resting_print: u64,
        moving: &Moving,
        resting: Option<Resting>,
    ) {
        let (reads, polls) = (self.reads, self.polls);
        let at = at.unwrap_or_else(|| {
            self.index.insert(moving.hash, self.entries.len());
            self.entries.push(Entry::new(moving.hash));
            self.entries.len() - 1
        });
        let Some(entry) = self.entries.get_mut(at) else {
            return;
        };
        entry.moving = print;
        if let Some(resting) = resting {
            entry.resting_print = resting_print;
            *entry.resting = resting;
        }
        entry.completed = moving.completed;
        entry.uploaded = moving.uploaded;
        entry.size = moving.size;
        entry.directory = fingerprint(moving.directory.as_bytes());
        entry.message = fingerprint(moving.message.as_bytes());
        entry.wanted_chunks = moving.wanted_chunks;
        entry.essential = 0;
        entry.flags = moving.flags;
        entry.priority = moving.priority;
        entry.is_active = moving.state(&entry.resting.trackers).is_active();
        entry.is_busy = moving.is_busy();
        entry.seen = reads;
        entry.told = polls;
    }

    /// Forgets these torrents; their hashes.
    fn drop_where(&mut self, goes: impl Fn(&Entry) -> bool) -> Vec<String> {
        let mut removed = Vec::new();
        self.entries.retain(|entry| {
            let stays = !goes(entry);
            if !stays {
                removed.push(fields::hex(&entry.hash));
            }
            stays
        });
        if !removed.is_empty() {
            self.index = self
                .entries
                .iter()
                .enumerate()
                .map(|(at, entry)| (entry.hash, at))
                .collect();
        }
        removed
    }

    fn add_up(&self, stats: &mut GlobalStats) {
        for entry in &self.entries {
            stats.total_downloaded = stats.total_downloaded.saturating_add(entry.completed);
            stats.total_uploaded = stats.total_uploaded.saturating_add(entry.uploaded);
            stats.active_count += u32::from(entry.is_active);
        }
        stats.torrent_count = u32::try_from(self.entries.len()).unwrap_or(u32::MAX);
    }

    /// Marks the torrent expected at `next` as seen when its row is the same as last time. Lists keep their order, so
    /// mostly the expected one it is.
    fn same_as_expected(&mut self, next: &mut usize, print: Print) -> bool {
        match self.entries.get_mut(*next) {
            Some(entry) if entry.moving == print => {
                entry.seen = self.reads;
                *next += 1;
                true
            }
            _ => false,
        }
    }

    pub(crate) fn find(&self, hash: &[u8; 20], next: &mut usize) -> Option<usize> {
        let at = self.index.get(hash).copied()?;
        *next = at + 1;
        Some(at)
    }
}

impl Entry {
    fn new(hash: [u8; 20]) -> Self {
        Self {
            hash,
            moving: Print::default(),
            resting_print: 0,
            resting: Box::default(),
            completed: 0,
            uploaded: 0,
            size: 0,
            directory: 0,
            message: 0,
            wanted_chunks: 0,
            essential: 0,
            flags: Flags::default(),
            priority: 0,
            is_active: false,
            is_busy: false,
            seen: 0,
            told: 0,
        }
    }

    /// True when nothing of it differs from what is remembered.
    pub(crate) fn has(&self, essential: &Essential, directory: &str, label: &str) -> bool {
        self.flags == essential.flags
            && self.priority == essential.priority
            && self.wanted_chunks == essential.wanted_chunks
            && self.message == fingerprint(essential.message.as_bytes())
            && self.directory == fingerprint(directory.as_bytes())
            && self.resting.label == label
    }

    /// Lets the next look at it tell it, whatever its row says.
    fn look_again(&mut self) {
        self.moving = Print::default();
        self.is_busy = true;
    }

    /// True when the moving part changed in a way that may have changed the resting part too.
    fn is_doubtful(&self, moving: &Moving) -> bool {
        self.flags != moving.flags
            || self.size != moving.size
            || self.message != fingerprint(moving.message.as_bytes())
            || self.directory != fingerprint(moving.directory.as_bytes())
    }
}

/// Reader of rows with the moving fields.
pub(crate) struct LightReader<'a> {
    poller: &'a mut Poller,
    next: usize,
    tell: &'a mut dyn FnMut(Torrent),
    /// The rows end with the label.
    labels: bool,
    /// The row before was the same as last time: the next one is likely to be.
    is_calm: bool,
    /// One more than [`MAX_SINGLES`] at most.
    pub(crate) singles: Vec<Single>,
}

impl<'a> LightReader<'a> {
    pub(crate) fn new(poller: &'a mut Poller, tell: &'a mut dyn FnMut(Torrent)) -> Self {
        Self {
            poller,
            next: 0,
            tell,
            labels: false,
            is_calm: true,
            singles: Vec::new(),
        }
    }
}

impl Sink for LightReader<'_> {
    fn unchanged(&mut self, rest: &[u8]) -> Option<usize> {
        if self.labels || !self.is_calm {
            return None;
        }
        let front = self.poller.entries.get(self.next)?.moving.length();
        let length = rows::closed(rest, front)?;
        let print = Print::take(rest.get(..front)?);
        self.poller
            .same_as_expected(&mut self.next, print)
            .then_some(length)
    }

    fn row(&mut self, raw: &[u8]) -> Result<(), Error> {
        let Some(front) = rows::without_closing(raw) else {
            return Err(Error::Protocol(
                "a torrent in the list is not an array".to_owned(),
            ));
        };
        let (front, label) = if self.labels {
            let row = rows::columns::<{ fields::LABELLED_COLUMNS }>(raw)?;
            let [_, moving_end, _] = row.ends;
            (
                raw.get(..moving_end).unwrap_or_default(),
                Some(text(row.columns[2])),
            )
        } else {
            (front, None)
        };
        let is_relabelled =
            |entry: &Entry| label.as_deref().is_some_and(|label| entry.resting.label != label);
        let print = Print::take(front);
        let expected = self.poller.entries.get(self.next);
        self.is_calm =
            !expected.is_some_and(is_relabelled) && self.poller.same_as_expected(&mut self.next, print);
        if self.is_calm {
            return Ok(());
        }
        let [joined, directory] = if self.labels {
            let [joined, directory, _] = rows::columns::<{ fields::LABELLED_COLUMNS }>(raw)?.columns;
            [joined, directory]
        } else {
            rows::columns::<{ fields::LIGHT_COLUMNS }>(raw)?.columns
        };
        let moving = Moving::parse(&text(joined), text(directory).into_owned())?;
        let found = self.poller.find(&moving.hash, &mut self.next);
        let (reads, polls) = (self.poller.reads, self.poller.polls);
        let Some((at, entry)) = found.and_then(|at| Some((at, self.poller.entries.get_mut(at)?))) else {
            self.ask_later(print, moving);
            return Ok(());
        };
        entry.seen = reads;
        let is_relabelled = is_relabelled(entry);
        if (entry.moving == print && !is_relabelled) || entry.told == polls {
            return Ok(());
        }
        if is_relabelled || entry.is_doubtful(&moving) {
            self.ask_later(print, moving);
            return Ok(());
        }
        (self.tell)(fields::torrent(&moving, &entry.resting));
        self.poller.remember(Some(at), print, 0, &moving, None);
        Ok(())
    }
}

impl LightReader<'_> {
    fn ask_later(&mut self, print: Print, moving: Moving) {
        if self.singles.len() <= MAX_SINGLES {
            self.singles.push(Single { print, moving });
        }
    }
}

/// Takes rows of everything.
struct FullReader<'a> {
    poller: &'a mut Poller,
    next: usize,
    tell: &'a mut dyn FnMut(Torrent),
}

impl Sink for FullReader<'_> {
    fn row(&mut self, raw: &[u8]) -> Result<(), Error> {
        let row = rows::columns::<{ fields::FULL_COLUMNS }>(raw)?;
        let [_, moving_end, ..] = row.ends;
        let front = raw.get(..moving_end).unwrap_or_default();
        let rest = rows::without_closing(raw)
            .and_then(|raw| raw.get(moving_end..))
            .unwrap_or_default();
        let (print, resting_print) = (Print::take(front), fingerprint(rest));
        let expected = self.poller.entries.get(self.next);
        if expected.is_some_and(|entry| entry.resting_print == resting_print)
            && self.poller.same_as_expected(&mut self.next, print)
        {
            return Ok(());
        }
        let [moving, directory, resting, name, label, base_path, counts] = row.columns.map(text);
        let moving = Moving::parse(&moving, directory.into_owned())?;
        let mut resting = Resting::parse(
            &resting,
            name.into_owned(),
            label.into_owned(),
            base_path.into_owned(),
            &counts,
        )?;
        let found = self.poller.find(&moving.hash, &mut self.next);
        let (reads, polls) = (self.poller.reads, self.poller.polls);
        if let Some(entry) = found.and_then(|at| self.poller.entries.get_mut(at)) {
            entry.seen = reads;
            resting.trackers.keep_host(&entry.resting.trackers);
            // Told once a poll is enough: the fingerprint that stays differs, so the next poll tells the rest.
            if entry.told == polls {
                return Ok(());
            }
            if entry.moving == print && *entry.resting == resting {
                entry.resting_print = resting_print;
                return Ok(());
            }
        }
        if self.poller.entries.len() >= MAX_TORRENTS {
            return Err(Error::Protocol(
                "more than 100,000 torrents in the list".to_owned(),
            ));
        }
        (self.tell)(fields::torrent(&moving, &resting));
        if found.is_none() {
            self.next = self.poller.entries.len() + 1;
        }
        self.poller
            .remember(found, print, resting_print, &moving, Some(resting));
        Ok(())
    }
}

/// Choice of torrents for a list.
#[derive(Clone, Copy)]
pub(crate) enum List {
    /// All.
    Main,
    /// Torrents that this command picks.
    Filtered(&'static str),
}

/// The rates and limits, and the list with these columns, by one connection.
pub(crate) fn read_list<T: Transport, C: Clock>(
    client: &Client<T, C>,
    list: List,
    columns: &[&str],
    sink: &mut impl Sink,
) -> Result<GlobalStats, Error> {
    const RATES: [&str; 4] = [
        "throttle.global_down.rate",
        "throttle.global_up.rate",
        "throttle.global_down.max_rate",
        "throttle.global_up.max_rate",
    ];
    let mut params: Vec<Param<'_>> = vec!["".into(), "main".into()];
    let method = match list {
        List::Main => "d.multicall2",
        List::Filtered(filter) => {
            params.push(Param::Text(filter));
            "d.multicall.filtered"
        }
    };
    params.extend(columns.iter().map(|column| Param::Text(column)));
    let nothing = [Param::Text("")];
    let calls = RATES
        .iter()
        .map(|rate| (*rate, nothing.as_slice()))
        .chain([(method, params.as_slice())]);
    let mut exchange = client.exchange(xml::multicall(calls))?;
    let mut rows = Rows::new(RATES.len());
    while !rows.is_done() {
        let Some(piece) = exchange.piece()? else {
            return Err(Error::Protocol("the list ends before it is complete".to_owned()));
        };
        rows.feed(&piece, sink)?;
    }
    let number = |at: usize| {
        rows.numbers
            .get(at)
            .and_then(|number| u64::try_from(*number).ok())
            .unwrap_or(0)
    };
    Ok(GlobalStats {
        download_rate: number(0),
        upload_rate: number(1),
        download_rate_limit: limit_of_rate(number(2)).unwrap_or(0),
        upload_rate_limit: limit_of_rate(number(3)).unwrap_or(0),
        ..GlobalStats::default()
    })
}
