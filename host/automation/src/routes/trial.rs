//! Preview and explanation of rules.

use axum::extract::State;
use qm_web::{ApiResult, Body, By, Created, Json, Params, Path};

use super::{App, faults};
use crate::dto::answers::{ExplanationView, PreviewView};
use crate::dto::requests::{ExplainQuery, NewRule};

/// Which torrents match a rule now, for which it would run, and what would run. Nothing is stored and nothing runs.
#[utoipa::path(
    post, path = "/api/automation/rules/preview", tag = "automation", request_body = Body<NewRule>,
    responses((status = 201, body = PreviewView), faults::Preview)
)]
pub async fn preview_rule(
    State(app): App,
    By(requester): By,
    Body(new): Body<NewRule>,
) -> ApiResult<Created<PreviewView>> {
    Ok(Created(app.preview(requester.caller(), new.into()).await?.into()))
}

/// Each condition of a rule with the value that it sees of a torrent, what that is compared as, and how it comes out.
#[utoipa::path(
    get, path = "/api/automation/rules/{id}/explain", tag = "automation",
    params(("id" = String, Path), Params::<ExplainQuery>),
    responses((status = 200, body = ExplanationView), faults::Explain)
)]
pub async fn explain_rule(
    State(app): App,
    Path(id): Path<String>,
    Params(query): Params<ExplainQuery>,
) -> ApiResult<Json<ExplanationView>> {
    let explained = app.explain(&id, &query.hash, query.engine_id.as_deref()).await?;
    Ok(Json(explained.into()))
}
