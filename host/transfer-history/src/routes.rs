//! `/api/torrents/stats`: what engines and torrents moved over time.

use std::sync::Arc;

use axum::extract::State;
use qm_kernel::{Permission as P, Timestamp};
use qm_web::{ApiResult, Json, Params, Routes, faults, routes};

use crate::dto::{StatsQuery, StatsView, TopQuery, TopView};
use crate::error::HistoryError as E;
use crate::model::Step;
use crate::service::TransferHistory;

type App = State<Arc<TransferHistory>>;

faults! {
    Stats => vec![
        E::NoEngine,
        E::NoSuchEngine,
        E::NoSuchTorrent,
        E::EmptyRange(Timestamp::from_ms(0), Timestamp::from_ms(0)),
        E::TooManyPoints { count: 5_000, step: Step::FiveMinutes },
    ];
    Top => vec![
        E::NoEngine,
        E::NoSuchEngine,
        E::EmptyRange(Timestamp::from_ms(0), Timestamp::from_ms(0)),
    ];
}

/// All routes of this area, still without their state.
pub fn routes() -> Routes<Arc<TransferHistory>> {
    Routes::new()
        .add(routes!(read_stats).need(P::TorrentsView))
        .add(routes!(list_top).need(P::TorrentsView))
}

/// Tells what an engine, all engines or a torrent moved, step by step. What moved in the last five minutes may not be in it yet.
#[utoipa::path(
    get, path = "/api/torrents/stats", tag = "torrents", params(Params::<StatsQuery>),
    responses((status = 200, body = StatsView), Stats)
)]
async fn read_stats(State(app): App, Params(query): Params<StatsQuery>) -> ApiResult<Json<StatsView>> {
    let hash = query.0.hash.clone();
    let history = app.read_history(query.0).await?;
    Ok(Json(StatsView::new(history, hash)))
}

/// Lists the torrents that sent most, or received most, in a range, also those that are gone.
#[utoipa::path(
    get, path = "/api/torrents/stats/top", tag = "torrents", params(Params::<TopQuery>),
    responses((status = 200, body = TopView), Top)
)]
async fn list_top(State(app): App, Params(query): Params<TopQuery>) -> ApiResult<Json<TopView>> {
    Ok(Json(app.read_top(query.0).await?.into()))
}
