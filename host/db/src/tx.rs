//! An owned transaction, with events that its commit stores and publishes, and callbacks after the commit.

use std::sync::Arc;

use qm_kernel::event::{DomainEvent, EventSink, Plan};
use sqlx::{Postgres, Sqlite, Transaction};

use crate::changes::Write;
use crate::error::DbError;
use crate::node::Fence;
use crate::open::Health;
use crate::outbox;

/// One transaction. Dropping it rolls back and discards its events.
///
/// After a failed statement nothing can be committed, on either database: PostgreSQL gives such a transaction up,
/// and SQLite follows suit here so that both behave alike.
pub struct Tx {
    connection: Connection,
    events: Vec<(Plan, DomainEvent)>,
    sink: Option<Arc<dyn EventSink>>,
    then: Vec<Box<dyn FnOnce() + Send>>,
    health: Arc<Health>,
    /// `None` in a read-only transaction.
    write: Option<Write>,
    /// Fence at the commit, on a server that may be replaced.
    fence: Option<Arc<Fence>>,
    aborted: bool,
}

#[doc(hidden)]
pub enum Connection {
    Sqlite(Transaction<'static, Sqlite>),
    Postgres(Transaction<'static, Postgres>),
}

impl Tx {
    pub(crate) fn new(
        connection: Connection,
        sink: Option<Arc<dyn EventSink>>,
        health: Arc<Health>,
        write: Option<Write>,
    ) -> Self {
        Self {
            connection,
            events: Vec::new(),
            sink,
            then: Vec::new(),
            health,
            write,
            fence: None,
            aborted: false,
        }
    }

    pub(crate) fn behind(self, fence: Option<Arc<Fence>>) -> Self {
        Self { fence, ..self }
    }

    /// Queues an event: it is stored with this transaction and published once that has committed.
    pub fn publish(&mut self, event: DomainEvent) {
        if let Some(plan) = plan(self.sink.as_deref(), &event) {
            self.queue(plan, event);
        }
    }

    pub(crate) fn queue(&mut self, plan: Plan, event: DomainEvent) {
        self.events.push((plan, event));
    }

    /// Calls `then` right after the commit, and never without one: to wake a task that looks at the committed
    /// rows. It must not block.
    pub fn after_commit(&mut self, then: impl FnOnce() + Send + 'static) {
        self.then.push(Box::new(then));
    }

    /// Commits, then publishes the queued events, in order, to the sink of the database
    /// ([`Db::telling`](crate::Db::telling)).
    pub async fn commit(mut self) -> Result<(), DbError> {
        if self.aborted {
            return Err(DbError::Aborted);
        }
        let events = std::mem::take(&mut self.events);
        let kept = if events.is_empty() {
            outbox::StoredEvents::default()
        } else {
            outbox::keep(&mut self, events).await?
        };
        let sink = self.sink.take();
        let then = std::mem::take(&mut self.then);
        self.finish().await?;
        for call in then {
            call();
        }
        if let Some(sink) = sink {
            kept.repeated.iter().for_each(|event| sink.repeated(event));
            kept.to_publish.into_iter().for_each(|event| sink.publish(event));
        }
        Ok(())
    }

    async fn finish(self) -> Result<(), DbError> {
        let committed = match (self.connection, &self.fence) {
            (Connection::Sqlite(transaction), _) => transaction.commit().await.map_err(DbError::from),
            (Connection::Postgres(transaction), None) => transaction.commit().await.map_err(DbError::from),
            (Connection::Postgres(transaction), Some(fence)) => fence.commit(transaction).await,
        };
        // A read does not prove that writes work.
        if self.write.is_some() {
            self.health.note(committed)
        } else {
            committed
        }
    }

    #[doc(hidden)]
    pub fn connection(&mut self) -> &mut Connection {
        &mut self.connection
    }

    /// Sorts a statement's error and remembers what it means for the transaction and for readiness.
    #[doc(hidden)]
    pub fn failed(&mut self, error: sqlx::Error) -> DbError {
        if !matches!(error, sqlx::Error::RowNotFound) {
            self.aborted = true;
        }
        let error = DbError::from(error);
        self.health.note_error(&error);
        error
    }
}

/// Plan of a transaction for an event. Without a local sink it is stored for consumers on another server.
pub(crate) fn plan(sink: Option<&dyn EventSink>, event: &DomainEvent) -> Option<Plan> {
    sink.map_or(Some(outbox::UNHEARD), |sink| sink.plan(event))
}

/// The number of rows that a statement changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "affected rows are checked: a row that is not there is not changed"]
pub struct Affected(u64);

impl Affected {
    #[doc(hidden)]
    pub fn new(rows: u64) -> Self {
        Self(rows)
    }

    pub const fn rows(self) -> u64 {
        self.0
    }

    /// Fails unless exactly `expected` rows were changed.
    pub fn exactly(self, expected: u64) -> Result<(), DbError> {
        if self.0 == expected {
            Ok(())
        } else {
            Err(DbError::Affected {
                expected,
                found: self.0,
            })
        }
    }
}
