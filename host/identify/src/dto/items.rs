//! Changes to items, in requests.

use qm_media::dto::fields::{MAX_NUMBER, MAX_TEXT, MAX_YEAR, nullable_text, number};
use qm_media::model::item::{Edit, MEDIA_TYPES};
use qm_web::{Fields, FromBody};
use utoipa::ToSchema;

/// Changes to an item; absent fields stay, null clears.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase", as = MediaItemInput)]
#[expect(clippy::option_option, reason = "absent, null and a value are three things")]
pub struct ItemInput {
    /// `movie`, `tv`, `anime`, `music_video`, `documentary` or `other_video`
    pub media_type: Option<String>,
    /// Title of the item; for an episode, the title of its series.
    pub title: Option<String>,
    #[schema(value_type = Option<String>)]
    pub sort_title: Option<Option<String>>,
    #[schema(value_type = Option<i64>)]
    pub year: Option<Option<i64>>,
    /// 0: specials.
    #[schema(value_type = Option<i64>)]
    pub season: Option<Option<i64>>,
    #[schema(value_type = Option<i64>)]
    pub episode: Option<Option<i64>>,
}

impl FromBody for ItemInput {
    fn from_body(f: &mut Fields<'_>) -> Self {
        f.allow_unknown();
        Self {
            media_type: f.string("mediaType").one_of(&MEDIA_TYPES).optional(),
            title: title(f),
            sort_title: nullable_text(f, "sortTitle", MAX_TEXT),
            year: number(f, "year", MAX_YEAR),
            season: number(f, "season", MAX_NUMBER),
            episode: number(f, "episode", MAX_NUMBER),
        }
    }
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
#[derive(ToSchema)]
#[schema(rename_all = "camelCase", as = MediaMatchInput)]
pub struct MatchInput {
    /// `movie`, `tv`, `anime`, `music_video`, `documentary` or `other_video`
    pub media_type: Option<String>,
    /// Title of the item; for an episode, the title of its series.
    pub title: Option<String>,
    pub year: Option<i64>,
    /// 0: specials.
    pub season: Option<i64>,
    pub episode: Option<i64>,
}

impl FromBody for MatchInput {
    const OPTIONAL: bool = true;

    fn from_body(f: &mut Fields<'_>) -> Self {
        f.allow_unknown();
        Self {
            media_type: f.string("mediaType").one_of(&MEDIA_TYPES).optional(),
            title: title(f),
            year: number(f, "year", MAX_YEAR).flatten(),
            season: number(f, "season", MAX_NUMBER).flatten(),
            episode: number(f, "episode", MAX_NUMBER).flatten(),
        }
    }
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

fn title(f: &mut Fields<'_>) -> Option<String> {
    let title = f.string("title").not_empty().max(MAX_TEXT).optional();
    title.map(|title| title.trim().to_owned())
}
