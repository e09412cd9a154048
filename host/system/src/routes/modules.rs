//! Which areas there are.

use axum::extract::State;
use qm_kernel::Permission;
use qm_platform::area::{MenuEntry, Module};
use qm_web::Json;
use serde::Serialize;
use utoipa::ToSchema;

use super::System;

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
    /// What it can do, one word each.
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
    path: &'static str,
    /// Who may see it.
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
