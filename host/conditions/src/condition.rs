//! One condition, and a list of them that have to hold together.

use std::borrow::Cow;

use serde_json::Value;

use crate::group::Term;
use crate::pattern::{Pattern, PatternError};
use crate::value::{Record, Seen};

/// Comparison of a field with a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    Eq,
    Neq,
    Gt,
    Gte,
    Lt,
    Lte,
    Contains,
    Matches,
}

impl Operator {
    pub const WORDS: &'static [&'static str] =
        &["eq", "neq", "gt", "gte", "lt", "lte", "contains", "matches"];

    pub fn from_word(word: &str) -> Option<Self> {
        Some(match word {
            "eq" => Operator::Eq,
            "neq" => Operator::Neq,
            "gt" => Operator::Gt,
            "gte" => Operator::Gte,
            "lt" => Operator::Lt,
            "lte" => Operator::Lte,
            "contains" => Operator::Contains,
            "matches" => Operator::Matches,
            _ => return None,
        })
    }

    const fn orders(self, left: f64, right: f64) -> bool {
        match self {
            Operator::Gt => left > right,
            Operator::Gte => left >= right,
            Operator::Lt => left < right,
            Operator::Lte => left <= right,
            Operator::Eq | Operator::Neq | Operator::Contains | Operator::Matches => false,
        }
    }
}

/// A condition with its prepared value.
#[derive(Clone, Debug)]
pub(crate) struct Condition {
    pub(crate) field: String,
    operator: Option<Operator>,
    value: Option<Value>,
    ready: Ready,
}

#[derive(Clone, Debug)]
enum Ready {
    /// Compared by type and value.
    Value,
    Number(f64),
    Text(String),
    Pattern(Box<Pattern>),
    /// Never true, with the reason.
    Never(Cow<'static, str>),
}

impl Condition {
    /// Compiles any JSON in a list of conditions; an invalid condition is never true.
    pub(crate) fn compile(source: &Value) -> Self {
        let never = |why: &'static str| Self::false_because(why);
        let Value::Object(members) = source else {
            return never("it is no object");
        };
        let field = match members.get("field") {
            Some(Value::String(name)) => name.clone(),
            other => Seen::given(other).as_text().into_owned(),
        };
        let value = members.get("value").cloned();
        let operator = match members.get("op") {
            None => {
                return Self {
                    field,
                    value,
                    ..never("it has no operator")
                };
            }
            Some(word) => word.as_str().and_then(Operator::from_word),
        };
        let ready = ready(operator, Seen::given(value.as_ref()));
        Self {
            field,
            operator,
            value,
            ready,
        }
    }

    /// A condition that is never true, for this reason.
    pub(crate) fn false_because(why: impl Into<Cow<'static, str>>) -> Self {
        Self {
            field: String::new(),
            operator: None,
            value: None,
            ready: Ready::Never(why.into()),
        }
    }

    /// Reason why it is never true for any record.
    pub(crate) fn never(&self) -> Option<&str> {
        match &self.ready {
            Ready::Never(why) => Some(why),
            Ready::Value | Ready::Number(_) | Ready::Text(_) | Ready::Pattern(_) => None,
        }
    }

    pub(crate) fn holds(&self, record: &(impl Record + ?Sized)) -> bool {
        self.judge(&record.field(&self.field))
    }

    /// An unknown value satisfies no condition except the test for unknown: `eq` null.
    pub(crate) fn judge(&self, seen: &Seen<'_>) -> bool {
        if seen.is_unknown() {
            return self.asks_for_null() && *seen == Seen::Null;
        }
        match (&self.ready, self.operator) {
            (Ready::Value, Some(Operator::Neq)) => !seen.equals(&Seen::given(self.value.as_ref())),
            (Ready::Value, _) => seen.equals(&Seen::given(self.value.as_ref())),
            (Ready::Number(right), Some(operator)) => operator.orders(seen.as_number(), *right),
            (Ready::Text(right), _) => seen.as_text().contains(right.as_str()),
            (Ready::Pattern(pattern), _) => pattern.is_in(&seen.as_text()),
            (Ready::Number(_) | Ready::Never(_), _) => false,
        }
    }

    fn asks_for_null(&self) -> bool {
        self.operator == Some(Operator::Eq) && self.value == Some(Value::Null)
    }

    pub(crate) fn explain(&self, record: &(impl Record + ?Sized)) -> Explained {
        let seen = record.field(&self.field);
        let number = |number: f64| Seen::Number(number).as_text().into_owned();
        let written = |seen: &Seen<'_>| {
            seen.to_json()
                .map_or_else(|| "undefined".to_owned(), |json| json.to_string())
        };
        let (compared_as, left, right) = match &self.ready {
            Ready::Value => (
                "value",
                written(&seen),
                written(&Seen::given(self.value.as_ref())),
            ),
            Ready::Number(right) => ("number", number(seen.as_number()), number(*right)),
            Ready::Text(right) => ("text", seen.as_text().into_owned(), right.clone()),
            Ready::Pattern(_) => (
                "pattern",
                seen.as_text().into_owned(),
                Seen::given(self.value.as_ref()).as_text().into_owned(),
            ),
            Ready::Never(_) => (
                "nothing",
                written(&seen),
                written(&Seen::given(self.value.as_ref())),
            ),
        };
        let reason = match &self.ready {
            Ready::Never(why) => Some(why.to_string()),
            _ if seen == Seen::Missing => Some("there is no such field".to_owned()),
            _ if seen == Seen::Null && !self.asks_for_null() => {
                Some("the field is unknown, so no condition on it holds".to_owned())
            }
            Ready::Number(right) if right.is_nan() => Some("the value is no number".to_owned()),
            Ready::Number(_) if seen.as_number().is_nan() => Some("the field is no number".to_owned()),
            _ => None,
        };
        Explained {
            seen: seen.to_json(),
            compared_as,
            left,
            right,
            holds: self.judge(&seen),
            reason,
            members: Vec::new(),
        }
    }
}

fn ready(operator: Option<Operator>, value: Seen<'_>) -> Ready {
    match operator {
        None => Ready::Never("its operator is none of eq, neq, gt, gte, lt, lte, contains, matches".into()),
        Some(Operator::Eq | Operator::Neq) => Ready::Value,
        Some(Operator::Gt | Operator::Gte | Operator::Lt | Operator::Lte) if value.is_unknown() => {
            Ready::Never("it has no value to compare with".into())
        }
        Some(Operator::Gt | Operator::Gte | Operator::Lt | Operator::Lte) => Ready::Number(value.as_number()),
        Some(Operator::Contains) => Ready::Text(value.as_text().into_owned()),
        Some(Operator::Matches) => match Pattern::compile(&value.as_text()) {
            Ok(pattern) => Ready::Pattern(Box::new(pattern)),
            Err(error) => Ready::Never(never_matches(&error)),
        },
    }
}

fn never_matches(error: &PatternError) -> Cow<'static, str> {
    format!("its pattern {error}").into()
}

/// Evaluation of one condition, for display.
#[derive(Clone, Debug, PartialEq)]
pub struct Explained {
    /// Value of the field; `None` where the field is missing.
    pub seen: Option<Value>,
    /// `value`, `number`, `text`, `pattern`; `nothing` for a condition that is never true; `all` or `any` for a group.
    pub compared_as: &'static str,
    /// The field's side of the comparison, as it was compared; of a group the number of members that hold.
    pub left: String,
    /// The value's side; of a group the number of members.
    pub right: String,
    pub holds: bool,
    /// Why it cannot hold, where there is more to say than the two sides.
    pub reason: Option<String>,
    /// Members of a group, in order.
    pub members: Vec<Explained>,
}

/// Conditions and groups of which all must be true.
#[derive(Clone, Debug, Default)]
pub struct Conditions(Vec<Term>);

impl Conditions {
    /// Compiles the conditions of a rule.
    pub fn compile(sources: &[Value]) -> Self {
        Self(sources.iter().map(|source| Term::compile(source, 0)).collect())
    }

    pub(crate) fn from_list(list: Vec<Term>) -> Self {
        Self(list)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// True when all conditions are true. They are evaluated in order up to the first that is false.
    pub fn hold(&self, record: &(impl Record + ?Sized)) -> bool {
        self.0.iter().all(|term| term.holds(record))
    }

    /// True when a condition uses this field.
    pub fn involve(&self, field: &str) -> bool {
        self.0.iter().any(|term| term.involves(field))
    }

    /// True when a condition uses one of these fields.
    pub fn involve_any(&self, fields: &[&str]) -> bool {
        fields.iter().any(|field| self.involve(field))
    }

    /// True when the conditions are true now and were false while `field` was `before`, all else being equal.
    /// Conditions on that field come first: if its change crossed no threshold, the others are not evaluated.
    pub fn have_risen(&self, record: &(impl Record + ?Sized), field: &str, before: &Seen<'_>) -> bool {
        let mut crossed = false;
        for term in self.0.iter().filter(|term| term.involves(field)) {
            if !term.holds(record) {
                return false;
            }
            crossed |= !term.held(record, field, before);
        }
        crossed
            && self
                .0
                .iter()
                .filter(|term| !term.involves(field))
                .all(|term| term.holds(record))
    }

    /// Evaluation of each condition and group, in order.
    pub fn explain(&self, record: &(impl Record + ?Sized)) -> Vec<Explained> {
        self.0.iter().map(|term| term.explain(record)).collect()
    }

    /// Places (`[1]`, `[0].any[2]`) of conditions that are never true for any record, each with the reason.
    pub fn never_true(&self) -> Vec<(String, String)> {
        let mut found = Vec::new();
        for (at, term) in self.0.iter().enumerate() {
            term.find_never(&format!("[{at}]"), &mut found);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Map, json};

    use super::*;

    fn record(field: Option<&Value>) -> Map<String, Value> {
        field
            .map(|value| ("f".to_owned(), value.clone()))
            .into_iter()
            .collect()
    }

    fn holds(op: &str, field: Option<&Value>, value: Option<&Value>) -> bool {
        let mut condition = json!({ "field": "f", "op": op });
        if let Some(value) = value {
            condition["value"] = value.clone();
        }
        Conditions::compile(&[condition]).hold(&record(field))
    }

    /// One value of each kind, and a second one of kinds with an order.
    fn kinds() -> Vec<Option<Value>> {
        vec![
            None,
            Some(json!(null)),
            Some(json!(true)),
            Some(json!(false)),
            Some(json!(2)),
            Some(json!(10.5)),
            Some(json!("2")),
            Some(json!("abc")),
            Some(json!("")),
            Some(json!([])),
            Some(json!([2])),
            Some(json!(["a", null])),
            Some(json!({ "a": 1 })),
        ]
    }

    /// For each operator, a row per kind of field and a column per kind of value, in the order of `kinds`.
    const TABLE: &[(&str, [&str; 13])] = &[
        //            -n tf 21 2a _[ [[ {     (missing null true false 2 10.5 "2" "abc" "" [] [2] ["a",null] {})
        (
            "eq",
            [
                ".............",
                ".1...........",
                "..1..........",
                "...1.........",
                "....1........",
                ".....1.......",
                "......1......",
                ".......1.....",
                "........1....",
                ".............",
                ".............",
                ".............",
                ".............",
            ],
        ),
        (
            "gt",
            [
                ".............",
                ".............",
                "...1....11...",
                ".............",
                "..11....11...",
                "..111.1.111..",
                "..11....11...",
                ".............",
                ".............",
                ".............",
                "..11....11...",
                ".............",
                ".............",
            ],
        ),
        (
            "gte",
            [
                ".............",
                ".............",
                "..11....11...",
                "...1....11...",
                "..111.1.111..",
                "..11111.111..",
                "..111.1.111..",
                ".............",
                "...1....11...",
                "...1....11...",
                "..111.1.111..",
                ".............",
                ".............",
            ],
        ),
        (
            "lt",
            [
                ".............",
                ".............",
                "....111...1..",
                "..1.111...1..",
                ".....1.......",
                ".............",
                ".....1.......",
                ".............",
                "..1.111...1..",
                "..1.111...1..",
                ".....1.......",
                ".............",
                ".............",
            ],
        ),
        (
            "lte",
            [
                ".............",
                ".............",
                "..1.111...1..",
                "..11111.111..",
                "....111...1..",
                ".....1.......",
                "....111...1..",
                ".............",
                "..11111.111..",
                "..11111.111..",
                "....111...1..",
                ".............",
                ".............",
            ],
        ),
        (
            "contains",
            [
                ".............",
                ".............",
                "..1.....11...",
                "...1....11...",
                "....1.1.111..",
                ".....1..11...",
                "....1.1.111..",
                ".......111...",
                "........11...",
                "........11...",
                "....1.1.111..",
                "........11.1.",
                "........11..1",
            ],
        ),
    ];

    #[test]
    fn every_operator_with_every_pair_of_kinds() {
        let kinds = kinds();
        for (op, rows) in TABLE {
            for (field, row) in kinds.iter().zip(rows) {
                for (value, expected) in kinds.iter().zip(row.chars()) {
                    let found = holds(op, field.as_ref(), value.as_ref());
                    assert_eq!(found, expected == '1', "{field:?} {op} {value:?}");
                    if *op == "eq" {
                        let is_known = field.as_ref().is_some_and(|field| !field.is_null());
                        assert_eq!(
                            holds("neq", field.as_ref(), value.as_ref()),
                            is_known && !found,
                            "{field:?} neq {value:?}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn patterns_are_asked_of_the_text_of_any_kind() {
        let kinds = kinds();
        for (pattern, expected) in [
            (json!("^UNDEF"), "............."),
            (json!("u"), "..1.........."),
            (json!("^$"), "........11..."),
            (json!("^2$"), "....1.1...1.."),
            (json!(2), "....1.1...1.."),
            (json!("^a,$"), "...........1."),
            (json!("object"), "............1"),
            (json!("."), "..111111..111"),
            (json!("("), "............."),
            (json!("(a)\\1"), "............."),
            (json!(null), "............."),
        ] {
            for (field, expected) in kinds.iter().zip(expected.chars()) {
                let found = holds("matches", field.as_ref(), Some(&pattern));
                assert_eq!(found, expected == '1', "{field:?} matches {pattern}");
            }
        }
    }

    #[test]
    fn what_is_no_condition_never_holds() {
        let record = record(Some(&json!(1)));
        for source in [
            json!(null),
            json!("f eq 1"),
            json!([]),
            json!({}),
            json!({ "field": "f" }),
            json!({ "field": "f", "op": "is", "value": 1 }),
            json!({ "field": "f", "op": "EQ", "value": 1 }),
            json!({ "field": "f", "op": 5, "value": 1 }),
            json!({ "field": "f.g", "op": "eq", "value": 1 }),
        ] {
            let conditions = Conditions::compile(std::slice::from_ref(&source));
            assert!(!conditions.hold(&record), "{source}");
            assert!(!conditions.explain(&record)[0].holds, "{source}");
        }
        assert!(Conditions::default().hold(&record));
    }

    #[test]
    fn rising_needs_the_field_to_cross() {
        let rising = |conditions: Value, before: f64, now: f64| {
            let list = conditions.as_array().cloned().unwrap_or_default();
            let mut record = Map::new();
            record.insert("ratio".into(), json!(now));
            record.insert("name".into(), json!("a"));
            Conditions::compile(&list).have_risen(&record, "ratio", &Seen::Number(before))
        };
        let two = json!([{ "field": "ratio", "op": "gte", "value": 2 }]);
        assert!(rising(two.clone(), 1.9, 2.0));
        assert!(!rising(two.clone(), 2.0, 2.1) && !rising(two.clone(), 1.0, 1.9) && !rising(two, 2.5, 1.0));
        let named = json!([{ "field": "name", "op": "eq", "value": "b" }, { "field": "ratio", "op": "gte", "value": 2 }]);
        assert!(!rising(named, 1.0, 3.0));
        assert!(
            !rising(json!([]), 1.0, 3.0),
            "without conditions nothing is crossed"
        );
        assert!(!rising(
            json!([{ "field": "name", "op": "eq", "value": "a" }]),
            1.0,
            3.0
        ));
        let between = json!([{ "field": "ratio", "op": "gte", "value": 2 }, { "field": "ratio", "op": "lt", "value": 3 }]);
        assert!(rising(between.clone(), 3.5, 2.5), "it may come from above");
        assert!(!rising(between, 1.0, 3.5), "jumped over");
    }

    #[test]
    fn an_explanation_tells_what_was_compared() {
        let explain = |field: Option<Value>, op: &str, value: Value| {
            let source = json!({ "field": "f", "op": op, "value": value });
            Conditions::compile(&[source])
                .explain(&record(field.as_ref()))
                .remove(0)
        };
        let number = explain(Some(json!("2.50")), "gte", json!(2));
        assert_eq!(
            (number.compared_as, &*number.left, &*number.right, number.holds),
            ("number", "2.5", "2", true)
        );
        assert_eq!((number.seen, number.reason), (Some(json!("2.50")), None));
        let missing = explain(None, "gt", json!(1));
        assert_eq!((missing.seen, &*missing.left), (None, "NaN"));
        assert_eq!(missing.reason.as_deref(), Some("there is no such field"));
        let unknown = explain(Some(json!(null)), "lte", json!(1));
        assert_eq!((unknown.seen, unknown.holds), (Some(json!(null)), false));
        assert_eq!(
            unknown.reason.as_deref(),
            Some("the field is unknown, so no condition on it holds")
        );
        let strict = explain(Some(json!(2)), "eq", json!("2"));
        assert_eq!(
            (strict.compared_as, &*strict.left, &*strict.right, strict.holds),
            ("value", "2", "\"2\"", false)
        );
        let never = explain(Some(json!("x")), "matches", json!("(?=x)"));
        assert_eq!(never.compared_as, "nothing");
        assert!(never.reason.is_some_and(|reason| reason.contains("look ahead")));
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            ".{0,12}".prop_map(Value::from),
            "[-+.0-9eExX \\\\\\[\\](){}*+?|^$a-z]{0,16}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::vec(("[a-f]|field|op|value", inner), 0..5)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        /// For every comparison: a rule must not act on unknown values.
        #[test]
        fn nothing_holds_on_what_is_unknown(
            op in prop::sample::select(Operator::WORDS),
            value in any_json(),
            is_missing in any::<bool>(),
        ) {
            let source = json!({ "field": "f", "op": op, "value": value });
            let record = record((!is_missing).then_some(&Value::Null));
            let asks_for_null = op == "eq" && value.is_null() && !is_missing;
            prop_assert_eq!(Conditions::compile(&[source]).hold(&record), asks_for_null);
        }

        #[test]
        fn evaluation_bears_any_json(
            sources in prop::collection::vec(any_json(), 0..4),
            op in prop::sample::select(Operator::WORDS),
            value in any_json(),
            field in any_json(),
        ) {
            let mut sources = sources;
            sources.push(json!({ "field": "f", "op": op, "value": value }));
            let record = record(Some(&field));
            let conditions = Conditions::compile(&sources);
            let explained = conditions.explain(&record);
            prop_assert_eq!(conditions.hold(&record), explained.iter().all(|one| one.holds));
            conditions.have_risen(&record, "f", &Seen::Missing);
            let _ = crate::Filter::read(&Value::from(sources).to_string(), &|name| name == "f");
        }

        #[test]
        fn patterns_bear_anything(pattern in ".{0,40}", text in ".{0,40}") {
            if let Ok(pattern) = Pattern::compile(&pattern) {
                pattern.is_in(&text);
            }
        }
    }
}
