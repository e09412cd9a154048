//! `/api/torrents/parking`

#[cfg(test)]
mod tests;

use std::sync::Arc;

use axum::extract::State;
use qm_engines::samples::of_torrent;
use qm_kernel::Permission as P;
use qm_platform::ActingError;
use qm_web::{ApiResult, Body, By, Created, Json, Params, Path, Routes, faults, routes};

use crate::dto::{
    EngineQuery, ParkedTorrentView, RulesInput, RulesView, SweepView, UnparkInput, UnparkedView,
};
use crate::error::ParkingError as E;
use crate::service::{ParkingLot, TO_PARK};

type App = State<Arc<ParkingLot>>;

faults! {
    List => vec![E::NoSuchEngine];
    Settings => with_user(Vec::new());
    Run => with_user(vec![E::Slow, E::Stopping]);
    Unpark => of_torrent().into_iter().map(E::Engine).collect::<Vec<_>>();
}

fn with_user(mut errors: Vec<E>) -> Vec<E> {
    errors.extend(ActingError::list_refusals().map(E::Acting));
    errors
}

/// All routes of this area, still without their state.
pub fn routes() -> Routes<Arc<ParkingLot>> {
    Routes::new()
        .add(routes!(list_parked).need(P::TorrentsView))
        .add(routes!(show_rules).need(P::TorrentsView))
        .add(routes!(change_rules).need_all(TO_PARK))
        .add(routes!(run_sweep).need_all(TO_PARK))
        .add(routes!(unpark).need(P::TorrentsResume))
}

/// Lists the torrents that are parked, those parked last first: paused because nobody shares them, and started from time to time
/// to see if somebody does again.
#[utoipa::path(
    get, path = "/api/torrents/parking", tag = "torrents", params(Params::<EngineQuery>),
    responses((status = 200, body = Vec<ParkedTorrentView>), List)
)]
pub async fn list_parked(
    State(app): App,
    Params(query): Params<EngineQuery>,
) -> ApiResult<Json<Vec<ParkedTorrentView>>> {
    let parked = app.list(query.engine_id.as_deref()).await?;
    Ok(Json(parked.into_iter().map(ParkedTorrentView::new).collect()))
}

/// Shows the rules by which torrents are parked and probed.
#[utoipa::path(
    get, path = "/api/torrents/parking/settings", tag = "torrents", responses((status = 200, body = RulesView))
)]
pub async fn show_rules(State(app): App) -> ApiResult<Json<RulesView>> {
    Ok(Json(app.find_rules().await?.into()))
}

/// Changes some of the rules. When parking is switched off, torrents that are parked stay so, and no more are started; probes under
/// way are ended.
#[utoipa::path(
    patch, path = "/api/torrents/parking/settings", tag = "torrents", request_body = Body<RulesInput>,
    responses((status = 200, body = RulesView), Settings)
)]
pub async fn change_rules(
    State(app): App,
    By(by): By,
    Body(body): Body<RulesInput>,
) -> ApiResult<Json<RulesView>> {
    Ok(Json(
        app.change_rules(by.caller(), body.into_change()).await?.into(),
    ))
}

/// Passes over all engines now instead of with the next sweep, and answers when that has ended. A probe that began less than a
/// minute ago goes on.
#[utoipa::path(
    post, path = "/api/torrents/parking/run", tag = "torrents", responses((status = 201, body = SweepView), Run)
)]
pub async fn run_sweep(State(app): App, By(by): By) -> ApiResult<Created<SweepView>> {
    Ok(Created(app.run(by.caller()).await?.into()))
}

/// Has a parked torrent run as before; its age counts from now. Nothing happens to a torrent that is not parked.
#[utoipa::path(
    post, path = "/api/torrents/parking/{hash}/unpark", tag = "torrents", params(("hash" = String, Path)),
    request_body = Body<UnparkInput>, responses((status = 201, body = UnparkedView), Unpark)
)]
pub async fn unpark(
    State(app): App,
    By(by): By,
    Path(hash): Path<String>,
    Body(body): Body<UnparkInput>,
) -> ApiResult<Created<UnparkedView>> {
    app.unpark(by.caller(), &body.engine_id, &hash).await?;
    Ok(Created(UnparkedView { success: true }))
}
