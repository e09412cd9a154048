//! Route of the metrics in the Prometheus format.

use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use qm_kernel::ErrorKind;
use qm_web::{ApiError, ApiResult};

use crate::routes::Aside;
use crate::service::metrics::{CONTENT_TYPE, render};

/// Requests, engines, plugins, database, events, realtime channel and process in the Prometheus text format.
#[utoipa::path(
    get,
    path = "/api/system/metrics",
    tag = "system",
    responses((status = 200, body = String, content_type = "text/plain"))
)]
pub(in crate::routes) async fn metrics(State(aside): State<Aside>) -> ApiResult<Response> {
    let text = render(&aside.metrics).map_err(|error| {
        ApiError::new(ErrorKind::Internal, "the metrics cannot be written").with_source(error)
    })?;
    let kind = HeaderValue::from_static(CONTENT_TYPE);
    Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
}
