//! Binding of stored secrets to the addresses they were entered for.
//!
//! Invariant: a stored secret is sent only to the origin (scheme, host and port) it was entered for. A change
//! of the address without the secret drops it; the names of dropped secrets are stored with the
//! configuration, shown in every answer, and block its use until the user has sent them again or removed
//! them.
//!
//! Addresses, by the schema of the plugin: properties marked `x-grant`, those of `format` `uri`, `url` or
//! `hostname`, the port that `x-grant-port` names, those marked `"x-origin": true` (e.g. a flag for TLS), and
//! those with a usual name of an address. A secret may name its addresses: `"x-origin": "baseUrl"`; otherwise
//! all of them count.
//!
//! Bounds: a schema is followed [`DEEPEST`] levels down; a value below that counts as secret as a whole.

use std::collections::{BTreeMap, BTreeSet};

use qm_kernel::secret::{is_mask, keeps};
use serde_json::{Map, Value};
use url::{Host, Url};

use crate::config_schema::{holds_secret, is_secret};

/// Member of a stored configuration with the names of the secrets to enter again. No property of a plugin
/// begins with `$`.
const WANTED: &str = "$secretsWanted";

const DEEPEST: usize = 12;

/// Names of properties that hold an address or a part of one, whatever the schema says.
const ADDRESSES: &[&str] = &[
    "address",
    "baseUrl",
    "endpoint",
    "host",
    "hostname",
    "port",
    "scheme",
    "secure",
    "server",
    "socketPath",
    "ssl",
    "tls",
    "uri",
    "url",
    "useSsl",
    "useTls",
];

type Config = Map<String, Value>;

/// Error that lists the secrets to enter again; `None` if there are none.
pub fn complaint(wanted: &[String]) -> Option<String> {
    let names: Vec<String> = wanted.iter().map(|name| format!("`{name}`")).collect();
    (!names.is_empty()).then(|| {
        format!(
            "enter {} again, because the address changed: a stored secret stays with the address it was entered for",
            names.join(", ")
        )
    })
}

/// Removes the names of the secrets to enter again from a stored configuration, and returns them.
pub fn take_wanted(stored: &mut Config) -> Vec<String> {
    let Some(Value::Array(names)) = stored.remove(WANTED) else {
        return Vec::new();
    };
    let text = |name: Value| name.as_str().map(str::to_owned);
    names.into_iter().filter_map(text).collect()
}

/// Adds the names of the secrets to enter again to a configuration before it is stored.
pub fn put_wanted(stored: &mut Config, wanted: &[String]) {
    if wanted.is_empty() {
        stored.remove(WANTED);
    } else {
        stored.insert(WANTED.to_owned(), wanted.into());
    }
}

/// Addresses of a configuration, by the path of the property.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places(BTreeMap<String, String>);

impl Places {
    /// Finds the addresses by the plugin's schema, or without one by the names of the properties.
    pub fn in_config(schema: Option<&Value>, config: &Config) -> Self {
        let mut places = Self::default();
        places.read(schema, config, "", 0);
        places
    }

    /// The address of a plain URL without a schema.
    pub fn of_url(url: &str) -> Self {
        Self(BTreeMap::from([(String::new(), origin(url))]))
    }

    fn read(&mut self, schema: Option<&Value>, config: &Config, path: &str, depth: usize) {
        let ports = ports(schema);
        for (name, value) in config {
            if name == WANTED {
                continue;
            }
            let property = property(schema, name);
            let path = below(path, name);
            let is_address =
                ADDRESSES.contains(&name.as_str()) || ports.contains(name.as_str()) || is_marked(property);
            self.read_value(property, value, (&path, is_address), depth);
        }
    }

    fn read_value(
        &mut self,
        schema: Option<&Value>,
        value: &Value,
        (path, is_address): (&str, bool),
        depth: usize,
    ) {
        match value {
            Value::Object(inner) if depth < DEEPEST => self.read(schema, inner, path, depth + 1),
            Value::Array(items) if depth < DEEPEST => {
                let each = schema.and_then(|schema| schema.get("items"));
                for (at, item) in items.iter().enumerate() {
                    let path = below(path, &at.to_string());
                    self.read_value(each, item, (&path, is_address || is_marked(each)), depth + 1);
                }
            }
            Value::Null => {}
            value if is_address => {
                let text = value.as_str().map_or_else(|| value.to_string(), origin);
                if !text.is_empty() {
                    self.0.insert(path.to_owned(), text);
                }
            }
            _ => {}
        }
    }

    /// Paths at which the two differ.
    fn unlike<'a>(&'a self, other: &'a Self) -> BTreeSet<&'a str> {
        let paths = self.0.keys().chain(other.0.keys());
        let differs = |path: &&String| self.0.get(*path) != other.0.get(*path);
        paths.filter(differs).map(String::as_str).collect()
    }
}

/// True when two addresses have the same scheme, host and port.
pub fn is_same_origin(one: &str, other: &str) -> bool {
    origin(one) == origin(other)
}

/// A change of a stored configuration; its secrets may be encrypted or plain.
pub struct Change<'a> {
    pub schema: Option<&'a Value>,
    pub before: &'a Config,
    /// The values that the user sent: what is absent, blank or masked was carried over.
    pub sent: &'a Config,
    /// Addresses before and after.
    pub places: (&'a Places, &'a Places),
}

impl Change<'_> {
    /// Removes from `after` each secret that was carried over to another address. Returns the names of the
    /// secrets to enter again: these, and those of `wanted` that were neither sent nor removed.
    pub fn settle(&self, after: &mut Config, wanted: Vec<String>) -> Vec<String> {
        let mut all: BTreeSet<String> = wanted.into_iter().collect();
        all.retain(|path| !was_settled(self.sent, path));
        let moved = self.places.0.unlike(self.places.1);
        if !moved.is_empty() {
            let mut dropped = Vec::new();
            let walk = Walk {
                root: self.schema,
                moved,
                dropped: &mut dropped,
            };
            walk.run(self.schema, (Some(self.before), Some(self.sent)), after);
            all.extend(dropped);
        }
        all.into_iter().collect()
    }
}

/// Search for carried-over secrets.
struct Walk<'a> {
    root: Option<&'a Value>,
    moved: BTreeSet<&'a str>,
    dropped: &'a mut Vec<String>,
}

type Sides<'a> = (Option<&'a Config>, Option<&'a Config>);

impl Walk<'_> {
    fn run(mut self, schema: Option<&Value>, sides: Sides<'_>, after: &mut Config) {
        self.object(schema, sides, after, "", 0);
    }

    fn object(
        &mut self,
        schema: Option<&Value>,
        (before, sent): Sides<'_>,
        after: &mut Config,
        path: &str,
        depth: usize,
    ) {
        let names: Vec<String> = after.keys().filter(|name| *name != WANTED).cloned().collect();
        for name in names {
            let Some(value) = after.get_mut(&name) else {
                continue;
            };
            let property = property(schema, &name);
            let at = below(path, &name);
            let sides = (
                before.and_then(|before| before.get(&name)),
                sent.and_then(|sent| sent.get(&name)),
            );
            if self.loses(&name, property, sides, value, &at, depth) {
                after.remove(&name);
                self.dropped.push(at);
            }
        }
    }

    /// True when the whole value must be dropped; secrets inside it are removed from it.
    fn loses(
        &mut self,
        name: &str,
        schema: Option<&Value>,
        (before, sent): (Option<&Value>, Option<&Value>),
        value: &mut Value,
        path: &str,
        depth: usize,
    ) -> bool {
        if !may_be_secret(name, schema, depth) {
            return false;
        }
        let is_whole = schema.is_none_or(|schema| is_secret(name, schema)) || depth >= DEEPEST;
        match value {
            Value::Object(inner) if !is_whole => {
                let sides = (before.and_then(Value::as_object), sent.and_then(Value::as_object));
                self.object(schema, sides, inner, path, depth + 1);
                false
            }
            Value::Array(items) if !is_whole => {
                let each = schema.and_then(|schema| schema.get("items"));
                let mut at = 0;
                items.retain_mut(|item| {
                    let sides = (
                        before.and_then(|before| before.get(at)),
                        sent.and_then(|sent| sent.get(at)),
                    );
                    let path = below(path, &at.to_string());
                    at += 1;
                    let goes = self.loses("", each, sides, item, &path, depth + 1);
                    if goes {
                        self.dropped.push(path);
                    }
                    !goes
                });
                false
            }
            // A blank is no secret.
            Value::Null => false,
            Value::String(text) if text.trim().is_empty() => false,
            _ => before.is_some() && is_kept(sent) && self.concerns(schema),
        }
    }

    /// True when one of the secret's addresses has changed.
    fn concerns(&self, property: Option<&Value>) -> bool {
        let named: Vec<&str> = match property.and_then(|property| property.get("x-origin")) {
            Some(Value::String(name)) => vec![name],
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        let known = |name: &&str| self::property(self.root, name).is_some();
        if named.is_empty() || !named.iter().all(known) {
            return true;
        }
        self.moved.iter().any(|path| named.contains(path))
    }
}

/// True if the user has sent the secret at `path`, or removed it: by `null`, its own or that of a value
/// around it. A secret inside an object is not sent with the rest of the object.
fn was_settled(sent: &Config, path: &str) -> bool {
    let mut steps = path.split('.');
    let mut at = steps.next().and_then(|first| sent.get(first));
    for step in steps {
        at = match at {
            Some(Value::Object(inner)) => inner.get(step),
            Some(Value::Array(items)) => step.parse().ok().and_then(|at: usize| items.get(at)),
            other => other.filter(|value| value.is_null()),
        };
    }
    at.is_some_and(|value| value.is_null() || !is_kept(Some(value)))
}

/// True when a sent value keeps the stored one.
fn is_kept(sent: Option<&Value>) -> bool {
    match sent {
        None => true,
        Some(Value::String(text)) => keeps(text),
        Some(_) => false,
    }
}

/// True when a value may contain a secret. Any value unknown to the schema may, except an address.
fn may_be_secret(name: &str, schema: Option<&Value>, depth: usize) -> bool {
    if depth >= DEEPEST {
        return true;
    }
    match schema {
        Some(schema) => holds_secret(name, schema),
        None => !ADDRESSES.contains(&name),
    }
}

/// Replaces each mask in the sent value with the stored value, at any depth.
pub fn unmasked(sent: Value, stored: Option<&Value>) -> Value {
    match (sent, stored) {
        (Value::String(text), Some(stored)) if is_mask(text.trim()) => stored.clone(),
        (Value::Object(inner), Some(Value::Object(before))) => {
            let each = inner.into_iter().map(|(name, value)| {
                let value = unmasked(value, before.get(&name));
                (name, value)
            });
            Value::Object(each.collect())
        }
        (Value::Array(items), Some(Value::Array(before))) => {
            let each = items.into_iter().enumerate();
            each.map(|(at, item)| unmasked(item, before.get(at))).collect()
        }
        (sent, _) => sent,
    }
}

fn property<'a>(schema: Option<&'a Value>, name: &str) -> Option<&'a Value> {
    schema?.get("properties")?.get(name)
}

fn is_marked(property: Option<&Value>) -> bool {
    let Some(property) = property else { return false };
    let format = property.get("format").and_then(Value::as_str).unwrap_or_default();
    property.get("x-grant").is_some()
        || property.get("x-origin") == Some(&Value::Bool(true))
        || ["uri", "url", "iri", "hostname"].contains(&format)
}

/// Names of the properties that hold the port of another property.
fn ports(schema: Option<&Value>) -> BTreeSet<&str> {
    let properties = schema
        .and_then(|schema| schema.get("properties"))
        .and_then(Value::as_object);
    properties
        .into_iter()
        .flat_map(Map::values)
        .filter_map(|property| property.get("x-grant-port")?.as_str())
        .collect()
}

fn below(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}

/// Normalised address for comparison: scheme, host and port of a URL; the canonical spelling of a host; any
/// other text unchanged.
pub fn origin(text: &str) -> String {
    let text = text.trim();
    match Url::parse(text) {
        Ok(url) if url.has_host() => {
            let host = url
                .host()
                .map(|host| spelled(host.to_owned()))
                .unwrap_or_default();
            let port = url.port_or_known_default().unwrap_or(0);
            format!("{}://{host}:{port}", url.scheme())
        }
        _ => Host::parse(&bracketed(text)).map_or_else(|_| text.to_owned(), spelled),
    }
}

fn spelled(host: Host<String>) -> String {
    match host {
        Host::Domain(name) => name.strip_suffix('.').unwrap_or(&name).to_ascii_lowercase(),
        Host::Ipv4(ip) => ip.to_string(),
        Host::Ipv6(ip) => ip.to_canonical().to_string(),
    }
}

fn bracketed(host: &str) -> String {
    if host.contains(':') && !host.starts_with('[') && !host.contains('/') {
        format!("[{host}]")
    } else {
        host.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use qm_kernel::secret::MASK;
    use serde_json::json;

    use super::*;

    fn map(value: &Value) -> Config {
        value.as_object().cloned().expect("an object")
    }

    /// The configuration after `sent` was applied to `before`, and the secrets to enter again.
    fn settled(schema: &Value, before: &Value, sent: &Value, wanted: &[&str]) -> (Value, Vec<String>) {
        let (before, sent) = (map(before), map(sent));
        let mut after = before.clone();
        for (name, value) in &sent {
            after.insert(name.clone(), unmasked(value.clone(), before.get(name)));
        }
        let places = (
            Places::in_config(Some(schema), &before),
            Places::in_config(Some(schema), &after),
        );
        let change = Change {
            schema: Some(schema),
            before: &before,
            sent: &sent,
            places: (&places.0, &places.1),
        };
        let wanted = change.settle(&mut after, wanted.iter().map(|name| (*name).to_owned()).collect());
        (Value::Object(after), wanted)
    }

    fn schema() -> Value {
        json!({"properties": {
            "baseUrl": {"x-grant": "http-url"}, "apiKey": {"writeOnly": true}, "page": {"type": "integer"},
        }})
    }

    #[test]
    fn a_secret_stays_with_its_origin_however_that_is_spelled() {
        let before = json!({"baseUrl": "http://Box.LAN:80/a", "apiKey": "k"});
        for same in [
            "http://box.lan/b?x#y",
            "HTTP://BOX.lan.:80",
            " http://box.lan ",
            "http://user:pw@box.lan/",
        ] {
            let (after, wanted) = settled(&schema(), &before, &json!({"baseUrl": same, "apiKey": MASK}), &[]);
            assert_eq!((&after["apiKey"], wanted.len()), (&json!("k"), 0), "{same}");
        }
        for other in [
            "https://box.lan/a",
            "http://box.lan:8080/a",
            "http://box.lan@evil.example/",
            "http://box.lan.evil.example/",
            "http://sub.box.lan",
            "box.lan",
            "",
        ] {
            for key in [json!({}), json!({"apiKey": MASK})] {
                let mut sent = map(&key);
                sent.insert("baseUrl".into(), other.into());
                let (after, wanted) = settled(&schema(), &before, &Value::Object(sent), &[]);
                assert_eq!(
                    (after.get("apiKey"), wanted),
                    (None, vec!["apiKey".to_owned()]),
                    "{other}"
                );
            }
        }
        let sent = json!({"baseUrl": "http://other", "apiKey": "k"});
        assert_eq!(
            settled(&schema(), &before, &sent, &[]),
            (sent.clone(), vec![]),
            "the same one, sent anew"
        );
        for (one, other) in [
            ("http://[::1]:80", "http://[0:0:0:0:0:0:0:1]/"),
            ("http://münchen.example", "http://xn--mnchen-3ya.example/"),
            ("http://0x7f.1/", "http://127.0.0.1/"),
            ("http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/"),
            ("BOX.lan.", "box.lan"),
        ] {
            assert!(is_same_origin(one, other), "{one} {other}");
        }
    }

    #[test]
    fn what_is_wanted_stays_wanted_until_it_is_sent_or_taken_away() {
        let stored = json!({"baseUrl": "http://b"});
        for (sent, wanted) in [
            (json!({"page": 2}), vec!["apiKey"]),
            (json!({"apiKey": MASK}), vec!["apiKey"]),
            (json!({"baseUrl": "http://a"}), vec!["apiKey"]),
            (json!({"apiKey": "k"}), vec![]),
            (json!({"apiKey": null}), vec![]),
        ] {
            assert_eq!(
                settled(&schema(), &stored, &sent, &["apiKey"]).1,
                wanted,
                "{sent}"
            );
        }
        let mut config = map(&stored);
        put_wanted(&mut config, &["apiKey".to_owned()]);
        assert_eq!(
            complaint(&take_wanted(&mut config)).map(|text| text.contains("`apiKey` again")),
            Some(true)
        );
        assert_eq!((Value::Object(config), complaint(&[])), (stored, None));
    }

    #[test]
    fn parts_of_an_address_are_judged_together_and_however_deep() {
        let schema = json!({"properties": {
            "host": {"x-grant": "tcp-host", "x-grant-port": "gate"}, "gate": {}, "encrypted": {"x-origin": true},
            "pin": {"writeOnly": true},
            "proxy": {"properties": {"where": {"format": "uri"}, "token": {"writeOnly": true}, "page": {}}},
            "list": {"items": {"properties": {"url": {}, "password": {}}}},
        }});
        let before = json!({
            "host": "h", "gate": 1, "encrypted": true, "pin": 7, "proxy": {"where": "http://p", "token": "t", "page": 1},
            "list": [{"url": "http://a", "password": "a"}, {"url": "http://b", "password": "b"}],
        });
        let all = ["list.0.password", "list.1.password", "pin", "proxy.token"];
        for sent in [
            json!({"host": "other"}),
            json!({"gate": 2}),
            json!({"encrypted": false}),
            json!({"proxy": {"where": "http://q", "token": MASK}}),
            json!({"list": [{"url": "http://b", "password": MASK}, {"url": "http://a", "password": MASK}]}),
        ] {
            let (after, wanted) = settled(&schema, &before, &sent, &[]);
            assert_eq!(wanted, all, "{sent}: {after}");
        }
        let deep = json!({"proxy": {"where": "http://q", "token": "new"}});
        let (after, wanted) = settled(&schema, &before, &deep, &[]);
        assert_eq!((&after["proxy"]["token"], wanted.len()), (&json!("new"), 3));
        let plain = json!({"proxy": {"where": "http://p/x", "token": MASK, "page": 2}});
        let (after, wanted) = settled(&schema, &before, &plain, &[]);
        assert_eq!((&after["proxy"]["token"], wanted.len()), (&json!("t"), 0));
    }

    #[test]
    fn a_secret_may_say_which_address_it_is_for() {
        let schema = json!({"properties": {
            "a": {"x-grant": "http-url"}, "b": {"x-grant": "http-url"},
            "forA": {"writeOnly": true, "x-origin": "a"}, "forBoth": {"x-secret": true, "x-origin": ["a", "b"]},
            "odd": {"writeOnly": true, "x-origin": "nothing"},
        }});
        let before = json!({"a": "http://a", "b": "http://b", "forA": 1, "forBoth": 2, "odd": 3});
        let wanted = |sent: Value| settled(&schema, &before, &sent, &[]).1;
        assert_eq!(wanted(json!({"b": "http://c"})), ["forBoth", "odd"]);
        assert_eq!(wanted(json!({"a": "http://c"})), ["forA", "forBoth", "odd"]);
        assert_eq!(wanted(json!({"a": "http://a/deeper"})), [""; 0]);
    }

    #[test]
    fn what_no_schema_names_goes_too() {
        let before = json!({"baseUrl": "http://a", "token": "t", "odd": {"x": 1}});
        let (after, wanted) = settled(&json!({}), &before, &json!({"baseUrl": "http://b"}), &[]);
        assert_eq!((after, wanted.len()), (json!({"baseUrl": "http://b"}), 2));
    }
}
