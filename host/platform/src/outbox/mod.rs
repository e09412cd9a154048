//! Durable consumers: each has a name and a place in the database, and gets every event of its keys, in the order of the
//! commits, at least once, also those that were committed while no server ran.
//!
//! A transaction stores its events as its last act (`qm_db`), so an event exists exactly if its change does. A consumer's
//! effect and its next place are one transaction: what it writes through the [`Tx`] it is handed happens once an event,
//! whenever the server dies. What it does elsewhere (a request, a mail) does not belong into a transaction: it writes down
//! what is to be done, under the event's id, and a loop does it.
//!
//! One server consumes at a time: moving on takes a lease and fails where another has it, or has moved on meanwhile.
//! An event that a consumer fails at too often is set aside: a row of `events_set_aside`, a line in the log, a metric; the
//! consumer goes on with the next one.
//!
//! Bounds: [`PAGE`] events are read at a time; [`KEPT_ASIDE`] events a consumer are kept set aside; what every consumer has
//! passed is pruned once a minute, [`PRUNED_AT_ONCE`] rows a transaction; a consumer that no server has for [`FORGOTTEN`] is
//! forgotten, and holds up nothing any more.

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

/// Events read at a time, and handled in one transaction while all goes well.
const PAGE: usize = 64;
/// Events that stay set aside, a consumer.
const KEPT_ASIDE: i64 = 1000;
const PRUNE_EVERY: Duration = Duration::from_mins(1);
const PRUNED_AT_ONCE: i64 = 1000;
/// A server says once an hour which consumers it has.
const SEEN_EVERY: Duration = Duration::from_hours(1);
/// Long enough to go back to an earlier version for a while.
const FORGOTTEN: Duration = Duration::from_hours(3 * 24);

/// Somebody who must not miss an event.
#[async_trait]
pub trait Consumer: Send + Sync + 'static {
    /// The consumer's name, for ever: its place is stored under it.
    fn name(&self) -> &'static str;

    /// The keys of the events it gets. They are never changed: other keys are another consumer, or servers of two versions
    /// would take them from each other.
    fn keys(&self) -> &'static [&'static str];

    /// Does what the event is to lead to, through `tx` alone: what it does is done once. The transaction also moves the
    /// consumer on, and is taken back when it takes longer than five seconds; another one that is begun meanwhile would wait
    /// for it. Events that it publishes name their cause ([`Cause::event`](qm_kernel::event::Cause::event)); nothing ends a
    /// consumer that publishes what it consumes.
    async fn handle(&self, tx: &mut Tx, event: &StoredEvent) -> Result<(), ConsumeError>;
}

/// An event as it was stored.
#[derive(Clone, Debug)]
pub struct StoredEvent {
    /// Where it stands among all events of the database, from 1.
    pub position: i64,
    pub event: DomainEvent,
}

/// The position of the last event that was committed: whatever is stored later comes after it.
pub async fn position(tx: &mut Tx) -> Result<i64, DbError> {
    repo::last(tx).await
}

/// The position of the last stored event of these keys that a consumer has not passed; `None` where there is none, and where
/// the database does not know the consumer. It passes other events without writing that down each time.
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

/// The position of the last event that a consumer has passed; `None` where the database does not know it.
pub async fn passed(tx: &mut Tx, consumer: &str) -> Result<Option<i64>, DbError> {
    Ok(repo::standing(tx, consumer)
        .await?
        .map(|standing| standing.position))
}

/// Why an event was not handled.
#[derive(Debug, thiserror::Error)]
pub enum ConsumeError {
    /// The database's reasons. While it cannot be reached, or is busy, the event is not to blame.
    #[error(transparent)]
    Database(#[from] DbError),
    /// The payload, or the event, is not what it should be.
    #[error("the event cannot be read: {0}")]
    Unreadable(#[from] serde_json::Error),
    #[error("{0}")]
    Failed(String),
}

/// How patient a consumer is.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// How often the database is looked at for what other servers stored.
    pub poll: Duration,
    /// How often it is looked at by a server that has it to itself: only commands that run beside it store anything. Where the
    /// database tells that nobody has, it is not asked.
    pub rest: Duration,
    /// Time from one page of events to the next look for more. A look costs as much for one event as for many, and whoever stores
    /// one often stores the next at once.
    pub gather: Duration,
    /// How long a server that consumes keeps others off after its last event.
    pub lease: Duration,
    /// How long what is handled in one transaction may take: less than others wait for a transaction to end.
    pub handling: Duration,
    /// Attempts at an event before it is set aside.
    pub attempts: i64,
    /// The pause after the first failed attempt; each further one is twice as long, up to a minute.
    pub pause: Duration,
}

impl Patience {
    pub const STANDARD: Patience = Patience {
        poll: Duration::from_secs(2),
        rest: BEAT.saturating_mul(11),
        gather: Duration::from_millis(20),
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
    /// What this server's leases are known by.
    server: Arc<str>,
}

impl Outbox {
    /// Has the events stored that the consumers of the database get, including those only another version of the server has.
    /// To be called before anything publishes.
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

    /// Has the events stored that any consumer of the database gets.
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

    /// Starts the consumers, and the pruning. A consumer that the database does not know begins with what is published from
    /// now on.
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

    /// When to look again while this process stores nothing: all consumers at once, so that an idle server wakes seldom.
    fn next_look(&self) -> Instant {
        let pause = if self.db.is_sole() {
            self.patience.rest
        } else {
            self.patience.poll
        };
        let now = Instant::now();
        if pause < BEAT {
            return now + pause;
        }
        next_beat(now.into_std(), pause).into()
    }

    /// In one transaction, for the disk is waited for at the end of each.
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
            // Whoever consumed before is gone, or can write nothing any more: its leases are waited for by nobody.
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

    /// Enters a consumer; how many events it has set aside.
    async fn enter(&self, tx: &mut Tx, consumer: &dyn Consumer) -> Result<i64, DbError> {
        let keys = serde_json::json!(consumer.keys()).to_string();
        repo::register(tx, consumer.name(), &keys, self.ctx.now()).await?;
        repo::count_aside(tx, consumer.name()).await
    }
}
