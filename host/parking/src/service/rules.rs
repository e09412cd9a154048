//! The rules of parking, which people set.

use qm_db::Tx;
use qm_kernel::Caller;
use qm_platform::{Actor, AuditEntry};
use serde_json::Value;

use super::{ParkingLot, TO_PARK};
use crate::error::ParkingError;
use crate::model::rules::{Rules, RulesChange};
use crate::settings::TORRENTS_PARKING;

const OBJECT: &str = "settings";

impl ParkingLot {
    pub async fn find_rules(&self) -> Result<Rules, ParkingError> {
        let mut tx = self.ground.db.begin_read().await?;
        self.read_rules(&mut tx).await
    }

    pub(super) async fn read_rules(&self, tx: &mut Tx) -> Result<Rules, ParkingError> {
        let stored = self.ground.settings.get(tx, &TORRENTS_PARKING).await?;
        Ok(Rules::from_object(&stored))
    }

    /// Changes some rules, and answers all of them.
    pub async fn change_rules(&self, caller: Caller<'_>, change: RulesChange) -> Result<Rules, ParkingError> {
        let mut tx = self.ground.db.begin_write().await?;
        let actor = self
            .ground
            .acting
            .judge(&mut tx, caller.principal, TO_PARK)
            .await?;
        let rules = change.apply(self.read_rules(&mut tx).await?);
        let stored = rules.to_object();
        self.ground
            .settings
            .put(&mut tx, &TORRENTS_PARKING, &stored)
            .await?;
        let entry = AuditEntry {
            metadata: Some(Value::Object(stored)),
            ..audit_entry(&actor, "torrents.parking.updated", caller)
        };
        self.ground.audit.record(&mut tx, entry).await?;
        tx.commit().await?;
        Ok(rules)
    }
}

/// Audit row of something that was done to the rules, or with them.
pub(super) fn audit_entry<'a>(actor: &Actor, action: &'static str, caller: Caller<'a>) -> AuditEntry<'a> {
    AuditEntry {
        object_type: Some(OBJECT),
        object_id: Some(TORRENTS_PARKING.key.to_owned()),
        ..actor.entry(action, caller.client)
    }
}
