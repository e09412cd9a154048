//! Rules for what plugins say of the things they provide, the same for every role.

use qm_net::Grants;
use serde_json::{Map, Value};

/// Bytes of a schema.
const MAX_SCHEMA: usize = 16 << 10;

/// The property that says where a product is.
const BASE_URL: &str = "baseUrl";

/// Tells whether it can stand in the database and in the API as an id.
pub(super) fn is_id(id: &str) -> bool {
    (1..=64).contains(&id.len())
        && id
            .bytes()
            .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_'))
}

/// One line of so many characters, written in the direction it is read in.
pub(super) fn is_line(text: &str, max: usize) -> bool {
    let odd = |c: char| c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    !text.trim().is_empty() && text.chars().count() <= max && !text.contains(odd)
}

/// Reads the JSON Schema of an object; `whose` names it, e.g. `the schema of the parameters of`.
pub(super) fn object_schema(whose: &str, text: &str) -> Result<Value, String> {
    if text.len() > MAX_SCHEMA {
        return Err(format!("{whose} is larger than {} KiB", MAX_SCHEMA >> 10));
    }
    let schema: Value = serde_json::from_str(text).map_err(|error| format!("{whose} is no JSON: {error}"))?;
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        return Err(format!("{whose} must be one of an object (\"type\": \"object\")"));
    }
    if refers(&schema) {
        return Err(format!("{whose} holds a reference"));
    }
    Ok(schema)
}

/// Checks that by a configuration of this schema a call reaches one thing: the base URL.
pub(super) fn only_base_url(whose: &str, schema: &Value) -> Result<(), String> {
    Grants::from_config(schema, &Map::new()).map_err(|why| format!("{whose} cannot be used: {why}"))?;
    let none = Map::new();
    let properties = schema
        .get("properties")
        .and_then(Value::as_object)
        .unwrap_or(&none);
    let marked: Vec<&str> = properties
        .iter()
        .filter(|(_, property)| property.get("x-grant").is_some())
        .map(|(name, _)| name.as_str())
        .collect();
    let mark = properties
        .get(BASE_URL)
        .and_then(|property| property.get("x-grant"));
    if marked != [BASE_URL] || mark.and_then(Value::as_str) != Some("http-url") {
        return Err(format!(
            "{whose} must mark the property `{BASE_URL}` with \"x-grant\": \"http-url\", and no other one"
        ));
    }
    Ok(())
}

/// Tells whether there is a reference anywhere in it: what refers to itself can cost more to judge by than anybody has.
fn refers(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => members.iter().any(|(name, inner)| {
            matches!(name.as_str(), "$ref" | "$dynamicRef" | "$recursiveRef") || refers(inner)
        }),
        Value::Array(items) => items.iter().any(refers),
        _ => false,
    }
}
