//! The database: one SQL text for SQLite and PostgreSQL.
//!
//! Owns the pools, transactions ([`Tx`]), the migrations, the registry of statements, the outbox that a commit writes, and the
//! lease by which one of several servers on one PostgreSQL is active ([`Lease`]).
//! Knows no table of any area.
//! Feature crates write statements with [`sql!`] and run them with [`all!`], [`opt!`], [`one!`], [`value!`],
//! [`exec!`] and [`batch!`], always inside a [`Tx`].
//!
//! The portable subset: `$1..$n`; ids TEXT; instants, counts and sizes BIGINT (`i64`); booleans bound and read as
//! `bool`; JSON TEXT ([`Json`]); `CAST(SUM(x) AS BIGINT)`; `CAST($1 AS TEXT) IS NULL` where a parameter has no column
//! to take its type from; `ON CONFLICT … DO UPDATE`, `RETURNING`, `NULLS LAST`, `LOWER(a) LIKE LOWER($1)`,
//! `string_agg(a, ',')`. Not: `now()`,
//! arrays, `ANY`, `ILIKE`, `FOR UPDATE`. Claim work with one conditional UPDATE. TEXT holds no NUL on PostgreSQL.
//!
//! Bounds: SQLite one writer and four readers; PostgreSQL ten connections; ten seconds of waiting for one of them.
//! A transaction is never held across a plugin call or an HTTP request: on SQLite it holds up every other writer.

mod backup;
mod begin;
mod beside;
mod changes;
mod error;
mod json;
mod lanes;
mod lock;
mod macros;
mod migrate;
mod node;
mod open;
mod outbox;
mod statement;
#[cfg(feature = "testing")]
pub mod testing;
mod tx;

pub use backup::{Copied, Restored, SqliteFile, postgres_arguments};
pub use beside::{Access, Beside};
pub use changes::Changes;
pub use error::DbError;
pub use json::Json;
pub use migrate::{MIGRATIONS, Migration, Outdated};
pub use node::{Holder, Lease, Node};
pub use open::{Backend, Db, PoolCounts};
pub use sqlx::FromRow;
pub use statement::{Bulk, Registered, STATEMENTS, Statement};
pub use tx::{Affected, Tx};

#[doc(hidden)]
pub mod private {
    //! Items that expanded macros refer to.
    pub use crate::tx::Connection;
    pub use linkme;
    pub use sqlx;
}
