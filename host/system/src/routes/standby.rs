//! Answers of a standby server.

use axum::http::{HeaderValue, Method, header};
use axum::response::{IntoResponse as _, Response};
use qm_kernel::ErrorKind;
use qm_platform::{Node, STANDBY};
use qm_web::{ApiError, Doorkeeper};
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

/// Time until the next try: a take-over takes some seconds.
const RETRY_AFTER: HeaderValue = HeaderValue::from_static("5");
/// Routes about the process that a standby answers too. Metrics still need their permission.
const ALWAYS_OPEN: [&str; 3] = ["/api/system/live", "/api/system/ready", "/api/system/metrics"];

/// Doorkeeper that admits requests while the server is active.
pub fn doorkeeper(node: &Node) -> Doorkeeper {
    let node = node.clone();
    Doorkeeper::new(move |method, path| {
        if ALWAYS_OPEN.contains(&path) {
            return None;
        }
        let only_reads = matches!(*method, Method::GET | Method::HEAD);
        node.turns_away(only_reads).map(|sentence| refusal(&sentence))
    })
}

/// The answer 503 `standby`.
fn refusal(sentence: &str) -> Response {
    let error = ApiError::new(ErrorKind::Unavailable, sentence.to_owned());
    answer(error.with_code(STANDBY))
}

/// The answer 503 `standby` of the readiness route.
pub(super) fn not_ready(sentence: String, database: bool) -> Response {
    let body = NotReady {
        status_code: ErrorKind::Unavailable.status(),
        message: sentence,
        error: ErrorKind::Unavailable.reason(),
        code: STANDBY,
        status: STANDBY,
        database,
    };
    answer(ApiError::custom(ErrorKind::Unavailable, json!(body)))
}

fn answer(error: ApiError) -> Response {
    let mut response = error.as_expected().into_response();
    response.headers_mut().insert(header::RETRY_AFTER, RETRY_AFTER);
    response
}

/// Answer of a standby: an error, with the fields of the readiness answer.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct NotReady {
    /// Always 503.
    status_code: u16,
    /// Name of the active server, if known.
    message: String,
    /// Always `Service Unavailable`.
    error: &'static str,
    /// Always `standby`.
    code: &'static str,
    /// Always `standby`.
    status: &'static str,
    /// True when the database answers.
    database: bool,
}
