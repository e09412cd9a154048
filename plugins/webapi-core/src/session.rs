//! One configured client: the poll, and the way to look torrents up.

use std::collections::HashMap;

use crate::commands::ApiVersion;
use crate::config::Config;
use crate::error::{Error, garbled};
use crate::http::{Answer, Clock, Http};
use crate::kept::{Kept, Merged};
use crate::link::{Call, LARGE, Link, no_such_call};
use crate::model::Delta;
use crate::pieces::{Pieces, Place, Sink};
use crate::quiet::Quiet;
use crate::row::{Id, Merge, Row, Shared};
use crate::standings::Turn;
use engine_model::{Attention, Torrent};

/// Bytes asked for at a time; the host gives no more.
const CHUNK: u32 = 256 * 1024;
/// Hashes named in one request: they stand in its URL.
pub(crate) const BATCH: usize = 50;
/// The whole list is read for a hash the client does not know by that name, but not more often than this.
const SCAN_EVERY_MS: u64 = 1000;
/// Hybrids that are remembered: also those that the client no longer has.
const MAX_ALIASES: usize = 100_000;

/// A conversation with one client. It keeps a login, and, once polled, the list.
pub struct Session<H, C> {
    pub(crate) link: Link<H, C>,
    pub(crate) kept: Kept,
    pub(crate) quiet: Quiet,
    pub(crate) turn: Turn,
    /// The client's number of the last answer merged; 0 asks for everything.
    rid: u64,
    /// The cursor of the last delta given away.
    given: Option<u64>,
    /// Torrents the client lists under another hash than the one everybody else uses: the hybrids.
    aliases: HashMap<Id, Id>,
    scanned_ms: Option<u64>,
    pub(crate) api: Option<ApiVersion>,
}

impl<H: Http, C: Clock> Session<H, C> {
    /// Connects to nothing yet.
    pub fn new(config: Config, http: H, clock: C) -> Self {
        Session {
            link: Link::new(config, http, clock),
            kept: Kept::default(),
            quiet: Quiet::default(),
            turn: Turn::default(),
            rid: 0,
            given: None,
            aliases: HashMap::new(),
            scanned_ms: None,
            api: None,
        }
    }

    /// The client's version, without the `v` it puts before it.
    pub fn version(&mut self) -> Result<String, Error> {
        let said = self.link.text("/app/version")?;
        let version = said.strip_prefix('v').unwrap_or(&said);
        if version.is_empty() || version.len() > 64 || version.contains('<') {
            return Err(Error::Protocol(
                "what answers at baseUrl is not qBittorrent's Web API".into(),
            ));
        }
        Ok(version.to_owned())
    }

    /// Changes since the delta with that cursor, those of the torrents in `fresh` in any case. One small request when nothing changed.
    pub fn poll(
        &mut self,
        cursor: Option<u64>,
        attention: Attention,
        fresh: &[String],
    ) -> Result<Delta, Error> {
        let known = cursor.is_some() && cursor == self.given;
        // Whatever goes wrong from here on, what was merged meanwhile would be missing in a delta.
        let before = self.given.take();
        let spared = if known { Some((attention, fresh)) } else { None };
        let mut merged = self.read(spared).inspect_err(|_| self.rid = 0)?;
        for id in self.kept.take_stirred() {
            self.turn.put(id);
        }
        let heard = self.ask_about_trackers();
        let next = before.map_or_else(|| self.link.clock.monotonic_ms(), |last| last.wrapping_add(1));
        self.given = Some(next);
        if !known {
            return Ok(self.kept.everything(next));
        }
        merged.add_changed(&heard);
        let by_rows = merged.rid == 0;
        let mut delta = merged.delta(&self.kept, next);
        if by_rows {
            (delta.stats.download_rate, delta.stats.upload_rate) = self.kept.rates();
        }
        Ok(delta)
    }

    /// Reads as little as may be where something is known already.
    fn read(&mut self, spared: Option<(Attention, &[String])>) -> Result<Merged, Error> {
        if let Some((attention, fresh)) = spared
            && !self.tells_differences()?
        {
            let now = self.link.clock.monotonic_ms();
            let fresh: Vec<Id> = fresh.iter().filter_map(|hash| Id::parse(hash)).collect();
            if !self.quiet.is_whole_due(attention, now)
                && let Some(merged) = self.read_sparingly(&fresh)?
            {
                return Ok(merged);
            }
        }
        let merged = self.read_maindata()?;
        self.rid = merged.rid;
        self.quiet.read_all(self.link.clock.monotonic_ms());
        Ok(merged)
    }

    fn read_maindata(&mut self) -> Result<Merged, Error> {
        let rid = self.rid.to_string();
        let query = [("rid", rid.as_str())];
        let answer = self
            .link
            .call(&Call::get("/sync/maindata", &query, LARGE))
            .map_err(no_such_call)?;
        let mut merging = self.kept.answer();
        read_pieces(answer, Pieces::of_object(), &mut merging)?;
        let merged = merging.finish();
        match (merged.rid, self.rid, merged.full) {
            (0, ..) => Err(Error::Protocol("sync/maindata has no rid".into())),
            (_, 0, false) => Err(Error::Protocol(
                "sync/maindata is not full although that was asked".into(),
            )),
            _ => Ok(merged),
        }
    }

    /// Forces a full list at the next poll: the differences that the client would tell no longer fit the list kept here.
    pub(crate) fn lose_track(&mut self) {
        self.rid = 0;
    }

    /// One torrent, asked of the client now; its trackers are not, but for what its row tells.
    pub fn get(&mut self, hash: &str) -> Result<Option<Torrent>, Error> {
        let Some(id) = Id::parse(hash) else {
            return Ok(None);
        };
        Ok(self.look_up(&[id])?.remove(&id).map(|row| row.torrent()))
    }

    /// The rows of those the client has, by the hash that was asked for. A hash it does not know may be the v1 hash of a
    /// hybrid, which only the whole list tells.
    pub(crate) fn look_up(&mut self, asked: &[Id]) -> Result<HashMap<Id, Row>, Error> {
        let mut found = self.ask_for(asked)?;
        let missing: Vec<Id> = asked
            .iter()
            .copied()
            .filter(|id| !found.contains_key(id))
            .collect();
        if missing.is_empty() || !self.scan()? {
            return Ok(found);
        }
        let hybrids: Vec<Id> = missing
            .into_iter()
            .filter(|id| self.aliases.contains_key(id))
            .collect();
        if !hybrids.is_empty() {
            found.extend(self.ask_for(&hybrids)?);
        }
        Ok(found)
    }

    /// The rows of those the client has under the names we know so far.
    pub(crate) fn ask_for(&mut self, asked: &[Id]) -> Result<HashMap<Id, Row>, Error> {
        let mut found = HashMap::new();
        for batch in asked.chunks(BATCH) {
            let names: Vec<Id> = batch.iter().map(|id| self.native(*id)).collect();
            let natives: HashMap<Id, Id> = names.iter().copied().zip(batch.iter().copied()).collect();
            let hashes = joined(&names);
            let query = [("hashes", hashes.as_str())];
            self.list(&query, &mut |row: Row| {
                if let Some(asked) = natives.get(&row.id) {
                    found.insert(*asked, row);
                }
            })?;
        }
        Ok(found)
    }

    /// Hash by which the client names a torrent.
    pub(crate) fn native(&self, hash: Id) -> Id {
        self.aliases.get(&hash).copied().unwrap_or(hash)
    }

    /// Reads the whole list for the hybrids in it; says whether that was done.
    fn scan(&mut self) -> Result<bool, Error> {
        let now = self.link.clock.monotonic_ms();
        if self
            .scanned_ms
            .is_some_and(|last| now.saturating_sub(last) < SCAN_EVERY_MS)
        {
            return Ok(false);
        }
        self.aliases.clear();
        self.list(&[], &mut |_| {})?;
        self.scanned_ms = Some(now);
        Ok(true)
    }

    /// Hands each row of `torrents/info` to `each`, and remembers the hybrids among them.
    fn list(&mut self, query: &[(&str, &str)], each: &mut dyn FnMut(Row)) -> Result<(), Error> {
        let answer = self
            .link
            .call(&Call::get("/torrents/info", query, LARGE))
            .map_err(no_such_call)?;
        let mut listing = Listing {
            aliases: &mut self.aliases,
            shared: Shared::default(),
            each,
        };
        read_pieces(answer, Pieces::of_array(), &mut listing)
    }

    /// Does `ask` for a torrent by the client's own name for it: first the one we know, then, if the client knows no
    /// such torrent, the one a look-up tells.
    pub(crate) fn by_name<T>(
        &mut self,
        hash: &str,
        mut ask: impl FnMut(&mut Link<H, C>, &str) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let unknown = Error::NotFound(crate::error::Subject::Torrent);
        let Some(hash) = Id::parse(hash) else {
            return Err(unknown);
        };
        let native = self.native(hash);
        match ask(&mut self.link, &native.to_string()) {
            Err(error) if error == unknown => {
                self.look_up(&[hash])?;
                let now = self.native(hash);
                if now == native {
                    Err(unknown)
                } else {
                    ask(&mut self.link, &now.to_string())
                }
            }
            answer => answer,
        }
    }

    /// Ends the client's session.
    pub fn close(&mut self) {
        self.link.log_out();
    }
}

/// `a|b|c`, as the client takes several hashes.
pub(crate) fn joined(ids: &[Id]) -> String {
    let mut out = String::new();
    for id in ids {
        if !out.is_empty() {
            out.push('|');
        }
        out.push_str(&id.to_string());
    }
    out
}

pub(crate) fn read_pieces<A: Answer>(
    mut answer: A,
    mut pieces: Pieces,
    sink: &mut impl Sink,
) -> Result<(), Error> {
    loop {
        let chunk = answer.read(CHUNK)?;
        if chunk.is_empty() {
            return pieces.finish();
        }
        pieces.feed(&chunk, sink)?;
    }
}

struct Listing<'a> {
    aliases: &'a mut HashMap<Id, Id>,
    shared: Shared,
    each: &'a mut dyn FnMut(Row),
}

impl Sink for Listing<'_> {
    fn wants(&self, _: Place) -> bool {
        true
    }

    fn piece(&mut self, _: Place, json: &[u8]) -> Result<(), Error> {
        let mut row = Row::blank(Id::default());
        let merge = Merge {
            row: &mut row,
            shared: &mut self.shared,
        };
        merge
            .json(json)
            .map_err(|error| garbled("torrents/info", &error))?;
        if row.id == Id::default() {
            return Ok(()); // it names no hash
        }
        if row.hash() != row.id {
            if self.aliases.len() >= MAX_ALIASES && !self.aliases.contains_key(&row.hash()) {
                self.aliases.clear(); // whichever is asked for is looked up again
            }
            self.aliases.insert(row.hash(), row.id);
        }
        (self.each)(row);
        Ok(())
    }
}
