//! `/api/dashboard` and `/api/search`

use axum::extract::State;
use qm_web::{ApiResult, Json, Params};

use super::{App, faults};
use crate::dto::dashboard::{
    ActivityView, FoundTorrent, FoundView, SearchParams, SummaryParams, SummaryView,
};

/// Counts torrents and what they have moved. Without an engine everything is 0.
#[utoipa::path(
    get,
    path = "/api/dashboard/summary",
    tag = "dashboard",
    params(("engineId" = Option<String>, Query, description = "Absent or `all`: every engine."), Params::<SummaryParams>),
    responses((status = 200, body = SummaryView), faults::Chosen)
)]
pub async fn dashboard_summary(
    State(app): App,
    Params(params): Params<SummaryParams>,
) -> ApiResult<Json<SummaryView>> {
    Ok(Json(app.summary(&params.engines).await?))
}

/// Recent events, newest first; like events are one item. At most 15.
#[utoipa::path(
    get,
    path = "/api/dashboard/activity",
    tag = "dashboard",
    responses((status = 200, body = Vec<ActivityView>))
)]
pub async fn dashboard_activity(State(app): App) -> ApiResult<Json<Vec<ActivityView>>> {
    let lines = app.activity().await?;
    Ok(Json(lines.into_iter().map(ActivityView::from).collect()))
}

/// Finds torrents of all engines, those first seen last first.
#[utoipa::path(
    get,
    path = "/api/search",
    tag = "dashboard",
    params(
        ("q" = Option<String>, Query, description = "Part of the name, label, save path or hash, in any case."),
        ("limit" = Option<u64>, Query, description = "At most 200, default 50."),
        Params::<SearchParams>,
    ),
    responses((status = 200, body = FoundView))
)]
pub async fn search_torrents(
    State(app): App,
    Params(params): Params<SearchParams>,
) -> ApiResult<Json<FoundView>> {
    let rows = app.search(&params.text, params.limit).await?;
    let items = rows.into_iter().map(FoundTorrent::from).collect();
    Ok(Json(FoundView { items }))
}
