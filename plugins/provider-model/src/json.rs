//! Readers of JSON members; a value of another type than documented counts as absent.

use serde_json::Value;

/// A text that says something.
pub fn text(value: &Value, name: &str) -> Option<String> {
    let text = value.get(name)?.as_str()?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// A whole number from 0, also where it comes as `8.0`.
pub fn number(value: &Value, name: &str) -> Option<u32> {
    whole(value.get(name)?)
}

fn whole(value: &Value) -> Option<u32> {
    if let Some(number) = value.as_u64() {
        return u32::try_from(number).ok();
    }
    let number = value.as_f64()?;
    let sound = number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&number);
    sound.then_some(number as u32)
}

/// A number that says something: providers write 0 where they do not know.
pub fn counted(value: &Value, name: &str) -> Option<u32> {
    number(value, name).filter(|number| *number > 0)
}

pub fn real(value: &Value, name: &str) -> Option<f64> {
    value.get(name)?.as_f64()
}

/// An id, a number that it may have written as text.
pub fn id(value: &Value, name: &str) -> Option<String> {
    match value.get(name)? {
        Value::Number(number) => number.as_u64().filter(|id| *id > 0).map(|id| id.to_string()),
        Value::String(text) if is_id(text) => Some(text.clone()),
        _ => None,
    }
}

/// Digits of an id.
pub fn is_id(text: &str) -> bool {
    (1..=10).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_digit())
        && text.bytes().any(|byte| byte != b'0')
}

/// A list; none is an empty one.
pub fn list<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    let list = value.get(name).and_then(Value::as_array);
    list.map_or(&[], Vec::as_slice)
}

/// The names of a list of named things.
pub fn names(value: &Value, name: &str) -> Vec<String> {
    list(value, name)
        .iter()
        .filter_map(|one| text(one, "name"))
        .collect()
}
