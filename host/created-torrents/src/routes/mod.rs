//! `/api/torrents/created`: torrents created from files in the roots.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use qm_confined::FsError;
use qm_kernel::Permission as P;
use qm_lanes::LaneError;
use qm_platform::ActingError;
use qm_web::{ApiResult, Auth, Body, By, Created, Json, Params, Path, Routes, disposition, faults, routes};

use crate::dto::{CreateInput, CreatedPage, CreatedQuery, CreatedView};
use crate::error::CreatedError as E;
use crate::model::State as Stage;
use crate::service::CreatedTorrents;

type App = State<Arc<CreatedTorrents>>;

faults! {
    Create => with_user(paths().into_iter().chain([
        E::TooMany,
        E::NoSuchEngine(some()),
        E::Seed(some()),
        E::HybridFolder(some()),
        E::Engine(some()),
        E::Root(some()),
        E::Lane(LaneError::Full("…")),
    ]).collect());
    Show => vec![E::NoSuchTorrent];
    File => vec![E::NoSuchTorrent, E::NotMade(Stage::Hashing)];
    Remove => with_user(vec![E::NoSuchTorrent]);
}

/// Placeholder for a part of a message that is known only at run time.
fn some() -> String {
    "…".to_owned()
}

fn with_user(mut errors: Vec<E>) -> Vec<E> {
    errors.extend(ActingError::list_refusals().map(E::Acting));
    errors
}

/// Errors of a path that is walked, and of what is at its end.
fn paths() -> Vec<E> {
    FsError::list_for_reading("…").map(E::Path).into()
}

/// All routes of this area, still without their state.
pub fn routes() -> Routes<Arc<CreatedTorrents>> {
    Routes::new()
        .add(routes!(list_created).need(P::TorrentsView))
        .add(routes!(create_torrent).need_all(&[P::TorrentsAdd, P::FilesView]))
        .add(routes!(show_created).need(P::TorrentsView))
        .add(routes!(download_created).need(P::TorrentsView))
        .add(routes!(remove_created).need(P::TorrentsView))
}

/// Lists the torrents that the caller created, also those that are still being created.
#[utoipa::path(
    get, path = "/api/torrents/created", tag = "torrents", params(Params::<CreatedQuery>),
    responses((status = 200, body = CreatedPage))
)]
async fn list_created(
    State(app): App,
    Auth(principal): Auth,
    Params(CreatedQuery(page)): Params<CreatedQuery>,
) -> ApiResult<Json<CreatedPage>> {
    let (items, total) = app.list_created(&principal, page).await?;
    Ok(Json(CreatedPage {
        items: items.into_iter().map(CreatedView::from).collect(),
        total,
        page: page.page,
        page_size: page.page_size,
    }))
}

/// Creates a torrent of a file or folder, as a job. The content is read, and stays as it is and where it is.
#[utoipa::path(
    post, path = "/api/torrents/created", tag = "torrents", request_body = Body<CreateInput>,
    responses((status = 201, body = CreatedView), Create)
)]
async fn create_torrent(
    State(app): App,
    By(requester): By,
    Body(input): Body<CreateInput>,
) -> ApiResult<Created<CreatedView>> {
    let caller = requester.caller();
    let rel = input.path.rel().map_err(E::Path)?;
    let created = app.create_torrent(caller, rel, input.to_wish()).await?;
    Ok(Created(created.into()))
}

/// Shows a torrent that the caller created.
#[utoipa::path(
    get, path = "/api/torrents/created/{id}", tag = "torrents", params(("id" = String, Path)), responses((status = 200, body = CreatedView), Show)
)]
async fn show_created(
    State(app): App,
    Auth(principal): Auth,
    Path(id): Path<String>,
) -> ApiResult<Json<CreatedView>> {
    Ok(Json(app.find_created(&principal, &id).await?.into()))
}

/// Downloads the .torrent file.
#[utoipa::path(
    get, path = "/api/torrents/created/{id}/file", tag = "torrents", params(("id" = String, Path)),
    responses(
        (status = 200, description = "The .torrent file", content_type = "application/x-bittorrent"),
        File
    )
)]
async fn download_created(
    State(app): App,
    Auth(principal): Auth,
    Path(id): Path<String>,
) -> ApiResult<Response> {
    let (name, file) = app.read_file(&principal, &id).await?;
    let name = disposition("attachment", &format!("{name}.torrent"));
    let mut response = file.into_response();
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/x-bittorrent"),
    );
    // It is ASCII without line breaks, whatever the name is.
    if let Ok(name) = HeaderValue::from_str(&name) {
        headers.insert(header::CONTENT_DISPOSITION, name);
    }
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

/// Deletes a torrent that the caller created, and stops its job. Its content stays, and so does the torrent of an engine.
#[utoipa::path(
    delete, path = "/api/torrents/created/{id}", tag = "torrents", params(("id" = String, Path)),
    responses((status = 200, body = CreatedView), Remove)
)]
async fn remove_created(
    State(app): App,
    By(requester): By,
    Path(id): Path<String>,
) -> ApiResult<Json<CreatedView>> {
    let caller = requester.caller();
    Ok(Json(app.remove_created(caller, &id).await?.into()))
}
