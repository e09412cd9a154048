//! Redaction and clipping of job data before users see it: secrets are masked, and size is bounded. Pure.
//!
//! Bounds: depth [`MAX_DEPTH`], [`MAX_ITEMS`] entries an array or object, [`MAX_TEXT`] characters a text, [`MAX_BYTES`] of
//! JSON in all.

use qm_platform::masked::{self, REDACTED, is_secret};
use serde_json::{Map, Value};

const MAX_DEPTH: usize = 6;
const MAX_ITEMS: usize = 200;
const MAX_TEXT: usize = 2000;
const MAX_BYTES: usize = 64 * 1024;

const TRUNCATED: &str = "[truncated]";

/// Redacted and bounded copy of `value`.
pub fn value(value: Value) -> Value {
    let seen = bounded(value, 1);
    // Many long texts can each be within every other bound.
    if seen.to_string().len() > MAX_BYTES {
        return TRUNCATED.into();
    }
    seen
}

fn bounded(value: Value, depth: usize) -> Value {
    match value {
        Value::Array(_) | Value::Object(_) if depth > MAX_DEPTH => TRUNCATED.into(),
        Value::Array(items) => items
            .into_iter()
            .take(MAX_ITEMS)
            .map(|item| bounded(item, depth + 1))
            .collect(),
        Value::Object(members) => Value::Object(object(members, depth)),
        Value::String(text) => clip(masked::addresses(&text)).into(),
        other => other,
    }
}

fn object(members: Map<String, Value>, depth: usize) -> Map<String, Value> {
    members
        .into_iter()
        .take(MAX_ITEMS)
        .map(|(name, value)| {
            let value = if is_secret(&name) {
                REDACTED.into()
            } else {
                bounded(value, depth + 1)
            };
            (clip(name), value)
        })
        .collect()
}

/// Redacted and clipped copy of a sentence.
pub fn text(text: &str) -> String {
    clip(masked::sentence(text))
}

/// Clips a text to [`MAX_TEXT`] characters and replaces NUL, which PostgreSQL's TEXT cannot hold.
pub fn clip(text: String) -> String {
    let text = if text.contains('\0') {
        text.replace('\0', "\u{fffd}")
    } else {
        text
    };
    match text.char_indices().nth(MAX_TEXT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn secrets_are_blotted_wherever_they_stand() {
        let told = value(json!({
            "path": "/media", "apiKey": "k", "API_KEY": "k", "api key": "k", "x": [{ "RefreshToken": { "a": 1 } }],
            "clientSecret": 5, "infoHash": "h", "Pin": null, "private_key": "k", "otpSeed": "s", "count": 3,
        }));
        assert_eq!(
            told,
            json!({
                "path": "/media", "apiKey": "[redacted]", "API_KEY": "[redacted]", "api key": "[redacted]",
                "x": [{ "RefreshToken": "[redacted]" }], "clientSecret": "[redacted]", "infoHash": "[redacted]",
                "Pin": "[redacted]", "private_key": "[redacted]", "otpSeed": "[redacted]", "count": 3,
            })
        );
    }

    #[test]
    fn depth_length_and_number_are_bounded() {
        let deep = json!({"a":{"b":{"c":{"d":{"e":{"f":{"g":1}}}}}}});
        assert_eq!(
            value(deep),
            json!({"a":{"b":{"c":{"d":{"e":{"f":"[truncated]"}}}}}})
        );
        assert_eq!(value(json!(vec!["x".repeat(2000); 40])), "[truncated]");
        let long = value(json!(["é".repeat(2001), "é".repeat(2000)]));
        assert_eq!(long[0], format!("{}…", "é".repeat(2000)));
        assert_eq!(long[1], "é".repeat(2000));
        let many = value(json!(vec![1; 500]));
        assert_eq!(many.as_array().map(Vec::len), Some(200));
    }

    #[test]
    fn texts_are_clipped_after_their_secrets_are_blotted() {
        assert_eq!(text("a\0b token=x"), "a\u{fffd}b token=[redacted]");
        assert_eq!(text(&"x".repeat(3000)).chars().count(), 2001);
        let told = value(json!({ "from": "https://u:p@h/?token=t", "name": "Secret: a story" }));
        assert_eq!(
            told,
            json!({ "from": "https://[redacted]@h/?token=[redacted]", "name": "Secret: a story" })
        );
    }
}
