//! Headers of every answer, and cross-origin rules. All values are prebuilt.

use http::{HeaderMap, HeaderName, HeaderValue, header};

macro_rules! fixed {
    ($($name:literal: $value:literal,)*) => {
        [$((HeaderName::from_static($name), HeaderValue::from_static($value)),)*]
    };
}

/// Set unless the handler has set another value.
const SECURITY: [(HeaderName, HeaderValue); 12] = fixed! {
    "strict-transport-security": "max-age=31536000; includeSubDomains",
    "x-content-type-options": "nosniff",
    "x-frame-options": "SAMEORIGIN",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "cross-origin",
    "content-security-policy": "default-src 'self';base-uri 'self';font-src 'self' https: data:;form-action 'self';frame-ancestors 'self';img-src 'self' data:;object-src 'none';script-src 'self';script-src-attr 'none';style-src 'self' https: 'unsafe-inline';upgrade-insecure-requests",
    "origin-agent-cluster": "?1",
    "referrer-policy": "no-referrer",
    "x-dns-prefetch-control": "off",
    "x-download-options": "noopen",
    "x-permitted-cross-domain-policies": "none",
    "x-xss-protection": "0",
};

const TRUE: HeaderValue = HeaderValue::from_static("true");
const ORIGIN: HeaderValue = HeaderValue::from_static("Origin");
const ORIGIN_AND_HEADERS: HeaderValue = HeaderValue::from_static("Origin, Access-Control-Request-Headers");
const METHODS: HeaderValue = HeaderValue::from_static("GET,HEAD,PUT,PATCH,POST,DELETE");

pub(crate) fn secure(headers: &mut HeaderMap) {
    headers.reserve(SECURITY.len() + 4);
    for (name, value) in &SECURITY {
        headers.entry(name).or_insert_with(|| value.clone());
    }
}

/// Origins from which a browser may call.
pub(crate) struct Cors(Vec<HeaderValue>);

impl Cors {
    /// An origin that is no valid header value matches nothing.
    pub(crate) fn new(origins: &[String]) -> Self {
        Self(
            origins
                .iter()
                .filter_map(|origin| HeaderValue::from_str(origin.trim()).ok())
                .collect(),
        )
    }

    /// The request's origin if it is listed: exact text, no wildcard.
    pub(crate) fn allowed(&self, request: &HeaderMap) -> Option<HeaderValue> {
        let origin = request.get(header::ORIGIN)?;
        self.0.iter().find(|listed| *listed == origin).cloned()
    }
}

/// Adds the CORS headers; `allowed` is the listed origin of the request.
pub(crate) fn cross_origin(allowed: Option<HeaderValue>, headers: &mut HeaderMap) {
    headers.append(header::VARY, ORIGIN);
    credentials(allowed, headers);
}

/// Adds the headers of a preflight's 204; the requested headers are echoed.
pub(crate) fn preflight(allowed: Option<HeaderValue>, asked: Option<HeaderValue>, headers: &mut HeaderMap) {
    headers.insert(header::VARY, ORIGIN_AND_HEADERS);
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, METHODS);
    if let Some(asked) = asked {
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, asked);
    }
    credentials(allowed, headers);
}

fn credentials(allowed: Option<HeaderValue>, headers: &mut HeaderMap) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_CREDENTIALS, TRUE);
    if let Some(origin) = allowed {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    }
}
