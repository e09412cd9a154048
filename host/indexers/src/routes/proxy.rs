//! `/api/integrations/indexer_proxy`: the link to the aggregator, and taking over its indexers.

use axum::extract::State;
use qm_web::{ApiResult, Body, By, Created, Json};

use super::{App, faults};
use crate::dto::proxy::{
    ChangedLink, ImportView, LinkStatusView, LinkTestView, LinkTrial, LinkView, OpenedView,
};

/// The link to the indexer aggregator, as it is stored.
#[utoipa::path(
    get, path = "/api/integrations/indexer_proxy", tag = "indexers", responses((status = 200, body = LinkView))
)]
pub async fn show_indexer_proxy(State(app): App) -> ApiResult<Json<LinkView>> {
    Ok(Json(app.link().await?.into()))
}

/// Changes the link to the indexer aggregator.
#[utoipa::path(
    patch, path = "/api/integrations/indexer_proxy", tag = "indexers", request_body = Body<ChangedLink>,
    responses((status = 200, body = LinkView), faults::ChangeLink)
)]
pub async fn change_indexer_proxy(
    State(app): App,
    By(requester): By,
    Body(change): Body<ChangedLink>,
) -> ApiResult<Json<LinkView>> {
    Ok(Json(
        app.change_link(requester.caller(), change.into()).await?.into(),
    ))
}

/// Asks the aggregator who it is. That it does not answer is no error of this operation: it stands in the answer, and with the
/// link. With a stored key, another server is asked only for those who may change the link.
#[utoipa::path(
    post, path = "/api/integrations/indexer_proxy/test", tag = "indexers", request_body = Body<LinkTrial>,
    responses((status = 201, body = LinkTestView), faults::TryLink)
)]
pub async fn test_indexer_proxy(
    State(app): App,
    By(requester): By,
    Body(trial): Body<LinkTrial>,
) -> ApiResult<Created<LinkTestView>> {
    Ok(Created(
        app.try_link(requester.caller(), trial.into()).await?.into(),
    ))
}

/// Asks the aggregator whether it answers now, unless the link is disabled or has no key.
#[utoipa::path(
    get, path = "/api/integrations/indexer_proxy/status", tag = "indexers",
    responses((status = 200, body = LinkStatusView))
)]
pub async fn get_indexer_proxy_status(State(app): App) -> ApiResult<Json<LinkStatusView>> {
    Ok(Json(app.link_status().await?.into()))
}

/// Where a browser finds the aggregator.
#[utoipa::path(
    post, path = "/api/integrations/indexer_proxy/open", tag = "indexers",
    responses((status = 201, body = OpenedView), faults::Acting)
)]
pub async fn open_indexer_proxy(State(app): App, By(requester): By) -> ApiResult<Created<OpenedView>> {
    let url = app.open_link(requester.caller()).await?;
    Ok(Created(OpenedView { url }))
}

/// Takes over the aggregator's indexers for torrents. A second import changes what the aggregator has changed: what people
/// set here stays. An indexer that it no longer has is disabled, never deleted.
#[utoipa::path(
    post, path = "/api/integrations/indexer_proxy/import", tag = "indexers",
    responses((status = 201, body = ImportView), faults::Import)
)]
pub async fn import_indexers(State(app): App, By(requester): By) -> ApiResult<Created<ImportView>> {
    Ok(Created(app.import(requester.caller()).await?.into()))
}
