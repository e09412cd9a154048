//! Pictures of shows and of their seasons.

use axum::extract::State;
use qm_web::{ApiResult, Body, By, Created, Json, Params, Path};

use super::{App, faults};
use crate::dto::{
    ArtworkView, FailedView, OwnedPictures, OwnerView, Pictures, SeasonQuery, ShowChoice, ShowImport,
    ShowImportedView, ShowUpload, words,
};
use crate::error::ArtworkError;
use crate::service::{PROVIDER, Upload};

/// Lists the pictures of a show, or of one of its seasons. Files in its folder are looked for.
#[utoipa::path(
    get, path = "/api/media/shows/{id}/artwork", tag = "media",
    params(("id" = String, Path), Params::<SeasonQuery>),
    responses((status = 200, body = OwnedPictures), faults::ShowList)
)]
pub async fn list_show_artwork(
    State(app): App,
    Path(id): Path<String>,
    Params(query): Params<SeasonQuery>,
) -> ApiResult<Json<OwnedPictures>> {
    let season = query.read().map_err(|()| ArtworkError::BadSeason)?;
    let listed = app.list_of_show(&id, season).await?;
    Ok(Json(OwnedPictures {
        owner: OwnerView::new(listed.owner, season),
        pictures: Pictures::new(listed.artwork),
    }))
}

/// Selects a picture of a show or of a season among those of its type.
#[utoipa::path(
    post, path = "/api/media/shows/{id}/artwork/select", tag = "media", params(("id" = String, Path)),
    request_body = Body<ShowChoice>, responses((status = 201, body = OwnedPictures), faults::ShowSelect)
)]
pub async fn select_show_artwork(
    State(app): App,
    By(requester): By,
    Path(id): Path<String>,
    Body(choice): Body<ShowChoice>,
) -> ApiResult<Created<OwnedPictures>> {
    let season = choice.season;
    let listed = app
        .choose_for_show(requester.caller(), &id, season, &choice.artwork_id)
        .await?;
    Ok(Created(OwnedPictures {
        owner: OwnerView::new(listed.owner, season),
        pictures: Pictures::new(listed.artwork),
    }))
}

/// Stores a picture of a show or of a season, and selects it.
#[utoipa::path(
    post, path = "/api/media/shows/{id}/artwork/upload", tag = "media", params(("id" = String, Path)),
    request_body = Body<ShowUpload>, responses((status = 201, body = ArtworkView), faults::ShowUpload)
)]
pub async fn upload_show_artwork(
    State(app): App,
    By(requester): By,
    Path(id): Path<String>,
    Body(upload): Body<ShowUpload>,
) -> ApiResult<Created<ArtworkView>> {
    let upload = Upload {
        kind: upload.kind,
        data: upload.data_base64,
        filename: upload.filename,
        mime: upload.mime,
        season: upload.season,
    };
    let (art, path) = app.upload_for_show(requester.caller(), &id, upload).await?;
    Ok(Created(ArtworkView::new(art, path)))
}

/// Imports the best poster and background of a show from its provider, or the poster of a season.
#[utoipa::path(
    post, path = "/api/media/shows/{id}/artwork/import", tag = "media", params(("id" = String, Path)),
    request_body = Body<ShowImport>, responses((status = 201, body = ShowImportedView), faults::ShowImport)
)]
pub async fn import_show_artwork(
    State(app): App,
    By(requester): By,
    Path(id): Path<String>,
    Body(wanted): Body<ShowImport>,
) -> ApiResult<Created<ShowImportedView>> {
    let season = wanted.season;
    let outcome = app.import_for_show(requester.caller(), &id, season).await?;
    let reason = outcome.is_none().then_some("no_provider_id");
    let imported = outcome.unwrap_or_default();
    Ok(Created(ShowImportedView {
        show_id: id,
        provider: PROVIDER,
        imported: words(imported.kinds),
        season_number: season.filter(|_| reason.is_none()),
        reason,
        failed: FailedView::list(imported.failed),
    }))
}
