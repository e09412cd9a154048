//! Places of a lane and the order of its queue.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::HOUSE;
use crate::lane::Bounds;
use crate::who::Who;

/// Holder of a place or queue entry; `None` is the service itself.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Holder(pub Option<Who>);

impl Holder {
    fn is_house(&self) -> bool {
        self.0.is_none()
    }
}

/// Queued work.
pub(crate) struct Queued {
    pub ticket: u64,
    pub who: Holder,
    pub work: Box<dyn FnOnce() + Send>,
    pub waiter: Arc<dyn Waiter>,
}

/// A caller that waits for work.
pub(crate) trait Waiter: Send + Sync {
    /// Tells the caller that there will be no answer.
    fn send_away(&self);
}

#[derive(Clone, Copy, Default)]
struct Held {
    running: usize,
    waiting: usize,
}

#[derive(Default)]
pub(crate) struct Places {
    pub queue: VecDeque<Queued>,
    /// Running work with its waiting callers.
    pub running: BTreeMap<u64, (Holder, Arc<dyn Waiter>)>,
    held: BTreeMap<Holder, Held>,
    pub threads: usize,
    /// Number of idle threads.
    pub idle: usize,
    pub refused: u64,
}

impl Places {
    pub const fn new() -> Self {
        Self {
            queue: VecDeque::new(),
            running: BTreeMap::new(),
            held: BTreeMap::new(),
            threads: 0,
            idle: 0,
            refused: 0,
        }
    }

    fn held(&self, who: &Holder) -> Held {
        self.held.get(who).copied().unwrap_or_default()
    }

    fn change(&mut self, who: &Holder, change: impl FnOnce(&mut Held)) {
        let held = self.held.entry(who.clone()).or_default();
        change(held);
        if held.running == 0 && held.waiting == 0 {
            self.held.remove(who);
        }
    }

    /// True when one more piece of the holder's work may enter.
    pub fn admits(&self, who: &Holder, bounds: &Bounds) -> bool {
        let held = self.held(who);
        if who.is_house() {
            return held.waiting < HOUSE;
        }
        let house = self.held(&Holder(None)).waiting;
        // Work with a free place does not wait.
        let has_place = self.running.len() + self.queue.len() < bounds.places && held.running < bounds.of_one;
        has_place || (held.waiting < bounds.waiting_of_one && self.queue.len() - house < bounds.waiting)
    }

    pub fn push(&mut self, queued: Queued) {
        self.change(&queued.who.clone(), |held| held.waiting += 1);
        self.queue.push_back(queued);
    }

    /// Takes the next work from the queue: among the holders with a free place, the one with the least
    /// running work.
    pub fn next(&mut self, bounds: &Bounds) -> Option<Queued> {
        let may = self.queue.iter().enumerate().filter_map(|(place, queued)| {
            let running = self.held(&queued.who).running;
            let is_free = queued.who.is_house() || running < bounds.of_one;
            is_free.then_some((running, place))
        });
        let (_, place) = may.min()?;
        let queued = self.queue.remove(place)?;
        self.change(&queued.who, |held| {
            held.waiting -= 1;
            held.running += 1;
        });
        let running = (queued.who.clone(), queued.waiter.clone());
        self.running.insert(queued.ticket, running);
        Some(queued)
    }

    /// Ends a piece of work.
    pub fn free(&mut self, ticket: u64) {
        if let Some((who, _)) = self.running.remove(&ticket) {
            self.change(&who, |held| held.running -= 1);
        }
    }

    /// Removes work that has not begun.
    pub fn withdraw(&mut self, ticket: u64) -> Option<Queued> {
        let place = self.queue.iter().position(|queued| queued.ticket == ticket)?;
        let queued = self.queue.remove(place)?;
        self.change(&queued.who, |held| held.waiting -= 1);
        Some(queued)
    }

    /// Number of holders with running or waiting work.
    #[cfg(test)]
    pub fn known(&self) -> usize {
        self.held.len()
    }
}
