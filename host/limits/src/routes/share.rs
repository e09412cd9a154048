//! `/api/torrents/{hash}/share-limits`, `/api/categories/{id}/share-limits` and `/api/engines/{id}/share-limits`

use axum::extract::State;
use qm_kernel::Requester;
use qm_web::{ApiResult, Body, By, Json, Params, Path};

use super::{App, Category, ChangeCategory, ChangeEngine, ChangeTorrent, Engine, Torrent};
use crate::dto::share::{EngineQuery, ShareInput, ShareLimitsView};
use crate::model::views::Asked;
use crate::service::Limits;

type Answered = ApiResult<Json<ShareLimitsView>>;

fn on_torrent(hash: String, query: EngineQuery) -> Asked {
    Asked::Torrent {
        engine_id: query.engine_id,
        hash,
    }
}

async fn show_limits(app: &Limits, asked: Asked) -> Answered {
    Ok(Json(app.show_share(&asked).await?.into()))
}

async fn set_limits(app: &Limits, by: &Requester, asked: Asked, body: ShareInput) -> Answered {
    // A client has limits of its own on torrents alone.
    let clears = body.clear_client && matches!(asked, Asked::Torrent { .. });
    let view = app.set_share(by.caller(), &asked, body.limits(), clears).await?;
    Ok(Json(view.into()))
}

async fn clear_limits(app: &Limits, by: &Requester, asked: Asked) -> Answered {
    Ok(Json(app.clear_share(by.caller(), &asked).await?.into()))
}

/// Shows the limits on a torrent, those in force with where they come from, and how far the torrent is.
#[utoipa::path(
    get, path = "/api/torrents/{hash}/share-limits", tag = "torrents",
    params(("hash" = String, Path), Params::<EngineQuery>),
    responses((status = 200, body = ShareLimitsView), Torrent)
)]
pub async fn show_torrent(
    State(app): App,
    Path(hash): Path<String>,
    Params(query): Params<EngineQuery>,
) -> Answered {
    show_limits(&app, on_torrent(hash, query)).await
}

/// Replaces the limits on a torrent, whose action is done by the permissions of the caller. What was done for earlier limits is
/// forgotten: a torrent that has reached the new ones is acted on.
#[utoipa::path(
    put, path = "/api/torrents/{hash}/share-limits", tag = "torrents",
    params(("hash" = String, Path), Params::<EngineQuery>), request_body = Body<ShareInput>,
    responses((status = 200, body = ShareLimitsView), ChangeTorrent)
)]
pub async fn set_torrent(
    State(app): App,
    By(by): By,
    Path(hash): Path<String>,
    Params(query): Params<EngineQuery>,
    Body(body): Body<ShareInput>,
) -> Answered {
    set_limits(&app, &by, on_torrent(hash, query), body).await
}

/// Takes the limits on a torrent away: it inherits those of its category and its engine.
#[utoipa::path(
    delete, path = "/api/torrents/{hash}/share-limits", tag = "torrents",
    params(("hash" = String, Path), Params::<EngineQuery>),
    responses((status = 200, body = ShareLimitsView), ChangeTorrent)
)]
pub async fn clear_torrent(
    State(app): App,
    By(by): By,
    Path(hash): Path<String>,
    Params(query): Params<EngineQuery>,
) -> Answered {
    clear_limits(&app, &by, on_torrent(hash, query)).await
}

/// Shows the limits on a category.
#[utoipa::path(
    get, path = "/api/categories/{id}/share-limits", tag = "taxonomy", params(("id" = String, Path)),
    responses((status = 200, body = ShareLimitsView), Category)
)]
pub async fn show_category(State(app): App, Path(id): Path<String>) -> Answered {
    show_limits(&app, Asked::Category(id)).await
}

/// Replaces the limits on a category, for torrents of every engine that have its name as their label, whose action is done by the permissions of the caller.
#[utoipa::path(
    put, path = "/api/categories/{id}/share-limits", tag = "taxonomy", params(("id" = String, Path)),
    request_body = Body<ShareInput>, responses((status = 200, body = ShareLimitsView), ChangeCategory)
)]
pub async fn set_category(
    State(app): App,
    By(by): By,
    Path(id): Path<String>,
    Body(body): Body<ShareInput>,
) -> Answered {
    set_limits(&app, &by, Asked::Category(id), body).await
}

/// Takes the limits on a category away.
#[utoipa::path(
    delete, path = "/api/categories/{id}/share-limits", tag = "taxonomy", params(("id" = String, Path)),
    responses((status = 200, body = ShareLimitsView), ChangeCategory)
)]
pub async fn clear_category(State(app): App, By(by): By, Path(id): Path<String>) -> Answered {
    clear_limits(&app, &by, Asked::Category(id)).await
}

/// Shows the limits on an engine.
#[utoipa::path(
    get, path = "/api/engines/{id}/share-limits", tag = "engines", params(("id" = String, Path)),
    responses((status = 200, body = ShareLimitsView), Engine)
)]
pub async fn show_engine(State(app): App, Path(id): Path<String>) -> Answered {
    show_limits(&app, Asked::Engine(id)).await
}

/// Replaces the limits on an engine, whose action is done by the permissions of the caller.
#[utoipa::path(
    put, path = "/api/engines/{id}/share-limits", tag = "engines", params(("id" = String, Path)),
    request_body = Body<ShareInput>, responses((status = 200, body = ShareLimitsView), ChangeEngine)
)]
pub async fn set_engine(
    State(app): App,
    By(by): By,
    Path(id): Path<String>,
    Body(body): Body<ShareInput>,
) -> Answered {
    set_limits(&app, &by, Asked::Engine(id), body).await
}

/// Takes the limits on an engine away.
#[utoipa::path(
    delete, path = "/api/engines/{id}/share-limits", tag = "engines", params(("id" = String, Path)),
    responses((status = 200, body = ShareLimitsView), ChangeEngine)
)]
pub async fn clear_engine(State(app): App, By(by): By, Path(id): Path<String>) -> Answered {
    clear_limits(&app, &by, Asked::Engine(id)).await
}
