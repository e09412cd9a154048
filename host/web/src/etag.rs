//! Weak validators of JSON answers to GET, and 304 for a caller with the same version. Bounds: an answer over
//! 8 MiB, or a streamed one, gets no tag.

use std::hash::Hasher;

use axum::body::Body;
use axum::response::Response;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use http_body::Body as _;
use http_body_util::BodyExt;

const MAX_TAGGED: u64 = 8 * 1024 * 1024;

/// `asked` is the request's `If-None-Match`.
pub(crate) async fn apply(asked: Option<&HeaderValue>, response: Response) -> Response {
    if response.status() != StatusCode::OK {
        return response;
    }
    let mut response = if response.headers().contains_key(header::ETAG) {
        response
    } else {
        tag(response).await
    };
    let same = match (asked, response.headers().get(header::ETAG)) {
        (Some(asked), Some(tag)) => matches(asked, tag),
        (None, _) | (_, None) => false,
    };
    if same {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        *response.body_mut() = Body::empty();
        response.headers_mut().remove(header::CONTENT_TYPE);
        response.headers_mut().remove(header::CONTENT_LENGTH);
    }
    response
}

async fn tag(response: Response) -> Response {
    let whole = response
        .body()
        .size_hint()
        .exact()
        .is_some_and(|size| size <= MAX_TAGGED);
    if !whole || !is_json(response.headers()) {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    // A body of known size lies in memory: collecting it cannot wait and does not fail.
    let Ok(collected) = body.collect().await else {
        return Response::from_parts(parts, Body::empty());
    };
    let bytes = collected.to_bytes();
    let mut hasher = std::hash::DefaultHasher::new();
    hasher.write(&bytes);
    if let Ok(value) = HeaderValue::try_from(format!("W/\"{:x}-{:016x}\"", bytes.len(), hasher.finish())) {
        parts.headers.insert(header::ETAG, value);
    }
    Response::from_parts(parts, Body::from(bytes))
}

fn is_json(headers: &HeaderMap) -> bool {
    headers
        .get(header::CONTENT_TYPE)
        .is_some_and(|value| value.as_bytes().starts_with(b"application/json"))
}

/// Weak comparison: `W/` does not belong to the tag.
fn matches(asked: &HeaderValue, tag: &HeaderValue) -> bool {
    let Ok(tag) = tag.to_str() else { return false };
    let opaque = |text: &str| text.trim().trim_start_matches("W/").to_owned();
    asked
        .to_str()
        .is_ok_and(|list| list.trim() == "*" || list.split(',').any(|one| opaque(one) == opaque(tag)))
}
