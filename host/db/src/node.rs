//! Election of the active server among several on one PostgreSQL: one row, `node_lease`, and the fence that
//! every write of a server passes at its commit.
//!
//! Only the database's clock counts for the end of a lease, so the clocks of the nodes may differ. A
//! take-over locks the table in EXCLUSIVE mode; a commit locks it in ROW SHARE mode and then reads the
//! present term. The two modes exclude each other, and neither blocks readers, dumps or the renewal of the
//! lease. So a server's commit happens before its successor takes over, or not at all, even for a process
//! that was stopped between any two instructions.
//!
//! SQLite needs none of this: a server has its file to itself by a lock.
//!
//! Bounds: the lease has its own connection, so a busy pool cannot cost a node its lease; each query ends
//! after [`PATIENCE`].

use std::sync::Arc;
use std::time::Duration;

use qm_kernel::Mandate;
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{ConnectOptions as _, Connection as _, Executor as _, Postgres, Row as _, Transaction};
use tokio::sync::Notify;

use crate::error::DbError;
use crate::open::{Backend, Db};

/// Time limit of a query on the lease.
const PATIENCE: Duration = Duration::from_secs(2);

/// The clock of the database, in milliseconds.
macro_rules! clock {
    () => {
        "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)"
    };
}

// Only PostgreSQL runs these, so they are no portable statements, which are prepared on both databases.

/// Sets the isolation of the session's transactions: a fence that reads an older state would let everything
/// pass.
const SESSION: &str = "SET default_transaction_isolation = 'read committed'; SET synchronous_commit = on";
const EXISTS: &str = "SELECT to_regclass('node_lease') IS NOT NULL";
const LOOK: &str = concat!(
    "SELECT term, node, address, session, place, secrets, until - ",
    clock!(),
    " AS left_ms FROM node_lease WHERE one = 1"
);
/// Terminates the open sessions of a server whose lease is over: a process that was stopped inside a
/// transaction must not block others. Sessions of another database user cannot be terminated; they end by
/// themselves.
const CUT_OFF: &str = concat!(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity, node_lease \
     WHERE one = 1 AND term = $1 AND (until <= ",
    clock!(),
    " OR $2) AND session <> '' AND application_name = session AND datname = current_database() \
     AND usename = current_user AND pid <> pg_backend_pid()"
);
/// Waits for commits in progress, but only briefly for foreign ones.
const LOCK: &str = "SET LOCAL lock_timeout = '1500ms'; LOCK TABLE node_lease IN EXCLUSIVE MODE";
const TAKE: &str = concat!(
    "UPDATE node_lease SET term = term + 1, node = $3, address = $4, session = $5, place = $6, secrets = $7, until = ",
    clock!(),
    " + $8, taken_at = ",
    clock!(),
    " WHERE one = 1 AND term = $1 AND (until <= ",
    clock!(),
    " OR $2) RETURNING term"
);
/// Also allowed after its end, as long as no other server has taken over.
const RENEW: &str = concat!(
    "UPDATE node_lease SET until = ",
    clock!(),
    " + $2 WHERE one = 1 AND term = $1"
);
const GIVE_BACK: &str = "UPDATE node_lease SET until = 0 WHERE one = 1 AND term = $1";

/// Fence against writes of a replaced server, see [`Db::in_term`].
pub(crate) struct Fence {
    commit: String,
    mandate: Mandate,
    refused: Arc<Notify>,
}

impl Fence {
    fn new(term: i64, mandate: Mandate, refused: Arc<Notify>) -> Self {
        // With the simple protocol all of it is one round trip, and ends at the first failing statement. The
        // second statement sees everything committed before the first had its lock. The chained transaction
        // is empty; the driver believes to be in it, and it ends when the connection is returned.
        let commit = format!(
            "LOCK TABLE node_lease IN ROW SHARE MODE; \
             SELECT 1 / COUNT(*) FROM node_lease WHERE one = 1 AND term = {term} /* by zero: another node is active */; \
             COMMIT AND CHAIN"
        );
        Self {
            commit,
            mandate,
            refused,
        }
    }

    /// Commits, unless another term has begun.
    pub(crate) async fn commit(&self, mut tx: Transaction<'static, Postgres>) -> Result<(), DbError> {
        let Err(error) = tx.execute(sqlx::raw_sql(&self.commit)).await else {
            return Ok(());
        };
        let code = error
            .as_database_error()
            .and_then(sqlx::error::DatabaseError::code);
        if code.as_deref() != Some(BY_ZERO) {
            return Err(error.into());
        }
        self.mandate.take_away();
        self.refused.notify_one();
        Err(DbError::Succeeded)
    }
}

/// PostgreSQL's word for a division by zero.
const BY_ZERO: &str = "22012";

/// Entry of a server in the lease.
#[derive(Clone, Debug)]
pub struct Node {
    /// The name its operator gave it.
    pub name: String,
    /// Address the server listens on.
    pub address: String,
    /// Name of the server's sessions on the database, as [`Db::open_alone`] was told.
    pub session: String,
    /// Its data directory as its machine names it; empty when unknown.
    pub place: String,
    /// A fingerprint of its keys.
    pub secrets: String,
}

/// The present or last holder of the lease.
#[derive(Clone, Debug)]
pub struct Holder {
    /// 0: there was no holder yet.
    pub term: i64,
    pub name: String,
    pub address: String,
    pub place: String,
    pub secrets: String,
    /// Remaining time of the lease; `None` once it is over or was released.
    pub left: Option<Duration>,
}

/// The lease of one PostgreSQL database, as one server sees it.
pub struct Lease {
    options: PgConnectOptions,
    connection: Option<PgConnection>,
    node: Node,
    length: Duration,
}

impl Db {
    /// The lease of this database for `node`, of `length`; `None` on SQLite.
    pub fn lease(&self, node: Node, length: Duration) -> Option<Lease> {
        let options = self.postgres_options()?;
        Some(Lease {
            // Named differently from the other sessions: a take-over need not terminate this one.
            options: options.application_name("quartermaster lease"),
            connection: None,
            node,
            length,
        })
    }

    /// The database for the server of this term: its writes are refused once another term has begun, and
    /// `refused` is notified.
    #[must_use]
    pub fn in_term(self, term: i64, mandate: Mandate, refused: Arc<Notify>) -> Db {
        self.fenced(Arc::new(Fence::new(term, mandate, refused)))
    }
}

impl Lease {
    /// The stored holder; `None` where the database has no leases yet.
    pub async fn look(&mut self) -> Result<Option<Holder>, DbError> {
        self.ask(async |connection, _| {
            let exists: bool = sqlx::query_scalar(EXISTS).fetch_one(&mut *connection).await?;
            if !exists {
                return Ok(None);
            }
            let row = sqlx::query(LOOK).fetch_one(connection).await?;
            let left: i64 = row.try_get("left_ms")?;
            let left = u64::try_from(left).ok().filter(|left| *left > 0);
            Ok(Some(Holder {
                term: row.try_get("term")?,
                name: row.try_get("node")?,
                address: row.try_get("address")?,
                place: row.try_get("place")?,
                secrets: row.try_get("secrets")?,
                left: left.map(Duration::from_millis),
            }))
        })
        .await
    }

    /// Begins the next term after `seen`, if its lease is over; with `surely` even before, because the holder
    /// is known to be gone. Returns the new term, or `None` where another server was faster, or the holder
    /// came back.
    pub async fn take(&mut self, seen: i64, surely: bool) -> Result<Option<i64>, DbError> {
        self.ask(async |connection, lease| {
            // Fails where the other node uses another database user; then we wait, or the lock's time limit
            // ends.
            if let Err(error) = sqlx::query(CUT_OFF)
                .bind(seen)
                .bind(surely)
                .execute(&mut *connection)
                .await
            {
                tracing::warn!(%error, "what the former node left open was not ended");
            }
            let mut tx = connection.begin().await?;
            tx.execute(sqlx::raw_sql(LOCK)).await?;
            let taken: Option<i64> = sqlx::query_scalar(TAKE)
                .bind(seen)
                .bind(surely)
                .bind(&lease.node.name)
                .bind(&lease.node.address)
                .bind(&lease.node.session)
                .bind(&lease.node.place)
                .bind(&lease.node.secrets)
                .bind(lease.length.as_millis() as i64)
                .fetch_optional(&mut *tx)
                .await?;
            tx.commit().await?;
            Ok(taken)
        })
        .await
    }

    /// Prolongs the lease from now on. False: another term has begun.
    pub async fn renew(&mut self, term: i64) -> Result<bool, DbError> {
        self.ask(async |connection, lease| {
            let renewed = sqlx::query(RENEW)
                .bind(term)
                .bind(lease.length.as_millis() as i64)
                .execute(connection)
                .await?;
            Ok(renewed.rows_affected() == 1)
        })
        .await
    }

    /// Ends the lease, so that another server takes over at once.
    pub async fn give_back(&mut self, term: i64) -> Result<(), DbError> {
        self.ask(async |connection, _| {
            sqlx::query(GIVE_BACK)
                .bind(term)
                .execute(connection)
                .await
                .map(drop)
        })
        .await
    }

    /// Sets the entry that is written with the lease from now on.
    pub fn enter(&mut self, node: Node) {
        self.node = node;
    }

    pub fn length(&self) -> Duration {
        self.length
    }

    /// Runs a query on the connection, opening it if needed. After a failure the connection is dropped, and
    /// the next query opens another.
    async fn ask<T>(
        &mut self,
        question: impl AsyncFnOnce(&mut PgConnection, &Facts) -> Result<T, sqlx::Error>,
    ) -> Result<T, DbError> {
        let facts = Facts {
            node: self.node.clone(),
            length: self.length,
        };
        let asked = async {
            let mut connection = match self.connection.take() {
                Some(connection) => connection,
                None => {
                    let mut connection = self.options.connect().await?;
                    connection.execute(sqlx::raw_sql(SESSION)).await?;
                    connection
                }
            };
            let answer = question(&mut connection, &facts).await?;
            self.connection = Some(connection);
            Ok(answer)
        };
        match tokio::time::timeout(PATIENCE, asked).await {
            Ok(answer) => answer.map_err(|error: sqlx::Error| DbError::from(error)),
            Err(_) => Err(DbError::Unreachable(sqlx::Error::Io(
                std::io::ErrorKind::TimedOut.into(),
            ))),
        }
    }
}

/// Facts of the server that a question about the lease needs.
struct Facts {
    node: Node,
    length: Duration,
}

impl Db {
    /// True when this process has the database to itself: foreign leases in it are abandoned.
    pub fn is_sole(&self) -> bool {
        match self.backend() {
            Backend::Sqlite => self.is_alone(),
            Backend::Postgres => self.fence().is_some(),
        }
    }

    /// The right of this server to act elsewhere than in the database.
    pub fn mandate(&self) -> Mandate {
        self.fence()
            .map(|fence| fence.mandate.clone())
            .unwrap_or_default()
    }
}
