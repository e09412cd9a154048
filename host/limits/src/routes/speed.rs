//! `/api/engines/{id}/speed`

use axum::extract::State;
use qm_web::{ApiResult, Body, By, Created, Json, Path};

use super::{App, ChooseMode, Engine, SetSpeed};
use crate::dto::speed::{EngineSpeedView, ModeBody, SpeedBody};

/// Shows the limits of speed of an engine, and which of them are in force.
#[utoipa::path(
    get, path = "/api/engines/{id}/speed", tag = "engines", params(("id" = String, Path)),
    responses((status = 200, body = EngineSpeedView), Engine)
)]
pub async fn show_speed(State(app): App, Path(id): Path<String>) -> ApiResult<Json<EngineSpeedView>> {
    Ok(Json(app.show_speed(&id).await?.into()))
}

/// Replaces the limits of speed of an engine and their time table; the chosen mode stays. From now on the server tells the client
/// its limits, also after the client lost them or somebody changed them there.
#[utoipa::path(
    put, path = "/api/engines/{id}/speed", tag = "engines", params(("id" = String, Path)), request_body = Body<SpeedBody>,
    responses((status = 200, body = EngineSpeedView), SetSpeed)
)]
pub async fn set_speed(
    State(app): App,
    By(by): By,
    Path(id): Path<String>,
    Body(body): Body<SpeedBody>,
) -> ApiResult<Json<EngineSpeedView>> {
    let view = app.set_speed(by.caller(), &id, body.into_input()).await?;
    Ok(Json(view.into()))
}

/// Forgets the limits of speed of an engine: the client keeps those it has, and is told nothing more.
#[utoipa::path(
    delete, path = "/api/engines/{id}/speed", tag = "engines", params(("id" = String, Path)),
    responses((status = 200, body = EngineSpeedView), SetSpeed)
)]
pub async fn clear_speed(
    State(app): App,
    By(by): By,
    Path(id): Path<String>,
) -> ApiResult<Json<EngineSpeedView>> {
    Ok(Json(app.clear_speed(by.caller(), &id).await?.into()))
}

/// Chooses the normal or the alternative limits, until somebody chooses again, or the time table (`auto`).
#[utoipa::path(
    post, path = "/api/engines/{id}/speed/mode", tag = "engines", params(("id" = String, Path)),
    request_body = Body<ModeBody>, responses((status = 201, body = EngineSpeedView), ChooseMode)
)]
pub async fn choose_mode(
    State(app): App,
    By(by): By,
    Path(id): Path<String>,
    Body(body): Body<ModeBody>,
) -> ApiResult<Created<EngineSpeedView>> {
    let view = app.choose_mode(by.caller(), &id, body.chosen()).await?;
    Ok(Created(view.into()))
}
