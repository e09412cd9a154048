//! Queries and request bodies of the routes.

use qm_kernel::secret::is_mask;
use qm_web::{Fields, FromBody, FromQuery};
use serde_json::Value;
use utoipa::ToSchema;

use crate::model::file::Sort;
use crate::model::options::{MIN_YEARS, Mode};

const MAX_PATH: usize = 4096;
const MAX_URL: usize = 2048;
const MAX_KEY: usize = 1024;
const MAX_LIST: usize = 500;
const MAX_TITLE: usize = 500;

/// Changes of the settings; absent fields stay, and null restores the default.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(
    dead_code,
    reason = "the document is made of the fields, the change of what was sent"
)]
pub struct SettingsPatch {
    /// `disabled`, `dataset`, `official_api` or `hybrid`.
    pub mode: Option<String>,
    /// Null or blank: there is no API.
    #[schema(max_length = 2048)]
    pub api_base_url: Option<String>,
    /// Bullets alone: the one that is stored stays, at the address that it was entered for. Null or blank: there is none.
    #[schema(max_length = 1024)]
    pub api_key: Option<String>,
    /// A directory below a storage root. Null: the service's own.
    #[schema(max_length = 4096)]
    pub dataset_path: Option<String>,
    #[schema(max_length = 500)]
    pub import_schedule: Option<String>,
    pub auto_download_enabled: Option<bool>,
    /// Null or blank: where IMDb has its data sets.
    #[schema(max_length = 2048)]
    pub dataset_base_url: Option<String>,
    #[schema(minimum = 1)]
    pub auto_update_interval_hours: Option<f64>,
    /// `optimized_movies`: films, and what else the settings name; `full`: every file that is there, and every row.
    pub import_strategy: Option<String>,
    /// Titles of before, and those of no year, are left out: unless it is set, those of before 1970.
    #[schema(minimum = 1874, maximum = 2200)]
    pub min_import_year: Option<i64>,
    /// Series and their episodes, by which shows are identified. Unless it is set they are left out: there are twelve times as many as films.
    pub import_tv_shows: Option<bool>,
    /// Names of titles in other countries, by which films and shows are identified in every script. Unless it is set they are imported.
    pub import_akas: Option<bool>,
    pub import_crew: Option<bool>,
    pub import_people: Option<bool>,
    /// Regions of other names, with commas between them. Null: all.
    #[schema(max_length = 500)]
    pub preferred_region: Option<String>,
    /// Languages of other names, with commas between them. Null: all.
    #[schema(max_length = 500)]
    pub preferred_language: Option<String>,
    pub include_adult: Option<bool>,
    #[schema(minimum = 0)]
    pub min_votes: Option<i64>,
    /// Seconds.
    #[schema(minimum = 0)]
    pub cache_ttl: Option<f64>,
    /// Largest file that is downloaded, in bytes.
    #[schema(minimum = 1)]
    pub max_file_bytes: Option<i64>,
    #[schema(ignore)]
    pub change: Vec<(&'static str, Value)>,
}

fn is_http(text: &str) -> bool {
    let text = text.trim();
    // A user name or password in the URL would be shown with the settings.
    let is_plain = |url: url::Url| {
        matches!(url.scheme(), "http" | "https")
            && url.has_host()
            && url.username().is_empty()
            && url.password().is_none()
    };
    text.is_empty() || url::Url::parse(text).is_ok_and(is_plain)
}

impl FromBody for SettingsPatch {
    fn from_body(f: &mut Fields<'_>) -> Self {
        let mut change: Vec<(&'static str, Value)> = Vec::new();
        let mut put = |name, value: Option<Value>| {
            if let Some(value) = value {
                change.push((name, value));
            }
        };
        for name in ["mode", "importStrategy"] {
            let words: &[&str] = if name == "mode" {
                Mode::WORDS
            } else {
                &["optimized_movies", "full"]
            };
            put(name, f.string(name).one_of(words).optional().map(Value::from));
        }
        for (name, most) in [
            ("apiBaseUrl", MAX_URL),
            ("datasetBaseUrl", MAX_URL),
            ("apiKey", MAX_KEY),
            ("datasetPath", MAX_PATH),
            ("importSchedule", MAX_LIST),
            ("preferredRegion", MAX_LIST),
            ("preferredLanguage", MAX_LIST),
        ] {
            if f.is_null(name) {
                // Parsed, so that it counts as a known member.
                let _ = f.string(name).optional();
                put(name, Some(Value::Null));
                continue;
            }
            let mut field = f.string(name).max(most);
            if name.ends_with("BaseUrl") {
                field = field.check(is_http, "must be a valid http(s) URL without a name and password");
            }
            let text = field.optional().map(|text| text.trim().to_owned());
            put(
                name,
                match text {
                    // The mask that a form sends back.
                    Some(key) if name == "apiKey" && is_mask(&key) => None,
                    // A blank path is refused by the path check.
                    Some(blank) if blank.is_empty() && name != "datasetPath" => Some(Value::Null),
                    other => other.map(Value::from),
                },
            );
        }
        for name in [
            "autoDownloadEnabled",
            "importTvShows",
            "importAkas",
            "importCrew",
            "importPeople",
            "includeAdult",
        ] {
            put(name, f.boolean(name).optional().map(Value::from));
        }
        for (name, least) in [("autoUpdateIntervalHours", 1.0), ("cacheTtl", 0.0)] {
            put(
                name,
                f.number(name).min(least).max(1e9).optional().map(Value::from),
            );
        }
        for (name, (least, most)) in [
            ("minImportYear", MIN_YEARS),
            ("minVotes", (0, i64::from(i32::MAX))),
            ("maxFileBytes", (1, 1 << 50)),
        ] {
            put(
                name,
                f.integer(name).min(least).max(most).optional().map(Value::from),
            );
        }
        Self {
            change,
            ..Self::nothing()
        }
    }
}

impl SettingsPatch {
    fn nothing() -> Self {
        Self {
            mode: None,
            api_base_url: None,
            api_key: None,
            dataset_path: None,
            import_schedule: None,
            auto_download_enabled: None,
            dataset_base_url: None,
            auto_update_interval_hours: None,
            import_strategy: None,
            min_import_year: None,
            import_tv_shows: None,
            import_akas: None,
            import_crew: None,
            import_people: None,
            preferred_region: None,
            preferred_language: None,
            include_adult: None,
            min_votes: None,
            cache_ttl: None,
            max_file_bytes: None,
            change: Vec::new(),
        }
    }
}

/// Which directory is looked at.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase")]
pub struct ValidateRequest {
    /// Absent or blank: that of the settings.
    #[field(max = MAX_PATH)]
    pub dataset_path: Option<String>,
}

/// Which directory is imported.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase")]
pub struct ImportRequest {
    #[field(max = MAX_PATH)]
    pub dataset_path: String,
}

/// True to import the files again.
#[derive(ToSchema, FromBody)]
pub struct ResetRequest {
    pub reimport: Option<bool>,
}

/// Query of a search.
pub struct SearchQuery {
    pub title: String,
    pub year: Option<i64>,
    pub sort: Option<Sort>,
}

impl FromQuery for SearchQuery {
    fn from_query(f: &mut Fields<'_>) -> Self {
        let title = f.string("title").max(MAX_TITLE).optional();
        let year = f.integer("year").min(1800).max(2200).optional();
        let kind = f
            .string("type")
            .one_of(&["movie", "tv", "episode", "any"])
            .optional();
        // Accepted and ignored: an episode is found by its name.
        let _ = f.integer("season").min(0).optional();
        let _ = f.integer("episode").min(0).optional();
        Self {
            title: title.unwrap_or_default(),
            year,
            sort: match kind.as_deref() {
                Some("movie") => Some(Sort::Movie),
                Some("tv") => Some(Sort::Tv),
                Some("episode") => Some(Sort::Episode),
                _ => None,
            },
        }
    }
}
