//! Routes of the check for newer versions. The server asks the configured repository, and never installs an
//! update itself.

use axum::extract::State;
use qm_kernel::Timestamp;
use qm_web::{ApiResult, Body, By, Created, FromBody, Json};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::error::SystemError;
use crate::routes::System;
use crate::service::update::Standing;

/// State of the check for newer versions.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::routes) struct UpdateStatus {
    /// The version that runs.
    current: &'static str,
    /// The newest version of the repository; null as long as none is known.
    latest: Option<String>,
    update_available: bool,
    /// `docker` (any container) or `bare`.
    deployment: &'static str,
    /// True when the server checks automatically: the check is on and `UPDATE_CHECK_URL` names a repository.
    check_enabled: bool,
    /// When it last looked.
    #[schema(value_type = Option<String>, format = DateTime)]
    checked_at: Option<Timestamp>,
    /// Why the last look failed; of an answer to switching the check on, why it stays off.
    error: Option<String>,
    /// Always null: a list of tags does not say where a release is described.
    latest_url: Option<String>,
    /// Always null, as above.
    changelog_url: Option<String>,
    /// Steps to update, in order.
    update_steps: &'static [&'static str],
}

const CONTAINER_STEPS: &[&str] = &[
    "Back up: quartermaster backup FILE, or pg_dump for PostgreSQL",
    "Fetch the new image: docker compose pull",
    "Start it: docker compose up -d",
];
const BARE_STEPS: &[&str] = &[
    "Back up: quartermaster backup FILE, or pg_dump for PostgreSQL",
    "Stop the service",
    "Replace the program and the plugins with those of the new version",
    "Start the service: it brings its database up to date by itself",
];

impl From<Standing> for UpdateStatus {
    fn from(standing: Standing) -> Self {
        let (deployment, update_steps) = if standing.container {
            ("docker", CONTAINER_STEPS)
        } else {
            ("bare", BARE_STEPS)
        };
        Self {
            current: standing.current,
            latest: standing.latest,
            update_available: standing.available,
            deployment,
            check_enabled: standing.enabled,
            checked_at: standing.checked_at,
            error: standing.error,
            latest_url: None,
            changelog_url: None,
            update_steps,
        }
    }
}

/// State of the automatic check for newer versions.
#[derive(ToSchema, FromBody)]
#[fields(optional)]
pub(in crate::routes) struct UpdateSettings {
    /// Absent, null, false, 0 or empty: off. Anything else: on.
    #[field(any, map = |value| is_truthy(&value), default)]
    #[schema(required = false, value_type = bool)]
    enabled: bool,
}

fn is_truthy(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(value) => *value,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(_) | Value::Object(_) => true,
    }
}

/// Result of the last check for a newer version.
#[utoipa::path(get, path = "/api/system/update", tag = "system", responses((status = 200, body = UpdateStatus)))]
pub(in crate::routes) async fn update_status(State(system): State<System>) -> ApiResult<Json<UpdateStatus>> {
    let standing = system.updates.standing().await.map_err(SystemError::from)?;
    Ok(Json(standing.into()))
}

/// Looks for a newer version now. A look that fails is an answer too: `error` tells.
#[utoipa::path(post, path = "/api/system/update/check", tag = "system", responses((status = 201, body = UpdateStatus)))]
pub(in crate::routes) async fn check_for_update(
    State(system): State<System>,
) -> ApiResult<Created<UpdateStatus>> {
    let standing = system.updates.check().await.map_err(SystemError::from)?;
    Ok(Created(standing.into()))
}

/// Switches the daily look on or off. Switched on, the server looks at once, in the background; as long as
/// `UPDATE_CHECK_URL` names no repository it stays off, and `error` says so.
#[utoipa::path(
    patch,
    path = "/api/system/update/settings",
    tag = "system",
    request_body = Body<UpdateSettings>,
    responses((status = 200, body = UpdateStatus))
)]
pub(in crate::routes) async fn change_update_settings(
    State(system): State<System>,
    By(requester): By,
    Body(settings): Body<UpdateSettings>,
) -> ApiResult<Json<UpdateStatus>> {
    let switched = system.updates.switch(settings.enabled, requester.caller()).await;
    Ok(Json(switched.map_err(SystemError::from)?.into()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_counts_as_on() {
        for (value, on) in [
            (json!(true), true),
            (json!(false), false),
            (json!(1), true),
            (json!(0), false),
            (json!(-0.0), false),
            (json!("false"), true),
            (json!(""), false),
            (json!([]), true),
            (json!({}), true),
            (json!(null), false),
        ] {
            assert_eq!(is_truthy(&value), on, "{value}");
        }
    }
}
