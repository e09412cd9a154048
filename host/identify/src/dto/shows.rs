//! Metadata of shows and seasons, in requests and answers.

use qm_media::model::details::{IdentityEdit, Refreshed, SeasonEdit, ShowEdit};
use qm_media::model::external::PROVIDER_A;
use qm_ports::metadata::TitleSuggestion;
use qm_web::{Fields, FromBody};
use serde::Serialize;
use utoipa::ToSchema;

use qm_media::dto::fields::{nullable_text, number};
use qm_media::dto::shows::ShowView;

/// Most characters of a title or a word.
pub(super) const MAX_TEXT: usize = 512;
/// Most characters of an overview.
pub(super) const MAX_OVERVIEW: usize = 20_000;
/// Most genres, networks, studios or tags of a show.
pub(super) const MAX_LIST: usize = 100;
/// Latest year: beyond any show.
pub(super) const MAX_YEAR: i64 = 9999;

pub(super) fn list(f: &mut Fields<'_>, name: &'static str) -> Option<Vec<String>> {
    f.strings(name).max_items(MAX_LIST).each_max(MAX_TEXT).optional()
}

/// A rating from 0 to 10; `Some(None)`: it is null.
#[expect(clippy::option_option, reason = "absent, null and a value are three things")]
pub(super) fn rating(f: &mut Fields<'_>) -> Option<Option<f64>> {
    let is_null = f.is_null("rating");
    let rating = f.number("rating").min(0.0).max(10.0).optional();
    rating.map(Some).or(is_null.then_some(None))
}

/// Which show a folder holds; what is absent stays, what is null or empty is cleared.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase", as = MediaShowIdentityInput)]
#[expect(clippy::struct_field_names, reason = "these are the names in the body")]
#[expect(clippy::option_option, reason = "absent, null and a value are three things")]
pub struct IdentityInput {
    /// Another one clears `providerAId` and `providerBId` where these are not given.
    #[schema(value_type = Option<String>)]
    pub titledb_id: Option<Option<String>>,
    #[schema(value_type = Option<String>)]
    pub provider_a_id: Option<Option<String>>,
    #[schema(value_type = Option<String>)]
    pub provider_b_id: Option<Option<String>>,
}

impl FromBody for IdentityInput {
    fn from_body(f: &mut Fields<'_>) -> Self {
        f.allow_unknown();
        let given = |id: Option<Option<String>>| {
            id.map(|id| id.map(|id| id.trim().to_owned()).filter(|id| !id.is_empty()))
        };
        Self {
            titledb_id: given(nullable_text(f, "titledbId", MAX_TEXT)),
            provider_a_id: given(nullable_text(f, "providerAId", MAX_TEXT)),
            provider_b_id: given(nullable_text(f, "providerBId", MAX_TEXT)),
        }
    }
}

impl From<IdentityInput> for IdentityEdit {
    fn from(input: IdentityInput) -> Self {
        Self {
            titledb_id: input.titledb_id,
            provider_a_id: input.provider_a_id,
            provider_b_id: input.provider_b_id,
        }
    }
}

/// Changes to the metadata of a show; absent fields stay, null clears.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase", as = MediaShowMetadataInput)]
#[expect(clippy::option_option, reason = "absent, null and a value are three things")]
pub struct ShowMetadataInput {
    #[schema(value_type = Option<String>)]
    pub title: Option<Option<String>>,
    #[schema(value_type = Option<String>)]
    pub original_title: Option<Option<String>>,
    #[schema(value_type = Option<String>)]
    pub sort_title: Option<Option<String>>,
    #[schema(value_type = Option<String>)]
    pub overview: Option<Option<String>>,
    #[schema(value_type = Option<i64>)]
    pub year: Option<Option<i64>>,
    #[schema(value_type = Option<String>)]
    pub status: Option<Option<String>>,
    pub networks: Option<Vec<String>>,
    pub genres: Option<Vec<String>>,
    pub studios: Option<Vec<String>>,
    /// 0 to 10.
    #[schema(value_type = Option<f64>)]
    pub rating: Option<Option<f64>>,
    #[schema(value_type = Option<String>)]
    pub certification: Option<Option<String>>,
    pub tags: Option<Vec<String>>,
}

impl FromBody for ShowMetadataInput {
    fn from_body(f: &mut Fields<'_>) -> Self {
        f.allow_unknown();
        Self {
            title: nullable_text(f, "title", MAX_TEXT),
            original_title: nullable_text(f, "originalTitle", MAX_TEXT),
            sort_title: nullable_text(f, "sortTitle", MAX_TEXT),
            overview: nullable_text(f, "overview", MAX_OVERVIEW),
            year: number(f, "year", MAX_YEAR),
            status: nullable_text(f, "status", MAX_TEXT),
            networks: list(f, "networks"),
            genres: list(f, "genres"),
            studios: list(f, "studios"),
            rating: rating(f),
            certification: nullable_text(f, "certification", MAX_TEXT),
            tags: list(f, "tags"),
        }
    }
}

impl From<ShowMetadataInput> for ShowEdit {
    fn from(input: ShowMetadataInput) -> Self {
        Self {
            title: input.title,
            original_title: input.original_title,
            sort_title: input.sort_title,
            overview: input.overview,
            year: input.year,
            status: input.status,
            networks: input.networks,
            genres: input.genres,
            studios: input.studios,
            rating: input.rating,
            certification: input.certification,
            tags: input.tags,
        }
    }
}

/// The show that a provider told of.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MediaOtherShow)]
pub struct OtherShowView {
    pub title: Option<String>,
    pub titledb_id: String,
}

/// Result of asking a provider about a show.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MediaShowRefreshed)]
pub struct RefreshedView {
    pub show_id: String,
    pub refreshed: bool,
    /// Provider that answered; absent if nothing was stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub provider: Option<&'static str>,
    /// Id of the show there; absent where nothing was stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub provider_a_id: Option<String>,
    /// Why nothing was stored: `no_provider` (it has no key), `not_found` or `identity_mismatch` (it told of another show).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub reason: Option<&'static str>,
    /// That other show.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub matched: Option<OtherShowView>,
    /// Shows that are only like it, or as good as others, the likeliest first; none of them is taken. Absent where there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub suggestions: Vec<ProviderSuggestionView>,
}

/// A show of a provider that a folder may be of.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MediaProviderSuggestion)]
pub struct ProviderSuggestionView {
    pub provider: String,
    /// Id of the show there.
    pub external_id: String,
    pub title: String,
    pub year: Option<u32>,
    /// 0 to 1.
    pub score: f64,
}

impl From<TitleSuggestion> for ProviderSuggestionView {
    fn from(one: TitleSuggestion) -> Self {
        Self {
            provider: one.provider,
            external_id: one.id,
            title: one.title,
            year: one.year,
            score: one.score as f64 / 100.0,
        }
    }
}

impl RefreshedView {
    pub fn of(show_id: String, refreshed: Refreshed) -> Self {
        let mut view = Self {
            show_id,
            refreshed: false,
            provider: None,
            provider_a_id: None,
            reason: None,
            matched: None,
            suggestions: Vec::new(),
        };
        match refreshed {
            Refreshed::Told(id) => {
                (view.refreshed, view.provider, view.provider_a_id) = (true, Some(PROVIDER_A), id);
            }
            Refreshed::NoProvider => view.reason = Some("no_provider"),
            Refreshed::NotFound(suggested) => {
                view.reason = Some("not_found");
                view.suggestions = suggested.into_iter().map(Into::into).collect();
            }
            Refreshed::Other { title, titledb_id } => {
                view.reason = Some("identity_mismatch");
                view.matched = Some(OtherShowView { title, titledb_id });
            }
        }
        view
    }
}

/// Changes to the metadata of a season; absent fields stay, null clears.
#[derive(ToSchema)]
#[schema(as = MediaSeasonInput)]
#[expect(clippy::option_option, reason = "absent, null and a value are three things")]
pub struct SeasonInput {
    #[schema(value_type = Option<String>)]
    pub title: Option<Option<String>>,
    #[schema(value_type = Option<String>)]
    pub overview: Option<Option<String>>,
}

impl FromBody for SeasonInput {
    fn from_body(f: &mut Fields<'_>) -> Self {
        f.allow_unknown();
        Self {
            title: nullable_text(f, "title", MAX_TEXT),
            overview: nullable_text(f, "overview", MAX_OVERVIEW),
        }
    }
}

impl From<SeasonInput> for SeasonEdit {
    fn from(input: SeasonInput) -> Self {
        Self {
            title: input.title,
            overview: input.overview,
        }
    }
}

/// A show that somebody said what it is of.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MediaShowIdentity)]
pub struct IdentityView {
    pub show: ShowView,
    /// Items below its folder, which are of its series now.
    pub episodes_updated: usize,
}
