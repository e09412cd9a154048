//! Names that answer a question, those of the titles with the most votes first.

use qm_db::{Backend, DbError, FromRow, Statement, Tx};

use super::schema::backend;
use crate::model::file::Sort;
use crate::model::grams::{self, Narrow, Part};

/// By the index of names of SQLite.
const INDEXED: Statement = Statement {
    text: "SELECT n.title_id, n.name FROM (SELECT rowid AS rank FROM names_index WHERE names_index MATCH $1 \
        ORDER BY rowid LIMIT $2) f CROSS JOIN names n ON n.rank = f.rank ORDER BY f.rank",
};
/// By a pattern, on PostgreSQL, which knows by how common its letters are whether to look through the names by their places
/// or through the index.
const LIKE: Statement = Statement {
    text: "SELECT title_id, name FROM names WHERE name LIKE $1 \
        AND (CAST($2 AS BIGINT) IS NULL OR year BETWEEN CAST($2 AS BIGINT) - 1 AND CAST($2 AS BIGINT) + 1) \
        AND (CAST($3 AS BIGINT) IS NULL OR sort = $3) ORDER BY rank LIMIT $4",
};
const LIKE_BOTH: Statement = Statement {
    text: "SELECT title_id, name FROM names WHERE name LIKE $1 AND name LIKE $5 \
        AND (CAST($2 AS BIGINT) IS NULL OR year BETWEEN CAST($2 AS BIGINT) - 1 AND CAST($2 AS BIGINT) + 1) \
        AND (CAST($3 AS BIGINT) IS NULL OR sort = $3) ORDER BY rank LIMIT $4",
};
const SAME: Statement = Statement {
    text: "SELECT title_id, name FROM names WHERE name = $1 \
        AND (CAST($2 AS BIGINT) IS NULL OR year BETWEEN CAST($2 AS BIGINT) - 1 AND CAST($2 AS BIGINT) + 1) \
        AND (CAST($3 AS BIGINT) IS NULL OR sort = $3) ORDER BY rank LIMIT $4",
};
const SERIES: Statement = Statement {
    text: "SELECT s.id, s.start_year, (SELECT COUNT(*) FROM episodes e WHERE e.parent = s.id) AS episodes FROM series s \
        WHERE s.key = $1 ORDER BY s.id LIMIT 200",
};

/// Those that SQLite knows, those that PostgreSQL knows, and those of both.
#[cfg(test)]
pub const STATEMENTS: [&[Statement]; 3] = [&[INDEXED], &[LIKE, LIKE_BOTH, SAME], &[SERIES]];

/// A name that may answer.
#[derive(Clone, Debug, FromRow)]
pub struct Hit {
    pub title_id: i64,
    pub name: String,
}

/// What is asked.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    /// Normalised, not empty.
    pub name: &'a str,
    pub narrow: Narrow,
    /// Most names.
    pub limit: i64,
    /// The store has an index by parts.
    pub by_part: bool,
}

impl Asked<'_> {
    fn sort(&self) -> Option<i64> {
        self.narrow.sort.map(|sort: Sort| sort as i64)
    }
}

/// Names that are the one asked for.
pub async fn same(tx: &mut Tx, asked: Asked<'_>) -> Result<Vec<Hit>, DbError> {
    let mut hits = match backend(tx) {
        Backend::Sqlite => indexed(tx, &grams::exactly(asked.name, asked.narrow), asked.limit).await?,
        Backend::Postgres => {
            let (year, sort) = (asked.narrow.year, asked.sort());
            qm_db::all!(tx, Hit, SAME, asked.name, year, sort, asked.limit).await?
        }
    };
    hits.retain(|hit| hit.name == asked.name);
    Ok(hits)
}

/// Names that hold the one asked for; of fewer than three letters, as a word. Without an index by parts, those that begin
/// with it.
pub async fn holding(tx: &mut Tx, asked: Asked<'_>) -> Result<Vec<Hit>, DbError> {
    let short = asked.name.chars().count() < 3;
    let mut hits = match backend(tx) {
        Backend::Sqlite => indexed(tx, &grams::holding(asked.name, asked.narrow), asked.limit).await?,
        // Two letters are in no run of three: their index is that of beginnings.
        Backend::Postgres if short => like(tx, asked, &format!("{} %", asked.name)).await?,
        Backend::Postgres if asked.by_part => like(tx, asked, &format!("%{}%", asked.name)).await?,
        Backend::Postgres => like(tx, asked, &format!("{}%", asked.name)).await?,
    };
    let padded = format!(" {} ", asked.name);
    hits.retain(|hit| {
        if short {
            format!(" {} ", hit.name).contains(&padded)
        } else {
            hit.name.contains(asked.name)
        }
    });
    Ok(hits)
}

/// Names that may be the one asked for, written otherwise.
pub async fn alike(tx: &mut Tx, asked: Asked<'_>) -> Result<Vec<Hit>, DbError> {
    if backend(tx) == Backend::Sqlite {
        return match grams::like(asked.name, asked.narrow) {
            Some(question) => indexed(tx, &question, asked.limit).await,
            None => Ok(Vec::new()),
        };
    }
    let Some((parts, needed)) = grams::parts(asked.name).filter(|_| asked.by_part) else {
        return Ok(Vec::new());
    };
    let parts: Vec<String> = parts
        .iter()
        .filter(|part| part.text.chars().count() >= 3)
        .map(pattern)
        .collect();
    let mut hits = Vec::new();
    for (at, one) in parts.iter().enumerate() {
        if needed == 1 {
            hits.extend(like(tx, asked, one).await?);
            continue;
        }
        for other in &parts[at + 1..] {
            let (year, sort) = (asked.narrow.year, asked.sort());
            hits.extend(qm_db::all!(tx, Hit, LIKE_BOTH, one, year, sort, asked.limit, other).await?);
        }
    }
    Ok(hits)
}

fn pattern(part: &Part) -> String {
    let (before, behind) = (
        if part.begins { "" } else { "%" },
        if part.ends { "" } else { "%" },
    );
    format!("{before}{}{behind}", part.text)
}

async fn indexed(tx: &mut Tx, question: &str, limit: i64) -> Result<Vec<Hit>, DbError> {
    qm_db::all!(tx, Hit, INDEXED, question, limit).await
}

/// `pattern` holds letters, digits, spaces and `%` alone.
async fn like(tx: &mut Tx, asked: Asked<'_>, pattern: &str) -> Result<Vec<Hit>, DbError> {
    let (year, sort) = (asked.narrow.year, asked.sort());
    qm_db::all!(tx, Hit, LIKE, pattern, year, sort, asked.limit).await
}

/// A series that has a key.
#[derive(Clone, Debug, FromRow, PartialEq, Eq)]
pub struct Keyed {
    pub id: i64,
    pub start_year: Option<i64>,
    pub episodes: i64,
}

pub async fn series(tx: &mut Tx, key: &str) -> Result<Vec<Keyed>, DbError> {
    qm_db::all!(tx, Keyed, SERIES, key).await
}
