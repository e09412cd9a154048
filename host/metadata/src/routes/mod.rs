//! `/api/media/providers`: the providers, and tests of keys.

mod faults;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use axum::extract::State;
use qm_kernel::Permission as P;
use qm_web::{ApiResult, Body, By, Created, Json, Routes, routes};

use crate::dto::{KeyAndPinTest, KeyTest, KeyTestView, ProvidersView};
use crate::service::{KeyOf, MetadataArea};

type App = State<Arc<MetadataArea>>;

/// Tests of keys per client address and minute: each asks a provider.
const TESTS: u32 = 20;

/// All routes of this area, still without their state.
pub fn routes() -> Routes<Arc<MetadataArea>> {
    Routes::new()
        .add(routes!(list_metadata_providers).need(P::MediaManagerView))
        .add(routes!(test_provider_a_key).need(P::SettingsManage).limit(TESTS))
        .add(routes!(test_provider_b_key).need(P::SettingsManage).limit(TESTS))
}

/// The metadata providers that have a key, in the order they are asked, and whether their answers are merged.
#[utoipa::path(
    get, path = "/api/media/providers", tag = "metadata", responses((status = 200, body = ProvidersView))
)]
async fn list_metadata_providers(State(app): App) -> ApiResult<Json<ProvidersView>> {
    Ok(Json(app.overview().await?))
}

/// Asks TMDB whether a key is good: that of the request, else the stored one, else that of the environment. Nothing is stored.
#[utoipa::path(
    post, path = "/api/media/providers/provider_a/test", tag = "metadata", request_body = Body<KeyTest>,
    responses((status = 201, body = KeyTestView), faults::Test)
)]
async fn test_provider_a_key(
    State(app): App,
    By(requester): By,
    Body(test): Body<KeyTest>,
) -> ApiResult<Created<KeyTestView>> {
    let supplied = (test.api_key, None);
    Ok(Created(
        app.test_key(requester.caller(), KeyOf::ProviderA, supplied)
            .await?,
    ))
}

/// Asks TheTVDB whether a key and a PIN are good: those of the request, else the stored ones, else those of the environment. Nothing
/// is stored.
#[utoipa::path(
    post, path = "/api/media/providers/provider_b/test", tag = "metadata", request_body = Body<KeyAndPinTest>,
    responses((status = 201, body = KeyTestView), faults::Test)
)]
async fn test_provider_b_key(
    State(app): App,
    By(requester): By,
    Body(test): Body<KeyAndPinTest>,
) -> ApiResult<Created<KeyTestView>> {
    let supplied = (test.api_key, test.pin);
    Ok(Created(
        app.test_key(requester.caller(), KeyOf::ProviderB, supplied)
            .await?,
    ))
}
