//! `/api/api-keys`: the caller's own keys.

use axum::extract::State;
use qm_web::{ApiResult, Body, By, Created, Json, Path};

use super::faults;
use crate::dto::IdView;
use crate::dto::api_keys::{ApiKeyView, CreateApiKey, CreatedApiKey};
use crate::service::Identity;

const TAG: &str = "api-keys";

/// Lists the caller's keys, newest first, revoked ones too.
#[utoipa::path(
    get, path = "/api/api-keys", tag = TAG,
    responses((status = 200, description = "The caller's keys", body = Vec<ApiKeyView>)),
)]
pub async fn list_api_keys(
    State(identity): State<Identity>,
    By(requester): By,
) -> ApiResult<Json<Vec<ApiKeyView>>> {
    let keys = identity.api_keys(requester.caller()).await?;
    Ok(Json(keys.into_iter().map(ApiKeyView::from).collect()))
}

/// Makes a key, shown once.
///
/// Keys are no credential: every route refuses them.
#[utoipa::path(
    post, path = "/api/api-keys", tag = TAG,
    request_body = Body<CreateApiKey>,
    responses((status = 201, description = "The key", body = CreatedApiKey), faults::OwnAccount),
)]
pub async fn create_api_key(
    State(identity): State<Identity>,
    By(requester): By,
    Body(body): Body<CreateApiKey>,
) -> ApiResult<Created<CreatedApiKey>> {
    let CreateApiKey { name, scopes } = body;
    let made = identity.create_api_key(requester.caller(), name, scopes).await?;
    Ok(Created(made.into()))
}

/// Revokes a key of the caller's.
///
/// An unknown id, or that of another user's key, is answered alike and changes nothing.
#[utoipa::path(
    delete, path = "/api/api-keys/{id}", tag = TAG,
    params(("id" = String, Path)),
    responses((status = 200, description = "Revoked", body = IdView)),
)]
pub async fn revoke_api_key(
    State(identity): State<Identity>,
    By(requester): By,
    Path(id): Path<String>,
) -> ApiResult<Json<IdView>> {
    identity.revoke_api_key(requester.caller(), &id).await?;
    Ok(Json(IdView { id }))
}
