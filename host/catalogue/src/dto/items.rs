//! Items, in requests and answers.

use qm_kernel::PageQuery;
use qm_media::dto::beside::{KnownNoteView, KnownSubtitleView};
use qm_media::dto::fields::{MAX_NUMBER, MAX_TEXT, keep_filled};
use qm_media::dto::items::{ExtraView, ItemView, SuggestionView};
use qm_media::dto::libraries::LibraryView;
use qm_media::model::item::{Filter, Issue, KnownAs, Sort};
use qm_media::model::series;
use qm_media::model::view::{Detail, Faults};
use qm_web::FromQuery;
use serde::Serialize;
use utoipa::ToSchema;

use super::fields::{IDS, Scope, Years, compose_filled, is_outside_id};

/// Word of the index for a resolution as people write it, unless it is blank.
fn read_resolution(text: &str) -> Option<String> {
    keep_filled(text).map(|text| match text.trim().to_lowercase().as_str() {
        "4k" | "uhd" => "2160p".to_owned(),
        other => other.to_owned(),
    })
}

fn trim_filled(text: &str) -> Option<String> {
    keep_filled(text.trim())
}

fn first_letter(text: &str) -> Option<char> {
    text.trim().chars().next()
}

/// Conditions that lists, counts by letter and tables have in common.
#[derive(FromQuery)]
pub struct Conditions {
    #[field(words(&Issue::WORDS, Issue::from_word))]
    issue: Option<Issue>,
    #[field(flatten)]
    years: Years,
    #[field(flatten)]
    scope: Scope,
    #[field(min = 0, max = MAX_NUMBER)]
    season: Option<i64>,
    #[field(max = MAX_TEXT, and_then = read_resolution)]
    resolution: Option<String>,
    #[field(max = MAX_TEXT, and_then = trim_filled)]
    genre: Option<String>,
    #[field(string, name = "externalId", max = MAX_TEXT, check(is_outside_id, IDS), and_then = KnownAs::parse)]
    external: Option<KnownAs>,
    identified: Option<bool>,
}

impl From<Conditions> for Filter {
    fn from(wanted: Conditions) -> Self {
        Self {
            issue: wanted.issue,
            year_from: wanted.years.first(),
            year_to: wanted.years.last(),
            season: wanted.season,
            resolution: wanted.resolution,
            genre: wanted.genre,
            external: wanted.external,
            identified: wanted.identified,
            ..wanted.scope.into()
        }
    }
}

/// Which items are wanted.
#[derive(FromQuery)]
pub struct ItemsQuery {
    #[field(page(60, 200))]
    pub page: PageQuery,
    #[field(string, one_of = &Sort::WORDS, map = Sort::from_word, default)]
    sort: Sort,
    /// The whole title.
    #[field(max = MAX_TEXT, and_then = compose_filled)]
    title: Option<String>,
    /// A part of the title.
    #[field(max = MAX_TEXT, and_then = compose_filled)]
    search: Option<String>,
    #[field(string, max = MAX_TEXT, and_then = first_letter)]
    starts_at: Option<char>,
    #[field(flatten)]
    conditions: Conditions,
}

impl From<ItemsQuery> for Filter {
    fn from(query: ItemsQuery) -> Self {
        let by_title = query.sort == Sort::Title && query.title.is_none() && query.search.is_none();
        let letter = query.starts_at.filter(char::is_ascii_alphabetic);
        Self {
            title: query.title,
            search: query.search,
            starts_at: letter.filter(|_| by_title),
            sort: query.sort,
            ..query.conditions.into()
        }
    }
}

/// Which items are counted, or are lines of a table.
#[derive(FromQuery)]
pub struct WantedQuery {
    /// A part of the title.
    #[field(max = MAX_TEXT, and_then = compose_filled)]
    search: Option<String>,
    #[field(flatten)]
    conditions: Conditions,
}

impl From<WantedQuery> for Filter {
    fn from(query: WantedQuery) -> Self {
        Self {
            search: query.search,
            ..query.conditions.into()
        }
    }
}

/// Library whose items are counted; absent: all libraries.
#[derive(FromQuery)]
pub struct IssuesQuery {
    #[field(max = MAX_TEXT, and_then = keep_filled)]
    pub library_id: Option<String>,
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
    /// By language, forced ones last: files beside it, and tracks in its files.
    pub subtitles: Vec<KnownSubtitleView>,
    /// Notes that were written beside it.
    pub nfo_files: Vec<KnownNoteView>,
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
            subtitles,
            notes,
            item,
            file,
            library,
        } = detail;
        let subtitles = subtitles
            .into_iter()
            .map(|subtitle| KnownSubtitleView::new(subtitle, &item.id, &library.path))
            .collect();
        let nfo_files = notes
            .into_iter()
            .map(|note| KnownNoteView::new(note, &item.id, &library.path))
            .collect();
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
            subtitles,
            nfo_files,
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
    /// Items without any picture.
    pub missing_artwork: i64,
    /// Items without any subtitles, beside them or in their files.
    pub missing_subtitles: i64,
    pub duplicate: i64,
}

impl From<Faults> for IssuesView {
    fn from(faults: Faults) -> Self {
        Self {
            unmatched: faults.unmatched,
            missing_artwork: faults.missing_artwork,
            missing_subtitles: faults.missing_subtitles,
            duplicate: faults.duplicate,
        }
    }
}
