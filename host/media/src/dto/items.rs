//! Items as they are answered.

use std::collections::BTreeMap;

use qm_kernel::Timestamp;
use qm_media_names::place;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::beside::PictureView;
use crate::model::external::ExternalId;
use crate::model::extra::Extra;
use crate::model::item::{Item, MediaFile, Placed, arranged};
use crate::model::metadata::ItemMetadata;
use crate::model::titles::Suggestion;
use crate::model::view::Listed;

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

/// An id of an item in an outside catalogue.
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
    /// Title of the item; for an episode, the title of its series.
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
    /// Path of the file. Bytes that are not UTF-8 show as U+FFFD.
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
    /// Its poster in lists, the selected one first; all its pictures where it is asked for alone.
    pub artwork: Vec<PictureView>,
    /// True if it has any picture.
    pub has_artwork: bool,
    /// Number of its subtitles: files beside it, and tracks in its files.
    pub subtitle_count: i64,
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
            artwork: PictureView::list(item.artwork, &library),
            has_artwork: item.pictures > 0,
            subtitle_count: item.subtitles,
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
    /// Title of the item; for an episode, the title of its series.
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

/// Metadata of an item.
#[derive(Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MediaMetadata)]
pub struct MetadataView {
    pub id: String,
    pub item_id: String,
    /// Title of the item; for an episode, its own title.
    pub title: Option<String>,
    /// Original title; for an episode, that of its show.
    pub original_title: Option<String>,
    pub sort_title: Option<String>,
    pub overview: Option<String>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub release_date: Option<Timestamp>,
    pub year: Option<i64>,
    /// Minutes.
    pub runtime: Option<i64>,
    pub genres: Vec<String>,
    pub studios: Vec<String>,
    /// Each `{ name, role? }`.
    #[schema(value_type = Vec<Object>)]
    pub cast: Vec<Value>,
    /// Each `{ name, job? }`.
    #[schema(value_type = Vec<Object>)]
    pub crew: Vec<Value>,
    pub directors: Vec<String>,
    pub writers: Vec<String>,
    /// 0 to 10.
    pub rating: Option<f64>,
    pub certification: Option<String>,
    pub tags: Vec<String>,
    /// Source of the last change: a provider, `universal` for several, `local` for the item's name, `manual` for a person.
    pub provider_name: Option<String>,
    /// Source of each field. No provider changes one that is `manual`.
    #[schema(value_type = Object)]
    pub field_sources: BTreeMap<String, String>,
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Timestamp,
}

impl From<ItemMetadata> for MetadataView {
    fn from(of: ItemMetadata) -> Self {
        Self {
            id: of.id,
            item_id: of.item_id,
            title: of.title,
            original_title: of.original_title,
            sort_title: of.sort_title,
            overview: of.overview,
            release_date: of.release_date,
            year: of.year,
            runtime: of.runtime,
            genres: of.genres,
            studios: of.studios,
            cast: of.cast,
            crew: of.crew,
            directors: of.directors,
            writers: of.writers,
            rating: of.rating,
            certification: of.certification,
            tags: of.tags,
            provider_name: of.provider_name,
            field_sources: of.field_sources,
            updated_at: of.updated_at,
        }
    }
}
