//! `/api/torrents/{hash}/export` and `…/location/check`.

use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use qm_engines::dto::engines::EngineQuery;
use qm_web::{ApiResult, Json, Params, Path, disposition};

use super::{App, faults};
use crate::dto::LocationView;

/// Downloads the .torrent file of a torrent as its client has it: with the addresses of its trackers, and the keys in them.
#[utoipa::path(
    get,
    path = "/api/torrents/{hash}/export",
    tag = "torrents",
    params(("hash" = String, Path), Params::<EngineQuery>),
    responses(
        (status = 200, description = "The .torrent file", content_type = "application/x-bittorrent"),
        faults::Export
    )
)]
pub async fn export_torrent(
    State(app): App,
    Path(hash): Path<String>,
    Params(query): Params<EngineQuery>,
) -> ApiResult<Response> {
    let (name, file) = app.export(query.engine_id.as_deref(), &hash).await?;
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

/// Looks whether the data of a torrent is where its client says, as the server sees that place. Nothing is changed, and nothing is read
/// but names and sizes.
#[utoipa::path(
    post,
    path = "/api/torrents/{hash}/location/check",
    tag = "torrents",
    params(("hash" = String, Path), Params::<EngineQuery>),
    responses((status = 200, body = LocationView), faults::Location)
)]
pub async fn check_location(
    State(app): App,
    Path(hash): Path<String>,
    Params(query): Params<EngineQuery>,
) -> ApiResult<Json<LocationView>> {
    let sight = app.check_location(query.engine_id.as_deref(), &hash).await?;
    Ok(Json(sight.into()))
}
