//! `/api/account/notifications`: the events of the catalogue, and the caller's preferences.

use axum::extract::State;
use qm_web::{ApiResult, Auth, Body, Created, Json, Path};

use super::{App, faults};
use crate::dto::events::{
    BulkPatch, ChangedView, EventView, EventsView, PreferencePatch, PreferenceRow, PreferenceView,
    PreferencesView,
};

/// Every event that people can be told of, whoever asks.
#[utoipa::path(
    get, path = "/api/account/notifications/events", tag = "notifications",
    responses((status = 200, body = EventsView))
)]
pub async fn list_events(State(app): App) -> Json<EventsView> {
    Json(EventsView {
        events: app.catalogue().iter().map(EventView::from).collect(),
    })
}

/// The caller's preferences for all events.
#[utoipa::path(
    get, path = "/api/account/notifications/preferences", tag = "notifications",
    responses((status = 200, body = PreferencesView), faults::Own)
)]
pub async fn list_preferences(State(app): App, Auth(principal): Auth) -> ApiResult<Json<PreferencesView>> {
    let chosen = app.preferences(&principal).await?;
    let rows = chosen
        .into_iter()
        .map(|(event, preference, customized)| PreferenceRow {
            definition: EventView::from(event),
            preference: PreferenceView::new(event, preference),
            customized,
        });
    Ok(Json(PreferencesView { rows: rows.collect() }))
}

/// Changes how the caller wants to be told of an event.
#[utoipa::path(
    put, path = "/api/account/notifications/preferences/{eventKey}", tag = "notifications",
    params(("eventKey" = String, Path)), request_body = Body<PreferencePatch>,
    responses((status = 200, body = PreferenceView), faults::Prefer)
)]
pub async fn set_preference(
    State(app): App,
    Auth(principal): Auth,
    Path(key): Path<String>,
    Body(patch): Body<PreferencePatch>,
) -> ApiResult<Json<PreferenceView>> {
    let (event, preference, _) = app.prefer(&principal, &key, &patch.into()).await?;
    Ok(Json(PreferenceView::new(event, preference)))
}

/// Changes how the caller wants to be told of several events.
#[utoipa::path(
    post, path = "/api/account/notifications/preferences/bulk", tag = "notifications",
    request_body = Body<BulkPatch>, responses((status = 201, body = ChangedView), faults::Own)
)]
pub async fn set_preferences(
    State(app): App,
    Auth(principal): Auth,
    Body(bulk): Body<BulkPatch>,
) -> ApiResult<Created<ChangedView>> {
    let BulkPatch { event_keys, patch } = bulk;
    let (updated, skipped) = app.prefer_all(&principal, event_keys, &patch.into()).await?;
    Ok(Created(ChangedView { updated, skipped }))
}
