//! Routes of the modules.

use axum::extract::State;
use qm_kernel::Permission;
use qm_platform::area::{MenuEntry, Module};
use qm_web::{ApiResult, Json, Path};
use serde::Serialize;
use utoipa::ToSchema;

use super::{System, faults};
use crate::error::SystemError;

/// An area of the service.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct EnabledModule {
    id: &'static str,
    name: &'static str,
    description: &'static str,
    /// Always `core`.
    tier: &'static str,
    /// Always `enabled`.
    state: &'static str,
    /// Always `true`.
    enabled: bool,
    /// Always `true`: nothing needs a licence.
    licensed: bool,
    /// Areas it builds on, by id.
    dependencies: &'static [&'static str],
    /// Those of them that are missing; always empty.
    unmet_dependencies: &'static [&'static str],
    #[schema(value_type = Vec<String>)]
    permissions: Vec<Permission>,
    menu: Vec<MenuItem>,
    /// Features, one word each.
    features: &'static [&'static str],
    /// Always `false`.
    locked: bool,
    /// Always `active`.
    reason: &'static str,
}

/// A page that clients offer.
#[derive(Serialize, ToSchema)]
pub(super) struct MenuItem {
    label: &'static str,
    /// Name of its picture in the set of icons `lucide`.
    #[schema(example = "Folder")]
    icon: &'static str,
    path: &'static str,
    /// Permission to see it.
    #[schema(value_type = String)]
    permission: Permission,
}

impl From<&Module> for EnabledModule {
    fn from(module: &Module) -> Self {
        Self {
            id: module.id,
            name: module.name,
            description: module.about,
            tier: "core",
            state: "enabled",
            enabled: true,
            licensed: true,
            dependencies: module.needs,
            unmet_dependencies: &[],
            permissions: module.permissions().collect(),
            menu: module.menu.iter().copied().map(MenuItem::from).collect(),
            features: module.features,
            locked: false,
            reason: "active",
        }
    }
}

impl From<MenuEntry> for MenuItem {
    fn from(entry: MenuEntry) -> Self {
        Self {
            label: entry.label,
            icon: entry.icon,
            path: entry.path,
            permission: entry.permission,
        }
    }
}

/// The areas of the service, for the menu of a client. All of them are on.
#[utoipa::path(
    get,
    path = "/api/modules/enabled",
    tag = "modules",
    responses((status = 200, body = Vec<EnabledModule>))
)]
pub(super) async fn enabled_modules(State(app): State<System>) -> Json<Vec<EnabledModule>> {
    Json(app.modules.iter().copied().map(EnabledModule::from).collect())
}

/// Every area of the service, as `GET /api/modules/enabled`: none can be switched off.
#[utoipa::path(
    get,
    path = "/api/modules",
    tag = "modules",
    responses((status = 200, body = Vec<EnabledModule>))
)]
pub(super) async fn list_modules(State(app): State<System>) -> Json<Vec<EnabledModule>> {
    enabled_modules(State(app)).await
}

/// One area of the service.
#[utoipa::path(
    get,
    path = "/api/modules/{id}",
    tag = "modules",
    params(("id" = String, Path, description = "The area's id, e.g. `torrents`")),
    responses((status = 200, body = EnabledModule), faults::Module)
)]
pub(super) async fn show_module(
    State(app): State<System>,
    Path(id): Path<String>,
) -> ApiResult<Json<EnabledModule>> {
    let found = app.modules.iter().copied().find(|module| module.id == id);
    Ok(Json(found.ok_or(SystemError::NoSuchModule(id))?.into()))
}

/// The licence of the service: none is needed.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ModulesLicense {
    /// Always `community`, as `GET /api/system/version` has it.
    edition: &'static str,
    /// Always `active`.
    status: &'static str,
    /// Always `true`.
    licensed: bool,
    /// Always `false`: no area needs a licence.
    required: bool,
    /// Always `null`: it has no end.
    #[schema(value_type = Option<String>, format = DateTime)]
    expires_at: Option<&'static str>,
    /// Ids of the areas that it is for: all of them.
    modules: Vec<&'static str>,
}

/// That no licence is needed, for clients that ask.
#[utoipa::path(
    get,
    path = "/api/modules/license",
    tag = "modules",
    responses((status = 200, body = ModulesLicense))
)]
pub(super) async fn modules_license(State(app): State<System>) -> Json<ModulesLicense> {
    Json(ModulesLicense {
        edition: "community",
        status: "active",
        licensed: true,
        required: false,
        expires_at: None,
        modules: app.modules.iter().map(|module| module.id).collect(),
    })
}
