//! Queue of the torrents that the clock alone will bring to a limit. Pure.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;

use qm_kernel::Timestamp;

/// Instants in the heap that count no more, beside as many as count, before they are thrown away.
const SLACK: usize = 1_000;

/// Torrents of one engine, each with the instant at which it is looked at next.
#[derive(Debug, Default)]
pub struct DueQueue {
    /// May hold a torrent several times; the instant in `next` counts.
    heap: BinaryHeap<Reverse<(Timestamp, Arc<str>)>>,
    next: HashMap<Arc<str>, Timestamp>,
}

impl DueQueue {
    /// Has a torrent looked at at an instant. One that waits for an earlier one keeps it: looking is cheap, and the heap stays
    /// small.
    pub fn schedule(&mut self, hash: &Arc<str>, at: Timestamp) {
        if self.next.get(hash).is_some_and(|before| *before <= at) {
            return;
        }
        self.next.insert(hash.clone(), at);
        self.heap.push(Reverse((at, hash.clone())));
        // Limits that are changed again and again would leave an instant behind each time, which may be years away.
        if self.heap.len() > 2 * self.next.len() + SLACK {
            let next = &self.next;
            self.heap.retain(|Reverse((at, hash))| next.get(hash) == Some(at));
        }
    }

    pub fn forget(&mut self, hash: &str) {
        self.next.remove(hash);
    }

    /// Takes the torrents out whose instant has come.
    pub fn take_due(&mut self, now: Timestamp) -> Vec<Arc<str>> {
        let mut due = Vec::new();
        while let Some(Reverse((at, _))) = self.heap.peek()
            && *at <= now
            && let Some(Reverse((at, hash))) = self.heap.pop()
        {
            if self.next.get(&hash) == Some(&at) {
                self.next.remove(&hash);
                due.push(hash);
            }
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torrent_is_due_once_at_its_earliest_instant() {
        let at = Timestamp::from_secs;
        let (a, b): (Arc<str>, Arc<str>) = ("a".into(), "b".into());
        let mut queue = DueQueue::default();
        queue.schedule(&a, at(10));
        queue.schedule(&a, at(5));
        queue.schedule(&a, at(20));
        queue.schedule(&b, at(7));
        assert!(queue.take_due(at(4)).is_empty());
        assert_eq!(queue.take_due(at(5)), std::slice::from_ref(&a));
        queue.forget("b");
        assert!(
            queue.take_due(at(100)).is_empty(),
            "neither twice nor when it is forgotten"
        );
        queue.schedule(&a, at(30));
        assert_eq!(queue.take_due(at(100)), [a]);
    }

    #[test]
    fn what_counts_no_more_does_not_pile_up() {
        let (a, b): (Arc<str>, Arc<str>) = ("a".into(), "b".into());
        let mut queue = DueQueue::default();
        queue.schedule(&b, Timestamp::from_secs(9));
        for secs in (10..100_000).rev() {
            queue.schedule(&a, Timestamp::from_secs(secs));
            queue.forget("a");
        }
        assert!(queue.heap.len() <= SLACK + 4, "{}", queue.heap.len());
        queue.schedule(&a, Timestamp::from_secs(10));
        assert_eq!(queue.take_due(Timestamp::from_secs(100_000)), [b, a]);
    }
}
