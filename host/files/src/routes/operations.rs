//! `/api/files/operations`: list of running operations, and their cancellation.

use axum::extract::State;
use qm_web::{ApiResult, By, Json, Path};

use super::{App, TAG, faults};
use crate::dto::answers::{Done, OperationView};

/// The operations that are running, the oldest first. Each is a job too.
#[utoipa::path(
    get, path = "/api/files/operations", tag = TAG,
    responses((status = 200, body = Vec<OperationView>)),
)]
pub async fn list_operations(State(app): App) -> ApiResult<Json<Vec<OperationView>>> {
    Ok(Json(app.list_operations().await?))
}

/// Stop an operation. It leaves the old state or the new one, and ends with an error.
///
/// Somebody else's needs `files.delete`.
#[utoipa::path(
    delete, path = "/api/files/operations/{id}", tag = TAG,
    params(("id" = String, Path)),
    responses((status = 200, body = Done), faults::Cancel),
)]
pub async fn cancel_operation(
    State(app): App,
    By(requester): By,
    Path(id): Path<String>,
) -> ApiResult<Json<Done>> {
    app.cancel_operation(&requester, &id).await?;
    Ok(Json(Done::YES))
}
