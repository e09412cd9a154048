//! Which of several servers on one PostgreSQL is active: one row, `node_lease`, and the fence that every write of a server
//! passes at its commit.
//!
//! Time is the database's: the end of a lease is reckoned by its clock alone, so that clocks of nodes may differ as they
//! like. A take-over locks the table in EXCLUSIVE mode; a commit locks it in ROW SHARE mode and then reads whose term it is.
//! The two modes exclude each other, and neither hinders readers, dumps or the renewal of the lease. So whatever a server
//! commits is committed before it is succeeded, or not at all, also by a process that was stopped between any two
//! instructions.
//!
//! SQLite knows none of this: there a server has its file to itself, by a lock on it.
//!
//! Bounds: the lease has a connection of its own, so a busy pool costs no node its lease; each question to the database ends
//! after [`PATIENCE`].

use std::sync::Arc;
use std::time::Duration;

use qm_kernel::Mandate;
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{ConnectOptions as _, Connection as _, Executor as _, Postgres, Row as _, Transaction};
use tokio::sync::Notify;

use crate::error::DbError;
use crate::open::{Backend, Db};

/// Time limit on a question about the lease.
const PATIENCE: Duration = Duration::from_secs(2);

/// The clock of the database, in milliseconds.
macro_rules! clock {
    () => {
        "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)"
    };
}

// Only PostgreSQL ever sees these, so they are none of the portable statements that are prepared on both.

/// A session says how its transactions see the database: a fence that reads an older state would let everything pass.
const SESSION: &str = "SET default_transaction_isolation = 'read committed'; SET synchronous_commit = on";
const EXISTS: &str = "SELECT to_regclass('node_lease') IS NOT NULL";
const LOOK: &str = concat!(
    "SELECT term, node, address, session, place, secrets, until - ",
    clock!(),
    " AS left_ms FROM node_lease WHERE one = 1"
);
/// What is still open of a server whose lease is over is ended: a process that was stopped in the middle of a transaction
/// keeps nobody waiting. Sessions of another user are not ours to end; they end by themselves.
const CUT_OFF: &str = concat!(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity, node_lease \
     WHERE one = 1 AND term = $1 AND (until <= ",
    clock!(),
    " OR $2) AND session <> '' AND application_name = session AND datname = current_database() \
     AND usename = current_user AND pid <> pg_backend_pid()"
);
/// Behind commits that are under way; behind those of strangers not for long.
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
/// Also after its end, as long as nobody has taken over.
const RENEW: &str = concat!(
    "UPDATE node_lease SET until = ",
    clock!(),
    " + $2 WHERE one = 1 AND term = $1"
);
const GIVE_BACK: &str = "UPDATE node_lease SET until = 0 WHERE one = 1 AND term = $1";

/// What keeps a server that was succeeded from writing, see [`Db::in_term`].
pub(crate) struct Fence {
    commit: String,
    mandate: Mandate,
    refused: Arc<Notify>,
}

impl Fence {
    fn new(term: i64, mandate: Mandate, refused: Arc<Notify>) -> Self {
        // In the words of the simple protocol all of it is one round trip, and ends at the first statement that fails. The
        // second one sees whatever was committed before the first had its lock. The transaction that is chained is empty; it
        // is what the driver believes to be in, and ends when the connection is put back.
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

/// A server as it enters itself into the lease.
#[derive(Clone, Debug)]
pub struct Node {
    /// The name its operator gave it.
    pub name: String,
    /// Address the server listens on.
    pub address: String,
    /// Name of the server's sessions on the database, as [`Db::open_alone`] was told.
    pub session: String,
    /// Its data directory as its machine knows it; empty when unknown.
    pub place: String,
    /// A fingerprint of its keys.
    pub secrets: String,
}

/// The server that has the lease, or had it last.
#[derive(Clone, Debug)]
pub struct Holder {
    /// 0: nobody ever had it.
    pub term: i64,
    pub name: String,
    pub address: String,
    pub place: String,
    pub secrets: String,
    /// Time for which nobody else may take the lease; `None` once it is over or was given back.
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
            // Not called as the others are: whoever cuts those off needs nothing of this one.
            options: options.application_name("quartermaster lease"),
            connection: None,
            node,
            length,
        })
    }

    /// The same database for the server of this term: what it writes is refused once another term has begun. `refused` is
    /// woken then.
    #[must_use]
    pub fn in_term(self, term: i64, mandate: Mandate, refused: Arc<Notify>) -> Db {
        self.fenced(Arc::new(Fence::new(term, mandate, refused)))
    }
}

impl Lease {
    /// The server whose lease is stored; `None` where the database knows no leases yet.
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

    /// Begins the next term after `seen`, if its lease is over; `surely`: also before, because whoever had it is known to be
    /// gone. Answers the new term, or `None` where somebody else was faster, or came back.
    pub async fn take(&mut self, seen: i64, surely: bool) -> Result<Option<i64>, DbError> {
        self.ask(async |connection, lease| {
            // Refused where the other node has another user of the database; then we wait, or the lock's time is up.
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

    /// Asks on the connection, which is made where there is none. After a failure there is none: the next one makes another.
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
    /// Whether this process has the database to itself: what others hold in it, they left behind.
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
