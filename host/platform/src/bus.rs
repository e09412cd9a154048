//! The event bus: carries domain events, in this process, from the transaction that committed to every subscriber.
//!
//! Never blocks or fails a publisher. An event whose key is not registered, or that lacks a required field, is logged
//! and refused; one that repeats an id, or an occurrence within its key's window, is dropped.
//!
//! Bounds: [`QUEUE`] events wait for one subscriber, then it loses events, counted and logged; [`REMEMBERED`] ids and
//! as many windows are remembered, the oldest forgotten first.

use std::collections::{HashMap, HashSet, VecDeque};
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt as _;
use qm_kernel::event::{DomainEvent, EventSink, EventSpec};
use qm_kernel::{Ctx, Timestamp};
use tokio::sync::mpsc;

/// Events that wait for one subscriber.
const QUEUE: usize = 1024;
/// Ids and windows remembered.
const REMEMBERED: usize = 10_000;
/// How long an id is remembered.
const ID_MEMORY: Duration = Duration::from_hours(6);

/// Cheap to clone; all clones are one bus.
#[derive(Clone)]
pub struct Bus {
    inner: Arc<Inner>,
}

struct Inner {
    ctx: Ctx,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    specs: HashMap<&'static str, EventSpec>,
    ids: Ids,
    windows: Windows,
    subscribers: Vec<Subscriber>,
    counts: BusCounts,
}

struct Subscriber {
    name: &'static str,
    queue: mpsc::Sender<Arc<DomainEvent>>,
    /// It is behind; said once, until it has caught up.
    behind: bool,
}

/// Since the bus was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BusCounts {
    /// Handed to the subscribers.
    pub published: u64,
    /// With an unknown key or without a required field.
    pub refused: u64,
    /// Repetitions.
    pub repeated: u64,
    /// Not delivered to a subscriber whose queue was full, summed over subscribers.
    pub lost: u64,
}

impl Bus {
    pub fn new(ctx: Ctx) -> Self {
        Self {
            inner: Arc::new(Inner {
                ctx,
                state: Mutex::default(),
            }),
        }
    }

    /// Makes kinds of events known. A key registered twice takes the later words.
    pub fn register(&self, specs: &[EventSpec]) {
        let mut state = self.state();
        state.specs.extend(specs.iter().map(|spec| (spec.key, *spec)));
    }

    /// From now on every event published reaches the subscription, in order. `name` stands in logs.
    pub fn subscribe(&self, name: &'static str) -> Subscription {
        let (queue, events) = mpsc::channel(QUEUE);
        self.state().subscribers.push(Subscriber {
            name,
            queue,
            behind: false,
        });
        Subscription { name, events }
    }

    pub fn counts(&self) -> BusCounts {
        self.state().counts
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing that holds the lock can leave the state half changed.
        self.inner.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl EventSink for Bus {
    fn publish(&self, event: DomainEvent) {
        let now = self.inner.ctx.now();
        let mut state = self.state();
        let Some(spec) = state.specs.get(event.event_key).copied() else {
            state.counts.refused += 1;
            drop(state);
            tracing::error!(
                event.key = event.event_key,
                "event refused: its key is not registered"
            );
            return;
        };
        let missing = |field: &&str| event.payload.get(field).is_none_or(serde_json::Value::is_null);
        if let Some(field) = spec.required.iter().copied().find(missing) {
            state.counts.refused += 1;
            drop(state);
            tracing::error!(
                event.key = event.event_key,
                field,
                "event refused: a required field is missing"
            );
            return;
        }
        if !state.ids.admit(&event.id, now) || !state.windows.admit(&event, spec.window_secs, now) {
            state.counts.repeated += 1;
            return;
        }
        state.deliver(event);
    }
}

impl State {
    fn deliver(&mut self, event: DomainEvent) {
        self.counts.published += 1;
        let event = Arc::new(event);
        let counts = &mut self.counts;
        self.subscribers
            .retain_mut(|subscriber| match subscriber.queue.try_send(Arc::clone(&event)) {
                Ok(()) => {
                    subscriber.behind = false;
                    true
                }
                Err(mpsc::error::TrySendError::Full(_)) => {
                    counts.lost += 1;
                    if !std::mem::replace(&mut subscriber.behind, true) {
                        tracing::warn!(
                            subscriber = subscriber.name,
                            "a subscriber is behind and loses events"
                        );
                    }
                    true
                }
                Err(mpsc::error::TrySendError::Closed(_)) => false,
            });
    }
}

/// The ids seen lately, oldest first.
#[derive(Default)]
struct Ids {
    order: VecDeque<(Arc<str>, Timestamp)>,
    known: HashSet<Arc<str>>,
}

impl Ids {
    fn admit(&mut self, id: &str, now: Timestamp) -> bool {
        while self
            .order
            .front()
            .is_some_and(|(_, seen)| now.since(*seen) >= ID_MEMORY)
        {
            self.forget_oldest();
        }
        if self.known.contains(id) {
            return false;
        }
        if self.order.len() >= REMEMBERED {
            self.forget_oldest();
        }
        let id: Arc<str> = id.into();
        self.known.insert(Arc::clone(&id));
        self.order.push_back((id, now));
        true
    }

    fn forget_oldest(&mut self) {
        if let Some((oldest, _)) = self.order.pop_front() {
            self.known.remove(&oldest);
        }
    }
}

/// What happened lately, each with the end of its window. A repetition does not prolong the window.
#[derive(Default)]
struct Windows(HashMap<Occurrence, Timestamp>);

/// What makes two events equal: the key and what it is about. An event about no resource is about its user.
#[derive(PartialEq, Eq, Hash)]
struct Occurrence {
    key: &'static str,
    resource: Option<(&'static str, String)>,
    subject: Option<String>,
}

impl Windows {
    fn admit(&mut self, event: &DomainEvent, window_secs: u32, now: Timestamp) -> bool {
        if window_secs == 0 {
            return true;
        }
        let resource = event
            .resource_id
            .clone()
            .map(|id| (event.resource_type.unwrap_or_default(), id));
        let subject = if resource.is_none() {
            event.subject_user_id.clone()
        } else {
            None
        };
        let occurrence = Occurrence {
            key: event.event_key,
            resource,
            subject,
        };
        if self.0.get(&occurrence).is_some_and(|until| now < *until) {
            return false;
        }
        if self.0.len() >= REMEMBERED {
            self.forget(now);
        }
        self.0
            .insert(occurrence, now.plus(Duration::from_secs(u64::from(window_secs))));
        true
    }

    /// Drops what is over; if that is not enough, the half that ends first.
    fn forget(&mut self, now: Timestamp) {
        self.0.retain(|_, until| now < *until);
        if self.0.len() >= REMEMBERED {
            let mut ends: Vec<Timestamp> = self.0.values().copied().collect();
            let middle = ends.len() / 2;
            let (_, median, _) = ends.select_nth_unstable(middle);
            let mut to_drop = middle;
            let median = *median;
            self.0.retain(|_, until| {
                let keep = *until > median || to_drop == 0;
                to_drop -= usize::from(!keep);
                keep
            });
        }
    }
}

/// One subscriber's end of the bus. Dropping it unsubscribes.
pub struct Subscription {
    name: &'static str,
    events: mpsc::Receiver<Arc<DomainEvent>>,
}

impl Subscription {
    /// The next event; `None` once the bus is gone and everything was read.
    pub async fn recv(&mut self) -> Option<Arc<DomainEvent>> {
        self.events.recv().await
    }

    /// Handles one event after the other until the bus is gone. A handler that fails or panics is logged and gets the
    /// next event; other subscribers never notice.
    pub async fn for_each<F, E>(mut self, mut handle: impl FnMut(Arc<DomainEvent>) -> F)
    where
        F: Future<Output = Result<(), E>>,
        E: std::fmt::Display,
    {
        while let Some(event) = self.recv().await {
            let key = event.event_key;
            // The call itself may panic too, before there is a future.
            let handled = AssertUnwindSafe(async { handle(event).await })
                .catch_unwind()
                .await;
            match handled {
                Ok(Ok(())) => {}
                Ok(Err(error)) => {
                    tracing::error!(subscriber = self.name, event.key = key, %error, "an event was not handled");
                }
                Err(_) => tracing::error!(
                    subscriber = self.name,
                    event.key = key,
                    "handling an event panicked"
                ),
            }
        }
    }
}

#[cfg(test)]
mod tests;
