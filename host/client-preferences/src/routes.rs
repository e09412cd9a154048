//! `/api/engines/{id}/preferences`: preferences of a torrent client itself.

use std::sync::Arc;

use axum::extract::State;
use qm_platform::ActingError;
use qm_platform::config_schema::BadSchema;
use qm_ports::preferences::PreferencesError as Told;
use qm_web::{ApiResult, Auth, Body, By, Json, Path, Routes, faults, routes};

use crate::dto::{Changes, PreferencesView};
use crate::error::PreferencesError as E;
use crate::service::{NEEDED, Preferences};

type App = State<Arc<Preferences>>;

faults! {
    Read => faults();
    Change => faults().into_iter().chain([E::Rules(Vec::new())]).collect::<Vec<_>>();
}

fn faults() -> Vec<E> {
    let told = Told::CODES.iter().map(|(kind, code)| {
        E::Engine(Told {
            kind: *kind,
            code,
            message: "…".to_owned(),
        })
    });
    let schema = E::Schema {
        engine: "<engine>".to_owned(),
        source: BadSchema::unusable(),
    };
    let acting = [
        ActingError::Gone,
        ActingError::Inactive,
        ActingError::Lacks("…".to_owned()),
    ];
    told.chain([schema]).chain(acting.map(E::Acting)).collect()
}

/// All routes of this area, still without their state.
pub fn routes() -> Routes<Arc<Preferences>> {
    Routes::new()
        .add(routes!(read_preferences).need(NEEDED))
        .add(routes!(change_preferences).need(NEEDED))
}

/// Tells the preferences of an engine's torrent client, as far as its plugin offers them. What runs programs on the client's machine, or
/// decides who reaches the client, is left out.
#[utoipa::path(
    get, path = "/api/engines/{id}/preferences", tag = "engines", params(("id" = String, Path)),
    responses((status = 200, body = PreferencesView), Read)
)]
async fn read_preferences(
    State(app): App,
    Auth(principal): Auth,
    Path(id): Path<String>,
) -> ApiResult<Json<PreferencesView>> {
    let shown = app.read(&principal, &id).await?;
    Ok(Json(PreferencesView::new(id, shown)))
}

/// Changes preferences of an engine's torrent client, and answers how they are then. Each change is held against the type and the
/// bounds that `GET` tells; if one does not fit, none is made. A value that has the client remove torrents needs `torrents.delete` too; one
/// that has it remove data is not taken.
#[utoipa::path(
    patch, path = "/api/engines/{id}/preferences", tag = "engines", params(("id" = String, Path)),
    request_body = Body<Changes>, responses((status = 200, body = PreferencesView), Change)
)]
async fn change_preferences(
    State(app): App,
    By(requester): By,
    Path(id): Path<String>,
    Body(changes): Body<Changes>,
) -> ApiResult<Json<PreferencesView>> {
    let shown = app.change(requester.caller(), &id, changes.0).await?;
    Ok(Json(PreferencesView::new(id, shown)))
}
