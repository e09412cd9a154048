//! Readers of JSON members; a value of another type than documented counts as absent.

use serde_json::Value;

/// A text that says something.
pub fn text(value: &Value, name: &str) -> Option<String> {
    let text = value.get(name)?.as_str()?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// An id: a text, or a number as one.
pub fn id(value: &Value, name: &str) -> Option<String> {
    match value.get(name)? {
        Value::Number(number) => Some(number.to_string()),
        _ => text(value, name),
    }
}

/// A whole number from 0.
pub fn number(value: &Value, name: &str) -> Option<u32> {
    u32::try_from(value.get(name)?.as_u64()?).ok()
}

/// A list; none is an empty one.
pub fn list<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    let list = value.get(name).and_then(Value::as_array);
    list.map_or(&[], Vec::as_slice)
}

/// Progress in percent, 0 to 100; `None` when the whole or the part is unknown or 0.
pub fn percent(value: &Value, done: &Value, names: (&str, &str)) -> Option<u32> {
    let done = done.get(names.0)?.as_f64()?;
    let whole = value.get(names.1)?.as_f64()?;
    (done > 0.0 && whole > 0.0).then(|| (done / whole * 100.0).round().clamp(0.0, 100.0) as u32)
}

/// An address without its port.
pub fn address(text: String) -> String {
    if let Some((inner, _)) = text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return inner.to_owned();
    }
    match text.split_once(':') {
        Some((host, port)) if !port.contains(':') => host.to_owned(),
        _ => text,
    }
}

/// Show and episode, or the film.
pub fn titled(show: Option<&str>, own: Option<&str>) -> String {
    match (show, own) {
        (Some(show), Some(own)) => format!("{show} \u{2014} {own}"),
        (Some(one), None) | (None, Some(one)) => one.to_owned(),
        (None, None) => "Unknown".to_owned(),
    }
}

/// The word that sources of ids have here.
pub fn source(product: &str) -> Option<&'static str> {
    match product.to_ascii_lowercase().as_str() {
        "imdb" => Some("titledb"),
        "tmdb" => Some("provider_a"),
        "tvdb" => Some("provider_b"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_lose_their_port() {
        for (given, expected) in [
            ("1.2.3.4:5", "1.2.3.4"),
            ("[::1]:5", "::1"),
            ("fe80::1", "fe80::1"),
            ("10.0.0.2", "10.0.0.2"),
        ] {
            assert_eq!(address(given.to_owned()), expected);
        }
    }

    #[test]
    fn progress_is_known_or_none() {
        let of = |done: Value, whole: Value| {
            let value = serde_json::json!({ "done": done, "whole": whole });
            percent(&value, &value, ("done", "whole"))
        };
        assert_eq!(of(1.into(), 3.into()), Some(33));
        assert_eq!(of(9.into(), 3.into()), Some(100));
        assert_eq!(of(0.into(), 3.into()), None);
        assert_eq!(of(1.into(), Value::Null), None);
    }
}
