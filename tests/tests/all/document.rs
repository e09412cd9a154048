//! The API document as the server hands it out, in the form the tests attack it by: operations, who may call them, and
//! what their bodies are made of.

use qm_kernel::Permission;
use qm_testkit::Api;
use qm_testkit::http::Request;
use serde_json::Value;

/// One operation of the document.
pub struct Operation {
    pub method: String,
    /// With `{parameters}`.
    pub path: String,
    /// `public`, `authenticated` or `permissions`.
    pub access: String,
    /// A ticket in the query stands for the token.
    pub ticketed: bool,
    pub needed: Vec<Permission>,
    /// Names of the query's parameters.
    pub query: Vec<String>,
    /// The properties of its body; `None` when it takes none.
    pub body: Option<Vec<Property>>,
}

/// A property a body may have.
#[derive(Clone, Debug)]
pub struct Property {
    pub name: String,
    pub kind: Kind,
}

/// The declared type of a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Text,
    Whole,
    Number,
    Flag,
    List,
    Object,
    /// Any JSON value.
    Free,
}

/// An id no row has.
pub const NOBODY: &str = "00000000-0000-4000-8000-000000000000";

impl Operation {
    /// `METHOD /path/{parameter}`
    pub fn name(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    /// The line of the agreed table: method, path with `:parameters`, access.
    pub fn row(&self) -> String {
        let path = self.path.replace('{', ":").replace('}', "");
        let keys: Vec<&str> = self.needed.iter().map(|permission| permission.key()).collect();
        let access = if keys.is_empty() {
            self.access.clone()
        } else {
            keys.join(" ")
        };
        format!("{}\t{path}\t{access}", self.method)
    }

    /// True if a caller needs an access token.
    pub fn takes_token(&self) -> bool {
        self.access != "public" && !self.ticketed
    }

    pub fn has_parameter(&self) -> bool {
        self.path.contains('{')
    }

    /// The path with `value` for each parameter.
    pub fn with(&self, mut value: impl FnMut(&str) -> String) -> String {
        let mut parts = self.path.split('{');
        let mut path = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (name, rest) = part.split_once('}').expect("parameters stand in braces");
            path.push_str(&value(name));
            path.push_str(rest);
        }
        path
    }

    /// A path that names nothing that exists.
    pub fn target(&self) -> String {
        self.with(|name| {
            if name == "hash" {
                "f".repeat(40)
            } else {
                NOBODY.to_owned()
            }
        })
    }
}

/// A request of somebody new to the throttle: routes have budgets an address, and a test asks more often than a person.
pub fn fresh(api: &Api, method: &str, path: &str) -> Request {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let [_, a, b, c] = number.to_be_bytes();
    api.request(method, path)
        .header("x-forwarded-for", &format!("10.{a}.{b}.{c}"))
}

/// The operations the server describes.
pub async fn operations(api: &Api) -> Vec<Operation> {
    read(&api.get("/api/docs/openapi.json").await)
}

/// The operations of a document.
pub fn read(document: &Value) -> Vec<Operation> {
    let paths = document["paths"].as_object().expect("paths");
    let mut found = Vec::new();
    for (path, methods) in paths {
        for (method, operation) in methods.as_object().expect("methods") {
            let Some(access) = operation["x-access"].as_str() else {
                continue;
            };
            let keys = texts(&operation["x-permissions"]);
            let parameters = operation["parameters"].as_array().into_iter().flatten();
            found.push(Operation {
                method: method.to_uppercase(),
                path: path.clone(),
                access: access.to_owned(),
                ticketed: operation["security"][0].get("ticket").is_some(),
                needed: keys
                    .map(|key| Permission::from_key(key).expect("a known permission"))
                    .collect(),
                query: parameters
                    .filter(|parameter| parameter["in"] == "query")
                    .filter_map(|parameter| parameter["name"].as_str().map(str::to_owned))
                    .collect(),
                body: body(document, &operation["requestBody"]),
            });
        }
    }
    assert!(found.len() > 30, "the document lists the routes");
    found
}

fn texts(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str)
}

fn body(document: &Value, declared: &Value) -> Option<Vec<Property>> {
    let (_, content) = declared["content"].as_object()?.iter().next()?;
    let mut properties = Vec::new();
    collect(document, &content["schema"], &mut properties);
    Some(properties)
}

fn resolved<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    match schema["$ref"].as_str() {
        Some(reference) => {
            let pointer = reference.trim_start_matches('#');
            document.pointer(pointer).expect("references lead somewhere")
        }
        None => schema,
    }
}

fn collect(document: &Value, schema: &Value, into: &mut Vec<Property>) {
    let schema = resolved(document, schema);
    for part in schema["allOf"].as_array().into_iter().flatten() {
        collect(document, part, into);
    }
    for (name, declared) in schema["properties"].as_object().into_iter().flatten() {
        // A file is a part of its own, not a field.
        if declared["format"] != "binary" {
            into.push(Property {
                name: name.clone(),
                kind: kind(document, declared),
            });
        }
    }
}

fn kind(document: &Value, declared: &Value) -> Kind {
    let declared = resolved(document, declared);
    // `null` beside a type or a reference is how a property says that it may be left out.
    for alternatives in ["oneOf", "anyOf", "allOf"] {
        let mut real = declared[alternatives].as_array().into_iter().flatten();
        if let Some(real) = real.find(|one| one["type"] != "null") {
            return kind(document, real);
        }
    }
    let of = |word: &str| match word {
        "string" => Kind::Text,
        "integer" => Kind::Whole,
        "number" => Kind::Number,
        "boolean" => Kind::Flag,
        "array" => Kind::List,
        "object" => Kind::Object,
        other => panic!("a property of type {other}"),
    };
    match &declared["type"] {
        Value::String(word) => of(word),
        Value::Array(words) => {
            let real = words
                .iter()
                .filter_map(Value::as_str)
                .find(|word| *word != "null");
            real.map_or(Kind::Free, of)
        }
        _ => Kind::Free,
    }
}
