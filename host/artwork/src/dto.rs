//! Request and response types.

use std::collections::BTreeMap;

use qm_kernel::Timestamp;
use qm_web::{FromBody, FromQuery};
use serde::Serialize;
use utoipa::ToSchema;

use crate::model::subtitle::Subtitle;
use crate::model::{ArtKind, Artwork, MAX_SEASON, Owner, WIDTHS};

const MAX_ID: usize = 100;
const MAX_TEXT: usize = 1024;

/// Season of a show.
#[derive(ToSchema, FromQuery)]
#[schema(rename_all = "camelCase")]
pub struct SeasonQuery {
    /// Number of a season, from 0; without it the pictures of the whole show are meant.
    #[field(max = MAX_ID)]
    #[schema(value_type = Option<i64>)]
    pub season: Option<String>,
}

impl SeasonQuery {
    /// The season; `Err` for what is none.
    pub fn read(&self) -> Result<Option<i64>, ()> {
        let Some(text) = self
            .season
            .as_deref()
            .map(str::trim)
            .filter(|text| !text.is_empty())
        else {
            return Ok(None);
        };
        let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse().ok().filter(|_| is_plain);
        number.filter(|number| *number <= MAX_SEASON).map(Some).ok_or(())
    }
}

/// Choice of a picture of an item.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase", as = ArtworkChoice)]
#[fields(open)]
pub struct ItemChoice {
    #[field(not_empty, max = MAX_ID)]
    pub artwork_id: String,
}

/// Choice of a picture of a show or of a season.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase", as = ShowArtworkChoice)]
#[fields(open)]
pub struct ShowChoice {
    #[field(not_empty, max = MAX_ID)]
    pub artwork_id: String,
    /// Number of the season that the picture is of; absent or null: it is of the whole show.
    #[field(min = 0, max = MAX_SEASON)]
    pub season: Option<i64>,
}

/// A picture of an item.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase", as = ArtworkUpload)]
#[fields(open)]
pub struct ItemUpload {
    /// `poster`, `fanart`, `logo`, `clearart`, `banner`, `thumbnail`, `season_poster` or `episode_thumbnail`.
    #[field(name = "type", max = MAX_ID)]
    #[schema(rename = "type", example = "poster")]
    pub kind: String,
    /// The picture in base64, also as a `data:` address: a PNG, JPEG or WebP of at most 10 MiB that is not animated.
    pub data_base64: String,
    /// Name of its file, whose ending must be that of its format.
    #[field(max = MAX_TEXT)]
    pub filename: Option<String>,
    /// Type of its content, which must be the one that it has.
    #[field(max = MAX_TEXT)]
    pub mime: Option<String>,
    /// Number of the season that it shows.
    #[field(min = 0, max = MAX_SEASON)]
    pub season_number: Option<i64>,
}

/// A picture of a show or of a season.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase", as = ShowArtworkUpload)]
#[fields(open)]
pub struct ShowUpload {
    /// Type, as in the upload for an item.
    #[field(name = "type", max = MAX_ID)]
    #[schema(rename = "type", example = "season_poster")]
    pub kind: String,
    /// The picture, as in the upload for an item.
    pub data_base64: String,
    /// Name of its file, whose ending must be that of its format.
    #[field(max = MAX_TEXT)]
    pub filename: Option<String>,
    /// Type of its content, which must be the one that it has.
    #[field(max = MAX_TEXT)]
    pub mime: Option<String>,
    /// Number of the season that it shows.
    #[field(min = 0, max = MAX_SEASON)]
    pub season: Option<i64>,
}

/// Import of pictures of a show.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase", as = ShowArtworkImport)]
#[fields(open, optional)]
pub struct ShowImport {
    /// Number of the season whose poster is wanted; absent or null: poster and background of the whole show.
    #[field(min = 0, max = MAX_SEASON)]
    pub season: Option<i64>,
}

/// Size of a picture.
#[derive(ToSchema, FromQuery)]
#[schema(rename_all = "camelCase")]
pub struct ImageQuery {
    /// Width in pixels: 160, 320, 400, 780 or 1280. A picture that is not wider comes in its own size.
    #[field(one_of = &WIDTHS)]
    pub width: Option<u32>,
    /// Any text: the picture is 400 pixels wide.
    #[field(max = MAX_ID)]
    pub thumb: Option<String>,
}

/// A picture.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MediaArtwork)]
pub struct ArtworkView {
    pub id: String,
    /// The item that it is of; null for one of a show.
    pub item_id: Option<String>,
    pub show_id: Option<String>,
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Address that it came from.
    pub url: Option<String>,
    /// Path of its file.
    pub local_path: Option<String>,
    /// `local` (found beside the media), `custom` (from a person) or `provider_a`.
    pub source: &'static str,
    pub selected: bool,
    /// Pixels; null: not known.
    pub width: Option<i64>,
    pub height: Option<i64>,
    pub season_number: Option<i64>,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
}

impl ArtworkView {
    pub fn new(art: Artwork, local_path: Option<String>) -> Self {
        Self {
            item_id: art.owner.item_id().map(str::to_owned),
            show_id: art.owner.show_id().map(str::to_owned),
            id: art.id,
            kind: art.kind.as_str(),
            url: art.url,
            local_path,
            source: art.source.as_str(),
            selected: art.is_selected,
            width: art.width,
            height: art.height,
            season_number: art.season,
            created_at: art.created_at,
        }
    }
}

/// Pictures, and the selected one of each type.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ArtworkList)]
pub struct Pictures {
    /// By type, the selected one first.
    pub artwork: Vec<ArtworkView>,
    /// Id of the selected picture, by type.
    pub selected: BTreeMap<&'static str, String>,
}

impl Pictures {
    pub fn new(artwork: Vec<(Artwork, Option<String>)>) -> Self {
        let mut selected = BTreeMap::new();
        for (art, _) in artwork.iter().filter(|(art, _)| art.is_selected) {
            selected
                .entry(art.kind.as_str())
                .or_insert_with(|| art.id.clone());
        }
        let views = artwork.into_iter().map(|(art, path)| ArtworkView::new(art, path));
        Self {
            artwork: views.collect(),
            selected,
        }
    }
}

/// Pictures of an item.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ItemArtwork)]
pub struct ItemPictures {
    pub item_id: String,
    #[serde(flatten)]
    pub pictures: Pictures,
}

/// Owner of pictures.
#[derive(Serialize, ToSchema)]
#[serde(tag = "kind", rename_all = "camelCase")]
#[schema(as = ArtworkOwner)]
pub enum OwnerView {
    #[serde(rename_all = "camelCase")]
    Item { item_id: String },
    #[serde(rename_all = "camelCase")]
    Show {
        show_id: String,
        /// Null: the whole show.
        season_number: Option<i64>,
    },
}

impl OwnerView {
    pub fn new(owner: Owner, season_number: Option<i64>) -> Self {
        match owner {
            Owner::Item(item_id) => Self::Item { item_id },
            Owner::Show(show_id) => Self::Show {
                show_id,
                season_number,
            },
        }
    }
}

/// Pictures of an owner.
#[derive(Serialize, ToSchema)]
#[schema(as = OwnedArtwork)]
pub struct OwnedPictures {
    pub owner: OwnerView,
    #[serde(flatten)]
    pub pictures: Pictures,
}

/// Types that an item has, and those that it lacks.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MissingArtwork)]
pub struct MissingView {
    pub item_id: String,
    pub present: Vec<&'static str>,
    /// Types among `poster` and `fanart`.
    pub missing: Vec<&'static str>,
}

impl MissingView {
    pub fn new(item_id: String, (present, missing): (Vec<ArtKind>, Vec<ArtKind>)) -> Self {
        Self {
            item_id,
            present: words(present),
            missing: words(missing),
        }
    }
}

/// Pictures that were imported for an item; without a key of the provider, or an id there, those that are missing.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[schema(as = ItemArtworkImport)]
pub enum ItemImported {
    Imported(ItemImportedView),
    Missing(MissingView),
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ImportedItemArtwork)]
pub struct ItemImportedView {
    pub item_id: String,
    pub provider: &'static str,
    pub imported: Vec<&'static str>,
    /// Pictures that were not taken.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<FailedView>,
}

/// Pictures that were imported for a show.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ImportedShowArtwork)]
pub struct ShowImportedView {
    pub show_id: String,
    pub provider: &'static str,
    pub imported: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub season_number: Option<i64>,
    /// `no_provider_id`: there is no key of the provider, or the show has no id there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
    /// Pictures that were not taken.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<FailedView>,
}

/// Languages that are wanted.
#[derive(ToSchema, FromQuery)]
#[schema(rename_all = "camelCase")]
pub struct PreferredQuery {
    /// Languages with commas between them, of two letters each.
    #[field(max = MAX_TEXT)]
    #[schema(example = "en,fr")]
    pub preferred: Option<String>,
}

impl PreferredQuery {
    /// The languages, each once; English if none is named.
    pub fn list(&self) -> Vec<String> {
        let mut languages: Vec<String> = Vec::new();
        for language in self.preferred.as_deref().unwrap_or_default().split(',') {
            let language = language.trim().to_owned();
            if !language.is_empty() && !languages.contains(&language) {
                languages.push(language);
            }
        }
        if languages.is_empty() {
            languages.push("en".to_owned());
        }
        languages
    }
}

/// Subtitles of an item.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MediaSubtitle)]
pub struct SubtitleView {
    pub id: String,
    pub item_id: String,
    pub path: String,
    /// Two letters, or `und`.
    pub language: String,
    /// For what is said in other languages only.
    pub forced: bool,
    /// For the deaf and hard of hearing.
    pub sdh: bool,
    /// Shown unless somebody chooses another one.
    pub default: bool,
    /// `sidecar`: a file beside the video; `embedded`: a track in the file at `path`.
    pub source: &'static str,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
}

impl SubtitleView {
    pub fn new(subtitle: Subtitle, source: &'static str, path: String) -> Self {
        Self {
            id: subtitle.id,
            item_id: subtitle.item_id,
            path,
            language: subtitle.tag.language,
            forced: subtitle.tag.forced,
            sdh: subtitle.tag.sdh,
            default: subtitle.tag.by_default,
            source,
            created_at: subtitle.created_at,
        }
    }
}

/// Result of a look for subtitles.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = SubtitleScan)]
pub struct ScanView {
    pub item_id: String,
    /// Files that are there.
    pub found: usize,
    /// Files that were not known before.
    pub created: usize,
}

/// Languages of an item's subtitles, and wanted ones that are missing.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MissingSubtitles)]
pub struct MissingSubtitlesView {
    pub item_id: String,
    pub present: Vec<String>,
    pub missing: Vec<String>,
    pub has_any: bool,
}

/// A picture that was not taken.
#[derive(Serialize, ToSchema)]
#[schema(as = FailedArtwork)]
pub struct FailedView {
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub message: String,
}

impl FailedView {
    pub fn list(failed: Vec<(ArtKind, String)>) -> Vec<Self> {
        let views = failed.into_iter().map(|(kind, message)| Self {
            kind: kind.as_str(),
            message,
        });
        views.collect()
    }
}

pub fn words(kinds: Vec<ArtKind>) -> Vec<&'static str> {
    kinds.into_iter().map(ArtKind::as_str).collect()
}
