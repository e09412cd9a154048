//! Looking before leaping: delete previews, conflicts, cleanups; and doing what was chosen.

use axum::extract::State;
use qm_web::{ApiResult, Auth, Body, Client, Created, HungUp};

use super::{App, TAG, caller};
use crate::dto::answers::BatchResult;
use crate::dto::choices::{CleanupRun, CleanupScan, FindConflicts, ResolveConflicts};
use crate::dto::requests::{Delete, PathsBody};
use crate::dto::reviews::{BulkDeletePreview, CleanupPreview, CleanupResult, ConflictReport, DeletePreview};

/// What a delete would take away, and the torrents whose data it is.
#[utoipa::path(
    post, path = "/api/files/delete/preview", tag = TAG,
    request_body = Delete,
    responses((status = 201, body = DeletePreview)),
)]
pub async fn delete_preview(
    State(app): App,
    hung_up: HungUp,
    Body(body): Body<Delete>,
) -> ApiResult<Created<DeletePreview>> {
    Ok(Created(app.delete_preview(&body.path, &hung_up).await?))
}

/// The same for several items together.
#[utoipa::path(
    post, path = "/api/files/bulk/delete-preview", tag = TAG,
    request_body = PathsBody,
    responses((status = 201, body = BulkDeletePreview)),
)]
pub async fn bulk_delete_preview(
    State(app): App,
    hung_up: HungUp,
    Body(body): Body<PathsBody>,
) -> ApiResult<Created<BulkDeletePreview>> {
    Ok(Created(app.bulk_delete_preview(&body.paths, &hung_up).await?))
}

/// Which files would meet another in a directory, by name or as releases of the same thing.
#[utoipa::path(
    post, path = "/api/files/move-conflicts", tag = TAG,
    request_body = FindConflicts,
    responses((status = 201, body = ConflictReport)),
)]
pub async fn find_conflicts(
    State(app): App,
    hung_up: HungUp,
    Body(body): Body<FindConflicts>,
) -> ApiResult<Created<ConflictReport>> {
    Ok(Created(app.find_conflicts(body, &hung_up).await?))
}

/// Move or copy files into a directory, each as was decided about its conflict.
///
/// A file that is replaced goes to the trash first, so that nothing is lost when the other one does not arrive; with
/// `permanent` it goes for good once that has.
#[utoipa::path(
    post, path = "/api/files/resolve-conflicts", tag = TAG,
    request_body = ResolveConflicts,
    responses((status = 201, description = "Whatever became of each item", body = BatchResult)),
)]
pub async fn resolve_conflicts(
    State(app): App,
    auth: Auth,
    client: Client,
    Body(body): Body<ResolveConflicts>,
) -> ApiResult<Created<BatchResult>> {
    Ok(Created(app.resolve_conflicts(&caller(auth, client), body).await?))
}

/// What of a folder may go: samples, empty folders, duplicates and the like.
#[utoipa::path(
    post, path = "/api/files/cleanup-preview", tag = TAG,
    request_body = CleanupScan,
    responses((status = 201, body = CleanupPreview)),
)]
pub async fn cleanup_preview(
    State(app): App,
    hung_up: HungUp,
    Body(body): Body<CleanupScan>,
) -> ApiResult<Created<CleanupPreview>> {
    Ok(Created(app.cleanup_preview(body, &hung_up).await?))
}

/// Remove exactly the items that are listed.
#[utoipa::path(
    post, path = "/api/files/cleanup-execute", tag = TAG,
    request_body = CleanupRun,
    responses((status = 201, body = CleanupResult)),
)]
pub async fn cleanup_execute(
    State(app): App,
    auth: Auth,
    client: Client,
    Body(body): Body<CleanupRun>,
) -> ApiResult<Created<CleanupResult>> {
    Ok(Created(app.cleanup(&caller(auth, client), body).await?))
}
