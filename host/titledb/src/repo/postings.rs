//! Table `postings`: posting lists of names by runs of letters.

use std::collections::HashMap;

use qm_db::private::Connection;
use qm_db::{Backend, DbError, FromRow, Statement, Tx};

use super::schema::backend;
use crate::model::trigrams::Run;

/// Rows per statement on SQLite.
const AT_ONCE: usize = 100;
/// Bytes per message to PostgreSQL.
const MESSAGE: usize = 256 << 10;

const NAMES: Statement = Statement {
    text: "SELECT rank, name, year, sort FROM names WHERE rank > $1 AND rank <= $2 ORDER BY rank",
};
const COUNTS_SQLITE: Statement = Statement {
    text: "SELECT run, SUM(names) FROM postings WHERE run IN (SELECT value FROM json_each($1)) GROUP BY run",
};
const COUNTS_POSTGRES: Statement = Statement {
    text: "SELECT run, CAST(SUM(names) AS BIGINT) FROM postings \
        WHERE run = ANY (ARRAY(SELECT CAST(w.value AS BIGINT) FROM json_array_elements_text(CAST($1 AS JSON)) w)) GROUP BY run",
};
const LISTS_SQLITE: Statement = Statement {
    text: "SELECT block, run, ranks FROM postings WHERE run IN (SELECT value FROM json_each($1)) \
        AND block >= $2 AND block < $3",
};
const LISTS_POSTGRES: Statement = Statement {
    text: "SELECT block, run, ranks FROM postings \
        WHERE run = ANY (ARRAY(SELECT CAST(w.value AS BIGINT) FROM json_array_elements_text(CAST($1 AS JSON)) w)) \
        AND block >= $2 AND block < $3",
};

/// Statements of SQLite, of PostgreSQL, and of both.
#[cfg(test)]
pub const STATEMENTS: [&[Statement]; 3] = [
    &[COUNTS_SQLITE, LISTS_SQLITE],
    &[COUNTS_POSTGRES, LISTS_POSTGRES],
    &[NAMES],
];

/// A name with its rank.
#[derive(FromRow)]
pub struct Ranked {
    pub rank: i64,
    pub name: String,
    pub year: Option<i64>,
    pub sort: i64,
}

/// Names with ranks above `after`, up to `last`.
pub async fn names(tx: &mut Tx, after: i64, last: i64) -> Result<Vec<Ranked>, DbError> {
    qm_db::all!(tx, Ranked, NAMES, after, last).await
}

/// Adds the posting lists of a block: run, number of names, encoded list.
pub async fn add(tx: &mut Tx, block: i64, lists: &[(Run, u64, Vec<u8>)]) -> Result<(), DbError> {
    let done = match tx.connection() {
        Connection::Sqlite(connection) => sqlite(connection, block, lists).await,
        Connection::Postgres(connection) => postgres(connection, block, lists).await,
    };
    done.map_err(|error| tx.failed(error))
}

async fn sqlite(
    connection: &mut sqlx::SqliteConnection,
    block: i64,
    lists: &[(Run, u64, Vec<u8>)],
) -> Result<(), sqlx::Error> {
    for chunk in lists.chunks(AT_ONCE) {
        let text = format!(
            "INSERT INTO postings (run, block, names, ranks) VALUES {}",
            vec!["(?,?,?,?)"; chunk.len()].join(",")
        );
        let mut query = sqlx::query::<sqlx::Sqlite>(&text).persistent(chunk.len() == AT_ONCE);
        for (run, names, ranks) in chunk {
            query = query
                .bind(*run)
                .bind(block)
                .bind(i64::try_from(*names).unwrap_or(i64::MAX))
                .bind(&**ranks);
        }
        query.execute(&mut *connection).await?;
    }
    Ok(())
}

async fn postgres(
    connection: &mut sqlx::PgConnection,
    block: i64,
    lists: &[(Run, u64, Vec<u8>)],
) -> Result<(), sqlx::Error> {
    use std::fmt::Write as _;
    let mut copy = connection
        .copy_in_raw("COPY postings (run, block, names, ranks) FROM STDIN")
        .await?;
    let mut text = String::with_capacity(MESSAGE + (64 << 10));
    for (run, names, ranks) in lists {
        // COPY needs a doubled backslash.
        let _ = write!(text, "{run}\t{block}\t{names}\t\\\\x");
        for byte in ranks {
            let _ = write!(text, "{byte:02x}");
        }
        text.push('\n');
        if text.len() >= MESSAGE {
            copy.send(text.as_bytes()).await?;
            text.clear();
        }
    }
    copy.send(text.as_bytes()).await?;
    copy.finish().await.map(drop)
}

/// Number of names with each of these runs.
pub async fn counts(tx: &mut Tx, runs: &[Run]) -> Result<HashMap<Run, u64>, DbError> {
    let runs = serde_json::json!(runs).to_string();
    let rows = match backend(tx) {
        Backend::Sqlite => qm_db::all!(tx, (i64, i64), COUNTS_SQLITE, runs).await?,
        Backend::Postgres => qm_db::all!(tx, (i64, i64), COUNTS_POSTGRES, runs).await?,
    };
    let counts = rows.into_iter().map(|(run, names)| (run, names.unsigned_abs()));
    Ok(counts.collect())
}

/// Posting lists of these runs, for the blocks from `from` up to but excluding `to`.
pub async fn lists(
    tx: &mut Tx,
    runs: &[Run],
    (from, to): (i64, i64),
) -> Result<HashMap<i64, HashMap<Run, Vec<u8>>>, DbError> {
    type Row = (i64, i64, Vec<u8>);
    let runs = serde_json::json!(runs).to_string();
    let rows = match backend(tx) {
        Backend::Sqlite => qm_db::all!(tx, Row, LISTS_SQLITE, runs, from, to).await?,
        Backend::Postgres => qm_db::all!(tx, Row, LISTS_POSTGRES, runs, from, to).await?,
    };
    let mut blocks: HashMap<i64, HashMap<Run, Vec<u8>>> = HashMap::new();
    for (block, run, ranks) in rows {
        blocks.entry(block).or_default().insert(run, ranks);
    }
    Ok(blocks)
}
