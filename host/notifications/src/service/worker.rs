//! Worker that sends the waiting messages, separate from the consumers that store them.
//!
//! Messages for one destination are sent one at a time and in order. A destination that keeps failing is
//! paused and delays no other; nor does a channel that hangs. Bounds: [`PLACES`] messages at once,
//! [`A_CHANNEL`] per channel; [`READ`] destinations per channel are read at a time; a stop waits [`STOP`] for
//! the messages being sent. Messages cut off then are settled by the next start.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use qm_db::{Changes, DbError};
use qm_kernel::{Timestamp, as_error};
use qm_ports::channel::ChannelError;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::Notifications;
use crate::model::delivery::{Circuits, Destination};
use crate::repo;
use crate::repo::deliveries::Due;

/// Number of messages sent at once.
const PLACES: usize = 32;
/// Number of messages sent at once by one channel: as many as its plugin handles at once.
const A_CHANNEL: usize = 4;
/// Number of destinations per channel read at a time.
const READ: usize = 64;
/// Age up to which a list of due messages is used before it is read again.
const FRESH: Duration = Duration::from_millis(250);
/// Interval between two looks while nothing wakes the worker.
const INTERVAL: Duration = Duration::from_secs(30);
/// Pause after a database error.
const PAUSE: Duration = Duration::from_secs(1);
/// Time that a stop gives to messages being sent.
const STOP: Duration = Duration::from_secs(5);
/// Interval between two removals of old rows, while there is anything to do.
const PRUNE_EVERY: Duration = Duration::from_hours(1);

/// Result of one message.
struct Ended {
    to: Destination,
    /// `None`: nothing was sent.
    sent: Option<Result<(), ChannelError>>,
    /// True when the begin or the result could not be stored.
    failed: bool,
}

/// State of the worker: messages being sent, and destinations that are paused.
#[derive(Default)]
pub(super) struct Hands {
    tasks: JoinSet<Ended>,
    busy: HashSet<Destination>,
    circuits: Circuits,
    /// Read from the database, and not begun yet.
    waiting: VecDeque<Due>,
    read: Option<Timestamp>,
    /// Due time of the next message at the last look.
    next: Option<Timestamp>,
    pruned: Option<Timestamp>,
}

impl Hands {
    /// Takes the next message for which a place is free.
    fn take(&mut self) -> Option<Due> {
        if self.is_full() {
            return None;
        }
        let place = self.waiting.iter().position(|due| {
            let busy = self.busy.iter().filter(|(_, channel)| *channel == due.channel);
            busy.count() < A_CHANNEL && !self.busy.contains(&due.to())
        });
        self.waiting.remove(place?)
    }

    fn is_full(&self) -> bool {
        self.tasks.len() >= PLACES
    }

    fn is_fresh(&self, now: Timestamp) -> bool {
        self.read.is_some_and(|read| now.since(read) < FRESH)
    }

    fn ended(&mut self, ended: Ended, now: Timestamp) {
        self.busy.remove(&ended.to);
        match &ended.sent {
            Some(Ok(())) => self.circuits.went_well(&ended.to),
            Some(Err(error)) => self.circuits.failed(&ended.to, error, now),
            None => {}
        }
    }
}

impl Notifications {
    pub const WORKER: (&'static str, Duration) = ("notification_delivery_worker", INTERVAL);

    /// Sends waiting messages until stopped.
    pub async fn worker_loop(self: Arc<Self>, stop: CancellationToken) {
        while let Err(error) = self.recover().await {
            tracing::error!(
                error = as_error(&error),
                "messages that were cut off cannot be settled"
            );
            if stop
                .run_until_cancelled(tokio::time::sleep(PAUSE))
                .await
                .is_none()
            {
                return;
            }
        }
        let (mut hands, mut changes) = (Hands::default(), self.db.changes());
        loop {
            let pause = match self.look(&mut hands, &mut changes).await {
                Ok(()) => self.until_next(&hands),
                Err(error) => {
                    tracing::warn!(error = as_error(&error), "messages that wait cannot be read");
                    changes.forget();
                    PAUSE
                }
            };
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                Some(ended) = hands.tasks.join_next() => match ended {
                    Ok(ended) => {
                        let failed = ended.failed;
                        hands.ended(ended, self.ctx.now());
                        if failed {
                            // It is still due; the pause prevents an immediate repetition.
                            tokio::time::sleep(PAUSE).await;
                        }
                    }
                    // The messages it left are settled like those of a crash, when this loop begins again.
                    Err(error) => std::panic::resume_unwind(error.into_panic()),
                },
                () = self.work.notified() => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
        let ending = async { while hands.tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(STOP, ending).await.is_err() {
            tracing::warn!(
                messages = hands.tasks.len(),
                "notifications were cut off while they were sent: the server stops"
            );
        }
    }

    /// Time until the next message is due.
    fn until_next(&self, hands: &Hands) -> Duration {
        let next = hands.next.map(|next| next.since(self.ctx.now()));
        // Due messages that wait for a place are woken by its release.
        next.map_or(INTERVAL, |next| next.clamp(PAUSE, INTERVAL))
    }

    /// Begins due messages. While the database is unchanged and nothing is due, it is not queried.
    async fn look(self: &Arc<Self>, hands: &mut Hands, changes: &mut Changes) -> Result<(), DbError> {
        let now = self.ctx.now();
        if !self.db.mandate().holds() || (self.begin(hands, now).await? && hands.is_fresh(now)) {
            return Ok(());
        }
        let is_due = hands.next.is_some_and(|next| next <= now);
        if hands.is_full() || !(changes.any() || is_due) {
            return Ok(());
        }
        self.prune(hands, now).await?;
        self.read(hands, now).await?;
        self.begin(hands, now).await.map(drop)
    }

    async fn read(&self, hands: &mut Hands, now: Timestamp) -> Result<(), DbError> {
        let mut tx = self.db.begin_read().await?;
        hands.waiting = repo::deliveries::due(&mut tx, now, READ).await?.into();
        hands.next = repo::deliveries::next(&mut tx).await?;
        hands.read = Some(now);
        Ok(())
    }

    /// Begins messages that have a place; true if there were any.
    async fn begin(self: &Arc<Self>, hands: &mut Hands, now: Timestamp) -> Result<bool, DbError> {
        let mut has_begun = false;
        while let Some(due) = hands.take() {
            let to = due.to();
            if let Some(until) = hands.circuits.left_alone(&to, now) {
                let mut tx = self.db.begin_write().await?;
                repo::deliveries::postpone(&mut tx, (&to.0, &to.1), until).await?;
                tx.commit().await?;
                continue;
            }
            hands.busy.insert(to.clone());
            let notifications = self.clone();
            hands
                .tasks
                .spawn(async move { notifications.send(due, to).await });
            has_begun = true;
        }
        Ok(has_begun)
    }

    async fn send(&self, due: Due, to: Destination) -> Ended {
        let sent = self.deliver(&due).await;
        let failed = sent.is_err();
        if let Err(error) = &sent {
            let error = as_error(error);
            tracing::warn!(
                error,
                delivery = due.id,
                "a message was not sent, or it is not known how it went"
            );
        }
        Ended {
            to,
            sent: sent.ok().flatten(),
            failed,
        }
    }

    async fn prune(&self, hands: &mut Hands, now: Timestamp) -> Result<(), DbError> {
        if hands.pruned.is_some_and(|pruned| now.since(pruned) < PRUNE_EVERY) {
            return Ok(());
        }
        self.remove_old(now).await?;
        hands.pruned = Some(now);
        Ok(())
    }

    /// Sends everything that is due.
    #[cfg(test)]
    pub(super) async fn send_all(self: &Arc<Self>, hands: &mut Hands) {
        loop {
            let now = self.ctx.now();
            self.read(hands, now).await.expect("the database");
            self.begin(hands, now).await.expect("the database");
            let Some(ended) = hands.tasks.join_next().await else {
                return;
            };
            hands.ended(ended.expect("a message that ends"), self.ctx.now());
        }
    }
}
