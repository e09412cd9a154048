//! Validation of plugin configurations by the JSON Schema of the plugin.
//!
//! Errors name the property and the rule, never the value, because a configuration holds secrets. Bounds: a
//! schema has at most 64 KiB (ensured by the plugin host) and is compiled for each validation, which happens
//! only when a configuration is written; a schema that refers to another document is invalid.

use boon::{Compiler, ErrorKind as Kind, Schemas, Type, Types, UrlLoader, ValidationError};
use serde_json::{Map, Value};

/// A schema rule that a configuration violates.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BrokenRule {
    /// Path of names and positions with dots between, e.g. `proxy.port`; blank for the whole configuration.
    pub path: String,
    /// Expectation at that path, e.g. `must be a string`.
    pub rule: String,
}

impl BrokenRule {
    /// Error about a property that the schema does not know.
    pub fn unknown(name: &str) -> Self {
        Self {
            path: name.to_owned(),
            rule: "should not exist".to_owned(),
        }
    }

    /// Error about the address in a property, from `qm_net`'s sentence "`url` must be …".
    pub fn of_grant(text: &str) -> Self {
        let named = text.strip_prefix('`').and_then(|rest| rest.split_once("` "));
        let (path, rule) = named.unwrap_or(("", text));
        Self {
            path: path.to_owned(),
            rule: rule.to_owned(),
        }
    }

    /// The whole as the API words it.
    pub fn message(&self) -> String {
        match (self.path.as_str(), self.rule.as_str()) {
            ("", rule) => format!("config {rule}"),
            (path, rule @ "should not exist") => format!("property config.{path} {rule}"),
            (path, rule) => format!("config.{path} {rule}"),
        }
    }

    /// The sentence for the author of action parameters, e.g. `destination is required`.
    fn of_params(&self) -> String {
        match (self.path.as_str(), self.rule.as_str()) {
            ("", rule) => format!("the parameters {rule}"),
            (path, "should not exist") => format!("unknown parameter `{path}`"),
            (path, rule) => format!("{path} {rule}"),
        }
    }

    /// Name of the top-level property.
    pub fn property(&self) -> &str {
        self.path.split('.').next().unwrap_or_default()
    }
}

/// A schema that cannot be compiled: its plugin is broken.
#[derive(Debug, thiserror::Error)]
#[error("the schema of its configuration cannot be used: {0}")]
pub struct BadSchema(String);

impl BadSchema {
    /// Placeholder to describe operations.
    pub fn unusable() -> Self {
        Self("…".to_owned())
    }
}

/// Name of the schema during validation.
const LOCATION: &str = "schema:configuration";

/// Loader that refuses references to other documents.
struct NoDocuments;

impl UrlLoader for NoDocuments {
    fn load(&self, url: &str) -> Result<Value, Box<dyn std::error::Error>> {
        Err(format!("{url} is another document").into())
    }
}

/// All rules of `schema` that `config` violates, each once.
pub fn broken_rules(schema: &Value, config: &Map<String, Value>) -> Result<Vec<BrokenRule>, BadSchema> {
    // The alternate format includes the cause.
    let bad = |error: boon::CompileError| BadSchema(format!("{error:#}"));
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    compiler.use_loader(Box::new(NoDocuments));
    compiler.add_resource(LOCATION, schema.clone()).map_err(bad)?;
    let index = compiler.compile(LOCATION, &mut schemas).map_err(bad)?;
    let config = Value::Object(config.clone());
    let mut broken = Vec::new();
    if let Err(error) = schemas.validate(&config, index) {
        collect(schema, &error, &mut broken);
    }
    Ok(broken)
}

/// As [`broken_rules`], plus every property unknown to the schema, unless its `additionalProperties` allows
/// them.
pub fn broken_or_unknown(schema: &Value, config: &Map<String, Value>) -> Result<Vec<BrokenRule>, BadSchema> {
    let mut broken = broken_rules(schema, config)?;
    let properties = schema.get("properties").and_then(Value::as_object);
    if schema.get("additionalProperties").is_none() {
        for name in config.keys() {
            let unknown = BrokenRule::unknown(name);
            if !properties.is_some_and(|known| known.contains_key(name)) && !broken.contains(&unknown) {
                broken.push(unknown);
            }
        }
    }
    Ok(broken)
}

/// True for a secret property: named `password`, or marked `writeOnly` or `x-secret` in the schema.
pub fn is_secret(name: &str, property: &Value) -> bool {
    let is_marked = |mark: &str| property.get(mark) == Some(&Value::Bool(true));
    name == "password" || is_marked("writeOnly") || is_marked("x-secret")
}

/// True when the property is a secret, or a secret occurs anywhere in its schema, e.g. behind an `anyOf`.
pub fn holds_secret(name: &str, schema: &Value) -> bool {
    is_secret(name, schema)
        || match schema {
            Value::Object(members) => members.iter().any(|(name, inner)| holds_secret(name, inner)),
            Value::Array(items) => items.iter().any(|inner| holds_secret("", inner)),
            _ => false,
        }
}

/// Validates the parameters of an action: the error is one sentence that names properties, never values.
/// Unknown parameters are refused, unless the schema's `additionalProperties` allows them.
pub fn judge_params(schema: &Value, params: &Map<String, Value>) -> Result<(), String> {
    let broken = broken_or_unknown(schema, params).map_err(|error| error.to_string())?;
    if broken.is_empty() {
        return Ok(());
    }
    let told: Vec<_> = broken.iter().map(BrokenRule::of_params).collect();
    Err(told.join("; "))
}

/// Collects the violated rules behind an error: a group is reported by its members, a choice as one rule.
fn collect(schema: &Value, error: &ValidationError<'_, '_>, broken: &mut Vec<BrokenRule>) {
    let is_group = matches!(
        error.kind,
        Kind::Group | Kind::Schema { .. } | Kind::Reference { .. } | Kind::AllOf
    );
    if is_group {
        error
            .causes
            .iter()
            .for_each(|cause| collect(schema, cause, broken));
        return;
    }
    for rule in rules(schema, error) {
        if !broken.contains(&rule) {
            broken.push(rule);
        }
    }
}

fn rules(schema: &Value, error: &ValidationError<'_, '_>) -> Vec<BrokenRule> {
    let at = dotted(&error.instance_location.to_string());
    let one = |rule: String| {
        vec![BrokenRule {
            path: at.clone(),
            rule,
        }]
    };
    let below = |name: &str, rule: String| BrokenRule {
        path: if at.is_empty() {
            name.to_owned()
        } else {
            format!("{at}.{name}")
        },
        rule,
    };
    match &error.kind {
        Kind::Required { want: missing }
        | Kind::Dependency { missing, .. }
        | Kind::DependentRequired { missing, .. } => missing
            .iter()
            .map(|name| below(name, required(schema, at.is_empty().then_some(*name))))
            .collect(),
        Kind::AdditionalProperties { got } => got
            .iter()
            .map(|name| below(name, "should not exist".to_owned()))
            .collect(),
        Kind::Type { want, .. } => one(of_type(*want)),
        Kind::Enum { want } => one(format!("must be one of the following values: {}", listed(want))),
        Kind::Const { want } => one(format!("must be {}", plain(want))),
        Kind::Minimum { want, .. } => one(format!("must not be less than {want}")),
        Kind::Maximum { want, .. } => one(format!("must not be greater than {want}")),
        Kind::ExclusiveMinimum { want, .. } => one(format!("must be greater than {want}")),
        Kind::ExclusiveMaximum { want, .. } => one(format!("must be less than {want}")),
        Kind::MinLength { want, .. } => one(format!("must be longer than or equal to {want} characters")),
        Kind::MaxLength { want, .. } => one(format!("must be shorter than or equal to {want} characters")),
        Kind::MinItems { want, .. } => one(format!("must contain at least {want} elements")),
        Kind::MaxItems { want, .. } => one(format!("must contain no more than {want} elements")),
        Kind::Pattern { want, .. } => one(format!("must match the pattern {want}")),
        // The validator's own words quote the value.
        _ => one("does not fit the schema of its kind".to_owned()),
    }
}

/// A JSON pointer as a dotted path.
fn dotted(pointer: &str) -> String {
    pointer
        .trim_start_matches('/')
        .replace('/', ".")
        .replace("~1", "/")
        .replace("~0", "~")
}

/// Rule text for a missing property; for a top-level one with the schema's description.
fn required(schema: &Value, name: Option<&str>) -> String {
    let described = name
        .and_then(|name| schema["properties"][name]["description"].as_str())
        .filter(|text| !text.is_empty());
    described.map_or_else(
        || "is required".to_owned(),
        |text| format!("is required ({text})"),
    )
}

fn of_type(wanted: Types) -> String {
    let types: Vec<Type> = wanted.iter().collect();
    match types.as_slice() {
        [Type::String] => "must be a string".into(),
        [Type::Integer] => "must be an integer number".into(),
        [Type::Number] => "must be a number".into(),
        [Type::Boolean] => "must be a boolean value".into(),
        [Type::Object] => "must be an object".into(),
        [Type::Array] => "must be an array".into(),
        [Type::Null] => "must be null".into(),
        several => {
            let names: Vec<String> = several.iter().map(ToString::to_string).collect();
            format!("must be of one of these types: {}", names.join(", "))
        }
    }
}

fn listed(options: &[Value]) -> String {
    options.iter().map(plain).collect::<Vec<_>>().join(", ")
}

/// A value of the schema as text for users.
fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), ToOwned::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn broken(schema: &Value, config: Value) -> Vec<String> {
        let rules = broken_rules(schema, config.as_object().expect("an object")).expect("a schema");
        rules
            .into_iter()
            .map(|broken| format!("{} {}", broken.path, broken.rule))
            .collect()
    }

    #[test]
    fn rules_are_told_by_name_and_never_by_value() {
        let schema = json!({
            "type": "object",
            "required": ["url", "mode"],
            "additionalProperties": false,
            "properties": {
                "url": { "type": "string", "description": "Where it is" },
                "mode": { "enum": ["a", "b", 3] },
                "port": { "type": "integer", "minimum": 1, "maximum": 9 },
                "token": { "type": "string", "pattern": "^t", "minLength": 3, "maxLength": 5 },
                "either": { "anyOf": [{ "type": "string" }, { "type": "integer" }] },
                "list": { "type": "array", "items": { "type": "object", "required": ["x"] } },
            },
        });
        let secret = "geheim";
        let told = broken(
            &schema,
            json!({ "mode": secret, "port": 10, "token": secret, "either": [secret], "list": [{}, 5], "a.b": secret }),
        );
        for rule in [
            "url is required (Where it is)",
            "mode must be one of the following values: a, b, 3",
            "port must not be greater than 9",
            "token must match the pattern ^t",
            "token must be shorter than or equal to 5 characters",
            "either does not fit the schema of its kind",
            "list.0.x is required",
            "list.1 must be an object",
            "a.b should not exist",
        ] {
            assert!(told.iter().any(|told| told == rule), "{rule}: {told:?}");
        }
        assert_eq!(told.len(), 9, "{told:?}");
        assert!(!told.join(" ").contains(secret));
        assert!(broken(&schema, json!({ "url": "u", "mode": "a", "port": 9 })).is_empty());
    }

    #[test]
    fn what_one_property_asks_of_another_is_told_too() {
        let schema = json!({
            "type": "object",
            "properties": { "mode": {}, "path": { "type": "string" } },
            "if": { "properties": { "mode": { "const": "unix" } }, "required": ["mode"] },
            "then": { "required": ["path"] },
        });
        assert_eq!(broken(&schema, json!({ "mode": "unix" })), ["path is required"]);
        assert!(broken(&schema, json!({})).is_empty());
    }

    #[test]
    fn what_no_schema_names_is_told() {
        let whole = json!({"a": 1, "b": 2});
        let told = |schema: Value| -> Vec<String> {
            let broken = broken_or_unknown(&schema, whole.as_object().expect("an object"));
            let broken = broken.expect("a schema").into_iter();
            broken.map(|rule| rule.message()).collect()
        };
        assert_eq!(
            told(json!({"properties": {"a": {}}})),
            ["property config.b should not exist"]
        );
        assert_eq!(
            told(json!({"properties": {}, "additionalProperties": true})),
            [""; 0]
        );
        assert_eq!(
            told(json!({"properties": {}, "additionalProperties": false})).len(),
            2,
            "each once"
        );
        assert_eq!(told(json!({})).len(), 2);
    }

    #[test]
    fn parameters_are_judged_in_the_words_of_a_rules_log() {
        let schema = json!({
            "type": "object",
            "required": ["destination"],
            "properties": { "destination": { "type": "string" } },
        });
        let judged = |given: Value| judge_params(&schema, given.as_object().expect("an object"));
        assert_eq!(judged(json!({ "destination": "/downloads" })), Ok(()));
        assert_eq!(judged(json!({})), Err("destination is required".to_owned()));
        assert_eq!(
            judged(json!({ "destination": 5, "speed": "geheim" })),
            Err("destination must be a string; unknown parameter `speed`".to_owned())
        );
        let open = json!({ "type": "object", "additionalProperties": true });
        assert_eq!(
            judge_params(&open, &Map::from_iter([("x".into(), json!(1))])),
            Ok(())
        );
        let closed = json!({ "type": "object", "additionalProperties": false });
        assert_eq!(
            judge_params(&closed, &Map::from_iter([("x".into(), json!(1))])),
            Err("unknown parameter `x`".to_owned())
        );
    }

    #[test]
    fn a_schema_that_is_elsewhere_is_none() {
        for schema in [
            json!({ "$ref": "http://127.0.0.1:1/schema.json" }),
            json!({ "$ref": "file:///etc/passwd" }),
            json!({ "type": "nonsense" }),
        ] {
            assert!(broken_rules(&schema, &Map::new()).is_err(), "{schema}");
        }
    }
}
