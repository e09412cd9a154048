//! Pictures, subtitles and notes of items and shows, as they are answered.

use qm_kernel::Timestamp;
use qm_media_names::place;
use qm_ports::beside::{KnownNote, KnownPicture, KnownSubtitle, PictureLies};
use serde::Serialize;
use utoipa::ToSchema;

/// A picture of an item or of a show.
#[derive(Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MediaPicture)]
pub struct PictureView {
    /// Names it in `/api/media/artwork/{artworkId}/image`.
    pub id: String,
    /// The item that it is of; null for one of a show.
    pub item_id: Option<String>,
    pub show_id: Option<String>,
    /// `poster`, `fanart`, `logo`, `clearart`, `banner`, `thumbnail`, `season_poster` or `episode_thumbnail`
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Address that it came from.
    pub url: Option<String>,
    /// Path of its file.
    pub local_path: Option<String>,
    /// `local` (found beside the media), `custom` (from a person) or `provider_a`
    pub source: &'static str,
    pub selected: bool,
    /// Pixels; null: not known.
    pub width: Option<i64>,
    pub height: Option<i64>,
    pub season_number: Option<i64>,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
}

impl PictureView {
    /// `library`: directory of the owner's library.
    pub fn new(picture: KnownPicture, library: &str) -> Self {
        Self {
            id: picture.id,
            item_id: picture.item_id,
            show_id: picture.show_id,
            kind: picture.kind,
            url: picture.url,
            local_path: match picture.lies {
                PictureLies::Beside(at) => Some(place::absolute(library, &at)),
                PictureLies::Stored(path) => Some(path),
                PictureLies::Elsewhere => None,
            },
            source: picture.source,
            selected: picture.is_selected,
            width: picture.width,
            height: picture.height,
            season_number: picture.season,
            created_at: picture.created_at,
        }
    }

    pub fn list(pictures: Vec<KnownPicture>, library: &str) -> Vec<Self> {
        let views = pictures.into_iter().map(|picture| Self::new(picture, library));
        views.collect()
    }
}

/// Subtitles of an item.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MediaItemSubtitle)]
pub struct KnownSubtitleView {
    pub id: String,
    pub item_id: String,
    /// Path of the file that has them.
    pub path: String,
    /// Two letters, or `und`.
    pub language: String,
    /// For what is said in other languages only.
    pub forced: bool,
    /// For the deaf and hard of hearing.
    pub sdh: bool,
    /// Shown unless somebody chooses another one.
    pub default: bool,
    /// `sidecar` (a file beside the video) or `embedded` (a track in it)
    pub source: &'static str,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
}

impl KnownSubtitleView {
    pub fn new(subtitle: KnownSubtitle, item_id: &str, library: &str) -> Self {
        Self {
            path: place::absolute(library, &subtitle.place),
            id: subtitle.id,
            item_id: item_id.to_owned(),
            language: subtitle.language,
            forced: subtitle.forced,
            sdh: subtitle.sdh,
            default: subtitle.by_default,
            source: subtitle.source,
            created_at: subtitle.created_at,
        }
    }
}

/// A note (NFO) that was written beside an item.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MediaItemNote)]
pub struct KnownNoteView {
    pub id: String,
    pub item_id: String,
    /// `movie`, `tvshow`, `season` or `episode`
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub path: String,
    #[schema(value_type = String, format = DateTime)]
    pub generated_at: Timestamp,
}

impl KnownNoteView {
    pub fn new(note: KnownNote, item_id: &str, library: &str) -> Self {
        Self {
            path: place::absolute(library, &note.place),
            id: note.id,
            item_id: item_id.to_owned(),
            kind: note.kind,
            generated_at: note.generated_at,
        }
    }
}
