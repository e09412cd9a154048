//! Durable consumers: each has a name and a position in the database, and gets every event of its keys at
//! least once, in commit order, including events committed while no server ran.
//!
//! A transaction stores its events as its last act (`qm_db`), so an event exists exactly if its change does.
//! A consumer's effect and its next position are one transaction: its writes through the given [`Tx`] happen
//! exactly once per event, even across a crash. Other effects (a request, a mail) do not belong in a
//! transaction: the consumer stores the task under the event's id, and a loop performs it.
//!
//! One server consumes at a time: advancing takes a lease and fails where another server has it or has
//! advanced meanwhile. An event at which a consumer fails too often is set aside: a row in
//! `events_set_aside`, a log line, a metric; the consumer continues with the next event.
//!
//! Bounds: [`PAGE`] events are read at a time; [`KEPT_ASIDE`] events set aside per consumer are kept; events
//! that every consumer has passed are pruned once a minute, [`PRUNED_AT_ONCE`] rows per transaction; a
//! consumer that no server has for [`FORGOTTEN`] is deleted, and delays the pruning no more.

mod metrics;
mod reader;
mod repo;
#[cfg(test)]
mod tests;
mod upkeep;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use qm_db::{Db, DbError, Tx};
use qm_kernel::event::DomainEvent;
use qm_kernel::{BEAT, Ctx, next_beat};
use tokio::time::Instant;

pub use self::metrics::OutboxMetrics;
use self::reader::Reader;
use crate::background::Background;
use crate::bus::Bus;

/// Events read at a time, and handled in one transaction unless one fails.
const PAGE: usize = 64;
/// Largest number of events set aside per consumer.
const KEPT_ASIDE: i64 = 1000;
const PRUNE_EVERY: Duration = Duration::from_mins(1);
const PRUNED_AT_ONCE: i64 = 1000;
/// Interval at which a server records that it has its consumers.
const SEEN_EVERY: Duration = Duration::from_hours(1);
/// Long enough to run an earlier version for a while.
const FORGOTTEN: Duration = Duration::from_hours(3 * 24);

/// A durable consumer of events.
#[async_trait]
pub trait Consumer: Send + Sync + 'static {
    /// Name of the consumer; it must never change, because its position is stored under it.
    fn name(&self) -> &'static str;

    /// Keys of its events; they must never change. Other keys need another consumer, or servers of two
    /// versions would take events from each other.
    fn keys(&self) -> &'static [&'static str];

    /// Applies the event through `tx` alone, so that the effect happens once. The transaction also advances
    /// the consumer, and is rolled back after five seconds; do not open another one, which would wait for it.
    /// Events published here name their cause ([`Cause::event`](qm_kernel::event::Cause::event)); a consumer
    /// that publishes what it consumes never ends.
    async fn handle(&self, tx: &mut Tx, event: &StoredEvent) -> Result<(), ConsumeError>;
}

/// A stored event.
#[derive(Clone, Debug)]
pub struct StoredEvent {
    /// Position among all events of the database, from 1.
    pub position: i64,
    pub event: DomainEvent,
}

/// Position of the last committed event: every later event has a higher one.
pub async fn position(tx: &mut Tx) -> Result<i64, DbError> {
    repo::last(tx).await
}

/// Position of the last stored event of these keys that a consumer has not passed; `None` where there is
/// none, or the consumer is unknown. Other events are passed without storing the position each time.
pub async fn ahead(tx: &mut Tx, consumer: &str, keys: &[&str]) -> Result<Option<i64>, DbError> {
    let Some(mut after) = passed(tx, consumer).await? else {
        return Ok(None);
    };
    let mut last = None;
    loop {
        let rows = repo::page(tx, after, PAGE).await?;
        let own = rows.iter().rfind(|row| keys.contains(&&*row.event_key));
        last = own.map(|row| row.position).or(last);
        match rows.last() {
            Some(row) if rows.len() == PAGE => after = row.position,
            _ => return Ok(last),
        }
    }
}

/// Position of the last event that a consumer has passed; `None` for an unknown consumer.
pub async fn passed(tx: &mut Tx, consumer: &str) -> Result<Option<i64>, DbError> {
    Ok(repo::standing(tx, consumer)
        .await?
        .map(|standing| standing.position))
}

/// Reason why an event was not handled.
#[derive(Debug, thiserror::Error)]
pub enum ConsumeError {
    /// Database error. While the database is unreachable or busy, the attempt does not count against the
    /// event.
    #[error(transparent)]
    Database(#[from] DbError),
    /// The payload or the event is malformed.
    #[error("the event cannot be read: {0}")]
    Unreadable(#[from] serde_json::Error),
    #[error("{0}")]
    Failed(String),
}

/// Intervals and limits of a consumer.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// Interval between two looks for events that other servers stored.
    pub poll: Duration,
    /// The same interval for a server that has the database to itself: only commands that run beside it store
    /// events. Where the database reports foreign writes, it is not polled.
    pub idle_poll: Duration,
    /// Pause between one page of events and the next look: a look costs as much for one event as for many,
    /// and events often come in groups.
    pub batch_delay: Duration,
    /// Time after its last event during which the consuming server excludes others.
    pub lease: Duration,
    /// Time limit of one transaction: shorter than others wait for a transaction to end.
    pub handling: Duration,
    /// Attempts at an event before it is set aside.
    pub attempts: i64,
    /// Pause after the first failed attempt; it doubles with each further one, up to a minute.
    pub pause: Duration,
}

impl Patience {
    pub const STANDARD: Patience = Patience {
        poll: Duration::from_secs(2),
        idle_poll: BEAT.saturating_mul(11),
        batch_delay: Duration::from_millis(20),
        lease: Duration::from_secs(10),
        handling: Duration::from_secs(5),
        attempts: 6,
        pause: Duration::from_secs(1),
    };
}

/// The outbox of one database, as one server sees it. Cheap to clone.
#[derive(Clone)]
pub struct Outbox {
    db: Db,
    bus: Bus,
    ctx: Ctx,
    metrics: OutboxMetrics,
    patience: Patience,
    /// Name of this server in leases.
    server: Arc<str>,
}

impl Outbox {
    /// Starts storing the events that the database's consumers get, including consumers known only to another
    /// version of the server. Call it before anything is published.
    pub async fn open(
        db: &Db,
        bus: &Bus,
        ctx: &Ctx,
        metrics: OutboxMetrics,
        patience: Patience,
    ) -> Result<Self, DbError> {
        let outbox = Self {
            db: db.clone(),
            bus: bus.clone(),
            ctx: ctx.clone(),
            metrics,
            patience,
            server: ctx.id().into(),
        };
        outbox.keep_what_is_wanted().await?;
        Ok(outbox)
    }

    /// Starts storing the events that any consumer of the database gets.
    async fn keep_what_is_wanted(&self) -> Result<(), DbError> {
        let mut tx = self.db.begin_read().await?;
        for keys in repo::keys(&mut tx).await? {
            match serde_json::from_str::<Vec<String>>(&keys) {
                Ok(keys) => self.bus.keep(keys),
                Err(error) => tracing::warn!(%error, "the keys of a consumer of events cannot be read"),
            }
        }
        Ok(())
    }

    /// Starts the consumers and the pruning. A new consumer begins with the events published from now on.
    pub async fn start(
        &self,
        consumers: Vec<Arc<dyn Consumer>>,
        background: &Background,
    ) -> Result<(), DbError> {
        for consumer in &consumers {
            self.bus.keep(consumer.keys().iter().map(|key| (*key).to_owned()));
        }
        self.register_all(&consumers).await?;
        let names = consumers.iter().map(|consumer| consumer.name()).collect();
        for consumer in consumers {
            let name = consumer.name();
            let outbox = self.clone();
            background.supervise(name, self.patience.poll, move |stop| {
                Reader::new(outbox.clone(), consumer.clone()).run(stop)
            });
        }
        let upkeep = upkeep::Upkeep::new(self.clone(), names);
        background.every("events.upkeep", PRUNE_EVERY, move || {
            let upkeep = upkeep.clone();
            async move { upkeep.run().await }
        });
        Ok(())
    }

    /// Time of the next look while this process stores nothing: the same for all consumers, so that an idle
    /// server wakes seldom.
    fn next_look(&self) -> Instant {
        let pause = if self.db.is_sole() {
            self.patience.idle_poll
        } else {
            self.patience.poll
        };
        let now = Instant::now();
        if pause < BEAT {
            return now + pause;
        }
        next_beat(now.into_std(), pause).into()
    }

    /// One transaction for all, because each commit waits for the disk.
    async fn register_all(&self, consumers: &[Arc<dyn Consumer>]) -> Result<(), DbError> {
        if consumers.is_empty() {
            return Ok(());
        }
        let mut tx = self.db.begin_write().await?;
        let mut aside = Vec::with_capacity(consumers.len());
        for consumer in consumers {
            aside.push(self.enter(&mut tx, &**consumer).await?);
        }
        if self.db.is_sole() {
            // The earlier consuming server is gone or can no longer write, so its leases need no waiting.
            repo::release_all(&mut tx).await?;
        }
        tx.commit().await?;
        for (consumer, aside) in consumers.iter().zip(aside) {
            self.metrics.aside(consumer.name(), aside);
        }
        Ok(())
    }

    async fn register(&self, consumer: &dyn Consumer) -> Result<(), DbError> {
        let mut tx = self.db.begin_write().await?;
        let aside = self.enter(&mut tx, consumer).await?;
        tx.commit().await?;
        self.metrics.aside(consumer.name(), aside);
        Ok(())
    }

    /// Registers a consumer; returns the number of its events set aside.
    async fn enter(&self, tx: &mut Tx, consumer: &dyn Consumer) -> Result<i64, DbError> {
        let keys = serde_json::json!(consumer.keys()).to_string();
        repo::register(tx, consumer.name(), &keys, self.ctx.now()).await?;
        repo::count_aside(tx, consumer.name()).await
    }
}
