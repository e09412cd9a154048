//! Routes of the settings and the environment variables.

use std::collections::BTreeMap;

use axum::extract::State;
use qm_platform::{EnvEntry, PlatformError, Writer};
use qm_web::{ApiResult, Body, By, Fields, FromBody, Json, Path};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::{System, faults};

/// A setting's new value.
#[derive(ToSchema, FromBody)]
pub(super) struct SettingBody {
    /// Any JSON value but `null`.
    value: Value,
}

/// New values by key.
#[derive(ToSchema)]
pub(super) struct SettingsBody(BTreeMap<String, Value>);

impl FromBody for SettingsBody {
    fn from_body(fields: &mut Fields<'_>) -> Self {
        Self(fields.all().into_iter().collect())
    }
}

/// A setting as it is stored now.
#[derive(Serialize, ToSchema)]
pub(super) struct StoredSetting {
    key: String,
    /// A mask when it is a secret; `null` when nothing is stored.
    value: Value,
}

/// A variable that the server reads when it starts.
#[derive(Serialize, ToSchema)]
pub(super) struct Variable {
    key: &'static str,
    /// Group on the settings page, e.g. `Security`.
    group: &'static str,
    label: &'static str,
    description: &'static str,
    secret: bool,
    /// Present and not empty.
    set: bool,
    /// Always `null` for a secret.
    value: Option<String>,
}

impl From<&EnvEntry> for Variable {
    fn from(entry: &EnvEntry) -> Self {
        Self {
            key: entry.key,
            group: entry.group,
            label: entry.label,
            description: entry.description,
            secret: entry.secret,
            set: entry.set,
            value: entry.value.clone().filter(|_| !entry.secret),
        }
    }
}

/// Every stored setting by key; secrets are masked.
#[utoipa::path(
    get,
    path = "/api/settings",
    tag = "settings",
    responses((status = 200, body = BTreeMap<String, Value>))
)]
pub(super) async fn list_settings(State(system): State<System>) -> ApiResult<Json<BTreeMap<String, Value>>> {
    let read = async {
        let mut tx = system.db.begin_read().await?;
        system.settings.list(&mut tx).await
    };
    Ok(Json(read.await.map_err(PlatformError::from)?))
}

/// Stores one setting.
///
/// A key that no setting has is refused, and the nearest one named. Most values are not checked: a setting whose value is
/// not of its type reads as its default. `app.timezone` must be the name of a zone, `app.publicUrl` an http or https URL.
#[utoipa::path(
    put,
    path = "/api/settings/{key}",
    tag = "settings",
    params(("key" = String, Path, description = "The setting's key, at most 200 characters")),
    request_body = Body<SettingBody>,
    responses((status = 200, body = StoredSetting), faults::ChangeSettings)
)]
pub(super) async fn put_setting(
    State(system): State<System>,
    By(requester): By,
    Path(key): Path<String>,
    Body(body): Body<SettingBody>,
) -> ApiResult<Json<StoredSetting>> {
    let writer = Writer {
        acting: &*system.acting,
        caller: requester.caller(),
    };
    let changes = BTreeMap::from([(key.clone(), body.value)]);
    let mut shown = system
        .settings
        .change(&system.db, &system.audit, writer, &changes)
        .await?;
    let value = shown.remove(&key).unwrap_or(Value::Null);
    Ok(Json(StoredSetting { key, value }))
}

/// Stores several settings, or none of them when one is refused; answers all settings.
///
/// A value that is as `GET /api/settings` shows it is no change, whatever its key: the whole answer can be sent back. `null`
/// takes away a row that no setting of this version owns.
#[utoipa::path(
    patch,
    path = "/api/settings",
    tag = "settings",
    request_body = Body<SettingsBody>,
    responses((status = 200, body = BTreeMap<String, Value>), faults::ChangeSettings)
)]
pub(super) async fn patch_settings(
    State(system): State<System>,
    By(requester): By,
    Body(SettingsBody(changes)): Body<SettingsBody>,
) -> ApiResult<Json<BTreeMap<String, Value>>> {
    let writer = Writer {
        acting: &*system.acting,
        caller: requester.caller(),
    };
    let shown = system
        .settings
        .change(&system.db, &system.audit, writer, &changes)
        .await?;
    Ok(Json(shown))
}

/// The variables that the server reads when it starts, and what they are set to; secrets never show.
#[utoipa::path(
    get,
    path = "/api/settings/environment",
    tag = "settings",
    responses((status = 200, body = Vec<Variable>))
)]
pub(super) async fn list_environment(State(system): State<System>) -> Json<Vec<Variable>> {
    Json(system.environment.iter().map(Variable::from).collect())
}
