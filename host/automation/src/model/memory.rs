//! In-memory state of finished and running pairs of rule and torrent: the passes look at every changed
//! torrent, and must not query the database for each.
//!
//! It never knows more than the database: it is loaded from it, and updated after each commit. The database
//! decides again when a run is stored. Rules have numbers that are valid for the life of the process. Failed
//! runs are retried after [`FIRST_REST`], then after twice as long each time, up to [`LONGEST_REST`]: a
//! single torrent's run by itself, and the whole rule once several torrents in a row failed for one reason,
//! because then the target of the rule's actions is probably down. A change of the rule retries at once. None
//! of this is stored: a restart retries. Bounds: about 48 bytes per 64 rules and torrent of the ledger; a
//! failed pair until it is done or an hour after its retry was due.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use qm_kernel::Timestamp;
use qm_ports::action::TorrentRef;

/// A torrent: its hash, and the number of its engine.
type Torrent = (u128, u32, u32);

/// Pause after the first failure.
const FIRST_REST: Duration = Duration::from_secs(2);
/// Longest pause.
const LONGEST_REST: Duration = Duration::from_hours(1);

/// A failed run that will be retried.
#[derive(Debug)]
struct Rest {
    torrent: TorrentRef,
    /// Failures in a row.
    failures: u32,
    until: Timestamp,
    /// True when the retry is under way or was abandoned.
    is_due: bool,
}

/// Consecutive failures of one rule for one reason.
#[derive(Debug)]
struct Streak {
    reason: String,
    /// True when at least two torrents have failed.
    is_shared: bool,
    last: Torrent,
    failures: u32,
}

/// Pause after this number of consecutive failures.
fn rest_after(failures: u32) -> Duration {
    let doublings = failures.saturating_sub(1).min(16);
    (FIRST_REST * (1 << doublings)).min(LONGEST_REST)
}

#[derive(Debug, Default)]
pub struct Memory {
    /// Rules whose ledger was read.
    read: HashSet<u32>,
    /// Numbers of the engines, for the life of the process.
    engines: HashMap<String, u32>,
    /// Finished rules as bits, by torrent and rule number divided by 64.
    done: HashMap<(Torrent, u32), u64>,
    /// One more than the highest rule number in `done`, divided by 64.
    words: u32,
    /// True when torrents were forgotten since the last pass: a listed one may have to be evaluated again.
    has_forgotten: bool,
    /// Stored runs that have not ended.
    under_way: HashSet<(Torrent, u32)>,
    /// Failed runs.
    resting: HashMap<(Torrent, u32), Rest>,
    streaks: HashMap<u32, Streak>,
    /// Paused rules, and the end of each pause.
    held: HashMap<u32, Timestamp>,
}

fn hash_of(hash: &str) -> (u128, u32) {
    let digits = hash.len() == 40 && hash.is_ascii();
    let read = digits.then(|| hash.split_at(32)).and_then(|(head, tail)| {
        let head = u128::from_str_radix(head, 16).ok()?;
        Some((head, u32::from_str_radix(tail, 16).ok()?))
    });
    read.unwrap_or_else(|| {
        // Not an info-hash; kept distinct as far as possible.
        let fold = |sum: u128, byte: u8| sum.wrapping_mul(0x0100_0000_01b3).wrapping_add(byte.into());
        (hash.bytes().fold(0, fold), u32::MAX)
    })
}

impl Memory {
    /// `None`: nothing is known about a torrent of that engine.
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

    /// Forgets torrents that were added again: they are new torrents with the same hash.
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

    /// Records a run that ended, after which the rule is done with the torrent.
    pub fn note_settled(&mut self, rule: u32, torrent: &TorrentRef) {
        let pair = (self.key(&torrent.engine_id, &torrent.hash), rule);
        self.note_done(rule, &torrent.engine_id, &torrent.hash);
        self.resting.remove(&pair);
        self.streaks.remove(&rule);
        self.under_way.remove(&pair);
    }

    /// Records a run that ended and may come again: nothing of it is kept.
    pub fn note_ended(&mut self, rule: u32, torrent: &TorrentRef) {
        let pair = (self.key(&torrent.engine_id, &torrent.hash), rule);
        self.under_way.remove(&pair);
    }

    /// Records a failed run and its reason; it will be retried.
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

    /// Records a run that was not begun because its rule is paused until then.
    pub fn note_held(&mut self, rule: u32, torrent: &TorrentRef, until: Timestamp) {
        let pair = (self.key(&torrent.engine_id, &torrent.hash), rule);
        self.hold(rule, until);
        self.under_way.remove(&pair);
    }

    /// True if the pair may be decided now.
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

    /// Pauses a rule until then, unless it is paused for longer.
    pub fn hold(&mut self, rule: u32, until: Timestamp) {
        let held = self.held.entry(rule).or_insert(until);
        *held = until.max(*held);
    }

    /// Ends the pause of a changed rule: failed runs are retried at once.
    pub fn release(&mut self, rule: u32) {
        self.held.remove(&rule);
        self.streaks.remove(&rule);
        for ((_, of), rest) in &mut self.resting {
            if *of == rule {
                (rest.until, rest.is_due) = (Timestamp::from_ms(0), false);
            }
        }
    }

    /// Ends the pauses that are over. `true`: there were some, or torrents were forgotten; everything must be
    /// evaluated again.
    pub fn release_by(&mut self, now: Timestamp) -> bool {
        let before = self.held.len();
        self.held.retain(|_, until| *until > now);
        std::mem::take(&mut self.has_forgotten) || self.held.len() < before
    }

    pub fn is_held(&self, rule: u32) -> bool {
        self.held.contains_key(&rule)
    }

    /// Records that no run is stored. A concurrent store may be missed here; it is found at the next
    /// decision.
    pub fn note_idle(&mut self) {
        self.under_way.clear();
    }

    pub fn under_way(&self) -> usize {
        self.under_way.len()
    }

    /// Number of stored runs of one rule that have not ended.
    pub fn under_way_of(&self, rule: u32) -> usize {
        self.under_way.iter().filter(|(_, of)| *of == rule).count()
    }

    /// Torrents with failed runs whose retry is due; each once.
    pub fn take_failed(&mut self, now: Timestamp) -> Vec<TorrentRef> {
        // A torrent may be gone, and a changed rule may not concern it any more.
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

    fn after_secs(seconds: i64) -> Timestamp {
        Timestamp::from_ms(1_800_000_000_000 + seconds * 1000)
    }

    fn torrent(n: u8) -> TorrentRef {
        TorrentRef {
            engine_id: "e".into(),
            hash: format!("{n:02x}").repeat(20),
        }
    }

    fn is_open(memory: &Memory, rule: u32, n: u8, second: i64) -> bool {
        memory.is_open(rule, ("e", &torrent(n).hash), after_secs(second))
    }

    #[test]
    fn what_fails_rests_for_longer_each_time() {
        let mut memory = Memory::default();
        let (mut now, mut rests) = (0, Vec::new());
        for _ in 0..14 {
            memory.note_failed(1, &torrent(1), "no", after_secs(now));
            let until = (now..now + 4000)
                .find(|second| is_open(&memory, 1, 1, *second))
                .expect("an end");
            assert!(memory.take_failed(after_secs(until - 1)).is_empty());
            assert_eq!(memory.take_failed(after_secs(until)), [torrent(1)]);
            assert!(memory.take_failed(after_secs(until)).is_empty(), "once");
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
            memory.take_failed(after_secs(now)),
            [torrent(1)],
            "a rule that was changed is tried at once"
        );
        memory.take_failed(after_secs(now + 9999));
        assert!(memory.resting.is_empty(), "nothing stays of what nobody tried");
    }

    #[test]
    fn a_rule_that_fails_for_one_reason_rests_as_a_whole() {
        let mut memory = Memory::default();
        memory.note_failed(1, &torrent(1), "Webhook responded 400", after_secs(0));
        assert!(!memory.is_held(1));
        for (second, n) in [(0, 2), (4, 3), (12, 4)] {
            memory.release_by(after_secs(second));
            assert!(!memory.is_held(1), "{second}");
            memory.note_failed(1, &torrent(n), "Webhook responded 400", after_secs(second));
            assert!(memory.is_held(1) && memory.take_failed(after_secs(second + 3)).is_empty());
        }
        // Another reason starts a new streak, and a success ends it.
        memory.note_failed(1, &torrent(5), "another", after_secs(100));
        memory.release_by(after_secs(101));
        assert!(!memory.is_held(1));
        memory.note_failed(1, &torrent(6), "another", after_secs(101));
        memory.release_by(after_secs(105));
        memory.note_settled(1, &torrent(1));
        memory.note_failed(1, &torrent(5), "another", after_secs(200));
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
                memory.is_open(rule, ("another", &torrent(1).hash), after_secs(0)),
                "on another engine"
            );
        }
        memory.note_begun(5, &torrent(2));
        assert!(!is_open(&memory, 5, 2, 0) && is_open(&memory, 6, 2, 0) && memory.under_way() == 1);
        assert_eq!((memory.under_way_of(5), memory.under_way_of(6)), (1, 0));
        memory.note_failed(5, &torrent(2), "no", after_secs(0));
        assert!(!is_open(&memory, 5, 2, 1) && is_open(&memory, 5, 2, 2) && memory.under_way() == 0);
        assert_eq!(memory.take_failed(after_secs(2)), [torrent(2)]);
        memory.note_begun(5, &torrent(2));
        memory.note_settled(5, &torrent(2));
        assert!(!is_open(&memory, 5, 2, 99) && memory.take_failed(after_secs(9999)).is_empty());
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
        // Hashes that differ in the last digit only, or are invalid.
        let open = |memory: &Memory, hash: &str| memory.is_open(1, ("e", hash), after_secs(0));
        let tail = |n: u8| format!("{n:040x}");
        memory.note_done(1, "e", &tail(1));
        assert!(!open(&memory, &tail(1)) && open(&memory, &tail(2)));
        memory.note_done(1, "e", "short");
        assert!(!open(&memory, "short") && open(&memory, "shorn"));
    }
}
