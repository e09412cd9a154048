//! Answer bodies of the routes.

use std::collections::BTreeMap;
use std::path::Path;

use qm_kernel::Timestamp;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::model::file::title_id;
use crate::model::import::Import;
use crate::model::options::{Mode, Options};
use crate::model::report::{Cleared, Report};
use crate::model::status::Status;
use crate::model::titles::{Found, Whole};

const MASK: &str = "••••••••";

/// The settings, without the key.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = TitledbSettings)]
pub struct SettingsView {
    #[schema(example = "dataset")]
    pub mode: &'static str,
    pub api_base_url: Option<String>,
    /// Bullets where there is one.
    pub api_key: Option<&'static str>,
    pub has_api_key: bool,
    /// Secrets to enter again, because the address of the API changed. Left out while there is none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub secrets_wanted: Vec<String>,
    /// Null: the service's own directory.
    pub dataset_path: Option<String>,
    /// Kept, and not used.
    pub import_schedule: Option<String>,
    pub auto_download_enabled: bool,
    pub dataset_base_url: String,
    pub auto_update_interval_hours: f64,
    #[schema(example = "optimized_movies")]
    pub import_strategy: &'static str,
    pub min_import_year: i64,
    pub import_tv_shows: bool,
    pub import_akas: bool,
    pub import_crew: bool,
    pub import_people: bool,
    pub preferred_region: Option<String>,
    pub preferred_language: Option<String>,
    pub include_adult: bool,
    pub min_votes: i64,
    /// Seconds; kept, and not used.
    pub cache_ttl: f64,
    /// Largest file that is downloaded, in bytes.
    pub max_file_bytes: i64,
}

impl From<Options> for SettingsView {
    fn from(options: Options) -> Self {
        Self {
            mode: options.mode.as_str(),
            api_base_url: options.api_base_url,
            api_key: options.sealed_key.as_ref().map(|_| MASK),
            has_api_key: options.sealed_key.is_some(),
            secrets_wanted: options.wanted,
            dataset_path: options.dataset_path,
            import_schedule: options.import_schedule,
            auto_download_enabled: options.auto_download_enabled,
            dataset_base_url: options.dataset_base_url,
            auto_update_interval_hours: options.auto_update_interval_hours,
            import_strategy: options.import_strategy.as_str(),
            min_import_year: options.min_import_year,
            import_tv_shows: options.import_tv_shows,
            import_akas: options.import_akas,
            import_crew: options.import_crew,
            import_people: options.import_people,
            preferred_region: options.preferred_region,
            preferred_language: options.preferred_language,
            include_adult: options.include_adult,
            min_votes: options.min_votes,
            cache_ttl: options.cache_ttl,
            max_file_bytes: options.max_file_bytes,
        }
    }
}

/// Availability and source of titles.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = TitledbStatus)]
pub struct StatusView {
    /// The mode of the settings.
    #[schema(example = "dataset")]
    pub source: &'static str,
    pub available: bool,
    pub dataset_title_count: u64,
    /// Absent where titledb is switched off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_configured: Option<bool>,
    /// A sentence for people.
    pub detail: String,
    /// Kinds of rows that an import by the settings of now leaves out, each with the setting that brings it.
    pub left_out: Vec<String>,
    pub capabilities: Capabilities,
    pub last_import: Option<LastImport>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = TitledbCapabilities)]
pub struct Capabilities {
    pub source: &'static str,
    pub available: bool,
    pub methods: Methods,
}

/// Available methods.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = TitledbMethods)]
pub struct Methods {
    pub search_title: bool,
    pub get_title_by_id: bool,
    pub get_movie_metadata: bool,
    pub get_tv_show_metadata: bool,
    pub get_episode_metadata: bool,
    pub get_credits: bool,
    pub get_ratings: bool,
    pub get_external_ids: bool,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = TitledbLastImport)]
pub struct LastImport {
    pub id: String,
    pub status: &'static str,
    pub records_imported: u64,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub completed_at: Option<Timestamp>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub dataset_date: Option<Timestamp>,
}

impl From<Status> for StatusView {
    fn from(status: Status) -> Self {
        let (source, can) = (status.mode.as_str(), status.available);
        Self {
            source,
            available: can,
            dataset_title_count: status.titles,
            api_configured: (status.mode != Mode::Disabled).then_some(status.api_configured),
            detail: status.detail,
            left_out: status.left_out,
            capabilities: Capabilities {
                source,
                available: can,
                methods: Methods {
                    search_title: can,
                    get_title_by_id: can,
                    get_movie_metadata: can,
                    get_tv_show_metadata: can,
                    get_episode_metadata: can,
                    get_credits: can,
                    get_ratings: can,
                    get_external_ids: can,
                },
            },
            last_import: status.last_import.map(|import| LastImport {
                id: import.id,
                status: import.status.as_str(),
                records_imported: import.records_imported,
                completed_at: import.completed_at,
                dataset_date: import.dataset_date,
            }),
        }
    }
}

/// Result of checking the configuration.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = TitledbTested)]
pub struct TestView {
    pub api_configured: bool,
    pub available: bool,
}

/// Report on a directory.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = TitledbReport)]
pub struct ReportView {
    pub dataset_path: String,
    /// The titles are there, and nothing that is there is unfit.
    pub valid: bool,
    pub files_found: usize,
    /// The titles are there.
    pub has_minimum: bool,
    pub files: Vec<FileView>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = TitledbFile)]
pub struct FileView {
    #[schema(example = "title.basics.tsv.gz")]
    pub file: &'static str,
    #[schema(example = "title.basics")]
    pub key: &'static str,
    pub present: bool,
    pub gzip_ok: bool,
    pub header_ok: bool,
    pub size_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

impl From<Report> for ReportView {
    fn from(report: Report) -> Self {
        let (valid, has_minimum) = (report.is_valid(), report.has_minimum());
        Self {
            dataset_path: shown(&report.directory),
            valid,
            files_found: report.files.iter().filter(|file| file.size.is_some()).count(),
            has_minimum,
            files: report
                .files
                .into_iter()
                .map(|file| FileView {
                    file: file.source.file,
                    key: file.source.key(),
                    present: file.size.is_some(),
                    gzip_ok: file.gzip_ok,
                    header_ok: file.header_ok,
                    size_bytes: file.size,
                    error: file.error,
                })
                .collect(),
        }
    }
}

/// An import.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = TitledbDatasetImport)]
pub struct ImportView {
    pub id: String,
    /// `pending`, `running`, `completed`, `failed` or `cancelled`.
    pub status: &'static str,
    /// The directory of the files.
    pub source_path: String,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub started_at: Option<Timestamp>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub completed_at: Option<Timestamp>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub failed_at: Option<Timestamp>,
    pub error_message: Option<String>,
    /// Names of files, without their endings.
    pub files_imported: Vec<String>,
    pub records_imported: u64,
    /// Counts of what was read, imported and left out, and the first rows that make no sense.
    pub stats: Option<Value>,
    pub strategy: Option<String>,
    /// When the newest of the files was made.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub dataset_date: Option<Timestamp>,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Timestamp,
}

impl From<Import> for ImportView {
    fn from(import: Import) -> Self {
        Self {
            id: import.id,
            status: import.status.as_str(),
            source_path: import.source_path,
            started_at: import.started_at,
            completed_at: import.completed_at,
            failed_at: import.failed_at,
            error_message: import.error_message,
            files_imported: import.files_imported,
            records_imported: import.records_imported,
            stats: import.stats,
            strategy: import.strategy,
            dataset_date: import.dataset_date,
            created_at: import.created_at,
            updated_at: import.updated_at,
        }
    }
}

/// True when the work has begun.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = TitledbStarted)]
pub struct StartedView {
    pub started: bool,
    pub dataset_path: Option<String>,
}

/// Result of a reset.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = TitledbReset)]
pub struct ResetView {
    pub cleared_titles: u64,
    pub reimport: Option<StartedView>,
}

impl StartedView {
    pub fn new((started, directory): (bool, Option<std::path::PathBuf>)) -> Self {
        Self {
            started,
            dataset_path: directory.as_deref().map(shown),
        }
    }
}

impl From<Cleared> for ResetView {
    fn from(cleared: Cleared) -> Self {
        Self {
            cleared_titles: cleared.titles,
            reimport: cleared.reimport.map(StartedView::new),
        }
    }
}

/// A title that was found.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = TitledbMatch)]
pub struct FoundView {
    #[schema(example = "tt0113277")]
    pub titledb_id: String,
    #[schema(example = "movie")]
    pub title_type: String,
    pub primary_title: String,
    pub original_title: String,
    pub year: Option<i64>,
    pub is_adult: bool,
    pub genres: Vec<String>,
    /// 0 to 10.
    pub rating: Option<f64>,
    pub num_votes: Option<i64>,
    /// 0 to 1, hundredths.
    pub confidence: f64,
}

fn rating(tenths: Option<i64>) -> Option<f64> {
    tenths.map(|tenths| tenths as f64 / 10.0)
}

impl From<Found> for FoundView {
    fn from(found: Found) -> Self {
        let title = found.title;
        Self {
            titledb_id: title_id(title.id),
            title_type: title.kind,
            original_title: title.original.unwrap_or_else(|| title.title.clone()),
            primary_title: title.title,
            year: title.start_year,
            is_adult: title.adult,
            genres: title.genres,
            rating: rating(title.rating),
            num_votes: title.votes,
            confidence: found.confidence,
        }
    }
}

/// A title.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = TitledbTitle)]
pub struct TitleView {
    pub title: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub original_title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub year: Option<i64>,
    /// Minutes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtime: Option<i64>,
    pub genres: Vec<String>,
    /// Names; an id where the name is not known.
    pub directors: Vec<String>,
    pub writers: Vec<String>,
    /// 0 to 10.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rating: Option<f64>,
    /// Always `titledb`.
    pub provider_name: &'static str,
    /// The id, under `titledb`.
    pub external_ids: BTreeMap<&'static str, String>,
    pub titledb_url: String,
}

impl From<Whole> for TitleView {
    fn from(whole: Whole) -> Self {
        let id = title_id(whole.title.id);
        Self {
            title: whole.title.title,
            original_title: whole.title.original,
            year: whole.title.start_year,
            runtime: whole.title.runtime,
            genres: whole.title.genres,
            directors: whole.directors,
            writers: whole.writers,
            rating: rating(whole.title.rating),
            provider_name: "titledb",
            titledb_url: format!("https://www.imdb.com/title/{id}/"),
            external_ids: BTreeMap::from([("titledb", id)]),
        }
    }
}
