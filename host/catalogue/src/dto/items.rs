//! Items, in requests and answers.

use qm_kernel::PageQuery;
use qm_media::dto::fields::{MAX_NUMBER, external, sort, text, years};
use qm_media::dto::items::{ExtraView, ItemView, SuggestionView};
use qm_media::dto::libraries::LibraryView;
use qm_media::model::item::{Filter, Issue, Sort};
use qm_media::model::series;
use qm_media::model::view::Detail;
use qm_media_names::naming::composed;
use qm_web::{Fields, FromQuery};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// Word of the index for a resolution as people write it.
fn resolution(word: &str) -> String {
    match word.trim().to_lowercase().as_str() {
        "4k" | "uhd" => "2160p".to_owned(),
        other => other.to_owned(),
    }
}

/// Which items are wanted.
pub struct ItemsQuery {
    pub filter: Filter,
    pub page: PageQuery,
}

impl FromQuery for ItemsQuery {
    fn from_query(f: &mut Fields<'_>) -> Self {
        let page = f.page_or(60, 200);
        let sort = sort(f);
        let (title, search) = (text(f, "title"), text(f, "search"));
        let [title, search] = [title, search].map(|text| text.map(|text| composed(&text).into_owned()));
        let issue = f.string("issue").one_of(&Issue::WORDS).optional();
        let years = years(f);
        let letter = text(f, "startsAt").and_then(|text| text.trim().chars().next());
        let by_title = sort == Sort::Title && title.is_none() && search.is_none();
        Self {
            filter: Filter {
                library_id: text(f, "libraryId"),
                media_type: text(f, "mediaType"),
                match_status: text(f, "matchStatus"),
                starts_at: letter.filter(|letter| by_title && letter.is_ascii_alphabetic()),
                season: f.integer("season").min(0).max(MAX_NUMBER).optional(),
                resolution: text(f, "resolution").map(|word| resolution(&word)),
                genre: text(f, "genre").map(|genre| genre.trim().to_owned()),
                external: external(f),
                identified: f.boolean("identified").optional(),
                year_from: years.0,
                year_to: years.1,
                issue: issue.as_deref().and_then(Issue::of),
                title,
                search,
                sort,
            },
            page,
        }
    }
}

/// Which items are counted.
pub struct AlphabetQuery(pub Filter);

impl FromQuery for AlphabetQuery {
    fn from_query(f: &mut Fields<'_>) -> Self {
        Self(Filter {
            library_id: text(f, "libraryId"),
            media_type: text(f, "mediaType"),
            match_status: text(f, "matchStatus"),
            search: text(f, "search").map(|part| composed(&part).into_owned()),
            ..Filter::default()
        })
    }
}

/// Library whose items are counted; absent: all libraries.
pub struct IssuesQuery {
    pub library_id: Option<String>,
}

impl FromQuery for IssuesQuery {
    fn from_query(f: &mut Fields<'_>) -> Self {
        Self {
            library_id: text(f, "libraryId"),
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

/// Number of titles that begin with a letter.
#[derive(Serialize, ToSchema)]
#[schema(as = MediaLetter)]
pub struct LetterView {
    /// `#`, or `A` to `Z`.
    pub letter: String,
    pub count: i64,
}

/// Counts of faults of items.
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
