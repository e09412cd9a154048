//! Tables `names` and `series`, built from titles and their alternative names after those are loaded.

use qm_db::private::Connection;
use qm_db::{Backend, DbError, FromRow, Statement, Tx};

use super::schema::{backend, script};

/// Titles per step.
pub const STEP: i64 = 2000;
/// Rows per statement on SQLite.
const AT_ONCE: usize = 200;

/// Most votes first, after a position. The two texts select the same titles.
const RATED: Statement = Statement {
    text: "SELECT c.votes, c.id, t.kind, t.title, t.original, t.start_year FROM (SELECT votes, id FROM ratings \
        WHERE (votes, id) < ($1, $2) ORDER BY votes DESC, id DESC LIMIT 2000) c LEFT JOIN titles t ON t.id = c.id \
        ORDER BY c.votes DESC, c.id DESC",
};
const RATED_AKAS: Statement = Statement {
    text: "SELECT a.title_id, a.title FROM (SELECT votes, id FROM ratings WHERE (votes, id) < ($1, $2) \
        ORDER BY votes DESC, id DESC LIMIT 2000) c JOIN akas a ON a.title_id = c.id",
};
const UNRATED: Statement = Statement {
    text: "SELECT CAST(0 AS BIGINT) AS votes, t.id, t.kind, t.title, t.original, t.start_year FROM titles t WHERE t.id > $1 \
        AND NOT EXISTS (SELECT 1 FROM ratings r WHERE r.id = t.id) ORDER BY t.id LIMIT 2000",
};
const UNRATED_AKAS: Statement = Statement {
    text: "SELECT a.title_id, a.title FROM (SELECT t.id FROM titles t WHERE t.id > $1 \
        AND NOT EXISTS (SELECT 1 FROM ratings r WHERE r.id = t.id) ORDER BY t.id LIMIT 2000) c \
        JOIN akas a ON a.title_id = c.id",
};

#[cfg(test)]
pub const STATEMENTS: &[Statement] = &[RATED, RATED_AKAS, UNRATED, UNRATED_AKAS];

/// A title with its names. Of a missing title only the id is known.
#[derive(FromRow)]
pub struct Named {
    pub votes: i64,
    pub id: i64,
    pub kind: Option<String>,
    pub title: Option<String>,
    pub original: Option<String>,
    pub start_year: Option<i64>,
}

/// Alternative names by title id.
type Akas = Vec<(i64, String)>;

pub async fn rated(tx: &mut Tx, votes: i64, id: i64) -> Result<(Vec<Named>, Akas), DbError> {
    let titles = qm_db::all!(tx, Named, RATED, votes, id).await?;
    let akas = qm_db::all!(tx, (i64, String), RATED_AKAS, votes, id).await?;
    Ok((titles, akas))
}

pub async fn unrated(tx: &mut Tx, after: i64) -> Result<(Vec<Named>, Akas), DbError> {
    let titles = qm_db::all!(tx, Named, UNRATED, after).await?;
    let akas = qm_db::all!(tx, (i64, String), UNRATED_AKAS, after).await?;
    Ok((titles, akas))
}

/// A name of a title with its rank: names of titles with more votes come first.
pub struct NewName {
    pub rank: i64,
    pub title_id: i64,
    pub name: String,
    pub year: Option<i64>,
    pub sort: i64,
}

/// A series by the key of its title.
pub struct NewSeries {
    pub key: String,
    pub id: i64,
    pub start_year: Option<i64>,
}

pub async fn add(tx: &mut Tx, names: &[NewName], series: &[NewSeries]) -> Result<(), DbError> {
    let done = match tx.connection() {
        Connection::Sqlite(connection) => sqlite(connection, names, series).await,
        Connection::Postgres(connection) => postgres(connection, names, series).await,
    };
    done.map_err(|error| tx.failed(error))
}

async fn sqlite(
    connection: &mut sqlx::SqliteConnection,
    names: &[NewName],
    series: &[NewSeries],
) -> Result<(), sqlx::Error> {
    let rows = |head: &str, row: &str, count| format!("{head} {}", vec![row; count].join(","));
    for chunk in names.chunks(AT_ONCE) {
        let whole = chunk.len() == AT_ONCE;
        let text = rows(
            "INSERT INTO names (rank, title_id, name, year, sort) VALUES",
            "(?,?,?,?,?)",
            chunk.len(),
        );
        let mut query = sqlx::query::<sqlx::Sqlite>(&text).persistent(whole);
        for name in chunk {
            query = query
                .bind(name.rank)
                .bind(name.title_id)
                .bind(&*name.name)
                .bind(name.year)
                .bind(name.sort);
        }
        query.execute(&mut *connection).await?;
    }
    for chunk in series.chunks(AT_ONCE) {
        let text = rows(
            "INSERT OR IGNORE INTO series (key, id, start_year) VALUES",
            "(?,?,?)",
            chunk.len(),
        );
        let mut query = sqlx::query::<sqlx::Sqlite>(&text).persistent(chunk.len() == AT_ONCE);
        for one in chunk {
            query = query.bind(&*one.key).bind(one.id).bind(one.start_year);
        }
        query.execute(&mut *connection).await?;
    }
    Ok(())
}

async fn postgres(
    connection: &mut sqlx::PgConnection,
    names: &[NewName],
    series: &[NewSeries],
) -> Result<(), sqlx::Error> {
    use std::fmt::Write as _;
    let year = |year: Option<i64>| year.map_or_else(|| "\\N".to_owned(), |year| year.to_string());
    let mut text = String::new();
    for name in names {
        // Only letters, digits and spaces: nothing to escape.
        let _ = writeln!(
            text,
            "{}\t{}\t{}\t{}\t{}",
            name.rank,
            name.title_id,
            name.name,
            year(name.year),
            name.sort
        );
    }
    let mut copy = connection
        .copy_in_raw("COPY names (rank, title_id, name, year, sort) FROM STDIN")
        .await?;
    copy.send(text.as_bytes()).await?;
    copy.finish().await?;
    if series.is_empty() {
        return Ok(());
    }
    let mut text = String::new();
    for one in series {
        let _ = writeln!(text, "{}\t{}\t{}", one.key, one.id, year(one.start_year));
    }
    let mut copy = connection
        .copy_in_raw("COPY series (key, id, start_year) FROM STDIN")
        .await?;
    copy.send(text.as_bytes()).await?;
    copy.finish().await.map(drop)
}

/// Indexes that PostgreSQL creates after the names are loaded, each in its own transaction. SQLite creates
/// them with the tables.
pub const INDEXES: &[&str] = &[
    "CREATE UNIQUE INDEX IF NOT EXISTS names_key ON names (rank)",
    "CREATE INDEX IF NOT EXISTS series_key ON series (key)",
];
/// Index to find the posting lists and their lengths, on both databases.
pub const LISTS: &str = "CREATE UNIQUE INDEX IF NOT EXISTS postings_key ON postings (run, block, names)";
pub const ANALYZE: &str =
    "ANALYZE titles; ANALYZE ratings; ANALYZE akas; ANALYZE episodes; ANALYZE names; ANALYZE series";

/// Runs a statement on PostgreSQL only.
pub async fn index(tx: &mut Tx, text: &str) -> Result<(), DbError> {
    match backend(tx) {
        Backend::Sqlite => Ok(()),
        Backend::Postgres => script(tx, text).await,
    }
}
