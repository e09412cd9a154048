//! `/api/docs`: a page that renders the OpenAPI document. It loads nothing from another host and has no
//! inline script, so it runs under a strict content security policy.

use std::sync::Arc;

use axum::Router;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, header};
use qm_kernel::ErrorKind;
use tokio::sync::OnceCell;

use crate::body::BodyBounds;
use crate::config::DocumentMaker;
use crate::error::{ApiError, ApiResult, JSON};
use crate::guard::{Gate, GuardLayer};
use crate::lanes::{DOCUMENTS, lane_code, lane_kind};
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
pub(crate) fn router(maker: DocumentMaker, gate: &Arc<Gate>, limit: Option<u32>, first_route: u32) -> Router {
    let document = Arc::new(Document {
        maker,
        made: OnceCell::new(),
    });
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
            get(move || async move {
                match document.text().await {
                    Ok(text) => page(text, JSON),
                    Err(error) => error.into_response(),
                }
            }),
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

/// The document, created at the first request.
struct Document {
    maker: DocumentMaker,
    made: OnceCell<Bytes>,
}

impl Document {
    /// The text; after a failure the next request tries again.
    async fn text(&self) -> ApiResult<Bytes> {
        let make = || async {
            let maker = self.maker.clone();
            match DOCUMENTS.run(move |_| maker()).await {
                Ok(Ok(text)) => Ok(Bytes::from(text)),
                Ok(Err(error)) => Err(unmade(&error)),
                Err(error) => {
                    Err(ApiError::new(lane_kind(&error), error.to_string()).with_code(lane_code(&error)))
                }
            }
        };
        self.made.get_or_try_init(make).await.cloned()
    }
}

fn unmade(error: &dyn std::error::Error) -> ApiError {
    ApiError::new(
        ErrorKind::Internal,
        format!("the API document cannot be made: {error}"),
    )
}

fn page(body: Bytes, kind: HeaderValue) -> Response {
    let mut headers = HeaderMap::with_capacity(24);
    headers.insert(header::CONTENT_TYPE, kind);
    headers.insert(header::CONTENT_SECURITY_POLICY, POLICY);
    (headers, body).into_response()
}
