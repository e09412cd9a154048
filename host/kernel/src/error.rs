//! Error kinds: what a failure means to the caller, without HTTP. `web` gives each its status. And errors as log lines take them.

use std::error::Error;

/// An error as a field of a log line, which then tells its causes as well: `tracing::warn!(error = as_error(&error), "…")`.
pub fn as_error<E: Error + 'static>(error: &E) -> &(dyn Error + 'static) {
    error
}

/// The class of an expected failure. An area's error enum maps every variant to one kind and one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// 400: the caller's input is wrong.
    BadRequest,
    /// 401: no usable credential.
    Unauthorized,
    /// 403: a good credential that may not do this.
    Forbidden,
    /// 404
    NotFound,
    /// 409: it exists already, or has changed meanwhile.
    Conflict,
    /// 413
    PayloadTooLarge,
    /// 429
    TooManyRequests,
    /// 500: a bug of ours; the message never leaves the log.
    Internal,
    /// 501: the thing that is driven, an engine for one, has no such ability.
    Unsupported,
    /// 502: an engine or another upstream cannot be reached or talks nonsense.
    Upstream,
    /// 503: busy or shutting down; trying again helps.
    Unavailable,
    /// 504: an upstream fell silent.
    UpstreamTimeout,
}

impl ErrorKind {
    pub const fn status(self) -> u16 {
        match self {
            ErrorKind::BadRequest => 400,
            ErrorKind::Unauthorized => 401,
            ErrorKind::Forbidden => 403,
            ErrorKind::NotFound => 404,
            ErrorKind::Conflict => 409,
            ErrorKind::PayloadTooLarge => 413,
            ErrorKind::TooManyRequests => 429,
            ErrorKind::Internal => 500,
            ErrorKind::Unsupported => 501,
            ErrorKind::Upstream => 502,
            ErrorKind::Unavailable => 503,
            ErrorKind::UpstreamTimeout => 504,
        }
    }

    /// The word that stands in `code` of an error body, or begins it: an area names the thing behind a dot, as in
    /// `not_found.torrent`. Clients compare it, so it never changes.
    pub const fn code(self) -> &'static str {
        match self {
            ErrorKind::BadRequest => "bad_request",
            ErrorKind::Unauthorized => "unauthorized",
            ErrorKind::Forbidden => "forbidden",
            ErrorKind::NotFound => "not_found",
            ErrorKind::Conflict => "conflict",
            ErrorKind::PayloadTooLarge => "payload_too_large",
            ErrorKind::TooManyRequests => "throttled",
            ErrorKind::Internal => "internal",
            ErrorKind::Unsupported => "unsupported",
            ErrorKind::Upstream => "upstream",
            ErrorKind::Unavailable => "unavailable",
            ErrorKind::UpstreamTimeout => "upstream_timeout",
        }
    }

    /// The reason phrase that stands in `error` of an error body.
    pub const fn reason(self) -> &'static str {
        match self {
            ErrorKind::BadRequest => "Bad Request",
            ErrorKind::Unauthorized => "Unauthorized",
            ErrorKind::Forbidden => "Forbidden",
            ErrorKind::NotFound => "Not Found",
            ErrorKind::Conflict => "Conflict",
            ErrorKind::PayloadTooLarge => "Payload Too Large",
            ErrorKind::TooManyRequests => "Too Many Requests",
            ErrorKind::Internal => "Internal Server Error",
            ErrorKind::Unsupported => "Not Implemented",
            ErrorKind::Upstream => "Bad Gateway",
            ErrorKind::Unavailable => "Service Unavailable",
            ErrorKind::UpstreamTimeout => "Gateway Timeout",
        }
    }
}
