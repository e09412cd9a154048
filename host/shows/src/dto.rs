//! Request and response types.

use qm_web::{Fields, FromBody, FromQuery};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::model::hit::Asked;
use crate::model::report::ShowStatus;
use crate::model::title::MAX_TITLE;

/// Largest number of queries in a batch.
const MAX_QUERIES: usize = 50;
const MAX_PROVIDER: usize = 50;
const YEARS: std::ops::RangeInclusive<i64> = 1850..=2200;

/// Query for one show.
pub struct LookupQuery(pub Asked);

impl FromQuery for LookupQuery {
    fn from_query(f: &mut Fields<'_>) -> Self {
        let title = f.string("title").given().max(MAX_TITLE).optional();
        let title = title.map(|title| title.trim().to_owned()).unwrap_or_default();
        if title.is_empty() {
            f.broken("title is required");
        }
        let year = f.integer("year").min(*YEARS.start()).max(*YEARS.end()).optional();
        Self(Asked {
            title,
            year: year.and_then(|year| u32::try_from(year).ok()),
            provider: f.string("provider").given().max(MAX_PROVIDER).optional(),
        })
    }
}

/// Shows to look up.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct Batch {
    /// `{title, year?, provider?}`; those without a title are left out, of the others the first fifty count.
    #[schema(value_type = Vec<Object>)]
    pub queries: Vec<Asked>,
}

impl FromBody for Batch {
    fn from_body(f: &mut Fields<'_>) -> Self {
        let queries = match f.any("queries").optional() {
            Some(Value::Array(queries)) => queries,
            _ => {
                f.broken("queries must be an array");
                Vec::new()
            }
        };
        Self {
            queries: queries.iter().filter_map(asked).take(MAX_QUERIES).collect(),
        }
    }
}

fn asked(query: &Value) -> Option<Asked> {
    let text = |name: &str| query.get(name).and_then(Value::as_str).map(str::trim);
    let title: String = text("title")?.chars().take(MAX_TITLE).collect();
    let year = match query.get("year") {
        Some(Value::Number(year)) => year.as_i64(),
        Some(Value::String(year)) => year.trim().parse().ok(),
        _ => None,
    };
    (!title.is_empty()).then(|| Asked {
        title,
        year: year
            .filter(|year| YEARS.contains(year))
            .and_then(|year| u32::try_from(year).ok()),
        provider: text("provider")
            .filter(|provider| !provider.is_empty())
            .map(|provider| provider.chars().take(MAX_PROVIDER).collect()),
    })
}

/// Airing status of a show: are more episodes expected? Dates are `YYYY-MM-DD`.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ShowStatusView {
    title: String,
    /// Lower case, words of letters and digits.
    normalized_title: String,
    /// `provider_a`, `titledb`, `local`, or `none` where nobody could say.
    provider: String,
    provider_show_id: Option<String>,
    /// In the provider's words.
    original_status: Option<String>,
    /// `continuing`, `returning`, `on_hiatus`, `ended`, `canceled`, `planned` or `unknown`.
    normalized_status: &'static str,
    /// `recommended`, `caution`, `not_recommended` or `unknown`.
    recommendation: &'static str,
    /// 0 to 1.
    confidence: f64,
    first_air_date: Option<String>,
    last_air_date: Option<String>,
    next_episode_air_date: Option<String>,
    last_episode_title: Option<String>,
    next_episode_title: Option<String>,
    total_seasons: Option<u32>,
    total_episodes: Option<u32>,
    overview: Option<String>,
    poster_url: Option<String>,
    /// `status_unconfirmed`, `no_provider_configured`, `local_only`.
    warnings: Vec<String>,
}

impl From<ShowStatus> for ShowStatusView {
    fn from(status: ShowStatus) -> Self {
        Self {
            title: status.title,
            normalized_title: status.normalized_title,
            provider: status.provider,
            provider_show_id: status.provider_show_id,
            original_status: status.original_status,
            normalized_status: status.normalized_status.as_str(),
            recommendation: status.recommendation.as_str(),
            confidence: status.confidence,
            first_air_date: status.first_air_date,
            last_air_date: status.last_air_date,
            next_episode_air_date: status.next_episode_air_date,
            last_episode_title: status.last_episode_title,
            next_episode_title: status.next_episode_title,
            total_seasons: status.total_seasons,
            total_episodes: status.total_episodes,
            overview: status.overview,
            poster_url: status.poster_url,
            warnings: status.warnings,
        }
    }
}
