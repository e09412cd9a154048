//! What is done and what is under way, in memory, for the passes over the torrents: they look at every torrent that changed, and
//! must not ask the database of each.
//!
//! Says no more than the database does: it is filled from it, and told of each change after its commit. Whether a run is stored is
//! judged there all the same.
//! Rules are known by numbers, which a process gives them for its life.
//! Runs that fail are tried again after [`FIRST_REST`], then after twice as long each time, up to [`LONGEST_REST`]: the torrent's run by
//! itself, and the whole rule once several torrents in a row failed for one reason, because then it is what the rule asks that
//! does not answer. Whoever changes the rule has it tried at once. Of that nothing is stored: a start tries again.
//! Bounds: some 48 bytes for every 64 rules and torrent of the ledger; a pair that failed, until it is done or an hour after it
//! would have been tried.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use qm_kernel::Timestamp;
use qm_ports::action::TorrentRef;

/// A torrent: its hash, and the number of its engine.
type Torrent = (u128, u32, u32);

/// Time between the first failure and the next try.
const FIRST_REST: Duration = Duration::from_secs(2);
/// Longest time between two tries.
const LONGEST_REST: Duration = Duration::from_hours(1);

/// A run that failed, and is tried again.
#[derive(Debug)]
struct Rest {
    torrent: TorrentRef,
    /// Failures in a row.
    failures: u32,
    until: Timestamp,
    /// It is being tried, or was given up.
    is_due: bool,
}

/// Failures of one rule in a row, for one reason.
#[derive(Debug)]
struct Streak {
    reason: String,
    /// Another torrent than the last one has failed in it.
    is_shared: bool,
    last: Torrent,
    failures: u32,
}

/// Time to the next try after so many failures in a row.
fn rest_after(failures: u32) -> Duration {
    let doublings = failures.saturating_sub(1).min(16);
    (FIRST_REST * (1 << doublings)).min(LONGEST_REST)
}

#[derive(Debug, Default)]
pub struct Memory {
    /// Rules whose ledger was read.
    read: HashSet<u32>,
    /// The numbers by which engines are known here, for the life of the process.
    engines: HashMap<String, u32>,
    /// By torrent and by the number of the rule divided by 64: the rules that are done with it.
    done: HashMap<(Torrent, u32), u64>,
    /// Rules divided by 64, one more than the highest in `done`.
    words: u32,
    /// Torrents were forgotten since passes asked last: one that is listed again may be looked at once more.
    has_forgotten: bool,
    /// Runs that are stored and have not ended.
    under_way: HashSet<(Torrent, u32)>,
    /// Runs that failed.
    resting: HashMap<(Torrent, u32), Rest>,
    streaks: HashMap<u32, Streak>,
    /// Rules that are left alone, and until when.
    held: HashMap<u32, Timestamp>,
}

fn hash_of(hash: &str) -> (u128, u32) {
    let digits = hash.len() == 40 && hash.is_ascii();
    let read = digits.then(|| hash.split_at(32)).and_then(|(head, tail)| {
        let head = u128::from_str_radix(head, 16).ok()?;
        Some((head, u32::from_str_radix(tail, 16).ok()?))
    });
    read.unwrap_or_else(|| {
        // No hash of a torrent; told apart as well as can be.
        let fold = |sum: u128, byte: u8| sum.wrapping_mul(0x0100_0000_01b3).wrapping_add(byte.into());
        (hash.bytes().fold(0, fold), u32::MAX)
    })
}

impl Memory {
    /// None: nothing is known of any torrent of that engine.
    fn known(&self, engine_id: &str, hash: &str) -> Option<Torrent> {
        let engine = *self.engines.get(engine_id)?;
        let (head, tail) = hash_of(hash);
        Some((head, tail, engine))
    }

    fn key(&mut self, engine_id: &str, hash: &str) -> Torrent {
        let next = u32::try_from(self.engines.len()).unwrap_or(u32::MAX);
        let engine = match self.engines.get(engine_id) {
            Some(engine) => *engine,
            None => *self.engines.entry(engine_id.to_owned()).or_insert(next),
        };
        let (head, tail) = hash_of(hash);
        (head, tail, engine)
    }

    pub fn is_read(&self, rule: u32) -> bool {
        self.read.contains(&rule)
    }

    pub fn note_read(&mut self, rule: u32) {
        self.read.insert(rule);
    }

    fn is_done(&self, rule: u32, torrent: Torrent) -> bool {
        let word = self.done.get(&(torrent, rule / 64));
        word.is_some_and(|word| word & (1 << (rule % 64)) != 0)
    }

    pub fn note_done(&mut self, rule: u32, engine_id: &str, hash: &str) {
        let torrent = self.key(engine_id, hash);
        self.words = self.words.max(rule / 64 + 1);
        *self.done.entry((torrent, rule / 64)).or_default() |= 1 << (rule % 64);
    }

    /// Forgets torrents of an engine that were added once more: they are other ones under the same hash.
    pub fn forget(&mut self, engine_id: &str, hashes: &[String]) {
        let renewed: HashSet<Torrent> = hashes
            .iter()
            .filter_map(|hash| self.known(engine_id, hash))
            .collect();
        for torrent in &renewed {
            for word in 0..self.words {
                self.done.remove(&(*torrent, word));
            }
        }
        self.resting.retain(|(torrent, _), _| !renewed.contains(torrent));
        self.has_forgotten = true;
    }

    pub fn note_begun(&mut self, rule: u32, torrent: &TorrentRef) {
        let torrent = self.key(&torrent.engine_id, &torrent.hash);
        self.under_way.insert((torrent, rule));
    }

    /// A run has ended, and the rule is done with the torrent.
    pub fn note_settled(&mut self, rule: u32, torrent: &TorrentRef) {
        let pair = (self.key(&torrent.engine_id, &torrent.hash), rule);
        self.note_done(rule, &torrent.engine_id, &torrent.hash);
        self.resting.remove(&pair);
        self.streaks.remove(&rule);
        self.under_way.remove(&pair);
    }

    /// A run has failed, for that reason; it is tried again.
    pub fn note_failed(&mut self, rule: u32, torrent: &TorrentRef, reason: &str, now: Timestamp) {
        let pair = (self.key(&torrent.engine_id, &torrent.hash), rule);
        let failures = self.resting.get(&pair).map_or(0, |rest| rest.failures) + 1;
        let rest = Rest {
            torrent: torrent.clone(),
            failures,
            until: now.plus(rest_after(failures)),
            is_due: false,
        };
        self.resting.insert(pair, rest);
        let streak = self.streaks.entry(rule).or_insert_with(|| Streak {
            reason: reason.to_owned(),
            is_shared: false,
            last: pair.0,
            failures: 0,
        });
        if streak.reason == reason {
            streak.failures = streak.failures.saturating_add(1);
            streak.is_shared |= streak.last != pair.0;
        } else {
            reason.clone_into(&mut streak.reason);
            (streak.failures, streak.is_shared) = (1, false);
        }
        streak.last = pair.0;
        if streak.is_shared {
            let until = now.plus(rest_after(streak.failures));
            self.hold(rule, until);
        }
        self.under_way.remove(&pair);
    }

    /// A run was not begun, for its rule may do nothing until then.
    pub fn note_held(&mut self, rule: u32, torrent: &TorrentRef, until: Timestamp) {
        let pair = (self.key(&torrent.engine_id, &torrent.hash), rule);
        self.hold(rule, until);
        self.under_way.remove(&pair);
    }

    /// True if something is to be decided about the pair now.
    pub fn is_open(&self, rule: u32, (engine_id, hash): (&str, &str), now: Timestamp) -> bool {
        if self.is_held(rule) {
            return false;
        }
        let Some(torrent) = self.known(engine_id, hash) else {
            return true;
        };
        let is_resting = self
            .resting
            .get(&(torrent, rule))
            .is_some_and(|rest| rest.until > now);
        !is_resting && !self.under_way.contains(&(torrent, rule)) && !self.is_done(rule, torrent)
    }

    /// Leaves a rule alone until then, if it is not for longer already.
    pub fn hold(&mut self, rule: u32, until: Timestamp) {
        let held = self.held.entry(rule).or_insert(until);
        *held = until.max(*held);
    }

    /// Leaves a rule alone no longer, for it was changed: what failed is tried at once.
    pub fn release(&mut self, rule: u32) {
        self.held.remove(&rule);
        self.streaks.remove(&rule);
        for ((_, of), rest) in &mut self.resting {
            if *of == rule {
                (rest.until, rest.is_due) = (Timestamp::from_ms(0), false);
            }
        }
    }

    /// Leaves those alone no longer whose time has passed. `true`: there were some, or torrents were forgotten; all is to be
    /// looked at again.
    pub fn release_by(&mut self, now: Timestamp) -> bool {
        let before = self.held.len();
        self.held.retain(|_, until| *until > now);
        std::mem::take(&mut self.has_forgotten) || self.held.len() < before
    }

    pub fn is_held(&self, rule: u32) -> bool {
        self.held.contains_key(&rule)
    }

    /// No run is stored. Whoever stored one at this moment is not heard here: that it is there is found out when it is
    /// decided again.
    pub fn note_idle(&mut self) {
        self.under_way.clear();
    }

    pub fn under_way(&self) -> usize {
        self.under_way.len()
    }

    /// Torrents for which a run failed that is to be tried again now; each once.
    pub fn take_failed(&mut self, now: Timestamp) -> Vec<TorrentRef> {
        // Of a torrent that is gone nobody tells; a rule that was changed may not concern it any more.
        self.resting
            .retain(|_, rest| !rest.is_due || rest.until.plus(LONGEST_REST) > now);
        let mut due = Vec::new();
        for ((_, rule), rest) in &mut self.resting {
            if !rest.is_due && rest.until <= now && !self.held.contains_key(rule) {
                rest.is_due = true;
                due.push(rest.torrent.clone());
            }
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_ms(1_800_000_000_000 + seconds * 1000)
    }

    fn torrent(n: u8) -> TorrentRef {
        TorrentRef {
            engine_id: "e".into(),
            hash: format!("{n:02x}").repeat(20),
        }
    }

    fn is_open(memory: &Memory, rule: u32, n: u8, second: i64) -> bool {
        memory.is_open(rule, ("e", &torrent(n).hash), at(second))
    }

    #[test]
    fn what_fails_rests_for_longer_each_time() {
        let mut memory = Memory::default();
        let (mut now, mut rests) = (0, Vec::new());
        for _ in 0..14 {
            memory.note_failed(1, &torrent(1), "no", at(now));
            let until = (now..now + 4000)
                .find(|second| is_open(&memory, 1, 1, *second))
                .expect("an end");
            assert!(memory.take_failed(at(until - 1)).is_empty());
            assert_eq!(memory.take_failed(at(until)), [torrent(1)]);
            assert!(memory.take_failed(at(until)).is_empty(), "once");
            rests.push(until - now);
            now = until;
        }
        let doubled = [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 3600, 3600, 3600];
        assert_eq!(rests, doubled);
        assert!(
            !memory.is_held(1),
            "it is about this torrent, as far as anybody knows"
        );
        memory.release(1);
        assert_eq!(
            memory.take_failed(at(now)),
            [torrent(1)],
            "a rule that was changed is tried at once"
        );
        memory.take_failed(at(now + 9999));
        assert!(memory.resting.is_empty(), "nothing stays of what nobody tried");
    }

    #[test]
    fn a_rule_that_fails_for_one_reason_rests_as_a_whole() {
        let mut memory = Memory::default();
        memory.note_failed(1, &torrent(1), "Webhook responded 400", at(0));
        assert!(!memory.is_held(1));
        for (second, n) in [(0, 2), (4, 3), (12, 4)] {
            memory.release_by(at(second));
            assert!(!memory.is_held(1), "{second}");
            memory.note_failed(1, &torrent(n), "Webhook responded 400", at(second));
            assert!(memory.is_held(1) && memory.take_failed(at(second + 3)).is_empty());
        }
        // Another reason begins anew, and a success ends it.
        memory.note_failed(1, &torrent(5), "another", at(100));
        memory.release_by(at(101));
        assert!(!memory.is_held(1));
        memory.note_failed(1, &torrent(6), "another", at(101));
        memory.release_by(at(105));
        memory.note_settled(1, &torrent(1));
        memory.note_failed(1, &torrent(5), "another", at(200));
        assert!(!memory.is_held(1), "one torrent says nothing of the others");
        assert!(!memory.is_held(2));
    }

    #[test]
    fn pairs_are_told_apart() {
        let mut memory = Memory::default();
        for rule in [0, 63, 64, 130] {
            memory.note_done(rule, "e", &torrent(1).hash);
        }
        for rule in 0..200 {
            let done = [0, 63, 64, 130].contains(&rule);
            assert_eq!(is_open(&memory, rule, 1, 0), !done, "{rule}");
            assert!(is_open(&memory, rule, 2, 0));
            assert!(
                memory.is_open(rule, ("another", &torrent(1).hash), at(0)),
                "on another engine"
            );
        }
        memory.note_begun(5, &torrent(2));
        assert!(!is_open(&memory, 5, 2, 0) && is_open(&memory, 6, 2, 0) && memory.under_way() == 1);
        memory.note_failed(5, &torrent(2), "no", at(0));
        assert!(!is_open(&memory, 5, 2, 1) && is_open(&memory, 5, 2, 2) && memory.under_way() == 0);
        assert_eq!(memory.take_failed(at(2)), [torrent(2)]);
        memory.note_begun(5, &torrent(2));
        memory.note_settled(5, &torrent(2));
        assert!(!is_open(&memory, 5, 2, 99) && memory.take_failed(at(9999)).is_empty());
        memory.forget("another", &[torrent(2).hash]);
        assert!(!is_open(&memory, 5, 2, 99));
        memory.forget("e", &[torrent(2).hash]);
        assert!(
            is_open(&memory, 5, 2, 99) && !is_open(&memory, 64, 1, 99),
            "it came anew"
        );
        memory.note_begun(9, &torrent(3));
        memory.note_idle();
        assert_eq!(memory.under_way(), 0);
        // Hashes that differ in their last digit only, or are none.
        let open = |memory: &Memory, hash: &str| memory.is_open(1, ("e", hash), at(0));
        let tail = |n: u8| format!("{n:040x}");
        memory.note_done(1, "e", &tail(1));
        assert!(!open(&memory, &tail(1)) && open(&memory, &tail(2)));
        memory.note_done(1, "e", "short");
        assert!(!open(&memory, "short") && open(&memory, "shorn"));
    }
}
