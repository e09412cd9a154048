//! Extractors of a request's input: [`Body`] for JSON and forms, [`Params`] for the query string. Bounds: the
//! route's limit of a body, by default 16 KiB without a token and 1 MiB with one; [`Properties`] limits JSON,
//! 16,384 pairs of a form, 1,024 parameters of a query.

use std::borrow::Cow;
use std::error::Error;
use std::io;

use axum::extract::{FromRequest, FromRequestParts, Request};
use bytes::{Bytes, BytesMut};
use http::request::Parts;
use http::{Extensions, HeaderMap, StatusCode, header};
use http_body::Body as _;
use http_body_util::BodyExt;
use qm_kernel::ErrorKind;
use url::form_urlencoded;

use crate::error::ApiError;
use crate::fields::{Fields, FromBody, FromQuery, MAX_PROPERTIES, Pairs, Properties};

/// Largest body without a token, in bytes.
pub(crate) const STRANGERS_BODY: usize = 16 * 1024;
/// Default limit of a body with a token, in bytes.
pub(crate) const DEFAULT_BODY: usize = 1024 * 1024;

/// Number of bytes of a refused body that are still read: without a token, and with one.
const STRANGERS_DRAIN: usize = 64 * 1024;
const MAX_DRAIN: usize = 100 * 1024 * 1024;

const MAX_FORM: usize = 16_384;

/// Limits for reading a request's body; set by the route's guard in the request's extensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BodyBounds {
    /// Largest body, in bytes.
    pub(crate) limit: usize,
    /// Largest refused body in bytes that is read to its end.
    pub(crate) drain: usize,
}

impl BodyBounds {
    /// `limit` is the route's own, if it has one.
    pub(crate) fn new(needs_token: bool, limit: Option<usize>) -> Self {
        let (usual, drain) = if needs_token {
            (DEFAULT_BODY, MAX_DRAIN)
        } else {
            (STRANGERS_BODY, STRANGERS_DRAIN)
        };
        Self {
            limit: limit.unwrap_or(usual),
            drain,
        }
    }

    pub(crate) fn from_extensions(extensions: &Extensions) -> Self {
        extensions.get().copied().unwrap_or(Self::new(false, None))
    }
}

/// A validated body.
#[derive(Clone, Copy, Debug)]
pub struct Body<T>(pub T);

impl<T: FromBody, S: Sync> FromRequest<S> for Body<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _state: &S) -> Result<Self, ApiError> {
        let (parts, body) = request.into_parts();
        let bytes = read_all(body, BodyBounds::from_extensions(&parts.extensions)).await?;
        if bytes.is_empty() && !T::OPTIONAL {
            return Err(ApiError::new(ErrorKind::BadRequest, "A request body is required")
                .with_code("bad_request.no_body"));
        }
        parse(&parts.headers, &bytes, TAKEN).map(Body)
    }
}

/// A validated query string.
#[derive(Clone, Copy, Debug)]
pub struct Params<T>(pub T);

impl<T: FromQuery, S: Sync> FromRequestParts<S> for Params<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ApiError> {
        let query = parts.uri.query().unwrap_or_default();
        let pairs = pairs(query.as_bytes(), MAX_PROPERTIES, "The query has")?;
        let mut fields = Fields::text(&pairs);
        let value = T::from_query(&mut fields);
        fields.finish()?;
        Ok(Params(value))
    }
}

/// Path parameters; a text that is not UTF-8, or holds a NUL, matches no row, so it is a 404 like any other
/// unknown id.
#[derive(Clone, Debug)]
pub struct Path<T>(pub T);

impl<T: serde::de::DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Path<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        match axum::extract::Path::<T>::from_request_parts(parts, state).await {
            // PostgreSQL's TEXT cannot hold NUL, so no row has such an id.
            Ok(_) if parts.uri.path().contains("%00") => {
                Err(ApiError::not_found(&parts.method, parts.uri.path()))
            }
            Ok(axum::extract::Path(value)) => Ok(Path(value)),
            Err(rejection) if rejection.status().is_client_error() => {
                Err(ApiError::not_found(&parts.method, parts.uri.path()))
            }
            Err(rejection) => Err(
                ApiError::new(ErrorKind::Internal, "path parameters do not fit the route")
                    .with_source(rejection),
            ),
        }
    }
}

pub(crate) async fn read_all(mut body: axum::body::Body, bounds: BodyBounds) -> Result<Bytes, ApiError> {
    let announced = body.size_hint().lower();
    // Longer than we would ever read: no need to wait for it.
    if announced > bounds.drain.max(bounds.limit) as u64 {
        return Err(ApiError::body_too_large());
    }
    let mut whole = BytesMut::with_capacity(announced.min(bounds.limit as u64) as usize);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(cut_short)?;
        let data = frame.data_ref().map_or(&[][..], |data| data);
        if whole.len() + data.len() > bounds.limit {
            let read = whole.len() + data.len();
            drop(whole);
            drain(body, bounds.drain.saturating_sub(read)).await;
            return Err(ApiError::body_too_large());
        }
        whole.extend_from_slice(data);
    }
    Ok(whole.freeze())
}

/// Reads the rest of a refused body, up to a limit: a caller that is still sending would see a broken
/// connection instead of the answer.
async fn drain(mut body: axum::body::Body, most: usize) {
    let mut read = 0;
    while read <= most
        && let Some(Ok(frame)) = body.frame().await
    {
        read += frame.data_ref().map_or(0, Bytes::len);
    }
}

/// Error for an incomplete body: its caller left, or took too long.
pub(crate) fn cut_short(error: impl Into<Box<dyn Error + Send + Sync>>) -> ApiError {
    let error = error.into();
    let answer = if io_cause(&*error).is_some_and(|cause| cause.kind() == io::ErrorKind::TimedOut) {
        ApiError::with_status(
            StatusCode::REQUEST_TIMEOUT,
            "The request body did not come in time",
        )
    } else {
        ApiError::new(ErrorKind::BadRequest, "The request body ended early").with_code("bad_request.body_cut")
    };
    answer.with_source(error)
}

/// The connection's own error, if it is the cause.
pub(crate) fn io_cause<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e io::Error> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        cause = error.source();
    }
    None
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Json,
    Form,
}

const JSON: &str = "application/json";
const FORM: &str = "application/x-www-form-urlencoded";

/// Accepted content types, for the answer to another one.
pub(crate) const TAKEN: &str = "application/json or application/x-www-form-urlencoded";

/// Format by the content type; a body without one is read as JSON.
fn format(headers: &HeaderMap, taken: &str) -> Result<Format, ApiError> {
    let Some(value) = headers.get(header::CONTENT_TYPE) else {
        return Ok(Format::Json);
    };
    let text = String::from_utf8_lossy(value.as_bytes());
    let essence = text.split(';').next().unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case(JSON) {
        Ok(Format::Json)
    } else if essence.eq_ignore_ascii_case(FORM) {
        Ok(Format::Form)
    } else {
        Err(ApiError::unsupported(essence, taken))
    }
}

/// Reads and validates a whole body that is not multipart; one of no bytes is an empty object.
pub(crate) fn parse<T: FromBody>(headers: &HeaderMap, bytes: &[u8], taken: &str) -> Result<T, ApiError> {
    if bytes.is_empty() {
        return from_json(&Properties::none());
    }
    match format(headers, taken)? {
        Format::Json => from_json(&Properties::read(bytes)?),
        Format::Form => from_pairs(&pairs(bytes, MAX_FORM, "The form has")?),
    }
}

/// Decodes `a=1&b=2`.
fn pairs<'a>(text: &'a [u8], most: usize, what: &str) -> Result<Pairs<'a>, ApiError> {
    let pairs: Pairs<'_> = form_urlencoded::parse(text).take(most + 1).collect();
    if pairs.len() > most {
        let message = format!("{what} too many fields: send no more than {most}");
        return Err(ApiError::new(ErrorKind::BadRequest, message).with_code("bad_request.too_many_fields"));
    }
    Ok(pairs)
}

fn from_json<T: FromBody>(properties: &Properties<'_>) -> Result<T, ApiError> {
    let mut fields = Fields::json(properties);
    let value = T::from_body(&mut fields);
    fields.finish()?;
    Ok(value)
}

pub(crate) fn from_pairs<T: FromBody>(pairs: &[(Cow<'_, str>, Cow<'_, str>)]) -> Result<T, ApiError> {
    let mut fields = Fields::text(pairs);
    let value = T::from_body(&mut fields);
    fields.finish()?;
    Ok(value)
}

impl FromBody for () {
    const OPTIONAL: bool = true;

    fn from_body(_fields: &mut Fields<'_>) -> Self {}
}
