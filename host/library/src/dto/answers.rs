//! What is answered.

use std::collections::BTreeMap;

use qm_kernel::Timestamp;
use qm_media::model::external::ExternalId;
use qm_media::model::extra::Extra;
use qm_media::model::item::{Item, MediaFile, Placed, arranged};
use qm_media::model::library::MediaLibrary;
use qm_media::model::series;
use qm_media::model::titles::Suggestion;
use qm_media::model::view::{Asked, Detail, Health, Listed, WatchState};
use qm_media_names::place;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::metadata::MetadataView;

/// A library.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MediaLibrary)]
pub struct LibraryView {
    pub id: String,
    pub name: String,
    pub kind: &'static str,
    pub path: String,
    pub preset: &'static str,
    pub template: Option<String>,
    pub mode: &'static str,
    pub auto_organize: bool,
    pub is_enabled: bool,
    /// Null: no periodic scan.
    pub scan_interval_minutes: Option<i64>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_scan_at: Option<Timestamp>,
    pub watch_enabled: bool,
    pub scan_on_startup: bool,
    pub nfo_enabled: bool,
    pub artwork_enabled: bool,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Timestamp,
}

impl From<MediaLibrary> for LibraryView {
    fn from(library: MediaLibrary) -> Self {
        Self {
            id: library.id,
            name: library.name,
            kind: library.kind.as_str(),
            path: library.path,
            preset: library.preset.as_str(),
            template: library.template,
            mode: library.mode.as_str(),
            auto_organize: library.auto_organize,
            is_enabled: library.is_enabled,
            scan_interval_minutes: library.scan_interval_minutes,
            last_scan_at: library.last_scan_at,
            watch_enabled: library.watch_enabled,
            scan_on_startup: library.scan_on_startup,
            nfo_enabled: library.nfo_enabled,
            artwork_enabled: library.artwork_enabled,
            created_at: library.created_at,
            updated_at: library.updated_at,
        }
    }
}

/// A library, and the job of the scan that was asked for.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MediaLibraryWithScan)]
pub struct ScannedLibraryView {
    #[serde(flatten)]
    pub library: LibraryView,
    pub scan_job_id: String,
    /// Things you may not have meant: that another library lies in this one, say.
    pub warnings: Vec<String>,
}

impl From<Asked> for ScannedLibraryView {
    fn from(asked: Asked) -> Self {
        Self {
            library: asked.library.into(),
            scan_job_id: asked.scan_job_id,
            warnings: asked.warnings,
        }
    }
}

/// The job that was asked for.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MediaJobAsked)]
pub struct JobView {
    pub job_id: String,
}

/// How a library is watched.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MediaWatchStatus)]
pub struct WatchView {
    pub library_id: String,
    pub name: String,
    pub watching: bool,
    /// Directories that are watched.
    pub watch_count: usize,
    /// Why it is not watched, though it should be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub degraded_reason: Option<String>,
}

impl From<(MediaLibrary, WatchState)> for WatchView {
    fn from((library, state): (MediaLibrary, WatchState)) -> Self {
        Self {
            library_id: library.id,
            name: library.name,
            watching: state.count.is_some(),
            watch_count: state.count.unwrap_or(0),
            degraded_reason: state.degraded,
        }
    }
}

/// Whether a job was asked to end.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MediaJobCancelled)]
pub struct CancelledView {
    /// False: it is unknown, or over.
    pub requested: bool,
}

/// How the libraries are, all together.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MediaHealth)]
pub struct HealthView {
    pub total: i64,
    pub by_media_type: BTreeMap<String, i64>,
    pub unmatched: i64,
    /// Below 0.5.
    pub low_confidence: i64,
    pub missing_artwork: i64,
    pub missing_subtitles: i64,
    /// In the last seven days.
    pub recently_added: i64,
    pub duplicate_groups: i64,
    pub failed_jobs: u64,
    /// What keeps the libraries from doing all they should, and the way out.
    pub problems: Vec<String>,
}

impl From<Health> for HealthView {
    fn from(health: Health) -> Self {
        let counts = health.counts;
        Self {
            total: counts.total,
            by_media_type: counts.by_type.into_iter().collect(),
            unmatched: counts.unmatched,
            low_confidence: counts.unsure,
            // None has any: nothing looks for them yet.
            missing_artwork: counts.total,
            missing_subtitles: counts.total,
            recently_added: counts.recent,
            duplicate_groups: 0,
            failed_jobs: health.failed_jobs,
            problems: health.problems,
        }
    }
}

/// A library on the first page.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MediaLibraryCount)]
pub struct CountedLibraryView {
    pub id: String,
    pub name: String,
    pub kind: &'static str,
    pub path: String,
    pub is_enabled: bool,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_scan_at: Option<Timestamp>,
    pub item_count: i64,
}

impl From<(MediaLibrary, i64)> for CountedLibraryView {
    fn from((library, item_count): (MediaLibrary, i64)) -> Self {
        Self {
            id: library.id,
            name: library.name,
            kind: library.kind.as_str(),
            path: library.path,
            is_enabled: library.is_enabled,
            last_scan_at: library.last_scan_at,
            item_count,
        }
    }
}

/// The first page.
#[derive(Serialize, ToSchema)]
#[schema(as = MediaDashboard)]
pub struct DashboardView {
    pub health: HealthView,
    /// The oldest first.
    pub libraries: Vec<CountedLibraryView>,
}

/// A file.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MediaFile)]
pub struct FileView {
    pub id: String,
    pub item_id: String,
    pub path: String,
    /// Bytes, as a decimal text.
    pub size: String,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub modified_at: Option<Timestamp>,
    pub container: Option<String>,
    pub video_codec: Option<String>,
    pub audio_codec: Option<String>,
    pub resolution: Option<String>,
    pub hdr: Option<String>,
    pub language: Option<String>,
    pub release_group: Option<String>,
    pub quality: Option<String>,
    pub width: Option<i64>,
    pub height: Option<i64>,
    pub bitrate_kbps: Option<i64>,
    pub duration_sec: Option<i64>,
    pub audio_channels: Option<i64>,
    pub frame_rate: Option<f64>,
    pub video_bit_depth: Option<i64>,
    pub chroma_subsampling: Option<String>,
    pub color_primaries: Option<String>,
    pub color_transfer: Option<String>,
    pub color_space: Option<String>,
    pub hdr_format: Option<String>,
    /// `filename` or `probe`
    pub tech_source: &'static str,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub probed_at: Option<Timestamp>,
    pub probe_error: Option<String>,
    pub probe_attempts: i64,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
}

impl FileView {
    fn new(item: &Item, file: MediaFile, path: String) -> Self {
        Self {
            id: file.id,
            item_id: item.id.clone(),
            path,
            size: file.size.to_string(),
            modified_at: Some(Timestamp::from_ms(file.mtime.div_euclid(1_000_000))),
            container: file.tech.container,
            video_codec: file.tech.video_codec,
            audio_codec: file.tech.audio_codec,
            resolution: file.tech.resolution,
            hdr: file.tech.hdr,
            language: file.tech.language,
            release_group: file.tech.release_group,
            quality: file.tech.quality,
            width: file.measured.width,
            height: file.measured.height,
            bitrate_kbps: file.measured.bitrate_kbps,
            duration_sec: file.measured.duration_sec,
            audio_channels: file.measured.audio_channels,
            frame_rate: file.measured.frame_rate,
            video_bit_depth: file.measured.video_bit_depth,
            chroma_subsampling: file.measured.chroma_subsampling,
            color_primaries: file.measured.color_primaries,
            color_transfer: file.measured.color_transfer,
            color_space: file.measured.color_space,
            hdr_format: file.measured.hdr_format,
            tech_source: if file.probed_at.is_some() {
                "probe"
            } else {
                "filename"
            },
            probed_at: file.probed_at,
            probe_error: file.probe_error,
            probe_attempts: file.probe_attempts,
            created_at: file.created_at,
        }
    }
}

/// A version of an item.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MediaVersion)]
pub struct VersionView {
    /// That of its file, or of its first part.
    pub id: String,
    /// Word that its name has for it: `1080p`, `Director's Cut`; null: none.
    pub label: Option<String>,
    pub path: String,
    /// Bytes, as a decimal text.
    pub size: String,
    pub resolution: Option<String>,
}

impl VersionView {
    fn new((place, file): &Placed<'_>, library: &str) -> Self {
        Self {
            id: file.id.clone(),
            label: file.label.clone(),
            path: place::absolute(library, place),
            size: file.size.to_string(),
            resolution: file.tech.resolution.clone(),
        }
    }
}

/// A part of an item.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MediaPart)]
pub struct PartView {
    /// That of its file.
    pub id: String,
    pub number: i64,
    pub path: String,
}

impl PartView {
    fn new((place, file): &Placed<'_>, library: &str) -> Self {
        Self {
            id: file.id.clone(),
            number: file.part.unwrap_or(1),
            path: place::absolute(library, place),
        }
    }
}

/// A file that belongs to a film, a show or a season and is neither a film nor an episode.
#[derive(Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MediaExtra)]
pub struct ExtraView {
    pub id: String,
    /// `trailer`, `sample`, `behind_the_scenes`, `deleted_scene`, `featurette`, `interview`, `scene`, `short`, `clip`, `theme`,
    /// `extra` or `other`
    pub r#type: String,
    /// That of its file.
    pub name: String,
    pub path: String,
    /// Bytes, as a decimal text.
    pub size: String,
    /// Season in whose folder it lies.
    pub season: Option<i64>,
}

impl ExtraView {
    pub fn new(extra: Extra, library: &str) -> Self {
        Self {
            name: extra.name(),
            path: place::absolute(library, &extra.place),
            id: extra.id,
            r#type: extra.kind,
            size: extra.size.to_string(),
            season: extra.season,
        }
    }
}

/// What an item is called elsewhere.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MediaExternalId)]
pub struct ExternalIdView {
    pub id: String,
    pub item_id: String,
    /// `titledb`, or the id of a provider of metadata.
    pub provider: String,
    pub external_id: String,
    /// Its page there.
    pub url: Option<String>,
}

impl From<ExternalId> for ExternalIdView {
    fn from(id: ExternalId) -> Self {
        Self {
            id: id.id,
            item_id: id.item_id,
            provider: id.provider,
            external_id: id.value,
            url: id.url,
        }
    }
}

/// An item.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MediaItem)]
pub struct ItemView {
    pub id: String,
    pub library_id: String,
    pub media_type: String,
    /// Of an episode: that of its series.
    pub title: String,
    pub sort_title: Option<String>,
    pub year: Option<i64>,
    pub season: Option<i64>,
    pub episode: Option<i64>,
    pub episode_end: Option<i64>,
    /// `matched`: its name could be read, and says enough of what it is; `manual`: a person said it; `unmatched`.
    pub match_status: String,
    /// It is known which title it is: it has an id elsewhere, or its series has.
    pub identified: bool,
    /// 0 to 1.
    pub confidence: f64,
    pub locked: bool,
    /// What is not UTF-8 shows as U+FFFD.
    pub path: String,
    pub duplicate_group_id: Option<String>,
    pub series_titledb_id: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Timestamp,
    /// The first one lies at `path`.
    pub files: Vec<FileView>,
    /// Versions of it: at least the one that lies at `path`.
    pub versions: Vec<VersionView>,
    /// Parts of it, by their numbers; empty where it lies in one file.
    pub parts: Vec<PartView>,
    /// Null until something has described it.
    pub metadata: Option<MetadataView>,
    /// By their providers.
    pub external_ids: Vec<ExternalIdView>,
    #[schema(value_type = Vec<Object>)]
    pub artwork: Vec<Value>,
}

impl From<Listed> for ItemView {
    fn from((item, file, library): Listed) -> Self {
        let path = place::absolute(&library, &item.place);
        let (versions, parts) = arranged(&item.place, &file, &item.copies);
        let versions = versions
            .iter()
            .map(|one| VersionView::new(one, &library))
            .collect();
        let parts = parts.iter().map(|one| PartView::new(one, &library)).collect();
        let further = item.copies.iter().map(|(place, file)| {
            let path = place::absolute(&library, place);
            FileView::new(&item, file.clone(), path)
        });
        let further: Vec<FileView> = further.collect();
        let first = FileView::new(&item, file, path.clone());
        Self {
            files: std::iter::once(first).chain(further).collect(),
            versions,
            parts,
            identified: item.is_identified(),
            id: item.id,
            library_id: item.library_id,
            media_type: item.media_type,
            title: item.title,
            sort_title: item.sort_title,
            year: item.year,
            season: item.season,
            episode: item.episode,
            episode_end: item.episode_end,
            match_status: item.match_status,
            confidence: item.confidence as f64 / 100.0,
            locked: item.locked,
            path,
            duplicate_group_id: item.duplicate_group_id,
            series_titledb_id: item.series_titledb_id,
            created_at: item.created_at,
            updated_at: item.updated_at,
            metadata: item.metadata.map(|metadata| (*metadata).into()),
            external_ids: item.external_ids.into_iter().map(Into::into).collect(),
            artwork: Vec::new(),
        }
    }
}

/// An item alone, without what belongs to it.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MediaItemRow)]
pub struct RowView {
    pub id: String,
    pub library_id: String,
    pub media_type: String,
    /// Of an episode: that of its series.
    pub title: String,
    pub sort_title: Option<String>,
    pub year: Option<i64>,
    pub season: Option<i64>,
    pub episode: Option<i64>,
    pub episode_end: Option<i64>,
    /// `unmatched`, `matched` or `manual`
    pub match_status: String,
    /// 0 to 1.
    pub confidence: f64,
    pub locked: bool,
    pub path: String,
    pub duplicate_group_id: Option<String>,
    pub series_titledb_id: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Timestamp,
}

impl From<Listed> for RowView {
    fn from((item, _, library): Listed) -> Self {
        Self {
            path: place::absolute(&library, &item.place),
            id: item.id,
            library_id: item.library_id,
            media_type: item.media_type,
            title: item.title,
            sort_title: item.sort_title,
            year: item.year,
            season: item.season,
            episode: item.episode,
            episode_end: item.episode_end,
            match_status: item.match_status,
            confidence: item.confidence as f64 / 100.0,
            locked: item.locked,
            duplicate_group_id: item.duplicate_group_id,
            series_titledb_id: item.series_titledb_id,
            created_at: item.created_at,
            updated_at: item.updated_at,
        }
    }
}

/// A page of items.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MediaItemPage)]
pub struct ItemPage {
    pub items: Vec<ItemView>,
    pub total: u64,
    pub page: u64,
    pub page_size: u64,
}

/// Where an item belongs.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MediaBreadcrumb)]
pub struct Breadcrumb {
    pub library_id: String,
    pub library_name: String,
    /// The key of its series; null for what is no episode.
    pub show_key: Option<String>,
    pub show_title: Option<String>,
}

/// An item with all that is known of it.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MediaItemDetail)]
pub struct DetailView {
    #[serde(flatten)]
    pub item: ItemView,
    #[schema(value_type = Vec<Object>)]
    pub subtitles: Vec<Value>,
    #[schema(value_type = Vec<Object>)]
    pub nfo_files: Vec<Value>,
    pub library: LibraryView,
    pub breadcrumb: Option<Breadcrumb>,
    /// Titles of the data set that it may be by their likeness, the likeliest first; none of them is its id.
    pub suggestions: Vec<SuggestionView>,
    /// Trailers, samples and the like of a film; those of an episode are its show's.
    pub extras: Vec<ExtraView>,
}

/// A title that an item may be.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MediaSuggestion)]
pub struct SuggestionView {
    pub titledb_id: String,
    pub title: String,
    pub year: Option<i64>,
    /// 0 to 1.
    pub score: f64,
}

impl From<Suggestion> for SuggestionView {
    fn from(one: Suggestion) -> Self {
        Self {
            titledb_id: one.titledb_id,
            title: one.title,
            year: one.year,
            score: one.score as f64 / 100.0,
        }
    }
}

impl From<Detail> for DetailView {
    fn from(detail: Detail) -> Self {
        let Detail {
            suggestions,
            extras,
            item,
            file,
            library,
        } = detail;
        let extras = extras
            .into_iter()
            .map(|extra| ExtraView::new(extra, &library.path))
            .collect();
        let is_episode = matches!(&*item.media_type, "tv" | "anime" | "episode");
        let series = is_episode.then(|| series::series_of(&library.path, &item.place, &item.title));
        let (show_key, show_title) = series.unzip();
        Self {
            breadcrumb: Some(Breadcrumb {
                library_id: library.id.clone(),
                library_name: library.name.clone(),
                show_key,
                show_title,
            }),
            item: (item, file, library.path.clone()).into(),
            subtitles: Vec::new(),
            nfo_files: Vec::new(),
            library: library.into(),
            suggestions: suggestions.into_iter().map(Into::into).collect(),
            extras,
        }
    }
}

/// How many titles begin with a letter.
#[derive(Serialize, ToSchema)]
#[schema(as = MediaLetter)]
pub struct LetterView {
    /// `#`, or `A` to `Z`.
    pub letter: String,
    pub count: i64,
}

/// What is wrong with items, in numbers.
#[derive(Serialize, ToSchema)]
#[schema(as = MediaIssues)]
pub struct IssuesView {
    pub unmatched: i64,
    pub missing_artwork: i64,
    pub missing_subtitles: i64,
    pub duplicate: i64,
}

impl From<(i64, i64, i64)> for IssuesView {
    fn from((total, unmatched, duplicate): (i64, i64, i64)) -> Self {
        Self {
            unmatched,
            // None has any: nothing looks for them yet.
            missing_artwork: total,
            missing_subtitles: total,
            duplicate,
        }
    }
}
