//! Names by rank (titles with the most votes first), and series by key.

use qm_db::{Backend, DbError, FromRow, Statement, Tx};

use super::schema::backend;

const NAMES_SQLITE: Statement = Statement {
    text: "SELECT n.title_id, n.name, n.year, n.sort FROM json_each($1) w CROSS JOIN names n ON n.rank = w.value ORDER BY n.rank",
};
const NAMES_POSTGRES: Statement = Statement {
    text: "SELECT title_id, name, year, sort FROM names \
        WHERE rank = ANY (ARRAY(SELECT CAST(w.value AS BIGINT) FROM json_array_elements_text(CAST($1 AS JSON)) w)) ORDER BY rank",
};
const SERIES: Statement = Statement {
    text: "SELECT id FROM series WHERE key = $1 ORDER BY id LIMIT 200",
};

/// Statements of SQLite, of PostgreSQL, and of both.
#[cfg(test)]
pub const STATEMENTS: [&[Statement]; 3] = [&[NAMES_SQLITE], &[NAMES_POSTGRES], &[SERIES]];

/// A name that may match.
#[derive(Clone, Debug, FromRow)]
pub struct Hit {
    pub title_id: i64,
    pub name: String,
    pub year: Option<i64>,
    pub sort: i64,
}

/// Names with these ranks, in order.
pub async fn names(tx: &mut Tx, ranks: &[i64]) -> Result<Vec<Hit>, DbError> {
    let ranks = serde_json::json!(ranks).to_string();
    match backend(tx) {
        Backend::Sqlite => qm_db::all!(tx, Hit, NAMES_SQLITE, ranks).await,
        Backend::Postgres => qm_db::all!(tx, Hit, NAMES_POSTGRES, ranks).await,
    }
}

/// Ids of the series with this key.
pub async fn series(tx: &mut Tx, key: &str) -> Result<Vec<i64>, DbError> {
    let rows = qm_db::all!(tx, (i64,), SERIES, key).await?;
    Ok(rows.into_iter().map(|(id,)| id).collect())
}
