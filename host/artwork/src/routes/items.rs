//! Pictures of items.

use axum::extract::State;
use qm_web::{ApiResult, Body, By, Created, Json, Path};

use super::{App, faults};
use crate::dto::{
    ArtworkView, FailedView, ItemChoice, ItemImported, ItemImportedView, ItemPictures, ItemUpload,
    MissingView, OwnedPictures, OwnerView, Pictures, words,
};
use crate::service::{PROVIDER, Upload};

/// Lists the pictures of an item. Files beside its own ones are looked for.
#[utoipa::path(
    get, path = "/api/media/items/{id}/artwork", tag = "media", params(("id" = String, Path)),
    responses((status = 200, body = ItemPictures), faults::ItemList)
)]
pub async fn list_item_artwork(State(app): App, Path(id): Path<String>) -> ApiResult<Json<ItemPictures>> {
    let listed = app.list_of_item(&id).await?;
    Ok(Json(ItemPictures {
        item_id: id,
        pictures: Pictures::new(listed.artwork),
    }))
}

/// Lists the types of pictures that an item has, and those that it lacks.
#[utoipa::path(
    get, path = "/api/media/items/{id}/artwork/missing", tag = "media", params(("id" = String, Path)),
    responses((status = 200, body = MissingView), faults::ItemList)
)]
pub async fn list_missing_artwork(State(app): App, Path(id): Path<String>) -> ApiResult<Json<MissingView>> {
    let found = app.list_missing(&id).await?;
    Ok(Json(MissingView::new(id, found)))
}

/// Selects a picture of an item among those of its type.
#[utoipa::path(
    post, path = "/api/media/items/{id}/artwork/select", tag = "media", params(("id" = String, Path)),
    request_body = Body<ItemChoice>, responses((status = 201, body = OwnedPictures), faults::ItemSelect)
)]
pub async fn select_item_artwork(
    State(app): App,
    By(requester): By,
    Path(id): Path<String>,
    Body(choice): Body<ItemChoice>,
) -> ApiResult<Created<OwnedPictures>> {
    let listed = app
        .choose_for_item(requester.caller(), &id, &choice.artwork_id)
        .await?;
    Ok(Created(OwnedPictures {
        owner: OwnerView::new(listed.owner, None),
        pictures: Pictures::new(listed.artwork),
    }))
}

/// Stores a picture of an item, and selects it.
#[utoipa::path(
    post, path = "/api/media/items/{id}/artwork/upload", tag = "media", params(("id" = String, Path)),
    request_body = Body<ItemUpload>, responses((status = 201, body = ArtworkView), faults::ItemUpload)
)]
pub async fn upload_item_artwork(
    State(app): App,
    By(requester): By,
    Path(id): Path<String>,
    Body(upload): Body<ItemUpload>,
) -> ApiResult<Created<ArtworkView>> {
    let upload = Upload {
        kind: upload.kind,
        data: upload.data_base64,
        filename: upload.filename,
        mime: upload.mime,
        season: upload.season_number,
    };
    let (art, path) = app.upload_for_item(requester.caller(), &id, upload).await?;
    Ok(Created(ArtworkView::new(art, path)))
}

/// Imports the best poster and background of an item from its provider, and of an episode its still.
#[utoipa::path(
    post, path = "/api/media/items/{id}/artwork/import", tag = "media", params(("id" = String, Path)),
    responses((status = 201, body = ItemImported), faults::ItemImport)
)]
pub async fn import_item_artwork(
    State(app): App,
    By(requester): By,
    Path(id): Path<String>,
) -> ApiResult<Created<ItemImported>> {
    let Some(imported) = app.import_for_item(requester.caller(), &id).await? else {
        let found = app.list_missing(&id).await?;
        return Ok(Created(ItemImported::Missing(MissingView::new(id, found))));
    };
    Ok(Created(ItemImported::Imported(ItemImportedView {
        item_id: id,
        provider: PROVIDER,
        imported: words(imported.kinds),
        failed: FailedView::list(imported.failed),
    })))
}
