//! Opening a database and handing out transactions.
//!
//! SQLite: write-ahead log, one writer that begins IMMEDIATE (so a transaction never fails half-way for want of the
//! lock), readers that can do nothing but read. `synchronous = FULL`: one fsync a commit, so that what was acknowledged
//! survives a power cut as well as a kill; the service writes seldom enough that this does not show.
//! Caches are small and nothing is mapped: the pages of a file this size are in the system's cache anyway.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use qm_kernel::as_error;
use qm_kernel::event::{DomainEvent, EventSink, Plan};
use qm_lanes::IgnorePoison;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection as _, Executor as _, PgPool, SqlitePool};

use crate::begin::begin;
use crate::changes::{Changes, Writes};
use crate::error::{Class, DbError, class};
use crate::lanes::FILES;
use crate::lock::FileLock;
use crate::node::Fence;
use crate::tx::{Connection, Tx, plan};
use crate::{exec, sql, value};

const SQLITE_READERS: u32 = 4;
const POSTGRES_CONNECTIONS: u32 = 10;
/// Time limit on waiting for a connection; after it the database counts as busy.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(10);
/// Time limit on waiting for another process that holds an SQLite file, such as a backup tool.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
const PING_TIMEOUT: Duration = Duration::from_secs(2);
/// Checks of a closed pool for open connections, a millisecond apart.
const CLOSE_ATTEMPTS: u32 = 100;
/// Time for which a successful write proves that the database is writable.
const PROOF: Duration = Duration::from_mins(1);
/// Statements kept prepared on each connection.
const STATEMENT_CACHE: usize = 256;
/// Time after which PostgreSQL ends an idle transaction. Ours never pause: a server that is stopped or cut
/// off in one must not block others for long.
const POSTGRES_PAUSE: &str = "SET idle_in_transaction_session_timeout = '10s'";

/// The database: pools, cheap to clone.
#[derive(Clone)]
pub struct Db {
    pools: Pools,
    health: Arc<Health>,
    writes: Writes,
    /// Receiver of published events, see [`Db::telling`].
    sink: Option<Arc<dyn EventSink>>,
    /// Lock against other servers on the file, see [`Db::open_alone`].
    alone: Option<Arc<FileLock>>,
    /// Refuses the writes of a replaced server, see [`Db::in_term`].
    fence: Option<Arc<Fence>>,
}

#[derive(Clone)]
pub(crate) enum Pools {
    Sqlite {
        read: SqlitePool,
        write: SqlitePool,
        /// The write-ahead log.
        log: Arc<Path>,
    },
    Postgres(PgPool),
}

/// Name of our sessions on PostgreSQL, unless [`Db::open_alone`] is told another.
const SESSION: &str = "quartermaster";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    Sqlite,
    Postgres,
}

sql! {
    PING = "SELECT 1";
    /// Changes nothing, but must reach the disk.
    TOUCH = "UPDATE schema_migrations SET name = name WHERE version = 1";
}

impl Db {
    /// Opens `sqlite:/path/to/file.db` (made when missing, readable by its owner only) or `postgres://…`.
    /// The error is one line that says what to do.
    pub async fn open(url: &str) -> Result<Db, DbError> {
        Self::open_as(url, SESSION).await
    }

    async fn open_as(url: &str, session: &str) -> Result<Db, DbError> {
        let pools = match url.split_once(':') {
            Some(("sqlite", rest)) => open_sqlite(sqlite_path(rest)?).await?,
            Some(("postgres" | "postgresql", _)) => open_postgres(url, session).await?,
            _ => {
                return Err(DbError::Open(
                    "DATABASE_URL is neither sqlite:/path/to/file.db nor postgres://user:password@host/database"
                        .to_owned(),
                ));
            }
        };
        Ok(Db {
            pools,
            health: Arc::default(),
            writes: Writes::default(),
            sink: None,
            alone: None,
            fence: None,
        })
    }

    /// [`Db::open`] for a server: an SQLite file that another one has open so is refused, until the last clone of this
    /// value is gone. What commands do beside a running server, they do without it. On PostgreSQL its sessions are called
    /// `session`, by which another server can end them, and it is the [`Lease`](crate::Lease) that keeps others off.
    pub async fn open_alone(url: &str, session: &str) -> Result<Db, DbError> {
        let Some(("sqlite", rest)) = url.split_once(':') else {
            return Self::open_as(url, session).await;
        };
        let lock = FileLock::take(&sqlite_path(rest)?)?;
        match Self::open(url).await {
            Ok(db) => Ok(Db {
                alone: Some(Arc::new(lock)),
                ..db
            }),
            Err(error) => {
                lock.discard();
                Err(error)
            }
        }
    }

    /// The same database, whose transactions pass their published events to `sink` after the commit. Without
    /// a sink this process receives none.
    pub fn telling(self, sink: Arc<dyn EventSink>) -> Db {
        Db {
            sink: Some(sink),
            ..self
        }
    }

    pub(crate) fn fenced(self, fence: Arc<Fence>) -> Db {
        Db {
            fence: Some(fence),
            ..self
        }
    }

    /// Another store with the same fence.
    pub(crate) fn with_pools(&self, pools: Pools) -> Db {
        Db {
            pools,
            health: Arc::default(),
            writes: Writes::default(),
            sink: None,
            alone: None,
            fence: self.fence.clone(),
        }
    }

    pub(crate) fn fence(&self) -> Option<&Arc<Fence>> {
        self.fence.as_ref()
    }

    pub(crate) fn is_alone(&self) -> bool {
        self.alone.is_some()
    }

    pub(crate) fn postgres_options(&self) -> Option<PgConnectOptions> {
        match &self.pools {
            Pools::Sqlite { .. } => None,
            Pools::Postgres(pool) => Some(PgConnectOptions::clone(&pool.connect_options())),
        }
    }

    /// Publishes an event outside our transactions: about a file, a disk, a client. It has happened in any
    /// case: if the database refuses it, subscribers in this process still get it, but consumers of the
    /// outbox do not.
    pub async fn tell(&self, event: DomainEvent) {
        let Some(plan) = plan(self.sink.as_deref(), &event) else {
            return;
        };
        let concerns_others = plan != Plan::default();
        if concerns_others {
            match self.tell_in_a_transaction(plan, event.clone()).await {
                Ok(()) => return,
                Err(error) => tracing::error!(
                    event.key = &*event.event_key,
                    event.id = event.id,
                    error = as_error(&error),
                    "an event was told to this process only: the database refused it"
                ),
            }
        }
        if let Some(sink) = &self.sink {
            sink.publish(event);
        }
    }

    async fn tell_in_a_transaction(&self, plan: Plan, event: DomainEvent) -> Result<(), DbError> {
        let mut tx = self.begin_write().await?;
        tx.queue(plan, event);
        tx.commit().await
    }

    pub fn backend(&self) -> Backend {
        match self.pools {
            Pools::Sqlite { .. } => Backend::Sqlite,
            Pools::Postgres(_) => Backend::Postgres,
        }
    }

    /// Tells a loop whether a look at the database is worth it.
    pub fn changes(&self) -> Changes {
        let log = match &self.pools {
            Pools::Sqlite { log, .. } => Some(log.clone()),
            Pools::Postgres(_) => None,
        };
        Changes::new(log, self.writes.clone())
    }

    /// Begins a read-only transaction on one snapshot of the database.
    pub async fn begin_read(&self) -> Result<Tx, DbError> {
        let connection = match &self.pools {
            Pools::Sqlite { read, .. } => Connection::Sqlite(begin(read, "BEGIN").await?),
            Pools::Postgres(pool) => {
                let snapshot = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
                Connection::Postgres(begin(pool, snapshot).await?)
            }
        };
        Ok(Tx::new(connection, self.sink.clone(), self.health.clone(), None))
    }

    /// Begins a transaction that may write. On SQLite it waits for every other writer.
    pub async fn begin_write(&self) -> Result<Tx, DbError> {
        let begun = match &self.pools {
            Pools::Sqlite { write, .. } => begin(write, "BEGIN IMMEDIATE").await.map(Connection::Sqlite),
            // Explicit, whatever the server's default is: the fence reads concurrent commits.
            Pools::Postgres(pool) => begin(pool, "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
                .await
                .map(Connection::Postgres),
        };
        let connection = begun.map_err(|error| {
            let error = DbError::from(error);
            self.health.note_error(&error);
            error
        })?;
        let write = Some(self.writes.begin());
        let tx = Tx::new(connection, self.sink.clone(), self.health.clone(), write);
        Ok(tx.behind(self.fence.clone()))
    }

    /// True when the database answers and is writable. A write is tried after a failed one (e.g. a full
    /// disk), and when none has succeeded for a minute, so that frequent checks cost the disk little. Takes
    /// at most two seconds.
    pub async fn ping(&self) -> bool {
        let attempt = async {
            if !self.health.is_proved() {
                let mut tx = self.begin_write().await?;
                let _ = exec!(&mut tx, TOUCH).await?;
                return tx.commit().await;
            }
            let mut tx = self.begin_read().await?;
            value!(&mut tx, i32, PING).await.map(drop)
        };
        matches!(tokio::time::timeout(PING_TIMEOUT, attempt).await, Ok(Ok(())))
    }

    /// True when the database answers within two seconds.
    pub async fn answers(&self) -> bool {
        let attempt = async {
            let mut tx = self.begin_read().await?;
            value!(&mut tx, i32, PING).await.map(drop)
        };
        matches!(tokio::time::timeout(PING_TIMEOUT, attempt).await, Ok(Ok(())))
    }

    /// The connections open now, by pool.
    pub fn pools(&self) -> Vec<PoolCounts> {
        match &self.pools {
            Pools::Sqlite { read, write, .. } => vec![
                PoolCounts::from_pool("read", read.size(), read.num_idle(), SQLITE_READERS),
                PoolCounts::from_pool("write", write.size(), write.num_idle(), 1),
            ],
            Pools::Postgres(pool) => {
                vec![PoolCounts::from_pool(
                    "all",
                    pool.size(),
                    pool.num_idle(),
                    POSTGRES_CONNECTIONS,
                )]
            }
        }
    }

    /// Merges SQLite's log into the file, as far as no reader prevents it. A remaining log is harmless.
    pub(crate) async fn fold_log(&self) {
        if let Pools::Sqlite { write, .. } = &self.pools {
            let folded = sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)")
                .execute(write)
                .await;
            if let Err(error) = folded {
                tracing::debug!(%error, "the log of the database was not folded into its file");
            }
        }
    }

    /// Closes every connection, after the transactions in progress; SQLite merges its log into the file.
    pub async fn close(&self) {
        match &self.pools {
            Pools::Sqlite { read, write, .. } => {
                close(read).await;
                close(write).await;
            }
            Pools::Postgres(pool) => close(pool).await,
        }
    }
}

/// Closes a pool and all its connections: one that is returned at that moment is missed the first time.
async fn close<D: sqlx::Database>(pool: &sqlx::Pool<D>) {
    for _ in 0..CLOSE_ATTEMPTS {
        pool.close().await;
        if pool.size() == 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    tracing::warn!(connections = pool.size(), "database connections were left open");
}

/// Connections of one pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolCounts {
    /// `read` and `write` on SQLite, `all` on PostgreSQL.
    pub name: &'static str,
    pub open: u32,
    /// Connections that are open and that nobody uses.
    pub idle: u32,
    /// Most connections that may be open.
    pub most: u32,
}

impl PoolCounts {
    fn from_pool(name: &'static str, open: u32, idle: usize, most: u32) -> Self {
        Self {
            name,
            open,
            idle: u32::try_from(idle).unwrap_or(u32::MAX),
            most,
        }
    }
}

/// Times of the last successful write and of a failed one that concerns all writes.
#[derive(Default)]
pub(crate) struct Health {
    proved: Mutex<Option<Instant>>,
}

impl Health {
    fn is_proved(&self) -> bool {
        self.proved().is_some_and(|at| at.elapsed() < PROOF)
    }

    fn proved(&self) -> MutexGuard<'_, Option<Instant>> {
        self.proved.lock().ignore_poison()
    }

    pub(crate) fn note(&self, committed: Result<(), DbError>) -> Result<(), DbError> {
        match &committed {
            Ok(()) => *self.proved() = Some(Instant::now()),
            Err(error) => self.note_error(error),
        }
        committed
    }

    pub(crate) fn note_error(&self, error: &DbError) {
        if matches!(error, DbError::Storage(_)) {
            *self.proved() = None;
        }
    }
}

/// `sqlite:file.db`, `sqlite:/path/file.db` and `sqlite:///path/file.db` name a file; nothing else is accepted.
pub(crate) fn sqlite_path(rest: &str) -> Result<PathBuf, DbError> {
    let path = rest.strip_prefix("//").unwrap_or(rest);
    if path.is_empty() || path == ":memory:" || path.contains('?') {
        return Err(DbError::Open(format!(
            "DATABASE_URL `sqlite:{rest}` names no file; write sqlite:/path/to/file.db"
        )));
    }
    Ok(PathBuf::from(path))
}

async fn open_sqlite(path: PathBuf) -> Result<Pools, DbError> {
    let file = path.clone();
    FILES.run_for(None, move |_| claim_file(&file)).await??;
    let options = SqliteConnectOptions::new()
        .filename(&path)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        .busy_timeout(BUSY_TIMEOUT)
        .statement_cache_capacity(STATEMENT_CACHE)
        .pragma("journal_size_limit", "16777216");
    let pool = || {
        SqlitePoolOptions::new()
            .acquire_timeout(ACQUIRE_TIMEOUT)
            .max_lifetime(None)
            .test_before_acquire(false)
    };
    let write = pool()
        .max_connections(1)
        .idle_timeout(None)
        .connect_with(
            options
                .clone()
                .pragma("cache_size", "-4096")
                .optimize_on_close(true, None),
        )
        .await
        .map_err(|error| sqlite_refusal(&path, &error))?;
    let read = pool()
        .max_connections(SQLITE_READERS)
        .idle_timeout(Duration::from_mins(5))
        .connect_lazy_with(options.pragma("cache_size", "-1024").pragma("query_only", "ON"));
    let mut log = path.into_os_string();
    log.push("-wal");
    let log = Path::new(&log).into();
    Ok(Pools::Sqlite { read, write, log })
}

/// Creates the file if missing, private to its owner, and detects early what would stop SQLite.
pub(crate) fn claim_file(path: &Path) -> Result<(), DbError> {
    use std::os::unix::fs::OpenOptionsExt as _;

    if path.is_dir() {
        return Err(DbError::Open(format!(
            "the database `{}` is a directory; name a file in it",
            path.display()
        )));
    }
    let opened = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path);
    opened.map(drop).map_err(|error| file_refusal(path, &error))
}

/// Error about a database file or its directory, with a remedy.
pub(crate) fn file_refusal(path: &Path, error: &std::io::Error) -> DbError {
    use std::io::ErrorKind;

    let advice = match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => "make its directory first".to_owned(),
        ErrorKind::PermissionDenied => {
            "permission denied; let the user that runs the server read and write it".to_owned()
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "the disk is full; free some space".to_owned(),
        ErrorKind::ReadOnlyFilesystem => "the file system is read-only; put it elsewhere".to_owned(),
        _ => error.to_string(),
    };
    DbError::Open(format!("cannot open the database `{}`: {advice}", path.display()))
}

pub(crate) fn sqlite_refusal(path: &Path, error: &sqlx::Error) -> DbError {
    let code = match error {
        sqlx::Error::Database(database) => database.code().and_then(|code| code.parse::<u32>().ok()),
        _ => None,
    };
    let advice = match code.map(|code| code & 0xff) {
        Some(5 | 6) => "another process holds it; stop that first".to_owned(),
        Some(8) => {
            "it or its directory is read-only; let the user that runs the server write there".to_owned()
        }
        Some(11) => "it is damaged; restore a backup".to_owned(),
        Some(13) => "the disk is full; free some space".to_owned(),
        Some(14) => {
            "its directory cannot be written; let the user that runs the server write there".to_owned()
        }
        Some(26) => "it is not an SQLite database; name another file".to_owned(),
        _ => error.to_string(),
    };
    DbError::Open(format!("cannot open the database `{}`: {advice}", path.display()))
}

pub(crate) fn postgres_options(url: &str) -> Result<PgConnectOptions, DbError> {
    PgConnectOptions::from_str(url)
        .map_err(|error| DbError::Open(format!("DATABASE_URL is not a PostgreSQL address: {error}")))
}

async fn open_postgres(url: &str, session: &str) -> Result<Pools, DbError> {
    let options = postgres_options(url)?
        .application_name(session)
        .statement_cache_capacity(STATEMENT_CACHE);
    // A single connection first: the pool would retry silently and then only report a time-out.
    let first = tokio::time::timeout(ACQUIRE_TIMEOUT, options.connect()).await;
    match first {
        Ok(Ok(connection)) => drop(connection.close().await),
        Ok(Err(error)) => return Err(postgres_refusal(&options, &error)),
        Err(_) => return Err(postgres_unreachable(&options, "no answer in ten seconds")),
    }
    let pool = PgPoolOptions::new()
        .max_connections(POSTGRES_CONNECTIONS)
        .acquire_timeout(ACQUIRE_TIMEOUT)
        .idle_timeout(Duration::from_mins(5))
        .after_connect(|connection, _| {
            Box::pin(async move { connection.execute(POSTGRES_PAUSE).await.map(drop) })
        })
        .connect_lazy_with(options);
    Ok(Pools::Postgres(pool))
}

/// Names the server, the user and the database, never the password.
fn postgres_refusal(options: &PgConnectOptions, error: &sqlx::Error) -> DbError {
    let (host, user) = (options.get_host(), options.get_username());
    let database = options.get_database().unwrap_or(user);
    let sqlx::Error::Database(refusal) = error else {
        return postgres_unreachable(options, &error.to_string());
    };
    let line = match refusal.code().as_deref() {
        Some("28P01" | "28000") => format!(
            "PostgreSQL at `{host}` refuses user `{user}`: {}; check user and password in DATABASE_URL",
            refusal.message()
        ),
        Some("3D000") => format!(
            "PostgreSQL at `{host}` has no database `{database}`; make it with: createdb -O {user} {database}"
        ),
        _ => match class(&**refusal) {
            Class::Busy => {
                format!("PostgreSQL at `{host}` has no connection to spare; raise its max_connections")
            }
            _ => format!(
                "PostgreSQL at `{host}` refuses database `{database}`: {}",
                refusal.message()
            ),
        },
    };
    DbError::Open(line)
}

fn postgres_unreachable(options: &PgConnectOptions, reason: &str) -> DbError {
    DbError::Open(format!(
        "cannot reach PostgreSQL at `{}:{}`: {reason}; start it or correct DATABASE_URL",
        options.get_host(),
        options.get_port()
    ))
}
