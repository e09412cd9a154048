//! Extractors of a request's input: [`Body`] for JSON and forms, [`Params`] for the query string.
//! Bounds: a body of 25 MB, JSON nested 128 deep.

use std::borrow::Cow;

use axum::extract::{FromRequest, FromRequestParts, Request};
use bytes::{Bytes, BytesMut};
use http::request::Parts;
use http::{HeaderMap, header};
use http_body::Body as _;
use http_body_util::BodyExt;
use qm_kernel::ErrorKind;
use serde_json::{Map, Value};
use url::form_urlencoded;

use crate::error::ApiError;
use crate::fields::{Fields, FromBody, FromQuery, Pairs};

/// Largest JSON or form body, in bytes.
pub(crate) const MAX_BODY: usize = 25 * 1024 * 1024;

/// Largest refused body that is still read to its end, in bytes.
pub(crate) const MAX_DRAIN: usize = 100 * 1024 * 1024;

/// A validated body. No body at all is an empty object.
#[derive(Clone, Copy, Debug)]
pub struct Body<T>(pub T);

impl<T: FromBody, S: Sync> FromRequest<S> for Body<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _state: &S) -> Result<Self, ApiError> {
        let (parts, body) = request.into_parts();
        let bytes = read_all(body).await?;
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
        let pairs: Pairs<'_> = form_urlencoded::parse(query.as_bytes()).collect();
        let mut fields = Fields::text(&pairs);
        let value = T::from_query(&mut fields);
        fields.finish(false)?;
        Ok(Params(value))
    }
}

/// Path parameters; a text that is not UTF-8 matches no row, so it is a 404 like any other unknown id.
#[derive(Clone, Debug)]
pub struct Path<T>(pub T);

impl<T: serde::de::DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Path<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        match axum::extract::Path::<T>::from_request_parts(parts, state).await {
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

pub(crate) async fn read_all(mut body: axum::body::Body) -> Result<Bytes, ApiError> {
    // Announced to be longer than we would ever read: no need to wait for it.
    if body.size_hint().lower() > MAX_DRAIN as u64 {
        return Err(ApiError::body_too_large());
    }
    let mut whole = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| {
            ApiError::new(ErrorKind::BadRequest, "The request body ended early")
                .with_code("bad_request.body_cut")
                .with_source(error)
        })?;
        let data = frame.data_ref().map_or(&[][..], |data| data);
        if whole.len() + data.len() > MAX_BODY {
            drop(whole);
            drain(body).await;
            return Err(ApiError::body_too_large());
        }
        whole.extend_from_slice(data);
    }
    Ok(whole.freeze())
}

/// A caller that is still sending does not listen: it would see a broken connection instead of the answer. So the rest
/// of a refused body is read, up to a point.
async fn drain(mut body: axum::body::Body) {
    let mut read = 0;
    while let Some(Ok(frame)) = body.frame().await {
        read += frame.data_ref().map_or(0, Bytes::len);
        if read > MAX_DRAIN {
            break;
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Json,
    Form,
}

const JSON: &str = "application/json";
const FORM: &str = "application/x-www-form-urlencoded";

/// What the label says; a body without one is taken as JSON.
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

/// What a body may be labelled as, for the answer to one that is not.
pub(crate) const TAKEN: &str = "application/json or application/x-www-form-urlencoded";

/// Reads and validates a whole body that is not multipart.
pub(crate) fn parse<T: FromBody>(headers: &HeaderMap, bytes: &[u8], taken: &str) -> Result<T, ApiError> {
    if bytes.is_empty() {
        return from_json(&Map::new());
    }
    match format(headers, taken)? {
        Format::Json => from_json(&parse_json(bytes)?),
        Format::Form => {
            let pairs: Pairs<'_> = form_urlencoded::parse(bytes).collect();
            from_pairs(&pairs)
        }
    }
}

fn parse_json(bytes: &[u8]) -> Result<Map<String, Value>, ApiError> {
    match serde_json::from_slice::<Value>(bytes) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(_) => Err(
            ApiError::new(ErrorKind::BadRequest, "The body must be a JSON object")
                .with_code("bad_request.json"),
        ),
        Err(error) => {
            Err(ApiError::new(ErrorKind::BadRequest, error.to_string()).with_code("bad_request.json"))
        }
    }
}

fn from_json<T: FromBody>(map: &Map<String, Value>) -> Result<T, ApiError> {
    let mut fields = Fields::json(map);
    let value = T::from_body(&mut fields);
    fields.finish(true)?;
    Ok(value)
}

pub(crate) fn from_pairs<T: FromBody>(pairs: &[(Cow<'_, str>, Cow<'_, str>)]) -> Result<T, ApiError> {
    let mut fields = Fields::text(pairs);
    let value = T::from_body(&mut fields);
    fields.finish(true)?;
    Ok(value)
}

impl FromBody for () {
    fn from_body(_fields: &mut Fields<'_>) -> Self {}
}
