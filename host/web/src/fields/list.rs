//! Properties that are a list of texts.

use serde_json::Value;

use super::json::{MAX_ITEMS, Texts, texts};
use super::{Fields, Kind, Property, Raw};

/// Rules of a list of texts.
pub struct ListField<'f, 'a> {
    fields: &'f mut Fields<'a>,
    name: &'static str,
    value: Option<Vec<String>>,
    absent: bool,
    /// True when required, before its other rules.
    needed: bool,
    broken: Vec<String>,
}

impl<'f, 'a> ListField<'f, 'a> {
    /// Declares two rules, `must be an array` and then the one on its items; a single text breaks only the
    /// first.
    pub(super) fn read(fields: &'f mut Fields<'a>, name: &'static str) -> Self {
        fields.tell_asked(name, Kind::Texts);
        let raw = fields.take(name);
        let absent = matches!(raw, Raw::Absent);
        let mut field = Self {
            fields,
            name,
            value: None,
            absent,
            needed: false,
            broken: Vec::new(),
        };
        let found = match raw {
            Raw::Absent => return field,
            Raw::Text(texts) if texts.len() <= MAX_ITEMS => Texts::List(split(&texts)),
            Raw::Text(_) => Texts::TooMany,
            Raw::Json(raw) => texts(raw),
        };
        match found {
            Texts::List(items) => field.value = Some(items),
            Texts::TooMany => {
                field
                    .broken
                    .push(format!("{name} must contain no more than {MAX_ITEMS} elements"));
            }
            Texts::OtherItems => field.item_rule(),
            Texts::LoneText => field.broken.push(format!("{name} must be an array")),
            Texts::NoList => field.no_list(),
        }
        field
    }

    fn no_list(&mut self) {
        self.broken.push(format!("{} must be an array", self.name));
        self.item_rule();
    }

    fn item_rule(&mut self) {
        self.broken
            .push(format!("each value in {} must be a string", self.name));
    }

    /// Says on the line that [`ListField::get`] follows.
    pub fn required(mut self) -> Self {
        self.need();
        self
    }

    pub fn min_items(self, least: usize) -> Self {
        self.declaring(|list| list.min_items = Some(least)).rule(
            |items| items.len() >= least,
            |name| format!("{name} must contain at least {least} elements"),
        )
    }

    pub fn max_items(self, most: usize) -> Self {
        self.declaring(|list| list.max_items = Some(most)).rule(
            |items| items.len() <= most,
            |name| format!("{name} must contain no more than {most} elements"),
        )
    }

    /// Largest number of characters of an item.
    pub fn each_max(self, length: usize) -> Self {
        self.declaring(|list| list.max_length = Some(length)).rule(
            |items| items.iter().all(|item| item.chars().count() <= length),
            |name| format!("each value in {name} must be shorter than or equal to {length} characters"),
        )
    }

    pub fn each_one_of(self, allowed: &[&str]) -> Self {
        self.declaring(|list| list.allowed = allowed.iter().copied().map(Value::from).collect())
            .rule(
                |items| items.iter().all(|item| allowed.contains(&item.as_str())),
                |name| {
                    format!(
                        "each value in {name} must be one of the following values: {}",
                        allowed.join(", ")
                    )
                },
            )
    }

    fn declaring(self, tell: impl FnOnce(&mut Property)) -> Self {
        self.fields.tell(self.name, tell);
        self
    }

    fn rule(mut self, holds: impl FnOnce(&[String]) -> bool, message: impl FnOnce(&str) -> String) -> Self {
        let may_be_absent = self.absent && !self.needed;
        if !may_be_absent && !self.value.as_deref().is_some_and(holds) {
            self.broken.push(message(self.name));
        }
        self
    }

    fn need(&mut self) {
        if self.absent && !self.needed {
            self.no_list();
        }
        self.needed = true;
    }

    pub fn get(mut self) -> Vec<String> {
        self.need();
        self.fields.tell(self.name, |list| list.required = true);
        self.fields.note(self.broken);
        self.value.unwrap_or_default()
    }

    pub fn optional(self) -> Option<Vec<String>> {
        if !self.absent {
            self.fields.note(self.broken);
        }
        self.value
    }
}

/// A single name may hold several comma-separated items; a repeated one is taken item by item.
fn split(texts: &[&str]) -> Vec<String> {
    match texts {
        [one] => one
            .split(',')
            .map(str::trim)
            .filter(|item| !item.is_empty())
            .map(str::to_owned)
            .collect(),
        many => many.iter().map(|item| (*item).to_owned()).collect(),
    }
}
