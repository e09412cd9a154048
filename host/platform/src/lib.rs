//! What every area shares: audit, settings, secrets at rest, the event bus, the realtime channel, and the routes about
//! the system itself and its plugins.
//!
//! Invariants: an audit row commits with the change it tells of; an event leaves after that commit; a stored secret is
//! AES-256-GCM and reads as absent when it cannot be decrypted.

mod acting;
mod audit;
mod background;
mod build;
mod bus;
mod cipher;
pub mod config_schema;
mod error;
pub mod health;
mod metrics;
mod modules;
mod node;
pub mod outbox;
mod pins;
pub mod realtime;
mod routes;
mod sealed;
mod settings;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod update;
mod watch;

pub use acting::{Acting, ActingError, Actor, judge_alone};
pub use audit::{Audit, AuditEntry, AuditRecord, AuditResult, AuditTrail, AuditUser, Target};
pub use background::{Background, panic_text};
pub use bus::{Bus, BusCounts, Subscription};
pub use cipher::{Cipher, Standing};
pub use error::PlatformError;
pub use metrics::Sources;
pub use node::{Node, NodeRole};
pub use pins::PluginPins;
pub use routes::{Aside, Build, Platform, routes, standby_routes};
pub use sealed::{AreaReport, Sealed, SealedPage, SealedRow, SealedValues, SecretSettings, Unreadable};
pub use settings::{
    EnvEntry, SecretSetting, Setting, SettingSpec, SettingValue, Settings, UpdateCheck, catalogue,
    settings_table,
};
pub use update::{UpdateDeps, Updates};
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
