//! Metadata of shows and seasons, in requests and answers.

use qm_media::model::details::{IdentityEdit, Refreshed, SeasonEdit, ShowEdit};
use qm_media::model::external::PROVIDER_A;
use qm_ports::metadata::TitleSuggestion;
use qm_web::FromBody;
use serde::Serialize;
use utoipa::ToSchema;

use qm_media::dto::shows::ShowView;

/// Most characters of a title or a word.
pub(super) const MAX_TEXT: usize = 512;
/// Most characters of an overview.
pub(super) const MAX_OVERVIEW: usize = 20_000;
/// Most genres, networks, studios or tags of a show.
pub(super) const MAX_LIST: usize = 100;
/// Latest year: beyond any show.
pub(super) const MAX_YEAR: i64 = 9999;

/// Best rating.
pub(super) const MAX_RATING: f64 = 10.0;

/// Which show a folder holds; what is absent stays, what is null or empty is cleared.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase", as = MediaShowIdentityInput)]
#[expect(clippy::struct_field_names, reason = "these are the names in the body")]
#[expect(clippy::option_option, reason = "absent, null and a value are three things")]
#[fields(open)]
pub struct IdentityInput {
    /// Another one clears `providerAId` and `providerBId` where these are not given.
    #[field(max = MAX_TEXT)]
    #[schema(value_type = Option<String>)]
    pub titledb_id: Option<Option<String>>,
    #[field(max = MAX_TEXT)]
    #[schema(value_type = Option<String>)]
    pub provider_a_id: Option<Option<String>>,
    #[field(max = MAX_TEXT)]
    #[schema(value_type = Option<String>)]
    pub provider_b_id: Option<Option<String>>,
}

impl From<IdentityInput> for IdentityEdit {
    fn from(input: IdentityInput) -> Self {
        let given = |id: Option<Option<String>>| {
            id.map(|id| id.map(|id| id.trim().to_owned()).filter(|id| !id.is_empty()))
        };
        Self {
            titledb_id: given(input.titledb_id),
            provider_a_id: given(input.provider_a_id),
            provider_b_id: given(input.provider_b_id),
        }
    }
}

/// Changes to the metadata of a show; absent fields stay, null clears.
#[derive(ToSchema, FromBody)]
#[schema(rename_all = "camelCase", as = MediaShowMetadataInput)]
#[expect(clippy::option_option, reason = "absent, null and a value are three things")]
#[fields(open)]
pub struct ShowMetadataInput {
    #[field(max = MAX_TEXT)]
    #[schema(value_type = Option<String>)]
    pub title: Option<Option<String>>,
    #[field(max = MAX_TEXT)]
    #[schema(value_type = Option<String>)]
    pub original_title: Option<Option<String>>,
    #[field(max = MAX_TEXT)]
    #[schema(value_type = Option<String>)]
    pub sort_title: Option<Option<String>>,
    #[field(max = MAX_OVERVIEW)]
    #[schema(value_type = Option<String>)]
    pub overview: Option<Option<String>>,
    #[field(min = 0, max = MAX_YEAR)]
    #[schema(value_type = Option<i64>)]
    pub year: Option<Option<i64>>,
    #[field(max = MAX_TEXT)]
    #[schema(value_type = Option<String>)]
    pub status: Option<Option<String>>,
    #[field(max_items = MAX_LIST, each_max = MAX_TEXT)]
    pub networks: Option<Vec<String>>,
    #[field(max_items = MAX_LIST, each_max = MAX_TEXT)]
    pub genres: Option<Vec<String>>,
    #[field(max_items = MAX_LIST, each_max = MAX_TEXT)]
    pub studios: Option<Vec<String>>,
    /// 0 to 10.
    #[field(min = 0.0, max = MAX_RATING)]
    #[schema(value_type = Option<f64>)]
    pub rating: Option<Option<f64>>,
    #[field(max = MAX_TEXT)]
    #[schema(value_type = Option<String>)]
    pub certification: Option<Option<String>>,
    #[field(max_items = MAX_LIST, each_max = MAX_TEXT)]
    pub tags: Option<Vec<String>>,
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
    pub fn new(show_id: String, refreshed: Refreshed) -> Self {
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
#[derive(ToSchema, FromBody)]
#[schema(as = MediaSeasonInput)]
#[expect(clippy::option_option, reason = "absent, null and a value are three things")]
#[fields(open)]
pub struct SeasonInput {
    #[field(max = MAX_TEXT)]
    #[schema(value_type = Option<String>)]
    pub title: Option<Option<String>>,
    #[field(max = MAX_OVERVIEW)]
    #[schema(value_type = Option<String>)]
    pub overview: Option<Option<String>>,
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
