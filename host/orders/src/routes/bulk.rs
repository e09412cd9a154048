//! `/api/media/items/bulk`: orders for many items at once.

use axum::extract::State;
use qm_media::model::bulk::Erasure;
use qm_web::{ApiResult, Body, By, Created};

use super::{App, faults};
use crate::dto::bulk::{
    AcceptedView, DeleteFilesInput, ItemsInput, MoveInput, SourceTorrentView, SourceTorrentsView,
};

/// Keeps items as they are: scans and matches leave them alone.
#[utoipa::path(
    post, path = "/api/media/items/bulk/lock", tag = "media", request_body = Body<ItemsInput>,
    responses((status = 201, body = AcceptedView), faults::Order)
)]
pub async fn lock_items(
    State(app): App,
    By(requester): By,
    Body(input): Body<ItemsInput>,
) -> ApiResult<Created<AcceptedView>> {
    let ids = input.item_ids.unwrap_or_default();
    Ok(Created(
        app.lock_items(requester.caller(), ids, true).await?.into(),
    ))
}

/// Lets items be changed again.
#[utoipa::path(
    post, path = "/api/media/items/bulk/unlock", tag = "media", request_body = Body<ItemsInput>,
    responses((status = 201, body = AcceptedView), faults::Order)
)]
pub async fn unlock_items(
    State(app): App,
    By(requester): By,
    Body(input): Body<ItemsInput>,
) -> ApiResult<Created<AcceptedView>> {
    let ids = input.item_ids.unwrap_or_default();
    Ok(Created(
        app.lock_items(requester.caller(), ids, false).await?.into(),
    ))
}

/// Has providers of metadata asked what items are about, each as `POST /api/media/items/{id}/metadata/fetch` does; locked ones are left
/// out. Whoever orders it must still be allowed to when it is done.
#[utoipa::path(
    post, path = "/api/media/items/bulk/metadata", tag = "media", request_body = Body<ItemsInput>,
    responses((status = 201, body = AcceptedView), faults::Order)
)]
pub async fn fetch_items_metadata(
    State(app): App,
    By(requester): By,
    Body(input): Body<ItemsInput>,
) -> ApiResult<Created<AcceptedView>> {
    let ids = input.item_ids.unwrap_or_default();
    Ok(Created(app.fetch_items(requester.caller(), ids).await?.into()))
}

/// Forgets items, locked ones too. Their files stay, and a scan by hand finds them again.
#[utoipa::path(
    post, path = "/api/media/items/bulk/remove", tag = "media", request_body = Body<ItemsInput>,
    responses((status = 201, body = AcceptedView), faults::Order)
)]
pub async fn remove_items(
    State(app): App,
    By(requester): By,
    Body(input): Body<ItemsInput>,
) -> ApiResult<Created<AcceptedView>> {
    let ids = input.item_ids.unwrap_or_default();
    Ok(Created(app.remove_items(requester.caller(), ids).await?.into()))
}

/// Torrents whose data lies where items do: what `torrentAction` is about. Nothing is changed.
#[utoipa::path(
    post, path = "/api/media/items/bulk/delete-files/preview", tag = "media", request_body = Body<ItemsInput>,
    responses((status = 201, body = SourceTorrentsView), faults::Preview)
)]
pub async fn preview_delete_files(
    State(app): App,
    By(requester): By,
    Body(input): Body<ItemsInput>,
) -> ApiResult<Created<SourceTorrentsView>> {
    let ids = input.item_ids.unwrap_or_default();
    let torrents = app.source_torrents(requester.caller(), ids).await?.into_iter();
    Ok(Created(SourceTorrentsView {
        torrents: torrents.map(SourceTorrentView::from).collect(),
    }))
}

/// Has the files of items deleted for good, and folders that hold nothing else with all that lies in them. Whoever orders it must
/// still be allowed to when it is done; `stop` takes torrents.delete too, `stop_and_delete` torrents.delete_data.
#[utoipa::path(
    post, path = "/api/media/items/bulk/delete-files", tag = "media", request_body = Body<DeleteFilesInput>,
    responses((status = 201, body = AcceptedView), faults::Erase)
)]
pub async fn delete_item_files(
    State(app): App,
    By(requester): By,
    Body(input): Body<DeleteFilesInput>,
) -> ApiResult<Created<AcceptedView>> {
    let ids = input.item_ids.unwrap_or_default();
    let manner = Erasure {
        torrents: input.torrent_action.unwrap_or_default(),
        keep_shared: input.keep_shared,
    };
    let accepted = app.delete_files(requester.caller(), ids, manner).await?;
    Ok(Created(accepted.into()))
}

/// Has items moved into another library, with folders that hold nothing else. What is there already is never replaced.
#[utoipa::path(
    post, path = "/api/media/items/bulk/move", tag = "media", request_body = Body<MoveInput>,
    responses((status = 201, body = AcceptedView), faults::Move)
)]
pub async fn move_items(
    State(app): App,
    By(requester): By,
    Body(input): Body<MoveInput>,
) -> ApiResult<Created<AcceptedView>> {
    let ids = input.item_ids.unwrap_or_default();
    Ok(Created(
        app.move_items(requester.caller(), ids, input.target_library_id)
            .await?
            .into(),
    ))
}
