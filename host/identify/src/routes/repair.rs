//! `/api/media/repair`

use axum::extract::State;
use qm_web::{ApiResult, By, Created, Json};

use super::{App, faults};
use crate::dto::repair::{RepairPreviewView, RepairedView};

/// Films that share an id though they lie in folders of their own, and what a repair would do about them. Providers are asked;
/// nothing is changed.
#[utoipa::path(
    get, path = "/api/media/repair/movie-identity/preview", tag = "media",
    responses((status = 200, body = RepairPreviewView), faults::RepairPreview)
)]
pub async fn preview_movie_identity(State(app): App) -> ApiResult<Json<RepairPreviewView>> {
    Ok(Json(app.preview_repair().await?.into()))
}

/// Gives films the ids of what their folders name; ids that no film could be found for go. Answers when all is done; a job goes on with it when
/// nobody waits any more, as long as who asked for it may. What nobody could be asked about stays.
#[utoipa::path(
    post, path = "/api/media/repair/movie-identity/apply", tag = "media",
    responses((status = 201, body = RepairedView), faults::Repair)
)]
pub async fn apply_movie_identity(State(app): App, By(requester): By) -> ApiResult<Created<RepairedView>> {
    Ok(Created(app.apply_repair(requester.caller()).await?.into()))
}
