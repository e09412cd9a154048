//! Shared base of all areas: audit, settings, encrypted secrets, the event bus and its durable consumers,
//! background loops. Knows no area.
//!
//! Invariants: an audit row commits with its change; an event is sent after that commit; a stored secret is
//! AES-256-GCM and counts as absent when it cannot be decrypted.

mod acting;
pub mod area;
mod audit;
mod background;
mod bus;
mod cipher;
pub mod config_schema;
mod error;
mod ground;
pub mod links;
pub mod masked;
mod node;
pub mod notification;
pub mod origins;
pub mod outbox;
mod people;
mod ports;
mod sealed;
pub mod settings;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod triggers;

pub use acting::{Acting, ActingError, Actor, judge_alone};
pub use audit::{Audit, AuditEntry, AuditRecord, AuditResult, AuditTrail, AuditUser, Target};
pub use background::{Background, Beats, Listed, panic_text};
pub use bus::{Bus, BusCounts, Subscription};
pub use cipher::{Cipher, Standing};
pub use error::PlatformError;
pub use ground::Ground;
pub use node::{Node, NodeRole, STANDBY};
pub use people::{People, Person};
pub use ports::{PortMissing, Ports};
pub use sealed::{AreaReport, Sealed, SealedPage, SealedRow, SealedValues, SecretSettings, Unreadable};
pub use settings::{
    EnvEntry, SecretSetting, Setting, SettingSpec, SettingValue, Settings, Writer, settings_table,
};
pub use triggers::Triggers;

#[doc(hidden)]
pub mod private {
    //! Items that expanded macros refer to.
    pub use crate::settings::{DECLARED, Declared};
    pub use linkme;
}

#[cfg(test)]
mod tests {
    use qm_db::Db;

    qm_db::db_test! {
        async fn every_statement_is_accepted(db: Db) {
            qm_db::testing::prepare_all(&db).await;
        }
    }
}
