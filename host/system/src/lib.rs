//! System area: routes about the service itself, its plugins, modules, settings and audit trail; its health,
//! its metrics, the watches over disks and engines, the check for newer versions.
//!
//! Events: see [`Watches`]. Bounds: each module names its own.

mod area;
mod dto;
mod error;
mod repo;
mod routes;
mod service;
mod settings;

pub use area::{AREA, SystemParts};
pub use dto::Build;
pub use error::SystemError;
pub use routes::{Aside, System, doorkeeper, routes, standby_routes};
pub use service::configurations::PluginConfigurations;
pub use service::health;
pub use service::metrics::Sources;
pub use service::pins::PluginPins;
pub use service::update::{UpdateDeps, Updates};
pub use service::values::PluginValues;
pub use service::watch::{EVENTS, Watches};

#[cfg(test)]
mod tests {
    use qm_db::Db;

    qm_db::db_test! {
        async fn every_statement_is_accepted(db: Db) {
            qm_db::testing::prepare_all(&db).await;
        }
    }
}
