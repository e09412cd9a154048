//! Booleans, objects and values of any kind.

use serde_json::{Map, Value};

use super::{Fields, Raw, Rules};

/// A boolean.
pub struct FlagField<'f, 'a> {
    fields: &'f mut Fields<'a>,
    rules: Rules<bool>,
}

impl<'f, 'a> FlagField<'f, 'a> {
    pub(super) fn read(fields: &'f mut Fields<'a>, name: &'static str) -> Self {
        let rules = Rules::read(fields, name, "must be a boolean value", |raw| match raw {
            Raw::Json(Value::Bool(flag)) => Some(*flag),
            Raw::Json(Value::Number(number)) => flag(&number.to_string()),
            Raw::Json(Value::String(text)) => flag(text),
            Raw::Text(texts) => texts.last().and_then(|text| flag(text)),
            Raw::Json(_) | Raw::Absent => None,
        });
        Self { fields, rules }
    }

    /// Says on the line that [`FlagField::get`] follows.
    pub fn required(self) -> Self {
        self
    }

    pub fn get(self) -> bool {
        self.rules.required(self.fields).unwrap_or_default()
    }

    pub fn optional(self) -> Option<bool> {
        self.rules.optional(self.fields)
    }

    pub fn or(self, default: bool) -> bool {
        self.optional().unwrap_or(default)
    }
}

fn flag(text: &str) -> Option<bool> {
    match text {
        "true" | "1" => Some(true),
        "false" | "0" | "" => Some(false),
        _ => None,
    }
}

/// A JSON object with keys of its own.
pub struct ObjectField<'f, 'a> {
    fields: &'f mut Fields<'a>,
    rules: Rules<Map<String, Value>>,
}

impl<'f, 'a> ObjectField<'f, 'a> {
    pub(super) fn read(fields: &'f mut Fields<'a>, name: &'static str) -> Self {
        let rules = Rules::read(fields, name, "must be an object", |raw| match raw {
            Raw::Json(Value::Object(map)) => Some(map.clone()),
            Raw::Json(_) | Raw::Text(_) | Raw::Absent => None,
        });
        Self { fields, rules }
    }

    /// Says on the line that [`ObjectField::get`] follows.
    pub fn required(self) -> Self {
        self
    }

    pub fn get(self) -> Map<String, Value> {
        self.rules.required(self.fields).unwrap_or_default()
    }

    pub fn optional(self) -> Option<Map<String, Value>> {
        self.rules.optional(self.fields)
    }
}

/// Any JSON value but `null`.
pub struct AnyField<'f, 'a> {
    fields: &'f mut Fields<'a>,
    rules: Rules<Value>,
}

impl<'f, 'a> AnyField<'f, 'a> {
    pub(super) fn read(fields: &'f mut Fields<'a>, name: &'static str) -> Self {
        let rules = Rules::read(fields, name, "should not be null or undefined", |raw| match raw {
            Raw::Json(value) => Some(value.clone()),
            Raw::Text(texts) => texts.last().map(|text| Value::from(*text)),
            Raw::Absent => None,
        });
        Self { fields, rules }
    }

    /// Says on the line that [`AnyField::get`] follows.
    pub fn required(self) -> Self {
        self
    }

    pub fn get(self) -> Value {
        self.rules.required(self.fields).unwrap_or_default()
    }

    pub fn optional(self) -> Option<Value> {
        self.rules.optional(self.fields)
    }
}
