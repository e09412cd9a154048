//! Settings of renames.

use qm_kernel::Caller;
use serde_json::Value;

use super::{NEEDED, Rename};
use crate::error::RenameError;
use crate::model::{Cleanup, CleanupChange, Seeding};
use crate::settings::{MEDIA_CLEANUP, MEDIA_SEEDING_TORRENT};

const OBJECT: &str = "setting";

impl Rename {
    pub async fn find_cleanup(&self) -> Result<Cleanup, RenameError> {
        let mut tx = self.ground.db.begin_read().await?;
        let stored = self.ground.settings.get(&mut tx, &MEDIA_CLEANUP).await?;
        Ok(Cleanup::from_object(&stored))
    }

    pub async fn change_cleanup(
        &self,
        caller: Caller<'_>,
        change: CleanupChange,
    ) -> Result<Cleanup, RenameError> {
        let settings = &self.ground.settings;
        let mut tx = self.ground.db.begin_write().await?;
        let actor = self
            .ground
            .acting
            .judge(&mut tx, caller.principal, &[NEEDED])
            .await?;
        let known = Cleanup::from_object(&settings.get(&mut tx, &MEDIA_CLEANUP).await?);
        let cleanup = change.apply(known);
        let stored = cleanup.to_object();
        settings.put(&mut tx, &MEDIA_CLEANUP, &stored).await?;
        let entry = ("media.cleanup.updated", OBJECT, MEDIA_CLEANUP.key.to_owned());
        self.commit(tx, caller, &actor, entry, Some(Value::Object(stored)))
            .await?;
        Ok(cleanup)
    }

    pub async fn find_seeding(&self) -> Result<Seeding, RenameError> {
        let mut tx = self.ground.db.begin_read().await?;
        let stored = self.ground.settings.get(&mut tx, &MEDIA_SEEDING_TORRENT).await?;
        Ok(Seeding::from_object(&stored))
    }

    pub async fn change_seeding(&self, caller: Caller<'_>, action: Seeding) -> Result<Seeding, RenameError> {
        let mut tx = self.ground.db.begin_write().await?;
        let actor = self
            .ground
            .acting
            .judge(&mut tx, caller.principal, &[NEEDED])
            .await?;
        let stored = action.to_object();
        self.ground
            .settings
            .put(&mut tx, &MEDIA_SEEDING_TORRENT, &stored)
            .await?;
        let entry = (
            "media.seedingTorrent.updated",
            OBJECT,
            MEDIA_SEEDING_TORRENT.key.to_owned(),
        );
        self.commit(tx, caller, &actor, entry, Some(Value::Object(stored)))
            .await?;
        Ok(action)
    }
}
