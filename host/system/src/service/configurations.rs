//! What an administrator enters once for a plugin, by the JSON Schema that the plugin gave.
//!
//! Invariant: a secret is stored encrypted, handed to its plugin in clear, and shown to nobody.

use std::collections::BTreeSet;

use qm_db::{DbError, Tx};
use qm_kernel::Ctx;
use qm_kernel::secret::MASK;
use qm_platform::Cipher;
use qm_platform::config_schema::{self, BrokenRule};
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

    /// What is stored for the plugin, secrets in clear. None when nobody entered anything, and when it was sealed with a key
    /// nobody has any more.
    pub async fn read(&self, tx: &mut Tx, plugin: &str) -> Result<Option<Map<String, Value>>, DbError> {
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

    /// Stores `given`, in place of all that was stored but the secrets it does not name; answers what is stored now.
    pub(crate) async fn enter(
        &self,
        tx: &mut Tx,
        plugin: &str,
        schema: &Value,
        given: Map<String, Value>,
    ) -> Result<Map<String, Value>, SystemError> {
        let stored = self.read(tx, plugin).await?.unwrap_or_default();
        let whole = merged(schema, stored, given);
        let mut broken = config_schema::broken_rules(schema, &whole).map_err(SystemError::Schema)?;
        broken.extend(strangers(schema, &whole));
        if !broken.is_empty() {
            return Err(SystemError::Configuration(
                broken.iter().map(BrokenRule::message).collect(),
            ));
        }
        let sealed = self.cipher.encrypt(&Value::Object(whole.clone()).to_string());
        repo::put(tx, plugin, &sealed, self.ctx.now()).await?;
        Ok(whole)
    }
}

/// The properties that are secrets: those called `password` and those marked `writeOnly`.
fn secrets(schema: &Value) -> BTreeSet<&str> {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties
        .into_iter()
        .flatten()
        .filter(|(name, property)| {
            *name == "password" || property.get("writeOnly") == Some(&Value::Bool(true))
        })
        .map(|(name, _)| name.as_str())
        .collect()
}

/// What is given, with the stored secrets that it leaves out, leaves blank or repeats as the mask. `null` takes one away.
fn merged(
    schema: &Value,
    mut stored: Map<String, Value>,
    mut given: Map<String, Value>,
) -> Map<String, Value> {
    for name in secrets(schema) {
        let keeps = given
            .get(name)
            .is_none_or(|value| matches!(value.as_str(), Some("" | MASK)));
        if keeps {
            given.remove(name);
            if let Some(kept) = stored.remove(name) {
                given.insert(name.to_owned(), kept);
            }
        }
    }
    given.retain(|_, value| !value.is_null());
    given
}

/// Properties the schema does not name, when it does not say that it allows others.
fn strangers<'a>(schema: &'a Value, whole: &'a Map<String, Value>) -> impl Iterator<Item = BrokenRule> + 'a {
    let properties = schema.get("properties").and_then(Value::as_object);
    let is_open = schema.get("additionalProperties").is_some();
    whole
        .keys()
        .filter(move |name| !is_open && !properties.is_some_and(|known| known.contains_key(*name)))
        .map(|name| BrokenRule::unknown(name))
}

/// The configuration as people see it: the mask instead of each secret that is set.
pub(crate) fn shown(schema: &Value, mut whole: Map<String, Value>) -> Map<String, Value> {
    for name in secrets(schema) {
        if let Some(value) = whole.get_mut(name) {
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
    fn what_no_schema_names_is_told() {
        let whole = object(json!({"a": 1, "b": 2}));
        let told = |schema: Value| {
            let found: Vec<_> = strangers(&schema, &whole).map(|rule| rule.message()).collect();
            found
        };
        assert_eq!(
            told(json!({"properties": {"a": {}}})),
            ["property config.b should not exist"]
        );
        assert_eq!(
            told(json!({"properties": {}, "additionalProperties": true})),
            [""; 0]
        );
        assert_eq!(told(json!({})).len(), 2);
    }
}
