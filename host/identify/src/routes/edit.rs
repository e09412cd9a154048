//! `/api/media/items/{id}`: decisions of people about an item.

use axum::extract::State;
use qm_media::dto::items::RowView;
use qm_web::{ApiResult, Body, By, Created, Json, Path};

use super::{App, faults};
use crate::dto::items::{ItemInput, MatchInput};

/// Changes what an item is called and counted as. A locked one is left alone.
#[utoipa::path(
    patch, path = "/api/media/items/{id}", tag = "media", params(("id" = String, Path)),
    request_body = Body<ItemInput>, responses((status = 200, body = RowView), faults::Edit)
)]
pub async fn update_item(
    State(app): App,
    By(requester): By,
    Path(id): Path<String>,
    Body(input): Body<ItemInput>,
) -> ApiResult<Json<RowView>> {
    Ok(Json(
        app.edit_item(requester.caller(), &id, input.into()).await?.into(),
    ))
}

/// Says what an item is: it counts as matched by hand, and no scan says otherwise. With nothing said its name and folders are read again.
#[utoipa::path(
    post, path = "/api/media/items/{id}/match", tag = "media", params(("id" = String, Path)),
    request_body = Body<MatchInput>, responses((status = 201, body = RowView), faults::Edit)
)]
pub async fn match_item(
    State(app): App,
    By(requester): By,
    Path(id): Path<String>,
    Body(input): Body<MatchInput>,
) -> ApiResult<Created<RowView>> {
    let item = app.match_item(requester.caller(), &id, input.into()).await?;
    Ok(Created(item.into()))
}

/// Says that nobody knows what an item is. What is known of it stays.
#[utoipa::path(
    post, path = "/api/media/items/{id}/unmatch", tag = "media", params(("id" = String, Path)),
    responses((status = 201, body = RowView), faults::Edit)
)]
pub async fn unmatch_item(
    State(app): App,
    By(requester): By,
    Path(id): Path<String>,
) -> ApiResult<Created<RowView>> {
    Ok(Created(app.unmatch_item(requester.caller(), &id).await?.into()))
}

/// Keeps an item as it is: scans and matches leave it alone.
#[utoipa::path(
    post, path = "/api/media/items/{id}/lock", tag = "media", params(("id" = String, Path)),
    responses((status = 201, body = RowView), faults::Lock)
)]
pub async fn lock_item(
    State(app): App,
    By(requester): By,
    Path(id): Path<String>,
) -> ApiResult<Created<RowView>> {
    Ok(Created(
        app.lock_item(requester.caller(), &id, true).await?.into(),
    ))
}

/// Lets an item be changed again.
#[utoipa::path(
    post, path = "/api/media/items/{id}/unlock", tag = "media", params(("id" = String, Path)),
    responses((status = 201, body = RowView), faults::Lock)
)]
pub async fn unlock_item(
    State(app): App,
    By(requester): By,
    Path(id): Path<String>,
) -> ApiResult<Created<RowView>> {
    Ok(Created(
        app.lock_item(requester.caller(), &id, false).await?.into(),
    ))
}
