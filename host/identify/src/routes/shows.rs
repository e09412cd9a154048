//! `/api/media/shows/{id}`: metadata of a show and its seasons.

use axum::extract::State;
use qm_media::dto::shows::{SeasonView, ShowMetadataView};
use qm_web::{ApiResult, Body, By, Created, Json, Path};

use super::{App, faults};
use crate::dto::shows::{IdentityInput, IdentityView, RefreshedView, SeasonInput, ShowMetadataInput};

/// Asks a provider of metadata what is to be said of a show: by its `providerAId`, else by its other ids, else by title and year, which must
/// be the same: what is only like them is suggested. What people said of it stays. Nothing is stored where the provider tells of another show than its `titledbId` names.
#[utoipa::path(
    post, path = "/api/media/shows/{id}/metadata/refresh", tag = "media", params(("id" = String, Path)),
    responses((status = 201, body = RefreshedView), faults::RefreshShow)
)]
pub async fn refresh_show_metadata(
    State(app): App,
    By(requester): By,
    Path(id): Path<String>,
) -> ApiResult<Created<RefreshedView>> {
    let refreshed = app.refresh_show(requester.caller(), &id).await?;
    Ok(Created(RefreshedView::new(id, refreshed)))
}

/// Says which show a folder holds. All items below it are of that series then.
#[utoipa::path(
    patch, path = "/api/media/shows/{id}/identity", tag = "media", params(("id" = String, Path)),
    request_body = Body<IdentityInput>, responses((status = 200, body = IdentityView), faults::EditShow)
)]
pub async fn update_show_identity(
    State(app): App,
    By(requester): By,
    Path(id): Path<String>,
    Body(input): Body<IdentityInput>,
) -> ApiResult<Json<IdentityView>> {
    let (show, path, episodes_updated) = app.identify_show(requester.caller(), &id, input.into()).await?;
    Ok(Json(IdentityView {
        show: (show, path).into(),
        episodes_updated,
    }))
}

/// Says something of a show.
#[utoipa::path(
    patch, path = "/api/media/shows/{id}/metadata", tag = "media", params(("id" = String, Path)),
    request_body = Body<ShowMetadataInput>, responses((status = 200, body = ShowMetadataView), faults::EditShow)
)]
pub async fn update_show_metadata(
    State(app): App,
    By(requester): By,
    Path(id): Path<String>,
    Body(input): Body<ShowMetadataInput>,
) -> ApiResult<Json<ShowMetadataView>> {
    Ok(Json(
        app.describe_show(requester.caller(), &id, input.into())
            .await?
            .into(),
    ))
}

/// Says something of a season, also of one without episodes. Specials are season 0.
#[utoipa::path(
    patch, path = "/api/media/shows/{id}/seasons/{seasonNumber}", tag = "media",
    params(("id" = String, Path), ("seasonNumber" = String, Path)),
    request_body = Body<SeasonInput>, responses((status = 200, body = SeasonView), faults::EditSeason)
)]
pub async fn update_season(
    State(app): App,
    By(requester): By,
    Path((id, number)): Path<(String, String)>,
    Body(input): Body<SeasonInput>,
) -> ApiResult<Json<SeasonView>> {
    let season = app
        .describe_season(requester.caller(), &id, &number, input.into())
        .await?;
    Ok(Json(season.into()))
}
