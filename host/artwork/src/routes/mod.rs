//! `/api/media`: pictures of items and shows, and subtitles of items.

mod faults;
mod items;
mod shows;
mod subtitles;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use axum::body::Body as Bytes;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::{HeaderValue, header};
use qm_kernel::Permission as P;
use qm_web::{ApiResult, Params, Path, Routes, routes};

use crate::dto::ImageQuery;
use crate::model::THUMB;
use crate::service::{ArtworkArea, NEEDED, NEEDED_FOR_SUBTITLES};

type App = State<Arc<ArtworkArea>>;

/// Largest body of an upload in bytes: a picture of 10 MiB in base64, and what is a little larger, so that it is told so.
const UPLOAD: usize = 15 << 20;
/// Pictures a minute.
const IMAGES: u32 = 1200;
/// Imports a minute.
const IMPORTS: u32 = 30;
const KEPT: HeaderValue = HeaderValue::from_static("private, max-age=86400");
/// Pictures run nothing, whatever a browser takes them for.
const POLICY: HeaderValue = HeaderValue::from_static("default-src 'none'; sandbox; frame-ancestors 'none'");

/// All routes of this area, still without their state.
pub fn routes() -> Routes<Arc<ArtworkArea>> {
    Routes::new()
        .add(routes!(items::list_item_artwork).need(P::MediaManagerView))
        .add(routes!(items::list_missing_artwork).need(P::MediaManagerView))
        .add(routes!(items::select_item_artwork).need(NEEDED))
        .add(routes!(items::upload_item_artwork).need(NEEDED).body(UPLOAD))
        .add(routes!(items::import_item_artwork).need(NEEDED).limit(IMPORTS))
        .add(routes!(shows::list_show_artwork).need(P::MediaManagerView))
        .add(routes!(shows::select_show_artwork).need(NEEDED))
        .add(routes!(shows::upload_show_artwork).need(NEEDED).body(UPLOAD))
        .add(routes!(shows::import_show_artwork).need(NEEDED).limit(IMPORTS))
        .add(routes!(subtitles::list_subtitles).need(P::MediaManagerView))
        .add(routes!(subtitles::scan_subtitles).need(NEEDED_FOR_SUBTITLES))
        .add(routes!(subtitles::list_missing_subtitles).need(P::MediaManagerView))
        .add(routes!(show_image).need(P::MediaManagerView).limit(IMAGES))
}

/// The bytes of a picture, without texts and camera data.
#[utoipa::path(
    get, path = "/api/media/artwork/{artworkId}/image", tag = "media",
    params(("artworkId" = String, Path), Params::<ImageQuery>),
    responses(
        (status = 200, description = "The picture: a PNG, a JPEG or a WebP", content_type = "image/jpeg"),
        (status = 304, description = "It is the one of `If-None-Match`"),
        faults::Image,
    )
)]
async fn show_image(
    State(app): App,
    Path(artwork_id): Path<String>,
    Params(query): Params<ImageQuery>,
) -> ApiResult<Response> {
    let is_thumb = query.thumb.is_some_and(|thumb| !thumb.is_empty());
    let width = query.width.or(is_thumb.then_some(THUMB));
    let served = app.serve(&artwork_id, width).await?;
    let (mime, size, tag) = (served.format.mime(), served.size, format!("\"{}\"", served.key));
    let mut response = Bytes::from_stream(served.into_pieces()).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(mime));
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(size));
    headers.insert(header::CACHE_CONTROL, KEPT);
    headers.insert(header::CONTENT_SECURITY_POLICY, POLICY);
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(header::ETAG, tag);
    }
    Ok(response)
}
