//! `/api/torrents/bulk`: one command for many torrents.

use axum::extract::State;
use qm_web::{ApiResult, Body, By, Created, Json, Params, Path};

use super::{App, faults};
use crate::dto::{BulkBody, BulkJobView, BulkQuery, BulkView, ReplaceHostBody};
use crate::error::CommandsError;
use crate::service::Answered;

/// Does one command to many torrents, of one engine or of several. One that fails stops no other. More than 200 torrents are done by a
/// job, which the answer names; the first seven commands with `hashes` of one engine are done before the answer, however many they are.
#[utoipa::path(
    post,
    path = "/api/torrents/bulk",
    tag = "torrents",
    request_body = Body<BulkBody>,
    responses((status = 201, body = BulkView), faults::Bulk)
)]
pub async fn bulk(State(app): App, By(by): By, Body(body): Body<BulkBody>) -> ApiResult<Created<BulkView>> {
    let library_items_removed = body.library_items_removed();
    let wish = body.wish()?;
    let is_full = !wish.waits;
    Ok(Created(match app.do_many(by.caller(), wish).await? {
        Answered::Done(outcome) => BulkView::done(outcome, is_full, library_items_removed),
        Answered::Begun(id, total) => BulkView::begun(id, total),
    }))
}

/// Shows a bulk job of the caller with the results of its torrents, which are kept for a while. `POST /api/jobs/{id}/cancel` ends it.
#[utoipa::path(
    get,
    path = "/api/torrents/bulk/{id}",
    tag = "torrents",
    params(("id" = String, Path), Params::<BulkQuery>),
    responses((status = 200, body = BulkJobView), faults::ShowBulk)
)]
pub async fn show_bulk(
    State(app): App,
    By(by): By,
    Path(id): Path<String>,
    Params(BulkQuery(page)): Params<BulkQuery>,
) -> ApiResult<Json<BulkJobView>> {
    let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let first = count(page.page.saturating_sub(1).saturating_mul(page.page_size));
    let standing = app.find_bulk(by.caller(), &id, first, count(page.page_size))?;
    Ok(Json(BulkJobView::new(id, standing, page)))
}

/// Replaces the trackers of a host in every torrent that has one. The answer is that of a bulk, about those torrents alone.
#[utoipa::path(
    post,
    path = "/api/torrents/trackers/replace-host",
    tag = "torrents",
    request_body = Body<ReplaceHostBody>,
    responses((status = 201, body = BulkView), faults::ReplaceHost)
)]
pub async fn replace_tracker_host(
    State(app): App,
    By(by): By,
    Body(body): Body<ReplaceHostBody>,
) -> ApiResult<Created<BulkView>> {
    let wish = body.wish().map_err(CommandsError::from)?;
    Ok(Created(match app.do_many(by.caller(), wish).await? {
        Answered::Done(outcome) => BulkView::done(outcome, true, None),
        Answered::Begun(id, total) => BulkView::begun(id, total),
    }))
}
