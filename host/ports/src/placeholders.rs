//! Placeholders in parameters of actions: in the directories that rules move torrents to (`/data/{label}`), and in the texts of
//! JSON that webhooks post (`{"text": "{name} is complete"}`). What may stand in one is a table; whoever stores a rule
//! refuses any other. Whoever moves a torrent fills those of directories, and the rules fill those of JSON.
//!
//! A value that fills one is a name that a stranger may have chosen. In a directory it becomes one name, and never a path; in
//! JSON it becomes a part of a text, and never of the structure: only texts of a parsed document are filled.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::engine::Torrent;

/// Value of a torrent that a placeholder stands for.
#[derive(Clone, Copy)]
enum Field {
    Label,
    Name,
    TrackerHost,
    Hash,
    FirstTag,
    /// Year in which it was added, in UTC.
    Year,
}

/// Words that may stand between braces.
const WORDS: &[(&str, Field)] = &[
    ("label", Field::Label),
    ("name", Field::Name),
    ("tracker", Field::TrackerHost),
    ("hash", Field::Hash),
    ("category", Field::Label),
    ("tag", Field::FirstTag),
    ("trackerHost", Field::TrackerHost),
    ("year", Field::Year),
];

/// The mark of a parameter, in the schema of an action, that may have placeholders: `true` for a directory, [`JSON`] for JSON,
/// [`TEXT`] for a text.
pub const MARK: &str = "x-placeholders";

/// The value of the mark for a parameter that is JSON, or a text of JSON.
pub const JSON: &str = "json";

/// The value of the mark for a parameter that is a text. The action gets it filled, and is to keep it a text: a value may have
/// any character.
pub const TEXT: &str = "text";

/// The name that stands for what a torrent does not have, its label for one.
const NONE: &str = "none";
/// Bytes of a name, below what file systems take.
const LONGEST: usize = 200;
/// Bytes of all texts of a filled document. A template may use a long value many times.
const FILLED_BYTES: usize = 256 * 1024;

/// The parts of a text: what stands there as it is, and the value that a placeholder stands for.
enum Part<'a> {
    Plain(&'a str),
    Value(Field),
}

/// The parts of a text, or a sentence about the first placeholder that is unknown.
fn parts(text: &str) -> Result<Vec<Part<'_>>, String> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((word, behind)) = after.split_once('}') else {
            break;
        };
        parts.push(Part::Plain(before));
        let known = WORDS.iter().find(|(known, _)| *known == word);
        let (_, field) = known.ok_or_else(|| refuse(word))?;
        parts.push(Part::Value(*field));
        rest = behind;
    }
    parts.push(Part::Plain(rest));
    Ok(parts)
}

fn refuse(word: &str) -> String {
    let known: Vec<String> = WORDS.iter().map(|(word, _)| format!("{{{word}}}")).collect();
    let known = known.join(", ");
    format!("There is no placeholder {{{word}}}: there are {known}")
}

/// A sentence about the first placeholder that is unknown; `None`: all are known.
pub fn unknown(text: &str) -> Option<String> {
    parts(text).err()
}

/// The text with its placeholders filled by the values of a torrent.
///
/// # Errors
/// The sentence of [`unknown`].
pub fn filled(text: &str, torrent: &Torrent) -> Result<String, String> {
    let mut filled = String::with_capacity(text.len());
    for part in parts(text)? {
        match part {
            Part::Plain(plain) => filled.push_str(plain),
            Part::Value(field) => filled.push_str(&safe_name(&value(field, torrent))),
        }
    }
    Ok(filled)
}

fn value(field: Field, torrent: &Torrent) -> Cow<'_, str> {
    match field {
        Field::Label => torrent.label.as_deref().unwrap_or_default().into(),
        Field::Name => (&*torrent.name).into(),
        Field::TrackerHost => torrent.tracker_host.as_deref().unwrap_or_default().into(),
        Field::Hash => (&*torrent.hash).into(),
        Field::FirstTag => torrent.tags.first().map_or("", |tag| tag).into(),
        Field::Year => {
            let added = torrent.added_at.map(|at| year(&at.to_string()).to_owned());
            added.unwrap_or_default().into()
        }
    }
}

/// The year of a time in ISO 8601.
fn year(time: &str) -> &str {
    time.split('-').next().unwrap_or_default()
}

/// The JSON of a parameter: the parameter itself, or what its text says. It is an object, an array or a text.
fn document(param: &Value) -> Result<Value, String> {
    let document = match param {
        Value::String(text) => {
            serde_json::from_str(text).map_err(|error| format!("it is no JSON: {error}"))?
        }
        other => other.clone(),
    };
    match document {
        Value::Object(_) | Value::Array(_) | Value::String(_) => Ok(document),
        Value::Null | Value::Bool(_) | Value::Number(_) => Err(format!(
            "it must be an object, an array or a text of JSON, not {document}"
        )),
    }
}

/// A sentence about a parameter that is no JSON, or about the first placeholder in its texts that is unknown.
pub fn unknown_in_json(param: &Value) -> Option<String> {
    fn search(value: &Value) -> Option<String> {
        match value {
            Value::String(text) => unknown(text),
            Value::Array(items) => items.iter().find_map(search),
            Value::Object(members) => members.values().find_map(search),
            Value::Null | Value::Bool(_) | Value::Number(_) => None,
        }
    }
    match document(param) {
        Ok(document) => search(&document),
        Err(why) => Some(why),
    }
}

/// The JSON of a parameter, the placeholders in its texts filled by the context of a run: a torrent as
/// `GET /api/torrents` shows it. What the context does not have is empty.
///
/// # Errors
/// The sentence of [`unknown_in_json`], or one about a document that would be too large.
pub fn filled_json(param: &Value, context: &Map<String, Value>) -> Result<Value, String> {
    let mut document = document(param)?;
    Filler::new(context).fill(&mut document)?;
    Ok(document)
}

/// A text, its placeholders filled by the context of a run. What the context does not have is empty.
///
/// # Errors
/// The sentence of [`unknown`], or one about a text that would be too large.
pub fn filled_text(text: &str, context: &Map<String, Value>) -> Result<String, String> {
    Filler::new(context).fill_text(text)
}

/// Values for the placeholders of a document, and the bytes that its texts may still take.
struct Filler<'a> {
    context: &'a Map<String, Value>,
    left: usize,
}

impl<'a> Filler<'a> {
    fn new(context: &'a Map<String, Value>) -> Self {
        Self {
            context,
            left: FILLED_BYTES,
        }
    }

    /// Fills the texts of a value.
    fn fill(&mut self, value: &mut Value) -> Result<(), String> {
        match value {
            Value::String(text) => *text = self.fill_text(text)?,
            Value::Array(items) => items.iter_mut().try_for_each(|item| self.fill(item))?,
            Value::Object(members) => members.values_mut().try_for_each(|member| self.fill(member))?,
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
        Ok(())
    }

    fn fill_text(&mut self, text: &str) -> Result<String, String> {
        let mut filled = String::with_capacity(text.len());
        for part in parts(text)? {
            let piece = match part {
                Part::Plain(plain) => plain,
                Part::Value(field) => self.find_value(field),
            };
            self.left = self.left.checked_sub(piece.len()).ok_or_else(|| {
                format!("it would take more than {FILLED_BYTES} bytes: use fewer placeholders")
            })?;
            filled.push_str(piece);
        }
        Ok(filled)
    }

    fn find_value(&self, field: Field) -> &'a str {
        let context = self.context;
        let text = |name: &str| context.get(name).and_then(Value::as_str).unwrap_or_default();
        match field {
            Field::Label => text("label"),
            Field::Name => text("name"),
            Field::TrackerHost => text("trackerHost"),
            Field::Hash => text("hash"),
            Field::FirstTag => {
                let tag = context.get("tags").and_then(|tags| tags.get(0)?.as_str());
                tag.unwrap_or_default()
            }
            Field::Year => year(text("addedAt")),
        }
    }
}

/// One name of a directory: nothing in it divides a path, says another directory, or cannot be read.
fn safe_name(text: &str) -> String {
    let letter = |letter: char| match letter {
        '/' | '\\' | '{' | '}' => '_',
        letter if letter.is_control() => '_',
        letter => letter,
    };
    let mut name: String = text.trim().chars().map(letter).collect();
    if name.starts_with('.') {
        // `.`, `..` and hidden ones.
        name.replace_range(..1, "_");
    }
    let end = name.floor_char_boundary(LONGEST);
    name.truncate(end);
    let name = name.trim_end_matches(['.', ' ']);
    if name.is_empty() {
        NONE.to_owned()
    } else {
        name.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn torrent(label: Option<&str>, name: &str) -> Torrent {
        Torrent {
            label: label.map(str::to_owned),
            name: name.to_owned(),
            ..crate::list::tests::torrent()
        }
    }

    #[test]
    fn known_ones_are_filled_and_unknown_ones_are_refused() {
        let linux = torrent(Some("os"), "Debian");
        for (text, expected) in [
            ("/dl/{label}", "/dl/os"),
            ("/dl/{label}/{name}", "/dl/os/Debian"),
            (
                "/dl/{tracker}-{hash}",
                "/dl/tracker.example-0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b",
            ),
            ("/dl/{category}/{tag}", "/dl/os/free"),
            ("/dl/{year}/{trackerHost}", "/dl/2030/tracker.example"),
            ("/dl/plain", "/dl/plain"),
            ("/dl/open{", "/dl/open{"),
        ] {
            assert_eq!(filled(text, &linux).as_deref(), Ok(expected), "{text}");
            assert_eq!(unknown(text), None, "{text}");
        }
        for text in [
            "/dl/{Label}",
            "/dl/{}",
            "/dl/{label}/{size}",
            "/dl/{label:x}",
            "/dl/{{label}}",
        ] {
            let why = unknown(text).unwrap_or_default();
            assert!(
                why.ends_with(
                    "there are {label}, {name}, {tracker}, {hash}, {category}, {tag}, {trackerHost}, {year}"
                ),
                "{text}: {why}"
            );
            assert_eq!(filled(text, &linux), Err(why), "{text}");
        }
    }

    #[test]
    fn what_fills_one_is_a_single_name() {
        for (label, expected) in [
            (None, "/dl/none"),
            (Some(""), "/dl/none"),
            (Some("  "), "/dl/none"),
            (Some("tv/hd"), "/dl/tv_hd"),
            (Some("../../etc"), "/dl/_._.._etc"),
            (Some(".."), "/dl/_"),
            (Some("a\\b\n\u{0}"), "/dl/a_b__"),
            (Some("{name}"), "/dl/_name_"),
            (Some("...x. "), "/dl/_..x"),
            (Some("\u{e9}t\u{e9}"), "/dl/\u{e9}t\u{e9}"),
        ] {
            assert_eq!(
                filled("/dl/{label}", &torrent(label, "n")).as_deref(),
                Ok(expected),
                "{label:?}"
            );
        }
        let long = "\u{e9}".repeat(500);
        let name = filled("{label}", &torrent(Some(&long), "n")).unwrap_or_default();
        assert_eq!(name.len(), LONGEST);
    }

    #[test]
    fn values_in_json_stay_inside_of_their_text() {
        let hostile = "a\", \"admin\": true, \"b\": \"\\ \n{hash}";
        let context = json!({
            "name": hostile, "label": null, "tags": ["one", "two"], "trackerHost": "t.example", "hash": "0b",
            "addedAt": "2030-03-17T17:46:40.000Z", "size": 7,
        });
        let context = context.as_object().expect("an object");
        let template = json!({ "text": "{name} of {trackerHost}", "{name}": [1, "{tag}{category}", { "x": "{year}" }], "n": null });
        let expected = json!({
            "text": format!("{hostile} of t.example"), "{name}": [1, "one", { "x": "2030" }], "n": null,
        });
        for param in [template.clone(), Value::from(template.to_string())] {
            let filled = filled_json(&param, context).expect("filled");
            assert_eq!(filled, expected);
            let read: Value = serde_json::from_str(&filled.to_string()).expect("JSON");
            assert_eq!(read, expected, "what is sent is read as it was filled");
        }
        for (param, told) in [
            (json!("{\"text\": {name}}"), "it is no JSON"),
            (
                json!({ "a": [{ "b": "{size}" }] }),
                "There is no placeholder {size}: there are {label}, {name}",
            ),
            (json!("{\"text\": \"{Name}\"}"), "There is no placeholder {Name}"),
            (
                json!("5"),
                "it must be an object, an array or a text of JSON, not 5",
            ),
            (
                json!(" true"),
                "it must be an object, an array or a text of JSON, not true",
            ),
            (
                json!("null"),
                "it must be an object, an array or a text of JSON, not null",
            ),
            (
                json!(5),
                "it must be an object, an array or a text of JSON, not 5",
            ),
        ] {
            let why = unknown_in_json(&param).unwrap_or_default();
            assert!(why.starts_with(told), "{param}: {why}");
            assert_eq!(filled_json(&param, context), Err(why), "{param}");
        }
        assert_eq!(filled_json(&json!("\"{tag}\""), context), Ok(json!("one")));
        let nothing = Map::new();
        assert_eq!(
            filled_json(&json!("{\"a\": \"-{name}{year}{tag}-\"}"), &nothing),
            Ok(json!({ "a": "--" }))
        );
    }

    #[test]
    fn values_in_a_text_are_as_they_are() {
        let context = json!({ "name": "a \"b\"\n<!channel> @everyone {hash}", "hash": "0b", "label": null });
        let context = context.as_object().expect("an object");
        let filled = filled_text("{name} ({hash}) {category}", context);
        assert_eq!(
            filled.as_deref(),
            Ok("a \"b\"\n<!channel> @everyone {hash} (0b) ")
        );
        let why = filled_text("{size}", context).expect_err("unknown");
        assert!(
            why.starts_with("There is no placeholder {size}: there are {label}"),
            "{why}"
        );
        let long = "{hash}".repeat(FILLED_BYTES);
        assert!(filled_text(&long, context).is_err_and(|why| why.starts_with("it would take more than")));
    }

    #[test]
    fn a_filled_document_has_a_bound() {
        let name = "n".repeat(16 * 1024);
        let context = json!({ "name": name });
        let context = context.as_object().expect("an object");
        let names = vec!["{name}"; 8];
        let full = json!({ "a": names, "b": names.concat() });
        let filled = filled_json(&full, context).expect("as much as there may be");
        assert_eq!(filled["b"].as_str().map(str::len), Some(FILLED_BYTES / 2));
        let more = json!({ "a": names, "b": names.concat(), "c": "x" });
        assert_eq!(
            filled_json(&more, context),
            Err("it would take more than 262144 bytes: use fewer placeholders".to_owned())
        );
        assert_eq!(unknown_in_json(&more), None, "values are known only when it runs");
    }
}
