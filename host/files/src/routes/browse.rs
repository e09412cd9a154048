//! Routes that read: `/api/files`, and those that tell about files and paths.

use axum::extract::State;
use qm_web::{ApiResult, Body, By, Created, Json, Params};

use super::{App, TAG, faults};
use crate::dto::answers::{InspectionView, Listing, Preview, Properties, RootInfo};
use crate::dto::requests::{AbsoluteBody, InspectQuery, ListQuery, PathQuery, PreviewQuery};
use crate::service::Looker;

/// Lists a directory: directories first, then by name.
///
/// `limit` and `offset` page it; without them the whole directory is answered, at most 200,000 entries. `pathRaw` names a
/// path that is not UTF-8 by its percent-encoded bytes.
#[utoipa::path(
    get, path = "/api/files", tag = TAG,
    params(
        ("path" = Option<String>, Query, description = "Relative to the root in effect; absent: the root itself."),
        ("pathRaw" = Option<String>, Query, description = "Instead of `path`: its bytes, percent-encoded."),
        Params::<ListQuery>,
    ),
    responses((status = 200, body = Listing), faults::Read),
)]
pub async fn list_files(
    State(app): App,
    looker: Looker,
    Params(query): Params<ListQuery>,
) -> ApiResult<Json<Listing>> {
    Ok(Json(app.list(query, &looker).await?))
}

/// The root in effect.
#[utoipa::path(get, path = "/api/files/root", tag = TAG, responses((status = 200, body = RootInfo), faults::Read))]
pub async fn get_root(State(app): App) -> ApiResult<Json<RootInfo>> {
    Ok(Json(app.root().await?))
}

/// Set the Default Root Path: a directory within the hard roots.
#[utoipa::path(
    put, path = "/api/files/root", tag = TAG,
    request_body = Body<AbsoluteBody>,
    responses((status = 200, body = RootInfo), faults::SetRoot),
)]
pub async fn set_root(
    State(app): App,
    By(requester): By,
    Body(body): Body<AbsoluteBody>,
) -> ApiResult<Json<RootInfo>> {
    Ok(Json(app.set_root(&requester, &body.path).await?))
}

/// All about one file or folder; of a folder with everything in it.
#[utoipa::path(
    get, path = "/api/files/properties", tag = TAG,
    params(Params::<PathQuery>),
    responses((status = 200, body = Properties), faults::Read),
)]
pub async fn file_properties(
    State(app): App,
    looker: Looker,
    Params(query): Params<PathQuery>,
) -> ApiResult<Json<Properties>> {
    Ok(Json(app.properties(query, &looker).await?))
}

/// Preview of a file: its kind, and of a text the first MiB.
#[utoipa::path(
    get, path = "/api/files/preview", tag = TAG,
    params(
        ("encoding" = Option<String>, Query,
            description = "`utf-8`, `cp437`, `latin1`, `utf-16le` or `utf-16be`; absent or another: the detected one."),
        Params::<PreviewQuery>,
    ),
    responses((status = 200, body = Preview), faults::Preview),
)]
pub async fn preview_file(State(app): App, Params(query): Params<PreviewQuery>) -> ApiResult<Json<Preview>> {
    Ok(Json(app.preview(query).await?))
}

/// Looks at an absolute path. Outside the hard roots nothing is there.
#[utoipa::path(
    get, path = "/api/files/inspect", tag = TAG,
    params(("path" = String, Query, description = "Absolute."), Params::<InspectQuery>),
    responses((status = 200, body = InspectionView), faults::Inspect),
)]
pub async fn inspect_path(
    State(app): App,
    Params(query): Params<InspectQuery>,
) -> ApiResult<Json<InspectionView>> {
    Ok(Json(app.inspect(query.path).await?))
}

/// Make a directory by its absolute path, and those above it that are missing.
#[utoipa::path(
    post, path = "/api/files/ensure-dir", tag = TAG,
    request_body = Body<AbsoluteBody>,
    responses((status = 201, body = InspectionView), faults::EnsureDirectory),
)]
pub async fn ensure_directory(
    State(app): App,
    By(requester): By,
    Body(body): Body<AbsoluteBody>,
) -> ApiResult<Created<InspectionView>> {
    Ok(Created(app.ensure_dir(&requester, body.path).await?))
}
