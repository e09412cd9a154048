//! Templates in automation rules: `{name}` stands for the field `name` of the rule's context.

use serde_json::{Map, Value};

/// Largest number of characters of a filled text.
const MAX_FILLED: usize = 2000;
/// Largest number of names in an error.
const MAX_NAMES: usize = 40;

/// Fills a template with the fields of a context. `{{` and `}}` stand for braces. A null becomes an empty
/// text, a list its items with commas between. The error lists unknown names and the available fields.
pub fn fill(template: &str, context: &Map<String, Value>) -> Result<String, String> {
    let mut filled = String::new();
    let mut rest = template;
    while let Some(at) = rest.find(['{', '}']) {
        filled.push_str(&rest[..at]);
        let brace = &rest[at..=at];
        rest = &rest[at + 1..];
        if let Some(more) = rest.strip_prefix(brace) {
            filled.push_str(brace);
            rest = more;
            continue;
        }
        let end = rest.find('}').filter(|_| brace == "{");
        let Some(end) = end else {
            return Err(format!(
                "`{template}` has a `{brace}` without its counterpart: write `{brace}{brace}` for the sign itself"
            ));
        };
        let name = rest[..end].trim();
        let value = context.get(name).ok_or_else(|| unknown(name, context))?;
        filled.push_str(&words_of(value));
        rest = &rest[end + 1..];
        if filled.len() > MAX_FILLED * 4 {
            break;
        }
    }
    filled.push_str(rest);
    Ok(filled.chars().take(MAX_FILLED).collect())
}

fn unknown(name: &str, context: &Map<String, Value>) -> String {
    let known: Vec<&str> = context.keys().take(MAX_NAMES).map(String::as_str).collect();
    let known = if known.is_empty() {
        "none".to_owned()
    } else {
        known.join(", ")
    };
    format!("There is no field `{name}` to put into the text; there are: {known}")
}

fn words_of(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(words_of).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn placeholders_are_filled_and_what_has_no_field_is_named() {
        let context = json!({ "name": "Film {1}", "ratio": 1.5, "tags": ["a", "b"], "label": null });
        let context = context.as_object().unwrap();
        for (template, filled) in [
            ("plain", "plain"),
            ("{name} at { ratio }", "Film {1} at 1.5"),
            ("[{tags}] [{label}]", "[a, b] []"),
            ("{{name}} }}{{", "{name} }{"),
        ] {
            assert_eq!(fill(template, context).as_deref(), Ok(filled));
        }
        for (template, said) in [
            (
                "{nam}",
                "no field `nam` to put into the text; there are: label, name, ratio, tags",
            ),
            ("{", "without its counterpart"),
            ("name}", "without its counterpart"),
            ("{name", "without its counterpart"),
        ] {
            assert!(fill(template, context).unwrap_err().contains(said), "{template}");
        }
        assert!(fill("{x}", &Map::new()).unwrap_err().contains("there are: none"));
    }

    #[test]
    fn a_long_text_is_cut() {
        let context = json!({ "name": "ä".repeat(1500) });
        let filled = fill("{name}{name}{name}", context.as_object().unwrap()).unwrap();
        assert_eq!(filled.chars().count(), MAX_FILLED);
    }
}
