//! `/api/media/server-integrations`: parse, call the service, shape.

mod faults;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use axum::extract::State;
use qm_kernel::Permission as P;
use qm_web::{ApiResult, Body, By, Created, Json, Path, Routes, routes};

use crate::dto::{ChangedIntegration, DeletedView, IntegrationView, NewIntegration, RefreshView, TestView};
use crate::service::Integrations;

type App = State<Arc<Integrations>>;

/// Tests and refreshes per client address and minute: each is a request to a foreign server.
const ASKED: u32 = 60;

/// All routes of this area, still without their state.
pub fn routes() -> Routes<Arc<Integrations>> {
    Routes::new()
        .add(routes!(list_server_integrations).need(P::MediaManagerManageIntegrations))
        .add(routes!(create_server_integration).need(P::MediaManagerManageIntegrations))
        .add(routes!(update_server_integration).need(P::MediaManagerManageIntegrations))
        .add(routes!(delete_server_integration).need(P::MediaManagerManageIntegrations))
        .add(
            routes!(test_server_integration)
                .need(P::MediaManagerManageIntegrations)
                .limit(ASKED),
        )
        .add(
            routes!(refresh_server_integration)
                .need(P::MediaManagerManageIntegrations)
                .limit(ASKED),
        )
}

/// Every media server, the oldest first.
#[utoipa::path(
    get, path = "/api/media/server-integrations", tag = "media", responses((status = 200, body = Vec<IntegrationView>))
)]
async fn list_server_integrations(State(app): App) -> ApiResult<Json<Vec<IntegrationView>>> {
    let all = app.list().await?;
    Ok(Json(all.into_iter().map(IntegrationView::from).collect()))
}

/// Connects a media server. It is not asked anything yet.
#[utoipa::path(
    post, path = "/api/media/server-integrations", tag = "media", request_body = Body<NewIntegration>,
    responses((status = 201, body = IntegrationView), faults::Create)
)]
async fn create_server_integration(
    State(app): App,
    By(requester): By,
    Body(new): Body<NewIntegration>,
) -> ApiResult<Created<IntegrationView>> {
    Ok(Created(app.create(requester.caller(), new.into()).await?.into()))
}

/// Changes a media server. With another configuration, what was learnt with the earlier one is forgotten.
#[utoipa::path(
    patch, path = "/api/media/server-integrations/{id}", tag = "media", params(("id" = String, Path)),
    request_body = Body<ChangedIntegration>, responses((status = 200, body = IntegrationView), faults::Change)
)]
async fn update_server_integration(
    State(app): App,
    By(requester): By,
    Path(id): Path<String>,
    Body(change): Body<ChangedIntegration>,
) -> ApiResult<Json<IntegrationView>> {
    Ok(Json(
        app.update(requester.caller(), &id, change.into()).await?.into(),
    ))
}

/// Forgets a media server.
#[utoipa::path(
    delete, path = "/api/media/server-integrations/{id}", tag = "media", params(("id" = String, Path)),
    responses((status = 200, body = DeletedView), faults::Of)
)]
async fn delete_server_integration(
    State(app): App,
    By(requester): By,
    Path(id): Path<String>,
) -> ApiResult<Json<DeletedView>> {
    app.delete(requester.caller(), &id).await?;
    Ok(Json(DeletedView { id, deleted: true }))
}

/// Asks a media server who it is, within eight seconds. A failure is no error of this operation: it stands in the answer, and
/// with the server.
#[utoipa::path(
    post, path = "/api/media/server-integrations/{id}/test", tag = "media", params(("id" = String, Path)),
    responses((status = 201, body = TestView), faults::Test)
)]
async fn test_server_integration(
    State(app): App,
    By(requester): By,
    Path(id): Path<String>,
) -> ApiResult<Created<TestView>> {
    Ok(Created(app.test(requester.caller(), &id).await?.into()))
}

/// Has a media server look for new, changed and removed files, in the library that is configured or in all. It answers before
/// it has looked.
#[utoipa::path(
    post, path = "/api/media/server-integrations/{id}/refresh", tag = "media", params(("id" = String, Path)),
    responses((status = 201, body = RefreshView), faults::Refresh)
)]
async fn refresh_server_integration(
    State(app): App,
    By(requester): By,
    Path(id): Path<String>,
) -> ApiResult<Created<RefreshView>> {
    let last_refresh_at = app.refresh(requester.caller(), &id).await?;
    Ok(Created(RefreshView { id, last_refresh_at }))
}
