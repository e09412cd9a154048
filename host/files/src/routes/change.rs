//! Changing: folders, renames, moves, copies, deletes, one or several at a time.

use axum::extract::State;
use qm_web::{ApiResult, Body, By, Created};

use super::{App, TAG, faults};
use crate::dto::answers::{BatchResult, OpResult};
use crate::dto::requests::{Bulk, CreateFolder, Delete, Rename, Transfer, TransferKind};

/// Create a folder in one that exists.
#[utoipa::path(
    post, path = "/api/files/folders", tag = TAG,
    request_body = Body<CreateFolder>,
    responses((status = 201, body = OpResult), faults::Change),
)]
pub async fn create_folder(
    State(app): App,
    By(requester): By,
    Body(body): Body<CreateFolder>,
) -> ApiResult<Created<OpResult>> {
    Ok(Created(app.create_folder(&requester, body).await?))
}

/// Rename an item within its directory.
#[utoipa::path(
    post, path = "/api/files/rename", tag = TAG,
    request_body = Body<Rename>,
    responses((status = 201, body = OpResult), faults::Change),
)]
pub async fn rename_file(
    State(app): App,
    By(requester): By,
    Body(body): Body<Rename>,
) -> ApiResult<Created<OpResult>> {
    Ok(Created(app.rename(&requester, body).await?))
}

/// Move an item into a directory.
///
/// Across file systems it is copied, checked and then removed. The request waits; hanging up does not stop it,
/// `DELETE /api/files/operations/{id}` does.
#[utoipa::path(
    post, path = "/api/files/move", tag = TAG,
    request_body = Body<Transfer>,
    responses((status = 201, body = OpResult), faults::Transfer),
)]
pub async fn move_file(
    State(app): App,
    By(requester): By,
    Body(body): Body<Transfer>,
) -> ApiResult<Created<OpResult>> {
    let done = app.transfer(requester, TransferKind::Move, body).await?;
    Ok(Created(done))
}

/// Copy an item into a directory; links stay links.
///
/// The request waits; hanging up does not stop it, `DELETE /api/files/operations/{id}` does.
#[utoipa::path(
    post, path = "/api/files/copy", tag = TAG,
    request_body = Body<Transfer>,
    responses((status = 201, body = OpResult), faults::Transfer),
)]
pub async fn copy_file(
    State(app): App,
    By(requester): By,
    Body(body): Body<Transfer>,
) -> ApiResult<Created<OpResult>> {
    let done = app.transfer(requester, TransferKind::Copy, body).await?;
    Ok(Created(done))
}

/// Delete an item: into the trash, or with `permanent` for good.
///
/// `torrentAction` needs `torrents.delete` to stop the torrents whose data it is, `torrents.delete_data` to delete them. Those are
/// not deleted, nor is the item, while other torrents use data of theirs beside it, unless `keepShared` keeps that.
#[utoipa::path(
    post, path = "/api/files/delete", tag = TAG,
    request_body = Body<Delete>,
    responses((status = 201, body = OpResult), faults::Delete),
)]
pub async fn delete_file(
    State(app): App,
    By(requester): By,
    Body(body): Body<Delete>,
) -> ApiResult<Created<OpResult>> {
    Ok(Created(app.delete(requester, body).await?))
}

/// Do one thing to several items; needs the permission of its own route too.
#[utoipa::path(
    post, path = "/api/files/bulk", tag = TAG,
    request_body = Body<Bulk>,
    responses((status = 201, description = "Whatever became of each item", body = BatchResult), faults::Bulk),
)]
pub async fn bulk_files(
    State(app): App,
    By(requester): By,
    Body(body): Body<Bulk>,
) -> ApiResult<Created<BatchResult>> {
    Ok(Created(app.bulk(&requester, body).await?))
}
