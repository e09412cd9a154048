//! Subtitles of items.

use axum::extract::State;
use qm_web::{ApiResult, By, Created, Json, Params, Path};

use super::{App, faults};
use crate::dto::{MissingSubtitlesView, PreferredQuery, ScanView, SubtitleView};

/// Lists the subtitles of an item by language, forced ones last: files beside its videos and tracks in them, as the last looks
/// found them.
#[utoipa::path(
    get, path = "/api/media/items/{id}/subtitles", tag = "media", params(("id" = String, Path)),
    responses((status = 200, body = Vec<SubtitleView>), faults::ItemList)
)]
pub async fn list_subtitles(State(app): App, Path(id): Path<String>) -> ApiResult<Json<Vec<SubtitleView>>> {
    let all = app.list_all_subtitles(&id).await?;
    let views = all
        .into_iter()
        .map(|(one, path)| SubtitleView::new(one.subtitle, one.source, path));
    Ok(Json(views.collect()))
}

/// Looks for subtitles in the directories of an item's files.
#[utoipa::path(
    post, path = "/api/media/items/{id}/subtitles/scan", tag = "media", params(("id" = String, Path)),
    responses((status = 201, body = ScanView), faults::Scan)
)]
pub async fn scan_subtitles(
    State(app): App,
    By(requester): By,
    Path(id): Path<String>,
) -> ApiResult<Created<ScanView>> {
    let (found, created) = app.scan_subtitles(requester.caller(), &id).await?;
    Ok(Created(ScanView {
        item_id: id,
        found,
        created,
    }))
}

/// Lists the languages of an item's subtitles, and wanted ones that it lacks.
#[utoipa::path(
    get, path = "/api/media/items/{id}/subtitles/missing", tag = "media",
    params(("id" = String, Path), Params::<PreferredQuery>),
    responses((status = 200, body = MissingSubtitlesView), faults::ItemList)
)]
pub async fn list_missing_subtitles(
    State(app): App,
    Path(id): Path<String>,
    Params(query): Params<PreferredQuery>,
) -> ApiResult<Json<MissingSubtitlesView>> {
    let all = app.list_all_subtitles(&id).await?;
    let mut present: Vec<String> = all
        .into_iter()
        .map(|(one, _)| one.subtitle.tag.language)
        .collect();
    present.dedup();
    let mut missing = query.list();
    missing.retain(|language| !present.contains(language));
    Ok(Json(MissingSubtitlesView {
        item_id: id,
        has_any: !present.is_empty(),
        present,
        missing,
    }))
}
