//! Migrations, forward only. All that are pending run in one transaction: they all hold, or none does. A program is
//! linked with its own ([`MIGRATIONS`]); tests of crates read those of the checkout.

use sha2::{Digest, Sha256};

use crate::error::DbError;
use crate::open::{Backend, Db};
use crate::tx::{Connection, Tx};
use crate::{all, exec, sql};

/// A step of the schema.
#[derive(Clone, Copy, Debug)]
pub struct Migration {
    /// Number of the file, e.g. 31; applied in this order.
    pub version: i64,
    /// Name of the file without its ending, e.g. `0031_library`.
    pub name: &'static str,
    /// Statements for SQLite.
    pub sqlite: &'static str,
    /// Statements for PostgreSQL.
    pub postgres: &'static str,
}

/// Migrations linked into this program, as one list by ascending version; the crate `qm-migrations` has it.
#[linkme::distributed_slice]
#[allow(unsafe_code, reason = "the registry is a section of the linked program")]
pub static MIGRATIONS: [&'static [Migration]];

/// Migrations of this program; of a test that is linked with none, those of the checkout.
fn known() -> &'static [Migration] {
    #[cfg(feature = "testing")]
    if MIGRATIONS.is_empty() {
        return crate::testing::migrations();
    }
    MIGRATIONS
        .first()
        .expect("a program is linked with its migrations")
}

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

/// Migrations recorded in a database.
#[derive(Clone, Debug)]
pub(crate) struct Applied(Vec<(i64, String, String)>);

impl Applied {
    /// `None` when no version of this program has created the database.
    pub(crate) async fn read(connection: &mut sqlx::SqliteConnection) -> Option<Self> {
        let rows = sqlx::query_as(APPLIED.text).fetch_all(connection).await.ok()?;
        let ours = |rows: &Vec<(i64, String, String)>| {
            let first = rows.first().map(|(version, name, _)| (*version, name.as_str()));
            first
                == known()
                    .first()
                    .map(|migration| (migration.version, migration.name))
        };
        Some(rows).filter(ours).map(Self)
    }

    /// The name of the last one.
    pub(crate) fn last(&self) -> String {
        self.0.last().map(|(_, name, _)| name.clone()).unwrap_or_default()
    }
}

/// Refuses an SQLite database that this program cannot bring up to date.
pub(crate) fn known_to_us(applied: &Applied) -> Result<(), DbError> {
    pending(Backend::Sqlite, known(), &applied.0).map(drop)
}

/// A database with pending migrations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outdated {
    /// Version of the last applied migration; `None` for a new database.
    pub version: Option<i64>,
    /// The last pending migration.
    pub target: &'static str,
}

impl Db {
    /// The state from which [`Db::migrate`] would start; `None` when nothing is pending. Changes nothing.
    pub async fn outdated(&self) -> Result<Option<Outdated>, DbError> {
        outdated(self, known()).await.map_err(explain)
    }

    /// Brings the schema up to what this program needs. Changes nothing when it is there already.
    pub async fn migrate(&self) -> Result<(), DbError> {
        if apply(self, known()).await.map_err(explain)? {
            // Merged now, so that a later kill need not replay all of it.
            self.fold_log().await;
        }
        Ok(())
    }
}

/// Start-up shows one line, so the line must hold the reason.
fn explain(error: DbError) -> DbError {
    match error {
        DbError::Storage(source) => DbError::Open(format!(
            "cannot write the database: {source}; free some space, or let the user that runs the server write there"
        )),
        DbError::Busy(source) => DbError::Open(format!(
            "cannot migrate the database: {source}; another process holds it, stop that first"
        )),
        DbError::Unreachable(source) => {
            DbError::Open(format!("lost the database while migrating it: {source}"))
        }
        other => other,
    }
}

/// SHA-256 of all texts, for tests that keep a database between processes.
#[cfg(feature = "testing")]
pub(crate) fn fingerprint(backend: Backend) -> String {
    let texts: Vec<&str> = known().iter().map(|migration| migration.text(backend)).collect();
    checksum(&texts.join("\n"))
}

/// Applies the migrations up to `version`, for tests of what an earlier version left.
#[cfg(feature = "testing")]
pub(crate) async fn up_to(db: &Db, version: i64) -> Result<(), DbError> {
    let end = known().partition_point(|migration| migration.version <= version);
    apply(db, &known()[..end]).await.map(drop)
}

async fn outdated(db: &Db, known: &[Migration]) -> Result<Option<Outdated>, DbError> {
    // Rolled back: a new database has no ledger to read yet.
    let mut tx = db.begin_write().await?;
    script(&mut tx, LEDGER).await?;
    let applied = all!(&mut tx, (i64, String, String), APPLIED).await?;
    let pending = pending(db.backend(), known, &applied)?;
    Ok(pending.last().map(|last| Outdated {
        version: applied.last().map(|(version, ..)| *version),
        target: last.name,
    }))
}

/// Applies pending migrations; `false` if there were none.
async fn apply(db: &Db, known: &[Migration]) -> Result<bool, DbError> {
    let mut tx = db.begin_write().await?;
    if db.backend() == Backend::Postgres {
        script(&mut tx, POSTGRES_LOCK).await?;
    }
    script(&mut tx, LEDGER).await?;
    let applied = all!(&mut tx, (i64, String, String), APPLIED).await?;
    let pending = pending(db.backend(), known, &applied)?;
    for migration in &pending {
        let text = migration.text(db.backend());
        script(&mut tx, text)
            .await
            .map_err(|error| migration.failed(error))?;
        exec!(&mut tx, RECORD, migration.version, migration.name, checksum(text))
            .await?
            .exactly(1)?;
        tracing::info!(migration = migration.name, "database migrated");
    }
    tx.commit().await?;
    Ok(!pending.is_empty())
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

/// The migrations not yet applied, in order; refuses a database that is newer than this program or was made by other texts.
fn pending<'m>(
    backend: Backend,
    known: &'m [Migration],
    applied: &[(i64, String, String)],
) -> Result<Vec<&'m Migration>, DbError> {
    for (version, name, found) in applied {
        match known.iter().find(|migration| migration.version == *version) {
            None => return Err(DbError::Newer { found: name.clone() }),
            Some(migration) if checksum(migration.text(backend)) != *found => {
                return Err(DbError::Changed { name: name.clone() });
            }
            Some(_) => {}
        }
    }
    let is_applied =
        |migration: &Migration| applied.iter().any(|(version, ..)| *version == migration.version);
    Ok(known.iter().filter(|migration| !is_applied(migration)).collect())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DbError, db_test, value};

    const GOOD: Migration = Migration {
        version: 9001,
        name: "9001_good",
        sqlite: "CREATE TABLE good (a TEXT NOT NULL) STRICT; INSERT INTO good (a) VALUES ('x');",
        postgres: "CREATE TABLE good (a TEXT NOT NULL); INSERT INTO good (a) VALUES ('x');",
    };
    const BAD: Migration = Migration {
        version: 9002,
        name: "9002_bad",
        sqlite: "CREATE TABLE bad (a TEXT) STRICT; INSERT INTO nowhere (a) VALUES (1);",
        postgres: "CREATE TABLE bad (a TEXT); INSERT INTO nowhere (a) VALUES (1);",
    };

    sql! { COUNT = "SELECT COUNT(*) FROM schema_migrations"; }

    fn with(more: Vec<Migration>) -> Vec<Migration> {
        known().iter().copied().chain(more).collect()
    }

    async fn count(db: &Db) -> i64 {
        value!(&mut db.begin_read().await.unwrap(), i64, COUNT)
            .await
            .unwrap()
    }

    db_test! {
        async fn applies_what_is_missing_and_nothing_twice(db: Db) {
            let before = count(&db).await;
            db.migrate().await.unwrap();
            assert_eq!(db.outdated().await.unwrap(), None);
            let both = with(vec![GOOD]);
            let outdated = outdated(&db, &both).await.unwrap().unwrap();
            let last = known().last().map(|migration| migration.version);
            assert_eq!((outdated.version, outdated.target), (last, GOOD.name));
            apply(&db, &both).await.unwrap();
            apply(&db, &both).await.unwrap();
            assert_eq!(count(&db).await, before + 1);
        }

        async fn a_failure_names_the_migration_and_leaves_nothing(db: Db) {
            let before = count(&db).await;
            let error = apply(&db, &with(vec![GOOD, BAD])).await.unwrap_err();
            assert!(matches!(&error, DbError::Migration { name, .. } if name == "9002_bad"), "{error:?}");
            let line = error.to_string();
            assert!(line.contains("`9002_bad`") && line.contains("nowhere") && !line.contains('\n'), "{line}");
            assert_eq!(count(&db).await, before);
            apply(&db, &with(vec![GOOD])).await.unwrap();
        }

        async fn a_newer_database_is_refused(db: Db) {
            apply(&db, &with(vec![GOOD])).await.unwrap();
            let error = db.migrate().await.unwrap_err();
            assert!(matches!(&error, DbError::Newer { found } if found == "9001_good"), "{error:?}");
        }

        async fn an_edited_migration_is_refused(db: Db) {
            apply(&db, &with(vec![GOOD])).await.unwrap();
            let edited = Migration { sqlite: "SELECT 1", postgres: "SELECT 1", ..GOOD };
            let error = apply(&db, &with(vec![edited])).await.unwrap_err();
            assert!(matches!(&error, DbError::Changed { name } if name == "9001_good"), "{error:?}");
        }

        async fn two_programs_that_start_at_once_migrate_once(db: Db) {
            let other = db.clone();
            let both = with(vec![GOOD]);
            let (one, two) = tokio::join!(apply(&db, &both), apply(&other, &both));
            one.unwrap();
            two.unwrap();
        }
    }
}
