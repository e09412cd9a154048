//! A show with all that is known of it, as it is answered.

use qm_media::dto::beside::PictureView;
use qm_media::dto::items::{ExtraView, SuggestionView};
use qm_media::dto::shows::{SeasonView, ShowMetadataView, ShowView};
use qm_media::model::details::Season;
use serde::Serialize;
use utoipa::ToSchema;

/// A show with all that is known of it.
#[derive(Serialize, ToSchema)]
#[schema(as = MediaShowDetail)]
pub struct ShowDetailView {
    pub show: ShowView,
    /// Null: nobody said anything.
    pub metadata: Option<ShowMetadataView>,
    /// Those that somebody said something of, by their numbers.
    pub seasons: Vec<SeasonDetailView>,
    /// Trailers, featurettes and the like of it and of its seasons.
    pub extras: Vec<ExtraView>,
    /// Its pictures and those of its seasons, by season and type, the selected one first.
    pub artwork: Vec<PictureView>,
    /// Titles of the data set that it may be, the likeliest first; none of them is its id. Empty where its id is known.
    pub suggestions: Vec<SuggestionView>,
}

/// A season with what lies in its folder.
#[derive(Serialize, ToSchema)]
#[schema(as = MediaSeasonDetail)]
pub struct SeasonDetailView {
    #[serde(flatten)]
    pub season: SeasonView,
    pub extras: Vec<ExtraView>,
}

impl SeasonDetailView {
    /// `extras`: those of the whole show.
    pub fn new(season: Season, extras: &[ExtraView]) -> Self {
        let own = extras.iter().filter(|extra| extra.season == Some(season.number));
        Self {
            extras: own.cloned().collect(),
            season: season.into(),
        }
    }
}
