//! A store beside the database, for data that can be created again: large, written by an import in one go,
//! and then only read.
//!
//! On SQLite it is a file of its own, so that an import never blocks the database's only writer; on
//! PostgreSQL a schema of its own in the same database, with separate connections. The owner of the store
//! creates its tables: no migration knows them.

use std::path::Path;
use std::time::Duration;

use sqlx::Executor as _;
use sqlx::postgres::PgPoolOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};

use crate::error::DbError;
use crate::lanes::FILES;
use crate::open::{Db, Pools, claim_file, sqlite_refusal};

/// Time limit on waiting for a connection.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(10);
const READERS: u32 = 4;

/// Where a store is, on either database.
#[derive(Clone, Copy, Debug)]
pub struct Beside<'a> {
    /// The file, on SQLite.
    pub file: &'a Path,
    /// The schema, on PostgreSQL: a plain word. Its names come before those of `public`.
    pub schema: &'static str,
    pub access: Access,
}

/// Purpose of opening a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Written by one importer, and created if missing. A kill loses no commit; on SQLite a power cut may
    /// damage the file, which must not be trusted then.
    Load,
    /// Complete and not changed in place: on SQLite the file must exist.
    Read,
}

impl Db {
    /// Opens a store beside this database.
    pub async fn open_beside(&self, place: Beside<'_>) -> Result<Db, DbError> {
        let pools = match self.postgres_options() {
            None => match place.access {
                Access::Load => load_sqlite(place.file).await?,
                Access::Read => read_sqlite(place.file)?,
            },
            Some(options) => {
                let more = match place.access {
                    Access::Load => "SET synchronous_commit = off; SET maintenance_work_mem = '64MB'",
                    // The best plan of a search depends on its words.
                    Access::Read => "SET plan_cache_mode = force_custom_plan",
                };
                let begin = format!(
                    "SET idle_in_transaction_session_timeout = '60s'; SET search_path = {}, public; {more}",
                    place.schema
                );
                let pool = PgPoolOptions::new()
                    .max_connections(if place.access == Access::Load { 2 } else { READERS })
                    .acquire_timeout(ACQUIRE_TIMEOUT)
                    .idle_timeout(Duration::from_mins(2))
                    .after_connect(move |connection, _| {
                        let begin = begin.clone();
                        Box::pin(async move { connection.execute(&*begin).await.map(drop) })
                    })
                    .connect_lazy_with(options);
                Pools::Postgres(pool)
            }
        };
        Ok(self.with_pools(pools))
    }
}

/// One connection. The journal holds only pages that existed before, so appending costs it almost nothing.
async fn load_sqlite(path: &Path) -> Result<Pools, DbError> {
    let file = path.to_owned();
    FILES.run_for(None, move |_| claim_file(&file)).await??;
    let options = SqliteConnectOptions::new()
        .filename(path)
        .journal_mode(SqliteJournalMode::Truncate)
        .synchronous(SqliteSynchronous::Off)
        .pragma("cache_size", "-49152")
        .statement_cache_capacity(64);
    let write = SqlitePoolOptions::new()
        .max_connections(1)
        .acquire_timeout(ACQUIRE_TIMEOUT)
        .max_lifetime(None)
        .idle_timeout(None)
        .test_before_acquire(false)
        .connect_with(options)
        .await
        .map_err(|error| sqlite_refusal(path, &error))?;
    Ok(Pools::Sqlite {
        read: write.clone(),
        write,
        log: path.into(),
    })
}

fn read_sqlite(path: &Path) -> Result<Pools, DbError> {
    if !path.is_file() {
        return Err(DbError::Open(format!("there is no store `{}`", path.display())));
    }
    let options = SqliteConnectOptions::new()
        .filename(path)
        .read_only(true)
        .immutable(true)
        .pragma("cache_size", "-4096")
        .statement_cache_capacity(64);
    let read = SqlitePoolOptions::new()
        .max_connections(READERS)
        .acquire_timeout(ACQUIRE_TIMEOUT)
        .max_lifetime(None)
        .idle_timeout(Duration::from_mins(5))
        .test_before_acquire(false)
        .connect_lazy_with(options);
    Ok(Pools::Sqlite {
        write: read.clone(),
        read,
        log: path.into(),
    })
}
