//! Successful answers: 200 and 201 with JSON, and an already serialised body.

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::{BufMut, Bytes, BytesMut};
use http::{HeaderName, HeaderValue, StatusCode, header};
use qm_kernel::ErrorKind;
use serde::Serialize;

use crate::error::{ApiError, JSON};

/// 200 with a JSON body.
#[derive(Clone, Debug)]
pub struct Json<T>(pub T);

/// 201 with a JSON body, the answer of every successful POST.
#[derive(Clone, Debug)]
pub struct Created<T>(pub T);

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        json(StatusCode::OK, &self.0)
    }
}

impl<T: Serialize> IntoResponse for Created<T> {
    fn into_response(self) -> Response {
        json(StatusCode::CREATED, &self.0)
    }
}

fn json(status: StatusCode, value: &impl Serialize) -> Response {
    let mut writer = BytesMut::with_capacity(256).writer();
    match serde_json::to_writer(&mut writer, value) {
        Ok(()) => (
            status,
            [(header::CONTENT_TYPE, JSON)],
            writer.into_inner().freeze(),
        )
            .into_response(),
        Err(error) => ApiError::new(ErrorKind::Internal, "a response cannot be serialised")
            .with_source(error)
            .into_response(),
    }
}

/// Extension of an answer without `X-Frame-Options`, whose own policy says who may frame it.
#[derive(Clone, Copy, Debug)]
pub struct Framable;

/// 200 with JSON that its owner has serialised and tagged; the edge neither hashes nor copies it.
#[derive(Clone, Debug)]
pub struct Prepared {
    pub body: Bytes,
    /// A weak validator, e.g. `W/"4f-1a2b"`; changes whenever `body` does.
    pub etag: HeaderValue,
    pub headers: Vec<(HeaderName, HeaderValue)>,
}

impl IntoResponse for Prepared {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::from(self.body));
        let headers = response.headers_mut();
        headers.reserve(24);
        headers.insert(header::CONTENT_TYPE, JSON);
        headers.insert(header::ETAG, self.etag);
        headers.extend(self.headers);
        response
    }
}
