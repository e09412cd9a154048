//! `/api/media/items/{id}/metadata`: metadata of an item.

use axum::extract::State;
use qm_media::dto::items::MetadataView;
use qm_web::{ApiResult, Body, By, Created, Json, Path};

use super::{App, faults};
use crate::dto::metadata::MetadataInput;

/// Asks providers of metadata what an item is about, locked or not. What people said of it stays; when nobody answers, so does the rest.
#[utoipa::path(
    post, path = "/api/media/items/{id}/metadata/fetch", tag = "media", params(("id" = String, Path)),
    responses((status = 201, body = MetadataView), faults::Fetch)
)]
pub async fn fetch_item_metadata(
    State(app): App,
    By(requester): By,
    Path(id): Path<String>,
) -> ApiResult<Created<MetadataView>> {
    Ok(Created(app.fetch_metadata(requester.caller(), &id).await?.into()))
}

/// Says something of an item, locked or not. No provider says otherwise from then on.
#[utoipa::path(
    patch, path = "/api/media/items/{id}/metadata", tag = "media", params(("id" = String, Path)),
    request_body = Body<MetadataInput>, responses((status = 200, body = MetadataView), faults::Describe)
)]
pub async fn update_item_metadata(
    State(app): App,
    By(requester): By,
    Path(id): Path<String>,
    Body(input): Body<MetadataInput>,
) -> ApiResult<Json<MetadataView>> {
    Ok(Json(
        app.describe_item(requester.caller(), &id, input.into())
            .await?
            .into(),
    ))
}
