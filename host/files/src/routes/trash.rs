//! `/api/files/trash`

use axum::extract::State;
use qm_web::{ApiResult, Body, By, Created, Json};

use super::{App, TAG, faults};
use crate::dto::answers::{Done, Removed, Restored, TrashItem};
use crate::dto::requests::{IdBody, Restore};

/// Everybody's items in the trash, the latest first.
#[utoipa::path(get, path = "/api/files/trash", tag = TAG, responses((status = 200, body = Vec<TrashItem>), faults::Read))]
pub async fn list_trash(State(app): App) -> ApiResult<Json<Vec<TrashItem>>> {
    Ok(Json(app.list_trash().await?))
}

/// Put an item back where it was.
#[utoipa::path(
    post, path = "/api/files/trash/restore", tag = TAG,
    request_body = Body<Restore>,
    responses((status = 201, body = Restored), faults::Restore),
)]
pub async fn restore_trash(
    State(app): App,
    By(requester): By,
    Body(body): Body<Restore>,
) -> ApiResult<Created<Restored>> {
    Ok(Created(app.restore(&requester, &body).await?))
}

/// Remove an item from the trash for good.
#[utoipa::path(
    post, path = "/api/files/trash/purge", tag = TAG,
    request_body = Body<IdBody>,
    responses((status = 201, body = Done), faults::Purge),
)]
pub async fn purge_trash(
    State(app): App,
    By(requester): By,
    Body(body): Body<IdBody>,
) -> ApiResult<Created<Done>> {
    app.purge(&requester, &body.id).await?;
    Ok(Created(Done::YES))
}

/// Remove everybody's items for good. What cannot be removed stays.
#[utoipa::path(post, path = "/api/files/trash/empty", tag = TAG, responses((status = 201, body = Removed), faults::EmptyTrash))]
pub async fn empty_trash(
    State(app): App,
    By(requester): By,
    Body(()): Body<()>,
) -> ApiResult<Created<Removed>> {
    Ok(Created(app.empty_trash(&requester).await?))
}
