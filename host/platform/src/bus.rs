//! Event bus: delivers domain events, within this process, from the committed transaction to every
//! subscriber, and decides which of them are stored for durable consumers (`outbox`).
//!
//! Publishing never blocks or fails. An event with an unregistered key, or without a required field, is
//! logged and refused; one that repeats an id is dropped. Repetitions within the window of a kind are dropped
//! by the transaction.
//!
//! Bounds: [`QUEUE`] waiting events per subscriber, after which events are lost, counted and logged;
//! [`REMEMBERED`] remembered ids, the oldest forgotten first.

use std::collections::{HashMap, HashSet, VecDeque};
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use futures_util::FutureExt as _;
use qm_kernel::event::{DomainEvent, EventSink, EventSpec, Plan};
use qm_kernel::{Ctx, Timestamp};
use qm_lanes::IgnorePoison;
use tokio::sync::{mpsc, watch};

/// Largest number of events waiting for one subscriber.
const QUEUE: usize = 1024;
/// Largest number of remembered ids.
const REMEMBERED: usize = 10_000;
/// Time for which an id is remembered.
const ID_MEMORY: Duration = Duration::from_hours(6);

/// Cheap to clone; all clones are one bus.
#[derive(Clone)]
pub struct Bus {
    inner: Arc<Inner>,
}

struct Inner {
    ctx: Ctx,
    state: Mutex<State>,
    /// Number of stored events so far.
    stored: watch::Sender<u64>,
}

/// Receiver that is notified of stored events with some keys.
struct Wake {
    keys: &'static [&'static str],
    stored: watch::Sender<u64>,
}

#[derive(Default)]
struct State {
    kinds: HashMap<&'static str, Kind>,
    /// Keys of the events that consumers have subscribed to.
    kept: HashSet<String>,
    ids: Ids,
    subscribers: Vec<Subscriber>,
    wakes: Vec<Wake>,
    counts: BusCounts,
}

/// Registered properties of an event key.
struct Kind {
    required: Vec<String>,
    window_secs: u32,
}

struct Subscriber {
    name: &'static str,
    queue: mpsc::Sender<Arc<DomainEvent>>,
    /// True while the queue is full; logged once.
    behind: bool,
}

/// Counts since the bus was created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BusCounts {
    /// Events delivered to the subscribers.
    pub published: u64,
    /// Events with an unknown key or without a required field.
    pub refused: u64,
    /// Repeated events.
    pub repeated: u64,
    /// Events not delivered because a subscriber's queue was full, summed over subscribers.
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

    /// Registers kinds of events. A second registration of a key replaces the first.
    pub fn register(&self, specs: &[EventSpec]) {
        let kind = |spec: &EventSpec| Kind {
            required: spec.required(),
            window_secs: spec.window_secs,
        };
        let kinds = specs.iter().map(|spec| (spec.key, kind(spec)));
        self.state().kinds.extend(kinds);
    }

    /// From now on transactions store events with these keys when they publish them.
    pub(crate) fn keep(&self, keys: impl IntoIterator<Item = String>) {
        self.state().kept.extend(keys);
    }

    /// Changes whenever this process has committed a stored event.
    pub(crate) fn stored(&self) -> watch::Receiver<u64> {
        self.inner.stored.subscribe()
    }

    /// Changes whenever this process has committed a stored event with one of these keys.
    pub(crate) fn stored_of(&self, keys: &'static [&'static str]) -> watch::Receiver<u64> {
        let (stored, wake) = watch::channel(0);
        let mut state = self.state();
        state.wakes.retain(|wake| !wake.stored.is_closed());
        state.wakes.push(Wake { keys, stored });
        wake
    }

    /// Subscribes to all events published from now on, in order. `name` appears in logs.
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
        // No holder of the lock can leave the state half changed.
        self.inner.state.lock().ignore_poison()
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
    /// Decides how an event is handled, or why it is refused.
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
        // A window that nobody observes would be a useless row, in a transaction that others may wait for.
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

/// Recently seen ids, the oldest first.
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

/// Receiving end of one subscriber. Dropping it unsubscribes.
pub struct Subscription {
    name: &'static str,
    events: mpsc::Receiver<Arc<DomainEvent>>,
}

impl Subscription {
    /// The next event; `None` once the bus is gone and everything was read.
    pub async fn recv(&mut self) -> Option<Arc<DomainEvent>> {
        self.events.recv().await
    }

    /// Handles one event after the other until the bus is gone. A failure or panic of the handler is logged,
    /// and the next event follows; other subscribers are not affected.
    pub async fn for_each<F, E>(mut self, mut handle: impl FnMut(Arc<DomainEvent>) -> F)
    where
        F: Future<Output = Result<(), E>>,
        E: std::fmt::Display,
    {
        while let Some(event) = self.recv().await {
            let key = event.event_key.clone();
            // The call itself may panic too, before it returns a future.
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
