//! `/api/media/shows/{id}`: what is said of a show and its seasons.

use axum::extract::State;
use qm_web::{ApiResult, Auth, Body, Client, Created, Json, Params, Path};

use super::{App, faults};
use crate::dto::answers::ExtraView;
use crate::dto::series::{ShowPage, ShowView, ShowsQuery};
use crate::dto::shows::{
    IdentityInput, IdentityView, RefreshedView, SeasonDetailView, SeasonInput, SeasonView, ShowDetailView,
    ShowMetadataInput, ShowMetadataView,
};
use crate::service::Caller;

/// A page of shows. A search looks for a part of the title, in any case and without marks of letters.
#[utoipa::path(
    get, path = "/api/media/shows", tag = "media", params(Params::<ShowsQuery>),
    responses((status = 200, body = ShowPage))
)]
pub async fn list_shows(
    State(app): App,
    Params(ShowsQuery { filter, page }): Params<ShowsQuery>,
) -> ApiResult<Json<ShowPage>> {
    let (shows, total) = app.shows(&filter, page).await?;
    Ok(Json(ShowPage {
        items: shows.into_iter().map(ShowView::from).collect(),
        total,
        page: page.page,
        page_size: page.page_size,
    }))
}

/// A show with all that is known of it.
#[utoipa::path(
    get, path = "/api/media/shows/{id}", tag = "media", params(("id" = String, Path)),
    responses((status = 200, body = ShowDetailView), faults::Show)
)]
pub async fn get_show(State(app): App, Path(id): Path<String>) -> ApiResult<Json<ShowDetailView>> {
    let (show, path) = app.show(&id).await?;
    let details = app.show_details(&id).await?;
    let extras = app.show_extras(&show).await?.into_iter();
    let extras: Vec<ExtraView> = extras.map(|extra| ExtraView::new(extra, &path)).collect();
    let seasons = details.seasons.into_iter();
    let seasons = seasons
        .map(|season| SeasonDetailView::new(season, &extras))
        .collect();
    Ok(Json(ShowDetailView {
        show: (show, path).into(),
        metadata: details.metadata.map(ShowMetadataView::from),
        seasons,
        extras,
        artwork: Vec::new(),
        suggestions: details.suggestions.into_iter().map(Into::into).collect(),
    }))
}

/// Asks a provider of metadata what is to be said of a show: by its `providerAId`, else by its other ids, else by title and year, which must
/// be the same: what is only like them is suggested. What people said of it stays. Nothing is stored where the provider tells of another show than its `titledbId` names.
#[utoipa::path(
    post, path = "/api/media/shows/{id}/metadata/refresh", tag = "media", params(("id" = String, Path)),
    responses((status = 201, body = RefreshedView), faults::RefreshShow)
)]
pub async fn refresh_show_metadata(
    State(app): App,
    Auth(principal): Auth,
    Client(client): Client,
    Path(id): Path<String>,
) -> ApiResult<Created<RefreshedView>> {
    let caller = Caller {
        principal: &principal,
        client: &client,
    };
    let refreshed = app.refresh_show(caller, &id).await?;
    Ok(Created(RefreshedView::of(id, refreshed)))
}

/// Says which show a folder holds. All items below it are of that series then.
#[utoipa::path(
    patch, path = "/api/media/shows/{id}/identity", tag = "media", params(("id" = String, Path)),
    request_body = Body<IdentityInput>, responses((status = 200, body = IdentityView), faults::EditShow)
)]
pub async fn update_show_identity(
    State(app): App,
    Auth(principal): Auth,
    Client(client): Client,
    Path(id): Path<String>,
    Body(input): Body<IdentityInput>,
) -> ApiResult<Json<IdentityView>> {
    let caller = Caller {
        principal: &principal,
        client: &client,
    };
    let (show, path, episodes_updated) = app.identify_show(caller, &id, input.into()).await?;
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
    Auth(principal): Auth,
    Client(client): Client,
    Path(id): Path<String>,
    Body(input): Body<ShowMetadataInput>,
) -> ApiResult<Json<ShowMetadataView>> {
    let caller = Caller {
        principal: &principal,
        client: &client,
    };
    Ok(Json(app.describe_show(caller, &id, input.into()).await?.into()))
}

/// Says something of a season, also of one without episodes. Specials are season 0.
#[utoipa::path(
    patch, path = "/api/media/shows/{id}/seasons/{seasonNumber}", tag = "media",
    params(("id" = String, Path), ("seasonNumber" = String, Path)),
    request_body = Body<SeasonInput>, responses((status = 200, body = SeasonView), faults::EditSeason)
)]
pub async fn update_season(
    State(app): App,
    Auth(principal): Auth,
    Client(client): Client,
    Path((id, number)): Path<(String, String)>,
    Body(input): Body<SeasonInput>,
) -> ApiResult<Json<SeasonView>> {
    let caller = Caller {
        principal: &principal,
        client: &client,
    };
    let season = app.describe_season(caller, &id, &number, input.into()).await?;
    Ok(Json(season.into()))
}
