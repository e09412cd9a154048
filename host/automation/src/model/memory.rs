//! What is done and what is under way, in memory, for the passes over the torrents: they look at every torrent that changed, and
//! must not ask the database of each.
//!
//! Says no more than the database does: it is filled from it, and told of each change after its commit. Whether a run is stored is
//! judged there all the same.
//! Rules are known by numbers, which a process gives them for its life.
//! Bounds: some 48 bytes for every 64 rules and torrent of the ledger.

use std::collections::{HashMap, HashSet, VecDeque};

use qm_kernel::Timestamp;
use qm_ports::action::TorrentRef;

/// A torrent, by its hash.
type Torrent = (u128, u32);

#[derive(Debug, Default)]
pub struct Memory {
    /// Rules whose ledger was read.
    read: HashSet<u32>,
    /// By torrent and by the number of the rule divided by 64: the rules that are done with it.
    done: HashMap<(Torrent, u32), u64>,
    /// Runs that are stored and have not ended.
    under_way: HashSet<(Torrent, u32)>,
    /// Torrents for which a run failed since they were asked for.
    failed: VecDeque<TorrentRef>,
    /// Rules that are left alone, and until when.
    held: HashMap<u32, Timestamp>,
}

fn key(hash: &str) -> Torrent {
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
    pub fn is_read(&self, rule: u32) -> bool {
        self.read.contains(&rule)
    }

    pub fn note_read(&mut self, rule: u32) {
        self.read.insert(rule);
    }

    pub fn is_done(&self, rule: u32, hash: &str) -> bool {
        let word = self.done.get(&(key(hash), rule / 64));
        word.is_some_and(|word| word & (1 << (rule % 64)) != 0)
    }

    pub fn note_done(&mut self, rule: u32, hash: &str) {
        *self.done.entry((key(hash), rule / 64)).or_default() |= 1 << (rule % 64);
    }

    /// Whether nothing is to be decided about the pair at the moment.
    pub fn is_settled(&self, rule: u32, hash: &str) -> bool {
        self.under_way.contains(&(key(hash), rule)) || self.is_done(rule, hash)
    }

    pub fn note_begun(&mut self, rule: u32, hash: &str) {
        self.under_way.insert((key(hash), rule));
    }

    /// A run has ended, and the rule is done with the torrent or not.
    pub fn note_ended(&mut self, rule: u32, torrent: &TorrentRef, done: bool) {
        if done {
            self.note_done(rule, &torrent.hash);
        } else {
            self.failed.push_back(torrent.clone());
        }
        self.under_way.remove(&(key(&torrent.hash), rule));
    }

    /// Leaves a rule alone until then.
    pub fn hold(&mut self, rule: u32, until: Timestamp) {
        self.held.insert(rule, until);
    }

    /// Leaves a rule alone no longer, for it was changed.
    pub fn release(&mut self, rule: u32) {
        self.held.remove(&rule);
    }

    /// Leaves those alone no longer whose time has passed. `true`: there were some.
    pub fn release_by(&mut self, now: Timestamp) -> bool {
        let before = self.held.len();
        self.held.retain(|_, until| *until > now);
        self.held.len() < before
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

    pub fn take_failed(&mut self) -> VecDeque<TorrentRef> {
        std::mem::take(&mut self.failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_told_apart() {
        let mut memory = Memory::default();
        let hash = |n: u8| format!("{n:02x}").repeat(20);
        for rule in [0, 63, 64, 130] {
            memory.note_done(rule, &hash(1));
        }
        for rule in 0..200 {
            assert_eq!(
                memory.is_done(rule, &hash(1)),
                [0, 63, 64, 130].contains(&rule),
                "{rule}"
            );
            assert!(!memory.is_done(rule, &hash(2)));
        }
        memory.note_begun(5, &hash(2));
        assert!(memory.is_settled(5, &hash(2)) && !memory.is_settled(6, &hash(2)) && memory.under_way() == 1);
        let torrent = |n| TorrentRef {
            engine_id: "e".into(),
            hash: hash(n),
        };
        memory.note_ended(5, &torrent(2), false);
        assert!(!memory.is_settled(5, &hash(2)));
        assert_eq!(memory.take_failed(), [torrent(2)]);
        memory.note_begun(5, &hash(2));
        memory.note_ended(5, &torrent(2), true);
        assert!(memory.is_settled(5, &hash(2)) && memory.take_failed().is_empty());
        memory.note_begun(9, &hash(3));
        memory.note_idle();
        assert_eq!(memory.under_way(), 0);
        // Hashes that differ in their last digit only, or are none.
        let tail = |n: u8| format!("{n:040x}");
        memory.note_done(1, &tail(1));
        assert!(memory.is_done(1, &tail(1)) && !memory.is_done(1, &tail(2)));
        memory.note_done(1, "short");
        assert!(memory.is_done(1, "short") && !memory.is_done(1, "shorn"));
    }
}
