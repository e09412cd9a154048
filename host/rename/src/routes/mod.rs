//! `/api/media`: presets of names, previews of renames, and their settings.

mod runs;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use axum::extract::State;
use qm_confined::{BaseError, FsError};
use qm_kernel::Permission as P;
use qm_lanes::LaneError;
use qm_platform::ActingError;
use qm_ports::shelves::ShelvesUnread;
use qm_rename_plan::TemplateError;
use qm_web::{ApiResult, Body, By, Created, Json, Params, Path, Routes, faults, routes};

use crate::dto::{
    CleanupInput, CleanupView, ExplainQuery, ExplanationView, PlanView, PresetInput, PresetList, PresetView,
    PresetsView, RenameInput, SeedingInput, SeedingView,
};
use crate::error::RenameError as E;
use crate::service::{NEEDED, Rename};

type App = State<Arc<Rename>>;

faults! {
    Add => with_user(vec![E::NameTaken(some()), E::TooMany, E::Template("tv", TemplateError::Ending)]);
    Change => with_user(vec![E::NoSuchPreset, E::NameTaken(some()), E::Template("tv", TemplateError::Ending)]);
    Remove => with_user(vec![E::NoSuchPreset]);
    Explain => vec![E::NoSuchPreset, E::Lane(LaneError::Full("…"))];
    Preview => preview();
    Settings => with_user(Vec::new());
}

/// Placeholder for a part of a message that is known only at run time.
fn some() -> String {
    "…".to_owned()
}

fn with_user(mut errors: Vec<E>) -> Vec<E> {
    errors.extend(ActingError::list_refusals().map(E::Acting));
    errors
}

fn preview() -> Vec<E> {
    let mut errors = vec![
        E::NoSuchPreset,
        E::Template("template", TemplateError::Ending),
        E::NoLibraryPath,
        E::LibraryPath(some()),
        E::NothingGiven,
        E::NoSuchTorrent,
        E::NoSuchPath,
        E::Outside,
        E::TooManyFiles,
        E::Base(BaseError::NotReadable(some())),
        E::Shelves(ShelvesUnread(some())),
        E::Lane(LaneError::Full("…")),
    ];
    errors.extend(FsError::list_for_reading("…").map(E::Path));
    errors
}

/// All routes of this area, still without their state.
pub fn routes() -> Routes<Arc<Rename>> {
    Routes::new()
        .add(routes!(list_presets).need(P::MediaManagerView))
        .add(routes!(list_stored_presets).need(P::MediaManagerView))
        .add(routes!(add_preset).need(NEEDED))
        .add(routes!(change_preset).need(NEEDED))
        .add(routes!(remove_preset).need(NEEDED))
        .add(routes!(explain_name).need(P::MediaManagerView))
        .add(routes!(preview_rename).need(P::MediaManagerView))
        .add(routes!(show_cleanup).need(P::MediaManagerView))
        .add(routes!(change_cleanup).need(NEEDED))
        .add(routes!(show_seeding).need(P::MediaManagerView))
        .add(routes!(change_seeding).need(NEEDED))
        .merge(runs::routes())
}

/// Lists the presets that come with the server, with their templates.
#[utoipa::path(get, path = "/api/media/presets", tag = "media", responses((status = 200, body = PresetsView)))]
async fn list_presets() -> Json<PresetsView> {
    Json(PresetsView::new())
}

/// Lists the presets that people stored.
#[utoipa::path(get, path = "/api/media/presets/stored", tag = "media", responses((status = 200, body = PresetList)))]
async fn list_stored_presets(State(app): App) -> ApiResult<Json<PresetList>> {
    let items = app.list_presets().await?.into_iter().map(PresetView::from);
    Ok(Json(PresetList {
        items: items.collect(),
    }))
}

/// Stores a preset.
#[utoipa::path(
    post, path = "/api/media/presets", tag = "media", request_body = Body<PresetInput>,
    responses((status = 201, body = PresetView), Add)
)]
async fn add_preset(
    State(app): App,
    By(requester): By,
    Body(input): Body<PresetInput>,
) -> ApiResult<Created<PresetView>> {
    let preset = app.add_preset(requester.caller(), input.into_parts()).await?;
    Ok(Created(preset.into()))
}

/// Replaces a stored preset: a template that is left out is that of its base again.
#[utoipa::path(
    put, path = "/api/media/presets/{id}", tag = "media", params(("id" = String, Path)), request_body = Body<PresetInput>,
    responses((status = 200, body = PresetView), Change)
)]
async fn change_preset(
    State(app): App,
    By(requester): By,
    Path(id): Path<String>,
    Body(input): Body<PresetInput>,
) -> ApiResult<Json<PresetView>> {
    let preset = app
        .change_preset(requester.caller(), &id, input.into_parts())
        .await?;
    Ok(Json(preset.into()))
}

/// Deletes a stored preset.
#[utoipa::path(
    delete, path = "/api/media/presets/{id}", tag = "media", params(("id" = String, Path)),
    responses((status = 200, body = PresetView), Remove)
)]
async fn remove_preset(
    State(app): App,
    By(requester): By,
    Path(id): Path<String>,
) -> ApiResult<Json<PresetView>> {
    Ok(Json(app.remove_preset(requester.caller(), &id).await?.into()))
}

/// Explains the name that a preset gives to one file, token by token.
#[utoipa::path(
    get, path = "/api/media/presets/{id}/explain", tag = "media",
    params(("id" = String, Path, description = "`plex`, `jellyfin`, `emby`, `kodi`, `custom`, or the id of a stored preset"), Params::<ExplainQuery>),
    responses((status = 200, body = ExplanationView), Explain)
)]
async fn explain_name(
    State(app): App,
    Path(id): Path<String>,
    Params(query): Params<ExplainQuery>,
) -> ApiResult<Json<ExplanationView>> {
    let found = app.explain_name(&id, query.name.clone(), query.kind).await?;
    Ok(Json(ExplanationView::new(query.name, id, found)))
}

/// Plans a rename, and changes nothing: of names alone, of a torrent's data, or of a file or folder.
#[utoipa::path(
    post, path = "/api/media/preview", tag = "media", request_body = Body<RenameInput>,
    responses((status = 201, body = PlanView), Preview)
)]
async fn preview_rename(
    State(app): App,
    By(requester): By,
    Body(input): Body<RenameInput>,
) -> ApiResult<Created<PlanView>> {
    let (prepared, plan_id) = app.preview(&requester, input.into_wanted().request).await?;
    Ok(Created(PlanView::new(&prepared.planned, plan_id)))
}

/// Shows the rules for other files, where a rename moves media files.
#[utoipa::path(get, path = "/api/media/settings/cleanup", tag = "media", responses((status = 200, body = CleanupView)))]
async fn show_cleanup(State(app): App) -> ApiResult<Json<CleanupView>> {
    Ok(Json(app.find_cleanup().await?.into()))
}

/// Changes the rules for other files.
#[utoipa::path(
    patch, path = "/api/media/settings/cleanup", tag = "media", request_body = Body<CleanupInput>,
    responses((status = 200, body = CleanupView), Settings)
)]
async fn change_cleanup(
    State(app): App,
    By(requester): By,
    Body(input): Body<CleanupInput>,
) -> ApiResult<Json<CleanupView>> {
    let cleanup = app
        .change_cleanup(requester.caller(), input.into_change())
        .await?;
    Ok(Json(cleanup.into()))
}

/// Shows the action on a torrent whose files a rename has moved.
#[utoipa::path(get, path = "/api/media/settings/seeding-torrent", tag = "media", responses((status = 200, body = SeedingView)))]
async fn show_seeding(State(app): App) -> ApiResult<Json<SeedingView>> {
    let action = app.find_seeding().await?;
    Ok(Json(SeedingView {
        action: action.as_str(),
    }))
}

/// Changes the action on a torrent whose files a rename has moved.
#[utoipa::path(
    patch, path = "/api/media/settings/seeding-torrent", tag = "media", request_body = Body<SeedingInput>,
    responses((status = 200, body = SeedingView), Settings)
)]
async fn change_seeding(
    State(app): App,
    By(requester): By,
    Body(input): Body<SeedingInput>,
) -> ApiResult<Json<SeedingView>> {
    let action = app.change_seeding(requester.caller(), input.action).await?;
    Ok(Json(SeedingView {
        action: action.as_str(),
    }))
}
