//! The bytes of files: tickets, streams with ranges, downloads.

use axum::body::Body as Bytes;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use qm_web::{ApiResult, Auth, Body, Client, Created, Framable, Params};

use super::{App, TAG, caller, faults};
use crate::dto::answers::TicketView;
use crate::dto::requests::{PathBody, PathQuery, StreamQuery};
use crate::model::range::{Asked, Span, asked};
use crate::service::{Content, Media};

/// What an answer that nobody may keep says of that.
const NOT_KEPT: HeaderValue = HeaderValue::from_static("private, max-age=0, no-store");
/// In front of an SVG's policy: it may hold scripts.
const SVG_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; sandbox; ";
/// `attr-char` of RFC 5987, complemented.
const NOT_ATTR: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'!')
    .remove(b'#')
    .remove(b'$')
    .remove(b'&')
    .remove(b'+')
    .remove(b'-')
    .remove(b'.')
    .remove(b'^')
    .remove(b'_')
    .remove(b'`')
    .remove(b'|')
    .remove(b'~');

/// A ticket to stream one file for four hours, for players that cannot send a bearer token.
#[utoipa::path(
    post, path = "/api/files/media-ticket", tag = TAG,
    request_body = Body<PathBody>,
    responses((status = 201, body = TicketView), faults::Ticket),
)]
pub async fn media_ticket(
    State(app): App,
    auth: Auth,
    client: Client,
    Body(body): Body<PathBody>,
) -> ApiResult<Created<TicketView>> {
    Ok(Created(
        app.issue_ticket(&caller(auth, client), &body.path).await?,
    ))
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
    let mut response = plan.answer(&media, method == Method::HEAD);
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
    let mut response = Plan::new(&media, Asked::Whole, String::new).answer(&media, method == Method::HEAD);
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

/// What is going to be sent.
struct Plan {
    status: StatusCode,
    content_type: String,
    content_range: Option<String>,
    length: u64,
    pieces: Vec<Content>,
}

impl Plan {
    fn new(media: &Media, wanted: Asked, boundary: impl FnOnce() -> String) -> Self {
        let size = media.size;
        let plan = |status, content_range, span: Span| Plan {
            status,
            content_type: media.mime.to_owned(),
            content_range,
            length: span.len(),
            pieces: vec![Content::Span(span)],
        };
        let whole = Span { start: 0, end: size };
        match wanted {
            Asked::Whole => plan(StatusCode::OK, None, whole),
            Asked::One(span) => plan(StatusCode::PARTIAL_CONTENT, Some(span.content_range(size)), span),
            Asked::Nothing => Plan {
                pieces: Vec::new(),
                length: 0,
                ..plan(
                    StatusCode::RANGE_NOT_SATISFIABLE,
                    Some(format!("bytes */{size}")),
                    whole,
                )
            },
            Asked::Several(spans) => Self::several(media, &spans, &boundary()),
        }
    }

    /// A part a range, each with its own headers.
    fn several(media: &Media, spans: &[Span], boundary: &str) -> Self {
        let mut length = 0;
        let mut pieces = Vec::with_capacity(spans.len() * 2 + 1);
        for (index, span) in spans.iter().enumerate() {
            let head = format!(
                "{}--{boundary}\r\nContent-Type: {}\r\nContent-Range: {}\r\n\r\n",
                if index == 0 { "" } else { "\r\n" },
                media.mime,
                span.content_range(media.size),
            );
            length += head.len() as u64 + span.len();
            pieces.push(Content::Text(head.into()));
            pieces.push(Content::Span(*span));
        }
        let end = format!("\r\n--{boundary}--\r\n");
        length += end.len() as u64;
        pieces.push(Content::Text(end.into()));
        Self {
            status: StatusCode::PARTIAL_CONTENT,
            content_type: format!("multipart/byteranges; boundary={boundary}"),
            content_range: None,
            length,
            pieces,
        }
    }

    fn answer(self, media: &Media, head_only: bool) -> Response {
        let body = if head_only || self.length == 0 {
            Bytes::empty()
        } else {
            Bytes::from_stream(media.read(self.pieces))
        };
        let mut response = (self.status, body).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from(self.length));
        set(headers, header::CONTENT_TYPE, &self.content_type);
        if let Some(range) = &self.content_range {
            set(headers, header::CONTENT_RANGE, range);
        }
        response
    }
}

/// A value that no header can hold is left out.
fn set(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

/// `inline; filename="plain"; filename*=UTF-8''exact`, after RFC 6266: old readers take the first name, others the second.
fn disposition(kind: &str, name: &str) -> String {
    let plain: String = name
        .chars()
        .map(|c| {
            let safe = c == ' ' || (c.is_ascii_graphic() && !matches!(c, '"' | '\\' | '%' | ';'));
            if safe { c } else { '_' }
        })
        .collect();
    format!(
        "{kind}; filename=\"{plain}\"; filename*=UTF-8''{}",
        utf8_percent_encode(name, NOT_ATTR)
    )
}

#[cfg(test)]
mod tests {
    use super::disposition;

    #[test]
    fn names_stand_in_both_forms() {
        for (name, header) in [
            (
                "a b.mkv",
                "inline; filename=\"a b.mkv\"; filename*=UTF-8''a%20b.mkv",
            ),
            (
                "\u{fc}ber \"x\";\r\n.txt",
                "inline; filename=\"_ber _x____.txt\"; filename*=UTF-8''%C3%BCber%20%22x%22%3B%0D%0A.txt",
            ),
            (
                "100%.nfo",
                "inline; filename=\"100_.nfo\"; filename*=UTF-8''100%25.nfo",
            ),
        ] {
            assert_eq!(disposition("inline", name), header);
        }
    }
}
