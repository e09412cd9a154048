//! A fresh, migrated database per test, of both kinds, removed after the test.
//!
//! PostgreSQL comes from `QM_TEST_POSTGRES`, the address of a server where we may create databases; without it, from a
//! private server of this process ([`PostgresServer`]). Where there is none to be had the PostgreSQL half of a test is
//! skipped with a word on standard error, except with `CI=true`, where it fails.

mod postgres;
mod template;

use std::future::Future;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{LazyLock, OnceLock};

use sqlx::{ConnectOptions as _, Executor as _};

use crate::migrate::{self, Migration};
use crate::open::{Backend, Db};
use crate::statement::STATEMENTS;
use crate::tx::Connection;

pub use postgres::PostgresServer;

/// Makes `name::sqlite` and `name::postgres` of one test:
/// `db_test! { async fn finds_a_user(db: Db) { … } }`. The database is migrated.
#[macro_export]
macro_rules! db_test {
    ($($(#[$meta:meta])* async fn $name:ident($db:ident: $kind:ty) $body:block)+) => {$(
        mod $name {
            #[allow(unused_imports)]
            use super::*;

            async fn body($db: $kind) $body

            #[test]
            $(#[$meta])*
            fn sqlite() {
                $crate::testing::run($crate::Backend::Sqlite, body);
            }

            #[test]
            $(#[$meta])*
            fn postgres() {
                $crate::testing::run($crate::Backend::Postgres, body);
            }
        }
    )+};
}

/// Expansion of [`db_test!`].
pub fn run<F: Future<Output = ()>>(backend: Backend, body: impl FnOnce(Db) -> F) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a test needs a runtime");
    runtime.block_on(async {
        let Some(scratch) = Scratch::migrated(backend).await else {
            return;
        };
        let db = scratch.open().await;
        body(db.clone()).await;
        db.close().await;
        scratch.remove().await;
    });
}

/// A separate test database.
pub struct Scratch {
    url: String,
    place: Place,
}

enum Place {
    File(PathBuf),
    /// The server's address and the database's name.
    Server(String, String),
}

static NEXT: AtomicU32 = AtomicU32::new(0);

impl Scratch {
    /// An empty database. `None` for PostgreSQL on a machine without it.
    pub async fn new(backend: Backend) -> Option<Scratch> {
        Self::create(backend, None).await
    }

    /// A database with the present schema: a copy of one that was migrated once, because each test would
    /// otherwise migrate its own.
    pub async fn migrated(backend: Backend) -> Option<Scratch> {
        let template = match backend {
            Backend::Sqlite => template::file().await,
            Backend::Postgres => template::database(server()?).await,
        };
        Self::create(backend, Some(template)).await
    }

    async fn create(backend: Backend, template: Option<&str>) -> Option<Scratch> {
        let name = format!(
            "qm_test_{}_{}",
            std::process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed)
        );
        match backend {
            Backend::Sqlite => {
                let folder = std::env::temp_dir().join(&name);
                std::fs::create_dir_all(&folder).expect("the temporary directory is writable");
                let file = folder.join("test.db");
                if let Some(template) = template {
                    std::fs::copy(template, &file).expect("the temporary directory has room");
                }
                let url = format!("sqlite:{}", file.display());
                Some(Scratch {
                    url,
                    place: Place::File(folder),
                })
            }
            Backend::Postgres => {
                let server = server()?;
                administer(server, &format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).await;
                let template = template.unwrap_or("template0");
                administer(server, &format!("CREATE DATABASE {name} TEMPLATE {template}")).await;
                let url = with_database(server, &name);
                Some(Scratch {
                    url,
                    place: Place::Server(server.to_owned(), name),
                })
            }
        }
    }

    /// Its address, for `DATABASE_URL`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Opens and migrates it.
    pub async fn open(&self) -> Db {
        let db = Db::open(&self.url)
            .await
            .unwrap_or_else(|error| panic!("{error}"));
        db.migrate().await.unwrap_or_else(|error| panic!("{error}"));
        db
    }

    /// Removes it. A failed test leaves a database on the server; the next one of that name replaces it.
    pub async fn remove(self) {
        if let Place::Server(server, name) = &self.place {
            administer(server, &format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).await;
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Place::File(folder) = &self.place {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

/// Migrations of the checkout, read once from its folder: a new one does not compile the crates that test with it.
///
/// # Panics
/// When there is no folder `migrations` above the crate that is tested, or a file cannot be read.
pub(crate) fn migrations() -> &'static [Migration] {
    static READ: LazyLock<Vec<Migration>> = LazyLock::new(read_migrations);
    &READ
}

fn read_migrations() -> Vec<Migration> {
    let begin =
        std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(std::env::current_dir, |dir| Ok(dir.into()));
    let begin = begin.expect("a folder to begin in");
    let mut folders = begin.ancestors().map(|above| above.join("migrations"));
    let folder = folders.find(|folder| folder.join("sqlite").is_dir());
    let folder = folder.unwrap_or_else(|| panic!("no folder `migrations` above {}", begin.display()));
    let text = |kind: &str, name: &str| -> &'static str {
        let path = folder.join(kind).join(format!("{name}.sql"));
        let text =
            std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        text.leak()
    };
    let entries = std::fs::read_dir(folder.join("sqlite")).expect("a folder of migrations");
    let mut migrations: Vec<Migration> = entries
        .filter_map(|entry| {
            let file = entry.expect("an entry").file_name().into_string().ok()?;
            let name: &'static str = file.strip_suffix(".sql")?.to_owned().leak();
            let (number, _) = name.split_once('_').expect("NNNN_subject");
            Some(Migration {
                version: number.parse().expect("a number"),
                name,
                sqlite: text("sqlite", name),
                postgres: text("postgres", name),
            })
        })
        .collect();
    migrations.sort_by_key(|migration| migration.version);
    migrations
}

/// Migrates a new database to the schema of an earlier version: that of migration `version`.
pub async fn migrate_to(db: &Db, version: i64) {
    migrate::up_to(db, version)
        .await
        .unwrap_or_else(|error| panic!("{error}"));
}

/// Prepares every statement linked into this test binary, and lists those that the database refuses.
pub async fn prepare_all(db: &Db) {
    let mut refused = Vec::new();
    for statement in STATEMENTS {
        let text = (statement.text)();
        let mut tx = db.begin_write().await.expect("the database is open");
        let prepared = match tx.connection() {
            Connection::Sqlite(connection) => (&mut **connection).prepare(&text).await.map(drop),
            Connection::Postgres(connection) => (&mut **connection).prepare(&text).await.map(drop),
        };
        if let Err(error) = prepared {
            refused.push(format!("{}: {error}\n    {text}", statement.name));
        }
    }
    assert!(!STATEMENTS.is_empty(), "no statement is registered");
    assert!(
        refused.is_empty(),
        "{:?} does not take:\n{}",
        db.backend(),
        refused.join("\n")
    );
}

/// Address of the server, from the environment or started by us, once per process.
fn server() -> Option<&'static str> {
    static SERVER: OnceLock<Option<String>> = OnceLock::new();
    // Never dropped; it ends with this process, see PostgresServer.
    static OWN: OnceLock<PostgresServer> = OnceLock::new();
    let url = SERVER.get_or_init(|| {
        if let Ok(url) = std::env::var("QM_TEST_POSTGRES") {
            return Some(url);
        }
        match PostgresServer::start() {
            Ok(server) => Some(OWN.get_or_init(|| server).url().to_owned()),
            Err(reason) => {
                assert!(
                    std::env::var("CI").as_deref() != Ok("true"),
                    "no PostgreSQL to test with: {reason}"
                );
                eprintln!("skipping the PostgreSQL half of the tests: {reason}");
                None
            }
        }
    });
    url.as_deref()
}

/// `url` with its database replaced.
fn with_database(url: &str, name: &str) -> String {
    let (address, options) = url
        .split_once('?')
        .map_or((url, None), |(address, options)| (address, Some(options)));
    let authority = address.find("://").map_or(0, |at| at + 3);
    let end = address[authority..]
        .find('/')
        .map_or(address.len(), |at| authority + at);
    let options = options.map(|options| format!("?{options}")).unwrap_or_default();
    format!("{}/{name}{options}", &address[..end])
}

async fn administer(server: &str, statement: &str) {
    let options: sqlx::postgres::PgConnectOptions =
        server.parse().expect("QM_TEST_POSTGRES is a postgres:// address");
    let mut connection = options
        .connect()
        .await
        .unwrap_or_else(|error| panic!("cannot reach the test server QM_TEST_POSTGRES names: {error}"));
    connection
        .execute(statement)
        .await
        .unwrap_or_else(|error| panic!("`{statement}` failed: {error}"));
    let _ = sqlx::Connection::close(connection).await;
}
