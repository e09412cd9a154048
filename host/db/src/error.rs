//! Errors of the database. `Display` names no SQL, no value and no password; the cause is the source.

use qm_kernel::ErrorKind;
use qm_lanes::LaneError;

#[derive(Debug, thiserror::Error)]
pub enum DbError {
    /// Failure while opening, with a remedy, in one line.
    #[error("{0}")]
    Open(String),

    /// A copy of the file could not be created or restored; with a remedy, in one line.
    #[error("{0}")]
    Copy(String),

    #[error("migration `{name}` failed, and the database was left as it was: {source}")]
    Migration { name: String, source: sqlx::Error },

    #[error(
        "the database has migration `{found}`, which this program does not know: it was written by a newer version; \
         install that version or restore a backup made before it"
    )]
    Newer { found: String },

    #[error(
        "migration `{name}` differs from the one this database was made with; install the version that made it"
    )]
    Changed { name: String },

    /// No connection was free in time, or two transactions conflicted. A retry helps.
    #[error("the database is busy")]
    Busy(#[source] sqlx::Error),

    /// The server or the file is gone.
    #[error("the database cannot be reached")]
    Unreachable(#[source] sqlx::Error),

    /// Disk full, read-only, input/output error, damaged file.
    #[error("the database cannot be written")]
    Storage(#[source] sqlx::Error),

    /// An earlier statement of this transaction failed, so nothing of it can be committed.
    #[error("the transaction was given up after an error")]
    Aborted,

    /// Another server has taken over, and this one's writes are refused.
    #[error("another server on this database is active now")]
    Succeeded,

    /// An event has no JSON form.
    #[error("an event cannot be stored: {0}")]
    Event(String),

    #[error("expected {expected} affected rows, found {found}")]
    Affected { expected: u64, found: u64 },

    /// PostgreSQL stores no NUL in texts, so no row can match one.
    #[error("a text holds a NUL character")]
    Nul(#[source] sqlx::Error),

    /// No lane was free for work on the rows.
    #[error(transparent)]
    Lane(#[from] LaneError),

    /// The statement, a constraint or a row's shape.
    #[error("a database statement failed")]
    Query(#[source] sqlx::Error),
}

impl DbError {
    /// The kind of the error, as callers of a service see it.
    pub const fn kind(&self) -> ErrorKind {
        match self {
            DbError::Busy(_)
            | DbError::Unreachable(_)
            | DbError::Storage(_)
            | DbError::Succeeded
            | DbError::Lane(LaneError::Full(_) | LaneError::Stopped) => ErrorKind::Unavailable,
            DbError::Nul(_) => ErrorKind::BadRequest,
            DbError::Open(_)
            | DbError::Copy(_)
            | DbError::Migration { .. }
            | DbError::Newer { .. }
            | DbError::Changed { .. }
            | DbError::Aborted
            | DbError::Lane(LaneError::Panicked(_))
            | DbError::Event(_)
            | DbError::Affected { .. }
            | DbError::Query(_) => ErrorKind::Internal,
        }
    }

    /// True when an equal row exists.
    pub fn is_unique_violation(&self) -> bool {
        self.as_database()
            .is_some_and(sqlx::error::DatabaseError::is_unique_violation)
    }

    /// True when a row with this value in `table.column`, a column that is UNIQUE by itself, exists.
    pub fn is_unique_violation_of(&self, table: &str, column: &str) -> bool {
        let Some(error) = self.as_database().filter(|error| error.is_unique_violation()) else {
            return false;
        };
        match error.constraint() {
            Some(constraint) => constraint == format!("{table}_{column}_key"),
            None => error.message().ends_with(&format!(": {table}.{column}")),
        }
    }

    /// True when a row refers to another that does not exist.
    pub fn is_foreign_key_violation(&self) -> bool {
        self.as_database()
            .is_some_and(sqlx::error::DatabaseError::is_foreign_key_violation)
    }

    fn as_database(&self) -> Option<&dyn sqlx::error::DatabaseError> {
        match self {
            DbError::Query(sqlx::Error::Database(error)) => Some(&**error),
            _ => None,
        }
    }
}

impl From<sqlx::Error> for DbError {
    fn from(error: sqlx::Error) -> Self {
        match &error {
            sqlx::Error::PoolTimedOut => DbError::Busy(error),
            sqlx::Error::Io(_)
            | sqlx::Error::Tls(_)
            | sqlx::Error::PoolClosed
            | sqlx::Error::WorkerCrashed
            | sqlx::Error::BeginFailed => DbError::Unreachable(error),
            sqlx::Error::Database(database) => match class(&**database) {
                Class::Busy => DbError::Busy(error),
                Class::Unreachable => DbError::Unreachable(error),
                Class::Storage => DbError::Storage(error),
                Class::Nul => DbError::Nul(error),
                Class::Statement => DbError::Query(error),
            },
            _ => DbError::Query(error),
        }
    }
}

pub(crate) enum Class {
    Busy,
    Unreachable,
    Storage,
    Nul,
    Statement,
}

/// Classifies a database's error code: SQLite's result codes are numbers, PostgreSQL's SQLSTATEs have five
/// characters.
pub(crate) fn class(error: &dyn sqlx::error::DatabaseError) -> Class {
    let Some(code) = error.code() else {
        return Class::Statement;
    };
    if error.try_downcast_ref::<sqlx::sqlite::SqliteError>().is_some() {
        return match code.parse::<u32>().map(|code| code & 0xff) {
            // BUSY, LOCKED
            Ok(5 | 6) => Class::Busy,
            // READONLY, IOERR, CORRUPT, FULL, CANTOPEN, NOTADB
            Ok(8 | 10 | 11 | 13 | 14 | 26) => Class::Storage,
            _ => Class::Statement,
        };
    }
    match &*code {
        // serialization failure, deadlock, lock not available, too many connections
        "40001" | "40P01" | "55P03" | "53300" => Class::Busy,
        // shut down by the administrator, crash, starting up, a transaction that paused for too long
        "57P01" | "57P02" | "57P03" | "25P03" => Class::Unreachable,
        // read-only, disk full, out of memory, input/output error, damaged data or index
        "25006" | "53100" | "53200" | "58030" | "XX001" | "XX002" => Class::Storage,
        // a byte that is no character of the encoding: a Rust string has no other than NUL
        "22021" => Class::Nul,
        _ => Class::Statement,
    }
}
