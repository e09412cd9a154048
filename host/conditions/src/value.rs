//! Values of fields in conditions, and their conversion to number and text.

use std::borrow::Cow;

use serde_json::{Map, Value};

/// A record whose top-level fields conditions read by name; a path into a field is no name.
pub trait Record {
    fn field(&self, name: &str) -> Seen<'_>;
}

/// The value of a field.
#[derive(Clone, Debug, PartialEq)]
pub enum Seen<'a> {
    /// The field is missing; it counts as unknown.
    Missing,
    /// The value is unknown.
    Null,
    Flag(bool),
    Number(f64),
    Text(Cow<'a, str>),
    Texts(&'a [String]),
    /// A list or an object.
    Tree(&'a Value),
}

impl<'a> Seen<'a> {
    pub fn from_json(value: &'a Value) -> Self {
        match value {
            Value::Null => Seen::Null,
            Value::Bool(flag) => Seen::Flag(*flag),
            Value::Number(number) => Seen::Number(number.as_f64().unwrap_or(f64::NAN)),
            Value::String(text) => Seen::Text(Cow::Borrowed(text)),
            Value::Array(_) | Value::Object(_) => Seen::Tree(value),
        }
    }

    /// A value that may be missing.
    pub fn given(value: Option<&'a Value>) -> Self {
        value.map_or(Seen::Missing, Seen::from_json)
    }

    pub fn text(text: &'a str) -> Self {
        Seen::Text(Cow::Borrowed(text))
    }

    /// True for an unknown value: only the test for unknown is true on it.
    pub const fn is_unknown(&self) -> bool {
        matches!(self, Seen::Missing | Seen::Null)
    }

    /// A flag; `None` becomes null.
    pub fn flag_or_null(flag: Option<bool>) -> Self {
        flag.map_or(Seen::Null, Seen::Flag)
    }

    /// A text; `None` becomes null.
    pub fn text_or_null(text: Option<&'a str>) -> Self {
        text.map_or(Seen::Null, Seen::text)
    }

    /// A number; `None` becomes null.
    pub fn number_or_null(number: Option<f64>) -> Self {
        number.map_or(Seen::Null, Seen::Number)
    }

    /// Equal in type and value. Lists and objects are equal to nothing.
    pub fn equals(&self, other: &Seen<'_>) -> bool {
        match (self, other) {
            (Seen::Missing, Seen::Missing) | (Seen::Null, Seen::Null) => true,
            (Seen::Flag(a), Seen::Flag(b)) => a == b,
            // Like the numbers of the clients that wrote the rules: equal bit for bit, and -0 is 0.
            #[expect(clippy::float_cmp, reason = "what is compared is whether they are the same")]
            (Seen::Number(a), Seen::Number(b)) => a == b,
            (Seen::Text(a), Seen::Text(b)) => a == b,
            _ => false,
        }
    }

    /// As a number; NaN for a non-number or unknown value. An empty text and false are 0; a list counts as
    /// its text.
    pub fn as_number(&self) -> f64 {
        match self {
            Seen::Missing | Seen::Null => f64::NAN,
            Seen::Flag(flag) => f64::from(u8::from(*flag)),
            Seen::Number(number) => *number,
            Seen::Text(text) => number_of(text),
            Seen::Texts(_) | Seen::Tree(Value::Array(_)) => number_of(&self.as_text()),
            Seen::Tree(_) => f64::NAN,
        }
    }

    /// As a text.
    pub fn as_text(&self) -> Cow<'_, str> {
        match self {
            Seen::Missing => Cow::Borrowed("undefined"),
            Seen::Null => Cow::Borrowed("null"),
            Seen::Flag(true) => Cow::Borrowed("true"),
            Seen::Flag(false) => Cow::Borrowed("false"),
            Seen::Number(number) => Cow::Owned(text_of(*number)),
            Seen::Text(text) => Cow::Borrowed(text),
            Seen::Texts(texts) => Cow::Owned(texts.join(",")),
            Seen::Tree(tree) => {
                let mut text = String::new();
                push_tree(&mut text, tree);
                Cow::Owned(text)
            }
        }
    }

    /// As JSON for display; `None` for a missing field.
    pub fn to_json(&self) -> Option<Value> {
        Some(match self {
            Seen::Missing => return None,
            Seen::Null => Value::Null,
            Seen::Flag(flag) => Value::Bool(*flag),
            Seen::Number(number) => whole(*number).map_or_else(|| Value::from(*number), Value::from),
            Seen::Text(text) => Value::String(text.to_string()),
            Seen::Texts(texts) => Value::from(texts.to_vec()),
            Seen::Tree(tree) => (*tree).clone(),
        })
    }
}

impl Record for Map<String, Value> {
    fn field(&self, name: &str) -> Seen<'_> {
        Seen::given(self.get(name))
    }
}

/// The number as an integer, if a double holds it exactly.
fn whole(number: f64) -> Option<i64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    (number.fract() == 0.0 && number.abs() <= EXACT).then_some(number as i64)
}

/// Text form of a list or an object: comma-joined items, with null as an empty text.
fn push_tree(text: &mut String, tree: &Value) {
    match tree {
        Value::Object(_) => text.push_str("[object Object]"),
        Value::Array(items) => {
            for (position, item) in items.iter().enumerate() {
                if position > 0 {
                    text.push(',');
                }
                if !item.is_null() {
                    push_tree(text, item);
                }
            }
        }
        scalar => text.push_str(&Seen::from_json(scalar).as_text()),
    }
}

/// Shortest decimal form; very large and very small numbers with an exponent, as in ECMAScript.
fn text_of(number: f64) -> String {
    if number == 0.0 {
        return "0".to_owned();
    }
    if !number.is_finite() {
        return if number.is_nan() {
            "NaN"
        } else if number > 0.0 {
            "Infinity"
        } else {
            "-Infinity"
        }
        .to_owned();
    }
    if (1e-6..1e21).contains(&number.abs()) {
        return number.to_string();
    }
    let text = format!("{number:e}");
    if text.contains("e-") {
        text
    } else {
        text.replace('e', "e+")
    }
}

/// Number of a text: trimmed, decimal with an exponent or hexadecimal after `0x`; an empty text is 0.
fn number_of(text: &str) -> f64 {
    let text = text
        .trim_matches(|letter: char| letter.is_whitespace() && letter != '\u{85}' || letter == '\u{feff}');
    if text.is_empty() {
        return 0.0;
    }
    if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        let digits: Option<Vec<u32>> = digits.chars().map(|digit| digit.to_digit(16)).collect();
        return digits
            .filter(|digits| !digits.is_empty())
            .map_or(f64::NAN, |digits| {
                digits
                    .into_iter()
                    .fold(0.0, |sum, digit| sum * 16.0 + f64::from(digit))
            });
    }
    // Rust also accepts the words `inf` and `nan`.
    let is_decimal = |letter: char| letter.is_ascii_digit() || matches!(letter, '.' | '+' | '-' | 'e' | 'E');
    if !text.chars().all(is_decimal) {
        return f64::NAN;
    }
    text.parse().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_as_numbers() {
        for (value, expected) in [
            (json!(2), 2.0),
            (json!(" 2.5\n"), 2.5),
            (json!(""), 0.0),
            (json!(" \u{feff}\u{a0}"), 0.0),
            (json!("1e3"), 1000.0),
            (json!("+.5"), 0.5),
            (json!("5."), 5.0),
            (json!("-0"), 0.0),
            (json!("0x1F"), 31.0),
            (json!("1e999"), f64::INFINITY),
            (json!(true), 1.0),
            (json!(false), 0.0),
            (json!([]), 0.0),
            (json!([7]), 7.0),
            (json!([["8"]]), 8.0),
            (json!([null]), 0.0),
        ] {
            let number = Seen::from_json(&value).as_number();
            assert!(
                (number - expected).abs() < 1e-12 || number.to_bits() == expected.to_bits(),
                "{value}: {number}"
            );
        }
        for value in [
            json!("x"),
            json!("1 2"),
            json!("inf"),
            json!("nan"),
            json!("Infinity"),
            json!("0x"),
            json!("0xg"),
            json!("-0x1"),
            json!("1_000"),
            json!("."),
            json!([1, 2]),
            json!([true]),
            json!({}),
            json!([{}]),
            json!("\u{85}"),
            json!(null),
        ] {
            assert!(Seen::from_json(&value).as_number().is_nan(), "{value}");
        }
        assert!(Seen::Missing.as_number().is_nan());
    }

    #[test]
    fn values_as_texts() {
        for (value, expected) in [
            (json!(null), "null"),
            (json!(true), "true"),
            (json!(2.0), "2"),
            (json!(-0.0), "0"),
            (json!(0.1), "0.1"),
            (json!(1e20), "100000000000000000000"),
            (json!(1e21), "1e+21"),
            (json!(1.5e300), "1.5e+300"),
            (json!(0.000001), "0.000001"),
            (json!(1.5e-7), "1.5e-7"),
            (json!([1, null, "a", [2, 3], {}]), "1,,a,2,3,[object Object]"),
            (json!([]), ""),
            (json!({ "a": 1 }), "[object Object]"),
            (json!("as it is"), "as it is"),
        ] {
            assert_eq!(Seen::from_json(&value).as_text(), expected, "{value}");
        }
        assert_eq!(Seen::Missing.as_text(), "undefined");
        let tags = ["a".to_owned(), "b".to_owned()];
        assert_eq!(Seen::Texts(&tags).as_text(), "a,b");
    }
}
