//! Torrents that left the list of their client, until it is known that they do not come back.
//!
//! A client that starts lists its torrents one by one, so that one is missing says nothing yet. It is gone when it was missing
//! for [`GRACE`] during which the client was read and no other one came back.
//! Bounds: [`MOST`] torrents; with one more, all of them are forgotten, and nobody is told of them.

use std::collections::{HashMap, HashSet};
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
    returned: HashSet<Arc<str>>,
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
            // The row is that of the latest departure.
            self.returned.remove(hash);
        }
    }

    /// Takes a torrent that is listed again.
    pub fn take_back(&mut self, hash: &Arc<str>, added_at: Option<Timestamp>, at: Timestamp) -> Return {
        let Some(departed) = self.gone.remove(hash) else {
            return Return::No;
        };
        if departed.is_noted {
            self.returned.insert(hash.clone());
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

    /// Torrents with a row that do not come back; they stay until [`Departures::forget_gone`]. Those without a row are forgotten.
    pub fn find_gone(&mut self, at: Timestamp) -> Vec<Arc<str>> {
        let uncertain_at = self.uncertain_at;
        let is_over = |departed: &Departed| {
            let since = uncertain_at.map_or(departed.at, |uncertain| uncertain.max(departed.at));
            since.plus(GRACE) <= at
        };
        self.gone
            .retain(|_, departed| departed.is_noted || !is_over(departed));
        let over = self.gone.iter().filter(|(_, departed)| is_over(departed));
        over.map(|(hash, _)| hash.clone()).collect()
    }

    /// Forgets torrents that are gone: their removal was told.
    pub fn forget_gone(&mut self, hashes: &[Arc<str>]) {
        for hash in hashes {
            self.gone.remove(hash);
        }
    }

    /// Torrents that came back, `most` of them, whose rows are to be removed; they stay until [`Departures::forget_returned`].
    pub fn returned(&self, most: usize) -> Vec<Arc<str>> {
        self.returned.iter().take(most).cloned().collect()
    }

    /// Forgets torrents that came back: their rows are removed.
    pub fn forget_returned(&mut self, hashes: &[Arc<str>]) {
        for hash in hashes {
            self.returned.remove(hash);
        }
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

    fn take_gone(departures: &mut Departures, at: Timestamp) -> Vec<Arc<str>> {
        let gone = departures.find_gone(at);
        departures.forget_gone(&gone);
        gone
    }

    #[test]
    fn one_is_gone_after_a_minute_in_which_none_came_back() {
        let mut departures = Departures::default();
        for n in 1..=3 {
            departures.note(hash(n), Some(second(-500)), second(0), false);
        }
        departures.mark_noted([&*hash(1), &*hash(2)]);
        assert_eq!(take_gone(&mut departures, second(59)), []);
        assert_eq!(
            departures.take_back(&hash(2), Some(second(-500)), second(59)),
            Return::Same
        );
        assert_eq!(departures.returned(9), [hash(2)]);
        departures.forget_returned(&[hash(2)]);
        assert_eq!(departures.returned(9), []);
        assert_eq!(
            take_gone(&mut departures, second(118)),
            [],
            "the client is still loading"
        );
        assert_eq!(
            take_gone(&mut departures, second(119)),
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
    fn one_whose_removal_could_not_be_told_stays_as_it_was() {
        let mut departures = Departures::default();
        departures.note(hash(1), Some(second(0)), second(5), true);
        for at in [65, 67] {
            assert_eq!(departures.find_gone(second(at)), [hash(1)]);
        }
        assert_eq!(
            departures.take_back(&hash(1), Some(second(66)), second(68)),
            Return::Another
        );
        assert_eq!(departures.find_gone(second(69)), []);
    }

    #[test]
    fn rows_of_those_that_came_back_are_removed_some_at_a_time() {
        let mut departures = Departures::default();
        for n in 1..=3 {
            departures.note(hash(n), None, second(0), true);
            departures.take_back(&hash(n), None, second(1));
        }
        let some = departures.returned(2);
        assert_eq!(some.len(), 2);
        departures.forget_returned(&some);
        let [last] = &departures.returned(2)[..] else {
            panic!("one is left");
        };
        // It went once more, and its row is a new one.
        let last = last.clone();
        departures.note(last.clone(), None, second(2), false);
        departures.mark_noted([&*last]);
        assert_eq!(departures.returned(2), []);
    }

    #[test]
    fn a_pause_in_which_nobody_looked_does_not_count() {
        let mut departures = Departures::default();
        departures.note(hash(1), None, second(0), true);
        departures.restart(second(500));
        assert_eq!(take_gone(&mut departures, second(559)), []);
        assert_eq!(take_gone(&mut departures, second(560)), [hash(1)]);
    }
}
