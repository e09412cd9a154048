//! Limits the size of an audit row: rows stay for ever, and a refused request must not fill the database.
//! Bounds: [`MAX_TEXT`] bytes per text, [`MAX_ITEMS`] items per list; a cut text ends in `…`.

use serde_json::Value;

/// Longest path that the kernel accepts.
const MAX_TEXT: usize = 4096;
const MAX_ITEMS: usize = 1000;

pub(super) fn text(text: &mut String) {
    if text.len() > MAX_TEXT {
        text.truncate(text.floor_char_boundary(MAX_TEXT));
        text.push('…');
    }
}

/// Limits every text and list in a value.
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
