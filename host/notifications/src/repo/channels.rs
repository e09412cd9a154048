//! Table `notification_channels`. Secrets are encrypted.

use qm_db::{DbError, FromRow, Tx, sql};
use qm_kernel::Timestamp;

use crate::model::channel::{Connection, kept_error};

macro_rules! columns {
    () => {
        "user_id, channel, config, state, account, label, is_enabled, is_verified, last_tested_at, last_success_at, \
         last_failure_at, last_error, consecutive_failures, version"
    };
}

sql! {
    OF_USER = concat!("SELECT ", columns!(), " FROM notification_channels WHERE user_id = $1 AND deleted_at IS NULL \
        ORDER BY channel");
    FIND = concat!("SELECT ", columns!(), " FROM notification_channels WHERE user_id = $1 AND channel = $2 \
        AND deleted_at IS NULL");
    CONNECT = "INSERT INTO notification_channels (id, user_id, channel, config, state, account, label, is_enabled, \
            is_verified, consecutive_failures, created_at, updated_at, version) \
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 0, $10, $10, 1) \
        ON CONFLICT (user_id, channel) DO UPDATE SET config = excluded.config, state = excluded.state, \
            account = excluded.account, label = excluded.label, is_enabled = excluded.is_enabled, \
            is_verified = excluded.is_verified, last_tested_at = NULL, last_success_at = NULL, last_failure_at = NULL, \
            last_error = NULL, consecutive_failures = 0, updated_at = excluded.updated_at, deleted_at = NULL, \
            version = notification_channels.version + 1";
    LINK = "UPDATE notification_channels SET state = $4, label = $5, is_verified = $6, consecutive_failures = 0, \
            last_error = NULL, updated_at = $7, version = version + 1 \
        WHERE user_id = $1 AND channel = $2 AND version = $3 AND deleted_at IS NULL";
    PROVE = "UPDATE notification_channels SET is_verified = $4, consecutive_failures = 0, last_error = NULL, updated_at = $5 \
        WHERE user_id = $1 AND channel = $2 AND version = $3 AND deleted_at IS NULL";
    WENT_WELL = "UPDATE notification_channels SET last_success_at = $4, last_error = NULL, consecutive_failures = 0, \
            updated_at = $4 WHERE user_id = $1 AND channel = $2 AND version = $3 AND deleted_at IS NULL";
    FAILED = "UPDATE notification_channels SET last_failure_at = $4, last_error = $5, \
            consecutive_failures = consecutive_failures + 1, updated_at = $4 \
        WHERE user_id = $1 AND channel = $2 AND version = $3 AND deleted_at IS NULL";
    TESTED = "UPDATE notification_channels SET last_tested_at = $4, is_verified = (is_verified OR $5) \
        WHERE user_id = $1 AND channel = $2 AND version = $3 AND deleted_at IS NULL";
    DISCONNECT = "UPDATE notification_channels SET config = NULL, state = NULL, account = NULL, label = NULL, \
            is_enabled = $3, is_verified = $3, updated_at = $4, deleted_at = $4, version = version + 1 \
        WHERE user_id = $1 AND channel = $2 AND deleted_at IS NULL";
    OTHER_STATES = "SELECT state FROM notification_channels WHERE channel = $1 AND user_id <> $2 \
        AND state IS NOT NULL AND deleted_at IS NULL";
}

#[derive(FromRow)]
struct Row {
    user_id: String,
    channel: String,
    config: Option<String>,
    state: Option<String>,
    account: Option<String>,
    label: Option<String>,
    is_enabled: bool,
    is_verified: bool,
    last_tested_at: Option<i64>,
    last_success_at: Option<i64>,
    last_failure_at: Option<i64>,
    last_error: Option<String>,
    consecutive_failures: i64,
    version: i64,
}

/// A connection with its encrypted secrets.
#[derive(Clone, Debug)]
pub struct Stored {
    pub connection: Connection,
    pub config: Option<String>,
    pub state: Option<String>,
    /// Version of the configuration; it changes when the user configures the channel anew.
    pub version: i64,
}

impl From<Row> for Stored {
    fn from(row: Row) -> Self {
        let connection = Connection {
            user_id: row.user_id,
            channel: row.channel,
            enabled: row.is_enabled,
            verified: row.is_verified,
            account: row.account,
            label: row.label,
            last_tested_at: row.last_tested_at.map(Timestamp::from_ms),
            last_success_at: row.last_success_at.map(Timestamp::from_ms),
            last_failure_at: row.last_failure_at.map(Timestamp::from_ms),
            last_error: row.last_error,
            consecutive_failures: row.consecutive_failures,
        };
        Self {
            connection,
            config: row.config,
            state: row.state,
            version: row.version,
        }
    }
}

/// A connection that replaces the present one.
#[derive(Clone, Debug)]
pub struct NewConnection<'a> {
    pub id: String,
    pub user_id: &'a str,
    pub channel: &'a str,
    /// Encrypted.
    pub config: String,
    /// Encrypted.
    pub state: Option<String>,
    pub account: Option<&'a str>,
    pub label: &'a str,
}

/// One version of a connection: results of another version are not recorded for it.
#[derive(Clone, Copy, Debug)]
pub struct Which<'a> {
    pub user_id: &'a str,
    pub channel: &'a str,
    pub version: i64,
}

impl Stored {
    pub fn which(&self) -> Which<'_> {
        Which {
            user_id: &self.connection.user_id,
            channel: &self.connection.channel,
            version: self.version,
        }
    }
}

pub async fn of_user(tx: &mut Tx, user_id: &str) -> Result<Vec<Stored>, DbError> {
    let rows = qm_db::all!(tx, Row, OF_USER, user_id).await?;
    Ok(rows.into_iter().map(Stored::from).collect())
}

pub async fn find(tx: &mut Tx, user_id: &str, channel: &str) -> Result<Option<Stored>, DbError> {
    Ok(qm_db::opt!(tx, Row, FIND, user_id, channel)
        .await?
        .map(Stored::from))
}

/// Stores an enabled, unverified connection with an empty history.
pub async fn connect(tx: &mut Tx, new: &NewConnection<'_>, at: Timestamp) -> Result<(), DbError> {
    qm_db::exec!(
        tx,
        CONNECT,
        &new.id,
        new.user_id,
        new.channel,
        &new.config,
        new.state.as_deref(),
        new.account,
        new.label,
        true,
        false,
        at.ms()
    )
    .await?
    .exactly(1)
}

/// Marks the destination as confirmed. `false`: it was configured anew meanwhile.
pub async fn prove(tx: &mut Tx, which: Which<'_>, at: Timestamp) -> Result<bool, DbError> {
    let proven = qm_db::exec!(
        tx,
        PROVE,
        which.user_id,
        which.channel,
        which.version,
        true,
        at.ms()
    )
    .await?;
    Ok(proven.rows() == 1)
}

/// Stores the destination found by a code. `false`: it was configured anew meanwhile.
pub async fn link(
    tx: &mut Tx,
    which: Which<'_>,
    (state, label): (&str, &str),
    at: Timestamp,
) -> Result<bool, DbError> {
    let linked = qm_db::exec!(
        tx,
        LINK,
        which.user_id,
        which.channel,
        which.version,
        state,
        label,
        true,
        at.ms()
    )
    .await?;
    Ok(linked.rows() == 1)
}

/// Records the result of a message, with a shortened error. Skipped when the configuration was replaced.
pub async fn note(
    tx: &mut Tx,
    which: Which<'_>,
    outcome: Result<(), &str>,
    at: Timestamp,
) -> Result<(), DbError> {
    let (user_id, channel, version) = (which.user_id, which.channel, which.version);
    let _ = match outcome {
        Ok(()) => qm_db::exec!(tx, WENT_WELL, user_id, channel, version, at.ms()).await?,
        Err(error) => {
            let error = kept_error(error);
            qm_db::exec!(tx, FAILED, user_id, channel, version, at.ms(), error).await?
        }
    };
    Ok(())
}

/// Records a test; a success verifies the connection.
pub async fn note_test(tx: &mut Tx, which: Which<'_>, went_well: bool, at: Timestamp) -> Result<(), DbError> {
    let (user_id, channel, version) = (which.user_id, which.channel, which.version);
    let _ = qm_db::exec!(tx, TESTED, user_id, channel, version, at.ms(), went_well).await?;
    Ok(())
}

/// Deletes a connection with its secrets. `false`: there is none.
pub async fn disconnect(tx: &mut Tx, user_id: &str, channel: &str, at: Timestamp) -> Result<bool, DbError> {
    let done = qm_db::exec!(tx, DISCONNECT, user_id, channel, false, at.ms()).await?;
    Ok(done.rows() == 1)
}

/// Encrypted destinations of other users on this channel.
pub async fn other_states(tx: &mut Tx, channel: &str, user_id: &str) -> Result<Vec<String>, DbError> {
    let rows = qm_db::all!(tx, (String,), OTHER_STATES, channel, user_id).await?;
    Ok(rows.into_iter().map(|(state,)| state).collect())
}
