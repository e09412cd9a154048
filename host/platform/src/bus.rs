//! The event bus: carries domain events, in this process, from the transaction that committed to every subscriber, and says
//! which of them are stored for consumers that must not miss any (`outbox`).
//!
//! Never blocks or fails a publisher. An event whose key is not registered, or that lacks a required field, is logged
//! and refused; one that repeats an id is dropped. What is within a window of its kind is dropped by the transaction.
//!
//! Bounds: [`QUEUE`] events wait for one subscriber, then it loses events, counted and logged; [`REMEMBERED`] ids are
//! remembered, the oldest forgotten first.

use std::collections::{HashMap, HashSet, VecDeque};
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt as _;
use qm_kernel::event::{DomainEvent, EventSink, EventSpec, Plan};
use qm_kernel::{Ctx, Timestamp};
use tokio::sync::{mpsc, watch};

/// Events that wait for one subscriber.
const QUEUE: usize = 1024;
/// Ids remembered.
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
    /// Counts the events that were stored.
    stored: watch::Sender<u64>,
}

/// Who is woken by stored events of some keys.
struct Wake {
    keys: &'static [&'static str],
    stored: watch::Sender<u64>,
}

#[derive(Default)]
struct State {
    kinds: HashMap<&'static str, Kind>,
    /// Keys of the events that consumers must not miss.
    kept: HashSet<String>,
    ids: Ids,
    subscribers: Vec<Subscriber>,
    wakes: Vec<Wake>,
    counts: BusCounts,
}

/// What is known of a key.
struct Kind {
    required: Vec<String>,
    window_secs: u32,
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
                stored: watch::Sender::new(0),
            }),
        }
    }

    /// Makes kinds of events known. A key registered twice takes the later words.
    pub fn register(&self, specs: &[EventSpec]) {
        let kind = |spec: &EventSpec| Kind {
            required: spec.required(),
            window_secs: spec.window_secs,
        };
        let kinds = specs.iter().map(|spec| (spec.key, kind(spec)));
        self.state().kinds.extend(kinds);
    }

    /// From now on events with these keys are stored by the transactions that publish them.
    pub(crate) fn keep(&self, keys: impl IntoIterator<Item = String>) {
        self.state().kept.extend(keys);
    }

    /// Changes whenever a stored event was committed by this process.
    pub(crate) fn stored(&self) -> watch::Receiver<u64> {
        self.inner.stored.subscribe()
    }

    /// Changes whenever one with such a key was.
    pub(crate) fn stored_of(&self, keys: &'static [&'static str]) -> watch::Receiver<u64> {
        let (stored, wake) = watch::channel(0);
        let mut state = self.state();
        state.wakes.retain(|wake| !wake.stored.is_closed());
        state.wakes.push(Wake { keys, stored });
        wake
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
    fn plan(&self, event: &DomainEvent) -> Option<Plan> {
        let mut state = self.state();
        match state.judge(event) {
            Ok(plan) => Some(plan),
            Err(reason) => {
                state.counts.refused += 1;
                drop(state);
                let key = &*event.event_key;
                tracing::error!(event.key = key, reason, "an event was refused");
                None
            }
        }
    }

    fn publish(&self, event: DomainEvent) {
        let now = self.inner.ctx.now();
        let mut state = self.state();
        if !state.ids.admit(&event.id, now) {
            state.counts.repeated += 1;
            return;
        }
        if state.kept.contains(&*event.event_key) {
            let of_its_key = state
                .wakes
                .iter()
                .filter(|wake| wake.keys.contains(&&*event.event_key));
            let woken = of_its_key.map(|wake| &wake.stored).chain([&self.inner.stored]);
            woken.for_each(|stored| stored.send_modify(|count| *count += 1));
        }
        state.deliver(event);
    }

    fn repeated(&self, _event: &DomainEvent) {
        self.state().counts.repeated += 1;
    }
}

impl State {
    /// What is done with an event, or why it is refused.
    fn judge(&self, event: &DomainEvent) -> Result<Plan, String> {
        let Some(kind) = self.kinds.get(&*event.event_key) else {
            return Err("its key is not registered".to_owned());
        };
        let missing = |field: &&String| {
            let value = event.payload.get(field);
            value.is_none_or(serde_json::Value::is_null)
        };
        if let Some(field) = kind.required.iter().find(missing) {
            return Err(format!("its required field `{field}` is missing"));
        }
        let stored = self.kept.contains(&*event.event_key);
        // A window that nobody would notice is a row for nothing, in a transaction that others may wait for.
        let is_heard = stored || !self.subscribers.is_empty();
        Ok(Plan {
            window_secs: if is_heard { kind.window_secs } else { 0 },
            stored,
        })
    }

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
            let key = event.event_key.clone();
            // The call itself may panic too, before there is a future.
            let handled = AssertUnwindSafe(async { handle(event).await })
                .catch_unwind()
                .await;
            match handled {
                Ok(Ok(())) => {}
                Ok(Err(error)) => {
                    tracing::error!(subscriber = self.name, event.key = &*key, %error, "an event was not handled");
                }
                Err(_) => tracing::error!(
                    subscriber = self.name,
                    event.key = &*key,
                    "handling an event panicked"
                ),
            }
        }
    }
}

#[cfg(test)]
mod tests;
