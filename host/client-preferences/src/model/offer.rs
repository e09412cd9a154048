//! Offer of a client: those preferences of the schema of its plugin that may be shown, in plain words, and the judge of changes.

use qm_kernel::secret::MASK;
use qm_platform::config_schema::{BadSchema, broken_rules, is_secret};
use serde_json::{Map, Value, json};

use super::fence;

/// Preferences of one plugin that are taken.
const MOST: usize = 300;
/// Changes of one request.
pub const MOST_CHANGES: usize = 100;
/// Characters of a text, and of a key in a message.
const LONGEST_TEXT: usize = 4_096;
const LONGEST_KEY: usize = 64;
/// Types of values that are offered.
const TYPES: &[&str] = &["boolean", "integer", "number", "string"];

/// A preference that is offered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Preference {
    pub key: String,
    /// `boolean`, `integer`, `number` or `string`.
    pub kind: String,
    /// Null is a value too: no limit, say.
    pub is_nullable: bool,
    pub text: Option<String>,
    pub unit: Option<String>,
    pub group: Option<String>,
    pub minimum: Option<f64>,
    pub maximum: Option<f64>,
    pub options: Option<Vec<String>>,
    pub is_read_only: bool,
    pub is_secret: bool,
    /// An absolute directory of the client's file system.
    pub is_directory: bool,
}

/// Preferences that are offered, in the order of the schema.
#[derive(Clone, Debug, Default)]
pub struct Offer {
    pub preferences: Vec<Preference>,
    /// Text about all of them.
    pub text: Option<String>,
    /// Schema of what is offered.
    schema: Map<String, Value>,
    /// Names that the plugin offers and this does not, with the reason.
    fenced: Vec<(String, &'static str)>,
}

/// An offer with the values of now.
pub struct Shown {
    pub offer: Offer,
    pub values: Map<String, Value>,
}

/// Changes that were held against an offer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Judged {
    pub changes: Map<String, Value>,
    /// Keys of directories among them.
    pub directories: Vec<String>,
    /// The client would remove torrents by itself.
    pub removes: bool,
}

impl Offer {
    pub fn new(schema: &Value) -> Self {
        let text = |name: &str| schema.get(name)?.as_str().map(str::to_owned);
        let mut offer = Self {
            text: text("description"),
            ..Self::default()
        };
        let properties = schema.get("properties").and_then(Value::as_object);
        for (name, property) in properties.into_iter().flatten().take(MOST) {
            if let Some(reason) = fence::find_reason(name) {
                offer.fenced.push((name.clone(), reason));
            } else if let Some(preference) = read_preference(name, property) {
                let mut property = property.clone();
                if let (Some(options), Some(property)) = (&preference.options, property.as_object_mut()) {
                    let mut options: Vec<Value> =
                        options.iter().map(|option| option.as_str().into()).collect();
                    if preference.is_nullable {
                        options.push(Value::Null);
                    }
                    property.insert("enum".to_owned(), options.into());
                }
                offer.schema.insert(name.clone(), property);
                offer.preferences.push(preference);
            }
        }
        offer
    }

    /// Value of a preference as it may be shown.
    pub fn show(preference: &Preference, value: Option<&Value>) -> Value {
        match value {
            None | Some(Value::Null) => Value::Null,
            Some(_) if preference.is_secret => MASK.into(),
            Some(value) => value.clone(),
        }
    }

    /// Holds changes against what is offered: the error is a sentence for each that does not fit, by its key and never by its value.
    pub fn judge(&self, changes: &Map<String, Value>) -> Result<Judged, Refused> {
        if changes.len() > MOST_CHANGES {
            let text = format!(
                "at most {MOST_CHANGES} preferences are changed at once, these are {}",
                changes.len()
            );
            return Err(Refused::Rules(vec![text]));
        }
        let (mut judged, mut broken) = (Judged::default(), Vec::new());
        for (key, value) in changes {
            let known = self.preferences.iter().find(|known| known.key == *key);
            let Some(known) = known else {
                broken.push(self.refuse_unknown(key));
                continue;
            };
            if known.is_secret && value.as_str() == Some(MASK) {
                continue;
            }
            if known.is_read_only {
                broken.push(format!("{key} cannot be changed: the client only tells it"));
            } else if value
                .as_str()
                .is_some_and(|text| text.chars().count() > LONGEST_TEXT)
            {
                broken.push(format!(
                    "{key} must be shorter than or equal to {LONGEST_TEXT} characters"
                ));
            } else {
                let by_word = known.options.is_some() && value.as_str().is_some_and(fence::removes);
                let by_name = fence::removes(key) && !matches!(value, Value::Null | Value::Bool(false));
                judged.removes |= by_word || by_name;
                if known.is_directory {
                    judged.directories.push(key.clone());
                }
                judged.changes.insert(key.clone(), value.clone());
            }
        }
        let schema = json!({ "type": "object", "properties": self.schema });
        let rules = broken_rules(&schema, &judged.changes).map_err(Refused::Schema)?;
        broken.extend(
            rules
                .into_iter()
                .map(|rule| format!("{} {}", rule.path, rule.rule)),
        );
        if broken.is_empty() && judged.changes.is_empty() && changes.is_empty() {
            broken.push("name at least one preference".to_owned());
        }
        if broken.is_empty() {
            Ok(judged)
        } else {
            Err(Refused::Rules(broken))
        }
    }

    fn refuse_unknown(&self, key: &str) -> String {
        let shown: String = key.chars().take(LONGEST_KEY).collect();
        let fenced = self.fenced.iter().find(|(name, _)| name == key);
        match fenced {
            Some((_, reason)) => {
                format!("{shown} is not changed from here, because {reason}: change it in the client")
            }
            None => format!("{shown} is no preference of this client"),
        }
    }
}

/// Why changes were refused.
#[derive(Debug)]
pub enum Refused {
    /// A sentence each.
    Rules(Vec<String>),
    /// The schema of the plugin is none.
    Schema(BadSchema),
}

/// A preference by its schema; none for one that is of no simple type.
fn read_preference(name: &str, property: &Value) -> Option<Preference> {
    let text = |name: &str| property.get(name).and_then(Value::as_str).map(str::to_owned);
    let flag = |name: &str| property.get(name) == Some(&Value::Bool(true));
    let number = |name: &str| property.get(name).and_then(Value::as_f64);
    let types: Vec<&str> = match property.get("type")? {
        Value::String(one) => vec![one],
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        _ => return None,
    };
    let is_nullable = types.contains(&"null");
    let mut others = types.into_iter().filter(|one| *one != "null");
    let kind = others.next().filter(|kind| TYPES.contains(kind))?;
    if others.next().is_some() {
        return None;
    }
    let options = property.get("enum").and_then(Value::as_array).map(|options| {
        let words = options.iter().filter_map(Value::as_str);
        words
            .filter(|word| !fence::removes_data(word))
            .map(str::to_owned)
            .collect()
    });
    Some(Preference {
        key: name.to_owned(),
        kind: kind.to_owned(),
        is_nullable,
        text: text("description"),
        unit: text("x-unit"),
        group: text("x-group"),
        minimum: number("minimum"),
        maximum: number("maximum"),
        // Numbers to choose from are judged by the schema alone.
        options: options.filter(|_| kind == "string"),
        is_read_only: flag("readOnly"),
        is_secret: is_secret(name, property) || sounds_secret(name),
        is_directory: text("x-path").as_deref() == Some("directory"),
    })
}

/// True for a name of something that nobody shows.
fn sounds_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["password", "passphrase", "secret", "token", "credential"]
        .iter()
        .any(|part| name.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> Value {
        json!({
            "type": "object",
            "description": "Kept until it ends",
            "required": ["dht"],
            "additionalProperties": false,
            "properties": {
                "dht": { "type": "boolean", "description": "Find peers", "x-group": "network" },
                "port": { "type": "integer", "minimum": 0, "maximum": 65535 },
                "slots": { "type": ["integer", "null"], "minimum": 1, "x-unit": "slots" },
                "ratio": { "type": ["number", "null"], "minimum": 0 },
                "atLimit": { "type": "string", "enum": ["stop", "remove", "remove-with-data"] },
                "removeAtRatio": { "type": "boolean" },
                "removeAfterDays": { "type": ["integer", "null"] },
                "savePath": { "type": "string", "x-path": "directory" },
                "version": { "type": "string", "readOnly": true },
                "trackerToken": { "type": "string" },
                "vault": { "type": "string", "writeOnly": true },
                "autorunProgram": { "type": "string" },
                "webUiPassword": { "type": "string", "writeOnly": true },
                "tree": { "type": "object" },
                "either": { "type": ["string", "integer"] },
                "anything": {},
            },
        })
    }

    fn judged(changes: Value) -> Result<Judged, Vec<String>> {
        let judged = Offer::new(&schema()).judge(changes.as_object().unwrap());
        judged.map_err(|refused| match refused {
            Refused::Rules(rules) => rules,
            Refused::Schema(error) => panic!("{error}"),
        })
    }

    #[test]
    fn what_lends_power_and_what_has_no_simple_type_is_not_offered() {
        let offer = Offer::new(&schema());
        let keys: Vec<&str> = offer.preferences.iter().map(|one| one.key.as_str()).collect();
        let mut expected = [
            "dht",
            "port",
            "slots",
            "ratio",
            "atLimit",
            "removeAtRatio",
            "removeAfterDays",
            "savePath",
            "version",
            "trackerToken",
            "vault",
        ];
        expected.sort_unstable();
        let mut sorted = keys.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, expected);
        let find = |key: &str| offer.preferences.iter().find(|one| one.key == key).unwrap();
        let slots = find("slots");
        assert_eq!(
            (
                slots.kind.as_str(),
                slots.is_nullable,
                slots.minimum,
                slots.unit.as_deref()
            ),
            ("integer", true, Some(1.0), Some("slots"))
        );
        assert_eq!(find("dht").group.as_deref(), Some("network"));
        assert_eq!(
            find("atLimit").options.as_deref(),
            Some(&["stop".to_owned(), "remove".to_owned()][..])
        );
        assert!(find("savePath").is_directory && find("version").is_read_only);
        for secret in ["trackerToken", "vault"] {
            assert_eq!(Offer::show(find(secret), Some(&json!("geheim"))), json!(MASK));
            assert_eq!(Offer::show(find(secret), None), Value::Null);
        }
        assert_eq!(Offer::show(find("port"), Some(&json!(5))), json!(5));
    }

    #[test]
    fn every_change_that_does_not_fit_is_named() {
        let refused = judged(json!({
            "dht": 1, "port": 70_000, "slots": 0, "ratio": "geheim", "atLimit": "remove-with-data", "version": "2",
            "savePath": 5, "autorunProgram": "geheim", "webUiPassword": "geheim", "nothing": "geheim", "tree": {},
        }))
        .unwrap_err();
        for rule in [
            "dht must be a boolean value",
            "port must not be greater than 65535",
            "slots must not be less than 1",
            "ratio must be of one of these types: null, number",
            "atLimit must be one of the following values: stop, remove",
            "version cannot be changed: the client only tells it",
            "savePath must be a string",
            "autorunProgram is not changed from here, because it runs programs on the client's machine: change it in the client",
            "webUiPassword is not changed from here, because it decides who reaches the client: change it in the client",
            "nothing is no preference of this client",
            "tree is no preference of this client",
        ] {
            assert!(refused.iter().any(|told| told == rule), "{rule}: {refused:#?}");
        }
        assert_eq!(refused.len(), 11, "{refused:#?}");
        assert!(!refused.join(" ").contains("geheim"));
        assert_eq!(judged(json!({})).unwrap_err(), ["name at least one preference"]);
        let many: Map<String, Value> = (0..=MOST_CHANGES).map(|n| (n.to_string(), json!(n))).collect();
        assert_eq!(judged(Value::Object(many)).unwrap_err().len(), 1);
        let long = "x".repeat(LONGEST_TEXT + 1);
        assert_eq!(judged(json!({ "savePath": long })).unwrap_err().len(), 1);
    }

    #[test]
    fn changes_that_fit_are_taken_and_a_mask_changes_nothing() {
        let taken =
            judged(json!({ "slots": null, "savePath": "/d", "trackerToken": MASK, "vault": "new" })).unwrap();
        assert_eq!(
            Value::Object(taken.changes),
            json!({ "slots": null, "savePath": "/d", "vault": "new" })
        );
        assert_eq!(taken.directories, ["savePath"]);
        assert!(!taken.removes);
        assert!(judged(json!({ "atLimit": "remove" })).unwrap().removes);
        for (by_name, removes) in [
            (json!({ "removeAtRatio": true }), true),
            (json!({ "removeAfterDays": 7 }), true),
            (json!({ "removeAtRatio": false, "removeAfterDays": null }), false),
        ] {
            assert_eq!(judged(by_name.clone()).unwrap().removes, removes, "{by_name}");
        }
        // A text that nobody chooses from is none.
        assert!(!judged(json!({ "vault": "remove" })).unwrap().removes);
        assert!(judged(json!({ "vault": MASK })).unwrap().changes.is_empty());
    }
}
