//! Creating and removing the tables of the store.
//!
//! On PostgreSQL keys are created after the rows are loaded: a table without an index loads several times as
//! fast.

use qm_db::private::Connection;
use qm_db::{Backend, DbError, Statement, Tx};
use sqlx::Executor as _;

use crate::model::plan::Loaded;

/// Schemas on PostgreSQL: of the complete store, and of the one being loaded.
pub const LIVE: &str = "titledb";
pub const NEXT: &str = "titledb_next";
const OLD: &str = "titledb_old";

const SQLITE: &str = "
CREATE TABLE IF NOT EXISTS progress (one INTEGER PRIMARY KEY, state TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS titles (id INTEGER PRIMARY KEY, kind TEXT, title TEXT NOT NULL, original TEXT, adult INTEGER,
    start_year INTEGER, end_year INTEGER, runtime INTEGER, genres TEXT);
CREATE TABLE IF NOT EXISTS ratings (id INTEGER PRIMARY KEY, rating INTEGER NOT NULL, votes INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS akas (title_id INTEGER, ordering INTEGER, title TEXT NOT NULL, region TEXT, language TEXT, types TEXT,
    attributes TEXT, is_original INTEGER, PRIMARY KEY (title_id, ordering)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS crew (id INTEGER PRIMARY KEY, directors TEXT, writers TEXT);
CREATE TABLE IF NOT EXISTS episodes (id INTEGER PRIMARY KEY, parent INTEGER NOT NULL, season INTEGER, episode INTEGER);
CREATE TABLE IF NOT EXISTS persons (id INTEGER PRIMARY KEY, name TEXT NOT NULL, birth INTEGER, death INTEGER, professions TEXT,
    known_for TEXT);
CREATE TABLE IF NOT EXISTS principals (title_id INTEGER, ordering INTEGER, person_id INTEGER NOT NULL, category TEXT, job TEXT,
    characters TEXT, PRIMARY KEY (title_id, ordering)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS names (rank INTEGER PRIMARY KEY, title_id INTEGER NOT NULL, name TEXT NOT NULL, year INTEGER,
    sort INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS series (key TEXT, id INTEGER, start_year INTEGER, PRIMARY KEY (key, id)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS postings (run INTEGER NOT NULL, block INTEGER NOT NULL, names INTEGER NOT NULL, ranks BLOB NOT NULL);
";

const POSTGRES: &str = "
CREATE SCHEMA IF NOT EXISTS titledb_next;
CREATE TABLE IF NOT EXISTS titledb_next.progress (one BIGINT PRIMARY KEY, state TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS titledb_next.titles (id BIGINT NOT NULL, kind TEXT, title TEXT NOT NULL, original TEXT, adult BIGINT,
    start_year BIGINT, end_year BIGINT, runtime BIGINT, genres TEXT);
CREATE TABLE IF NOT EXISTS titledb_next.ratings (id BIGINT NOT NULL, rating BIGINT NOT NULL, votes BIGINT NOT NULL);
CREATE TABLE IF NOT EXISTS titledb_next.akas (title_id BIGINT NOT NULL, ordering BIGINT NOT NULL, title TEXT NOT NULL, region TEXT,
    language TEXT, types TEXT, attributes TEXT, is_original BIGINT);
CREATE TABLE IF NOT EXISTS titledb_next.crew (id BIGINT NOT NULL, directors TEXT, writers TEXT);
CREATE TABLE IF NOT EXISTS titledb_next.episodes (id BIGINT NOT NULL, parent BIGINT NOT NULL, season BIGINT, episode BIGINT);
CREATE TABLE IF NOT EXISTS titledb_next.persons (id BIGINT NOT NULL, name TEXT NOT NULL, birth BIGINT, death BIGINT,
    professions TEXT, known_for TEXT);
CREATE TABLE IF NOT EXISTS titledb_next.principals (title_id BIGINT NOT NULL, ordering BIGINT NOT NULL, person_id BIGINT NOT NULL,
    category TEXT, job TEXT, characters TEXT);
CREATE TABLE IF NOT EXISTS titledb_next.names (rank BIGINT NOT NULL, title_id BIGINT NOT NULL, name TEXT NOT NULL, year BIGINT,
    sort BIGINT NOT NULL);
CREATE TABLE IF NOT EXISTS titledb_next.series (key TEXT NOT NULL, id BIGINT NOT NULL, start_year BIGINT);
CREATE TABLE IF NOT EXISTS titledb_next.postings (run BIGINT NOT NULL, block BIGINT NOT NULL, names BIGINT NOT NULL,
    ranks BYTEA NOT NULL);
ALTER TABLE titledb_next.postings ALTER COLUMN ranks SET STORAGE EXTERNAL;
";

/// Keys created after the files are loaded, each in its own transaction; before a unique key the later of
/// duplicate rows are deleted.
pub const KEYS: &[Key] = &[
    Key::unique("titles", "id"),
    Key::unique("ratings", "id"),
    Key::plain("ratings_votes", "ratings", "votes, id"),
    Key::unique("akas", "title_id, ordering"),
    Key::unique("crew", "id"),
    Key::unique("episodes", "id"),
    Key::plain("episodes_parent", "episodes", "parent"),
    Key::unique("persons", "id"),
    Key::unique("principals", "title_id, ordering"),
];

/// An index.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    name: &'static str,
    table: &'static str,
    columns: &'static str,
    unique: bool,
}

impl Key {
    const fn unique(table: &'static str, columns: &'static str) -> Self {
        Self {
            name: table,
            table,
            columns,
            unique: true,
        }
    }

    const fn plain(name: &'static str, table: &'static str, columns: &'static str) -> Self {
        Self {
            name,
            table,
            columns,
            unique: false,
        }
    }
}

const READ: Statement = Statement {
    text: "SELECT state FROM progress WHERE one = 1",
};
const WRITE: Statement = Statement {
    text: "INSERT INTO progress (one, state) VALUES (1, $1) ON CONFLICT (one) DO UPDATE SET state = excluded.state",
};

#[cfg(test)]
pub const STATEMENTS: &[Statement] = &[READ, WRITE];

pub fn backend(tx: &mut Tx) -> Backend {
    match tx.connection() {
        Connection::Sqlite(_) => Backend::Sqlite,
        Connection::Postgres(_) => Backend::Postgres,
    }
}

/// Runs a text of several statements.
pub async fn script(tx: &mut Tx, text: &str) -> Result<(), DbError> {
    let done = match tx.connection() {
        Connection::Sqlite(connection) => (&mut **connection).execute(text).await.map(drop),
        Connection::Postgres(connection) => (&mut **connection).execute(text).await.map(drop),
    };
    done.map_err(|error| tx.failed(error))
}

/// Creates the missing tables.
pub async fn make(tx: &mut Tx) -> Result<(), DbError> {
    let text = match backend(tx) {
        Backend::Sqlite => SQLITE,
        Backend::Postgres => POSTGRES,
    };
    script(tx, text).await
}

/// Creates an index, unless it exists.
pub async fn key(tx: &mut Tx, key: Key) -> Result<(), DbError> {
    let Key {
        name,
        table,
        columns,
        unique,
    } = key;
    let text = match (backend(tx), unique) {
        // SQLite creates keys with the tables.
        (Backend::Sqlite, true) => return Ok(()),
        (Backend::Sqlite, false) => format!("CREATE INDEX IF NOT EXISTS {name} ON {table} ({columns})"),
        (Backend::Postgres, true) => {
            format!("CREATE UNIQUE INDEX IF NOT EXISTS {name}_key ON {table} ({columns})")
        }
        (Backend::Postgres, false) => format!("CREATE INDEX IF NOT EXISTS {name} ON {table} ({columns})"),
    };
    script(tx, &text).await
}

/// Deletes all but the first of rows with the same key, on PostgreSQL; SQLite has none.
pub async fn keep_first(tx: &mut Tx, key: Key) -> Result<(), DbError> {
    let (table, columns) = (key.table, key.columns);
    script(
        tx,
        &format!(
            "DELETE FROM {table} WHERE ctid IN (SELECT ctid FROM (SELECT ctid, row_number() OVER \
             (PARTITION BY {columns} ORDER BY ctid) AS nth FROM {table}) AS numbered WHERE nth > 1)"
        ),
    )
    .await
}

/// Progress of the store; `None` before the first step.
pub async fn loaded(tx: &mut Tx) -> Result<Option<Loaded>, DbError> {
    let state = qm_db::opt!(tx, (String,), READ).await?;
    Ok(state.and_then(|(state,)| serde_json::from_str(&state).ok()))
}

pub async fn set_loaded(tx: &mut Tx, loaded: &Loaded) -> Result<(), DbError> {
    // It always serialises.
    let state = serde_json::to_string(loaded).unwrap_or_default();
    qm_db::exec!(tx, WRITE, state).await?.exactly(1)
}

/// PostgreSQL: replaces the complete store by the loaded one. Renaming waits for no reader.
pub async fn swap(tx: &mut Tx) -> Result<(), DbError> {
    let text = format!(
        "SET LOCAL lock_timeout = '90ms'; \
         DO $$ BEGIN IF EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = '{LIVE}') THEN \
         ALTER SCHEMA {LIVE} RENAME TO {OLD}; END IF; END $$; \
         ALTER SCHEMA {NEXT} RENAME TO {LIVE}"
    );
    script(tx, &text).await
}

/// PostgreSQL: drops a schema with its content. It waits briefly for readers, and then fails.
async fn drop_schema(tx: &mut Tx, which: &str) -> Result<(), DbError> {
    let text = format!("SET LOCAL lock_timeout = '90ms'; DROP SCHEMA IF EXISTS {which} CASCADE");
    script(tx, &text).await
}

pub async fn drop_old(tx: &mut Tx) -> Result<(), DbError> {
    drop_schema(tx, OLD).await
}

pub async fn drop_next(tx: &mut Tx) -> Result<(), DbError> {
    drop_schema(tx, NEXT).await
}

pub async fn drop_live(tx: &mut Tx) -> Result<(), DbError> {
    drop_schema(tx, LIVE).await
}

/// PostgreSQL: true when there is a complete store.
pub async fn has_live(tx: &mut Tx) -> Result<bool, DbError> {
    const HAS: Statement = Statement {
        text: "SELECT CAST(COUNT(*) AS BIGINT) FROM pg_namespace WHERE nspname = 'titledb'",
    };
    Ok(qm_db::value!(tx, i64, HAS).await? > 0)
}

/// Number of rows of a table.
#[cfg(test)]
pub async fn count(tx: &mut Tx, table: &str) -> Result<i64, DbError> {
    let text = format!("SELECT COUNT(*) FROM {table}");
    let counted = match tx.connection() {
        Connection::Sqlite(connection) => sqlx::query_scalar(&text).fetch_one(&mut **connection).await,
        Connection::Postgres(connection) => sqlx::query_scalar(&text).fetch_one(&mut **connection).await,
    };
    counted.map_err(|error| tx.failed(error))
}

#[cfg(test)]
pub async fn prepare(tx: &mut Tx, statement: Statement) -> Result<(), DbError> {
    let prepared = match tx.connection() {
        Connection::Sqlite(connection) => (&mut **connection).prepare(statement.text).await.map(drop),
        Connection::Postgres(connection) => (&mut **connection).prepare(statement.text).await.map(drop),
    };
    prepared.map_err(|error| tx.failed(error))
}
