//! `/api/media/libraries`, and how they are all together.

use axum::extract::State;
use qm_media::dto::libraries::LibraryView;
use qm_web::{ApiResult, Body, By, Created, Json, Path};

use super::{App, faults};
use crate::dto::answers::ConsistencyView;
use crate::dto::answers::{
    CountedLibraryView, DashboardView, HealthView, JobView, ScannedLibraryView, WatchView,
};
use crate::dto::requests::LibraryInput;

/// Health of the libraries, and the number of items in each.
#[utoipa::path(
    get, path = "/api/media/dashboard", tag = "media", responses((status = 200, body = DashboardView))
)]
pub async fn media_dashboard(State(app): App) -> ApiResult<Json<DashboardView>> {
    let health = app.health().await?.into();
    let libraries = app.counted().await?.into_iter().map(CountedLibraryView::from);
    Ok(Json(DashboardView {
        health,
        libraries: libraries.collect(),
    }))
}

/// Health of all libraries together, in numbers.
#[utoipa::path(get, path = "/api/media/health", tag = "media", responses((status = 200, body = HealthView)))]
pub async fn media_health(State(app): App) -> ApiResult<Json<HealthView>> {
    Ok(Json(app.health().await?.into()))
}

/// Every library, the oldest first.
#[utoipa::path(
    get, path = "/api/media/libraries", tag = "media", responses((status = 200, body = Vec<LibraryView>))
)]
pub async fn list_libraries(State(app): App) -> ApiResult<Json<Vec<LibraryView>>> {
    Ok(Json(
        app.list().await?.into_iter().map(LibraryView::from).collect(),
    ))
}

/// State of the watch on each library that was watched since the server started, the oldest first.
#[utoipa::path(
    get, path = "/api/media/libraries/watch-status", tag = "media", responses((status = 200, body = Vec<WatchView>))
)]
pub async fn watch_status(State(app): App) -> ApiResult<Json<Vec<WatchView>>> {
    Ok(Json(
        app.watch_status()
            .await?
            .into_iter()
            .map(WatchView::from)
            .collect(),
    ))
}

/// A library.
#[utoipa::path(
    get, path = "/api/media/libraries/{id}", tag = "media", params(("id" = String, Path)),
    responses((status = 200, body = LibraryView), faults::Library)
)]
pub async fn get_library(State(app): App, Path(id): Path<String>) -> ApiResult<Json<LibraryView>> {
    Ok(Json(app.library(&id).await?.into()))
}

/// Makes a library, and scans it.
#[utoipa::path(
    post, path = "/api/media/libraries", tag = "media", request_body = Body<LibraryInput>,
    responses((status = 201, body = ScannedLibraryView), faults::Create)
)]
pub async fn create_library(
    State(app): App,
    By(requester): By,
    Body(input): Body<LibraryInput>,
) -> ApiResult<Created<ScannedLibraryView>> {
    let (change, mode) = input.into_change();
    let asked = app.create(requester.caller(), change, mode).await?;
    Ok(Created(asked.into()))
}

/// Changes a library, and scans it.
#[utoipa::path(
    patch, path = "/api/media/libraries/{id}", tag = "media", params(("id" = String, Path)),
    request_body = Body<LibraryInput>, responses((status = 200, body = ScannedLibraryView), faults::Update)
)]
pub async fn update_library(
    State(app): App,
    By(requester): By,
    Path(id): Path<String>,
    Body(input): Body<LibraryInput>,
) -> ApiResult<Json<ScannedLibraryView>> {
    let (change, mode) = input.into_change();
    let asked = app.update(requester.caller(), &id, change, mode).await?;
    Ok(Json(asked.into()))
}

/// Deletes a library with what is known of it. Files stay on the disk.
#[utoipa::path(
    delete, path = "/api/media/libraries/{id}", tag = "media", params(("id" = String, Path)),
    responses((status = 200, body = LibraryView), faults::Delete)
)]
pub async fn delete_library(
    State(app): App,
    By(requester): By,
    Path(id): Path<String>,
) -> ApiResult<Json<LibraryView>> {
    Ok(Json(app.delete(requester.caller(), &id).await?.into()))
}

/// Asks for a scan that looks at every file of a library, identifies what is not matched yet, and has providers of metadata tell of what they
/// have not told of.
#[utoipa::path(
    post, path = "/api/media/libraries/{id}/scan", tag = "media", params(("id" = String, Path)),
    responses((status = 201, body = JobView), faults::Scan)
)]
pub async fn scan_library(
    State(app): App,
    By(requester): By,
    Path(id): Path<String>,
) -> ApiResult<Created<JobView>> {
    let job_id = app.scan(requester.caller(), &id).await?;
    Ok(Created(JobView { job_id }))
}

/// Looks on the disk for every file that is known of a library. Nothing is changed.
#[utoipa::path(
    get, path = "/api/media/libraries/{id}/consistency", tag = "media", params(("id" = String, Path)),
    responses((status = 200, body = ConsistencyView))
)]
pub async fn library_consistency(
    State(app): App,
    Path(id): Path<String>,
) -> ApiResult<Json<ConsistencyView>> {
    let report = app.consistency(&id).await?;
    Ok(Json((id, report).into()))
}
