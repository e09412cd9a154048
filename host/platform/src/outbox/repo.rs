//! Statements of consumers on the outbox. Adding events is done by `qm_db`.

use qm_db::{DbError, Tx, all, exec, opt, sql, value};
use qm_kernel::Timestamp;

sql! {
    LAST = "SELECT last FROM outbox_counter WHERE one = 1";
    PAGE = "SELECT position, id, event_key, event FROM outbox WHERE position > $1 ORDER BY position LIMIT $2";

    KEYS = "SELECT event_keys FROM event_consumers";
    /// A new consumer begins with the events published from now on.
    REGISTER = "INSERT INTO event_consumers (name, event_keys, position, lease_owner, lease_until, attempts, retry_at, \
            last_error, seen_at) \
        SELECT CAST($1 AS TEXT), CAST($2 AS TEXT), last, NULL, 0, 0, 0, NULL, CAST($3 AS BIGINT) \
        FROM outbox_counter WHERE one = 1 \
        ON CONFLICT (name) DO UPDATE SET event_keys = excluded.event_keys, seen_at = excluded.seen_at";
    STANDING = "SELECT c.position, c.lease_owner, c.lease_until, c.attempts, c.retry_at, c.last_error, o.last \
        FROM event_consumers c JOIN outbox_counter o ON o.one = 1 WHERE c.name = $1";
    /// Takes or keeps the lease, and locks the row until the transaction ends: nobody else can handle the
    /// same events.
    ADVANCE = "UPDATE event_consumers SET position = $5, lease_owner = $3, lease_until = $4, attempts = 0, retry_at = 0, \
            last_error = NULL \
        WHERE name = $1 AND position = $2 AND (lease_owner = $3 OR lease_until <= $6)";
    NOTE = "UPDATE event_consumers SET lease_owner = $3, lease_until = $4, attempts = $5, retry_at = $7, last_error = $8 \
        WHERE name = $1 AND position = $2 AND (lease_owner = $3 OR lease_until <= $6)";
    RELEASE = "UPDATE event_consumers SET lease_until = 0 WHERE name = $1 AND lease_owner = $2 AND lease_until > 0";
    RELEASE_ALL = "UPDATE event_consumers SET lease_until = 0 WHERE lease_until > 0";

    SET_ASIDE = "INSERT INTO events_set_aside (consumer, position, event_id, event, error, attempts, set_aside_at) \
        VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (consumer, position) DO NOTHING";
    /// Keeps the latest $2 rows of a consumer.
    TRIM_ASIDE = "DELETE FROM events_set_aside WHERE consumer = $1 AND position <= \
        (SELECT position FROM events_set_aside WHERE consumer = $1 ORDER BY position DESC LIMIT 1 OFFSET $2)";
    COUNT_ASIDE = "SELECT COUNT(*) FROM events_set_aside WHERE consumer = $1";

    /// Position that every consumer has passed; the last one where there is no consumer.
    PASSED = "SELECT COALESCE((SELECT MIN(position) FROM event_consumers), last) FROM outbox_counter WHERE one = 1";
    FIRST = "SELECT MIN(position) FROM outbox";
    PRUNE = "DELETE FROM outbox WHERE position <= $1";
    /// A table scan, once a minute: an index would cost more on each event that opens a window.
    ENDED_WINDOWS = "SELECT occurrence FROM event_windows WHERE ends_at <= $1 LIMIT $2";
    PRUNE_WINDOW = "DELETE FROM event_windows WHERE occurrence = $1 AND ends_at <= $2";
    SEEN = "UPDATE event_consumers SET seen_at = $2 WHERE name = $1 AND seen_at < $3";
    UNSEEN = "SELECT name FROM event_consumers WHERE seen_at < $1";
    FORGET = "DELETE FROM event_consumers WHERE name = $1 AND seen_at < $2";
    FORGET_ASIDE = "DELETE FROM events_set_aside WHERE consumer = $1";
}

/// A stored event, not parsed yet.
#[derive(Clone, Debug)]
pub struct EventRow {
    pub position: i64,
    pub id: String,
    pub event_key: String,
    /// The event as JSON.
    pub event: String,
}

/// State of a consumer.
#[derive(Clone, Debug)]
pub struct Standing {
    pub position: i64,
    pub lease_owner: Option<String>,
    pub lease_until: i64,
    pub attempts: i64,
    pub retry_at: i64,
    pub last_error: Option<String>,
    /// Last position assigned so far.
    pub last: i64,
}

/// Claim of a server to consume next, from a position. It is valid while the consumer still stands there and
/// no other server has its lease.
#[derive(Clone, Copy, Debug)]
pub struct Claim<'a> {
    pub consumer: &'a str,
    /// Position of the consumer when it was read.
    pub position: i64,
    pub owner: &'a str,
    pub now: Timestamp,
    pub until: Timestamp,
}

impl Claim<'_> {
    /// Advances the consumer to `position`. `false` when the claim is not valid.
    pub async fn advance(self, tx: &mut Tx, position: i64) -> Result<bool, DbError> {
        let moved = exec!(
            tx,
            ADVANCE,
            self.consumer,
            self.position,
            self.owner,
            self.until.ms(),
            position,
            self.now.ms()
        );
        Ok(moved.await?.rows() == 1)
    }

    /// Records the number of attempts at the next event, the time of the next one, and the error. `false`
    /// when the claim is not valid.
    pub async fn note(
        self,
        tx: &mut Tx,
        attempts: i64,
        retry_at: Timestamp,
        error: Option<&str>,
    ) -> Result<bool, DbError> {
        let noted = exec!(
            tx,
            NOTE,
            self.consumer,
            self.position,
            self.owner,
            self.until.ms(),
            attempts,
            self.now.ms(),
            retry_at.ms(),
            error
        );
        Ok(noted.await?.rows() == 1)
    }
}

/// Last position assigned so far.
pub async fn last(tx: &mut Tx) -> Result<i64, DbError> {
    value!(tx, i64, LAST).await
}

pub async fn page(tx: &mut Tx, after: i64, limit: usize) -> Result<Vec<EventRow>, DbError> {
    let rows = all!(tx, (i64, String, String, String), PAGE, after, limit as i64).await?;
    let row = |(position, id, event_key, event)| EventRow {
        position,
        id,
        event_key,
        event,
    };
    Ok(rows.into_iter().map(row).collect())
}

/// Keys of every consumer of the database, each list as JSON.
pub async fn keys(tx: &mut Tx) -> Result<Vec<String>, DbError> {
    let rows = all!(tx, (String,), KEYS).await?;
    Ok(rows.into_iter().map(|(keys,)| keys).collect())
}

pub async fn register(tx: &mut Tx, name: &str, keys: &str, now: Timestamp) -> Result<(), DbError> {
    exec!(tx, REGISTER, name, keys, now.ms()).await?.exactly(1)
}

pub async fn standing(tx: &mut Tx, name: &str) -> Result<Option<Standing>, DbError> {
    type Row = (i64, Option<String>, i64, i64, i64, Option<String>, i64);
    let row = opt!(tx, Row, STANDING, name).await?;
    Ok(row.map(
        |(position, lease_owner, lease_until, attempts, retry_at, last_error, last)| Standing {
            position,
            lease_owner,
            lease_until,
            attempts,
            retry_at,
            last_error,
            last,
        },
    ))
}

/// Releases the lease, so that another server can take over at once.
pub async fn release(tx: &mut Tx, name: &str, owner: &str) -> Result<(), DbError> {
    exec!(tx, RELEASE, name, owner).await.map(drop)
}

/// Ends the leases of all consumers.
pub async fn release_all(tx: &mut Tx) -> Result<(), DbError> {
    exec!(tx, RELEASE_ALL).await.map(drop)
}

/// Stores an event at which a consumer failed, and keeps the latest `most` of them.
pub async fn set_aside(
    tx: &mut Tx,
    name: &str,
    event: &EventRow,
    failure: (&str, i64),
    now: Timestamp,
    most: i64,
) -> Result<(), DbError> {
    let (error, attempts) = failure;
    let _ = exec!(
        tx,
        SET_ASIDE,
        name,
        event.position,
        &event.id,
        &event.event,
        error,
        attempts,
        now.ms()
    )
    .await?;
    exec!(tx, TRIM_ASIDE, name, most).await.map(drop)
}

/// Number of events set aside for a consumer.
pub async fn count_aside(tx: &mut Tx, name: &str) -> Result<i64, DbError> {
    value!(tx, i64, COUNT_ASIDE, name).await
}

/// First stored position, if any, and the last one that every consumer has passed.
pub async fn prunable(tx: &mut Tx) -> Result<(Option<i64>, i64), DbError> {
    let first = value!(tx, Option<i64>, FIRST).await?;
    let passed = value!(tx, i64, PASSED).await?;
    Ok((first, passed))
}

pub async fn prune(tx: &mut Tx, up_to: i64) -> Result<(), DbError> {
    exec!(tx, PRUNE, up_to).await.map(drop)
}

/// Ended windows, at most `most`, in the order in which publishers open them, so that two transactions that
/// take several never deadlock.
pub async fn ended_windows(tx: &mut Tx, now: Timestamp, most: i64) -> Result<Vec<String>, DbError> {
    let rows = all!(tx, (String,), ENDED_WINDOWS, now.ms(), most).await?;
    let mut ended: Vec<String> = rows.into_iter().map(|(occurrence,)| occurrence).collect();
    ended.sort();
    Ok(ended)
}

/// Removes a window, unless it was opened again.
pub async fn prune_window(tx: &mut Tx, occurrence: &str, now: Timestamp) -> Result<(), DbError> {
    exec!(tx, PRUNE_WINDOW, occurrence, now.ms()).await.map(drop)
}

/// Records that a server has this consumer, unless one did so since `before`.
pub async fn seen(tx: &mut Tx, name: &str, now: Timestamp, before: Timestamp) -> Result<(), DbError> {
    exec!(tx, SEEN, name, now.ms(), before.ms()).await.map(drop)
}

/// Consumers that no server has had since `before`.
pub async fn unseen(tx: &mut Tx, before: Timestamp) -> Result<Vec<String>, DbError> {
    let rows = all!(tx, (String,), UNSEEN, before.ms()).await?;
    Ok(rows.into_iter().map(|(name,)| name).collect())
}

/// Deletes a consumer and its events set aside, unless a server has had it since `before`.
pub async fn forget(tx: &mut Tx, name: &str, before: Timestamp) -> Result<bool, DbError> {
    let forgotten = exec!(tx, FORGET, name, before.ms()).await?.rows() == 1;
    if forgotten {
        let _ = exec!(tx, FORGET_ASIDE, name).await?;
    }
    Ok(forgotten)
}
