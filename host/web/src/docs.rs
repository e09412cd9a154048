//! `/api/docs`: a page of our own that renders the OpenAPI document. Nothing of it comes from another host and no
//! script stands in the page, so it runs under a content security policy that allows neither.

use std::sync::Arc;

use axum::Router;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, header};

use crate::body::BodyBounds;
use crate::error::JSON;
use crate::guard::{Gate, GuardLayer};
use crate::routes::Access;

const PAGE: &str = include_str!("docs/page.html");
const SCRIPT: &str = include_str!("docs/page.js");
const STYLE: &str = include_str!("docs/page.css");

/// Without `upgrade-insecure-requests`: on a plain-HTTP host that would keep the page from its own script.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; \
     form-action 'none'; frame-ancestors 'self'",
);

/// `first_route` numbers the pages in the throttle's keys.
pub(crate) fn router(document: String, gate: &Arc<Gate>, limit: Option<u32>, first_route: u32) -> Router {
    let document = Bytes::from(document);
    let pages = [
        (
            "/api/docs",
            get(|| async { page(PAGE.into(), HeaderValue::from_static("text/html; charset=utf-8")) }),
        ),
        (
            "/api/docs/page.js",
            get(|| async {
                page(
                    SCRIPT.into(),
                    HeaderValue::from_static("text/javascript; charset=utf-8"),
                )
            }),
        ),
        (
            "/api/docs/page.css",
            get(|| async { page(STYLE.into(), HeaderValue::from_static("text/css; charset=utf-8")) }),
        ),
        (
            "/api/docs/openapi.json",
            get(move || async move { page(document, JSON) }),
        ),
    ];
    let guard = |route| {
        GuardLayer::new(
            Arc::clone(gate),
            Access::Public,
            limit,
            BodyBounds::new(false, None),
            route,
        )
    };
    (first_route..)
        .zip(pages)
        .fold(Router::new(), |router, (route, (path, method_router))| {
            router.route(path, method_router.route_layer(guard(route)))
        })
}

fn page(body: Bytes, kind: HeaderValue) -> Response {
    let mut headers = HeaderMap::with_capacity(24);
    headers.insert(header::CONTENT_TYPE, kind);
    headers.insert(header::CONTENT_SECURITY_POLICY, POLICY);
    (headers, body).into_response()
}
