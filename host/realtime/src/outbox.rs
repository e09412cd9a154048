//! Queue of frames for one socket.
//!
//! It holds three kinds: ordinary events, deltas of a topic, and requests for a topic's full state, which is
//! rendered only when the writer reaches it, so a slow reader never gets an old one. A delta is queued only
//! when it continues the state that the socket has; otherwise the topic is marked for a full state. Bounds:
//! 512 events, 32 deltas, 8 MiB, 64 control frames. Beyond them the oldest event is dropped, or a topic's
//! deltas are replaced by its full state; a client with 64 unread control frames is closed.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};

use bytes::Bytes;
use qm_lanes::IgnorePoison;
use tokio::sync::Notify;

const MAX_EVENTS: usize = 512;
const MAX_DELTAS: usize = 32;
const MAX_BYTES: usize = 8 * 1024 * 1024;
const MAX_CONTROL: usize = 64;
/// Frames per batch for the writer.
const BATCH: usize = 32;

/// Number of a state source within a hub.
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
    /// The writer renders the topic here.
    Full(TopicId),
}

/// State of a topic at the socket, including queued frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Position {
    /// An [`Item::Full`] is queued.
    Wanted,
    /// The writer is rendering; deltas that arrive meanwhile are handled by [`Outbox::rendered`].
    Rendering,
    At(u64),
}

/// Next task of the writer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// The batch is filled: write it.
    Write,
    /// Render this topic, call [`Outbox::rendered`], write it.
    Render(TopicId),
    /// Write this frame and end.
    Last(Bytes),
}

/// Result of queueing a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Offer {
    Queued,
    /// Not for this socket, or known to it.
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
        self.state.lock().ignore_poison()
    }

    /// Queues a control frame. `false` when too many wait: the client does not read, and must be closed.
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

    /// Requests the topic's full state; a waiting request is not repeated.
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

    /// Ends the socket: control frames are written, then `frame`; events and state are dropped.
    pub(super) fn finish(&self, frame: Bytes) {
        let mut queue = self.lock();
        queue.items.retain(|item| matches!(item, Item::Control(_)));
        queue.topics.clear();
        queue.recount();
        queue.last.get_or_insert(frame);
        self.wake.notify_one();
    }

    /// Waits for the next task. Frames to write are put into `batch`.
    pub(super) async fn next(&self, batch: &mut Vec<Bytes>) -> Next {
        loop {
            if let Some(next) = self.lock().take(batch) {
                return next;
            }
            self.wake.notified().await;
        }
    }

    /// Records that the writer has the topic's state as of `seq`, which includes the deltas up to it. `false`
    /// when the topic was given up meanwhile, so that the state must not be sent.
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

    /// Number of frames and bytes that wait.
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
