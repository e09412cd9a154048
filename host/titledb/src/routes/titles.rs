//! Routes of settings, status and titles.

use axum::extract::State;
use qm_web::{ApiResult, Body, By, Created, Json, Params, Path};

use super::{App, faults};
use crate::dto::answers::{FoundView, SettingsView, StatusView, TestView, TitleView};
use crate::dto::requests::{SearchQuery, SettingsPatch};
use crate::error::TitledbError;
use crate::service::search::Question;

/// Availability and source of titles, and the newest import.
#[utoipa::path(
    get, path = "/api/media/providers/titledb/status", tag = "titledb", responses((status = 200, body = StatusView))
)]
pub async fn show_titledb_status(State(app): App) -> ApiResult<Json<StatusView>> {
    Ok(Json(app.status().await?.into()))
}

/// The settings, without the key of the API.
#[utoipa::path(
    get, path = "/api/media/providers/titledb/settings", tag = "titledb", responses((status = 200, body = SettingsView))
)]
pub async fn show_titledb_settings(State(app): App) -> ApiResult<Json<SettingsView>> {
    Ok(Json(app.options().await?.into()))
}

/// Changes the settings. What is absent stays; an import that runs goes on with those of when it began.
#[utoipa::path(
    patch, path = "/api/media/providers/titledb/settings", tag = "titledb", request_body = Body<SettingsPatch>,
    responses((status = 200, body = SettingsView), faults::Change)
)]
pub async fn change_titledb_settings(
    State(app): App,
    By(requester): By,
    Body(patch): Body<SettingsPatch>,
) -> ApiResult<Json<SettingsView>> {
    Ok(Json(app.change(requester.caller(), patch.change).await?.into()))
}

/// Checks if the API is configured, and if titles are available. Nothing is sent anywhere.
#[utoipa::path(
    post, path = "/api/media/providers/titledb/test", tag = "titledb",
    responses((status = 201, body = TestView), faults::Test)
)]
pub async fn test_titledb(State(app): App, By(requester): By) -> ApiResult<Created<TestView>> {
    let (api_configured, available) = app.test(requester.caller()).await?;
    Ok(Created(TestView {
        api_configured,
        available,
    }))
}

/// Titles whose names hold a text, or are like it; the best first, 20 at most. A text of one or two letters is looked for as a
/// word.
#[utoipa::path(
    get, path = "/api/media/providers/titledb/search", tag = "titledb", params(Params::<SearchQuery>),
    responses((status = 200, body = Vec<FoundView>))
)]
pub async fn search_titles(
    State(app): App,
    Params(query): Params<SearchQuery>,
) -> ApiResult<Json<Vec<FoundView>>> {
    let question = Question {
        title: query.title,
        year: query.year,
        sort: query.sort,
    };
    let found = app.search(&question).await?;
    Ok(Json(found.into_iter().map(FoundView::from).collect()))
}

/// A title by its id.
#[utoipa::path(
    get, path = "/api/media/providers/titledb/title/{titledbId}", tag = "titledb",
    params(("titledbId" = String, Path, description = "`tt` and five to ten digits.")),
    responses((status = 200, body = TitleView), faults::OfTitle)
)]
pub async fn show_title(State(app): App, Path(id): Path<String>) -> ApiResult<Json<TitleView>> {
    let whole = app.whole(&id).await?.ok_or(TitledbError::NoSuchTitle)?;
    Ok(Json(whole.into()))
}
