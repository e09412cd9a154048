//! Routes for liveness, readiness and version.

pub(super) mod health;
pub(super) mod metrics;
pub(super) mod update;

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use qm_web::Json;

use super::standby::{NotReady, not_ready};
use super::{Aside, System};
use crate::dto::{Live, Ready, Release};

/// Liveness of the process.
#[utoipa::path(get, path = "/api/system/live", tag = "system", responses((status = 200, body = Live)))]
pub(super) async fn live(State(aside): State<Aside>) -> Json<Live> {
    Json(Live {
        status: "ok",
        uptime: aside.started.elapsed().as_secs_f64(),
    })
}

/// Readiness: the server is active, and the database answers and is writable. Of several servers on one
/// PostgreSQL the standbys answer 503, with `status` and `code` `standby`; the active one always answers 200,
/// and the body tells the state.
#[utoipa::path(
    get,
    path = "/api/system/ready",
    tag = "system",
    responses((status = 200, body = Ready), (status = 503, body = NotReady, description = "Another server is the active one."))
)]
pub(super) async fn ready(State(aside): State<Aside>) -> Response {
    let standing_by = aside.node.standing_by();
    let database = match &standing_by {
        None => aside.db.ping().await,
        // A standby writes nothing, so a readable database is enough.
        Some(_) => aside.db.answers().await,
    };
    match standing_by {
        Some(sentence) => not_ready(sentence, database),
        None => {
            let status = if database { "ok" } else { "degraded" };
            Json(Ready { status, database }).into_response()
        }
    }
}

/// Which product and version this is, and what it was built from.
#[utoipa::path(get, path = "/api/system/version", tag = "system", responses((status = 200, body = Release)))]
pub(super) async fn version(State(system): State<System>) -> Json<Release> {
    Json(system.build.describe(&system.product))
}
