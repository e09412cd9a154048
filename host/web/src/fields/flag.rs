//! Boolean and object properties, and values of any kind.

use serde_json::{Map, Value};

use super::json::{Scalar, scalar};
use super::{Fields, Kind, Raw, Rules};

/// A boolean.
pub struct FlagField<'f, 'a> {
    fields: &'f mut Fields<'a>,
    rules: Rules<bool>,
}

impl<'f, 'a> FlagField<'f, 'a> {
    pub(super) fn read(fields: &'f mut Fields<'a>, name: &'static str) -> Self {
        let rule = (Kind::Flag, "must be a boolean value");
        let rules = Rules::read(fields, name, rule, |raw| match raw {
            Raw::Json(raw) => match scalar(raw)? {
                Scalar::Flag(flag) => Some(flag),
                Scalar::Number(number) => flag(&number.to_string()),
                Scalar::Text(text) => flag(&text),
            },
            Raw::Text(texts) => texts.last().and_then(|text| flag(text)),
            Raw::Absent => None,
        });
        Self { fields, rules }
    }

    /// Says on the line that [`FlagField::get`] follows.
    pub fn required(mut self) -> Self {
        self.rules.need();
        self
    }

    pub fn get(self) -> bool {
        self.rules.required(self.fields).unwrap_or_default()
    }

    pub fn optional(self) -> Option<bool> {
        self.rules.optional(self.fields)
    }

    pub fn or(self, default: bool) -> bool {
        let name = self.rules.name;
        self.fields
            .tell(name, |flag| flag.default = Some(Value::Bool(default)));
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

/// A JSON object with arbitrary keys.
pub struct ObjectField<'f, 'a> {
    fields: &'f mut Fields<'a>,
    rules: Rules<Map<String, Value>>,
}

impl<'f, 'a> ObjectField<'f, 'a> {
    pub(super) fn read(fields: &'f mut Fields<'a>, name: &'static str) -> Self {
        const KIND: &str = "must be an object";
        let rules = Rules::tree(fields, name, (Kind::Object, KIND), |raw, trees| match raw {
            Raw::Json(raw) if raw.get().starts_with('{') => match trees.grow(raw)? {
                Value::Object(map) => Ok(map),
                _ => Err(KIND),
            },
            Raw::Json(_) | Raw::Text(_) | Raw::Absent => Err(KIND),
        });
        Self { fields, rules }
    }

    /// Says on the line that [`ObjectField::get`] follows.
    pub fn required(mut self) -> Self {
        self.rules.need();
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
        const KIND: &str = "should not be null or undefined";
        let rules = Rules::tree(fields, name, (Kind::Any, KIND), |raw, trees| match raw {
            Raw::Json(raw) => trees.grow(raw),
            Raw::Text(texts) => texts.last().map(|text| Value::from(*text)).ok_or(KIND),
            Raw::Absent => Err(KIND),
        });
        Self { fields, rules }
    }

    /// Says on the line that [`AnyField::get`] follows.
    pub fn required(mut self) -> Self {
        self.rules.need();
        self
    }

    pub fn get(self) -> Value {
        self.rules.required(self.fields).unwrap_or_default()
    }

    pub fn optional(self) -> Option<Value> {
        self.rules.optional(self.fields)
    }
}
