//! Table `notification_deliveries`.

use qm_db::{DbError, FromRow, Tx, bulk, sql};
use qm_kernel::Timestamp;

use crate::model::channel::kept_error;
use crate::model::delivery::{Delivery, Destination, Suppressed};

/// Largest number of messages read at once, over all channels.
const AT_ONCE: i64 = 1024;

bulk! {
    ADD = "INSERT INTO notification_deliveries (id, user_id, notification_id, event_key, channel, status, attempts, \
        next_attempt_at, is_repeatable, created_at) VALUES", 10, "";
}

sql! {
    /// The first message of each destination, and per channel those that have waited longest, so that a
    /// channel with many messages delays no other.
    DUE = "SELECT id, user_id, channel FROM (SELECT id, user_id, channel, next_attempt_at, created_at, ROW_NUMBER() OVER \
            (PARTITION BY channel ORDER BY next_attempt_at, created_at, id) AS turn FROM (SELECT id, user_id, channel, \
                next_attempt_at, created_at, ROW_NUMBER() OVER (PARTITION BY user_id, channel ORDER BY created_at, id) AS place \
                FROM notification_deliveries WHERE next_attempt_at IS NOT NULL AND next_attempt_at <= $1) AS due \
            WHERE place = 1) AS turns \
        WHERE turn <= $2 ORDER BY turn, next_attempt_at, created_at, id LIMIT $3";
    NEXT = "SELECT MIN(next_attempt_at) FROM notification_deliveries WHERE next_attempt_at IS NOT NULL";
    BEGIN = "UPDATE notification_deliveries SET status = 'sending', attempts = attempts + 1, next_attempt_at = NULL, \
            is_repeatable = $2 WHERE id = $1 AND next_attempt_at IS NOT NULL AND next_attempt_at <= $3 \
        RETURNING id, user_id, notification_id, channel, attempts, created_at";
    POSTPONE = "UPDATE notification_deliveries SET next_attempt_at = $3 \
        WHERE user_id = $1 AND channel = $2 AND next_attempt_at IS NOT NULL AND next_attempt_at < $3";
    ACCEPTED = "UPDATE notification_deliveries SET status = 'provider_accepted', last_error = NULL, sent_at = $2, \
        completed_at = $2 WHERE id = $1 AND status = 'sending'";
    AGAIN = "UPDATE notification_deliveries SET status = 'failed', last_error = $2, next_attempt_at = $3, \
        attempts = attempts - $4 WHERE id = $1 AND status = 'sending'";
    GIVEN_UP = "UPDATE notification_deliveries SET status = 'failed', last_error = $2, suppressed_reason = $3, \
        next_attempt_at = NULL, completed_at = $4 WHERE id = $1 AND status = 'sending'";
    CANCELLED = "UPDATE notification_deliveries SET status = 'cancelled', suppressed_reason = $2, \
        next_attempt_at = NULL, completed_at = $3 WHERE id = $1 AND status = 'sending'";
    LEFT = "SELECT id, is_repeatable FROM notification_deliveries WHERE status = 'sending' ORDER BY created_at, id";
    PRUNE = "DELETE FROM notification_deliveries WHERE id IN (SELECT id FROM notification_deliveries \
        WHERE completed_at IS NOT NULL AND completed_at < $1 ORDER BY completed_at LIMIT $2)";
}

#[derive(FromRow)]
struct Row {
    id: String,
    user_id: String,
    notification_id: String,
    channel: String,
    attempts: i64,
    created_at: i64,
}

/// A message to send.
#[derive(Clone, Debug)]
pub struct NewDelivery<'a> {
    pub id: String,
    pub user_id: &'a str,
    pub notification_id: &'a str,
    pub event_key: &'a str,
    pub channel: String,
    pub at: Timestamp,
}

/// A message that is due.
#[derive(Clone, Debug, FromRow)]
pub struct Due {
    pub id: String,
    pub user_id: String,
    pub channel: String,
}

impl Due {
    pub fn to(&self) -> Destination {
        (self.user_id.clone(), self.channel.clone())
    }
}

pub async fn add(tx: &mut Tx, new: &[NewDelivery<'_>]) -> Result<(), DbError> {
    qm_db::batch!(
        tx,
        ADD,
        new,
        |row| &row.id,
        row.user_id,
        row.notification_id,
        row.event_key,
        &row.channel,
        "pending",
        0_i64,
        row.at.ms(),
        false,
        row.at.ms()
    )
    .await?
    .exactly(new.len() as u64)
}

/// The due messages: the first of each destination, `most` per channel, the longest waiting first.
pub async fn due(tx: &mut Tx, now: Timestamp, most: usize) -> Result<Vec<Due>, DbError> {
    qm_db::all!(tx, Due, DUE, now.ms(), most as i64, AT_ONCE).await
}

/// Postpones all messages for a destination.
pub async fn postpone(
    tx: &mut Tx,
    (user_id, channel): (&str, &str),
    until: Timestamp,
) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, POSTPONE, user_id, channel, until.ms()).await?;
    Ok(())
}

/// Time at which the next message is due; `None`: none waits.
pub async fn next(tx: &mut Tx) -> Result<Option<Timestamp>, DbError> {
    let next = qm_db::value!(tx, Option<i64>, NEXT).await?;
    Ok(next.map(Timestamp::from_ms))
}

/// Marks a message as being sent. `None`: it was removed or postponed, or another server sends it.
pub async fn begin(
    tx: &mut Tx,
    id: &str,
    is_repeatable: bool,
    now: Timestamp,
) -> Result<Option<Delivery>, DbError> {
    let row = qm_db::opt!(tx, Row, BEGIN, id, is_repeatable, now.ms()).await?;
    Ok(row.map(|row| Delivery {
        id: row.id,
        user_id: row.user_id,
        notification_id: row.notification_id,
        channel: row.channel,
        attempts: row.attempts,
        created_at: Timestamp::from_ms(row.created_at),
    }))
}

pub async fn accepted(tx: &mut Tx, id: &str, at: Timestamp) -> Result<(), DbError> {
    qm_db::exec!(tx, ACCEPTED, id, at.ms()).await?.exactly(1)
}

/// Schedules a retry. An attempt that does not count is subtracted again.
pub async fn again(tx: &mut Tx, id: &str, error: &str, at: Timestamp, counts: bool) -> Result<(), DbError> {
    let taken_back = i64::from(!counts);
    qm_db::exec!(tx, AGAIN, id, kept_error(error), at.ms(), taken_back)
        .await?
        .exactly(1)
}

/// Marks a message as finally failed.
pub async fn given_up(
    tx: &mut Tx,
    id: &str,
    error: &str,
    why: Option<Suppressed>,
    at: Timestamp,
) -> Result<(), DbError> {
    let why = why.map(Suppressed::as_str);
    qm_db::exec!(tx, GIVEN_UP, id, kept_error(error), why, at.ms())
        .await?
        .exactly(1)
}

/// Marks a message as cancelled.
pub async fn cancelled(tx: &mut Tx, id: &str, why: Suppressed, at: Timestamp) -> Result<(), DbError> {
    qm_db::exec!(tx, CANCELLED, id, why.as_str(), at.ms())
        .await?
        .exactly(1)
}

/// Messages that were being sent when the server stopped: id, and true if the service can detect a
/// repetition.
pub async fn left(tx: &mut Tx) -> Result<Vec<(String, bool)>, DbError> {
    qm_db::all!(tx, (String, bool), LEFT).await
}

/// Removes up to `most` messages that ended before `before`; returns their number.
pub async fn prune(tx: &mut Tx, before: Timestamp, most: usize) -> Result<u64, DbError> {
    Ok(qm_db::exec!(tx, PRUNE, before.ms(), most as i64).await?.rows())
}
