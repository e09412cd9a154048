//! Text properties.

use serde_json::Value;

use super::json::{Scalar, scalar};
use super::{Fields, Kind, Property, Raw, Rules};

/// Rules of a text; lengths count characters.
pub struct TextField<'f, 'a> {
    fields: &'f mut Fields<'a>,
    rules: Rules<String>,
}

impl<'f, 'a> TextField<'f, 'a> {
    pub(super) fn read(fields: &'f mut Fields<'a>, name: &'static str) -> Self {
        let rules = Rules::read(fields, name, (Kind::Text, "must be a string"), |raw| match raw {
            Raw::Json(raw) => match scalar(raw)? {
                Scalar::Text(text) => Some(text),
                Scalar::Number(number) => Some(number.to_string()),
                Scalar::Flag(_) => None,
            },
            Raw::Text(texts) => texts.last().map(|text| (*text).to_owned()),
            Raw::Absent => None,
        });
        Self { fields, rules }
    }

    /// Says on the line that [`TextField::get`] follows; a text that may be absent ends in [`TextField::optional`].
    pub fn required(mut self) -> Self {
        self.rules.need();
        self
    }

    /// Treats an empty text as absent, as filters without a choice send it.
    pub fn given(mut self) -> Self {
        if self.rules.value.as_deref() == Some("") {
            self.rules.value = None;
            self.rules.absent = true;
        }
        self
    }

    /// Takes the spaces around the text away, for the rules that follow.
    pub fn trim(mut self) -> Self {
        if let Some(text) = &mut self.rules.value {
            let trimmed = text.trim();
            if trimmed.len() < text.len() {
                *text = trimmed.to_owned();
            }
        }
        self
    }

    /// Sets the meaning for the document: for a name that several queries and bodies share.
    pub fn about(self, text: &'static str) -> Self {
        self.declaring(|property| property.about = Some(text))
    }

    pub fn min(self, length: usize) -> Self {
        self.declaring(|text| text.min_length = Some(length)).rule(
            |text| text.chars().count() >= length,
            || format!("must be longer than or equal to {length} characters"),
        )
    }

    pub fn max(self, length: usize) -> Self {
        self.declaring(|text| text.max_length = Some(length)).rule(
            |text| text.chars().count() <= length,
            || format!("must be shorter than or equal to {length} characters"),
        )
    }

    /// Both limits as one declaration.
    pub fn len(self, min: usize, max: usize) -> Self {
        self.min(min).max(max)
    }

    pub fn not_empty(self) -> Self {
        self.declaring(|text| text.min_length = Some(1))
            .rule(|text| !text.is_empty(), || "should not be empty".to_owned())
    }

    pub fn one_of(self, allowed: &[&str]) -> Self {
        self.declaring(|text| text.allowed = allowed.iter().copied().map(Value::from).collect())
            .rule(
                |text| allowed.contains(&text),
                || format!("must be one of the following values: {}", allowed.join(", ")),
            )
    }

    pub fn email(self) -> Self {
        self.declaring(|text| text.format = Some("email"))
            .rule(is_email, || "must be an email".to_owned())
    }

    /// A custom rule; `message` follows the property's name.
    pub fn check(self, holds: impl FnOnce(&str) -> bool, message: &'static str) -> Self {
        self.rule(holds, || message.to_owned())
    }

    fn declaring(self, tell: impl FnOnce(&mut Property)) -> Self {
        self.fields.tell(self.rules.name, tell);
        self
    }

    fn rule(mut self, holds: impl FnOnce(&str) -> bool, message: impl FnOnce() -> String) -> Self {
        self.rules.rule(|text| holds(text), message);
        self
    }

    pub fn get(self) -> String {
        self.rules.required(self.fields).unwrap_or_default()
    }

    pub fn optional(self) -> Option<String> {
        self.rules.optional(self.fields)
    }
}

/// One `@`, a local part of unquoted characters, a domain of at least two labels. Only delivery could prove
/// an address; this excludes typing errors and injected headers.
fn is_email(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else {
        return false;
    };
    let local_ok = !local.is_empty()
        && local.len() <= 64
        && local.split('.').all(|part| {
            !part.is_empty()
                && part
                    .chars()
                    .all(|c| c.is_alphanumeric() || "!#$%&'*+/=?^_`{|}~-".contains(c))
        });
    let label_ok = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.chars().all(|c| c.is_alphanumeric() || c == '-')
    };
    let labels: Vec<&str> = domain.split('.').collect();
    let top_ok = labels
        .last()
        .is_some_and(|top| top.len() >= 2 && !top.bytes().all(|b| b.is_ascii_digit()));
    local_ok && domain.len() <= 253 && labels.len() >= 2 && top_ok && labels.into_iter().all(label_ok)
}

/// True for a text without control characters, which is one line as well.
pub fn is_printable(text: &str) -> bool {
    !text.chars().any(char::is_control)
}
