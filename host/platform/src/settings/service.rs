//! Reading and writing settings.

use std::collections::BTreeMap;

use qm_db::{DbError, Tx};
use qm_kernel::secret::{MASK, is_mask};
use qm_kernel::{Ctx, Secret};
use serde_json::Value;

use super::spec::{SecretSetting, Setting, SettingSpec};
use super::value::SettingValue;
use super::{PRODUCT_NAME, declare, repo};
use crate::cipher::Cipher;

/// Reads and writes settings. Cheap to clone.
#[derive(Clone)]
pub struct Settings {
    ctx: Ctx,
    cipher: Cipher,
}

impl Settings {
    pub fn new(ctx: Ctx, cipher: Cipher) -> Self {
        Self { ctx, cipher }
    }

    /// The stored value, or the default when it is missing or not accepted by the setting.
    pub async fn get<T: SettingValue>(&self, tx: &mut Tx, setting: &Setting<T>) -> Result<T, DbError> {
        Ok(setting.read(repo::find(tx, setting.key).await?.as_ref()))
    }

    pub async fn put<T: SettingValue>(
        &self,
        tx: &mut Tx,
        setting: &Setting<T>,
        value: &T,
    ) -> Result<(), DbError> {
        self.store(tx, setting.key, &value.to_json()).await
    }

    /// `None` when nothing is stored, or it cannot be decrypted.
    pub async fn get_secret(&self, tx: &mut Tx, setting: &SecretSetting) -> Result<Option<Secret>, DbError> {
        let stored = repo::find(tx, setting.key).await?;
        Ok(stored
            .as_ref()
            .and_then(Value::as_str)
            .and_then(|sealed| self.cipher.decrypt(sealed)))
    }

    pub async fn put_secret(
        &self,
        tx: &mut Tx,
        setting: &SecretSetting,
        secret: &Secret,
    ) -> Result<(), DbError> {
        self.seal(tx, setting.key, secret.expose()).await
    }

    /// Stores the seeded settings that are missing; stored values stay. `product_name` is the configured name
    /// of the server.
    pub async fn seed_defaults(&self, tx: &mut Tx, product_name: &str) -> Result<(), DbError> {
        for spec in declare::all().into_iter().filter(|spec| spec.seeded) {
            let value = if spec.key == PRODUCT_NAME.key {
                Value::from(product_name)
            } else {
                spec.default
            };
            repo::seed(tx, spec.key, &value, self.ctx.now()).await?;
        }
        Ok(())
    }

    /// Every stored setting for display: secrets are masks, and absent when they cannot be decrypted.
    pub async fn list(&self, tx: &mut Tx) -> Result<BTreeMap<String, Value>, DbError> {
        let specs = declare::all();
        let mut shown = BTreeMap::new();
        for (key, text) in repo::list(tx).await? {
            // This service writes JSON only; a different text is no setting.
            let Ok(value) = serde_json::from_str(&text) else {
                continue;
            };
            let spec = specs.iter().find(|spec| spec.key == key);
            if let Some(value) = self.shown(spec, value) {
                shown.insert(key, value);
            }
        }
        Ok(shown)
    }

    /// `value` for display.
    fn shown(&self, spec: Option<&SettingSpec>, value: Value) -> Option<Value> {
        match (spec, value) {
            (Some(spec), Value::String(sealed)) if spec.secret => {
                self.cipher.decrypt(&sealed).map(|_| Value::from(MASK))
            }
            (Some(spec), _) if spec.secret => None,
            (Some(spec), Value::Object(mut members)) => {
                for &name in spec.secret_members {
                    if let Some(member) = members.get_mut(name)
                        && !member.is_null()
                    {
                        *member = Value::from(MASK);
                    }
                }
                Some(Value::Object(members))
            }
            (_, value) => Some(value),
        }
    }

    /// Stores a value from a generic writer. A secret sent as its mask stays, and an empty one is removed.
    pub(crate) async fn write(&self, tx: &mut Tx, key: &str, value: &Value) -> Result<(), DbError> {
        match value.as_str() {
            None if value.is_null() && !declare::is_known(key) => repo::remove(tx, key).await,
            _ if !declare::is_secret(key) => self.store(tx, key, value).await,
            Some(text) if is_mask(text) => Ok(()),
            None | Some("") => repo::remove(tx, key).await,
            Some(text) => self.seal(tx, key, text).await,
        }
    }

    async fn seal(&self, tx: &mut Tx, key: &str, text: &str) -> Result<(), DbError> {
        let sealed = self.cipher.encrypt(text);
        self.store(tx, key, &Value::from(sealed)).await
    }

    async fn store(&self, tx: &mut Tx, key: &str, value: &Value) -> Result<(), DbError> {
        repo::put(tx, key, value, self.ctx.now()).await
    }
}
