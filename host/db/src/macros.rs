//! The macros that define and run statements. Each expands to one future over whichever database the [`Tx`](crate::Tx)
//! is on, so rows and parameters are typed by both drivers at compile time.

/// Defines statements: `sql! { pub(crate) FIND = "SELECT id FROM users WHERE id = $1"; }`.
#[macro_export]
macro_rules! sql {
    ($($(#[$meta:meta])* $vis:vis $name:ident = $text:expr;)+) => {$(
        $(#[$meta])*
        $vis const $name: $crate::Statement = $crate::Statement { text: $text };
        #[allow(unsafe_code, reason = "the registry is a section of the linked program")]
        const _: () = {
            #[$crate::private::linkme::distributed_slice($crate::STATEMENTS)]
            #[linkme(crate = $crate::private::linkme)]
            static REGISTERED: $crate::Registered = $crate::Registered {
                name: concat!(module_path!(), "::", stringify!($name)),
                text: || $name.text.to_owned(),
            };
        };
    )+};
}

/// Defines an INSERT of many rows:
/// `bulk! { pub(crate) UPSERT = "INSERT INTO t (a, b) VALUES", 2, "ON CONFLICT (a) DO UPDATE SET b = excluded.b"; }`.
/// The number is that of the columns.
#[macro_export]
macro_rules! bulk {
    ($($(#[$meta:meta])* $vis:vis $name:ident = $head:expr, $columns:expr, $tail:expr;)+) => {$(
        $(#[$meta])*
        $vis static $name: $crate::Bulk = $crate::Bulk::new($head, $columns, $tail);
        #[allow(unsafe_code, reason = "the registry is a section of the linked program")]
        const _: () = {
            #[$crate::private::linkme::distributed_slice($crate::STATEMENTS)]
            #[linkme(crate = $crate::private::linkme)]
            static REGISTERED: $crate::Registered = $crate::Registered {
                name: concat!(module_path!(), "::", stringify!($name)),
                text: || $name.text(2),
            };
        };
    )+};
}

/// Every row: `all!(tx, UserRow, LIST, a, b).await` is `Result<Vec<UserRow>, DbError>`.
/// A row is a struct that derives `FromRow`, or a tuple (`(String,)` for one column).
#[macro_export]
macro_rules! all {
    ($tx:expr, $row:ty, $statement:expr $(, $bind:expr)* $(,)?) => {
        $crate::__fetch!(fetch_all, $tx, $row, $statement $(, $bind)*)
    };
}

/// The row, if there is one: `Result<Option<UserRow>, DbError>`.
#[macro_export]
macro_rules! opt {
    ($tx:expr, $row:ty, $statement:expr $(, $bind:expr)* $(,)?) => {
        $crate::__fetch!(fetch_optional, $tx, $row, $statement $(, $bind)*)
    };
}

/// The row, which must exist: `Result<UserRow, DbError>`.
#[macro_export]
macro_rules! one {
    ($tx:expr, $row:ty, $statement:expr $(, $bind:expr)* $(,)?) => {
        $crate::__fetch!(fetch_one, $tx, $row, $statement $(, $bind)*)
    };
}

/// The one column of the one row there must be: `value!(tx, i64, COUNT).await` is `Result<i64, DbError>`.
#[macro_export]
macro_rules! value {
    ($tx:expr, $value:ty, $statement:expr $(, $bind:expr)* $(,)?) => {
        async { $crate::one!($tx, ($value,), $statement $(, $bind)*).await.map(|(value,)| value) }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __fetch {
    ($fetch:ident, $tx:expr, $row:ty, $statement:expr $(, $bind:expr)*) => {
        async {
            let tx: &mut $crate::Tx = $tx;
            let statement: $crate::Statement = $statement;
            let fetched = match tx.connection() {
                $crate::private::Connection::Sqlite(connection) => {
                    $crate::private::sqlx::query_as::<$crate::private::sqlx::Sqlite, $row>(statement.text)
                        $(.bind($bind))*
                        .$fetch(&mut **connection)
                        .await
                }
                $crate::private::Connection::Postgres(connection) => {
                    $crate::private::sqlx::query_as::<$crate::private::sqlx::Postgres, $row>(statement.text)
                        $(.bind($bind))*
                        .$fetch(&mut **connection)
                        .await
                }
            };
            fetched.map_err(|error| tx.failed(error))
        }
    };
}

/// Runs a statement for its effect: `exec!(tx, SET_ENABLED, id, on).await?.exactly(1)?`.
#[macro_export]
macro_rules! exec {
    ($tx:expr, $statement:expr $(, $bind:expr)* $(,)?) => {
        async {
            let tx: &mut $crate::Tx = $tx;
            let statement: $crate::Statement = $statement;
            let done = match tx.connection() {
                $crate::private::Connection::Sqlite(connection) => {
                    $crate::private::sqlx::query::<$crate::private::sqlx::Sqlite>(statement.text)
                        $(.bind($bind))*
                        .execute(&mut **connection)
                        .await
                        .map(|done| done.rows_affected())
                }
                $crate::private::Connection::Postgres(connection) => {
                    $crate::private::sqlx::query::<$crate::private::sqlx::Postgres>(statement.text)
                        $(.bind($bind))*
                        .execute(&mut **connection)
                        .await
                        .map(|done| done.rows_affected())
                }
            };
            done.map($crate::Affected::new).map_err(|error| tx.failed(error))
        }
    };
}

/// Inserts a slice of rows, 64 a statement: `batch!(tx, UPSERT, rows, |row| row.a, &row.b).await`.
/// The expressions are the columns, in the order of the [`bulk!`](crate::bulk). No row may conflict with another of
/// the same slice: PostgreSQL refuses to touch a row twice in one statement.
#[macro_export]
macro_rules! batch {
    ($tx:expr, $bulk:expr, $rows:expr, |$row:pat_param| $($bind:expr),+ $(,)?) => {
        async {
            let tx: &mut $crate::Tx = $tx;
            let bulk: &'static $crate::Bulk = &$bulk;
            let mut rows = &$rows[..];
            let mut affected = 0;
            let mut failed = None;
            while let Some((chunk, text)) = bulk.next(&mut rows) {
                let done = match tx.connection() {
                    $crate::private::Connection::Sqlite(connection) => {
                        let mut query = $crate::private::sqlx::query::<$crate::private::sqlx::Sqlite>(text);
                        for $row in chunk {
                            query = query$(.bind($bind))+;
                        }
                        query.execute(&mut **connection).await.map(|done| done.rows_affected())
                    }
                    $crate::private::Connection::Postgres(connection) => {
                        let mut query = $crate::private::sqlx::query::<$crate::private::sqlx::Postgres>(text);
                        for $row in chunk {
                            query = query$(.bind($bind))+;
                        }
                        query.execute(&mut **connection).await.map(|done| done.rows_affected())
                    }
                };
                match done {
                    Ok(rows) => affected += rows,
                    Err(error) => {
                        failed = Some(error);
                        break;
                    }
                }
            }
            match failed {
                None => Ok($crate::Affected::new(affected)),
                Some(error) => Err(tx.failed(error)),
            }
        }
    };
}

/// The rows that a slice of keys names, 64 keys a statement: `each!(tx, TagRow, NAMED, keys, |key| key.a, &key.b).await` is
/// `Result<Vec<TagRow>, DbError>`. The [`bulk!`](crate::bulk) selects `FROM (VALUES`, and names its columns `column1`,
/// `column2` and so on, as both databases do. What is found for one key stands before what is found for a key of a later
/// statement; otherwise there is no order.
#[macro_export]
macro_rules! each {
    ($tx:expr, $row:ty, $bulk:expr, $keys:expr, |$key:pat_param| $($bind:expr),+ $(,)?) => {
        async {
            let tx: &mut $crate::Tx = $tx;
            let bulk: &'static $crate::Bulk = &$bulk;
            let mut keys = &$keys[..];
            let mut found: Vec<$row> = Vec::new();
            let mut failed = None;
            while let Some((chunk, text)) = bulk.next(&mut keys) {
                let rows = match tx.connection() {
                    $crate::private::Connection::Sqlite(connection) => {
                        let mut query = $crate::private::sqlx::query_as::<$crate::private::sqlx::Sqlite, $row>(text);
                        for $key in chunk {
                            query = query$(.bind($bind))+;
                        }
                        query.fetch_all(&mut **connection).await
                    }
                    $crate::private::Connection::Postgres(connection) => {
                        let mut query = $crate::private::sqlx::query_as::<$crate::private::sqlx::Postgres, $row>(text);
                        for $key in chunk {
                            query = query$(.bind($bind))+;
                        }
                        query.fetch_all(&mut **connection).await
                    }
                };
                match rows {
                    Ok(rows) => found.extend(rows),
                    Err(error) => {
                        failed = Some(error);
                        break;
                    }
                }
            }
            match failed {
                None => Ok(found),
                Some(error) => Err(tx.failed(error)),
            }
        }
    };
}
