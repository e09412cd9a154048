//! Fields that several lists read alike.

use qm_media::dto::fields::{MAX_TEXT, MAX_YEAR, keep_filled};
use qm_media::model::item::{Filter, KnownAs};
use qm_media_names::naming::composed;
use qm_web::FromQuery;

/// Description of the form of an outside id, for people.
pub const IDS: &str =
    "must be SOURCE:ID, with imdb (titledb), tmdb (provider_a) or tvdb (provider_b) as its source";

/// Library, kind and state of the wanted items.
#[derive(FromQuery)]
pub struct Scope {
    #[field(max = MAX_TEXT, and_then = keep_filled)]
    library_id: Option<String>,
    #[field(max = MAX_TEXT, and_then = keep_filled)]
    media_type: Option<String>,
    #[field(max = MAX_TEXT, and_then = keep_filled)]
    match_status: Option<String>,
}

impl From<Scope> for Filter {
    fn from(scope: Scope) -> Self {
        Self {
            library_id: scope.library_id,
            media_type: scope.media_type,
            match_status: scope.match_status,
            ..Self::default()
        }
    }
}

/// Wanted years: `year` is the first and the last, `yearFrom` and `yearTo` are one each.
#[derive(FromQuery)]
pub struct Years {
    #[field(name = "year", min = 0, max = MAX_YEAR)]
    exact: Option<i64>,
    #[field(name = "yearFrom", min = 0, max = MAX_YEAR)]
    from: Option<i64>,
    #[field(name = "yearTo", min = 0, max = MAX_YEAR)]
    to: Option<i64>,
}

impl Years {
    pub fn first(&self) -> Option<i64> {
        self.exact.or(self.from)
    }

    pub fn last(&self) -> Option<i64> {
        self.exact.or(self.to)
    }
}

/// A part of a title in the form of the index, unless it is blank.
pub fn compose_filled(text: &str) -> Option<String> {
    keep_filled(text).map(|text| composed(&text).into_owned())
}

/// True for an outside id, and for a blank text, which counts as absent.
pub fn is_outside_id(text: &str) -> bool {
    text.trim().is_empty() || KnownAs::parse(text).is_some()
}
