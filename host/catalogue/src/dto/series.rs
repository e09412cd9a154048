//! Series and shows, in requests and answers.

use std::collections::{BTreeMap, HashMap};

use qm_kernel::{PageQuery, Timestamp};
use qm_media::dto::beside::PictureView;
use qm_media::dto::fields::{MAX_TEXT, keep_filled};
use qm_media::dto::items::ItemView;
use qm_media::dto::shows::ShowView;
use qm_media::model::item::{Filter, Issue, KnownAs, Sort};
use qm_media::model::view::{Judged, Listed, Poster, SeriesHealth, ShownSeries};
use qm_web::FromQuery;
use serde::Serialize;
use utoipa::ToSchema;

use super::fields::{IDS, Scope, Years, compose_filled, is_outside_id};
use crate::model::score::{counted, mean, status};

/// Most characters of a key: the whole path of a folder, in base64.
const MAX_KEY: usize = 8192;

/// Which series are wanted.
#[derive(FromQuery)]
pub struct SeriesQuery {
    #[field(page(30, 200))]
    pub page: PageQuery,
    #[field(flatten)]
    scope: Scope,
    #[field(max = MAX_TEXT, and_then = compose_filled)]
    search: Option<String>,
    #[field(string, one_of = &Sort::WORDS, map = Sort::from_word, default)]
    sort: Sort,
}

impl From<SeriesQuery> for Filter {
    fn from(query: SeriesQuery) -> Self {
        Self {
            search: query.search,
            sort: query.sort,
            ..query.scope.into()
        }
    }
}

/// Shows that are wanted.
#[derive(FromQuery)]
pub struct ShowsQuery {
    #[field(page(60, 200))]
    pub page: PageQuery,
    #[field(words(&["suggested"], Issue::from_word))]
    issue: Option<Issue>,
    #[field(flatten)]
    years: Years,
    #[field(max = MAX_TEXT, and_then = keep_filled)]
    library_id: Option<String>,
    #[field(one_of = &["tv", "anime"])]
    media_type: Option<String>,
    #[field(max = MAX_TEXT, and_then = keep_filled)]
    search: Option<String>,
    #[field(string, name = "externalId", max = MAX_TEXT, check(is_outside_id, IDS), and_then = KnownAs::parse)]
    external: Option<KnownAs>,
    identified: Option<bool>,
    #[field(string, one_of = &Sort::WORDS, map = Sort::from_word, default)]
    sort: Sort,
}

impl From<ShowsQuery> for Filter {
    fn from(query: ShowsQuery) -> Self {
        Self {
            issue: query.issue,
            year_from: query.years.first(),
            year_to: query.years.last(),
            library_id: query.library_id,
            media_type: query.media_type,
            search: query.search,
            external: query.external,
            identified: query.identified,
            sort: query.sort,
            ..Self::default()
        }
    }
}

/// Which series is wanted, in a library or in all.
#[derive(FromQuery)]
pub struct EpisodesQuery {
    #[field(max = MAX_KEY)]
    pub key: String,
    #[field(max = MAX_TEXT, and_then = keep_filled)]
    pub match_status: Option<String>,
    #[field(max = MAX_TEXT, and_then = keep_filled)]
    pub library_id: Option<String>,
}

/// Which series is wanted, in a library or in all.
#[derive(FromQuery)]
pub struct KeyQuery {
    #[field(max = MAX_KEY)]
    pub key: String,
    #[field(max = MAX_TEXT, and_then = keep_filled)]
    pub library_id: Option<String>,
}

/// A series in a list.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MediaSeries)]
pub struct SeriesView {
    /// Names it in `/api/media/series/episodes`, `/api/media/series/health` and `/api/media/shows/by-key`.
    pub key: String,
    pub title: String,
    /// The smallest one of its episodes.
    pub year: Option<i64>,
    pub series_titledb_id: Option<String>,
    pub episode_count: i64,
    pub season_count: usize,
    /// When its newest episode was added.
    #[schema(value_type = String, format = DateTime)]
    pub last_added_at: Timestamp,
    /// That of its show; null: none is known.
    pub poster: Option<PictureView>,
}

impl From<ShownSeries> for SeriesView {
    fn from((series, poster): ShownSeries) -> Self {
        Self {
            key: series.key.text(),
            title: series.title,
            year: series.year,
            series_titledb_id: series.titledb_id,
            episode_count: series.episodes,
            season_count: series.seasons,
            last_added_at: series.added,
            poster: poster.map(|(poster, library)| PictureView::new(poster, &library)),
        }
    }
}

/// A page of series.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MediaSeriesPage)]
pub struct SeriesPage {
    pub items: Vec<SeriesView>,
    pub total: u64,
    pub page: u64,
    pub page_size: u64,
}

/// Counts of things that belong to an item.
#[derive(Serialize, ToSchema)]
#[schema(as = MediaEpisodeCount)]
pub struct CountView {
    pub subtitles: i64,
}

/// An episode of a series.
#[derive(Serialize, ToSchema)]
#[schema(as = MediaEpisode)]
pub struct EpisodeView {
    #[serde(flatten)]
    pub item: ItemView,
    #[serde(rename = "_count")]
    pub count: CountView,
}

/// A season of a series.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MediaSeriesSeason)]
pub struct SeasonEpisodesView {
    /// 0: specials, and what is of no season.
    pub season_number: i64,
    pub episode_count: usize,
    /// Its own, else that of its show, else that of one of its episodes; null: none is known.
    pub poster: Option<PictureView>,
    pub episodes: Vec<EpisodeView>,
}

/// The episodes of a series.
#[derive(Serialize, ToSchema)]
#[schema(as = MediaSeriesEpisodes)]
pub struct EpisodesView {
    pub key: String,
    /// Season 0 last.
    pub seasons: Vec<SeasonEpisodesView>,
}

impl EpisodesView {
    /// `listed`: in the order of their seasons. `posters`: those of seasons, by their numbers.
    pub fn new(key: String, listed: Vec<Listed>, posters: &HashMap<i64, Poster>) -> Self {
        let mut seasons: Vec<SeasonEpisodesView> = Vec::new();
        for listed in listed {
            let season_number = listed.0.season.unwrap_or(0);
            let count = CountView {
                subtitles: listed.0.subtitles,
            };
            let episode = EpisodeView {
                item: listed.into(),
                count,
            };
            match seasons.last_mut() {
                Some(last) if last.season_number == season_number => {
                    last.episode_count += 1;
                    last.episodes.push(episode);
                }
                _ => seasons.push(SeasonEpisodesView {
                    season_number,
                    episode_count: 1,
                    poster: posters
                        .get(&season_number)
                        .map(|(poster, library)| PictureView::new(poster.clone(), library)),
                    episodes: vec![episode],
                }),
            }
        }
        Self { key, seasons }
    }
}

/// Score of an episode.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MediaEpisodeHealth)]
pub struct EpisodeHealthView {
    pub item_id: String,
    pub season: Option<i64>,
    pub episode: Option<i64>,
    /// 0 to 100.
    pub score: i64,
    /// `healthy`, `attention` or `problem`
    pub status: &'static str,
    /// Reasons for which points were lost.
    #[schema(value_type = Vec<String>)]
    pub reasons: Vec<&'static str>,
}

impl From<Judged> for EpisodeHealthView {
    fn from(judged: Judged) -> Self {
        Self {
            item_id: judged.item_id,
            season: judged.season,
            episode: judged.episode,
            score: judged.score,
            status: status(Some(judged.score)),
            reasons: judged.reasons,
        }
    }
}

/// Scores of the episodes of a season.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MediaSeasonHealth)]
pub struct SeasonHealthView {
    /// 0: specials, and what is of no season.
    pub season_number: i64,
    pub episodes: usize,
    /// The mean of its episodes, rounded.
    pub score: i64,
    /// `healthy`, `attention` or `problem`
    pub status: &'static str,
    /// Number of episodes that lost points, by reason.
    #[schema(value_type = BTreeMap<String, usize>)]
    pub reason_counts: BTreeMap<&'static str, usize>,
}

/// Totals of a series.
#[derive(Serialize, ToSchema)]
#[schema(as = MediaSeriesTotals)]
pub struct TotalsView {
    pub episodes: usize,
    pub seasons: usize,
    /// A decimal text.
    pub bytes: String,
}

/// Scores of the episodes of a series.
#[derive(Serialize, ToSchema)]
#[schema(as = MediaSeriesHealth)]
pub struct SeriesHealthView {
    /// The mean of its episodes, rounded; 0 where there are none.
    pub score: i64,
    /// `healthy`, `attention`, `problem`, or `unknown` where there are no episodes
    pub status: &'static str,
    /// Season 0 last.
    pub seasons: Vec<SeasonHealthView>,
    pub episodes: Vec<EpisodeHealthView>,
    pub totals: TotalsView,
}

impl From<SeriesHealth> for SeriesHealthView {
    fn from(health: SeriesHealth) -> Self {
        let number = |judged: &Judged| judged.season.unwrap_or(0);
        let scores = |judged: &[Judged]| mean(&judged.iter().map(|one| one.score).collect::<Vec<_>>());
        let seasons: Vec<SeasonHealthView> = health
            .episodes
            .chunk_by(|a, b| number(a) == number(b))
            .map(|season| {
                let score = scores(season);
                SeasonHealthView {
                    season_number: season.first().map_or(0, number),
                    episodes: season.len(),
                    score: score.unwrap_or(0),
                    status: status(score),
                    reason_counts: counted(season.iter().flat_map(|one| &one.reasons)),
                }
            })
            .collect();
        let score = scores(&health.episodes);
        Self {
            score: score.unwrap_or(0),
            status: status(score),
            totals: TotalsView {
                episodes: health.episodes.len(),
                seasons: seasons.len(),
                bytes: health.bytes.to_string(),
            },
            seasons,
            episodes: health.episodes.into_iter().map(EpisodeHealthView::from).collect(),
        }
    }
}

/// A page of shows.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MediaShowPage)]
pub struct ShowPage {
    pub items: Vec<ShowView>,
    pub total: u64,
    pub page: u64,
    pub page_size: u64,
}
