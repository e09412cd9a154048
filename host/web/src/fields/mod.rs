//! Reading a body or a query property by property. Every violated rule is collected: unknown properties come
//! first, then the properties in the order of the reads, and for one property the rule declared last comes
//! first.
//!
//! Scalars are coerced to the asked type before a rule looks at them (`"5"` is the integer 5, `5` is the text `5`).
//! A property that is absent and one that is `null` are alike. One that is given twice is refused.

mod flag;
mod json;
mod list;
mod number;
mod outline;
mod text;

use std::borrow::Cow;

use qm_kernel::PageQuery;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use smallvec::SmallVec;

pub use flag::{AnyField, FlagField, ObjectField};
pub use json::Rows;
pub use list::ListField;
pub use number::{FloatField, IntegerField};
pub(crate) use outline::{Kind, Outline, Property};
pub use text::{TextField, is_printable};

pub(crate) use json::{MAX_PROPERTIES, Properties};

use crate::error::ApiError;
use json::{Scalar, Trees, scalar};

/// A body type with its validation rules.
///
/// A derived reader refuses a bound beyond the type of its field, as a number that kept it would be lost:
///
/// ```compile_fail
/// #[derive(qm_web::FromBody)]
/// struct Address {
///     #[field(max = 70_000)]
///     port: u16,
/// }
/// ```
///
/// ```
/// #[derive(qm_web::FromBody)]
/// struct Address {
///     #[field(max = 65_000)]
///     port: u16,
/// }
/// ```
pub trait FromBody: Sized {
    /// True when a request may have no body, which then counts as an empty object.
    const OPTIONAL: bool = false;

    /// Reads every property. If a required one is invalid the returned value is a placeholder: it is
    /// discarded, because `fields` has recorded the error.
    fn from_body(fields: &mut Fields<'_>) -> Self;
}

/// A query type; as [`FromBody`].
pub trait FromQuery: Sized {
    fn from_query(fields: &mut Fields<'_>) -> Self;
}

/// Texts by name: a query string, a form, or the text parts of an upload.
pub(crate) type Pairs<'a> = Vec<(Cow<'a, str>, Cow<'a, str>)>;

/// Properties of one body or query, passed to [`FromBody`] and [`FromQuery`].
pub struct Fields<'a> {
    input: Input<'a>,
    asked: Vec<&'static str>,
    broken: Vec<String>,
    trees: Trees,
    free: bool,
    /// Set only to collect declarations without input.
    outline: Option<Outline>,
}

enum Input<'a> {
    Json(&'a Properties<'a>),
    Text(&'a [(Cow<'a, str>, Cow<'a, str>)]),
}

/// The unparsed value of one name.
enum Raw<'a> {
    Absent,
    Json(&'a RawValue),
    /// Texts of that name, in order.
    Text(SmallVec<[&'a str; 1]>),
}

impl<'a> Fields<'a> {
    pub(crate) fn json(properties: &'a Properties<'a>) -> Self {
        Self::new(Input::Json(properties))
    }

    pub(crate) fn text(pairs: &'a [(Cow<'a, str>, Cow<'a, str>)]) -> Self {
        Self::new(Input::Text(pairs))
    }

    fn new(input: Input<'a>) -> Self {
        Self {
            input,
            asked: Vec::with_capacity(16),
            broken: Vec::new(),
            trees: Trees::new(),
            free: false,
            outline: None,
        }
    }

    /// The declarations of `read`, collected from a run on empty input.
    pub(crate) fn outline_of(read: impl FnOnce(&mut Fields<'_>)) -> Outline {
        let mut fields = Fields::text(&[]);
        fields.outline = Some(Outline::default());
        read(&mut fields);
        let mut outline = fields.outline.unwrap_or_default();
        outline.open = fields.free;
        outline
    }

    /// A text; a number is converted to text.
    pub fn string(&mut self, name: &'static str) -> TextField<'_, 'a> {
        TextField::read(self, name)
    }

    /// A whole number.
    pub fn integer(&mut self, name: &'static str) -> IntegerField<'_, 'a> {
        IntegerField::read(self, name)
    }

    /// Any finite number.
    pub fn number(&mut self, name: &'static str) -> FloatField<'_, 'a> {
        FloatField::read(self, name)
    }

    /// `true` or `false`; as text also `1`, `0` and empty.
    pub fn boolean(&mut self, name: &'static str) -> FlagField<'_, 'a> {
        FlagField::read(self, name)
    }

    /// A list of texts; in forms and queries, a repeated name or one text with commas.
    pub fn strings(&mut self, name: &'static str) -> ListField<'_, 'a> {
        ListField::read(self, name)
    }

    /// A JSON object with arbitrary keys.
    pub fn object(&mut self, name: &'static str) -> ObjectField<'_, 'a> {
        ObjectField::read(self, name)
    }

    /// Any JSON value but `null`.
    pub fn any(&mut self, name: &'static str) -> AnyField<'_, 'a> {
        AnyField::read(self, name)
    }

    /// A list of any values, parsed one at a time; `None` for anything else. For a loosely declared body
    /// whose list may exceed the budget for trees.
    pub fn rows(&mut self, name: &'static str) -> Option<Rows> {
        self.tell_asked(name, Kind::Any);
        let Raw::Json(raw) = self.take(name) else {
            return None;
        };
        match Rows::cut(raw) {
            Ok(rows) => rows,
            Err(fault) => {
                self.broken.push(format!("{name} {fault}"));
                None
            }
        }
    }

    /// Texts of a list, without its other values; `None` where there is no list. For a list that is declared
    /// so.
    pub fn strings_among(&mut self, name: &'static str) -> Option<Vec<String>> {
        self.tell_asked(name, Kind::Texts);
        let rows = match self.take(name) {
            Raw::Absent => return None,
            Raw::Json(raw) => Rows::cut(raw),
            Raw::Text(_) => Ok(None),
        };
        match rows.and_then(|rows| rows.ok_or_else(|| "must be an array".to_owned())) {
            Ok(rows) => Some(rows.texts().collect()),
            Err(fault) => {
                self.broken.push(format!("{name} {fault}"));
                None
            }
        }
    }

    /// `page` and `pageSize`, clamped to 1..=`max`; never an error.
    pub fn page(&mut self, max: u64) -> PageQuery {
        self.page_or(PageQuery::DEFAULT_SIZE, max)
    }

    /// As [`Fields::page`], with another default size.
    pub fn page_or(&mut self, default: u64, max: u64) -> PageQuery {
        let page = self.lenient("page", 1);
        let size = self.lenient("pageSize", default.min(max));
        self.tell("pageSize", |size| size.max = Some(max as f64));
        PageQuery::parse_or(page.as_deref(), size.as_deref(), default, max)
    }

    /// True when the property is `null`, which every typed reader treats as absent: for a body in which
    /// `null` clears a value and absence keeps it.
    pub fn is_null(&self, name: &str) -> bool {
        matches!(self.input, Input::Json(top) if top.get(name).is_some_and(|raw| raw.get() == "null"))
    }

    /// Accepts arbitrary keys, for a route with a loosely declared body.
    pub fn allow_unknown(&mut self) {
        self.free = true;
    }

    /// All properties as sent, for a loosely declared body; empty where the input is not JSON.
    pub fn all(&mut self) -> Map<String, Value> {
        self.free = true;
        let Input::Json(top) = self.input else {
            return Map::new();
        };
        let mut all = Map::new();
        for (name, raw) in top.entries() {
            match self.trees.grow(raw) {
                Ok(value) => {
                    all.insert(name.to_owned(), value);
                }
                Err(fault) => self.broken.push(format!("{} {fault}", clip(name))),
            }
        }
        all
    }

    /// Declares that one of the two is required. The reading code reports a missing one.
    pub fn either(&mut self, first: &'static str, second: &'static str) {
        if let Some(outline) = &mut self.outline {
            outline.either.push([first, second]);
        }
    }

    /// Records a violated rule about several properties.
    pub fn broken(&mut self, message: impl Into<String>) {
        self.broken.push(message.into());
    }

    /// Text of any scalar; expected is a whole number from 1.
    fn lenient(&mut self, name: &'static str, default: u64) -> Option<String> {
        self.tell_asked(name, Kind::Integer);
        self.tell(name, |number| {
            number.min = Some(1.0);
            number.default = Some(default.into());
        });
        match self.take(name) {
            Raw::Json(raw) => match scalar(raw)? {
                Scalar::Text(text) => Some(text),
                Scalar::Number(number) => Some(number.to_string()),
                Scalar::Flag(_) => None,
            },
            Raw::Text(texts) => texts.last().map(|text| (*text).to_owned()),
            Raw::Absent => None,
        }
    }

    fn tell_asked(&mut self, name: &'static str, kind: Kind) {
        if let Some(outline) = &mut self.outline {
            outline.ask(name, kind);
        }
    }

    /// Declares a rule of a property.
    fn tell(&mut self, name: &str, tell: impl FnOnce(&mut Property)) {
        if let Some(outline) = &mut self.outline {
            outline.tell(name, tell);
        }
    }

    fn take(&mut self, name: &'static str) -> Raw<'a> {
        self.asked.push(name);
        match self.input {
            Input::Json(top) => match top.get(name) {
                None => Raw::Absent,
                Some(raw) if raw.get() == "null" => Raw::Absent,
                Some(raw) => Raw::Json(raw),
            },
            Input::Text(pairs) => {
                let texts: SmallVec<_> = pairs
                    .iter()
                    .filter(|(key, _)| bare(key) == name)
                    .map(|(_, value)| &**value)
                    .collect();
                if texts.is_empty() {
                    Raw::Absent
                } else {
                    Raw::Text(texts)
                }
            }
        }
    }

    /// The violated rules, if any.
    pub(crate) fn finish(self) -> Result<(), ApiError> {
        let mut messages = if self.free { Vec::new() } else { self.unknown() };
        messages.extend(self.broken);
        if messages.is_empty() {
            Ok(())
        } else {
            Err(ApiError::validation(messages))
        }
    }

    fn unknown(&self) -> Vec<String> {
        let is_unknown = |name: &&str| !self.asked.contains(name);
        let mut names: Vec<&str> = match self.input {
            Input::Json(top) => top.names().filter(is_unknown).collect(),
            Input::Text(pairs) => pairs
                .iter()
                .map(|(key, _)| bare(key))
                .filter(is_unknown)
                .collect(),
        };
        names.dedup();
        names
            .into_iter()
            .take(MAX_LISTED)
            .map(|name| format!("property {} should not exist", clip(name)))
            .collect()
    }

    /// Records the violated rules of one property, the last-declared first.
    fn note(&mut self, broken: Vec<String>) {
        self.broken.extend(broken.into_iter().rev());
    }
}

/// Largest number of unknown properties in one answer: a body of a million keys must not become an answer of
/// a million lines.
const MAX_LISTED: usize = 100;

/// Rule against a repeated property: its value must not depend on the reader.
fn given_twice(name: &str) -> String {
    format!("property {} should not be given twice", clip(name))
}

fn clip(name: &str) -> &str {
    &name[..name.floor_char_boundary(100)]
}

/// Some clients write `tags[]` for the repeated name `tags`.
fn bare(name: &str) -> &str {
    name.strip_suffix("[]").unwrap_or(name)
}

/// Declared rules of one property; shared by the typed builders.
///
/// Nothing is recorded for an optional, absent property: most filters of most queries are such.
struct Rules<T> {
    name: &'static str,
    /// `None`: absent, or of another type.
    value: Option<T>,
    absent: bool,
    /// True when required, before its other rules.
    needed: bool,
    /// Rule about its type, which an absent one violates.
    fault: Option<&'static str>,
    broken: Vec<String>,
}

impl<T> Rules<T> {
    /// `read` returns the value, or `None` for another type, which violates the rule `<name> <rule>`.
    fn read<'a>(
        fields: &mut Fields<'a>,
        name: &'static str,
        (kind, rule): (Kind, &'static str),
        read: impl FnOnce(Raw<'a>) -> Option<T>,
    ) -> Self {
        fields.tell_asked(name, kind);
        let (absent, value) = match fields.take(name) {
            Raw::Absent => (true, None),
            Raw::Text(texts) if texts.len() > 1 => {
                fields.broken.push(given_twice(name));
                (true, None)
            }
            raw => (false, read(raw)),
        };
        Self::new(name, absent, value.ok_or(rule))
    }

    /// As [`Rules::read`] for a value of any shape, which uses the budget for trees; the error of `read`
    /// follows the name.
    fn tree<'a>(
        fields: &mut Fields<'a>,
        name: &'static str,
        (kind, rule): (Kind, &'static str),
        read: impl FnOnce(Raw<'a>, &mut Trees) -> Result<T, &'static str>,
    ) -> Self {
        fields.tell_asked(name, kind);
        match fields.take(name) {
            Raw::Absent => Self::new(name, true, Err(rule)),
            raw => Self::new(name, false, read(raw, &mut fields.trees)),
        }
    }

    fn new(name: &'static str, absent: bool, value: Result<T, &'static str>) -> Self {
        let fault = value.as_ref().err().copied();
        let broken = fault.filter(|_| !absent).map(|fault| format!("{name} {fault}"));
        Self {
            name,
            value: value.ok(),
            absent,
            needed: false,
            fault,
            broken: broken.into_iter().collect(),
        }
    }

    /// Makes it required. Comes before the other rules.
    fn need(&mut self) {
        if self.absent && !self.needed {
            let fault = self.fault.map(|fault| format!("{} {fault}", self.name));
            self.broken.extend(fault);
        }
        self.needed = true;
    }

    /// A missing required value, or one of another type, violates every further rule too.
    fn rule(&mut self, holds: impl FnOnce(&T) -> bool, message: impl FnOnce() -> String) {
        let may_be_absent = self.absent && !self.needed;
        if !may_be_absent && !self.value.as_ref().is_some_and(holds) {
            self.broken.push(format!("{} {}", self.name, message()));
        }
    }

    fn optional(self, fields: &mut Fields<'_>) -> Option<T> {
        if !self.absent {
            fields.note(self.broken);
        }
        self.value
    }

    fn required(mut self, fields: &mut Fields<'_>) -> Option<T> {
        self.need();
        fields.tell(self.name, |property| property.required = true);
        fields.note(self.broken);
        self.value
    }
}
