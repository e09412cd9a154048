//! Engines as they are configured: kinds, the fields of `config`, their defaults and their secrets.
//!
//! A driver gets what the operator entered plus the contract's defaults, nothing else: what may be dialled follows from it.

use std::collections::{BTreeSet, HashSet};

use qm_kernel::secret::MASK;
use qm_net::{CERTIFICATE, Grants, MAX_CERTIFICATE};
use qm_platform::config_schema::{self, BadSchema, BrokenRule};
use qm_ports::engine::{EngineConfig, EngineKind};
use serde_json::{Map, Value};

pub const SCGI_CLIENT: &str = "scgi_client";
pub const WEBAPI_CLIENT: &str = "webapi_client";

/// The kinds the API always takes, whether or not a plugin that provides them is installed.
pub const KNOWN_KINDS: &[&str] = &[SCGI_CLIENT, WEBAPI_CLIENT, "transmission", "deluge"];

/// Known kinds that no first-party plugin provides.
const PLANNED_KINDS: &[&str] = &["transmission", "deluge"];

pub const DEFAULT_TIMEOUT_MS: u64 = 15_000;

const MODES: &[&str] = &["scgi-tcp", "scgi-unix", "http"];

/// Why a kind cannot be loaded although it may be stored.
pub fn missing_provider(kind: &str) -> String {
    if PLANNED_KINDS.contains(&kind) {
        format!("Engine \"{kind}\" is planned but not yet implemented")
    } else {
        format!("No installed plugin provides the engine kind \"{kind}\"")
    }
}

/// The type of a field of `config`.
#[derive(Clone, Debug, PartialEq)]
enum FieldType {
    Text { max: usize },
    OneOf(&'static [&'static str]),
    Whole { min: i64, max: i64 },
    Number,
    Flag,
    Any,
}

fn known_field(kind: &str, name: &str) -> Option<FieldType> {
    Some(match name {
        "mode" if kind == SCGI_CLIENT => FieldType::OneOf(MODES),
        "mode" => FieldType::Text { max: 60 },
        "host" => FieldType::Text { max: 255 },
        "port" => FieldType::Whole { min: 1, max: 65_535 },
        "socketPath" => FieldType::Text { max: 1000 },
        "url" => FieldType::Text { max: 2000 },
        "baseUrl" | "password" => FieldType::Text { max: 500 },
        "username" => FieldType::Text { max: 200 },
        "timeoutMs" => FieldType::Whole { min: 1, max: 600_000 },
        _ => return None,
    })
}

/// The fields of `config` that the contract knows, in the order the API shows them.
const KNOWN_FIELDS: &[&str] = &[
    "mode",
    "host",
    "port",
    "socketPath",
    "url",
    "timeoutMs",
    "baseUrl",
    "username",
    "password",
];

/// The properties a kind's schema declares.
fn properties(kind: &EngineKind) -> impl Iterator<Item = (&str, &Value)> {
    let properties = kind.config_schema.get("properties").and_then(Value::as_object);
    properties
        .into_iter()
        .flatten()
        .map(|(name, property)| (name.as_str(), property))
}

/// The type that a declared property is coerced to; the schema judges the rest.
fn declared_field(name: &str, property: &Value) -> FieldType {
    match property.get("type").and_then(Value::as_str) {
        Some("string") => {
            let known = KNOWN_FIELDS
                .contains(&name)
                .then(|| known_field("", name))
                .flatten();
            match known {
                Some(FieldType::Text { max }) => FieldType::Text { max },
                _ if name == CERTIFICATE => FieldType::Text { max: MAX_CERTIFICATE },
                _ => FieldType::Text { max: 4000 },
            }
        }
        Some("integer") => FieldType::Whole {
            min: i64::MIN,
            max: i64::MAX,
        },
        Some("number") => FieldType::Number,
        Some("boolean") => FieldType::Flag,
        _ => FieldType::Any,
    }
}

/// The fields of a kind: what its schema declares; of a kind nobody provides what the contract knows, and what was stored
/// while somebody did.
fn fields_of<'a>(
    kind_id: &str,
    kind: Option<&'a EngineKind>,
    stored: Option<&'a Map<String, Value>>,
) -> Vec<(&'a str, FieldType)> {
    if let Some(kind) = kind {
        return properties(kind)
            .map(|(name, property)| (name, declared_field(name, property)))
            .collect();
    }
    let known = KNOWN_FIELDS
        .iter()
        .filter_map(|name| known_field(kind_id, name).map(|field| (*name, field)));
    let stored = stored.into_iter().flat_map(Map::keys).map(String::as_str);
    let stored = stored.filter(|name| !KNOWN_FIELDS.contains(name));
    known.chain(stored.map(|name| (name, FieldType::Any))).collect()
}

/// The names of fields that are encrypted at rest and never shown: those of the kind's schema that are called `password`
/// or marked `writeOnly`; of a kind nobody provides `password`.
pub fn secret_names(kind: Option<&EngineKind>) -> BTreeSet<String> {
    let Some(kind) = kind else {
        return BTreeSet::from(["password".to_owned()]);
    };
    properties(kind)
        .filter(|(name, property)| config_schema::is_secret(name, property))
        .map(|(name, _)| name.to_owned())
        .collect()
}

/// The `config` of a request as far as its kind knows it.
#[derive(Debug, Default)]
pub struct ReadConfig {
    /// Coerced; what could not be is as it was given.
    pub fields: Map<String, Value>,
    /// Every rule that is broken.
    pub broken: Vec<BrokenRule>,
}

/// Reads the `config` of a request: the fields of its kind, checked and coerced. Fields of other installed kinds, nulls
/// and empty texts are left out; what nobody knows is refused. `stored` is what it replaces, if anything.
pub fn read_config(
    kind_id: &str,
    kind: Option<&EngineKind>,
    installed: &[EngineKind],
    stored: Option<&Map<String, Value>>,
    given: &Map<String, Value>,
) -> ReadConfig {
    let mut read = ReadConfig::default();
    let own = fields_of(kind_id, kind, stored);
    let known: HashSet<&str> = installed
        .iter()
        .flat_map(|kind| properties(kind).map(|(name, _)| name))
        .chain(own.iter().map(|(name, _)| *name))
        .chain(KNOWN_FIELDS.iter().copied())
        .collect();
    for name in given.keys().filter(|name| !known.contains(name.as_str())) {
        read.broken.push(BrokenRule::unknown(name));
    }
    for (name, field) in own {
        let Some(value) = given
            .get(name)
            .filter(|value| !value.is_null() && value.as_str() != Some(""))
        else {
            continue;
        };
        match coerce(value, &field) {
            Ok(value) => {
                read.fields.insert(name.to_owned(), value);
            }
            Err(rule) => {
                read.fields.insert(name.to_owned(), value.clone());
                read.refuse(name, rule);
            }
        }
    }
    read
}

impl ReadConfig {
    fn refuse(&mut self, path: &str, rule: impl Into<String>) {
        self.broken.push(BrokenRule {
            path: path.to_owned(),
            rule: rule.into(),
        });
    }

    /// Adds what the schema and the marks of its properties say of `whole`, the configuration with its secrets, unless the
    /// property is refused already.
    pub fn judge(&mut self, kind: &EngineKind, whole: &Map<String, Value>) -> Result<(), BadSchema> {
        let mut rules = config_schema::broken_rules(&kind.config_schema, whole)?;
        if rules.is_empty() {
            let refused = Grants::from_config(&kind.config_schema, whole).err();
            rules.extend(refused.map(|text| BrokenRule::of_grant(&text)));
        }
        for rule in rules {
            let told = |told: &BrokenRule| told.property() == rule.property() && !rule.path.is_empty();
            if !self.broken.iter().any(told) {
                self.broken.push(rule);
            }
        }
        Ok(())
    }

    /// The broken rules as the API words them.
    pub fn messages(&self) -> Vec<String> {
        self.broken.iter().map(BrokenRule::message).collect()
    }
}

fn coerce(value: &Value, field: &FieldType) -> Result<Value, String> {
    match field {
        FieldType::Text { max } => {
            let text = text_of(value).ok_or("must be a string")?;
            if text.chars().count() > *max {
                return Err(format!("must be shorter than or equal to {max} characters"));
            }
            Ok(text.into())
        }
        FieldType::OneOf(values) => match value.as_str().filter(|text| values.contains(text)) {
            Some(text) => Ok(text.into()),
            None => Err(format!(
                "must be one of the following values: {}",
                values.join(", ")
            )),
        },
        FieldType::Whole { min, max } => {
            let number = whole_of(value).ok_or("must be an integer number")?;
            if number < *min {
                return Err(format!("must not be less than {min}"));
            }
            if number > *max {
                return Err(format!("must not be greater than {max}"));
            }
            Ok(number.into())
        }
        FieldType::Number => match value {
            Value::Number(_) => Ok(value.clone()),
            _ => Err("must be a number".into()),
        },
        FieldType::Flag => match value {
            Value::Bool(_) => Ok(value.clone()),
            _ => Err("must be a boolean value".into()),
        },
        FieldType::Any => Ok(value.clone()),
    }
}

fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn whole_of(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => number
            .as_i64()
            .or_else(|| number.as_f64().filter(|n| n.fract() == 0.0).map(|n| n as i64)),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// True if a secret in a request means "keep the stored one".
pub fn keeps_secret(given: Option<&Value>) -> bool {
    given
        .and_then(Value::as_str)
        .is_none_or(|text| text.is_empty() || text == MASK)
}

/// The configuration for the driver: the stored fields with the contract's defaults. Of the two contract kinds it has
/// only the fields that their mode uses, so that no other address can be dialled. `secrets` are the values that are
/// stored encrypted.
pub fn driver_config(kind: &str, stored: &Map<String, Value>, secrets: Vec<String>) -> EngineConfig {
    let mut config = match kind {
        SCGI_CLIENT => scgi_config(stored),
        WEBAPI_CLIENT => webapi_config(stored),
        _ => stored.clone(),
    };
    if KNOWN_KINDS[..2].contains(&kind) {
        config.insert("timeoutMs".into(), timeout_ms(stored).into());
        // Read by the network alone, whatever the kind.
        copy(stored, &mut config, CERTIFICATE);
    }
    EngineConfig {
        fields: config,
        secrets,
    }
}

fn scgi_config(stored: &Map<String, Value>) -> Map<String, Value> {
    let mode = text(stored, "mode").unwrap_or("scgi-tcp");
    let mut config = Map::new();
    match mode {
        "scgi-unix" => copy(stored, &mut config, "socketPath"),
        "http" => {
            for name in ["url", "username", "password"] {
                copy(stored, &mut config, name);
            }
        }
        _ => {
            config.insert("host".into(), text(stored, "host").unwrap_or("rtorrent").into());
            config.insert(
                "port".into(),
                stored.get("port").cloned().unwrap_or_else(|| 5000.into()),
            );
        }
    }
    config.insert("mode".into(), mode.into());
    config
}

fn webapi_config(stored: &Map<String, Value>) -> Map<String, Value> {
    let mut config = Map::new();
    let given = text(stored, "baseUrl")
        .or_else(|| text(stored, "url"))
        .map(ToOwned::to_owned);
    let base = given.or_else(|| {
        let port = stored.get("port").and_then(Value::as_i64).unwrap_or(8080);
        text(stored, "host").map(|host| {
            if host.contains(':') && !host.starts_with('[') {
                format!("http://[{host}]:{port}")
            } else {
                format!("http://{host}:{port}")
            }
        })
    });
    if let Some(base) = base {
        let base = base.trim().trim_end_matches('/');
        config.insert(
            "baseUrl".into(),
            base.strip_suffix("/api/v2")
                .unwrap_or(base)
                .trim_end_matches('/')
                .into(),
        );
    }
    for name in ["username", "password"] {
        config.insert(name.into(), text(stored, name).unwrap_or_default().into());
    }
    config
}

fn text<'a>(config: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    config
        .get(name)
        .and_then(Value::as_str)
        .filter(|text| !text.is_empty())
}

fn copy(from: &Map<String, Value>, to: &mut Map<String, Value>, name: &str) {
    if let Some(value) = from.get(name) {
        to.insert(name.into(), value.clone());
    }
}

/// Time limit on the engine's silence, in milliseconds.
pub fn timeout_ms(config: &Map<String, Value>) -> u64 {
    config
        .get("timeoutMs")
        .and_then(Value::as_u64)
        .unwrap_or(DEFAULT_TIMEOUT_MS)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn map(value: Value) -> Map<String, Value> {
        value.as_object().cloned().expect("an object")
    }

    fn kind(properties: Value) -> EngineKind {
        EngineKind {
            id: "other".into(),
            label: "Other".into(),
            version: "1.0.0".into(),
            config_schema: json!({ "type": "object", "properties": properties }),
            capabilities: vec![],
        }
    }

    #[test]
    fn drivers_get_defaults_and_only_what_their_mode_uses() {
        for (kind, stored, expected) in [
            (
                SCGI_CLIENT,
                json!({}),
                json!({"mode": "scgi-tcp", "host": "rtorrent", "port": 5000, "timeoutMs": 15000}),
            ),
            (
                SCGI_CLIENT,
                json!({"mode": "scgi-unix", "socketPath": "/run/rt.sock", "host": "x", "url": "http://y/"}),
                json!({"mode": "scgi-unix", "socketPath": "/run/rt.sock", "timeoutMs": 15000}),
            ),
            (
                SCGI_CLIENT,
                json!({"mode": "http", "url": "http://y/RPC2", "host": "x", "timeoutMs": 5}),
                json!({"mode": "http", "url": "http://y/RPC2", "timeoutMs": 5}),
            ),
            (
                SCGI_CLIENT,
                json!({"mode": "http", "url": "http://y/RPC2", "username": "u", "password": "p"}),
                json!({"mode": "http", "url": "http://y/RPC2", "username": "u", "password": "p", "timeoutMs": 15000}),
            ),
            (
                SCGI_CLIENT,
                json!({"mode": "scgi-tcp", "host": "x", "username": "u", "password": "p"}),
                json!({"mode": "scgi-tcp", "host": "x", "port": 5000, "timeoutMs": 15000}),
            ),
            (
                WEBAPI_CLIENT,
                json!({"baseUrl": "https://q/sub/", "url": "http://no", "password": "p"}),
                json!({"baseUrl": "https://q/sub", "username": "", "password": "p", "timeoutMs": 15000}),
            ),
            (
                WEBAPI_CLIENT,
                json!({"url": "http://q:8080/api/v2/"}),
                json!({"baseUrl": "http://q:8080", "username": "", "password": "", "timeoutMs": 15000}),
            ),
            (
                WEBAPI_CLIENT,
                json!({"host": "::1", "username": "u"}),
                json!({"baseUrl": "http://[::1]:8080", "username": "u", "password": "", "timeoutMs": 15000}),
            ),
            (
                WEBAPI_CLIENT,
                json!({}),
                json!({"username": "", "password": "", "timeoutMs": 15000}),
            ),
            ("other", json!({"rpcPath": "/rpc"}), json!({"rpcPath": "/rpc"})),
        ] {
            assert_eq!(
                Value::Object(driver_config(kind, &map(stored), Vec::new()).fields),
                expected
            );
        }
    }

    fn list_faults(kind_id: &str, kind: Option<&EngineKind>, given: Value) -> Vec<String> {
        let installed: Vec<EngineKind> = kind.into_iter().cloned().collect();
        let mut read = read_config(kind_id, kind, &installed, None, &map(given));
        let whole = read.fields.clone();
        if let Some(kind) = kind {
            read.judge(kind, &whole).expect("a schema");
        }
        read.messages()
    }

    #[test]
    fn fields_are_coerced_and_those_of_other_kinds_left_out() {
        let given = json!({"port": "5001", "host": 7, "mode": "scgi-tcp", "url": "", "socketPath": null});
        let read = read_config(SCGI_CLIENT, None, &[], None, &map(given));
        assert_eq!(read.broken, []);
        assert_eq!(
            Value::Object(read.fields),
            json!({"port": 5001, "host": "7", "mode": "scgi-tcp"})
        );
        let own = kind(json!({"host": {"type": "string"}, "verbose": {"type": "boolean"}}));
        let other = kind(json!({"rpcPath": {"type": "string"}}));
        let given = json!({"host": 7, "port": "x", "rpcPath": 9, "verbose": true});
        let read = read_config("other", Some(&own), &[own.clone(), other], None, &map(given));
        assert_eq!(read.broken, []);
        assert_eq!(Value::Object(read.fields), json!({"host": "7", "verbose": true}));
        assert_eq!(
            list_faults("other", Some(&own), json!({"rpcPath": "/"})),
            ["property config.rpcPath should not exist"]
        );
        assert_eq!(
            list_faults("deluge", None, json!({"daemon": 1})),
            ["property config.daemon should not exist"]
        );
    }

    #[test]
    fn every_broken_rule_is_told() {
        let given = json!({"mode": "x", "port": 0, "host": [], "timeoutMs": 1.5, "baseUrl": "u".repeat(501)});
        assert_eq!(
            list_faults(SCGI_CLIENT, None, given),
            [
                "config.mode must be one of the following values: scgi-tcp, scgi-unix, http",
                "config.host must be a string",
                "config.port must not be less than 1",
                "config.timeoutMs must be an integer number",
                "config.baseUrl must be shorter than or equal to 500 characters",
            ]
        );
    }

    #[test]
    fn a_plugin_s_schema_decides() {
        let kind = kind(json!({
            "url": {"type": "string", "x-grant": "http-url"},
            "token": {"type": "string", "writeOnly": true},
            "tls": {"type": "boolean"},
            "port": {"type": "integer", "maximum": 9},
        }));
        let kind = EngineKind {
            config_schema: {
                let mut schema = kind.config_schema;
                schema["required"] = json!(["url", "token"]);
                schema
            },
            ..kind
        };
        assert_eq!(secret_names(Some(&kind)), BTreeSet::from(["token".into()]));
        for (given, expected) in [
            (json!({"url": "http://a", "token": "t"}), vec![]),
            (
                json!({"tls": "yes", "port": "10"}),
                vec![
                    "config.tls must be a boolean value",
                    "config.port must not be greater than 9",
                    "config.token is required",
                    "config.url is required",
                ],
            ),
            (
                json!({"url": 7, "token": ["t"]}),
                vec!["config.token must be a string"],
            ),
            (
                json!({"url": "a:9", "token": "t"}),
                vec!["config.url must be a URL like http://host:port/path"],
            ),
        ] {
            let mut told = list_faults("other", Some(&kind), given);
            told.sort();
            let mut expected: Vec<String> = expected.into_iter().map(String::from).collect();
            expected.sort();
            assert_eq!(told, expected);
        }
    }

    #[test]
    fn masks_and_blanks_keep_a_secret() {
        for (given, keeps) in [
            (None, true),
            (Some(json!("")), true),
            (Some(json!(MASK)), true),
            (Some(json!(null)), true),
            (Some(json!("x")), false),
        ] {
            assert_eq!(keeps_secret(given.as_ref()), keeps, "{given:?}");
        }
    }
}
