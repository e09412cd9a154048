//! `/api/engines`

use axum::extract::State;
use qm_engines::dto::engines::{
    CreateEngine, EngineQuery, EngineView, HealthView, IdView, KindView, TestEngine, UpdateEngine,
};
use qm_engines::dto::paths::{CheckPaths, PathsCheckView};
use qm_web::{ApiResult, Body, By, Created, Json, Params, Path};

use super::{App, faults};

/// Lists the configured engines, oldest first.
#[utoipa::path(get, path = "/api/engines", tag = "engines", responses((status = 200, body = Vec<EngineView>)))]
pub async fn list_engines(State(app): App) -> ApiResult<Json<Vec<EngineView>>> {
    Ok(Json(app.engines.list_engines().await?))
}

/// Lists the kinds of engine that installed plugins provide, each with the JSON Schema of its configuration.
#[utoipa::path(
    get,
    path = "/api/engines/kinds",
    tag = "engines",
    responses((status = 200, body = Vec<KindView>))
)]
pub async fn engine_kinds(State(app): App) -> Json<Vec<KindView>> {
    Json(app.engines.engine_kinds())
}

/// Asks an engine whether it is there. One that is offline is an answer, not an error; of one that does not answer within
/// 2 s it is what is known, and `checkedAt` says of when.
#[utoipa::path(
    get,
    path = "/api/engines/health",
    tag = "engines",
    params(("engineId" = Option<String>, Query, description = "Absent: the default engine."), Params::<EngineQuery>),
    responses((status = 200, body = HealthView), faults::Chosen)
)]
pub async fn engine_health(
    State(app): App,
    Params(query): Params<EngineQuery>,
) -> ApiResult<Json<HealthView>> {
    Ok(Json(app.engines.engine_health(query.engine_id.as_deref()).await?))
}

/// Tries a configuration out without storing it. Whatever goes wrong with the engine is part of the answer.
#[utoipa::path(
    post,
    path = "/api/engines/test",
    tag = "engines",
    request_body = Body<TestEngine>,
    responses((status = 201, body = HealthView), faults::TestEngine)
)]
pub async fn test_engine(
    State(app): App,
    By(by): By,
    Body(body): Body<TestEngine>,
) -> ApiResult<Created<HealthView>> {
    let tested = app.engines.test_engine(by.caller(), body).await?;
    Ok(Created(tested))
}

/// Configures an engine. A kind that no installed plugin provides is stored, and loaded once one does.
#[utoipa::path(
    post,
    path = "/api/engines",
    tag = "engines",
    request_body = Body<CreateEngine>,
    responses((status = 201, body = IdView), faults::CreateEngine)
)]
pub async fn create_engine(
    State(app): App,
    By(by): By,
    Body(mut body): Body<CreateEngine>,
) -> ApiResult<Created<IdView>> {
    body.path_mappings = app.judge_mappings(body.path_mappings).await?;
    Ok(Created(app.engines.create_engine(by.caller(), body).await?))
}

/// Changes an engine; its kind stays. With another address its secrets are dropped unless they are sent anew.
#[utoipa::path(
    patch,
    path = "/api/engines/{id}",
    tag = "engines",
    params(("id" = String, Path)),
    request_body = Body<UpdateEngine>,
    responses((status = 200, body = IdView), faults::OfEngine)
)]
pub async fn update_engine(
    State(app): App,
    By(by): By,
    Path(id): Path<String>,
    Body(mut body): Body<UpdateEngine>,
) -> ApiResult<Json<IdView>> {
    body.path_mappings = app.judge_mappings(body.path_mappings).await?;
    Ok(Json(app.engines.update_engine(by.caller(), &id, body).await?))
}

/// Checks what this server and the client see of the engine's paths: the directories of its mappings, the client's default save path,
/// and whether the data of some of its torrents is where the server looks for it. Mappings can be tried out before they are stored. An
/// engine that is offline is checked by its last known list.
#[utoipa::path(
    post,
    path = "/api/engines/{id}/paths/check",
    tag = "engines",
    params(("id" = String, Path)),
    request_body = Body<CheckPaths>,
    responses((status = 201, body = PathsCheckView), faults::CheckPaths)
)]
pub async fn check_paths(
    State(app): App,
    By(by): By,
    Path(id): Path<String>,
    Body(body): Body<CheckPaths>,
) -> ApiResult<Created<PathsCheckView>> {
    Ok(Created(app.check_paths(by.caller(), &id, body).await?))
}

/// Deletes an engine with what is known of its torrents. They go on in the client.
#[utoipa::path(
    delete,
    path = "/api/engines/{id}",
    tag = "engines",
    params(("id" = String, Path)),
    responses((status = 200, body = IdView), faults::OfEngine)
)]
pub async fn delete_engine(State(app): App, By(by): By, Path(id): Path<String>) -> ApiResult<Json<IdView>> {
    app.engines.delete_engine(by.caller(), &id).await?;
    Ok(Json(IdView {
        id,
        secrets_wanted: Vec::new(),
    }))
}
