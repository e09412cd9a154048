//! Error type of handlers, and the error bodies of the contract. A cause chain travels beside the response
//! and is logged once, by the edge; nothing of it reaches the body.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use qm_kernel::ErrorKind;
use serde::Serialize;
use serde_json::Value;

pub type ApiResult<T> = Result<T, ApiError>;

/// An error answer. Each area converts its own error enum into it with one match.
pub struct ApiError(Box<Inner>);

struct Inner {
    status: StatusCode,
    code: &'static str,
    shape: Shape,
    source: Option<Arc<dyn Error + Send + Sync>>,
    /// True when nothing is wrong, so it is not logged.
    expected: bool,
}

enum Shape {
    /// `{statusCode, code, message}`: a failure without its own text.
    Bare(&'static str),
    /// `{message, error, statusCode, code}`
    Message(Cow<'static, str>),
    /// A list of sentences: every violated rule of a body.
    Messages(Vec<String>),
    Custom(Value),
}

/// Carried in the response's extensions to the edge, which logs it.
#[derive(Clone)]
pub(crate) struct Failure {
    pub(crate) message: String,
    pub(crate) source: Option<Arc<dyn Error + Send + Sync>>,
}

/// The content type of every JSON body.
pub(crate) const JSON: HeaderValue = HeaderValue::from_static("application/json; charset=utf-8");

/// Seconds until a retry, for a server that is busy or not ready.
const LATER: HeaderValue = HeaderValue::from_static("5");

impl ApiError {
    /// A failure with a text for the caller. For [`ErrorKind::Internal`] the text is only logged.
    pub fn new(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Self {
        Self::with_shape(status_of(kind), Shape::Message(message.into()))
    }

    /// All violated rules of a body or query, in the order of the list.
    pub fn validation(messages: Vec<String>) -> Self {
        Self::with_shape(StatusCode::BAD_REQUEST, Shape::Messages(messages)).with_code("bad_request.rules")
    }

    /// `{message: "<reason phrase>", statusCode, code}`, e.g. for a missing token.
    pub fn bare(status: u16) -> Self {
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Self::with_shape(status, Shape::Bare(status.canonical_reason().unwrap_or("Error")))
    }

    /// A body of another shape; it must hold `statusCode` and `message` too. `code` is added.
    pub fn custom(kind: ErrorKind, body: Value) -> Self {
        Self::with_shape(status_of(kind), Shape::Custom(body))
    }

    /// The 429 of the throttle.
    pub(crate) fn throttled() -> Self {
        Self::with_shape(
            StatusCode::TOO_MANY_REQUESTS,
            Shape::Bare("ThrottlerException: Too Many Requests"),
        )
    }

    /// The 413 of a body over its limit.
    pub(crate) fn body_too_large() -> Self {
        let text = "The uploaded file is too large for this endpoint.";
        Self::with_shape(StatusCode::PAYLOAD_TOO_LARGE, Shape::Bare(text))
    }

    pub(crate) fn not_found(method: &http::Method, path: &str) -> Self {
        Self::new(ErrorKind::NotFound, format!("Cannot {method} {path}"))
    }

    /// A text for a status without an [`ErrorKind`], e.g. one that the framework answered.
    pub(crate) fn with_status(status: StatusCode, message: &'static str) -> Self {
        Self::with_shape(status, Shape::Message(message.into()))
    }

    /// The 415 of a body in a format that the route does not read.
    pub(crate) fn unsupported(given: &str, taken: &str) -> Self {
        let given = &given[..given.floor_char_boundary(MAX_SHOWN)];
        let text = format!("A body of the type \"{given}\" cannot be read here: send {taken}");
        Self::with_shape(StatusCode::UNSUPPORTED_MEDIA_TYPE, Shape::Message(text.into()))
    }

    /// The 405 of a path that exists under other methods.
    pub fn method_not_allowed(method: &http::Method, path: &str) -> Self {
        let text = format!("Cannot {method} {path}");
        Self::with_shape(StatusCode::METHOD_NOT_ALLOWED, Shape::Message(text.into()))
    }

    /// Sets the word in `code`: stable, snake case, the word of the [`ErrorKind`], then a dot and the
    /// subject, e.g. `not_found.torrent`.
    pub fn with_code(mut self, code: &'static str) -> Self {
        self.0.code = code;
        self
    }

    fn with_shape(status: StatusCode, shape: Shape) -> Self {
        Self(Box::new(Inner {
            status,
            code: code_of(status),
            shape,
            source: None,
            expected: false,
        }))
    }

    /// Marks an answer of a server in normal state: it is not logged.
    pub fn as_expected(mut self) -> Self {
        self.0.expected = true;
        self
    }

    /// Sets the cause, for the log.
    pub fn with_source(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.0.source = Some(Arc::from(source.into()));
        self
    }

    pub fn status(&self) -> StatusCode {
        self.0.status
    }

    /// The word in `code` of the body; all internal errors share one.
    pub(crate) fn code(&self) -> &'static str {
        if self.0.status == StatusCode::INTERNAL_SERVER_ERROR {
            ErrorKind::Internal.code()
        } else {
            self.0.code
        }
    }

    /// The caller's text, if it is one sentence.
    pub(crate) fn text(&self) -> Option<String> {
        match &self.0.shape {
            _ if self.0.status == StatusCode::INTERNAL_SERVER_ERROR => None,
            Shape::Bare(text) => Some((*text).to_owned()),
            Shape::Message(text) => Some(text.clone().into_owned()),
            Shape::Custom(body) => body.get("message").and_then(Value::as_str).map(str::to_owned),
            Shape::Messages(_) => None,
        }
    }
}

/// The HTTP status of a kind.
fn status_of(kind: ErrorKind) -> StatusCode {
    StatusCode::from_u16(kind.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

/// Default word of a status; every [`ErrorKind`] has its own in [`ErrorKind::code`].
pub(crate) fn code_of(status: StatusCode) -> &'static str {
    match status {
        StatusCode::METHOD_NOT_ALLOWED => "method_not_allowed",
        StatusCode::REQUEST_TIMEOUT => "timeout",
        StatusCode::UNSUPPORTED_MEDIA_TYPE => "unsupported_media_type",
        StatusCode::RANGE_NOT_SATISFIABLE => "range_not_satisfiable",
        StatusCode::UNPROCESSABLE_ENTITY => "unprocessable",
        other => KINDS
            .iter()
            .find(|kind| kind.status() == other.as_u16())
            .map_or("error", |kind| kind.code()),
    }
}

const KINDS: [ErrorKind; 12] = [
    ErrorKind::BadRequest,
    ErrorKind::Unauthorized,
    ErrorKind::Forbidden,
    ErrorKind::NotFound,
    ErrorKind::Conflict,
    ErrorKind::PayloadTooLarge,
    ErrorKind::TooManyRequests,
    ErrorKind::Internal,
    ErrorKind::Unsupported,
    ErrorKind::Upstream,
    ErrorKind::Unavailable,
    ErrorKind::UpstreamTimeout,
];

/// Largest number of bytes of the caller's own words in a message.
const MAX_SHOWN: usize = 100;

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.shape {
            Shape::Bare(text) => f.write_str(text),
            Shape::Message(text) => f.write_str(text),
            Shape::Messages(texts) => f.write_str(&texts.join(", ")),
            Shape::Custom(body) => write!(f, "{body}"),
        }
    }
}

impl fmt::Debug for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ApiError({}, {self})", self.0.status.as_u16())
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireError<'a, M: Serialize> {
    message: M,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    status_code: u16,
    code: &'a str,
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let failure = Failure {
            message: self.to_string(),
            source: self.0.source.clone(),
        };
        let status = self.0.status;
        let status_code = status.as_u16();
        let error = status.canonical_reason();
        let code = self.code();
        let wire = |message: &str, error| {
            serde_json::to_vec(&WireError {
                message,
                error,
                status_code,
                code,
            })
        };
        let body = match &self.0.shape {
            _ if status == StatusCode::INTERNAL_SERVER_ERROR => wire("Internal server error", None),
            Shape::Bare(message) => wire(message, None),
            Shape::Message(message) => wire(message, error),
            Shape::Messages(message) => serde_json::to_vec(&WireError {
                message,
                error,
                status_code,
                code,
            }),
            Shape::Custom(body) => serde_json::to_vec(&with_code_in(body, code)),
        };
        let mut response = (status, [(header::CONTENT_TYPE, JSON)], body.unwrap_or_default()).into_response();
        if status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(header::RETRY_AFTER, LATER);
        }
        if !self.0.expected {
            response.extensions_mut().insert(failure);
        }
        response
    }
}

fn with_code_in(body: &Value, code: &str) -> Value {
    let mut body = body.clone();
    if let Value::Object(fields) = &mut body {
        fields.entry("code").or_insert_with(|| code.into());
    }
    body
}
