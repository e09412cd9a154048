//! Rules for what plugins say of the things they provide, the same for every role.

use serde_json::Value;

/// Bytes of a schema.
const MAX_SCHEMA: usize = 16 << 10;

/// Whether it can stand in the database and in the API as an id.
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

/// Whether there is a reference anywhere in it: what refers to itself can cost more to judge by than anybody has.
fn refers(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => members.iter().any(|(name, inner)| {
            matches!(name.as_str(), "$ref" | "$dynamicRef" | "$recursiveRef") || refers(inner)
        }),
        Value::Array(items) => items.iter().any(refers),
        _ => false,
    }
}
