//! `/api/torrents/views`: saved views of the torrent list.

use std::sync::Arc;

use axum::extract::State;
use qm_kernel::Permission as P;
use qm_platform::ActingError;
use qm_web::{ApiResult, Auth, Body, By, Created, Json, Path, Routes, faults, routes};

use crate::dto::{ViewInput, ViewList, ViewView};
use crate::error::ViewsError as E;
use crate::service::Views;

type App = State<Arc<Views>>;

faults! {
    Add => vec![E::NameTaken("Long seeded".into()), E::TooMany, E::Acting(ActingError::Gone), E::Acting(ActingError::Inactive)];
    Change => vec![E::NoSuchView, E::NameTaken("Long seeded".into()), E::Acting(ActingError::Gone), E::Acting(ActingError::Inactive)];
    Remove => vec![E::NoSuchView, E::Acting(ActingError::Gone), E::Acting(ActingError::Inactive)];
}

/// All routes of this area, still without their state.
pub fn routes() -> Routes<Arc<Views>> {
    Routes::new()
        .add(routes!(list_views).need(P::TorrentsView))
        .add(routes!(add_view).need(P::TorrentsView))
        .add(routes!(change_view).need(P::TorrentsView))
        .add(routes!(remove_view).need(P::TorrentsView))
}

/// Lists the caller's saved views.
#[utoipa::path(get, path = "/api/torrents/views", tag = "torrents", responses((status = 200, body = ViewList)))]
async fn list_views(State(app): App, Auth(principal): Auth) -> ApiResult<Json<ViewList>> {
    let views = app.list_views(&principal).await?;
    let items = views.into_iter().map(ViewView::from).collect();
    Ok(Json(ViewList { items }))
}

/// Saves a view of the caller.
#[utoipa::path(
    post, path = "/api/torrents/views", tag = "torrents", request_body = Body<ViewInput>,
    responses((status = 201, body = ViewView), Add)
)]
async fn add_view(
    State(app): App,
    By(requester): By,
    Body(input): Body<ViewInput>,
) -> ApiResult<Created<ViewView>> {
    let (name, settings) = input.into_parts();
    let view = app.add_view(requester.caller(), name, settings).await?;
    Ok(Created(view.into()))
}

/// Replaces a view of the caller: what is left out is no part of it any more.
#[utoipa::path(
    put, path = "/api/torrents/views/{id}", tag = "torrents", params(("id" = String, Path)), request_body = Body<ViewInput>,
    responses((status = 200, body = ViewView), Change)
)]
async fn change_view(
    State(app): App,
    By(requester): By,
    Path(id): Path<String>,
    Body(input): Body<ViewInput>,
) -> ApiResult<Json<ViewView>> {
    let (name, settings) = input.into_parts();
    let view = app.change_view(requester.caller(), &id, name, settings).await?;
    Ok(Json(view.into()))
}

/// Deletes a view of the caller.
#[utoipa::path(
    delete, path = "/api/torrents/views/{id}", tag = "torrents", params(("id" = String, Path)),
    responses((status = 200, body = ViewView), Remove)
)]
async fn remove_view(
    State(app): App,
    By(requester): By,
    Path(id): Path<String>,
) -> ApiResult<Json<ViewView>> {
    let view = app.remove_view(requester.caller(), &id).await?;
    Ok(Json(view.into()))
}
