//! What a plugin says of its actions, on its way into the catalogue: checked once, when the plugin is loaded.
//!
//! Bounds: 64 actions, a schema of 16 KiB without references (what refers to itself can cost more to judge by than anybody
//! has), one line for each name.

use std::collections::BTreeSet;

use qm_ports::action::{ActionKind, Occasion};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::roles::vetted::{is_id, is_line, object_schema};

/// Where the actions stand in the traits of a plugin.
const ACTIONS: &str = "actions";
const MAX_ACTIONS: usize = 64;

/// An action as its plugin tells it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Told {
    pub(super) id: String,
    pub(super) label: String,
    pub(super) category: String,
    pub(super) occasions: Vec<String>,
    /// JSON, as text until it was read.
    pub(super) params_schema: Value,
    pub(super) idempotent: bool,
}

const OCCASIONS: &[(&str, Occasion)] = &[
    ("torrent", Occasion::Torrent),
    ("media", Occasion::Media),
    ("event", Occasion::Event),
];

/// The word for an occasion.
pub(super) fn word(occasion: Occasion) -> &'static str {
    match occasion {
        Occasion::Torrent => "torrent",
        Occasion::Media => "media",
        Occasion::Event => "event",
    }
}

/// The actions as traits.
pub(super) fn traits(told: &[Told]) -> Map<String, Value> {
    let all = told
        .iter()
        .map(|told| serde_json::to_value(told).unwrap_or_default());
    Map::from_iter([(ACTIONS.to_owned(), Value::Array(all.collect()))])
}

fn listed(traits: &Map<String, Value>) -> &[Value] {
    traits
        .get(ACTIONS)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// The ids of what the plugin provides.
pub(super) fn ids(traits: &Map<String, Value>) -> impl Iterator<Item = &str> {
    listed(traits).iter().filter_map(|told| told.get("id")?.as_str())
}

/// The action of this id as the plugin provides it.
pub(super) fn kind(traits: &Map<String, Value>, id: &str, plugin: &str) -> Option<ActionKind> {
    let mut all = listed(traits).iter();
    let found = all.find(|told| told.get("id").and_then(Value::as_str) == Some(id))?;
    let told: Told = serde_json::from_value(found.clone()).ok()?;
    let occasion = |word: &String| {
        OCCASIONS
            .iter()
            .find(|(known, _)| known == word)
            .map(|(_, occasion)| *occasion)
    };
    Some(ActionKind {
        occasions: told.occasions.iter().filter_map(occasion).collect(),
        params_schema: told.params_schema,
        idempotent: told.idempotent,
        plugin: plugin.to_owned(),
        id: told.id,
        label: told.label,
        category: told.category,
    })
}

/// Reads the schema of an action's parameters.
pub(super) fn schema(id: &str, text: &str) -> Result<Value, String> {
    object_schema(&format!("the schema of the parameters of `{id}`"), text)
}

/// Checks what a plugin says of its actions; a schema that is a text was not read yet.
pub(super) fn vet(traits: &Map<String, Value>) -> Result<(), String> {
    let all = listed(traits);
    if all.is_empty() || all.len() > MAX_ACTIONS {
        return Err(format!("it must provide 1 to {MAX_ACTIONS} actions"));
    }
    let mut ids = BTreeSet::new();
    for told in all {
        let told: Told = serde_json::from_value(told.clone()).map_err(|error| error.to_string())?;
        let id = told.id.as_str();
        if !is_id(id) {
            return Err("the id of an action must be 1 to 64 lower-case letters, digits and `_`".to_owned());
        }
        if !ids.insert(told.id.clone()) {
            return Err(format!("it provides the action `{id}` twice"));
        }
        if !is_line(&told.label, 80) || !is_line(&told.category, 40) {
            return Err(format!(
                "the label and the category of `{id}` must be one line of 1 to 80 and 1 to 40 characters"
            ));
        }
        if !told
            .occasions
            .iter()
            .any(|said| OCCASIONS.iter().any(|(known, _)| known == said))
        {
            return Err(format!(
                "the action `{id}` follows no trigger that this host knows"
            ));
        }
        if let Value::String(why) = &told.params_schema {
            return Err(why.clone());
        }
    }
    Ok(())
}

/// The texts among `params` that the schema calls secret, or that are called `password`, however deep they are.
pub(super) fn secrets(schema: &Value, params: &Map<String, Value>) -> Vec<String> {
    let mut found = Vec::new();
    for (name, value) in params {
        collect(
            &schema["properties"][name.as_str()],
            value,
            name == "password",
            &mut found,
        );
    }
    found
}

fn collect(schema: &Value, value: &Value, secret: bool, found: &mut Vec<String>) {
    let secret = secret || schema["writeOnly"] == Value::Bool(true);
    match value {
        Value::String(text) if secret => found.push(text.clone()),
        Value::Number(number) if secret => found.push(number.to_string()),
        Value::Array(items) => items
            .iter()
            .for_each(|item| collect(&schema["items"], item, secret, found)),
        Value::Object(members) => {
            for (name, inner) in members {
                let secret = secret || name == "password";
                collect(&schema["properties"][name.as_str()], inner, secret, found);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(id: &str) -> Told {
        Told {
            id: id.to_owned(),
            label: "Move".to_owned(),
            category: "torrent".to_owned(),
            occasions: vec!["torrent".to_owned(), "tea_time".to_owned()],
            params_schema: json!({ "type": "object" }),
            idempotent: true,
        }
    }

    #[test]
    fn what_is_told_is_checked() {
        assert_eq!(vet(&traits(&[told("move"), told("stop")])), Ok(()));
        assert!(vet(&traits(&[])).is_err());
        let many: Vec<_> = (0..65).map(|n| told(&format!("a{n}"))).collect();
        assert!(vet(&traits(&many)).unwrap_err().contains("64"));
        assert_eq!(vet(&traits(&many[..64])), Ok(()));
        assert!(
            vet(&traits(&[told("move"), told("move")]))
                .unwrap_err()
                .contains("twice")
        );
        let refused: [(fn(&mut Told), &str); 8] = [
            (|told| told.id = "Move".into(), "id"),
            (|told| told.id = String::new(), "id"),
            (|told| told.id = "a".repeat(65), "id"),
            (|told| told.label = "two\nlines".into(), "label"),
            (|told| told.label = "turned \u{202e}".into(), "label"),
            (|told| told.category = "x".repeat(41), "category"),
            (|told| told.occasions = vec!["tea_time".into()], "trigger"),
            (
                |told| told.params_schema = json!("its schema is bad"),
                "its schema is bad",
            ),
        ];
        for (change, about) in refused {
            let mut one = told("move");
            change(&mut one);
            let error = vet(&traits(&[one])).unwrap_err();
            assert!(error.contains(about), "{error}");
        }
    }

    #[test]
    fn an_unknown_occasion_is_left_out() {
        let traits = traits(&[told("move")]);
        let kind = kind(&traits, "move", "p").unwrap();
        assert_eq!(
            (kind.occasions, kind.plugin.as_str()),
            (vec![Occasion::Torrent], "p")
        );
        assert!(super::kind(&traits, "stop", "p").is_none());
    }

    #[test]
    fn schemas_are_objects_without_references() {
        assert!(schema("a", r#"{"type":"object","properties":{"x":{"type":"string"}}}"#).is_ok());
        for (text, about) in [
            ("{", "no JSON"),
            (r#"{"type":"array"}"#, "object"),
            (
                r##"{"type":"object","properties":{"x":{"allOf":[{"$ref":"#"}]}}}"##,
                "reference",
            ),
        ] {
            let error = schema("a", text).unwrap_err();
            assert!(error.contains(about) && error.contains("`a`"), "{error}");
        }
        let large = format!(r#"{{"type":"object","title":"{}"}}"#, "x".repeat(16 << 10));
        assert!(schema("a", &large).unwrap_err().contains("16 KiB"));
    }

    #[test]
    fn secrets_are_found_at_any_depth() {
        let schema = json!({ "properties": {
            "token": { "writeOnly": true },
            "plain": {},
            "login": { "properties": { "password": { "writeOnly": true }, "user": {} } },
            "named": { "properties": { "password": {} } },
            "keys": { "writeOnly": true },
        } });
        let params = json!({
            "token": "t0ken", "plain": "seen", "login": { "password": "hunter22", "user": "me" },
            "named": { "password": "by its name" },
            "keys": ["k1", { "deep": 4711 }], "other": "seen",
        });
        let mut found = secrets(&schema, params.as_object().unwrap());
        found.sort();
        assert_eq!(found, ["4711", "by its name", "hunter22", "k1", "t0ken"]);
    }
}
