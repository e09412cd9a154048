//! Presets that people store.

use qm_db::DbError;
use qm_kernel::Caller;
use qm_rename_plan::{Preset, Template, Templates};
use serde_json::json;

use super::{NEEDED, Rename};
use crate::error::RenameError;
use crate::model::{MAX_PRESETS, OwnTemplates, StoredPreset};
use crate::repo::presets as repo;

const OBJECT: &str = "media_name_preset";

impl Rename {
    /// Stored presets, in the order of their names.
    pub async fn list_presets(&self) -> Result<Vec<StoredPreset>, RenameError> {
        let mut tx = self.ground.db.begin_read().await?;
        Ok(repo::all(&mut tx).await?)
    }

    /// Stores a preset.
    pub async fn add_preset(
        &self,
        caller: Caller<'_>,
        (name, base, own): (String, Preset, OwnTemplates),
    ) -> Result<StoredPreset, RenameError> {
        check_templates(&own)?;
        let now = self.ground.ctx.now();
        let preset = StoredPreset {
            id: self.ground.ctx.ordered_id(),
            name,
            base,
            own,
            created_at: now,
            updated_at: now,
        };
        let mut tx = self.ground.db.begin_write().await?;
        let actor = self
            .ground
            .acting
            .judge(&mut tx, caller.principal, &[NEEDED])
            .await?;
        if repo::count(&mut tx).await? >= MAX_PRESETS {
            return Err(RenameError::TooMany);
        }
        let added = repo::add(&mut tx, &preset).await;
        added.map_err(|error| refuse_name(error, &preset))?;
        let entry = ("media.namePreset.create", OBJECT, preset.id.clone());
        let metadata = json!({ "name": preset.name });
        self.commit(tx, caller, &actor, entry, Some(metadata)).await?;
        Ok(preset)
    }

    /// Replaces a stored preset.
    pub async fn change_preset(
        &self,
        caller: Caller<'_>,
        id: &str,
        (name, base, own): (String, Preset, OwnTemplates),
    ) -> Result<StoredPreset, RenameError> {
        check_templates(&own)?;
        let mut tx = self.ground.db.begin_write().await?;
        let actor = self
            .ground
            .acting
            .judge(&mut tx, caller.principal, &[NEEDED])
            .await?;
        let known = repo::find(&mut tx, id).await?.ok_or(RenameError::NoSuchPreset)?;
        let preset = StoredPreset {
            name,
            base,
            own,
            updated_at: self.ground.ctx.now(),
            ..known
        };
        let changed = repo::change(&mut tx, &preset).await;
        changed.map_err(|error| refuse_name(error, &preset))?;
        let entry = ("media.namePreset.update", OBJECT, preset.id.clone());
        let metadata = json!({ "name": preset.name });
        self.commit(tx, caller, &actor, entry, Some(metadata)).await?;
        Ok(preset)
    }

    /// Deletes a stored preset, and returns it.
    pub async fn remove_preset(&self, caller: Caller<'_>, id: &str) -> Result<StoredPreset, RenameError> {
        let mut tx = self.ground.db.begin_write().await?;
        let actor = self
            .ground
            .acting
            .judge(&mut tx, caller.principal, &[NEEDED])
            .await?;
        let preset = repo::find(&mut tx, id).await?.ok_or(RenameError::NoSuchPreset)?;
        repo::remove(&mut tx, id).await?;
        let entry = ("media.namePreset.delete", OBJECT, preset.id.clone());
        let metadata = json!({ "name": preset.name });
        self.commit(tx, caller, &actor, entry, Some(metadata)).await?;
        Ok(preset)
    }

    /// Preset of this word or id, and its templates.
    pub(super) async fn find_templates(&self, id: &str) -> Result<(Preset, Templates), RenameError> {
        if let Some(preset) = Preset::from_word(id) {
            return Ok((preset, preset.templates()));
        }
        let mut tx = self.ground.db.begin_read().await?;
        let stored = repo::find(&mut tx, id).await?.ok_or(RenameError::NoSuchPreset)?;
        Ok((stored.base, stored.templates()))
    }
}

/// Refuses templates with a fault, before they are stored.
fn check_templates(own: &OwnTemplates) -> Result<(), RenameError> {
    for (field, text) in [("tv", &own.tv), ("anime", &own.anime), ("movie", &own.movie)] {
        if let Some(text) = text {
            Template::parse(text).map_err(|fault| RenameError::Template(field, fault))?;
        }
    }
    Ok(())
}

/// The name is the only thing that may be taken.
fn refuse_name(error: DbError, preset: &StoredPreset) -> RenameError {
    if error.is_unique_violation() {
        RenameError::NameTaken(preset.name.clone())
    } else {
        error.into()
    }
}
