//! What plugins there are and how they fare; reading one's file again.

use axum::extract::State;
use qm_kernel::Permission;
use qm_plugin_host::PluginHostError;
use qm_web::{ApiResult, Auth, Client, Created, Json, Path};
use serde_json::json;

use super::dto::Plugin;
use super::{Platform, faults};
use crate::acting::judge_alone;
use crate::audit::{AuditEntry, AuditResult};
use crate::error::PlatformError;

/// Every file of the plugins directory: what it is, its state with the reason, and what it has used.
#[utoipa::path(get, path = "/api/plugins", tag = "plugins", responses((status = 200, body = Vec<Plugin>)))]
pub(super) async fn list_plugins(State(platform): State<Platform>) -> Json<Vec<Plugin>> {
    Json(platform.plugins.list().into_iter().map(Plugin::from).collect())
}

/// Reads the plugin's file again. A sound file replaces the one in use, whose running calls finish; an unsound one
/// leaves it working and is answered with the reason.
#[utoipa::path(
    post,
    path = "/api/plugins/{id}/reload",
    tag = "plugins",
    params(("id" = String, Path, description = "The plugin's id")),
    responses((status = 201, body = Plugin), faults::ReloadPlugin)
)]
pub(super) async fn reload_plugin(
    State(platform): State<Platform>,
    Auth(principal): Auth,
    Client(client): Client,
    Path(id): Path<String>,
) -> ApiResult<Created<Plugin>> {
    let (acting, needed) = (&*platform.acting, [Permission::SystemManage]);
    let actor = judge_alone(acting, &platform.db, &principal, &needed)
        .await
        .map_err(PlatformError::from)?;
    let outcome = platform.plugins.reload(&id).await;
    let (result, metadata) = match &outcome {
        Ok(plugin) => (
            AuditResult::Success,
            json!({ "version": plugin.version, "sha256": plugin.sha256 }),
        ),
        // Nothing was there to be changed.
        Err(error @ PluginHostError::NoSuchPlugin(_)) => {
            tracing::debug!(%error);
            return Err(PlatformError::from(PluginHostError::NoSuchPlugin(id)).into());
        }
        Err(error) => (AuditResult::Failure, json!({ "reason": error.to_string() })),
    };
    let entry = AuditEntry {
        object_type: Some("plugin"),
        object_id: Some(id),
        result,
        metadata: Some(metadata),
        ..actor.entry("plugins.reload", &client)
    };
    platform.audit.record_alone(&platform.db, entry).await;
    Ok(Created(outcome.map_err(PlatformError::from)?.into()))
}
