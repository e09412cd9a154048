//! `POST /api/torrents` and `/upload`: new torrents.

use axum::extract::State;
use qm_engines::TorrentsError;
use qm_web::{ApiResult, Body, By, Created, Upload};

use super::{App, faults};
use crate::dto::requests::{AddTorrent, AddedView};
use crate::service::{AddInput, AddSource};

/// Adds a torrent by magnet link or URL, and answers once the engine lists it. A magnet without peers is accepted before.
#[utoipa::path(
    post,
    path = "/api/torrents",
    tag = "torrents",
    request_body = Body<AddTorrent>,
    responses((status = 201, body = AddedView), faults::Add)
)]
pub async fn add_torrent(
    State(app): App,
    By(by): By,
    Body(body): Body<AddTorrent>,
) -> ApiResult<Created<AddedView>> {
    let options = body.options();
    let source = AddSource::choose(None, body.magnet, body.url).ok_or(TorrentsError::NoSource)?;
    let input = AddInput {
        source,
        engine_id: body.engine_id,
        options,
    };
    let added = app.add(by.caller(), input).await?;
    Ok(Created(added.into()))
}

/// Adds a torrent by its file, and answers once the engine lists it.
#[utoipa::path(
    post,
    path = "/api/torrents/upload",
    tag = "torrents",
    request_body(content = Upload<AddTorrent>, content_type = "multipart/form-data"),
    responses((status = 201, body = AddedView), faults::Upload)
)]
pub async fn upload_torrent(
    State(app): App,
    By(by): By,
    upload: Upload<AddTorrent>,
) -> ApiResult<Created<AddedView>> {
    let file = upload.file.ok_or(TorrentsError::NoFile)?;
    let options = upload.fields.options();
    let input = AddInput {
        source: AddSource::File(file.bytes),
        engine_id: upload.fields.engine_id,
        options,
    };
    let added = app.add(by.caller(), input).await?;
    Ok(Created(added.into()))
}
