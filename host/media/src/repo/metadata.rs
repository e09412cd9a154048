//! Table `media_metadata`.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use qm_db::{DbError, FromRow, Json, Tx, bulk, sql};
use qm_kernel::Timestamp;
use serde_json::Value;

use super::{clean, filled};
use crate::model::item::{Item, MediaFile};
use crate::model::metadata::ItemMetadata;

macro_rules! columns {
    ($of:literal) => {
        concat!(
            $of,
            "id, ",
            $of,
            "item_id, ",
            $of,
            "title, ",
            $of,
            "original_title, ",
            $of,
            "sort_title, ",
            $of,
            "overview, ",
            $of,
            "release_date, ",
            $of,
            "year, ",
            $of,
            "runtime, ",
            $of,
            "genres, ",
            $of,
            "studios, ",
            $of,
            "cast_members, ",
            $of,
            "crew_members, ",
            $of,
            "directors, ",
            $of,
            "writers, ",
            $of,
            "rating, ",
            $of,
            "certification, ",
            $of,
            "tags, ",
            $of,
            "provider_name, ",
            $of,
            "field_sources, ",
            $of,
            "question, ",
            $of,
            "updated_at"
        )
    };
}

sql! {
    // Lock of the row: changes of the metadata and of the identity come one after another.
    HOLD = "UPDATE media_items SET updated_at = updated_at WHERE id = $1";
    FIND = concat!("SELECT ", columns!(""), " FROM media_metadata WHERE item_id = $1");
    PUT = concat!("INSERT INTO media_metadata (", columns!(""), ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, \
        $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22) ON CONFLICT (item_id) DO UPDATE SET title = excluded.title, \
        original_title = excluded.original_title, sort_title = excluded.sort_title, overview = excluded.overview, \
        release_date = excluded.release_date, year = excluded.year, runtime = excluded.runtime, genres = excluded.genres, \
        studios = excluded.studios, cast_members = excluded.cast_members, crew_members = excluded.crew_members, \
        directors = excluded.directors, writers = excluded.writers, rating = excluded.rating, \
        certification = excluded.certification, tags = excluded.tags, provider_name = excluded.provider_name, \
        field_sources = excluded.field_sources, question = excluded.question, updated_at = excluded.updated_at");
    FORGET_GENRES = "DELETE FROM media_genres WHERE item_id = $1";
    SHOW_IDS = "SELECT provider_a_id, provider_b_id, titledb_id FROM media_shows WHERE library_id = $1 AND place = $2";
    FOUND_ID = "SELECT e.external_id FROM media_items i JOIN media_external_ids e ON e.item_id = i.id AND e.provider = 'titledb' \
        AND e.is_derived WHERE i.id = $1 AND i.titledb_asked = 'found'";
}

bulk! {
    ADD_GENRES = "INSERT INTO media_genres (item_id, genre) VALUES", 2, "";
    OF_ITEMS = concat!("SELECT ", columns!("m."), " FROM (VALUES"), 1,
        ") w CROSS JOIN media_metadata m WHERE m.item_id = w.column1";
}

/// Characters of a genre by which it is found.
const MAX_GENRE: usize = 512;

#[derive(FromRow)]
struct Row {
    id: String,
    item_id: String,
    title: Option<String>,
    original_title: Option<String>,
    sort_title: Option<String>,
    overview: Option<String>,
    release_date: Option<i64>,
    year: Option<i64>,
    runtime: Option<i64>,
    genres: Json<Vec<String>>,
    studios: Json<Vec<String>>,
    cast_members: Json<Vec<Value>>,
    crew_members: Json<Vec<Value>>,
    directors: Json<Vec<String>>,
    writers: Json<Vec<String>>,
    rating: Option<f64>,
    certification: Option<String>,
    tags: Json<Vec<String>>,
    provider_name: Option<String>,
    field_sources: Json<BTreeMap<String, String>>,
    question: Option<String>,
    updated_at: i64,
}

impl From<Row> for ItemMetadata {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            item_id: row.item_id,
            title: row.title,
            original_title: row.original_title,
            sort_title: row.sort_title,
            overview: row.overview,
            release_date: row.release_date.map(Timestamp::from_ms),
            year: row.year,
            runtime: row.runtime,
            genres: row.genres.0,
            studios: row.studios.0,
            cast: row.cast_members.0,
            crew: row.crew_members.0,
            directors: row.directors.0,
            writers: row.writers.0,
            rating: row.rating,
            certification: row.certification,
            tags: row.tags.0,
            provider_name: row.provider_name,
            field_sources: row.field_sources.0,
            question: row.question,
            updated_at: Timestamp::from_ms(row.updated_at),
        }
    }
}

/// Locks the identity and the metadata of an item until the transaction ends.
pub async fn hold(tx: &mut Tx, item_id: &str) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, HOLD, item_id).await?;
    Ok(())
}

/// Metadata of an item.
pub async fn find(tx: &mut Tx, item_id: &str) -> Result<Option<ItemMetadata>, DbError> {
    Ok(qm_db::opt!(tx, Row, FIND, item_id).await?.map(Into::into))
}

/// Adds their metadata to items.
pub async fn fill(tx: &mut Tx, items: &mut [(Item, MediaFile)]) -> Result<(), DbError> {
    let ids = filled(items.iter().map(|(item, _)| &*item.id));
    let rows = qm_db::each!(tx, Row, OF_ITEMS, ids, |id| *id).await?;
    let mut found: HashMap<String, Row> = rows.into_iter().map(|row| (row.item_id.clone(), row)).collect();
    for (item, _) in items {
        item.metadata = found.remove(&item.id).map(|row| Box::new(row.into()));
    }
    Ok(())
}

pub async fn put(tx: &mut Tx, of: &ItemMetadata) -> Result<(), DbError> {
    let text = |text: &Option<String>| text.as_deref().map(clean);
    qm_db::exec!(
        tx,
        PUT,
        &of.id,
        &of.item_id,
        text(&of.title),
        text(&of.original_title),
        text(&of.sort_title),
        text(&of.overview),
        of.release_date.map(Timestamp::ms),
        of.year,
        of.runtime,
        Json(&of.genres),
        Json(&of.studios),
        Json(&of.cast),
        Json(&of.crew),
        Json(&of.directors),
        Json(&of.writers),
        of.rating,
        text(&of.certification),
        Json(&of.tags),
        of.provider_name.as_deref(),
        Json(&of.field_sources),
        text(&of.question),
        of.updated_at.ms(),
    )
    .await?
    .exactly(1)?;
    put_genres(tx, of).await
}

/// Stores the rows by which its genres are found.
async fn put_genres(tx: &mut Tx, of: &ItemMetadata) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, FORGET_GENRES, &of.item_id).await?;
    let key = |genre: &String| -> String {
        let lower = clean(genre.trim()).to_lowercase();
        lower.chars().take(MAX_GENRE).collect()
    };
    let genres: BTreeSet<String> = of
        .genres
        .iter()
        .map(key)
        .filter(|genre| !genre.is_empty())
        .collect();
    let genres: Vec<String> = genres.into_iter().collect();
    let _ = qm_db::batch!(tx, ADD_GENRES, genres, |genre| &of.item_id, genre).await?;
    Ok(())
}

/// Ids of a show: at both providers, and in the data set.
pub async fn ids_of_show(tx: &mut Tx, library_id: &str, place: &str) -> Result<[Option<String>; 3], DbError> {
    type Ids = (Option<String>, Option<String>, Option<String>);
    let row = qm_db::opt!(tx, Ids, SHOW_IDS, library_id, place).await?;
    let (a, b, titledb) = row.unwrap_or_default();
    Ok([a, b, titledb])
}

/// Id that the data set gave for a film.
pub async fn found_id(tx: &mut Tx, item_id: &str) -> Result<Option<String>, DbError> {
    let row = qm_db::opt!(tx, (String,), FOUND_ID, item_id).await?;
    Ok(row.map(|(id,)| id))
}
