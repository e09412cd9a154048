//! Number properties: whole and fractional.

use serde_json::Value;

use super::json::{Scalar, scalar};
use super::{Fields, Kind, Raw, Rules};

/// Rules of a whole number.
pub struct IntegerField<'f, 'a> {
    fields: &'f mut Fields<'a>,
    rules: Rules<i64>,
}

impl<'f, 'a> IntegerField<'f, 'a> {
    pub(super) fn read(fields: &'f mut Fields<'a>, name: &'static str) -> Self {
        let rule = (Kind::Integer, "must be an integer number");
        let rules = Rules::read(fields, name, rule, |raw| match raw {
            Raw::Json(raw) => match scalar(raw)? {
                Scalar::Number(number) => number.as_i64().or_else(|| number.as_f64().and_then(whole)),
                Scalar::Text(text) => integer(&text),
                Scalar::Flag(_) => None,
            },
            Raw::Text(texts) => texts.last().and_then(|text| integer(text)),
            Raw::Absent => None,
        });
        Self { fields, rules }
    }

    /// Says on the line that [`IntegerField::get`] follows.
    pub fn required(mut self) -> Self {
        self.rules.need();
        self
    }

    pub fn min(mut self, least: i64) -> Self {
        self.fields
            .tell(self.rules.name, |number| number.min = Some(least as f64));
        self.rules.rule(
            |value| *value >= least,
            || format!("must not be less than {least}"),
        );
        self
    }

    pub fn max(mut self, most: i64) -> Self {
        self.fields
            .tell(self.rules.name, |number| number.max = Some(most as f64));
        self.rules.rule(
            |value| *value <= most,
            || format!("must not be greater than {most}"),
        );
        self
    }

    pub fn one_of(mut self, allowed: &[i64]) -> Self {
        self.fields.tell(self.rules.name, |number| {
            number.allowed = allowed.iter().copied().map(Value::from).collect();
        });
        self.rules.rule(
            |value| allowed.contains(value),
            || {
                let texts: Vec<String> = allowed.iter().map(ToString::to_string).collect();
                format!("must be one of the following values: {}", texts.join(", "))
            },
        );
        self
    }

    pub fn get(self) -> i64 {
        self.rules.required(self.fields).unwrap_or_default()
    }

    pub fn optional(self) -> Option<i64> {
        self.rules.optional(self.fields)
    }

    pub fn or(self, default: i64) -> i64 {
        let name = self.rules.name;
        self.fields
            .tell(name, |number| number.default = Some(default.into()));
        self.optional().unwrap_or(default)
    }
}

/// Rules of a finite number.
pub struct FloatField<'f, 'a> {
    fields: &'f mut Fields<'a>,
    rules: Rules<f64>,
}

impl<'f, 'a> FloatField<'f, 'a> {
    pub(super) fn read(fields: &'f mut Fields<'a>, name: &'static str) -> Self {
        let text = "must be a number conforming to the specified constraints";
        let rules = Rules::read(fields, name, (Kind::Number, text), |raw| match raw {
            Raw::Json(raw) => match scalar(raw)? {
                Scalar::Number(number) => number.as_f64(),
                Scalar::Text(text) => float(&text),
                Scalar::Flag(_) => None,
            },
            Raw::Text(texts) => texts.last().and_then(|text| float(text)),
            Raw::Absent => None,
        });
        Self { fields, rules }
    }

    /// Says on the line that [`FloatField::get`] follows.
    pub fn required(mut self) -> Self {
        self.rules.need();
        self
    }

    pub fn min(mut self, least: f64) -> Self {
        self.fields
            .tell(self.rules.name, |number| number.min = Some(least));
        self.rules.rule(
            |value| *value >= least,
            || format!("must not be less than {least}"),
        );
        self
    }

    pub fn max(mut self, most: f64) -> Self {
        self.fields
            .tell(self.rules.name, |number| number.max = Some(most));
        self.rules.rule(
            |value| *value <= most,
            || format!("must not be greater than {most}"),
        );
        self
    }

    pub fn get(self) -> f64 {
        self.rules.required(self.fields).unwrap_or_default()
    }

    pub fn optional(self) -> Option<f64> {
        self.rules.optional(self.fields)
    }
}

fn integer(text: &str) -> Option<i64> {
    text.trim().parse().ok().or_else(|| float(text).and_then(whole))
}

fn float(text: &str) -> Option<f64> {
    text.trim().parse::<f64>().ok().filter(|value| value.is_finite())
}

/// The integer that a float represents; beyond 2^53 floats skip integers, so there is none.
fn whole(value: f64) -> Option<i64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    (value.fract() == 0.0 && value.abs() <= EXACT).then_some(value as i64)
}
