//! `/api/media/series`, and the shows that are found by them.

use axum::extract::State;
use qm_media::dto::shows::ShowView;
use qm_web::{ApiResult, Json, Params};

use super::{App, faults};
use crate::dto::series::{
    EpisodesQuery, EpisodesView, KeyQuery, SeriesHealthView, SeriesPage, SeriesQuery, SeriesView,
};

/// A page of series: episodes by the folder of their show, or by their title where no folder is one's.
#[utoipa::path(
    get, path = "/api/media/series", tag = "media", params(Params::<SeriesQuery>),
    responses((status = 200, body = SeriesPage))
)]
pub async fn list_series(State(app): App, Params(query): Params<SeriesQuery>) -> ApiResult<Json<SeriesPage>> {
    let page = query.page;
    let (series, total) = app.series(&query.into(), page).await?;
    Ok(Json(SeriesPage {
        items: series.into_iter().map(SeriesView::from).collect(),
        total,
        page: page.page,
        page_size: page.page_size,
    }))
}

/// The episodes of a series by their seasons. Of a series nobody has there are none.
#[utoipa::path(
    get, path = "/api/media/series/episodes", tag = "media", params(Params::<EpisodesQuery>),
    responses((status = 200, body = EpisodesView), faults::Series)
)]
pub async fn series_episodes(
    State(app): App,
    Params(query): Params<EpisodesQuery>,
) -> ApiResult<Json<EpisodesView>> {
    let (library, status) = (query.library_id.as_deref(), query.match_status.as_deref());
    let listed = app.series_episodes(&query.key, library, status).await?;
    let posters = app.series_season_posters(&query.key, &listed).await?;
    Ok(Json(EpisodesView::new(query.key, listed, &posters)))
}

/// Scores of the episodes of a series: the quality of their metadata and files, in points.
#[utoipa::path(
    get, path = "/api/media/series/health", tag = "media", params(Params::<KeyQuery>),
    responses((status = 200, body = SeriesHealthView), faults::Series)
)]
pub async fn series_health(
    State(app): App,
    Params(query): Params<KeyQuery>,
) -> ApiResult<Json<SeriesHealthView>> {
    let health = app.series_health(&query.key, query.library_id.as_deref()).await?;
    Ok(Json(health.into()))
}

/// The show of a series.
#[utoipa::path(
    get, path = "/api/media/shows/by-key", tag = "media", params(Params::<KeyQuery>),
    responses((status = 200, body = ShowView), faults::ShowKey)
)]
pub async fn show_by_key(State(app): App, Params(query): Params<KeyQuery>) -> ApiResult<Json<ShowView>> {
    let found = app.show_of_key(&query.key, query.library_id.as_deref()).await?;
    Ok(Json(found.into()))
}
