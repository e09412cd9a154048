//! Reading and changing the settings of the area.

use qm_db::DbError;
use qm_kernel::{Caller, Permission};
use qm_platform::origins::{self, Places};
use qm_platform::{AuditEntry, judge_alone};
use serde_json::{Map, Value, json};

use super::Titledb;
use crate::error::TitledbError;
use crate::model::options::Options;
use crate::settings::TITLEDB;

pub(super) const NEEDED: &[Permission] = &[Permission::MediaManagerTitledbConfigure];

const KEY: &str = "apiKey";

/// A change: members by name; `null` restores the default.
pub type Change = Vec<(&'static str, Value)>;

/// Applies a change. A key that was entered for another origin is dropped.
fn put(stored: &mut Map<String, Value>, change: Change) {
    let before = stored.clone();
    let sent: Map<String, Value> = change
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
    for (name, value) in &sent {
        if value.is_null() {
            stored.remove(name);
        } else {
            stored.insert(name.clone(), value.clone());
        }
    }
    let schema = json!({ "properties": { "apiKey": { "writeOnly": true } }, "additionalProperties": false });
    let url = |stored: &Map<String, Value>| {
        Places::of_url(
            Options::from_stored(stored)
                .api_base_url
                .as_deref()
                .unwrap_or_default(),
        )
    };
    let places = (&url(&before), &url(stored));
    let change = origins::Change {
        schema: Some(&schema),
        before: &before,
        sent: &sent,
        places,
    };
    let wanted = origins::take_wanted(&mut before.clone());
    let key = stored.remove(KEY).map(|key| (KEY.to_owned(), key));
    let mut key = Map::from_iter(key);
    let wanted = change.settle(&mut key, wanted);
    stored.extend(key);
    origins::put_wanted(stored, &wanted);
}

impl Titledb {
    pub async fn options(&self) -> Result<Options, TitledbError> {
        Ok(self.options_for_work().await?)
    }

    pub(super) async fn options_for_work(&self) -> Result<Options, DbError> {
        let mut tx = self.db.begin_read().await?;
        let mut options = Options::from_stored(&self.settings.get(&mut tx, &TITLEDB).await?);
        // A key that cannot be decrypted counts as none.
        options.sealed_key = options
            .sealed_key
            .filter(|sealed| self.cipher.decrypt(sealed).is_some());
        Ok(options)
    }

    /// Stores the change; resolves a directory in it, and encrypts a key.
    pub async fn change(&self, caller: Caller<'_>, mut change: Change) -> Result<Options, TitledbError> {
        judge_alone(&*self.acting, &self.db, caller.principal, NEEDED).await?;
        for (name, value) in &mut change {
            match (*name, value.as_str()) {
                ("datasetPath", Some(path)) => {
                    *value = Value::from(self.guarded(path).await?.to_string_lossy().into_owned());
                }
                (KEY, Some(key)) => *value = self.cipher.encrypt(key).into(),
                _ => {}
            }
        }
        let mut tx = self.db.begin_write().await?;
        let actor = self.acting.judge(&mut tx, caller.principal, NEEDED).await?;
        let mut stored = self.settings.get(&mut tx, &TITLEDB).await?;
        let names: Vec<&str> = change.iter().map(|(name, _)| *name).collect();
        let moved = change
            .iter()
            .any(|(name, value)| *name == "datasetPath" && !value.is_null());
        put(&mut stored, change);
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
                let entry = AuditEntry {
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

    /// Stores this directory in the settings if they name none.
    pub(super) async fn remember_directory(
        &self,
        caller: Caller<'_>,
        needed: &[Permission],
        directory: &std::path::Path,
    ) -> Result<(), TitledbError> {
        let mut tx = self.db.begin_write().await?;
        let actor = self.acting.judge(&mut tx, caller.principal, needed).await?;
        let mut stored = self.settings.get(&mut tx, &TITLEDB).await?;
        if Options::from_stored(&stored).dataset_path.is_none() {
            let path = directory.to_string_lossy().into_owned();
            stored.insert("datasetPath".to_owned(), path.into());
            self.settings.put(&mut tx, &TITLEDB, &stored).await?;
            let entry = AuditEntry {
                object_type: Some("titledb_settings"),
                metadata: Some(json!({ "members": ["datasetPath"] })),
                ..actor.entry("media.titledb.dataset_path.changed", caller.client)
            };
            self.audit.record(&mut tx, entry).await?;
        }
        Ok(tx.commit().await?)
    }
}
