//! Description of the protocols that a plugin speaks: checked once, when the plugin is loaded.
//!
//! Bounds: 32 protocols, a schema of 16 KiB without references, one line for each name, and one property by which a call
//! reaches anything: the base URL.

use std::collections::BTreeSet;

use qm_plugin_host::role::with_certificate;
use qm_ports::indexer::ProtocolKind;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::vetted::{is_id, is_line, object_schema, only_base_url};

/// Where the protocols stand in the traits of a plugin.
const PROTOCOLS: &str = "protocols";
const MAX_PROTOCOLS: usize = 32;

/// A protocol as its plugin tells it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PluginProtocol {
    pub(super) id: String,
    pub(super) label: String,
    /// `torrent` or `usenet`
    pub(super) carrier: String,
    /// A text is why there is none.
    pub(super) config_schema: Value,
    pub(super) capabilities: Vec<String>,
}

/// The protocols as traits.
pub(super) fn traits(told: &[PluginProtocol]) -> Map<String, Value> {
    let all = told
        .iter()
        .map(|told| serde_json::to_value(told).unwrap_or_default());
    Map::from_iter([(PROTOCOLS.to_owned(), Value::Array(all.collect()))])
}

fn listed(traits: &Map<String, Value>) -> impl Iterator<Item = PluginProtocol> {
    let all = traits.get(PROTOCOLS).and_then(Value::as_array);
    let all = all.map_or(&[][..], Vec::as_slice);
    all.iter()
        .filter_map(|told| serde_json::from_value(told.clone()).ok())
}

/// The ids of what the plugin speaks.
pub(super) fn ids(traits: &Map<String, Value>) -> Vec<String> {
    listed(traits).map(|told| told.id).collect()
}

/// The protocols that a plugin of this id and version speaks.
pub(super) fn kinds(traits: &Map<String, Value>, plugin: &str, version: &str) -> Vec<ProtocolKind> {
    listed(traits)
        .map(|told| ProtocolKind {
            id: told.id,
            label: told.label,
            protocol: told.carrier,
            plugin: plugin.to_owned(),
            version: version.to_owned(),
            config_schema: told.config_schema,
            capabilities: told.capabilities,
        })
        .collect()
}

/// Reads the schema of a protocol's configuration.
pub(super) fn schema(id: &str, text: &str) -> Result<Value, String> {
    let whose = format!("the schema of the configuration of `{id}`");
    let schema = object_schema(&whose, text)?;
    only_base_url(&whose, &schema)?;
    Ok(with_certificate(schema))
}

/// Checks what a plugin says of its protocols.
pub(super) fn vet(traits: &Map<String, Value>) -> Result<(), String> {
    let count = traits
        .get(PROTOCOLS)
        .and_then(Value::as_array)
        .map_or(0, Vec::len);
    if !(1..=MAX_PROTOCOLS).contains(&count) {
        return Err(format!("it must speak 1 to {MAX_PROTOCOLS} protocols"));
    }
    let mut ids = BTreeSet::new();
    for told in listed(traits) {
        if !is_id(&told.id) {
            return Err("the id of a protocol must be 1 to 64 lower-case letters, digits and `_`".to_owned());
        }
        if !is_line(&told.label, 80) {
            return Err(format!(
                "the label of `{}` must be one line of 1 to 80 characters",
                told.id
            ));
        }
        if let Value::String(why) = told.config_schema {
            return Err(why);
        }
        if !ids.insert(told.id.clone()) {
            return Err(format!("it speaks the protocol `{}` twice", told.id));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const GOOD: &str = r#"{"type":"object","properties":{"baseUrl":{"type":"string","x-grant":"http-url"}}}"#;

    fn new_protocol(id: &str) -> PluginProtocol {
        PluginProtocol {
            id: id.to_owned(),
            label: "Torznab".to_owned(),
            carrier: "torrent".to_owned(),
            config_schema: schema(id, GOOD).unwrap(),
            capabilities: Vec::new(),
        }
    }

    #[test]
    fn what_is_told_is_checked() {
        assert_eq!(
            vet(&traits(&[new_protocol("torznab"), new_protocol("newznab")])),
            Ok(())
        );
        assert!(vet(&traits(&[])).is_err());
        let many: Vec<_> = (0..33).map(|n| new_protocol(&format!("a{n}"))).collect();
        assert!(vet(&traits(&many)).unwrap_err().contains("32"));
        assert!(
            vet(&traits(&[new_protocol("a"), new_protocol("a")]))
                .unwrap_err()
                .contains("twice")
        );
        let refused: [(fn(&mut PluginProtocol), &str); 3] = [
            (|told| told.id = "Torz nab".into(), "id"),
            (|told| told.label = "turned \u{202e}".into(), "label"),
            (
                |told| told.config_schema = json!("its schema is bad"),
                "its schema is bad",
            ),
        ];
        for (change, about) in refused {
            let mut one = new_protocol("a");
            change(&mut one);
            let error = vet(&traits(&[one])).unwrap_err();
            assert!(error.contains(about), "{error}");
        }
        let all = kinds(&traits(&[new_protocol("torznab")]), "p", "1.0");
        assert_eq!(
            (all[0].plugin.as_str(), all[0].protocol.as_str()),
            ("p", "torrent")
        );
    }

    #[test]
    fn the_base_url_is_all_a_call_may_reach() {
        for (properties, refused) in [
            (json!({}), true),
            (json!({"baseUrl": {"type": "string"}}), true),
            (json!({"baseUrl": {"x-grant": "unix-path"}}), true),
            (json!({"url": {"x-grant": "http-url"}}), true),
            (
                json!({"baseUrl": {"x-grant": "http-url"}, "other": {"x-grant": "http-url"}}),
                true,
            ),
            (json!({"baseUrl": {"x-grant": "http-url"}, "other": {}}), false),
        ] {
            let text = json!({ "type": "object", "properties": properties }).to_string();
            assert_eq!(schema("a", &text).is_err(), refused, "{text}");
        }
        assert!(schema("a", "{").unwrap_err().contains("`a`"));
    }
}
