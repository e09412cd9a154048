//! Is it alive, is it ready, what is it.

pub(super) mod health;
pub(super) mod metrics;
pub(super) mod update;

use axum::extract::State;
use qm_web::Json;

use super::Platform;
use super::dto::{Live, Ready, Release};

/// Whether the process answers.
#[utoipa::path(get, path = "/api/system/live", tag = "system", responses((status = 200, body = Live)))]
pub(super) async fn live(State(platform): State<Platform>) -> Json<Live> {
    Json(Live {
        status: "ok",
        uptime: platform.started.elapsed().as_secs_f64(),
    })
}

/// Whether the database answers and can be written. Always 200: the body tells.
#[utoipa::path(get, path = "/api/system/ready", tag = "system", responses((status = 200, body = Ready)))]
pub(super) async fn ready(State(platform): State<Platform>) -> Json<Ready> {
    let database = platform.db.ping().await;
    Json(Ready {
        status: if database { "ok" } else { "degraded" },
        database,
    })
}

/// Which product and version this is, and what it was built from.
#[utoipa::path(get, path = "/api/system/version", tag = "system", responses((status = 200, body = Release)))]
pub(super) async fn version(State(platform): State<Platform>) -> Json<Release> {
    Json(platform.build.describe(&platform.product))
}
