//! Protocol-specific configuration beside URL and key: shown without secrets, changed by property name.

use qm_kernel::secret::{MASK, is_mask};
use qm_platform::config_schema::{holds_secret, is_secret};
use qm_platform::origins::unmasked;
use serde_json::{Map, Value};

/// Property names that are fields of the indexer itself.
pub const OWN: [&str; 3] = ["baseUrl", "apiKey", "timeoutMs"];

/// The configuration for display: every secret, and every property unknown to the schema, is masked.
pub fn shown(schema: Option<&Value>, config: &Map<String, Value>) -> Map<String, Value> {
    let properties = schema.and_then(|schema| schema.get("properties"));
    let hide = |(name, value): (&String, &Value)| {
        let property = properties.and_then(|properties| properties.get(name));
        (name.clone(), shown_value(name, property, value))
    };
    config.iter().map(hide).collect()
}

fn shown_value(name: &str, property: Option<&Value>, value: &Value) -> Value {
    match (property, value) {
        (Some(property), _) if is_secret(name, property) => MASK.into(),
        (Some(property), Value::Object(inner)) => shown(Some(property), inner).into(),
        (Some(property), Value::Array(items)) => items
            .iter()
            .map(|item| shown_value(name, property.get("items"), item))
            .collect(),
        // The schema may mark the secret deeper inside, e.g. behind an `anyOf`.
        (Some(property), _) if !holds_secret(name, property) => value.clone(),
        _ => MASK.into(),
    }
}

/// Applies changes to the stored configuration: null removes a property, a mask keeps it, within lists and
/// objects too.
pub fn changed(stored: &Map<String, Value>, sent: Map<String, Value>) -> Map<String, Value> {
    let mut new = stored.clone();
    for (name, value) in sent {
        match value {
            Value::Null => {
                new.remove(&name);
            }
            Value::String(text) if is_mask(text.trim()) && stored.contains_key(&name) => {}
            value => {
                let value = unmasked(value, stored.get(&name));
                new.insert(name, value);
            }
        }
    }
    new
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn map(value: Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn secrets_are_hidden_however_deep_and_the_unknown_too() {
        let schema = json!({"properties": {
            "user": {"type": "string"}, "pin": {"type": "string", "writeOnly": true},
            "either": {"anyOf": [{"type": "integer"}, {"type": "string", "writeOnly": true}]},
            "sub": {"properties": {"token": {"writeOnly": true}, "page": {"type": "integer"}}},
            "list": {"type": "array", "items": {"properties": {"password": {}, "name": {}}}},
        }});
        let config = map(json!({
            "user": "jo", "pin": 7, "either": "x", "odd": "x", "sub": {"token": "t", "page": 2}, "list": [{"password": "p", "name": "n"}],
        }));
        let wanted = json!({
            "user": "jo", "pin": MASK, "either": MASK, "odd": MASK, "sub": {"token": MASK, "page": 2},
            "list": [{"password": MASK, "name": "n"}],
        });
        assert_eq!(Value::from(shown(Some(&schema), &config)), wanted);
        assert_eq!(
            Value::from(shown(None, &map(json!({"user": "jo"})))),
            json!({"user": MASK})
        );
    }

    #[test]
    fn what_is_sent_goes_over_what_is_stored() {
        let stored = map(json!({"user": "jo", "pin": "1234"}));
        let sent = map(json!({"user": null, "pin": MASK, "site": "x", "new": "•"}));
        assert_eq!(
            Value::from(changed(&stored, sent)),
            json!({"pin": "1234", "site": "x", "new": "•"})
        );
    }
}
