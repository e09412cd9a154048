//! What waits to be written to one socket.
//!
//! Three things wait here: ordinary events, deltas of a topic, and the wish for a topic's full state, which is rendered
//! only when the writer gets to it, so a slow reader never holds an old one. A delta is queued only when it continues
//! what the socket has; otherwise the topic is marked for a full state.
//! Bounds: 512 events, 32 deltas, 8 MiB, 64 control frames. Over them the oldest event goes, or a topic's deltas go and
//! its full state is sent instead; a client that leaves 64 control frames unread is closed.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::sync::Notify;

const MAX_EVENTS: usize = 512;
const MAX_DELTAS: usize = 32;
const MAX_BYTES: usize = 8 * 1024 * 1024;
const MAX_CONTROL: usize = 64;
/// Frames handed to the writer at once.
const BATCH: usize = 32;

/// Numbers the state sources of a hub.
pub(super) type TopicId = u64;

pub(super) struct Outbox {
    state: Mutex<Queue>,
    wake: Notify,
}

#[derive(Default)]
struct Queue {
    items: VecDeque<Item>,
    bytes: usize,
    events: usize,
    deltas: usize,
    control: usize,
    topics: Vec<(TopicId, Position)>,
    last: Option<Bytes>,
}

enum Item {
    /// Answers and pings of the protocol; never dropped.
    Control(Bytes),
    Event(Bytes),
    Delta {
        topic: TopicId,
        seq: u64,
        frame: Bytes,
    },
    /// The writer renders the topic when it gets here.
    Full(TopicId),
}

/// What a socket has of a topic, counting what is queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Position {
    /// An [`Item::Full`] is queued.
    Wanted,
    /// The writer is rendering; deltas that arrive meanwhile are sorted out by [`Outbox::rendered`].
    Rendering,
    At(u64),
}

/// What the writer does next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// The batch was filled.
    Write,
    /// Render this topic, tell [`Outbox::rendered`], write it.
    Render(TopicId),
    /// Write this and end.
    Last(Bytes),
}

/// What happened to something offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Offer {
    Queued,
    /// Not for this socket, or it has it already.
    Ignored,
    /// Queued, and this many events were dropped for it.
    Dropped(u64),
    /// The topic is sent in full instead.
    Resync,
}

impl Outbox {
    pub(super) fn new() -> Self {
        Self {
            state: Mutex::default(),
            wake: Notify::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// False when too many wait already: the client does not read, and must be closed.
    #[must_use]
    pub(super) fn control(&self, frame: Bytes) -> bool {
        let mut queue = self.lock();
        if queue.control >= MAX_CONTROL {
            return false;
        }
        queue.push(Item::Control(frame));
        self.wake.notify_one();
        true
    }

    pub(super) fn event(&self, frame: Bytes) -> Offer {
        let mut queue = self.lock();
        if queue.last.is_some() {
            return Offer::Ignored;
        }
        queue.push(Item::Event(frame));
        let mut dropped = 0;
        while queue.events > MAX_EVENTS || (queue.bytes > MAX_BYTES && queue.events > 1) {
            queue.drop_oldest_event();
            dropped += 1;
        }
        self.wake.notify_one();
        if dropped == 0 {
            Offer::Queued
        } else {
            Offer::Dropped(dropped)
        }
    }

    pub(super) fn delta(&self, topic: TopicId, seq: u64, frame: Bytes) -> Offer {
        let mut queue = self.lock();
        let Some(position) = queue.position(topic) else {
            return Offer::Ignored;
        };
        let continues = match position {
            Position::Wanted => return Offer::Ignored,
            Position::At(have) if seq <= have => return Offer::Ignored,
            Position::At(have) => seq == have + 1,
            Position::Rendering => true,
        };
        let fits = queue.deltas == 0 || (queue.deltas < MAX_DELTAS && queue.bytes + frame.len() <= MAX_BYTES);
        if continues && fits {
            queue.push(Item::Delta { topic, seq, frame });
            if position != Position::Rendering {
                queue.place(topic, Position::At(seq));
            }
        } else if position != Position::Rendering {
            queue.want_full(topic);
        }
        self.wake.notify_one();
        if continues && fits {
            Offer::Queued
        } else {
            Offer::Resync
        }
    }

    /// Asks for the topic's full state; one that waits already is not asked for twice.
    pub(super) fn full(&self, topic: TopicId) -> Offer {
        let mut queue = self.lock();
        if queue.last.is_some() || queue.position(topic) == Some(Position::Wanted) {
            return Offer::Ignored;
        }
        queue.want_full(topic);
        self.wake.notify_one();
        Offer::Queued
    }

    pub(super) fn has(&self, topic: TopicId) -> bool {
        self.lock().position(topic).is_some()
    }

    pub(super) fn forget(&self, topic: TopicId) {
        let mut queue = self.lock();
        queue.drop_topic(topic);
        queue.topics.retain(|(id, _)| *id != topic);
    }

    pub(super) fn forget_all(&self) {
        let mut queue = self.lock();
        let topics: Vec<TopicId> = queue.topics.drain(..).map(|(id, _)| id).collect();
        for topic in topics {
            queue.drop_topic(topic);
        }
    }

    /// Ends the socket: what the protocol has to say is written, then `frame`; events and state are dropped.
    pub(super) fn finish(&self, frame: Bytes) {
        let mut queue = self.lock();
        queue.items.retain(|item| matches!(item, Item::Control(_)));
        queue.topics.clear();
        queue.recount();
        queue.last.get_or_insert(frame);
        self.wake.notify_one();
    }

    /// Waits for something to do. Frames to write are put into `batch`.
    pub(super) async fn next(&self, batch: &mut Vec<Bytes>) -> Next {
        loop {
            if let Some(next) = self.lock().take(batch) {
                return next;
            }
            self.wake.notified().await;
        }
    }

    /// The writer has the topic's state as of `seq`: deltas up to it are in it. False when the topic was given up
    /// meanwhile, so that the state must not be sent.
    pub(super) fn rendered(&self, topic: TopicId, seq: u64) -> bool {
        let mut queue = self.lock();
        if queue.position(topic) != Some(Position::Rendering) {
            return queue.position(topic).is_some();
        }
        queue.items.retain(
            |item| !matches!(item, Item::Delta { topic: of, seq: at, .. } if *of == topic && *at <= seq),
        );
        queue.recount();
        let rest = queue.items.iter().filter_map(|item| match item {
            Item::Delta { topic: of, seq, .. } if *of == topic => Some(*seq),
            Item::Delta { .. } | Item::Control(_) | Item::Event(_) | Item::Full(_) => None,
        });
        let end = rest
            .into_iter()
            .try_fold(seq, |have, next| (next == have + 1).then_some(next));
        match end {
            Some(end) => queue.place(topic, Position::At(end)),
            None => queue.want_full(topic),
        }
        true
    }

    /// Frames and bytes that wait.
    pub(super) fn waiting(&self) -> (usize, usize) {
        let queue = self.lock();
        (queue.items.len(), queue.bytes)
    }
}

impl Queue {
    fn position(&self, topic: TopicId) -> Option<Position> {
        self.topics
            .iter()
            .find(|(id, _)| *id == topic)
            .map(|(_, position)| *position)
    }

    fn place(&mut self, topic: TopicId, position: Position) {
        match self.topics.iter_mut().find(|(id, _)| *id == topic) {
            Some((_, at)) => *at = position,
            None => self.topics.push((topic, position)),
        }
    }

    fn want_full(&mut self, topic: TopicId) {
        self.drop_topic(topic);
        self.items.push_back(Item::Full(topic));
        self.place(topic, Position::Wanted);
    }

    fn push(&mut self, item: Item) {
        self.count(&item, true);
        self.items.push_back(item);
    }

    fn count(&mut self, item: &Item, added: bool) {
        let step = |counter: &mut usize, by: usize| {
            *counter = if added {
                *counter + by
            } else {
                counter.saturating_sub(by)
            };
        };
        match item {
            Item::Control(frame) => {
                step(&mut self.control, 1);
                step(&mut self.bytes, frame.len());
            }
            Item::Event(frame) => {
                step(&mut self.events, 1);
                step(&mut self.bytes, frame.len());
            }
            Item::Delta { frame, .. } => {
                step(&mut self.deltas, 1);
                step(&mut self.bytes, frame.len());
            }
            Item::Full(_) => {}
        }
    }

    fn recount(&mut self) {
        (self.bytes, self.events, self.deltas, self.control) = (0, 0, 0, 0);
        let items = std::mem::take(&mut self.items);
        for item in &items {
            self.count(item, true);
        }
        self.items = items;
    }

    fn drop_oldest_event(&mut self) {
        if let Some(index) = self.items.iter().position(|item| matches!(item, Item::Event(_)))
            && let Some(item) = self.items.remove(index)
        {
            self.count(&item, false);
        }
    }

    fn drop_topic(&mut self, topic: TopicId) {
        self.items.retain(|item| match item {
            Item::Delta { topic: of, .. } | Item::Full(of) => *of != topic,
            Item::Control(_) | Item::Event(_) => true,
        });
        self.recount();
    }

    fn take(&mut self, batch: &mut Vec<Bytes>) -> Option<Next> {
        while batch.len() < BATCH {
            match self.items.pop_front() {
                Some(Item::Full(topic)) if batch.is_empty() => {
                    self.place(topic, Position::Rendering);
                    return Some(Next::Render(topic));
                }
                Some(full @ Item::Full(_)) => {
                    self.items.push_front(full);
                    break;
                }
                Some(item) => {
                    self.count(&item, false);
                    if let Item::Control(frame) | Item::Event(frame) | Item::Delta { frame, .. } = item {
                        batch.push(frame);
                    }
                }
                None => break,
            }
        }
        if !batch.is_empty() {
            return Some(Next::Write);
        }
        self.last.take().map(Next::Last)
    }
}

#[cfg(test)]
#[path = "outbox_tests.rs"]
mod tests;
