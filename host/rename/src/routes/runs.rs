//! `/api/media`: renames that are applied and undone, their history, and the naming of a library.

use axum::extract::State;
use qm_confined::{BaseError, FsError};
use qm_kernel::Permission as P;
use qm_lanes::LaneError;
use qm_platform::ActingError;
use qm_ports::shelves::ShelvesUnread;
use qm_rename_plan::TemplateError;
use qm_web::{ApiResult, Body, By, Created, Json, Params, Path, Routes, faults, routes};

use super::{App, some, with_user};
use crate::dto::{
    AppliedView, HistoryPage, HistoryQuery, OrganizeQuery, OrganizedView, RenameInput, RunOperationsView,
    UndoInput, UndoView, UndoableView,
};
use crate::error::RenameError as E;
use crate::service::{RENAMES, Rename};

faults! {
    Apply => apply();
    Undo => with_user(vec![E::NoRunId, E::NothingToUndo, E::Running(some()), E::Broken(some()), E::Lane(LaneError::Full("…"))]);
    History => vec![E::Shelves(ShelvesUnread(some()))];
    Organize => organize();
}

fn apply() -> Vec<E> {
    let mut errors = super::preview();
    errors.extend(ActingError::list_refusals().map(E::Acting));
    errors.extend([
        E::Running(some()),
        E::NoSuchPlan,
        E::OtherMode("…"),
        E::SharedData(some()),
        E::LibraryUnusable(some()),
        E::Broken(some()),
    ]);
    errors
}

fn organize() -> Vec<E> {
    let mut errors = with_user(vec![
        E::NoSuchLibrary,
        E::Template("template", TemplateError::Ending),
        E::LibraryPath(some()),
        E::Outside,
        E::TooManyFiles,
        E::Base(BaseError::NotReadable(some())),
        E::Running(some()),
        E::LibraryUnusable(some()),
        E::Broken(some()),
        E::Shelves(ShelvesUnread(some())),
        E::Lane(LaneError::Full("…")),
    ]);
    errors.extend(FsError::list_for_reading("…").map(E::Path));
    errors
}

/// Routes of runs, still without their state.
pub fn routes() -> Routes<std::sync::Arc<Rename>> {
    Routes::new()
        .add(routes!(apply_rename).need(RENAMES))
        .add(routes!(list_undoable).need(RENAMES))
        .add(routes!(list_steps).need(RENAMES))
        .add(routes!(undo_rename).need(RENAMES))
        .add(routes!(list_history).need(P::MediaManagerView))
        .add(routes!(organize_library).need(RENAMES))
}

/// Renames files by a plan: that which was previewed (`planId`), or one that is made now. Nothing is ever overwritten. The work is
/// a job that can be cancelled, and that goes on when the caller hangs up. In mode `preview`, the default, nothing happens.
#[utoipa::path(
    post, path = "/api/media/apply", tag = "media", request_body = Body<RenameInput>,
    responses((status = 201, body = AppliedView), Apply)
)]
async fn apply_rename(
    State(app): App,
    By(requester): By,
    Body(input): Body<RenameInput>,
) -> ApiResult<Created<AppliedView>> {
    let applied = app.apply(&requester, input.into_wanted()).await?;
    Ok(Created(applied.into()))
}

/// Lists the newest runs that can be undone.
#[utoipa::path(get, path = "/api/media/rename/undoable", tag = "media", responses((status = 200, body = Vec<UndoableView>)))]
async fn list_undoable(State(app): App) -> ApiResult<Json<Vec<UndoableView>>> {
    let runs = app.list_undoable().await?;
    Ok(Json(runs.into_iter().map(UndoableView::from).collect()))
}

/// Lists the steps of a run.
#[utoipa::path(
    get, path = "/api/media/rename/undoable/{runId}", tag = "media", params(("runId" = String, Path)),
    responses((status = 200, body = RunOperationsView))
)]
async fn list_steps(State(app): App, Path(run_id): Path<String>) -> ApiResult<Json<RunOperationsView>> {
    Ok(Json(RunOperationsView::new(app.list_steps(&run_id).await?)))
}

/// Brings the files of a run back to their old places, the newest step first. What was copied or linked goes, where the original
/// is still there and the same. Torrents that were removed stay removed.
#[utoipa::path(
    post, path = "/api/media/rename/undo", tag = "media", request_body = Body<UndoInput>,
    responses((status = 201, body = UndoView), Undo)
)]
async fn undo_rename(
    State(app): App,
    By(requester): By,
    Body(input): Body<UndoInput>,
) -> ApiResult<Created<UndoView>> {
    let undone = app.undo(&requester, &input.run_id).await?;
    Ok(Created(UndoView::new(input.run_id, undone)))
}

/// Lists what renames did, the newest first.
#[utoipa::path(
    get, path = "/api/media/history", tag = "media", params(Params::<HistoryQuery>),
    responses((status = 200, body = HistoryPage), History)
)]
async fn list_history(State(app): App, Params(query): Params<HistoryQuery>) -> ApiResult<Json<HistoryPage>> {
    let found = app.list_history(query.item_id.as_deref(), query.page).await?;
    Ok(Json(HistoryPage::new(found, query.page)))
}

/// Names the episodes of a library that lie in no folder of a season, if the library is set to name its files by moving them.
#[utoipa::path(
    post, path = "/api/media/libraries/{id}/organize", tag = "media",
    params(("id" = String, Path), Params::<OrganizeQuery>),
    responses((status = 201, body = OrganizedView), Organize)
)]
async fn organize_library(
    State(app): App,
    By(requester): By,
    Path(id): Path<String>,
    Params(query): Params<OrganizeQuery>,
) -> ApiResult<Created<OrganizedView>> {
    let is_dry = matches!(query.dry_run.as_deref(), Some("true" | "1"));
    Ok(Created(app.organize(&requester, &id, is_dry).await?.into()))
}
