//! Episodes, grouped into series.

use qm_db::{DbError, FromRow, Tx, sql};

use super::lists::{Row, columns};
use crate::model::item::{Filter, Item, MediaFile, title_key};
use crate::model::series::Bunch;

macro_rules! episodes {
    () => {
        "i.media_type IN ('tv', 'anime', 'episode')"
    };
}

/// SQL condition of a list of series. A parameter that is NULL lets every row through.
macro_rules! wanted {
    () => {
        "(CAST($1 AS TEXT) IS NULL OR i.library_id = $1) AND (CAST($2 AS TEXT) IS NULL OR i.media_type = $2) \
         AND (CAST($3 AS TEXT) IS NULL OR i.match_status = $3)"
    };
}

macro_rules! sums {
    () => {
        "COUNT(*) AS episodes, MIN(i.year) AS year, MAX(i.series_titledb_id) AS titledb_id, MAX(i.created_at) AS added, \
         MAX(i.updated_at) AS updated"
    };
}

sql! {
    // Grouped before the join: there are far fewer directories than episodes.
    BY_DIRECTORY = concat!("SELECT s.directory_id, d.library_id, d.place, s.season, s.episodes, s.year, s.titledb_id, s.added, s.updated \
        FROM (SELECT i.directory_id, i.season, ", sums!(), " FROM media_items i WHERE ", episodes!(), " AND ", wanted!(), " \
        GROUP BY i.directory_id, i.season) s JOIN media_directories d ON d.id = s.directory_id ORDER BY s.directory_id, s.season");
    BY_TITLE = concat!("SELECT i.title, i.season, ", sums!(), " FROM media_items i WHERE ", episodes!(), " AND ", wanted!(), " \
        AND i.directory_id = $4 GROUP BY i.title, i.season");
    // Texts of paths that are not UTF-8 begin with a slash. PostgreSQL indexes only the beginning of a place.
    BELOW = concat!("SELECT ", columns!(), " FROM (SELECT id FROM media_items WHERE library_id = $1 \
            AND substr(place, 1, 200) >= substr($2, 1, 200) AND substr(place, 1, 200) <= substr($3, 1, 200) \
            AND place >= $2 AND place < $3 \
        UNION SELECT id FROM media_items WHERE library_id = $1 \
            AND substr(place, 1, 200) >= '/' AND substr(place, 1, 200) < '0' AND place >= '/' AND place < '0') p \
        JOIN media_items i ON i.id = p.id JOIN media_files f ON f.item_id = i.id WHERE ", episodes!(), " \
        AND (CAST($4 AS TEXT) IS NULL OR i.match_status = $4) ORDER BY i.place");
    // By the sorted title or, for an item with a sort title, by its own title.
    OF_TITLE = concat!("SELECT ", columns!(), " FROM media_items i JOIN media_files f ON f.item_id = i.id WHERE ", episodes!(), " \
        AND ((i.title_key = $4 AND i.sort_title IS NULL AND i.title = $1) OR (i.sort_title IS NOT NULL AND i.title = $1)) \
        AND (CAST($2 AS TEXT) IS NULL OR i.library_id = $2) \
        AND (CAST($3 AS TEXT) IS NULL OR i.match_status = $3) ORDER BY i.place, i.id");
}

/// Sums over the episodes of one season.
#[derive(FromRow)]
struct Sums {
    season: Option<i64>,
    episodes: i64,
    year: Option<i64>,
    titledb_id: Option<String>,
    added: i64,
    updated: i64,
}

impl From<Sums> for Bunch {
    fn from(sums: Sums) -> Self {
        Self {
            season: sums.season,
            episodes: sums.episodes,
            year: sums.year,
            titledb_id: sums.titledb_id,
            added: sums.added,
            updated: sums.updated,
        }
    }
}

#[derive(FromRow)]
struct InDirectory {
    directory_id: String,
    library_id: String,
    place: String,
    #[sqlx(flatten)]
    sums: Sums,
}

/// Episodes of a season in one directory.
pub struct Lying {
    pub directory_id: String,
    pub library_id: String,
    pub place: String,
    pub bunch: Bunch,
}

/// All episodes, grouped by directory and season. Only the library, type and status of the filter count.
pub async fn by_directory(tx: &mut Tx, filter: &Filter) -> Result<Vec<Lying>, DbError> {
    let rows = qm_db::all!(
        tx,
        InDirectory,
        BY_DIRECTORY,
        filter.library_id.as_deref(),
        filter.media_type.as_deref(),
        filter.match_status.as_deref()
    )
    .await?;
    let lying = rows.into_iter().map(|row| Lying {
        directory_id: row.directory_id,
        library_id: row.library_id,
        place: row.place,
        bunch: row.sums.into(),
    });
    Ok(lying.collect())
}

#[derive(FromRow)]
struct Titled {
    title: String,
    #[sqlx(flatten)]
    sums: Sums,
}

/// Episodes of one directory, grouped by title and season.
pub async fn by_title(
    tx: &mut Tx,
    filter: &Filter,
    directory_id: &str,
) -> Result<Vec<(String, Bunch)>, DbError> {
    let rows = qm_db::all!(
        tx,
        Titled,
        BY_TITLE,
        filter.library_id.as_deref(),
        filter.media_type.as_deref(),
        filter.match_status.as_deref(),
        directory_id
    )
    .await?;
    let titled = rows.into_iter().map(|row| (row.title, row.sums.into()));
    Ok(titled.collect())
}

/// Episodes below a folder of a library, and those anywhere in it whose paths are not UTF-8.
pub async fn below(
    tx: &mut Tx,
    library_id: &str,
    folder: &str,
    match_status: Option<&str>,
) -> Result<Vec<(Item, MediaFile)>, DbError> {
    // The character after the slash is a zero.
    let (from, to) = (format!("{folder}/"), format!("{folder}0"));
    let rows = qm_db::all!(tx, Row, BELOW, library_id, from, to, match_status).await?;
    Ok(rows.into_iter().map(Into::into).collect())
}

/// Episodes with a title, in any directory.
pub async fn of_title(
    tx: &mut Tx,
    title: &str,
    library_id: Option<&str>,
    match_status: Option<&str>,
) -> Result<Vec<(Item, MediaFile)>, DbError> {
    let rows = qm_db::all!(
        tx,
        Row,
        OF_TITLE,
        title,
        library_id,
        match_status,
        title_key(title, None)
    )
    .await?;
    Ok(rows.into_iter().map(Into::into).collect())
}
