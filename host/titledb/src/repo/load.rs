//! Bulk insertion into tables of the store: many rows per statement on SQLite, COPY on PostgreSQL.

use std::fmt::Write as _;
use std::sync::OnceLock;

use qm_db::private::Connection;
use qm_db::{DbError, Statement, Tx};

use crate::model::batch::{Batch, Cell};
use crate::model::file::{Source, Table};
use crate::model::ids::IdSet;

/// Rows per statement on SQLite.
const AT_ONCE: usize = 100;
/// Bytes per message of a COPY.
const MESSAGE: usize = 256 << 10;

const IDS: Statement = Statement {
    text: "SELECT id FROM titles WHERE id > $1 ORDER BY id LIMIT 20000",
};

#[cfg(test)]
pub const STATEMENTS: &[Statement] = &[IDS];

/// Inserts the rows. On SQLite a row with an existing key is left out; on PostgreSQL duplicates are found
/// when the keys are created.
pub async fn add(tx: &mut Tx, batch: &Batch) -> Result<(), DbError> {
    if batch.is_empty() {
        return Ok(());
    }
    let source = batch.table.source();
    let done = match tx.connection() {
        Connection::Sqlite(connection) => {
            let mut done = Ok(());
            for rows in batch.cells().chunks(AT_ONCE * batch.columns()) {
                let count = rows.len() / batch.columns();
                let text = if count == AT_ONCE {
                    full_text(source)
                } else {
                    &insert_text(source, count)
                };
                let mut query = sqlx::query::<sqlx::Sqlite>(text).persistent(count == AT_ONCE);
                for cell in rows {
                    query = match *cell {
                        Cell::Null => query.bind(None::<i64>),
                        Cell::Integer(number) => query.bind(number),
                        Cell::Text(start, end) => query.bind(batch.text(start, end)),
                    };
                }
                if let Err(error) = query.execute(&mut **connection).await {
                    done = Err(error);
                    break;
                }
            }
            done
        }
        Connection::Postgres(connection) => copy(connection, source, batch).await,
    };
    done.map_err(|error| tx.failed(error))
}

async fn copy(
    connection: &mut sqlx::PgConnection,
    source: &Source,
    batch: &Batch,
) -> Result<(), sqlx::Error> {
    let columns: Vec<&str> = source.columns.iter().map(|column| column.stored).collect();
    let text = format!("COPY {} ({}) FROM STDIN", source.stored, columns.join(", "));
    let mut copy = connection.copy_in_raw(&text).await?;
    let mut message = String::with_capacity(MESSAGE + (64 << 10));
    for row in batch.cells().chunks(batch.columns()) {
        for (place, cell) in row.iter().enumerate() {
            if place > 0 {
                message.push('\t');
            }
            match *cell {
                Cell::Null => message.push_str("\\N"),
                Cell::Integer(number) => {
                    let _ = write!(message, "{number}");
                }
                Cell::Text(start, end) => escape(batch.text(start, end), &mut message),
            }
        }
        message.push('\n');
        if message.len() >= MESSAGE {
            copy.send(message.as_bytes()).await?;
            message.clear();
        }
    }
    if !message.is_empty() {
        copy.send(message.as_bytes()).await?;
    }
    copy.finish().await.map(drop)
}

fn escape(text: &str, into: &mut String) {
    for letter in text.chars() {
        match letter {
            '\\' => into.push_str("\\\\"),
            '\t' => into.push_str("\\t"),
            '\n' => into.push_str("\\n"),
            '\r' => into.push_str("\\r"),
            other => into.push(other),
        }
    }
}

fn insert_text(source: &Source, rows: usize) -> String {
    let columns: Vec<&str> = source.columns.iter().map(|column| column.stored).collect();
    let row = format!("({})", vec!["?"; columns.len()].join(","));
    format!(
        "INSERT OR IGNORE INTO {} ({}) VALUES {}",
        source.stored,
        columns.join(", "),
        vec![&*row; rows].join(",")
    )
}

/// Statement for [`AT_ONCE`] rows, built once per table.
fn full_text(source: &'static Source) -> &'static str {
    static TEXTS: [OnceLock<String>; 7] = [const { OnceLock::new() }; 7];
    let place = match source.table {
        Table::Titles => 0,
        Table::Ratings => 1,
        Table::Akas => 2,
        Table::Crew => 3,
        Table::Episodes => 4,
        Table::Persons => 5,
        Table::Principals => 6,
    };
    TEXTS[place].get_or_init(|| insert_text(source, AT_ONCE))
}

/// Ids of the loaded titles.
pub async fn ids(tx: &mut Tx) -> Result<IdSet, DbError> {
    let mut ids = IdSet::default();
    let mut after = -1;
    loop {
        let page = qm_db::all!(tx, (i64,), IDS, after).await?;
        let Some((last,)) = page.last() else {
            return Ok(ids);
        };
        after = *last;
        for (id,) in &page {
            ids.insert(*id);
        }
    }
}
