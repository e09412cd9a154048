//! The settings that are secrets: a JSON string that holds the cipher text.

use async_trait::async_trait;
use qm_db::{DbError, Tx};
use serde_json::Value;

use super::{SealedPage, SealedRow, SealedValues};
use crate::settings::{self, repo};

const FIELD: &str = "value";

/// The encrypted values of the table `settings`.
pub struct SecretSettings {
    /// In order.
    keys: Vec<&'static str>,
}

impl SecretSettings {
    /// Those that are declared as secret.
    pub fn declared() -> Self {
        let secret = settings::DECLARED.iter().filter(|declared| declared.secret);
        Self::of(secret.map(|declared| declared.key).collect())
    }

    pub(super) fn of(mut keys: Vec<&'static str>) -> Self {
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
        let rest: Vec<&str> = self
            .keys
            .iter()
            .copied()
            .filter(|key| after.is_none_or(|after| *key > after))
            .collect();
        let mut page = SealedPage::default();
        for key in rest.iter().take(limit as usize) {
            // Anything but a text is no value of a secret; an empty one is none either.
            if let Some(Value::String(stored)) = repo::find(tx, key).await?
                && !stored.is_empty()
            {
                page.rows.push(SealedRow {
                    object: (*key).to_owned(),
                    field: FIELD.to_owned(),
                    stored,
                });
            }
        }
        if rest.len() > limit as usize {
            page.next = rest.get(limit as usize - 1).map(|key| (*key).to_owned());
        }
        Ok(page)
    }

    async fn replace(&self, tx: &mut Tx, row: &SealedRow, new: &str) -> Result<bool, DbError> {
        repo::replace(tx, &row.object, &row.stored, new).await
    }
}
