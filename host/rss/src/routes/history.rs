//! `/api/rss/history`

use axum::extract::State;
use qm_web::{ApiResult, Body, By, Created, Path};

use super::{App, faults};
use crate::dto::answers::{ResetView, TakenView};
use crate::dto::requests::DownloadBody;

/// Hands an item to the default engine, whether it was downloaded before or not.
#[utoipa::path(
    post, path = "/api/rss/history/{id}/download", tag = "rss", params(("id" = String, Path)),
    request_body = Body<DownloadBody>, responses((status = 201, body = TakenView), faults::Download)
)]
pub async fn download_item(
    State(app): App,
    By(requester): By,
    Path(id): Path<String>,
    Body(body): Body<DownloadBody>,
) -> ApiResult<Created<TakenView>> {
    let taken = app.download(requester.caller(), &id, body.save_path).await?;
    Ok(Created(TakenView {
        item: taken.item.into(),
        torrent_hash: taken.torrent_hash,
    }))
}

/// Removes an item's torrent with its data (`torrents.delete_data`), and lets its rules grab it again.
#[utoipa::path(
    post, path = "/api/rss/history/{id}/reset", tag = "rss", params(("id" = String, Path)),
    responses((status = 201, body = ResetView), faults::Reset)
)]
pub async fn reset_item(
    State(app): App,
    By(requester): By,
    Path(id): Path<String>,
) -> ApiResult<Created<ResetView>> {
    let reset = app.reset(requester.caller(), &id).await?;
    Ok(Created(ResetView {
        id,
        downloaded: false,
        holds_cleared: reset.holds_cleared,
        torrent_removed: reset.torrent_removed,
        library_items_removed: 0,
    }))
}
