//! Changes to items, in requests.

use qm_media::dto::fields::{MAX_NUMBER, MAX_TEXT, MAX_YEAR};
use qm_media::model::item::{Edit, MEDIA_TYPES};
use qm_web::FromBody;
use utoipa::ToSchema;

/// Changes to an item; absent fields stay, null clears.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase", as = MediaItemInput)]
#[expect(clippy::option_option, reason = "absent, null and a value are three things")]
#[fields(open)]
pub struct ItemInput {
    /// `movie`, `tv`, `anime`, `music_video`, `documentary` or `other_video`
    #[field(one_of = &MEDIA_TYPES)]
    pub media_type: Option<String>,
    /// Title of the item; for an episode, the title of its series.
    #[field(not_empty, max = MAX_TEXT, map = to_trimmed)]
    pub title: Option<String>,
    #[field(max = MAX_TEXT)]
    #[schema(value_type = Option<String>)]
    pub sort_title: Option<Option<String>>,
    #[field(min = 0, max = MAX_YEAR)]
    #[schema(value_type = Option<i64>)]
    pub year: Option<Option<i64>>,
    /// 0: specials.
    #[field(min = 0, max = MAX_NUMBER)]
    #[schema(value_type = Option<i64>)]
    pub season: Option<Option<i64>>,
    #[field(min = 0, max = MAX_NUMBER)]
    #[schema(value_type = Option<i64>)]
    pub episode: Option<Option<i64>>,
}

impl From<ItemInput> for Edit {
    fn from(input: ItemInput) -> Self {
        Self {
            media_type: input.media_type,
            title: input.title,
            sort_title: input.sort_title,
            year: input.year,
            season: input.season,
            episode: input.episode,
        }
    }
}

/// Identity of an item. If it is empty, the name and folders are read again. Fields that are null or absent stay.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase", as = MediaMatchInput)]
#[fields(optional, open)]
pub struct MatchInput {
    /// `movie`, `tv`, `anime`, `music_video`, `documentary` or `other_video`
    #[field(one_of = &MEDIA_TYPES)]
    pub media_type: Option<String>,
    /// Title of the item; for an episode, the title of its series.
    #[field(not_empty, max = MAX_TEXT, map = to_trimmed)]
    pub title: Option<String>,
    #[field(min = 0, max = MAX_YEAR)]
    pub year: Option<i64>,
    /// 0: specials.
    #[field(min = 0, max = MAX_NUMBER)]
    pub season: Option<i64>,
    #[field(min = 0, max = MAX_NUMBER)]
    pub episode: Option<i64>,
}

impl From<MatchInput> for Edit {
    fn from(input: MatchInput) -> Self {
        Self {
            media_type: input.media_type,
            title: input.title,
            sort_title: None,
            year: input.year.map(Some),
            season: input.season.map(Some),
            episode: input.episode.map(Some),
        }
    }
}

fn to_trimmed(text: &str) -> String {
    text.trim().to_owned()
}
