//! Titles by id, with their episodes and credits.

use std::collections::HashMap;

use qm_db::{Backend, DbError, FromRow, Statement, Tx};

use super::schema::backend;
use crate::model::titles::{Credit, Episode, Title, list};

const FIND: Statement = Statement {
    text: "SELECT t.id, t.kind, t.title, t.original, t.adult, t.start_year, t.end_year, t.runtime, t.genres, r.rating, r.votes \
        FROM titles t LEFT JOIN ratings r ON r.id = t.id WHERE t.id = $1",
};
/// Finds a list of titles: a search judges more than a hundred, and single queries would cost more than the
/// search.
const FIND_SQLITE: Statement = Statement {
    text: "SELECT t.id, t.kind, t.title, t.original, t.adult, t.start_year, t.end_year, t.runtime, t.genres, r.rating, r.votes \
        FROM json_each($1) w CROSS JOIN titles t ON t.id = w.value LEFT JOIN ratings r ON r.id = t.id",
};
const FIND_POSTGRES: Statement = Statement {
    text: "SELECT t.id, t.kind, t.title, t.original, t.adult, t.start_year, t.end_year, t.runtime, t.genres, r.rating, r.votes \
        FROM titles t LEFT JOIN ratings r ON r.id = t.id \
        WHERE t.id = ANY (ARRAY(SELECT CAST(w.value AS BIGINT) FROM json_array_elements_text(CAST($1 AS JSON)) w))",
};
const CREW: Statement = Statement {
    text: "SELECT directors, writers FROM crew WHERE id = $1",
};
const PERSONS_SQLITE: Statement = Statement {
    text: "SELECT p.id, p.name FROM json_each($1) w CROSS JOIN persons p ON p.id = w.value",
};
const PERSONS_POSTGRES: Statement = Statement {
    text: "SELECT id, name FROM persons \
        WHERE id = ANY (ARRAY(SELECT CAST(w.value AS BIGINT) FROM json_array_elements_text(CAST($1 AS JSON)) w))",
};
const EPISODES: Statement = Statement {
    text: "SELECT e.id, e.season, e.episode, t.title, t.start_year AS year FROM episodes e LEFT JOIN titles t ON t.id = e.id \
        WHERE e.parent = $1 ORDER BY e.season, e.episode, e.id LIMIT 50000",
};
const SEASONS: Statement = Statement {
    text: "SELECT DISTINCT season FROM episodes WHERE parent = $1 LIMIT 500",
};
const SEASON_OF_YEAR: Statement = Statement {
    text: "SELECT COUNT(*) FROM episodes e JOIN titles t ON t.id = e.id WHERE e.parent = $1 AND e.season = $2 \
        AND t.start_year >= $3 AND t.start_year <= $4",
};
const PARENT: Statement = Statement {
    text: "SELECT parent FROM episodes WHERE id = $1",
};
const CREDITS: Statement = Statement {
    text: "SELECT p.person_id AS person, n.name, p.category, p.job, p.characters FROM principals p \
        LEFT JOIN persons n ON n.id = p.person_id WHERE p.title_id = $1 ORDER BY p.ordering LIMIT 200",
};

/// Statements of SQLite, of PostgreSQL, and of both.
#[cfg(test)]
pub const STATEMENTS: [&[Statement]; 3] = [
    &[FIND_SQLITE, PERSONS_SQLITE],
    &[FIND_POSTGRES, PERSONS_POSTGRES],
    &[FIND, CREW, EPISODES, SEASONS, SEASON_OF_YEAR, PARENT, CREDITS],
];

#[derive(FromRow)]
struct Row {
    id: i64,
    kind: Option<String>,
    title: String,
    original: Option<String>,
    adult: Option<i64>,
    start_year: Option<i64>,
    end_year: Option<i64>,
    runtime: Option<i64>,
    genres: Option<String>,
    rating: Option<i64>,
    votes: Option<i64>,
}

impl From<Row> for Title {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            kind: row.kind.unwrap_or_default(),
            title: row.title,
            original: row.original,
            adult: row.adult == Some(1),
            start_year: row.start_year,
            end_year: row.end_year,
            runtime: row.runtime,
            genres: list(row.genres.as_deref()),
            rating: row.rating,
            votes: row.votes,
        }
    }
}

pub async fn find(tx: &mut Tx, id: i64) -> Result<Option<Title>, DbError> {
    Ok(qm_db::opt!(tx, Row, FIND, id).await?.map(Title::from))
}

/// The existing titles of a list, unordered.
pub async fn find_all(tx: &mut Tx, ids: &[i64]) -> Result<Vec<Title>, DbError> {
    let ids = serde_json::json!(ids).to_string();
    let rows = match backend(tx) {
        Backend::Sqlite => qm_db::all!(tx, Row, FIND_SQLITE, &ids).await?,
        Backend::Postgres => qm_db::all!(tx, Row, FIND_POSTGRES, &ids).await?,
    };
    Ok(rows.into_iter().map(Title::from).collect())
}

/// Ids of directors and of writers.
pub async fn crew(tx: &mut Tx, id: i64) -> Result<(Vec<String>, Vec<String>), DbError> {
    let row = qm_db::opt!(tx, (Option<String>, Option<String>), CREW, id).await?;
    let (directors, writers) = row.unwrap_or_default();
    Ok((list(directors.as_deref()), list(writers.as_deref())))
}

/// Known names of people, by id.
pub async fn persons(tx: &mut Tx, ids: &[i64]) -> Result<HashMap<i64, String>, DbError> {
    let ids = serde_json::json!(ids).to_string();
    let rows = match backend(tx) {
        Backend::Sqlite => qm_db::all!(tx, (i64, String), PERSONS_SQLITE, &ids).await?,
        Backend::Postgres => qm_db::all!(tx, (i64, String), PERSONS_POSTGRES, &ids).await?,
    };
    Ok(rows.into_iter().collect())
}

#[derive(FromRow)]
struct EpisodeRow {
    id: i64,
    season: Option<i64>,
    episode: Option<i64>,
    title: Option<String>,
    year: Option<i64>,
}

/// Episodes in order; at most 50,000.
pub async fn episodes(tx: &mut Tx, parent: i64) -> Result<Vec<Episode>, DbError> {
    let rows = qm_db::all!(tx, EpisodeRow, EPISODES, parent).await?;
    let episodes = rows.into_iter().map(|row| Episode {
        id: row.id,
        season: row.season,
        episode: row.episode,
        title: row.title,
        year: row.year,
    });
    Ok(episodes.collect())
}

/// Seasons of a series; `None` stands for episodes without a season.
pub async fn seasons(tx: &mut Tx, parent: i64) -> Result<Vec<Option<i64>>, DbError> {
    let rows = qm_db::all!(tx, (Option<i64>,), SEASONS, parent).await?;
    Ok(rows.into_iter().map(|(season,)| season).collect())
}

/// True if the season has an episode from this year or an adjacent one.
pub async fn is_season_of(tx: &mut Tx, parent: i64, season: i64, year: i64) -> Result<bool, DbError> {
    let (from, to) = (year.saturating_sub(1), year.saturating_add(1));
    let episodes = qm_db::value!(tx, i64, SEASON_OF_YEAR, parent, season, from, to).await?;
    Ok(episodes > 0)
}

/// The series of an episode.
pub async fn parent(tx: &mut Tx, id: i64) -> Result<Option<i64>, DbError> {
    Ok(qm_db::opt!(tx, (i64,), PARENT, id).await?.map(|(parent,)| parent))
}

#[derive(FromRow)]
struct CreditRow {
    person: i64,
    name: Option<String>,
    category: Option<String>,
    job: Option<String>,
    characters: Option<String>,
}

/// Credits in order; at most 200.
pub async fn credits(tx: &mut Tx, id: i64) -> Result<Vec<Credit>, DbError> {
    let rows = qm_db::all!(tx, CreditRow, CREDITS, id).await?;
    let credits = rows.into_iter().map(|row| Credit {
        person: row.person,
        name: row.name,
        category: row.category,
        job: row.job,
        characters: row.characters,
    });
    Ok(credits.collect())
}
