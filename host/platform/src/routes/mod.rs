//! The routes of this area: the system itself and its plugins.

mod dto;
mod plugins;
mod system;

use std::sync::Arc;
use std::time::Instant;

use prometheus::Registry;
use qm_db::Db;
use qm_kernel::Permission;
use qm_plugin_host::PluginHost;
use qm_web::{Routes, routes as line};

use crate::audit::Audit;
use crate::health::Health;
use crate::update::Updates;

pub use dto::Build;

/// What the routes of this area work with.
#[derive(Clone)]
pub struct Platform {
    pub db: Db,
    pub audit: Audit,
    pub plugins: Arc<PluginHost>,
    /// The name the server was started with.
    pub product: Arc<str>,
    pub build: Build,
    /// When the process started.
    pub started: Instant,
    pub health: Health,
    pub updates: Updates,
    /// All that is counted, of every area.
    pub metrics: Registry,
}

pub fn routes() -> Routes<Platform> {
    Routes::new()
        .add(line!(system::live).public())
        .add(line!(system::ready).public())
        .add(line!(system::version).public())
        .add(line!(system::health::health).need(Permission::SystemView))
        .add(line!(system::metrics::metrics).need(Permission::SystemView))
        .add(line!(system::update::update_status).need(Permission::SystemView))
        .add(line!(system::update::check_for_update).need(Permission::SystemView))
        .add(line!(system::update::change_update_settings).need(Permission::SystemManage))
        .add(line!(plugins::list_plugins).need(Permission::SystemView))
        .add(line!(plugins::reload_plugin).need(Permission::SystemManage))
}
