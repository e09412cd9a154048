//! Routes of the data set: validate, import, stop, update, reset.

use axum::extract::State;
use qm_web::{ApiResult, Body, By, Created, Json};

use super::{App, faults};
use crate::dto::answers::{ImportView, ReportView, ResetView, StartedView};
use crate::dto::requests::{ImportRequest, ResetRequest, ValidateRequest};

/// Looks at the files of a directory: which are there, and whether they begin as they should. Nothing is imported.
#[utoipa::path(
    post, path = "/api/media/providers/titledb/dataset/validate", tag = "titledb",
    request_body = Body<ValidateRequest>, responses((status = 201, body = ReportView), faults::Validate)
)]
pub async fn validate_dataset(
    State(app): App,
    By(requester): By,
    Body(request): Body<ValidateRequest>,
) -> ApiResult<Created<ReportView>> {
    let report = app
        .validate(requester.caller(), request.dataset_path.as_deref())
        .await?;
    Ok(Created(report.into()))
}

/// Imports the files of a directory, as a job. What was imported before is used until all is in. One that is active is answered
/// instead; one that was stopped, or that failed, is gone on with while files and settings are the same.
#[utoipa::path(
    post, path = "/api/media/providers/titledb/dataset/import", tag = "titledb", request_body = Body<ImportRequest>,
    responses((status = 201, body = ImportView), faults::Import)
)]
pub async fn import_dataset(
    State(app): App,
    By(requester): By,
    Body(request): Body<ImportRequest>,
) -> ApiResult<Created<ImportView>> {
    let import = app.import(requester.caller(), &request.dataset_path).await?;
    Ok(Created(import.into()))
}

/// Asks the active import to end, which it does within a moment. What it has loaded is kept for the next one.
#[utoipa::path(
    post, path = "/api/media/providers/titledb/dataset/import/stop", tag = "titledb",
    responses((status = 201, body = ImportView), faults::Stop)
)]
pub async fn stop_import(State(app): App, By(requester): By) -> ApiResult<Created<ImportView>> {
    Ok(Created(app.stop(requester.caller()).await?.into()))
}

/// Downloads what is newer than what is there, and imports it, as a job.
#[utoipa::path(
    post, path = "/api/media/providers/titledb/dataset/update-now", tag = "titledb",
    responses((status = 201, body = StartedView), faults::Update)
)]
pub async fn update_dataset(State(app): App, By(requester): By) -> ApiResult<Created<StartedView>> {
    Ok(Created(StartedView::new(
        app.update(Some(requester.caller())).await?,
    )))
}

/// Removes what was imported; the history of imports stays.
#[utoipa::path(
    post, path = "/api/media/providers/titledb/dataset/reset", tag = "titledb", request_body = Body<ResetRequest>,
    responses((status = 201, body = ResetView), faults::Reset)
)]
pub async fn reset_dataset(
    State(app): App,
    By(requester): By,
    Body(request): Body<ResetRequest>,
) -> ApiResult<Created<ResetView>> {
    let cleared = app
        .reset(requester.caller(), request.reimport.unwrap_or(false))
        .await?;
    Ok(Created(cleared.into()))
}

/// The newest imports, the newest first; 50 at most.
#[utoipa::path(
    get, path = "/api/media/providers/titledb/dataset/imports", tag = "titledb",
    responses((status = 200, body = Vec<ImportView>))
)]
pub async fn list_imports(State(app): App) -> ApiResult<Json<Vec<ImportView>>> {
    let imports = app.imports().await?;
    Ok(Json(imports.into_iter().map(ImportView::from).collect()))
}
