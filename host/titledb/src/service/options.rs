//! The settings of the area, as people read and change them.

use qm_db::DbError;
use qm_kernel::Permission;
use serde_json::{Value, json};

use super::{Caller, Titledb};
use crate::error::TitledbError;
use crate::model::options::Options;
use crate::settings::TITLEDB;

pub(super) const NEEDED: &[Permission] = &[Permission::MediaManagerTitledbConfigure];

/// A change: members by name, `null` for one that is to be its default again.
pub type Change = Vec<(&'static str, Value)>;

impl Titledb {
    pub async fn options(&self) -> Result<Options, TitledbError> {
        Ok(self.options_for_work().await?)
    }

    pub(super) async fn options_for_work(&self) -> Result<Options, DbError> {
        let mut tx = self.db.begin_read().await?;
        let mut options = Options::of(&self.settings.get(&mut tx, &TITLEDB).await?);
        // What no key opens is as good as none.
        options.sealed_key = options
            .sealed_key
            .filter(|sealed| self.cipher.decrypt(sealed).is_some());
        Ok(options)
    }

    /// Makes the change. A key in it is sealed already by [`Titledb::seal`]; a directory is a guarded one.
    pub async fn change(&self, caller: Caller<'_>, change: Change) -> Result<Options, TitledbError> {
        let mut tx = self.db.begin_write().await?;
        let actor = self.acting.judge(&mut tx, caller.principal, NEEDED).await?;
        let mut stored = self.settings.get(&mut tx, &TITLEDB).await?;
        let names: Vec<&str> = change.iter().map(|(name, _)| *name).collect();
        let moved = change
            .iter()
            .any(|(name, value)| *name == "datasetPath" && !value.is_null());
        for (name, value) in change {
            if value.is_null() {
                stored.remove(name);
            } else {
                stored.insert(name.to_owned(), value);
            }
        }
        if !names.is_empty() {
            self.settings.put(&mut tx, &TITLEDB, &stored).await?;
            for action in [
                moved.then_some("media.titledb.dataset_path.changed"),
                Some("media.titledb.settings.changed"),
            ]
            .into_iter()
            .flatten()
            {
                // Names only: one value is a secret.
                let entry = qm_platform::AuditEntry {
                    object_type: Some("titledb_settings"),
                    metadata: Some(json!({ "members": names })),
                    ..actor.entry(action, caller.client)
                };
                self.audit.record(&mut tx, entry).await?;
            }
        }
        tx.commit().await?;
        self.options().await
    }

    pub fn seal(&self, key: &str) -> String {
        self.cipher.encrypt(key)
    }

    /// The settings name this directory from now on, where they named none.
    pub(super) async fn remember_directory(&self, directory: &std::path::Path) -> Result<(), TitledbError> {
        let mut tx = self.db.begin_write().await?;
        let mut stored = self.settings.get(&mut tx, &TITLEDB).await?;
        if Options::of(&stored).dataset_path.is_none() {
            let path = directory.to_string_lossy().into_owned();
            stored.insert("datasetPath".to_owned(), path.into());
            self.settings.put(&mut tx, &TITLEDB, &stored).await?;
        }
        Ok(tx.commit().await?)
    }
}
