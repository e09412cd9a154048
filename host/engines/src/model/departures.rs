//! Torrents that left the list of their client, until it is known that they do not come back.
//!
//! A client that starts lists its torrents one by one, so that one is missing says nothing yet. It is gone when it was missing
//! for [`GRACE`] during which the client was read and no other one came back.
//! Bounds: [`MOST`] torrents; with one more, all of them are forgotten, and nobody is told of them.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use qm_kernel::Timestamp;

/// Time after which a torrent that is missing is gone.
pub const GRACE: Duration = Duration::from_mins(1);
/// Number of torrents that are waited for.
const MOST: usize = 50_000;

#[derive(Clone, Copy, Debug)]
struct Departed {
    at: Timestamp,
    added_at: Option<Timestamp>,
    /// Rules wait for its removal, as a row says.
    is_noted: bool,
}

/// Finding about a torrent that is listed and has no row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Return {
    /// It did not leave a moment ago.
    No,
    /// It is the one that left, which its client had lost for a while.
    Same,
    /// It was added later than the one that left.
    Another,
}

#[derive(Debug, Default)]
pub struct Departures {
    gone: HashMap<Arc<str>, Departed>,
    /// The latest instant at which one came back, or the client was read again after a pause.
    uncertain_at: Option<Timestamp>,
    /// Torrents that came back, whose rows are to be removed.
    returned: Vec<Arc<str>>,
}

impl Departures {
    /// Notes that a torrent is no longer listed. `is_noted`: its row is there already.
    pub fn note(&mut self, hash: Arc<str>, added_at: Option<Timestamp>, at: Timestamp, is_noted: bool) {
        if self.gone.len() >= MOST {
            self.gone.clear();
        }
        self.gone.insert(
            hash,
            Departed {
                at,
                added_at,
                is_noted,
            },
        );
    }

    /// True while it is not known whether the torrent comes back.
    pub fn waits_for(&self, hash: &str) -> bool {
        self.gone.contains_key(hash)
    }

    /// Instant at which the torrent that left was added.
    pub fn added_at(&self, hash: &str) -> Option<Timestamp> {
        self.gone.get(hash)?.added_at
    }

    /// Notes that the removal of these has a row.
    pub fn mark_noted<'a>(&mut self, hashes: impl IntoIterator<Item = &'a str>) {
        for hash in hashes {
            if let Some(departed) = self.gone.get_mut(hash) {
                departed.is_noted = true;
            }
        }
    }

    /// Takes a torrent that is listed again.
    pub fn take_back(&mut self, hash: &Arc<str>, added_at: Option<Timestamp>, at: Timestamp) -> Return {
        let Some(departed) = self.gone.remove(hash) else {
            return Return::No;
        };
        if departed.is_noted {
            self.returned.push(hash.clone());
        }
        let is_later = departed
            .added_at
            .zip(added_at)
            .is_some_and(|(before, now)| now > before);
        if is_later {
            return Return::Another;
        }
        self.uncertain_at = Some(at);
        Return::Same
    }

    /// Begins to wait anew: the client was not read for a while.
    pub fn restart(&mut self, at: Timestamp) {
        self.uncertain_at = Some(at);
    }

    /// Torrents with a row that do not come back; the others are forgotten.
    pub fn take_gone(&mut self, at: Timestamp) -> Vec<Arc<str>> {
        if self.gone.is_empty() {
            return Vec::new();
        }
        let uncertain_at = self.uncertain_at;
        let over = self.gone.extract_if(|_, departed| {
            let since = uncertain_at.map_or(departed.at, |uncertain| uncertain.max(departed.at));
            since.plus(GRACE) <= at
        });
        over.filter(|(_, departed)| departed.is_noted)
            .map(|(hash, _)| hash)
            .collect()
    }

    /// Torrents that came back, whose rows are to be removed; they stay until [`Departures::forget_returned`].
    pub fn returned(&self) -> &[Arc<str>] {
        &self.returned
    }

    pub fn forget_returned(&mut self) {
        self.returned.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(number: i64) -> Timestamp {
        Timestamp::from_secs(1000 + number)
    }

    fn hash(n: u8) -> Arc<str> {
        format!("{n:040x}").into()
    }

    #[test]
    fn one_is_gone_after_a_minute_in_which_none_came_back() {
        let mut departures = Departures::default();
        for n in 1..=3 {
            departures.note(hash(n), Some(second(-500)), second(0), false);
        }
        departures.mark_noted([&*hash(1), &*hash(2)]);
        assert_eq!(departures.take_gone(second(59)), []);
        assert_eq!(
            departures.take_back(&hash(2), Some(second(-500)), second(59)),
            Return::Same
        );
        assert_eq!(departures.returned(), [hash(2)]);
        departures.forget_returned();
        assert_eq!(
            departures.take_gone(second(118)),
            [],
            "the client is still loading"
        );
        assert_eq!(
            departures.take_gone(second(119)),
            [hash(1)],
            "nobody waits for the third"
        );
        assert!(!departures.waits_for(&hash(3)));
        assert_eq!(
            departures.take_back(&hash(1), Some(second(-500)), second(120)),
            Return::No
        );
    }

    #[test]
    fn one_that_was_added_later_is_another() {
        let mut departures = Departures::default();
        departures.note(hash(1), Some(second(0)), second(5), true);
        assert_eq!(
            departures.take_back(&hash(1), Some(second(7)), second(8)),
            Return::Another
        );
        departures.note(hash(1), None, second(9), true);
        assert_eq!(
            departures.take_back(&hash(1), Some(second(7)), second(10)),
            Return::Same,
            "nobody knows when the first one was added"
        );
    }

    #[test]
    fn a_pause_in_which_nobody_looked_does_not_count() {
        let mut departures = Departures::default();
        departures.note(hash(1), None, second(0), true);
        departures.restart(second(500));
        assert_eq!(departures.take_gone(second(559)), []);
        assert_eq!(departures.take_gone(second(560)), [hash(1)]);
    }
}
