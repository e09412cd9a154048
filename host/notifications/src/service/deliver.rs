//! Sending one message: the begin is committed before, and the result after, so that after a crash a message
//! is repeated only where the service can detect the repetition.

use std::time::Duration;

use qm_db::{DbError, Tx};
use qm_kernel::{Secret, as_error};
use qm_ports::channel::{ChannelConfig, ChannelError, ChannelKind, Message};

use super::Notifications;
use crate::model::channel::{CHAT_APP_A, CHAT_APP_B, Open};
use crate::model::delivery::{Delivery, Next, Suppressed, after, tells_of_destination};
use crate::repo;
use crate::repo::channels::Stored;
use crate::repo::deliveries::Due;

/// Capability of a channel that receives the id of a message and drops a second one with the same id.
const TELLS_REPETITIONS: &str = "idempotent";
/// Number of attempts to store the result of a sent message, one per [`PAUSE`].
const NOTES: u32 = 60;
const PAUSE: Duration = Duration::from_secs(1);

/// A message that is ready to send.
struct Ready {
    delivery: Delivery,
    stored: Stored,
    config: ChannelConfig,
    state: Secret,
    message: Message,
}

impl Notifications {
    /// Sends a due message. `None`: it was not to be sent any more; otherwise the result.
    pub(super) async fn deliver(&self, due: &Due) -> Result<Option<Result<(), ChannelError>>, DbError> {
        let kind = self.kind(&due.channel);
        let Some(ready) = self.prepare(due, kind.as_ref()).await? else {
            return Ok(None);
        };
        let Ready {
            delivery,
            stored,
            config,
            state,
            message,
        } = ready;
        let sent = self
            .channels
            .send(&due.channel, config, state.expose(), message)
            .await
            .map(drop);
        let label = kind.map_or_else(|| due.channel.clone(), |kind| kind.label);
        for note in 1.. {
            match self.settle(&delivery, &stored, &sent, &label).await {
                Err(error) if note < NOTES && !matches!(error, DbError::Succeeded) => {
                    tracing::warn!(error = as_error(&error), "how a message went cannot be noted");
                    tokio::time::sleep(PAUSE).await;
                }
                settled => {
                    settled?;
                    break;
                }
            }
        }
        Ok(Some(sent))
    }

    /// Marks a message as being sent, or records why it is not sent any more.
    async fn prepare(&self, due: &Due, kind: Option<&ChannelKind>) -> Result<Option<Ready>, DbError> {
        let is_repeatable =
            kind.is_some_and(|kind| kind.capabilities.iter().any(|word| word == TELLS_REPETITIONS));
        let mut tx = self.db.begin_write().await?;
        let begun = repo::deliveries::begin(&mut tx, &due.id, is_repeatable, self.ctx.now()).await?;
        let Some(delivery) = begun else {
            return Ok(None);
        };
        let id = delivery.id.clone();
        let ready = match self.still_wanted(&mut tx, delivery).await? {
            Ok(ready) => Some(ready),
            Err(why) => {
                repo::deliveries::cancelled(&mut tx, &id, why, self.ctx.now()).await?;
                self.deliveries.with_label_values(&["cancelled"]).inc();
                None
            }
        };
        tx.commit().await?;
        Ok(ready)
    }

    /// Collects everything that the send needs, or the reason to cancel. Preferences and permissions were
    /// checked when the notification was stored.
    async fn still_wanted(
        &self,
        tx: &mut Tx,
        delivery: Delivery,
    ) -> Result<Result<Ready, Suppressed>, DbError> {
        if self.people.find(tx, &delivery.user_id).await?.is_none() {
            return Ok(Err(Suppressed::UserInactive));
        }
        let stored = repo::channels::find(tx, &delivery.user_id, &delivery.channel).await?;
        let is_on = |stored: &Stored| stored.connection.enabled && stored.connection.verified;
        let Some(stored) = stored.filter(is_on) else {
            return Ok(Err(Suppressed::NoVerifiedConnection));
        };
        let (config, state) = match self.open(&stored) {
            Some(Open {
                config,
                state: Some(state),
            }) => (config, state),
            None if delivery.channel == CHAT_APP_A => return Ok(Err(Suppressed::BotMissing)),
            _ => return Ok(Err(Suppressed::NoVerifiedConnection)),
        };
        let Some((title, card)) = repo::inbox::outgoing(tx, &delivery.notification_id).await? else {
            return Ok(Err(Suppressed::NotificationMissing));
        };
        if card.is_none() && delivery.channel == CHAT_APP_B {
            return Ok(Err(Suppressed::NoPresentation));
        }
        let message = self
            .letterhead(tx)
            .await?
            .message(&delivery.id, &title, card.as_ref());
        Ok(Ok(Ready {
            delivery,
            stored,
            config,
            state,
            message,
        }))
    }

    /// Stores the result for the message and for the connection.
    async fn settle(
        &self,
        delivery: &Delivery,
        stored: &Stored,
        sent: &Result<(), ChannelError>,
        label: &str,
    ) -> Result<(), DbError> {
        let (id, now) = (&*delivery.id, self.ctx.now());
        let mut tx = self.db.begin_write().await?;
        let outcome = match sent {
            Ok(()) => {
                repo::deliveries::accepted(&mut tx, id, now).await?;
                repo::channels::note(&mut tx, stored.which(), Ok(()), now).await?;
                "accepted"
            }
            Err(error) => {
                let told = format!("{label} {error}");
                if tells_of_destination(error) {
                    repo::channels::note(&mut tx, stored.which(), Err(&told), now).await?;
                }
                match after(error, delivery.attempts, delivery.created_at, now) {
                    Next::Again(at, counts) => {
                        repo::deliveries::again(&mut tx, id, &told, at, counts).await?;
                        "failed"
                    }
                    Next::GivenUp => {
                        repo::deliveries::given_up(&mut tx, id, &told, None, now).await?;
                        "given_up"
                    }
                    Next::Cancelled(why) => {
                        repo::deliveries::cancelled(&mut tx, id, why, now).await?;
                        "cancelled"
                    }
                }
            }
        };
        tx.commit().await?;
        self.deliveries.with_label_values(&[outcome]).inc();
        Ok(())
    }

    /// Settles messages that were being sent when the server stopped: repeated where the service can detect
    /// it, and given up otherwise, because they may have arrived.
    pub(super) async fn recover(&self) -> Result<(), DbError> {
        let left = {
            let mut tx = self.db.begin_read().await?;
            repo::deliveries::left(&mut tx).await?
        };
        if left.is_empty() {
            return Ok(());
        }
        let now = self.ctx.now();
        let mut tx = self.db.begin_write().await?;
        for (id, is_repeatable) in left {
            if is_repeatable {
                repo::deliveries::again(&mut tx, &id, "The server ended while it was sent", now, false)
                    .await?;
            } else {
                let told = "The server ended while it was sent: it may have arrived, and is not sent twice";
                let why = Some(Suppressed::Interrupted);
                repo::deliveries::given_up(&mut tx, &id, told, why, now).await?;
                self.deliveries.with_label_values(&["interrupted"]).inc();
            }
        }
        tx.commit().await
    }
}
