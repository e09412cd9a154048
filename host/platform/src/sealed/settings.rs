//! Encrypted settings: settings whose value is a JSON string with the encrypted text, and encrypted members
//! of object settings.

use async_trait::async_trait;
use qm_db::{DbError, Tx};
use serde_json::Value;

use super::{SealedPage, SealedRow, SealedValues};
use crate::settings::{self, repo};

const FIELD: &str = "value";

/// Encrypted values of the table `settings`.
pub struct SecretSettings {
    /// Keys in order, each with its secret members; an empty list where the whole value is secret.
    keys: Vec<(&'static str, &'static [&'static str])>,
}

impl SecretSettings {
    /// All settings that are declared as secret.
    pub fn declared() -> Self {
        let secret = settings::DECLARED.iter().filter_map(|declared| {
            let members = (declared.spec)().secret_members;
            (declared.secret || !members.is_empty()).then_some((declared.key, members))
        });
        Self::with_members(secret.collect())
    }

    #[cfg(test)]
    pub(super) fn whole_values(keys: Vec<&'static str>) -> Self {
        Self::with_members(keys.into_iter().map(|key| (key, [].as_slice())).collect())
    }

    pub(super) fn with_members(mut keys: Vec<(&'static str, &'static [&'static str])>) -> Self {
        keys.sort_unstable();
        Self { keys }
    }
}

#[async_trait]
impl SealedValues for SecretSettings {
    fn area(&self) -> &'static str {
        "settings"
    }

    async fn list(&self, tx: &mut Tx, after: Option<&str>, limit: u32) -> Result<SealedPage, DbError> {
        let rest: Vec<_> = self
            .keys
            .iter()
            .copied()
            .filter(|(key, _)| after.is_none_or(|after| *key > after))
            .collect();
        let mut page = SealedPage::default();
        for (key, members) in rest.iter().take(limit as usize) {
            let row = |field: &str, stored: &Value| {
                // Only a text that is not empty is an encrypted value.
                let stored = stored.as_str().filter(|stored| !stored.is_empty())?;
                Some(SealedRow {
                    object: (*key).to_owned(),
                    field: field.to_owned(),
                    stored: stored.to_owned(),
                })
            };
            match repo::find(tx, key).await? {
                Some(Value::Object(object)) => {
                    let stored = members.iter().filter_map(|name| row(name, object.get(*name)?));
                    page.rows.extend(stored);
                }
                Some(value) if members.is_empty() => page.rows.extend(row(FIELD, &value)),
                _ => {}
            }
        }
        if rest.len() > limit as usize {
            page.next = rest.get(limit as usize - 1).map(|(key, _)| (*key).to_owned());
        }
        Ok(page)
    }

    async fn replace(&self, tx: &mut Tx, row: &SealedRow, new: &str) -> Result<bool, DbError> {
        let (key, field) = (row.object.as_str(), row.field.as_str());
        let is_member = self
            .keys
            .iter()
            .any(|(known, members)| *known == key && members.contains(&field));
        if !is_member {
            return repo::replace(tx, key, &row.stored, new).await;
        }
        repo::replace_member(tx, (key, field), &row.stored, new).await
    }
}
