//! What looks at all areas: the routes about the system itself, its plugins, modules, settings and audit trail; its health,
//! its metrics, the watches over disks and engines, the check for newer versions.
//!
//! Events: see [`Watches`]. Bounds: each module names its own.

mod area;
mod build;
mod error;
pub mod health;
mod metrics;
mod pins;
mod routes;
mod settings;
mod update;
mod values;
mod watch;

pub use area::{AREA, area};
pub use error::SystemError;
pub use metrics::Sources;
pub use pins::PluginPins;
pub use routes::{Aside, Build, System, doorkeeper, routes, standby_routes};
pub use update::{UpdateDeps, Updates};
pub use values::PluginValues;
pub use watch::{EVENTS, Watches};

#[cfg(test)]
mod tests {
    use qm_db::Db;

    qm_db::db_test! {
        async fn every_statement_is_accepted(db: Db) {
            qm_db::testing::prepare_all(&db).await;
        }
    }
}
