//! The routes about the system as a whole: settings, the audit trail, modules, the system itself and its plugins.

mod audit;
mod context_actions;
mod faults;
mod modules;
mod plugins;
mod settings;
mod standby;
mod system;

use std::sync::Arc;
use std::time::Instant;

use axum::extract::FromRef;
use prometheus::Registry;
use qm_db::Db;
use qm_kernel::{Ctx, Permission};
use qm_platform::area::{ContextAction, Module};
use qm_platform::{Acting, Audit, AuditTrail, EnvEntry, Node, Settings};
use qm_plugin_host::PluginHost;
use qm_web::{Routes, routes as line};

use crate::dto::Build;
use crate::service::configurations::PluginConfigurations;
use crate::service::health::Health;
use crate::service::update::Updates;

pub use standby::doorkeeper;

/// State of these routes.
#[derive(Clone)]
pub struct System {
    pub db: Db,
    /// Checks the permissions of users who make changes.
    pub acting: Arc<dyn Acting>,
    pub audit: Audit,
    pub trail: AuditTrail,
    pub settings: Settings,
    /// Modules for the menu of clients, in order.
    pub modules: Arc<[&'static Module]>,
    /// Context actions of all areas.
    pub context_actions: Arc<[&'static ContextAction]>,
    /// Environment variables of the server, with their values.
    pub environment: Arc<[EnvEntry]>,
    pub plugins: Arc<PluginHost>,
    pub configurations: PluginConfigurations,
    pub ctx: Ctx,
    /// Configured product name.
    pub product: Arc<str>,
    pub build: Build,
    /// Start of the process.
    pub started: Instant,
    pub health: Health,
    pub updates: Updates,
    /// Metrics of all areas.
    pub metrics: Registry,
    pub node: Node,
}

/// State of the routes that a standby has too.
#[derive(Clone)]
pub struct Aside {
    pub db: Db,
    pub node: Node,
    /// Start of the process.
    pub started: Instant,
    /// Metrics of this server.
    pub metrics: Registry,
}

impl FromRef<System> for Aside {
    fn from_ref(system: &System) -> Self {
        Self {
            db: system.db.clone(),
            node: system.node.clone(),
            started: system.started,
            metrics: system.metrics.clone(),
        }
    }
}

/// Routes of a standby: the routes about itself that an active server has too.
pub fn standby_routes() -> Routes<Aside> {
    Routes::new()
        .add(line!(system::live).public())
        .add(line!(system::ready).public())
        .add(line!(system::metrics::metrics).need(Permission::SystemView))
}

pub fn routes() -> Routes<System> {
    Routes::new()
        .add(line!(system::live).public())
        .add(line!(system::ready).public())
        .add(line!(system::version).public())
        .add(line!(system::health::health).need(Permission::SystemView))
        .add(line!(system::metrics::metrics).need(Permission::SystemView))
        .add(line!(system::update::update_status).need(Permission::SystemView))
        .add(line!(system::update::check_for_update).need(Permission::SystemView))
        .add(line!(system::update::change_update_settings).need(Permission::SystemManage))
        .add(line!(settings::list_settings).need(Permission::SettingsView))
        .add(line!(settings::put_setting).need(Permission::SettingsManage))
        .add(line!(settings::patch_settings).need(Permission::SettingsManage))
        .add(line!(settings::list_environment).need(Permission::SettingsManage))
        .add(line!(audit::list_audit).need(Permission::AuditView))
        .add(line!(modules::enabled_modules).authenticated())
        .add(line!(modules::list_modules).authenticated())
        .add(line!(modules::modules_license).authenticated())
        .add(line!(modules::show_module).authenticated())
        .add(line!(context_actions::context_actions).authenticated())
        .add(line!(plugins::list_plugins).need(Permission::SystemView))
        .add(line!(plugins::reload_plugin).need(Permission::SystemManage))
        .add(line!(plugins::accept_plugin).need(Permission::SystemManage))
        .add(line!(plugins::grant_plugin).need(Permission::SystemManage))
        .add(line!(plugins::plugin_configuration).need(Permission::SystemManage))
        .add(line!(plugins::configure_plugin).need(Permission::SystemManage))
}
