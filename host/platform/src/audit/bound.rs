//! Cuts what a row holds: rows stay for ever, and a caller whose request was refused must not fill the database with it.
//! Bounds: [`MAX_TEXT`] bytes a text, [`MAX_ITEMS`] items a list; a cut text ends in `…`.

use serde_json::Value;

/// As long as a path the kernel takes.
const MAX_TEXT: usize = 4096;
const MAX_ITEMS: usize = 1000;

pub(super) fn text(text: &mut String) {
    if text.len() > MAX_TEXT {
        text.truncate(text.floor_char_boundary(MAX_TEXT));
        text.push('…');
    }
}

/// Every text and list in it.
pub(super) fn json(value: &mut Value) {
    match value {
        Value::String(content) => text(content),
        Value::Array(items) => {
            items.truncate(MAX_ITEMS);
            items.iter_mut().for_each(json);
        }
        Value::Object(map) => map.values_mut().for_each(json),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
