//! Previews of deletes, conflicts and cleanups; and the routes that carry out the choice made after them.

use axum::extract::State;
use qm_web::{ApiResult, Body, By, Created};

use super::{App, TAG, faults};
use crate::dto::answers::BatchResult;
use crate::dto::choices::{CleanupRun, CleanupScan, FindConflicts, ResolveConflicts};
use crate::dto::requests::{Delete, PathsBody};
use crate::dto::reviews::{BulkDeletePreview, CleanupPreview, CleanupResult, ConflictReport, DeletePreview};
use crate::service::Looker;

/// Preview of a delete: what it would take away, and the torrents whose data it is.
#[utoipa::path(
    post, path = "/api/files/delete/preview", tag = TAG,
    request_body = Body<Delete>,
    responses((status = 201, body = DeletePreview), faults::DeletePreview),
)]
pub async fn delete_preview(
    State(app): App,
    looker: Looker,
    Body(body): Body<Delete>,
) -> ApiResult<Created<DeletePreview>> {
    Ok(Created(app.delete_preview(&body.path, &looker).await?))
}

/// The same for several items together.
#[utoipa::path(
    post, path = "/api/files/bulk/delete-preview", tag = TAG,
    request_body = Body<PathsBody>,
    responses((status = 201, body = BulkDeletePreview), faults::Read),
)]
pub async fn bulk_delete_preview(
    State(app): App,
    looker: Looker,
    Body(body): Body<PathsBody>,
) -> ApiResult<Created<BulkDeletePreview>> {
    Ok(Created(app.bulk_delete_preview(&body.paths, &looker).await?))
}

/// Which files would meet another in a directory, by name or as releases of the same thing.
#[utoipa::path(
    post, path = "/api/files/move-conflicts", tag = TAG,
    request_body = Body<FindConflicts>,
    responses((status = 201, body = ConflictReport), faults::FindConflicts),
)]
pub async fn find_conflicts(
    State(app): App,
    looker: Looker,
    Body(body): Body<FindConflicts>,
) -> ApiResult<Created<ConflictReport>> {
    Ok(Created(app.find_conflicts(body, &looker).await?))
}

/// Move or copy files into a directory, each as was decided about its conflict.
///
/// A file that is replaced goes to the trash first, so that nothing is lost when the other one does not arrive; with
/// `permanent` it goes for good once that has.
#[utoipa::path(
    post, path = "/api/files/resolve-conflicts", tag = TAG,
    request_body = Body<ResolveConflicts>,
    responses((status = 201, description = "Whatever became of each item", body = BatchResult), faults::ResolveConflicts),
)]
pub async fn resolve_conflicts(
    State(app): App,
    By(requester): By,
    Body(body): Body<ResolveConflicts>,
) -> ApiResult<Created<BatchResult>> {
    Ok(Created(app.resolve_conflicts(&requester, body).await?))
}

/// Items of a folder that may be cleaned up: samples, empty folders, duplicates and the like.
#[utoipa::path(
    post, path = "/api/files/cleanup-preview", tag = TAG,
    request_body = Body<CleanupScan>,
    responses((status = 201, body = CleanupPreview), faults::CleanupPreview),
)]
pub async fn cleanup_preview(
    State(app): App,
    looker: Looker,
    Body(body): Body<CleanupScan>,
) -> ApiResult<Created<CleanupPreview>> {
    Ok(Created(app.cleanup_preview(body, &looker).await?))
}

/// Remove exactly the items that are listed.
#[utoipa::path(
    post, path = "/api/files/cleanup-execute", tag = TAG,
    request_body = Body<CleanupRun>,
    responses((status = 201, body = CleanupResult), faults::Cleanup),
)]
pub async fn cleanup_execute(
    State(app): App,
    By(requester): By,
    Body(body): Body<CleanupRun>,
) -> ApiResult<Created<CleanupResult>> {
    Ok(Created(app.cleanup(&requester, body).await?))
}
