//! Configuration of a plugin as a whole, entered by an administrator and checked by the plugin's JSON Schema.
//!
//! Invariant: a secret is stored encrypted, passed to its plugin decrypted, and never shown.

use std::collections::BTreeSet;

use qm_db::{DbError, Tx};
use qm_kernel::Ctx;
use qm_kernel::secret::MASK;
use qm_net::Grants;
use qm_platform::Cipher;
use qm_platform::config_schema::{self, BrokenRule};
use qm_platform::origins::{self, Places, put_wanted, take_wanted};
use serde_json::{Map, Value};

use crate::error::SystemError;
use crate::repo::configurations as repo;

/// Reads and writes the configurations.
#[derive(Clone)]
pub struct PluginConfigurations {
    cipher: Cipher,
    ctx: Ctx,
}

impl PluginConfigurations {
    pub fn new(cipher: Cipher, ctx: Ctx) -> Self {
        Self { cipher, ctx }
    }

    /// The stored configuration with decrypted secrets. `None` when there is none, when it cannot be
    /// decrypted, and while a secret must be entered again.
    pub async fn read(&self, tx: &mut Tx, plugin: &str) -> Result<Option<Map<String, Value>>, DbError> {
        let Some(mut stored) = self.stored(tx, plugin).await? else {
            return Ok(None);
        };
        let Some(complaint) = origins::complaint(&take_wanted(&mut stored)) else {
            return Ok(Some(stored));
        };
        tracing::warn!(plugin, complaint, "a plugin is not configured any more");
        Ok(None)
    }

    /// The configuration for display, and the names of the secrets to enter again.
    pub(crate) async fn shown(
        &self,
        tx: &mut Tx,
        plugin: &str,
    ) -> Result<Option<(Map<String, Value>, Vec<String>)>, DbError> {
        let stored = self.stored(tx, plugin).await?;
        Ok(stored.map(|mut stored| {
            let wanted = take_wanted(&mut stored);
            (stored, wanted)
        }))
    }

    async fn stored(&self, tx: &mut Tx, plugin: &str) -> Result<Option<Map<String, Value>>, DbError> {
        let Some(sealed) = repo::find(tx, plugin).await? else {
            return Ok(None);
        };
        let Some(clear) = self.cipher.decrypt(&sealed) else {
            tracing::warn!(
                plugin,
                "the configuration of a plugin cannot be decrypted: enter it anew"
            );
            return Ok(None);
        };
        Ok(serde_json::from_str(clear.expose()).ok())
    }

    /// Stores `given` in place of the present configuration. Omitted secrets are kept as long as their
    /// addresses stay. Returns the stored configuration, and the names of the secrets to enter again.
    pub(crate) async fn enter(
        &self,
        tx: &mut Tx,
        plugin: &str,
        schema: &Value,
        given: Map<String, Value>,
    ) -> Result<(Map<String, Value>, Vec<String>), SystemError> {
        let (stored, wanted) = self.shown(tx, plugin).await?.unwrap_or_default();
        let mut whole = merged(schema, stored.clone(), given.clone());
        let change = origins::Change {
            schema: Some(schema),
            before: &stored,
            sent: &given,
            places: (
                &Places::in_config(Some(schema), &stored),
                &Places::in_config(Some(schema), &whole),
            ),
        };
        let wanted = change.settle(&mut whole, wanted);
        let mut broken = config_schema::broken_or_unknown(schema, &whole).map_err(SystemError::Schema)?;
        if broken.is_empty() {
            // Every run would be refused for it.
            let refused = Grants::from_config(schema, &whole).err();
            broken.extend(refused.map(|text| BrokenRule::of_grant(&text)));
        }
        if !broken.is_empty() {
            return Err(SystemError::Configuration(
                broken.iter().map(BrokenRule::message).collect(),
            ));
        }
        let mut kept = whole.clone();
        put_wanted(&mut kept, &wanted);
        let sealed = self.cipher.encrypt(&Value::Object(kept).to_string());
        repo::put(tx, plugin, &sealed, self.ctx.now()).await?;
        Ok((whole, wanted))
    }
}

/// Names of the secret properties. A property with a secret at any depth is secret as a whole; so are all
/// properties missing in `properties` when a secret stands elsewhere in the schema.
fn secrets<'a>(schema: &Value, names: impl Iterator<Item = &'a String>) -> BTreeSet<String> {
    let properties = schema.get("properties").and_then(Value::as_object);
    let elsewhere = schema
        .as_object()
        .into_iter()
        .flatten()
        .any(|(word, inner)| word != "properties" && config_schema::holds_secret(word, inner));
    let is_secret = |name: &&String| {
        let property = properties.and_then(|known| known.get(*name));
        property.map_or(elsewhere, |property| config_schema::holds_secret(name, property))
    };
    names.filter(is_secret).cloned().collect()
}

/// `given` with the stored secrets that it omits, leaves blank or sends as the mask. `null` removes a secret.
fn merged(
    schema: &Value,
    mut stored: Map<String, Value>,
    mut given: Map<String, Value>,
) -> Map<String, Value> {
    for name in secrets(schema, stored.keys().chain(given.keys())) {
        let keeps = given
            .get(&name)
            .is_none_or(|value| matches!(value.as_str(), Some("" | MASK)));
        if keeps {
            given.remove(&name);
            if let Some(kept) = stored.remove(&name) {
                given.insert(name, kept);
            }
        }
    }
    given.retain(|_, value| !value.is_null());
    given
}

/// The configuration for display: each set secret is masked.
pub(crate) fn shown(schema: &Value, mut whole: Map<String, Value>) -> Map<String, Value> {
    for name in secrets(schema, whole.keys()) {
        if let Some(value) = whole.get_mut(&name) {
            *value = MASK.into();
        }
    }
    whole
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: Value) -> Map<String, Value> {
        match value {
            Value::Object(map) => map,
            other => panic!("{other} is no object"),
        }
    }

    #[test]
    fn secrets_stay_until_they_are_replaced_or_taken_away() {
        let schema = json!({"properties": {
            "url": {}, "token": {"writeOnly": true}, "password": {}, "plain": {"writeOnly": false},
        }});
        let stored = json!({"url": "a", "token": "t", "password": "p", "plain": "x"});
        for (given, whole) in [
            (json!({}), json!({"token": "t", "password": "p"})),
            (
                json!({"url": "b", "token": MASK, "password": ""}),
                json!({"url": "b", "token": "t", "password": "p"}),
            ),
            (
                json!({"token": null, "password": "new"}),
                json!({"password": "new"}),
            ),
            (json!({"token": 7}), json!({"token": 7, "password": "p"})),
            (
                json!({"plain": ""}),
                json!({"token": "t", "password": "p", "plain": ""}),
            ),
        ] {
            assert_eq!(
                merged(&schema, object(stored.clone()), object(given.clone())),
                object(whole),
                "{given}"
            );
        }
        assert_eq!(
            shown(&schema, object(stored)),
            object(json!({"url": "a", "token": MASK, "password": MASK, "plain": "x"}))
        );
    }

    #[test]
    fn what_holds_a_secret_is_one() {
        let whole =
            json!({"login": {"user": "me", "pin": 1}, "keys": [{"key": "k"}], "plain": 2, "other": 3});
        let pin = json!({"properties": {"user": {}, "pin": {"writeOnly": true}}});
        let keys = json!({"items": {"properties": {"key": {"writeOnly": true}}}});
        for (schema, hidden) in [
            (
                json!({"properties": {"login": pin, "keys": keys, "plain": {}}}),
                vec!["keys", "login"],
            ),
            (
                json!({"properties": {"login": {"anyOf": [pin]}, "plain": {}}}),
                vec!["login"],
            ),
            (
                json!({"properties": {"plain": {}}, "allOf": [{"properties": {"login": pin}}]}),
                vec!["keys", "login", "other"],
            ),
            (
                json!({"additionalProperties": {"writeOnly": true}}),
                vec!["keys", "login", "other", "plain"],
            ),
            (
                json!({"properties": {"login": {"properties": {"password": {}}}}}),
                vec!["login"],
            ),
            (json!({"additionalProperties": true}), vec![]),
        ] {
            let seen = shown(&schema, object(whole.clone()));
            let masked = seen.iter().filter(|(_, value)| **value == MASK);
            let masked: Vec<_> = masked.map(|(name, _)| name.as_str()).collect();
            assert_eq!(masked, hidden, "{schema}");
            assert_eq!(
                merged(&schema, object(whole.clone()), seen),
                object(whole.clone()),
                "{schema}"
            );
        }
    }
}
