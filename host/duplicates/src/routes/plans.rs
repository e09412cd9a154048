//! Plans: previews of them, and what becomes of them.

use axum::extract::State;
use qm_web::{ApiResult, Body, By, Created, Json, Params, Path};

use super::{App, Preview, PreviewMany, Read, Repair, Resolve, ResolveMany, Trashed};
use crate::dto::{
    BulkPreview, BulkPreviewInput, BulkResolveInput, BulkResolved, ClearGroup, ClearView, DeleteInput,
    DeletePlanView, KeepInput, KeepPlanView, RepairDetail, RepairQuery, RepairView, ResolveInput,
    ResolvedView, RestorableView, ResultView,
};
use crate::error::DuplicatesError;
use crate::model::PlanStatus;
use crate::service::Done;

/// Plans to keep one member of a group. The plan is stored, and nothing is deleted.
#[utoipa::path(
    post, path = "/api/media/duplicates/{groupId}/preview", tag = "media", params(("groupId" = String, Path)),
    request_body = Body<KeepInput>, responses((status = 201, body = KeepPlanView), Preview)
)]
pub async fn preview_keeping(
    State(app): App,
    By(requester): By,
    Path(id): Path<String>,
    Body(input): Body<KeepInput>,
) -> ApiResult<Created<KeepPlanView>> {
    let plan = app
        .preview_keeping(requester.caller(), &id, input.keep_item_id)
        .await?;
    Ok(Created(plan.into()))
}

/// Plans to delete one member of a group and to keep all others. The plan is stored, and nothing is deleted.
#[utoipa::path(
    post, path = "/api/media/duplicates/{groupId}/preview-delete", tag = "media", params(("groupId" = String, Path)),
    request_body = Body<DeleteInput>, responses((status = 201, body = DeletePlanView), Preview)
)]
pub async fn preview_deleting(
    State(app): App,
    By(requester): By,
    Path(id): Path<String>,
    Body(input): Body<DeleteInput>,
) -> ApiResult<Created<DeletePlanView>> {
    let plan = app
        .preview_deleting(requester.caller(), &id, input.delete_item_id)
        .await?;
    Ok(Created(plan.into()))
}

/// Carries a plan out: its files go into the trash, those that changed since the preview are skipped.
#[utoipa::path(
    post, path = "/api/media/duplicates/resolutions/{resolutionId}/resolve", tag = "media",
    params(("resolutionId" = String, Path)), request_body = Body<ResolveInput>,
    responses((status = 201, body = ResolvedView), Resolve)
)]
pub async fn resolve(
    State(app): App,
    By(requester): By,
    Path(id): Path<String>,
    Body(input): Body<ResolveInput>,
) -> ApiResult<Created<ResolvedView>> {
    if input.permanent {
        return Err(DuplicatesError::Permanent.into());
    }
    let outcome = app.resolve(requester, &id).await?;
    Ok(Created(ResolvedView {
        resolution_id: outcome.plan_id,
        status: outcome.status.as_str(),
        trashed: outcome.trashed,
        skipped: outcome.skipped,
        failed: outcome.failed,
        reclaimed_bytes: outcome.freed,
        permanent: false,
    }))
}

/// Plans for many groups; one that fails stops no other.
#[utoipa::path(
    post, path = "/api/media/duplicates/bulk/preview", tag = "media", request_body = Body<BulkPreviewInput>,
    responses((status = 201, body = BulkPreview), PreviewMany)
)]
pub async fn preview_many(
    State(app): App,
    By(requester): By,
    Body(input): Body<BulkPreviewInput>,
) -> ApiResult<Created<BulkPreview>> {
    let (groups, keep) = (input.group_ids, input.keep_by_group);
    let previews = app.preview_many(requester.caller(), groups, keep).await?;
    let previews = previews
        .into_iter()
        .map(|preview| (preview.group_id, preview.plan));
    Ok(Created(BulkPreview::new(previews)))
}

/// Carries many plans out, one after another; one that fails stops no other.
#[utoipa::path(
    post, path = "/api/media/duplicates/bulk/resolve", tag = "media", request_body = Body<BulkResolveInput>,
    responses((status = 201, body = BulkResolved), ResolveMany)
)]
pub async fn resolve_many(
    State(app): App,
    By(requester): By,
    Body(input): Body<BulkResolveInput>,
) -> ApiResult<Created<BulkResolved>> {
    if input.permanent {
        return Err(DuplicatesError::Permanent.into());
    }
    let done = app.resolve_many(&requester, input.resolution_ids).await?;
    let results: Vec<ResultView> = done.0.into_iter().map(result_of).collect();
    Ok(Created(results.into()))
}

fn result_of(done: Done) -> ResultView {
    match done.outcome {
        Ok(outcome) => ResultView {
            resolution_id: done.plan_id,
            ok: outcome.status == PlanStatus::Completed,
            status: outcome.status.as_str(),
            message: None,
            trashed: Some(outcome.trashed),
            skipped: Some(outcome.skipped),
            failed: Some(outcome.failed),
            reclaimed_bytes: Some(outcome.freed),
        },
        Err((status, message)) => ResultView {
            resolution_id: done.plan_id,
            ok: false,
            status: status.as_str(),
            message: Some(message),
            ..ResultView::default()
        },
    }
}

/// Gives files with names such as `Film [dup2].mkv` their plain names back, where these are free.
#[utoipa::path(
    post, path = "/api/media/duplicates/restore-suffixes", tag = "media", params(Params::<RepairQuery>),
    responses((status = 201, body = RepairView), Repair)
)]
pub async fn restore_suffixes(
    State(app): App,
    By(requester): By,
    Params(query): Params<RepairQuery>,
) -> ApiResult<Created<RepairView>> {
    let is_dry = query.dry_run.as_deref() == Some("true");
    let repair = app.restore_suffixes(requester.caller(), is_dry).await?;
    let details = repair.details.into_iter().map(|repaired| RepairDetail {
        item_id: repaired.item_id,
        from: repaired.from,
        to: repaired.to,
        reason: repaired.reason,
    });
    Ok(Created(RepairView {
        scanned: repair.scanned,
        restored: repair.restored,
        skipped: repair.skipped,
        details: details.collect(),
    }))
}

/// Lists open groups that need no choice.
#[utoipa::path(
    get, path = "/api/media/duplicates/quick-clean/candidates", tag = "media",
    responses((status = 200, body = ClearView), Read)
)]
pub async fn list_clear(State(app): App) -> ApiResult<Json<ClearView>> {
    let groups = app.list_clear().await?.into_iter().map(|clear| ClearGroup {
        id: clear.group.id,
        title: clear.title,
        reason: clear.group.reason,
        confidence: clear.group.confidence,
        file_count: clear.group.members,
        recommended_item_id: clear.group.recommended_item_id,
        potential_savings_bytes: clear.group.savings,
        version: clear.group.version,
    });
    Ok(Json(groups.collect::<Vec<_>>().into()))
}

/// Lists files that plans put into the trash and that can be restored, the last one first.
#[utoipa::path(
    get, path = "/api/media/duplicates/trash/history", tag = "media",
    responses((status = 200, body = Vec<RestorableView>), Trashed)
)]
pub async fn list_restorable(State(app): App) -> ApiResult<Json<Vec<RestorableView>>> {
    let files = app
        .list_restorable()
        .await?
        .into_iter()
        .map(|file| RestorableView {
            action_id: file.removed.step_id,
            resolution_id: file.removed.plan_id,
            action_type: "trash",
            original_path: file.removed.path,
            removed_at: file.removed.at,
            trash_item_id: file.item.id,
            name: file.item.name,
            size: file.item.size,
            deleted_at: file.item.deleted_at,
            expires_at: file.item.expires_at,
            restorable: true,
        });
    Ok(Json(files.collect()))
}
