//! Migrations, embedded, forward only. All that are pending run in one transaction: they all hold, or none does.

use sha2::{Digest, Sha256};

use crate::error::DbError;
use crate::open::{Backend, Db};
use crate::tx::{Connection, Tx};
use crate::{all, exec, sql};

struct Migration {
    version: i64,
    name: &'static str,
    sqlite: &'static str,
    postgres: &'static str,
}

macro_rules! migrations {
    ($($version:literal $name:literal,)+) => {
        &[$(Migration {
            version: $version,
            name: $name,
            sqlite: include_str!(concat!("../../../migrations/sqlite/", $name, ".sql")),
            postgres: include_str!(concat!("../../../migrations/postgres/", $name, ".sql")),
        },)+]
    };
}

/// In order. Never edited once released: what they make is in people's databases.
const MIGRATIONS: &[Migration] = migrations! {
    1 "0001_identity",
    2 "0002_platform",
    3 "0003_torrents",
};

sql! {
    APPLIED = "SELECT version, name, checksum FROM schema_migrations ORDER BY version";
    RECORD = "INSERT INTO schema_migrations (version, name, checksum) VALUES ($1, $2, $3)";
}

/// Both databases read this text: SQLite takes BIGINT for an integer when the table is not STRICT.
const LEDGER: &str = "CREATE TABLE IF NOT EXISTS schema_migrations \
     (version BIGINT NOT NULL PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL)";

/// Any constant will do, as long as every version of this program takes the same: two of them that start at once on
/// one server migrate one after the other. (On SQLite the write transaction itself does that.)
const POSTGRES_LOCK: &str = "SELECT pg_advisory_xact_lock(7381462019)";

impl Db {
    /// Brings the schema up to what this program needs. Changes nothing when it is there already.
    pub async fn migrate(&self) -> Result<(), DbError> {
        let mut tx = self.begin_write().await?;
        if self.backend() == Backend::Postgres {
            script(&mut tx, POSTGRES_LOCK).await?;
        }
        script(&mut tx, LEDGER).await?;
        let applied = all!(&mut tx, (i64, String, String), APPLIED).await?;
        let pending = pending(self.backend(), &applied)?;
        for migration in &pending {
            let text = migration.text(self.backend());
            script(&mut tx, text)
                .await
                .map_err(|error| migration.failed(error))?;
            exec!(&mut tx, RECORD, migration.version, migration.name, checksum(text))
                .await?
                .exactly(1)?;
            tracing::info!(migration = migration.name, "database migrated");
        }
        tx.commit_quiet().await
    }
}

impl Migration {
    fn text(&self, backend: Backend) -> &'static str {
        match backend {
            Backend::Sqlite => self.sqlite,
            Backend::Postgres => self.postgres,
        }
    }

    fn failed(&self, error: DbError) -> DbError {
        match error {
            DbError::Query(source) | DbError::Storage(source) | DbError::Busy(source) => DbError::Migration {
                name: self.name.to_owned(),
                source,
            },
            other => other,
        }
    }
}

/// Those not yet applied; refuses a database that is newer than this program or was made by other texts.
fn pending(backend: Backend, applied: &[(i64, String, String)]) -> Result<Vec<&'static Migration>, DbError> {
    for (version, name, found) in applied {
        match MIGRATIONS.iter().find(|migration| migration.version == *version) {
            None => return Err(DbError::Newer { found: name.clone() }),
            Some(migration) if checksum(migration.text(backend)) != *found => {
                return Err(DbError::Changed { name: name.clone() });
            }
            Some(_) => {}
        }
    }
    let is_applied =
        |migration: &Migration| applied.iter().any(|(version, ..)| *version == migration.version);
    Ok(MIGRATIONS
        .iter()
        .filter(|migration| !is_applied(migration))
        .collect())
}

fn checksum(text: &str) -> String {
    hex::encode(Sha256::digest(text))
}

/// Runs a text of several statements.
async fn script(tx: &mut Tx, text: &'static str) -> Result<(), DbError> {
    use sqlx::Executor as _;
    let done = match tx.connection() {
        Connection::Sqlite(connection) => (&mut **connection).execute(text).await.map(drop),
        Connection::Postgres(connection) => (&mut **connection).execute(text).await.map(drop),
    };
    done.map_err(|error| tx.failed(error))
}
