//! Types that a setting can have.

use serde_json::{Map, Value};

/// A type that a setting can have.
pub trait SettingValue: Sized {
    const KIND: &'static str;
    /// `None` for a value of another type.
    fn from_json(value: &Value) -> Option<Self>;
    fn to_json(&self) -> Value;
}

impl SettingValue for String {
    const KIND: &'static str = "text";

    fn from_json(value: &Value) -> Option<Self> {
        value.as_str().map(str::to_owned)
    }

    fn to_json(&self) -> Value {
        Value::from(self.as_str())
    }
}

impl SettingValue for i64 {
    const KIND: &'static str = "integer";

    fn from_json(value: &Value) -> Option<Self> {
        value.as_i64()
    }

    fn to_json(&self) -> Value {
        Value::from(*self)
    }
}

impl SettingValue for f64 {
    const KIND: &'static str = "number";

    fn from_json(value: &Value) -> Option<Self> {
        value.as_f64()
    }

    /// A whole number is written as `30`, not `30.0`.
    fn to_json(&self) -> Value {
        if self.fract() == 0.0 && self.abs() < 1e15 {
            Value::from(*self as i64)
        } else {
            Value::from(*self)
        }
    }
}

impl SettingValue for bool {
    const KIND: &'static str = "boolean";

    fn from_json(value: &Value) -> Option<Self> {
        value.as_bool()
    }

    fn to_json(&self) -> Value {
        Value::from(*self)
    }
}

impl SettingValue for Vec<String> {
    const KIND: &'static str = "list of texts";

    fn from_json(value: &Value) -> Option<Self> {
        value
            .as_array()?
            .iter()
            .map(|item| item.as_str().map(str::to_owned))
            .collect()
    }

    fn to_json(&self) -> Value {
        Value::from(self.as_slice())
    }
}

impl SettingValue for Map<String, Value> {
    const KIND: &'static str = "object";

    fn from_json(value: &Value) -> Option<Self> {
        value.as_object().cloned()
    }

    fn to_json(&self) -> Value {
        Value::Object(self.clone())
    }
}

/// `None` stands for a missing value without a default.
impl<T: SettingValue> SettingValue for Option<T> {
    const KIND: &'static str = T::KIND;

    fn from_json(value: &Value) -> Option<Self> {
        T::from_json(value).map(Some)
    }

    fn to_json(&self) -> Value {
        self.as_ref().map_or(Value::Null, T::to_json)
    }
}
