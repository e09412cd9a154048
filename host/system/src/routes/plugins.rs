//! Routes of the plugins: state, reload, grants and configuration.

use axum::extract::State;
use qm_db::Tx;
use qm_kernel::{Caller, Permission, Principal};
use qm_platform::{Actor, AuditEntry, AuditResult, judge_alone};
use qm_plugin_host::{Granted, PluginHostError};
use qm_web::{ApiResult, Body, By, Created, FromBody, Json, Path};
use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::{System, faults};
use crate::dto::Plugin;
use crate::error::SystemError;
use crate::service::configurations::shown;
use crate::service::pins;

/// Every file of the plugins directory: what it is, its state with the reason, and what it has used.
#[utoipa::path(get, path = "/api/plugins", tag = "plugins", responses((status = 200, body = Vec<Plugin>)))]
pub(super) async fn list_plugins(State(system): State<System>) -> Json<Vec<Plugin>> {
    Json(system.plugins.list().into_iter().map(Plugin::from).collect())
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
    State(system): State<System>,
    By(requester): By,
    Path(id): Path<String>,
) -> ApiResult<Created<Plugin>> {
    let actor = judged(&system, &requester.principal).await?;
    let outcome = system.plugins.reload(&id).await;
    let (result, metadata) = match &outcome {
        Ok(plugin) => (
            AuditResult::Success,
            json!({ "version": plugin.version, "sha256": plugin.sha256 }),
        ),
        // No plugin, so nothing could change.
        Err(error @ PluginHostError::NoSuchPlugin(_)) => {
            tracing::debug!(%error);
            return Err(SystemError::from(PluginHostError::NoSuchPlugin(id)).into());
        }
        Err(error) => (AuditResult::Failure, json!({ "reason": error.to_string() })),
    };
    let entry = AuditEntry {
        object_type: Some("plugin"),
        object_id: Some(id),
        result,
        metadata: Some(metadata),
        ..actor.entry("plugins.reload", &requester.client)
    };
    system.audit.record_alone(&system.db, entry).await;
    Ok(Created(outcome.map_err(SystemError::from)?.into()))
}

/// Which file is to have an id.
#[derive(ToSchema, FromBody)]
pub(super) struct Acceptance {
    /// The name of a file of the plugins directory that claims the id.
    #[field(min = 1, max = 255)]
    file: String,
}

/// Gives the id to another file than the one that had it first, which must be gone from the plugins directory. With the id
/// goes what is stored under it: engines of that kind hand their configuration, passwords included, to the new file, and it
/// reads what the former one kept.
#[utoipa::path(
    post,
    path = "/api/plugins/{id}/accept",
    tag = "plugins",
    params(("id" = String, Path, description = "The plugin's id")),
    request_body = Body<Acceptance>,
    responses((status = 201, body = Plugin), faults::AcceptPlugin)
)]
pub(super) async fn accept_plugin(
    State(system): State<System>,
    By(requester): By,
    Path(id): Path<String>,
    Body(Acceptance { file }): Body<Acceptance>,
) -> ApiResult<Created<Plugin>> {
    // Checked before the answer reveals files.
    judged(&system, &requester.principal).await?;
    system
        .plugins
        .may_accept(&id, &file)
        .await
        .map_err(SystemError::from)?;
    let change = Change {
        id: &id,
        action: "plugins.accept",
        metadata: json!({ "file": file }),
    };
    let give = async |tx: &mut Tx| {
        if pins::give(tx, &system.ctx, &id, &file).await? {
            Ok(())
        } else {
            Err(PluginHostError::NoSuchPlugin(id.clone()).into())
        }
    };
    change.make(&system, requester.caller(), give).await?;
    let plugin = system.plugins.follow_pins(&file).await;
    let plugin = plugin.ok_or_else(|| SystemError::from(PluginHostError::NoSuchPlugin(id)))?;
    Ok(Created(plugin.into()))
}

/// Grants of a plugin.
#[derive(ToSchema, FromBody)]
pub(super) struct Grants {
    /// Origins (`https://host`, `https://host:port`), each one the plugin asks for; an empty list takes all back.
    #[field(max_items = 32, each_max = 300)]
    hosts: Vec<String>,
    /// Words of `neededCapabilities`, each one the plugin asks by; none when left out.
    #[field(max_items = 32, each_max = 64)]
    capabilities: Option<Vec<String>>,
}

/// Lets a plugin reach these hosts of its own and use these capabilities, and no others, beside what its configurations name.
/// Hosts lead outside only, unless `SSRF_ALLOW_HOSTS` lists them. A newer file of the plugin that asks for more is denied the
/// rest until it is granted.
#[utoipa::path(
    put,
    path = "/api/plugins/{id}/grants",
    tag = "plugins",
    params(("id" = String, Path, description = "The plugin's id")),
    request_body = Body<Grants>,
    responses((status = 200, body = Plugin), faults::GrantPlugin)
)]
pub(super) async fn grant_plugin(
    State(system): State<System>,
    By(requester): By,
    Path(id): Path<String>,
    Body(Grants { hosts, capabilities }): Body<Grants>,
) -> ApiResult<Json<Plugin>> {
    // Checked before the answer reveals the plugin.
    judged(&system, &requester.principal).await?;
    let wanted = Granted {
        hosts,
        capabilities: capabilities.unwrap_or_default(),
    };
    let granted = system
        .plugins
        .may_grant(&id, &wanted)
        .map_err(SystemError::from)?;
    let change = Change {
        id: &id,
        action: "plugins.grant",
        metadata: json!({ "hosts": granted.hosts, "capabilities": granted.capabilities }),
    };
    let grant = async |tx: &mut Tx| Ok(pins::grant(tx, &system.ctx, &id, &granted).await?);
    change.make(&system, requester.caller(), grant).await?;
    let plugin = system.plugins.follow_grants(&id).await;
    let plugin = plugin.ok_or_else(|| SystemError::from(PluginHostError::NoSuchPlugin(id)))?;
    Ok(Json(plugin.into()))
}

/// Configuration of a plugin as a whole.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct PluginConfiguration {
    /// JSON Schema of it, as the plugin gave it.
    #[schema(value_type = Object)]
    config_schema: Value,
    /// Each secret that is set is shown as `••••••••`.
    #[schema(value_type = Object)]
    config: Map<String, Value>,
    /// True when it was entered.
    configured: bool,
    /// Secrets to enter again, because an address changed; until then the plugin gets no configuration. Left out while there is none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    secrets_wanted: Vec<String>,
}

/// The configuration of a plugin that has one as a whole: one of the role `action-set`.
#[utoipa::path(
    get,
    path = "/api/plugins/{id}/config",
    tag = "plugins",
    params(("id" = String, Path, description = "The plugin's id")),
    responses((status = 200, body = PluginConfiguration), faults::PluginConfiguration)
)]
pub(super) async fn plugin_configuration(
    State(system): State<System>,
    Path(id): Path<String>,
) -> ApiResult<Json<PluginConfiguration>> {
    let schema = system.plugins.configured_by(&id).map_err(SystemError::from)?;
    let mut tx = system.db.begin_read().await.map_err(SystemError::from)?;
    let found = system.configurations.shown(&mut tx, &id).await;
    let found = found.map_err(SystemError::from)?;
    let configured = found.is_some();
    let (config, secrets_wanted) = found.unwrap_or_default();
    Ok(Json(PluginConfiguration {
        configured,
        config: shown(&schema, config),
        secrets_wanted,
        config_schema: schema,
    }))
}

/// Configuration to store for a plugin.
#[derive(ToSchema, FromBody)]
pub(super) struct Configuration {
    /// In place of what was entered before. A secret that is left out, blank or the mask stays as long as the addresses do; `null`
    /// takes one away.
    #[schema(value_type = Object)]
    config: Map<String, Value>,
}

/// Configures a plugin as a whole, by the schema it gave. It is handed to each run from now on; secrets are stored encrypted.
#[utoipa::path(
    put,
    path = "/api/plugins/{id}/config",
    tag = "plugins",
    params(("id" = String, Path, description = "The plugin's id")),
    request_body = Body<Configuration>,
    responses((status = 200, body = PluginConfiguration), faults::ConfigurePlugin)
)]
pub(super) async fn configure_plugin(
    State(system): State<System>,
    By(requester): By,
    Path(id): Path<String>,
    Body(Configuration { config }): Body<Configuration>,
) -> ApiResult<Json<PluginConfiguration>> {
    // Checked before the answer reveals the plugin.
    judged(&system, &requester.principal).await?;
    let config_schema = system.plugins.configured_by(&id).map_err(SystemError::from)?;
    let change = Change {
        id: &id,
        action: "plugins.configure",
        // Names only: a value may be a secret, or look like one.
        metadata: json!({ "fields": config.keys().collect::<Vec<_>>() }),
    };
    let (mut whole, mut secrets_wanted) = (Map::new(), Vec::new());
    let enter = async |tx: &mut Tx| {
        let entered = system.configurations.enter(tx, &id, &config_schema, config);
        (whole, secrets_wanted) = entered.await?;
        Ok(())
    };
    change.make(&system, requester.caller(), enter).await?;
    Ok(Json(PluginConfiguration {
        configured: true,
        config: shown(&config_schema, whole),
        secrets_wanted,
        config_schema,
    }))
}

/// Checks the caller by the stored roles instead of the token, before any answer or action.
async fn judged(system: &System, principal: &Principal) -> Result<Actor, SystemError> {
    let (acting, needed) = (&*system.acting, [Permission::SystemManage]);
    Ok(judge_alone(acting, &system.db, principal, &needed).await?)
}

/// A change of data stored under a plugin's id.
struct Change<'a> {
    id: &'a str,
    action: &'static str,
    metadata: Value,
}

impl Change<'_> {
    /// Makes the change with its audit row, in a transaction that checks the caller again.
    async fn make(
        self,
        system: &System,
        caller: Caller<'_>,
        work: impl AsyncFnOnce(&mut Tx) -> Result<(), SystemError>,
    ) -> Result<(), SystemError> {
        let mut tx = system.db.begin_write().await?;
        let actor = system
            .acting
            .judge(&mut tx, caller.principal, &[Permission::SystemManage])
            .await?;
        work(&mut tx).await?;
        let entry = AuditEntry {
            object_type: Some("plugin"),
            object_id: Some(self.id.to_owned()),
            metadata: Some(self.metadata),
            ..actor.entry(self.action, caller.client)
        };
        system.audit.record(&mut tx, entry).await?;
        tx.commit().await?;
        Ok(())
    }
}
