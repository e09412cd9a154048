//! Tables `media_show_metadata` and `media_seasons`.

use qm_db::{DbError, FromRow, Json, Tx, sql};
use qm_kernel::Timestamp;
use serde_json::{Map, Value};

use super::clean;
use crate::model::details::{Season, ShowMetadata};
use crate::model::show::Show;

macro_rules! metadata {
    () => {
        "id, show_id, title, original_title, sort_title, overview, first_aired_at, year, status, networks, genres, studios, \
         cast_members, crew_members, rating, certification, tags, provider_name, field_sources, updated_at"
    };
}

macro_rules! season {
    () => {
        "id, show_id, season_number, title, overview, first_aired_at, provider_name, created_at, updated_at"
    };
}

sql! {
    METADATA = concat!("SELECT ", metadata!(), " FROM media_show_metadata WHERE show_id = $1");
    PUT_METADATA = concat!("INSERT INTO media_show_metadata (", metadata!(), ") \
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20) \
        ON CONFLICT (show_id) DO UPDATE SET title = excluded.title, original_title = excluded.original_title, \
        sort_title = excluded.sort_title, overview = excluded.overview, first_aired_at = excluded.first_aired_at, \
        year = excluded.year, status = excluded.status, networks = excluded.networks, genres = excluded.genres, \
        studios = excluded.studios, cast_members = excluded.cast_members, crew_members = excluded.crew_members, \
        rating = excluded.rating, certification = excluded.certification, tags = excluded.tags, \
        provider_name = excluded.provider_name, field_sources = excluded.field_sources, updated_at = excluded.updated_at");
    SEASONS = concat!("SELECT ", season!(), " FROM media_seasons WHERE show_id = $1 ORDER BY season_number");
    SEASON = concat!("SELECT ", season!(), " FROM media_seasons WHERE show_id = $1 AND season_number = $2");
    PUT_SEASON = concat!("INSERT INTO media_seasons (", season!(), ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) \
        ON CONFLICT (show_id, season_number) DO UPDATE SET title = excluded.title, overview = excluded.overview, \
        first_aired_at = excluded.first_aired_at, provider_name = excluded.provider_name, updated_at = excluded.updated_at");
    IDENTITY = "UPDATE media_shows SET titledb_id = $2, provider_a_id = $3, provider_b_id = $4, updated_at = $5 \
        WHERE id = $1";
    // Lock of the row: changes of the metadata and of the identity come one after another.
    HOLD = "UPDATE media_shows SET updated_at = updated_at WHERE id = $1";
    EPISODE = "UPDATE media_items SET series_titledb_id = $2, titledb_asked = NULL, updated_at = $3 WHERE id = $1";
}

#[derive(FromRow)]
struct MetadataRow {
    id: String,
    show_id: String,
    title: Option<String>,
    original_title: Option<String>,
    sort_title: Option<String>,
    overview: Option<String>,
    first_aired_at: Option<i64>,
    year: Option<i64>,
    status: Option<String>,
    networks: Json<Vec<String>>,
    genres: Json<Vec<String>>,
    studios: Json<Vec<String>>,
    cast_members: Json<Vec<Value>>,
    crew_members: Json<Vec<Value>>,
    rating: Option<f64>,
    certification: Option<String>,
    tags: Json<Vec<String>>,
    provider_name: Option<String>,
    field_sources: Option<Json<Map<String, Value>>>,
    updated_at: i64,
}

impl From<MetadataRow> for ShowMetadata {
    fn from(row: MetadataRow) -> Self {
        Self {
            id: row.id,
            show_id: row.show_id,
            title: row.title,
            original_title: row.original_title,
            sort_title: row.sort_title,
            overview: row.overview,
            first_aired_at: row.first_aired_at.map(Timestamp::from_ms),
            year: row.year,
            status: row.status,
            networks: row.networks.0,
            genres: row.genres.0,
            studios: row.studios.0,
            cast: row.cast_members.0,
            crew: row.crew_members.0,
            rating: row.rating,
            certification: row.certification,
            tags: row.tags.0,
            provider_name: row.provider_name,
            field_sources: row.field_sources.map(|sources| sources.0),
            updated_at: Timestamp::from_ms(row.updated_at),
        }
    }
}

/// Metadata of a show.
pub async fn metadata(tx: &mut Tx, show_id: &str) -> Result<Option<ShowMetadata>, DbError> {
    let row = qm_db::opt!(tx, MetadataRow, METADATA, show_id).await?;
    Ok(row.map(ShowMetadata::from))
}

pub async fn put_metadata(tx: &mut Tx, of: &ShowMetadata) -> Result<(), DbError> {
    let text = |text: &Option<String>| text.as_deref().map(clean);
    qm_db::exec!(
        tx,
        PUT_METADATA,
        &of.id,
        &of.show_id,
        text(&of.title),
        text(&of.original_title),
        text(&of.sort_title),
        text(&of.overview),
        of.first_aired_at.map(Timestamp::ms),
        of.year,
        text(&of.status),
        Json(&of.networks),
        Json(&of.genres),
        Json(&of.studios),
        Json(&of.cast),
        Json(&of.crew),
        of.rating,
        text(&of.certification),
        Json(&of.tags),
        of.provider_name.as_deref(),
        of.field_sources.as_ref().map(Json),
        of.updated_at.ms(),
    )
    .await?
    .exactly(1)
}

#[derive(FromRow)]
struct SeasonRow {
    id: String,
    show_id: String,
    season_number: i64,
    title: Option<String>,
    overview: Option<String>,
    first_aired_at: Option<i64>,
    provider_name: Option<String>,
    created_at: i64,
    updated_at: i64,
}

impl From<SeasonRow> for Season {
    fn from(row: SeasonRow) -> Self {
        Self {
            id: row.id,
            show_id: row.show_id,
            number: row.season_number,
            title: row.title,
            overview: row.overview,
            first_aired_at: row.first_aired_at.map(Timestamp::from_ms),
            provider_name: row.provider_name,
            created_at: Timestamp::from_ms(row.created_at),
            updated_at: Timestamp::from_ms(row.updated_at),
        }
    }
}

/// Seasons of a show that have metadata, by their numbers.
pub async fn seasons(tx: &mut Tx, show_id: &str) -> Result<Vec<Season>, DbError> {
    let rows = qm_db::all!(tx, SeasonRow, SEASONS, show_id).await?;
    Ok(rows.into_iter().map(Season::from).collect())
}

pub async fn season(tx: &mut Tx, show_id: &str, number: i64) -> Result<Option<Season>, DbError> {
    let row = qm_db::opt!(tx, SeasonRow, SEASON, show_id, number).await?;
    Ok(row.map(Season::from))
}

pub async fn put_season(tx: &mut Tx, season: &Season) -> Result<(), DbError> {
    let text = |text: &Option<String>| text.as_deref().map(clean);
    qm_db::exec!(
        tx,
        PUT_SEASON,
        &season.id,
        &season.show_id,
        season.number,
        text(&season.title),
        text(&season.overview),
        season.first_aired_at.map(Timestamp::ms),
        season.provider_name.as_deref(),
        season.created_at.ms(),
        season.updated_at.ms(),
    )
    .await?
    .exactly(1)
}

/// Stores the new identity of a show.
pub async fn identify(tx: &mut Tx, show: &Show) -> Result<(), DbError> {
    qm_db::exec!(
        tx,
        IDENTITY,
        &show.id,
        show.titledb_id.as_deref().map(clean),
        show.provider_a_id.as_deref().map(clean),
        show.provider_b_id.as_deref().map(clean),
        show.updated_at.ms(),
    )
    .await?
    .exactly(1)
}

/// Locks the identity and the metadata of a show until the transaction ends.
pub async fn hold(tx: &mut Tx, show_id: &str) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, HOLD, show_id).await?;
    Ok(())
}

/// Stores the new series of an episode.
pub async fn identify_episode(
    tx: &mut Tx,
    id: &str,
    titledb_id: Option<&str>,
    now: Timestamp,
) -> Result<(), DbError> {
    let _ = qm_db::exec!(tx, EPISODE, id, titledb_id.map(clean), now.ms()).await?;
    Ok(())
}
