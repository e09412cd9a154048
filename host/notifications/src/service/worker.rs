//! The worker: sends what waits, off the loops that tell of it.
//!
//! To one destination one message at a time, in order; a destination that keeps failing is left alone for a while, and holds
//! up nobody else. Neither does a channel that hangs, whoever uses it. Bounds: [`PLACES`] messages at once, [`A_CHANNEL`] of
//! a channel; [`READ`] destinations of a channel are read at a time; a stop waits [`STOP`] for those that are being sent.
//! What is cut off then is settled by the next start.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use qm_db::{Changes, DbError};
use qm_kernel::Timestamp;
use qm_ports::channel::ChannelError;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::Notifications;
use crate::model::delivery::{Circuits, Destination};
use crate::repo;
use crate::repo::deliveries::Due;

/// Messages that are sent at once.
const PLACES: usize = 32;
/// Those of one channel: as many as its plugin takes at once.
const A_CHANNEL: usize = 4;
/// Destinations of a channel that are read at a time.
const READ: usize = 64;
/// What was read is gone on with for so long before it is looked what came meanwhile.
const FRESH: Duration = Duration::from_millis(250);
/// How often it looks without having been told.
const INTERVAL: Duration = Duration::from_secs(30);
/// After a failure of the database.
const PAUSE: Duration = Duration::from_secs(1);
/// For what is being sent when the server stops.
const STOP: Duration = Duration::from_secs(5);
/// How often what is too old is removed, while there is anything to do.
const PRUNE_EVERY: Duration = Duration::from_hours(1);

/// How a message went, and to whom.
struct Ended {
    to: Destination,
    /// None: nothing was sent.
    sent: Option<Result<(), ChannelError>>,
    /// It could not be begun, or not noted.
    failed: bool,
}

/// What is being sent, and what is known of where it goes.
#[derive(Default)]
pub(super) struct Hands {
    tasks: JoinSet<Ended>,
    busy: HashSet<Destination>,
    circuits: Circuits,
    /// Read, and not begun yet.
    waiting: VecDeque<Due>,
    read: Option<Timestamp>,
    /// When the next message is due, as of the last look.
    next: Option<Timestamp>,
    pruned: Option<Timestamp>,
}

impl Hands {
    /// The next message that there is a place for.
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

    /// Sends what waits until it is stopped.
    pub async fn worker_loop(self: Arc<Self>, stop: CancellationToken) {
        while let Err(error) = self.recover().await {
            tracing::error!(
                error = &error as &dyn std::error::Error,
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
                    tracing::warn!(
                        error = &error as &dyn std::error::Error,
                        "messages that wait cannot be read"
                    );
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
                            // It is due still: not at once again.
                            tokio::time::sleep(PAUSE).await;
                        }
                    }
                    // What it left is settled like what a crash left, when this loop is begun again.
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

    /// How long nothing falls due.
    fn until_next(&self, hands: &Hands) -> Duration {
        let next = hands.next.map(|next| next.since(self.ctx.now()));
        // What is due and cannot be begun waits for a place, which is heard of.
        next.map_or(INTERVAL, |next| next.clamp(PAUSE, INTERVAL))
    }

    /// Begins what may begin. A look at a database that nobody changed, while nothing is due, asks it nothing.
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

    /// Begins what was read and has a place; whether there was any.
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
            let error = error as &dyn std::error::Error;
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

    /// Sends everything that is due, to its end.
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
