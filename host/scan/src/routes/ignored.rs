//! `/api/media/ignored`: files and folders that scans pass over.

use axum::extract::State;
use qm_web::{ApiResult, Body, By, Created, Json, Params, Path};

use super::{App, faults};
use crate::dto::ignored::{IgnoredInput, IgnoredPage, IgnoredQuery, IgnoredView};

/// A page of what scans pass over, the oldest first: items that were forgotten, and what was named here.
#[utoipa::path(
    get, path = "/api/media/ignored", tag = "media", params(Params::<IgnoredQuery>),
    responses((status = 200, body = IgnoredPage))
)]
pub async fn list_ignored(
    State(app): App,
    Params(IgnoredQuery { library_id, page }): Params<IgnoredQuery>,
) -> ApiResult<Json<IgnoredPage>> {
    let (items, total) = app.ignored(library_id.as_deref(), page).await?;
    Ok(Json(IgnoredPage {
        items: items.into_iter().map(IgnoredView::from).collect(),
        total,
        page: page.page,
        page_size: page.page_size,
    }))
}

/// Has a file, or a folder with all that lies below it, passed over by scans. Its items are forgotten within seconds, its files stay.
#[utoipa::path(
    post, path = "/api/media/ignored", tag = "media", request_body = Body<IgnoredInput>,
    responses((status = 201, body = IgnoredView), faults::Ignore)
)]
pub async fn ignore_path(
    State(app): App,
    By(requester): By,
    Body(input): Body<IgnoredInput>,
) -> ApiResult<Created<IgnoredView>> {
    let ignored = app
        .ignore(requester.caller(), &input.library_id, &input.path)
        .await?;
    Ok(Created(ignored.into()))
}

/// Has scans find something again; one looks for it within seconds.
#[utoipa::path(
    delete, path = "/api/media/ignored/{id}", tag = "media", params(("id" = String, Path)),
    responses((status = 200, body = IgnoredView), faults::Heed)
)]
pub async fn heed_path(
    State(app): App,
    By(requester): By,
    Path(id): Path<String>,
) -> ApiResult<Json<IgnoredView>> {
    Ok(Json(app.heed(requester.caller(), &id).await?.into()))
}
