//! Loop of one consumer over the outbox.
//!
//! Normally a page of events is one transaction: the position moves and every event is handled. When one
//! fails, and after a start, events are taken singly, and each attempt is recorded before it begins: an event
//! that crashes the whole server is counted like any other, and finally set aside.

use std::collections::HashSet;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use qm_db::{Changes, DbError, Tx};
use qm_kernel::{ErrorKind, Timestamp, as_error};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::repo::{self, Claim, EventRow, Standing};
use super::{ConsumeError, Consumer, KEPT_ASIDE, Outbox, PAGE, StoredEvent};
use crate::background::panic_text;

/// Events read while they are taken singly.
const FEW: usize = 4;
const LONGEST_PAUSE: Duration = Duration::from_mins(1);
const ENDED_OVER_IT: &str = "the server ended while it was being handled";

/// Loop of one consumer.
pub(super) struct Reader {
    outbox: Outbox,
    consumer: Arc<dyn Consumer>,
    keys: HashSet<&'static str>,
    /// Changes when this process has stored an event for the consumer.
    wake: watch::Receiver<u64>,
    /// Changes when this process has stored any event. Foreign events are passed in groups, at the regular
    /// looks.
    any: watch::Receiver<u64>,
    /// Reports if another process may have stored an event.
    changes: Changes,
    /// Number of events to take singly.
    singly: usize,
    /// Time of the last handled page.
    handled: Option<Instant>,
    /// Position up to which no event is for this consumer; the database may lag behind.
    skipped: i64,
    /// Recorded attempt that does not count: the database went away, or this server stops.
    uncounted: Option<Uncounted>,
    /// True after a failed look; logged once.
    failing: bool,
}

/// State of an event before an attempt that does not count.
#[derive(Clone)]
struct Uncounted {
    /// Position of the consumer.
    position: i64,
    attempts: i64,
    last_error: Option<String>,
}

/// Time of the next look.
enum Next {
    Now,
    /// When an event is stored here or may have been stored elsewhere.
    Stored,
    /// After this time, whatever is stored.
    After(Duration),
}

/// Result of handling one event.
enum Handled {
    Done,
    /// Another server has advanced, or has the lease.
    Lost,
    Failed(ConsumeError),
}

impl Reader {
    pub fn new(outbox: Outbox, consumer: Arc<dyn Consumer>) -> Self {
        Self {
            keys: consumer.keys().iter().copied().collect(),
            wake: outbox.bus.stored_of(consumer.keys()),
            any: outbox.bus.stored(),
            changes: outbox.db.changes(),
            outbox,
            consumer,
            singly: PAGE,
            handled: None,
            skipped: 0,
            uncounted: None,
            failing: false,
        }
    }

    /// Runs until `stop` is cancelled; a transaction in progress is rolled back then.
    pub async fn run(mut self, stop: CancellationToken) {
        while let Some(next) = stop.run_until_cancelled(self.look()).await {
            let pause = match next {
                Next::Now => continue,
                Next::Stored => stop.run_until_cancelled(self.stored()).await,
                Next::After(pause) => stop.run_until_cancelled(tokio::time::sleep(pause)).await,
            };
            if pause.is_none() {
                break;
            }
        }
        if let Err(error) = self.release().await {
            let error = as_error(&error);
            tracing::debug!(error, "the lease of a consumer runs out by itself");
        }
    }

    /// Returns when an event was stored here or may have been stored elsewhere, and not too soon after the
    /// last page.
    async fn stored(&mut self) {
        loop {
            let told = tokio::time::timeout_at(self.outbox.next_look(), self.wake.changed()).await;
            if told.is_ok() || self.any.has_changed().unwrap_or(false) || self.changes.any() {
                break;
            }
        }
        if let Some(handled) = self.handled {
            tokio::time::sleep_until(handled + self.outbox.patience.batch_delay).await;
        }
    }

    async fn look(&mut self) -> Next {
        // Marked before the look, so that an event stored meanwhile causes another one.
        self.wake.mark_unchanged();
        self.any.mark_unchanged();
        match self.step().await {
            Ok(next) => {
                self.failing = false;
                next
            }
            Err(error) => {
                if !std::mem::replace(&mut self.failing, true) {
                    tracing::warn!(
                        consumer = self.consumer.name(),
                        error = as_error(&error),
                        "events wait: the database refuses"
                    );
                }
                Next::After(self.outbox.patience.poll)
            }
        }
    }

    async fn step(&mut self) -> Result<Next, DbError> {
        let Some((mut standing, page, is_all)) = self.read().await? else {
            // Another server deleted the consumer: it begins anew.
            self.outbox.register(&*self.consumer).await?;
            return Ok(Next::Now);
        };
        if let Some(before) = &self.uncounted
            && before.position == standing.position
        {
            standing.attempts = before.attempts;
            standing.last_error.clone_from(&before.last_error);
        }
        let from = standing.position.max(self.skipped);
        self.outbox
            .metrics
            .behind(self.consumer.name(), standing.last - from);
        let Some(end) = page.last().map(|row| row.position) else {
            // Events from now on have not crashed a server yet.
            self.singly = 0;
            return Ok(Next::Stored);
        };
        let now = self.outbox.ctx.now();
        if let Some(pause) = self.has_to_wait(&standing, now) {
            return Ok(Next::After(pause));
        }
        let wanted: Vec<&EventRow> = page
            .iter()
            .filter(|row| self.keys.contains(&*row.event_key))
            .collect();
        let Some(first) = wanted.first() else {
            self.skip(&standing, end).await?;
            return Ok(self.passed(standing.last - end, is_all));
        };
        if self.singly > 0 || standing.attempts > 0 {
            return self.handle_single(&standing, first).await;
        }
        match self.all(&standing, &wanted, end).await? {
            Some(next) => Ok(next),
            None => Ok(self.passed(standing.last - end, is_all)),
        }
    }

    /// Continues after a passed page; with `is_all` there was nothing more, and a later event wakes this
    /// consumer.
    fn passed(&mut self, left: i64, is_all: bool) -> Next {
        if !is_all {
            return Next::Now;
        }
        self.outbox.metrics.behind(self.consumer.name(), left);
        self.singly = 0;
        Next::Stored
    }

    /// Position of the consumer, the next events, and true if there are no more. `None` for an unknown
    /// consumer.
    async fn read(&self) -> Result<Option<(Standing, Vec<EventRow>, bool)>, DbError> {
        let mut tx = self.outbox.db.begin_read().await?;
        let Some(standing) = repo::standing(&mut tx, self.consumer.name()).await? else {
            return Ok(None);
        };
        // Events are long texts: those that are taken singly, or not yet, are not read as a page.
        let now = self.outbox.ctx.now();
        let few = self.singly > 0 || standing.attempts > 0 || self.has_to_wait(&standing, now).is_some();
        let most = if few { FEW } else { PAGE };
        let page = repo::page(&mut tx, standing.position.max(self.skipped), most).await?;
        let is_all = page.len() < most;
        Ok(Some((standing, page, is_all)))
    }

    /// Waiting time while another server has the lease or the next attempt is not due.
    fn has_to_wait(&self, standing: &Standing, now: Timestamp) -> Option<Duration> {
        let until = |at: i64| Timestamp::from_ms(at).since(now);
        let is_ours = standing.lease_owner.as_deref() == Some(&*self.outbox.server);
        // The holder may release it before it ends.
        let lease = until(standing.lease_until).min(self.outbox.patience.poll);
        let wait = if is_ours || lease.is_zero() {
            until(standing.retry_at)
        } else {
            lease
        };
        (!wait.is_zero()).then_some(wait.min(LONGEST_PAUSE))
    }

    fn claim(&self, standing: &Standing) -> Claim<'_> {
        let now = self.outbox.ctx.now();
        Claim {
            consumer: self.consumer.name(),
            position: standing.position,
            owner: &self.outbox.server,
            now,
            until: now.plus(self.outbox.patience.lease),
        }
    }

    /// Passes a page without events for this consumer; stored only now and then.
    async fn skip(&mut self, standing: &Standing, end: i64) -> Result<(), DbError> {
        self.skipped = end;
        if end - standing.position >= PAGE as i64 {
            let mut tx = self.outbox.db.begin_write().await?;
            if self.claim(standing).advance(&mut tx, end).await? {
                tx.commit().await?;
            }
        }
        Ok(())
    }

    /// Handles a page in one transaction; `None` when all of it is done.
    async fn all(
        &mut self,
        standing: &Standing,
        wanted: &[&EventRow],
        end: i64,
    ) -> Result<Option<Next>, DbError> {
        match self.handle(standing, wanted, end).await? {
            Handled::Done => {
                self.outbox.metrics.handled(self.consumer.name(), wanted.len());
                self.handled = Some(Instant::now());
                Ok(None)
            }
            Handled::Lost => Ok(Some(Next::After(self.outbox.patience.poll))),
            // Taken singly next, to find the failing one.
            Handled::Failed(_) => {
                self.singly = wanted.len();
                Ok(Some(Next::Now))
            }
        }
    }

    /// Handles one event, counting its attempts.
    async fn handle_single(&mut self, standing: &Standing, row: &EventRow) -> Result<Next, DbError> {
        let patience = self.outbox.patience;
        let attempt = standing.attempts + 1;
        let before = standing.last_error.as_deref();
        if attempt > patience.attempts {
            return self
                .set_aside(standing, row, before.unwrap_or(ENDED_OVER_IT))
                .await;
        }
        let noted = Some(before.unwrap_or(ENDED_OVER_IT));
        if !self.note(standing, attempt, Duration::ZERO, noted).await? {
            return Ok(Next::After(patience.poll));
        }
        self.uncounted = Some(Uncounted {
            position: standing.position,
            attempts: standing.attempts,
            last_error: standing.last_error.clone(),
        });
        let handled = self.handle(standing, &[row], row.position).await;
        if handled.is_ok() {
            self.uncounted = None;
        }
        match handled {
            Ok(Handled::Done) => {
                self.singly = self.singly.saturating_sub(1);
                self.outbox.metrics.handled(self.consumer.name(), 1);
                Ok(Next::Now)
            }
            Ok(Handled::Lost) => Ok(Next::After(patience.poll)),
            Ok(Handled::Failed(error)) => {
                // PostgreSQL's TEXT cannot hold NUL.
                let error = error.to_string().replace('\0', "");
                self.told_failed(row, attempt, &error);
                if attempt == patience.attempts {
                    return self.set_aside(standing, row, &error).await;
                }
                let pause = pause_after(attempt, patience.pause);
                self.note(standing, attempt, pause, Some(&error)).await?;
                Ok(Next::Now)
            }
            Err(error) => Err(error),
        }
    }

    /// Advances the consumer to `end` and handles the events, in one transaction. The error is the database's
    /// only.
    async fn handle(&self, standing: &Standing, rows: &[&EventRow], end: i64) -> Result<Handled, DbError> {
        let mut tx = self.outbox.db.begin_write().await?;
        // First, so that a competing server waits here and then sees that it is too late.
        if !self.claim(standing).advance(&mut tx, end).await? {
            return Ok(Handled::Lost);
        }
        let handling = self.outbox.patience.handling;
        let work = async {
            for row in rows {
                self.handle_one(&mut tx, row).await?;
            }
            Ok(())
        };
        // One time limit for all, because others wait for this transaction, on SQLite every writer.
        let handled = match tokio::time::timeout(handling, work).await {
            Ok(Ok(())) => tx.commit().await.map_err(ConsumeError::from),
            Ok(failed) => failed,
            Err(_) => Err(ConsumeError::Failed(format!(
                "it took longer than {} s",
                handling.as_secs_f32()
            ))),
        };
        match handled {
            Ok(()) => Ok(Handled::Done),
            Err(ConsumeError::Database(error)) if error.kind() == ErrorKind::Unavailable => Err(error),
            Err(error) => Ok(Handled::Failed(error)),
        }
    }

    async fn handle_one(&self, tx: &mut Tx, row: &EventRow) -> Result<(), ConsumeError> {
        let event = StoredEvent {
            position: row.position,
            event: serde_json::from_str(&row.event)?,
        };
        let work = AssertUnwindSafe(self.consumer.handle(tx, &event)).catch_unwind();
        work.await.unwrap_or_else(|panic| {
            let text = panic_text(panic.as_ref());
            Err(ConsumeError::Failed(format!("it panicked: {text}")))
        })
    }

    /// Records an attempt. `false` when another server has advanced, or has the lease.
    async fn note(
        &self,
        standing: &Standing,
        attempts: i64,
        pause: Duration,
        error: Option<&str>,
    ) -> Result<bool, DbError> {
        let claim = self.claim(standing);
        let mut tx = self.outbox.db.begin_write().await?;
        let noted = claim
            .note(&mut tx, attempts, claim.now.plus(pause), error)
            .await?;
        tx.commit().await?;
        Ok(noted)
    }

    async fn set_aside(&mut self, standing: &Standing, row: &EventRow, error: &str) -> Result<Next, DbError> {
        let claim = self.claim(standing);
        let name = self.consumer.name();
        let failure = (error, self.outbox.patience.attempts);
        let mut tx = self.outbox.db.begin_write().await?;
        if !claim.advance(&mut tx, row.position).await? {
            return Ok(Next::After(self.outbox.patience.poll));
        }
        repo::set_aside(&mut tx, name, row, failure, claim.now, KEPT_ASIDE).await?;
        let aside = repo::count_aside(&mut tx, name).await?;
        tx.commit().await?;
        self.outbox.metrics.aside(name, aside);
        tracing::error!(
            consumer = name,
            event.id = row.id,
            event.key = row.event_key,
            attempts = failure.1,
            error,
            "an event was set aside: it failed too often"
        );
        Ok(Next::Now)
    }

    fn told_failed(&self, row: &EventRow, attempt: i64, error: &str) {
        self.outbox.metrics.failed(self.consumer.name());
        tracing::warn!(
            consumer = self.consumer.name(),
            event.id = row.id,
            event.key = row.event_key,
            attempt,
            error,
            "an event was not handled"
        );
    }

    /// Lets another server continue at once. An attempt cut off by the stop does not count.
    async fn release(&self) -> Result<(), DbError> {
        let now = self.outbox.ctx.now();
        let mut tx = self.outbox.db.begin_write().await?;
        if let Some(before) = &self.uncounted {
            let claim = Claim {
                consumer: self.consumer.name(),
                position: before.position,
                owner: &self.outbox.server,
                now,
                until: now,
            };
            // The present holder's state is newer.
            let _ = claim
                .note(&mut tx, before.attempts, now, before.last_error.as_deref())
                .await?;
        }
        repo::release(&mut tx, self.consumer.name(), &self.outbox.server).await?;
        tx.commit().await
    }
}

pub(super) fn pause_after(attempt: i64, first: Duration) -> Duration {
    let doubled = u32::try_from(attempt - 1).map_or(u32::MAX, |times| 2_u32.saturating_pow(times));
    first.saturating_mul(doubled).min(LONGEST_PAUSE)
}
