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

/// The state of these routes.
#[derive(Clone)]
pub struct System {
    pub db: Db,
    /// Judges who changes something here.
    pub acting: Arc<dyn Acting>,
    pub audit: Audit,
    pub trail: AuditTrail,
    pub settings: Settings,
    /// What clients draw their menu from, in the order they draw it.
    pub modules: Arc<[&'static Module]>,
    /// What people may do with things, of every area.
    pub context_actions: Arc<[&'static ContextAction]>,
    /// The variables the server reads, with what it found.
    pub environment: Arc<[EnvEntry]>,
    pub plugins: Arc<PluginHost>,
    pub configurations: PluginConfigurations,
    pub ctx: Ctx,
    /// The name the server was started with.
    pub product: Arc<str>,
    pub build: Build,
    /// When the process started.
    pub started: Instant,
    pub health: Health,
    pub updates: Updates,
    /// All that is counted, of every area.
    pub metrics: Registry,
    pub node: Node,
}

/// What a server tells of itself, active or not.
#[derive(Clone)]
pub struct Aside {
    pub db: Db,
    pub node: Node,
    /// When the process started.
    pub started: Instant,
    /// What is counted.
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

/// The routes of a server that stands by: the same as it has when it is active, as far as they are about itself.
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
