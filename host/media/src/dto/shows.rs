//! Shows as they are answered, and what is said of them and their seasons.

use qm_kernel::Timestamp;
use qm_media_names::place;
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::model::details::{Season, ShowMetadata};
use crate::model::show::Show;

/// A show: a folder right below the directory of its library.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MediaShow)]
pub struct ShowView {
    pub id: String,
    pub library_id: String,
    /// `tv` or `anime`
    pub media_type: String,
    pub title: String,
    pub year: Option<i64>,
    pub path: String,
    pub titledb_id: Option<String>,
    pub provider_a_id: Option<String>,
    pub provider_b_id: Option<String>,
    /// It is known which show it is: it has one of these ids.
    pub identified: bool,
    /// Equal for all folders of one show.
    pub canonical_key: String,
    pub episode_count: i64,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Timestamp,
}

impl From<(Show, String)> for ShowView {
    fn from((show, library): (Show, String)) -> Self {
        Self {
            identified: show.is_identified(),
            path: place::absolute(&library, &show.place),
            id: show.id,
            library_id: show.library_id,
            media_type: show.media_type,
            title: show.title,
            year: show.year,
            titledb_id: show.titledb_id,
            provider_a_id: show.provider_a_id,
            provider_b_id: show.provider_b_id,
            canonical_key: show.canonical_key,
            episode_count: show.episode_count,
            created_at: show.created_at,
            updated_at: show.updated_at,
        }
    }
}

/// Metadata of a show.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MediaShowMetadata)]
pub struct ShowMetadataView {
    pub id: String,
    pub show_id: String,
    pub title: Option<String>,
    pub original_title: Option<String>,
    pub sort_title: Option<String>,
    pub overview: Option<String>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub first_aired_at: Option<Timestamp>,
    pub year: Option<i64>,
    pub status: Option<String>,
    pub networks: Vec<String>,
    pub genres: Vec<String>,
    pub studios: Vec<String>,
    #[schema(value_type = Vec<Object>)]
    pub cast: Vec<Value>,
    #[schema(value_type = Vec<Object>)]
    pub crew: Vec<Value>,
    /// 0 to 10.
    pub rating: Option<f64>,
    pub certification: Option<String>,
    pub tags: Vec<String>,
    /// `manual`: a person said something last.
    pub provider_name: Option<String>,
    /// Source of each field.
    #[schema(value_type = Option<Object>)]
    pub field_sources: Option<Map<String, Value>>,
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Timestamp,
}

impl From<ShowMetadata> for ShowMetadataView {
    fn from(of: ShowMetadata) -> Self {
        Self {
            id: of.id,
            show_id: of.show_id,
            title: of.title,
            original_title: of.original_title,
            sort_title: of.sort_title,
            overview: of.overview,
            first_aired_at: of.first_aired_at,
            year: of.year,
            status: of.status,
            networks: of.networks,
            genres: of.genres,
            studios: of.studios,
            cast: of.cast,
            crew: of.crew,
            rating: of.rating,
            certification: of.certification,
            tags: of.tags,
            provider_name: of.provider_name,
            field_sources: of.field_sources,
            updated_at: of.updated_at,
        }
    }
}

/// Metadata of a season.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MediaSeason)]
pub struct SeasonView {
    pub id: String,
    pub show_id: String,
    pub season_number: i64,
    pub title: Option<String>,
    pub overview: Option<String>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub first_aired_at: Option<Timestamp>,
    /// `manual`: a person said something last.
    pub provider_name: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Timestamp,
}

impl From<Season> for SeasonView {
    fn from(season: Season) -> Self {
        Self {
            id: season.id,
            show_id: season.show_id,
            season_number: season.number,
            title: season.title,
            overview: season.overview,
            first_aired_at: season.first_aired_at,
            provider_name: season.provider_name,
            created_at: season.created_at,
            updated_at: season.updated_at,
        }
    }
}
