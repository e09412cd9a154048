//! The bytes of files: tickets, streams with ranges, downloads.

use axum::body::Body as Bytes;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use qm_web::{ApiResult, Body, By, Created, Framable, Params, disposition};

use super::{App, TAG, faults};
use crate::dto::answers::TicketView;
use crate::dto::requests::{PathBody, PathQuery, StreamQuery};

use qm_file_contents::{Media, Plan, asked};

/// Value of `Cache-Control` for an answer that no cache may store.
const NOT_KEPT: HeaderValue = HeaderValue::from_static("private, max-age=0, no-store");
/// Beginning of the content security policy for an SVG, which may hold scripts.
const SVG_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; sandbox; ";

/// A ticket to stream one file for four hours, for players that cannot send a bearer token.
#[utoipa::path(
    post, path = "/api/files/media-ticket", tag = TAG,
    request_body = Body<PathBody>,
    responses((status = 201, body = TicketView), faults::Ticket),
)]
pub async fn media_ticket(
    State(app): App,
    By(requester): By,
    Body(body): Body<PathBody>,
) -> ApiResult<Created<TicketView>> {
    Ok(Created(app.issue_ticket(&requester, &body.path).await?))
}

/// The bytes of a file, for whoever has a ticket for it; answers `Range`, `If-Range` and HEAD.
#[utoipa::path(
    get, path = "/api/files/stream", tag = TAG,
    params(
        ("ticket" = String, Query, description = "From `POST /api/files/media-ticket`."),
        Params::<StreamQuery>,
    ),
    responses(
        (status = 200, description = "The whole file", content_type = "application/octet-stream"),
        (status = 206, description = "A part of it, or several as multipart/byteranges", content_type = "application/octet-stream"),
        (status = 416, description = "The range is not in the file"),
        faults::Stream,
    ),
)]
pub async fn stream_file(
    State(app): App,
    method: Method,
    headers: HeaderMap,
    Params(query): Params<StreamQuery>,
) -> ApiResult<Response> {
    let media = app.stream(query).await?;
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let wanted = asked(
        text(header::RANGE),
        text(header::IF_RANGE),
        &media.validators,
        media.size,
    );
    let mut policy = format!("frame-ancestors {}", app.frame_ancestors());
    if media.mime == "image/svg+xml" {
        policy.insert_str(0, SVG_POLICY);
    }
    let plan = Plan::new(&media, wanted, || app.boundary());
    let mut response = answer(plan, &media, method == Method::HEAD);
    let headers = response.headers_mut();
    set(
        headers,
        header::CONTENT_DISPOSITION,
        &disposition("inline", &media.name),
    );
    set(headers, header::CONTENT_SECURITY_POLICY, &policy);
    set(headers, header::ETAG, &media.validators.etag);
    set(headers, header::LAST_MODIFIED, &media.validators.last_modified);
    headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    headers.insert(header::CACHE_CONTROL, NOT_KEPT);
    response.extensions_mut().insert(Framable);
    Ok(response)
}

/// Download a file.
#[utoipa::path(
    get, path = "/api/files/download", tag = TAG,
    params(Params::<PathQuery>),
    responses((status = 200, description = "The file", content_type = "application/octet-stream"), faults::Download),
)]
pub async fn download_file(
    State(app): App,
    method: Method,
    Params(query): Params<PathQuery>,
) -> ApiResult<Response> {
    let media = app.download(query).await?;
    let mut response = answer(Plan::whole(&media), &media, method == Method::HEAD);
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/octet-stream"),
    );
    set(
        headers,
        header::CONTENT_DISPOSITION,
        &disposition("attachment", &media.name),
    );
    headers.insert(header::CACHE_CONTROL, NOT_KEPT);
    Ok(response)
}

/// The answer that a plan describes, with or without its body.
fn answer(plan: Plan, media: &Media, head_only: bool) -> Response {
    let body = if head_only || plan.length == 0 {
        Bytes::empty()
    } else {
        Bytes::from_stream(media.read(plan.pieces))
    };
    let mut response = (plan.status, body).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(plan.length));
    set(headers, header::CONTENT_TYPE, &plan.content_type);
    if let Some(range) = &plan.content_range {
        set(headers, header::CONTENT_RANGE, range);
    }
    response
}

/// A value that no header can hold is left out.
fn set(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}
