//! Sparing polls, for clients that compute their whole list again to tell that nothing changed.
//!
//! A 4.x client renders every torrent for each `sync/maindata`, and for each row of `torrents/info`; at 5,000 torrents that
//! is a third of a second of its time, and more where tags are many. But choosing the rows is cheap, and so is its log. So while nobody
//! looks, and between the whole reads while somebody does, a poll asks for
//! * the torrents that the host wants to see as they are now;
//! * the active torrents, and those that were busy at the poll before, every time;
//! * the lines of the log since the last one seen: torrents that come, go, start, stop or move leave one. After a new line
//!   the whole list is read, though not more often than every 8 s;
//! * every 8 s, the torrents that are checked, and for each category those that we know in another one: mostly none;
//! * some of all others, in turn: what no filter and no line tells (a new name) shows only so.
//!
//! While somebody looks the whole list is read too, every [`WHOLE_EVERY_MS`], and at once when somebody comes to look. For an exact poll
//! it is read in any case.
//!
//! A client that tells differences by itself (5.x) is asked for them as ever: that costs it nothing.
//! Bounds: 100 torrents of the turn in a poll, 50,000 hashes of the comparison of categories in a poll, 64 MiB an answer.

use std::collections::HashSet;

use serde::Deserialize;

use crate::error::{Error, garbled};
use crate::http::{Answer, Clock, Http};
use crate::kept::{Kept, Merged, Merging};
use crate::link::{Body, Call, LARGE, Link, SMALL};
use crate::pieces::{Pieces, Place, Sink};
use crate::row::Id;
use crate::session::{Session, joined, read_pieces};
use crate::values::Num;
use engine_model::{Attention, State};

/// Shortest time between two full reads after new log lines, and between two comparisons, in milliseconds: with ticks 2 s
/// apart, a change is told within 10 s.
const EVERY_MS: u64 = 8_000;
/// Age of the whole list while somebody looks, in milliseconds: with ticks 2 s apart it is read every 10 s.
const WHOLE_EVERY_MS: u64 = 8_500;
/// Torrents of the turn in one poll.
const TURN: usize = 100;
/// Hashes that one comparison of categories names; with more of them it takes several.
const MAX_NAMED: usize = 50_000;

/// Memory kept from one quiet poll to the next.
#[derive(Default)]
pub(crate) struct Quiet {
    /// The last line of the log that was seen.
    line: Option<Line>,
    /// True when the log had new lines since the last read of everything.
    owed: bool,
    /// Time of the last read of everything.
    read_ms: Option<u64>,
    compared_ms: Option<u64>,
    /// The category that the next comparison begins with.
    next_category: usize,
    /// Torrents that were busy at the poll before; `None` after a read of everything, which knows better.
    busy: Option<Vec<Id>>,
    /// Torrents still to be asked about in this round.
    turn: Vec<Id>,
    /// Nobody looked at the poll before.
    unwatched: bool,
}

impl Quiet {
    /// Records that everything was read.
    pub(crate) fn read_all(&mut self, now: u64) {
        self.read_ms = Some(now);
        self.owed = false;
        self.busy = None;
    }

    /// True when the whole list is due for somebody who looks, or for something that is decided by it.
    pub(crate) fn is_whole_due(&mut self, attention: Attention, now: u64) -> bool {
        let unwatched = std::mem::replace(&mut self.unwatched, attention == Attention::Quiet);
        let is_old = self
            .read_ms
            .is_none_or(|read| now.saturating_sub(read) >= WHOLE_EVERY_MS);
        match attention {
            Attention::Exact => true,
            Attention::Watched => unwatched || is_old,
            Attention::Quiet => false,
        }
    }

    fn next_of_turn(&mut self, kept: &Kept) -> Vec<Id> {
        if self.turn.is_empty() {
            self.turn = kept.ids().collect();
        }
        let rest = self.turn.len().saturating_sub(TURN);
        let mut next = self.turn.split_off(rest);
        next.retain(|id| kept.has(*id));
        next
    }
}

/// No filter of every version shows these.
pub(crate) fn is_worked_on(state: State) -> bool {
    matches!(state, State::Checking | State::Allocating)
}

fn is_due(last: Option<u64>, now: u64) -> bool {
    last.is_none_or(|last| now.saturating_sub(last) >= EVERY_MS)
}

/// One line of the client's log. Numbers begin anew when the client does, so the instant belongs to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
struct Line {
    id: Num,
    timestamp: Num,
}

/// Reads lines from the last one seen on.
struct Lines {
    seen: Option<Line>,
    found: bool,
    news: bool,
    last: Option<Line>,
}

impl Sink for Lines {
    fn wants(&self, _: Place) -> bool {
        true
    }

    fn piece(&mut self, _: Place, json: &[u8]) -> Result<(), Error> {
        let line: Line = serde_json::from_slice(json).map_err(|error| garbled("log/main", &error))?;
        if Some(line) == self.seen {
            self.found = true;
        } else {
            self.news = true;
        }
        self.last = Some(line);
        Ok(())
    }
}

impl<H: Http, C: Clock> Session<H, C> {
    /// Reads changes as far as that is cheap; `None` when the whole list is due.
    pub(crate) fn read_sparingly(&mut self, fresh: &[Id]) -> Result<Option<Merged>, Error> {
        let news = self.read_log()?;
        let now = self.link.clock.monotonic_ms();
        self.quiet.owed |= news;
        if self.quiet.owed && is_due(self.quiet.read_ms, now) {
            return Ok(None);
        }
        let compares = is_due(self.quiet.compared_ms, now);
        let categories = if compares {
            self.categories_to_compare()?
        } else {
            Vec::new()
        };
        let others = compare(&self.kept, &categories);
        let mut asked = self.quiet.busy.take().unwrap_or_else(|| self.kept.busy());
        asked.extend(self.quiet.next_of_turn(&self.kept));
        asked.extend(self.kept.natives(fresh));
        // In one order, whatever the list's is, and each once.
        asked.sort_unstable();
        asked.dedup();

        let mut merging = self.kept.answer();
        list(&mut self.link, &[("filter", "active")], &mut merging)?;
        let mut busy: HashSet<Id> = merging.seen().collect();
        if compares {
            list(&mut self.link, &[("filter", "checking")], &mut merging)?;
        }
        asked.retain(|id| !merging.has_seen(*id));
        if !asked.is_empty() {
            merging.expect(&asked);
            list(&mut self.link, &[("hashes", &joined(&asked))], &mut merging)?;
        }
        for (category, hashes) in others {
            list(
                &mut self.link,
                &[("category", category), ("hashes", &hashes)],
                &mut merging,
            )?;
        }
        busy.extend(merging.seen_in(is_worked_on));
        let merged = merging.finish();
        self.quiet.busy = Some(busy.into_iter().collect());
        if compares {
            self.quiet.compared_ms = Some(now);
        }
        if !merged.is_empty() {
            // What the client remembers of its last `sync/maindata` is no longer what we know.
            self.lose_track();
        }
        Ok(Some(merged))
    }

    /// Reads the log; true when it has lines that were not seen before.
    fn read_log(&mut self) -> Result<bool, Error> {
        let seen = self.quiet.line;
        // The last line seen comes again; when it does not, this is another log.
        let before = seen
            .map_or(0, |line| line.id.unsigned())
            .checked_sub(1)
            .map_or("-1".to_owned(), |id| id.to_string());
        let query = [("last_known_id", before.as_str())];
        let answer = match self.link.call(&Call::get("/log/main", &query, LARGE)) {
            Ok(answer) => answer,
            // Without a log anything may have happened.
            Err(Error::NotFound(_)) => return Ok(true),
            Err(error) => return Err(error),
        };
        let mut lines = Lines {
            seen,
            found: false,
            news: false,
            last: None,
        };
        read_pieces(answer, Pieces::of_array(), &mut lines)?;
        self.quiet.line = lines.last;
        Ok(lines.news || (seen.is_some() && !lines.found))
    }

    /// The client's categories to compare now, and the empty one: as many as the bound allows, the rest next time.
    fn categories_to_compare(&mut self) -> Result<Vec<String>, Error> {
        let answer = self.link.call(&Call::get("/torrents/categories", &[], SMALL));
        let bytes = match answer {
            Ok(mut answer) => answer.read_to_end()?,
            Err(Error::NotFound(_)) => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let named: serde_json::Map<String, serde_json::Value> =
            serde_json::from_slice(&bytes).map_err(|error| garbled("torrents/categories", &error))?;
        if named.is_empty() {
            return Ok(Vec::new());
        }
        let names = named.into_iter().map(|(name, _)| name);
        let all: Vec<String> = std::iter::once(String::new()).chain(names).collect();
        let room = (MAX_NAMED / self.kept.len().max(1)).clamp(1, all.len());
        let first = self.quiet.next_category % all.len();
        self.quiet.next_category = first + room;
        Ok(all.into_iter().cycle().skip(first).take(room).collect())
    }
}

/// Torrents that we know in another category, for each category. A category also lists the torrents of those below it.
fn compare<'a>(kept: &Kept, categories: &'a [String]) -> Vec<(&'a str, String)> {
    let of = |category: &'a String| {
        let below = format!("{category}/");
        let mut others: Vec<Id> = kept
            .labels()
            .filter(|(_, label)| *label != category && (category.is_empty() || !label.starts_with(&below)))
            .map(|(id, _)| id)
            .collect();
        others.sort_unstable();
        (category.as_str(), joined(&others))
    };
    categories
        .iter()
        .map(of)
        .filter(|(_, hashes)| !hashes.is_empty())
        .collect()
}

/// Rows of `torrents/info`. Asked by a form, because a thousand hashes are too long for an address.
fn list<H: Http, C: Clock>(
    link: &mut Link<H, C>,
    choice: &[(&str, &str)],
    into: &mut Merging<'_>,
) -> Result<(), Error> {
    let call = Call {
        body: Body::Form(choice),
        ..Call::get("/torrents/info", &[], LARGE)
    };
    let answer = link.call(&call).map_err(crate::link::no_such_call)?;
    read_pieces(answer, Pieces::of_array(), into)
}
