//! The standing of torrents with their trackers, as far as the client's list does not tell it.
//!
//! A 4.x client names the tracker that works, if one does: only torrents without one are asked about, a few a poll. Later ones name one
//! that may as well be dead; they tell the trackers of many torrents in one answer, so many are asked about in a poll. A torrent is asked
//! about when it is new, when its row says that something happened to its trackers, soon again while none was heard yet or the client
//! gave no answer, each time after a longer wait, and at the latest after [`ANEW_MS`]. One that is stopped announces nothing: it is not
//! asked about soon, and its row says when it is started.
//! Bounds: one answer of [`MANY`] torrents or [`FEW`] answers of one in a poll; no torrent with more than [`MOST`] trackers, for whoever
//! makes a torrent chooses how many it has.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

use serde::Deserialize;

use crate::details::TrackerItem;
use crate::error::{Error, garbled};
use crate::http::{Answer, Clock, Http};
use crate::kept::Kept;
use crate::link::{Body, Call, LARGE, Link};
use crate::row::{Id, Row};
use crate::session::{Session, joined};
use crate::values::Text;
use engine_model::{Tracked, standing::is_lost};

const MANY: usize = 100;
const FEW: usize = 3;
/// Trackers of one torrent from which on they are not asked for.
pub(crate) const MOST: u64 = 200;
/// Time after which trackers that were not heard are asked about again; it doubles with each question in a row.
const SOON_MS: u64 = 4_000;
/// Age that an answer may reach.
const ANEW_MS: u64 = 300_000;

/// Trackers of one torrent as they were told last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Heard {
    pub(crate) tracked: Tracked,
    /// Text of the tracker that decides: of one that works, else of one that lost the torrent, else of the first that fails.
    pub(crate) text: Box<str>,
}

/// Keeps the first text that says something.
fn first<'a>(place: &mut &'a str, text: &'a str) {
    if place.is_empty() {
        *place = text;
    }
}

impl Heard {
    fn from_items(items: &[TrackerItem]) -> Self {
        let mut tracked = Tracked::default();
        let (mut works, mut lost, mut fails) = ("", "", "");
        // What is no tracker stands in the same list, as `** [DHT] **`.
        for item in items.iter().filter(|item| !item.url.0.starts_with("**")) {
            let text = item.msg.0.as_str();
            match item.status.unsigned() {
                0 => {}
                2 => {
                    tracked.working += 1;
                    first(&mut works, text);
                }
                // 5.x tells apart why: 4 fails, 5 refuses, 6 is not reached.
                4..=6 => {
                    tracked.failing += 1;
                    first(&mut fails, text);
                    if is_lost(text) {
                        first(&mut lost, text);
                    }
                }
                _ => tracked.unheard += 1,
            }
        }
        let decides = match (tracked.working, lost) {
            (1.., _) => works,
            (_, "") => fails,
            _ => lost,
        };
        Self {
            tracked,
            text: decides.into(),
        }
    }

    fn is_unheard(&self) -> bool {
        self.tracked.working == 0 && self.tracked.unheard > 0
    }
}

/// Order in which torrents are asked about.
#[derive(Default)]
pub(crate) struct Turn {
    due: VecDeque<Id>,
    /// The moments at which they are to be asked about again.
    waiting: BinaryHeap<Reverse<(u64, Id)>>,
    /// The client tells the trackers of several torrents in one answer; none before it was tried.
    tells_many: Option<bool>,
}

impl Turn {
    /// Puts a torrent at the end of those that are due; its row knows that it is.
    pub(crate) fn put(&mut self, id: Id) {
        self.due.push_back(id);
    }

    /// The next ones, of which the list still says that they are to be asked about.
    fn next(&mut self, kept: &mut Kept, now: u64, room: usize) -> Vec<Id> {
        while let Some(Reverse((at, id))) = self.waiting.peek().copied()
            && at <= now
        {
            self.waiting.pop();
            // One that was asked about since waits elsewhere in here.
            if kept
                .row_mut(id)
                .is_some_and(|row| row.again_ms == Some(at) && row.make_due())
            {
                self.due.push_back(id);
            }
        }
        let mut next = Vec::new();
        while next.len() < room
            && let Some(id) = self.due.pop_front()
        {
            if kept.row_mut(id).is_some_and(Row::take_turn) {
                next.push(id);
            }
        }
        next
    }
}

/// A row of the list with its trackers.
#[derive(Deserialize)]
struct Listed {
    #[serde(default)]
    hash: Text,
    trackers: Option<Vec<TrackerItem>>,
}

impl<H: Http, C: Clock> Session<H, C> {
    /// Asks about the trackers of some torrents, and says of which that is news. A client that does not answer this has its list read
    /// all the same; they come again later.
    pub(crate) fn ask_about_trackers(&mut self) -> Vec<Id> {
        let now = self.link.clock.monotonic_ms();
        let room = if self.turn.tells_many == Some(false) {
            FEW
        } else {
            MANY
        };
        let asked = self.turn.next(&mut self.kept, now, room);
        if asked.is_empty() {
            return Vec::new();
        }
        let (asked, later) = match self.turn.tells_many {
            Some(false) => (asked, Vec::new()),
            _ => match ask_many(&mut self.link, &asked) {
                Ok(Some(heard)) => {
                    self.turn.tells_many = Some(true);
                    return self.take_heard(&asked, heard, now);
                }
                Ok(None) => {
                    self.turn.tells_many = Some(false);
                    let (few, rest) = asked.split_at(FEW.min(asked.len()));
                    (few.to_vec(), rest.to_vec())
                }
                Err(_) => return self.take_heard(&asked, Vec::new(), now),
            },
        };
        for id in later {
            if self.kept.row_mut(id).is_some_and(Row::make_due) {
                self.turn.put(id);
            }
        }
        let mut heard = Vec::new();
        for id in &asked {
            if let Ok(one) = ask_one(&mut self.link, *id) {
                heard.push((*id, one));
            }
        }
        self.take_heard(&asked, heard, now)
    }

    /// Stores the answers about these torrents, and when they are asked about again: those without an answer too.
    fn take_heard(&mut self, asked: &[Id], heard: Vec<(Id, Heard)>, now: u64) -> Vec<Id> {
        let mut heard: HashMap<Id, Heard> = heard.into_iter().collect();
        let mut news = Vec::new();
        for id in asked {
            let answer = heard.remove(id);
            let is_told = answer.is_some();
            let is_heard = answer.as_ref().is_some_and(|heard| !heard.is_unheard());
            if let Some(answer) = answer
                && self.kept.hear(*id, answer)
            {
                news.push(*id);
            }
            let Some(row) = self.kept.row_mut(*id) else {
                continue;
            };
            let wait = if is_heard || (is_told && !row.runs()) {
                row.unanswered = 0;
                ANEW_MS
            } else {
                row.unanswered = row.unanswered.saturating_add(1);
                wait_after(row.unanswered)
            };
            let again = now.saturating_add(wait);
            row.again_ms = Some(again);
            self.turn.waiting.push(Reverse((again, *id)));
        }
        news
    }
}

/// Wait after so many questions in a row that told of no tracker.
fn wait_after(unanswered: u8) -> u64 {
    let doublings = u32::from(unanswered).saturating_sub(1).min(16);
    (SOON_MS << doublings).min(ANEW_MS)
}

/// The trackers of many torrents; none where the client does not tell them so.
fn ask_many<H: Http, C: Clock>(link: &mut Link<H, C>, ids: &[Id]) -> Result<Option<Vec<(Id, Heard)>>, Error> {
    let hashes = joined(ids);
    let choice = [("includeTrackers", "true"), ("hashes", hashes.as_str())];
    let call = Call {
        body: Body::Form(&choice),
        ..Call::get("/torrents/info", &[], LARGE)
    };
    let body = link.call(&call)?.read_to_end()?;
    let rows: Vec<Listed> =
        serde_json::from_slice(&body).map_err(|error| garbled("torrents/info", &error))?;
    if rows.iter().any(|row| row.trackers.is_none()) {
        return Ok(None);
    }
    let heard = |row: Listed| Some((Id::parse(&row.hash.0)?, Heard::from_items(&row.trackers?)));
    Ok(Some(rows.into_iter().filter_map(heard).collect()))
}

fn ask_one<H: Http, C: Clock>(link: &mut Link<H, C>, id: Id) -> Result<Heard, Error> {
    let hash = id.to_string();
    let query = [("hash", hash.as_str())];
    let body = link
        .call(&Call::get("/torrents/trackers", &query, LARGE))?
        .read_to_end()?;
    let items: Vec<TrackerItem> =
        serde_json::from_slice(&body).map_err(|error| garbled("torrents/trackers", &error))?;
    Ok(Heard::from_items(&items))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(json: &str) -> Heard {
        Heard::from_items(&serde_json::from_str::<Vec<TrackerItem>>(json).expect("a list"))
    }

    fn tracked(working: u32, failing: u32, unheard: u32) -> Tracked {
        Tracked {
            working,
            failing,
            unheard,
        }
    }

    #[test]
    fn the_text_is_that_of_the_tracker_which_decides() {
        for (json, expected, text) in [
            ("[]", tracked(0, 0, 0), ""),
            (
                r#"[{"url":"** [DHT] **","status":2},{"url":"a","status":4,"msg":"internal error"},{"url":"b","status":2,"msg":"slow down"}]"#,
                tracked(1, 1, 0),
                "slow down",
            ),
            (
                r#"[{"url":"a","status":4,"msg":"Connection refused"},{"url":"b","status":5,"msg":"unregistered torrent"},
                    {"url":"c","status":0}]"#,
                tracked(0, 2, 0),
                "unregistered torrent",
            ),
            (
                r#"[{"url":"a","status":6,"msg":""},{"url":"b","status":4,"msg":"Not now"},{"url":"c","status":1},{"url":"d","status":3}]"#,
                tracked(0, 2, 2),
                "Not now",
            ),
        ] {
            let heard = heard(json);
            assert_eq!((heard.tracked, &*heard.text), (expected, text), "{json}");
        }
    }
}
