//! Poll while nobody looks: rTorrent reads each field of each torrent for every list, so it is asked for fewer.
//!
//! Every time: the torrents that have a rate or are being hashed, which rTorrent itself picks out
//! (`d.multicall.filtered`), and one by one those that were so the last time. Every 8 s: of all torrents what a user or
//! another program can do to them ([`fields::ESSENTIAL`]); what differs is asked for one by one. Torrents that a command was just given
//! for, and those that were just handed over, are asked for one by one every time.
//! A release that cannot filter is asked for the essential fields each time.

use crate::client::Client;
use crate::error::Error;
use crate::fields::{self, Essential};
use crate::fingerprint::{Print, fingerprint};
use crate::names;
use crate::poll::{LightReader, List, MAX_SINGLES, Poller, read_list};
use crate::rows::{self, Sink};
use crate::wire::{Clock, Transport};
use crate::xml::text;
use engine_model::{GlobalStats, Torrent};

/// Longest time between two looks at resting torrents, in milliseconds: with ticks 2 s apart, a change is told within 10 s.
const SWEEP_EVERY_MS: u64 = 8_000;

impl Poller {
    /// Reads for a quiet poll: totals, and true when it saw the whole list.
    pub(crate) fn read_quietly<T: Transport, C: Clock>(
        &mut self,
        client: &Client<T, C>,
        now: u64,
        tell: &mut dyn FnMut(Torrent),
    ) -> Result<(GlobalStats, bool), Error> {
        if now.saturating_sub(self.swept_at) < SWEEP_EVERY_MS && !self.cannot_filter {
            match self.read_busy(client, tell) {
                Ok(stats) => return Ok((stats, false)),
                // The answer of a release that does not know the call, or wants it worded differently.
                Err(Error::Protocol(text)) if text.starts_with(rows::FAULT) => self.cannot_filter = true,
                Err(error) => return Err(error),
            }
        }
        self.sweep(client, now, tell).map(|stats| (stats, true))
    }

    fn read_busy<T: Transport, C: Clock>(
        &mut self,
        client: &Client<T, C>,
        tell: &mut dyn FnMut(Torrent),
    ) -> Result<GlobalStats, Error> {
        self.reads += 1;
        let mut reader = LightReader::new(self, tell);
        let columns = [fields::MOVING, fields::DIRECTORY];
        let stats = read_list(client, List::Filtered(fields::BUSY), &columns, &mut reader)?;
        let singles = reader.singles;
        if singles.len() <= MAX_SINGLES {
            self.read_singles(client, singles, tell)?;
        }
        let reads = self.reads;
        let left = self
            .entries
            .iter()
            .filter(|entry| entry.is_busy && entry.seen != reads);
        let left: Vec<[u8; 20]> = left.map(|entry| entry.hash).take(MAX_SINGLES).collect();
        self.look(client, &left, tell)?;
        Ok(stats)
    }

    fn sweep<T: Transport, C: Clock>(
        &mut self,
        client: &Client<T, C>,
        now: u64,
        tell: &mut dyn FnMut(Torrent),
    ) -> Result<GlobalStats, Error> {
        self.reads += 1;
        let mut reader = EssentialReader {
            poller: &mut *self,
            next: 0,
            differ: Vec::new(),
        };
        let [_, label, _] = fields::TEXTS;
        let columns = [fields::ESSENTIAL, fields::DIRECTORY, label];
        let stats = read_list(client, List::Main, &columns, &mut reader)?;
        let differ = reader.differ;
        self.swept_at = now;
        if differ.len() > MAX_SINGLES {
            return self.read_everything(client, tell);
        }
        self.look(client, &differ, tell)?;
        Ok(stats)
    }

    /// Asks for all of some torrents; those that are known and gone.
    pub(crate) fn look<T: Transport, C: Clock>(
        &mut self,
        client: &Client<T, C>,
        hashes: &[[u8; 20]],
        tell: &mut dyn FnMut(Torrent),
    ) -> Result<Vec<[u8; 20]>, Error> {
        let targets: Vec<String> = hashes
            .iter()
            .map(|hash| fields::hex(hash).to_uppercase())
            .collect();
        let mut gone = Vec::new();
        for (hash, found) in hashes.iter().zip(client.look(&targets)?) {
            let at = self.index.get(hash).copied();
            let Some((moving, resting)) = found else {
                if let Some(entry) = at.and_then(|at| self.entries.get_mut(at)) {
                    entry.is_busy = false;
                    gone.push(*hash);
                }
                continue;
            };
            let told = at.and_then(|at| self.entries.get(at)).map(|entry| entry.told);
            if told != Some(self.polls) {
                tell(fields::torrent(&moving, &resting));
            }
            // It did not come as a row, so the next row of it is looked into.
            self.remember(at, Print::default(), 0, &moving, Some(resting));
        }
        Ok(gone)
    }
}

/// Reader of rows with the essential fields.
struct EssentialReader<'a> {
    poller: &'a mut Poller,
    next: usize,
    /// One more than [`MAX_SINGLES`] at most.
    differ: Vec<[u8; 20]>,
}

impl Sink for EssentialReader<'_> {
    fn row(&mut self, raw: &[u8]) -> Result<(), Error> {
        let print = fingerprint(raw);
        let reads = self.poller.reads;
        if let Some(entry) = self.poller.entries.get_mut(self.next)
            && entry.essential == print
        {
            entry.seen = reads;
            self.next += 1;
            return Ok(());
        }
        let row = rows::columns::<{ fields::ESSENTIAL_COLUMNS }>(raw)?;
        let [joined, directory, label] = row.columns.map(text);
        let directory = names::decoded(&directory);
        let essential = Essential::parse(&joined)?;
        let found = self.poller.find(&essential.hash, &mut self.next);
        if let Some(entry) = found.and_then(|at| self.poller.entries.get_mut(at)) {
            entry.seen = reads;
            if entry.has(&essential, &directory, &label) {
                entry.essential = print;
                return Ok(());
            }
        }
        if self.differ.len() <= MAX_SINGLES {
            self.differ.push(essential.hash);
        }
        Ok(())
    }
}
