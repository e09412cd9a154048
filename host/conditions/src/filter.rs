//! Conditions in a request, which filter a list. Unlike those of a stored rule, invalid ones are refused, by
//! their place in the list.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use serde_json::Value;

use crate::condition::{Condition, Conditions, Operator};
use crate::group::{Group, MAX_DEPTH, Term, leaves, read_group};
use crate::value::Record;

/// Largest number of conditions.
pub const MAX_CONDITIONS: usize = 20;
/// Largest size of a filter in bytes.
const MAX_BYTES: usize = 8 * 1024;

/// Reason to refuse a filter; it follows the name of the parameter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    #[error("must be a JSON array of conditions like {{\"field\":\"ratio\",\"op\":\"gte\",\"value\":2}}")]
    NoList,
    #[error("has {0} bytes; {MAX_BYTES} is the most")]
    TooLong(usize),
    #[error("has {0} conditions; {MAX_CONDITIONS} is the most")]
    TooMany(usize),
    /// `at` is its place: `[1]`, or `[0].any[2]` in a group.
    #[error("{at} {fault}")]
    Condition { at: String, fault: String },
}

/// Conditions of a filter. Filters with the same text are equal.
#[derive(Clone)]
pub struct Filter {
    text: Arc<str>,
    conditions: Arc<Conditions>,
}

impl Filter {
    /// Parses a filter; `is_field` tells if a field exists.
    pub fn read(text: &str, is_field: &dyn Fn(&str) -> bool) -> Result<Self, FilterError> {
        if text.len() > MAX_BYTES {
            return Err(FilterError::TooLong(text.len()));
        }
        let sources = match serde_json::from_str(text) {
            Ok(Value::Array(sources)) => sources,
            Ok(Value::Object(group)) if read_group(&group).is_some() => vec![Value::Object(group)],
            _ => return Err(FilterError::NoList),
        };
        let count = leaves(&sources).len();
        if count > MAX_CONDITIONS {
            return Err(FilterError::TooMany(count));
        }
        let list = sources
            .iter()
            .enumerate()
            .map(|(at, source)| term(source, is_field, &format!("[{at}]"), 0))
            .collect::<Result<Vec<Term>, FilterError>>()?;
        Ok(Self {
            text: text.into(),
            conditions: Arc::new(Conditions::from_list(list)),
        })
    }

    pub fn matches(&self, record: &(impl Record + ?Sized)) -> bool {
        self.conditions.hold(record)
    }

    /// True when a condition uses one of these fields.
    pub fn involves_any(&self, fields: &[&str]) -> bool {
        self.conditions.involve_any(fields)
    }

    pub fn is_empty(&self) -> bool {
        self.conditions.is_empty()
    }
}

/// Compiles a condition or a group; the error has the place of the condition at fault.
fn term(
    source: &Value,
    is_field: &dyn Fn(&str) -> bool,
    at: &str,
    depth: usize,
) -> Result<Term, FilterError> {
    let refuse = |fault: String| FilterError::Condition {
        at: at.to_owned(),
        fault,
    };
    match source.as_object().and_then(read_group) {
        None => condition(source, is_field).map(Term::Condition).map_err(refuse),
        Some(Err(why)) => Err(refuse(format!("must be a condition or one group: {why}"))),
        Some(Ok(_)) if depth >= MAX_DEPTH => Err(refuse(format!(
            "is inside {depth} groups; {MAX_DEPTH} is the most"
        ))),
        Some(Ok((joined, members))) => {
            let terms = members
                .iter()
                .enumerate()
                .map(|(n, member)| {
                    term(
                        member,
                        is_field,
                        &format!("{at}.{}[{n}]", joined.key()),
                        depth + 1,
                    )
                })
                .collect::<Result<Vec<Term>, FilterError>>()?;
            Ok(Term::Group(Group::new(joined, terms)))
        }
    }
}

fn condition(source: &Value, is_field: &dyn Fn(&str) -> bool) -> Result<Condition, String> {
    let Value::Object(members) = source else {
        return Err("must be an object with field, op and value, or a group (all, any)".to_owned());
    };
    if let Some(other) = members
        .keys()
        .find(|key| !["field", "op", "value"].contains(&key.as_str()))
    {
        return Err(format!("property {} should not exist", clip(other)));
    }
    match members.get("field") {
        Some(Value::String(name)) if is_field(name) => {}
        Some(Value::String(name)) => return Err(format!("field {:?} is no field of a torrent", clip(name))),
        _ => return Err("field must be a string".to_owned()),
    }
    let word = members.get("op").and_then(Value::as_str).unwrap_or_default();
    if Operator::from_word(word).is_none() {
        return Err(format!(
            "op must be one of the following values: {}",
            Operator::WORDS.join(", ")
        ));
    }
    if !members.contains_key("value") {
        return Err("value is missing".to_owned());
    }
    let condition = Condition::compile(source);
    match condition.never() {
        Some(why) => Err(format!("value: {why}")),
        None => Ok(condition),
    }
}

fn clip(name: &str) -> &str {
    &name[..name.floor_char_boundary(100)]
}

impl fmt::Debug for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Filter({})", self.text)
    }
}

impl PartialEq for Filter {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Filter {}

impl Hash for Filter {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;

    fn read(text: &str) -> Result<Filter, FilterError> {
        Filter::read(text, &|name| ["ratio", "name"].contains(&name))
    }

    #[test]
    fn a_filter_chooses() {
        let filter =
            read(r#"[{"field":"ratio","op":"gt","value":2},{"field":"name","op":"matches","value":"^a"}]"#)
                .expect("a filter");
        let record = |ratio: f64, name: &str| -> Map<String, Value> {
            [
                ("ratio".to_owned(), json!(ratio)),
                ("name".to_owned(), json!(name)),
            ]
            .into_iter()
            .collect()
        };
        assert!(filter.matches(&record(2.5, "Abc")));
        assert!(!filter.matches(&record(2.0, "Abc")) && !filter.matches(&record(2.5, "bc")));
        assert!(filter.involves_any(&["ratio"]) && !filter.involves_any(&["size"]));
        let either = read(
            r#"[{"any":[{"field":"ratio","op":"gt","value":2},{"field":"name","op":"eq","value":"b"}]}]"#,
        );
        let either = either.expect("a filter");
        assert!(
            either.matches(&record(3.0, ""))
                && either.matches(&record(0.0, "b"))
                && !either.matches(&record(0.0, ""))
        );
        assert!(read("[]").is_ok_and(|filter| filter.is_empty() && filter.matches(&record(0.0, ""))));
    }

    #[test]
    fn what_cannot_choose_is_refused_by_its_place() {
        for (text, message) in [
            (
                "",
                "must be a JSON array of conditions like {\"field\":\"ratio\",\"op\":\"gte\",\"value\":2}",
            ),
            (
                "{}",
                "must be a JSON array of conditions like {\"field\":\"ratio\",\"op\":\"gte\",\"value\":2}",
            ),
            (
                "[5]",
                "[0] must be an object with field, op and value, or a group (all, any)",
            ),
            (
                r#"[{"field":"x","op":"eq","value":1}]"#,
                "[0] field \"x\" is no field of a torrent",
            ),
            (r#"[{"op":"eq","value":1}]"#, "[0] field must be a string"),
            (
                r#"[{"field":"ratio","op":"gt","value":1},{"field":"ratio","op":"is","value":1}]"#,
                "[1] op must be one of the following values: eq, neq, gt, gte, lt, lte, contains, matches",
            ),
            (r#"[{"field":"ratio","op":"gt"}]"#, "[0] value is missing"),
            (
                r#"[{"any":[{"field":"ratio","op":"gt","value":1},{"all":[{"field":"x","op":"eq","value":1}]}]}]"#,
                "[0].any[1].all[0] field \"x\" is no field of a torrent",
            ),
            (
                r#"[{"any":[]}]"#,
                "[0] must be a condition or one group: its group is empty",
            ),
            (
                r#"[{"any":[{"field":"ratio","op":"gt","value":1}],"all":[]}]"#,
                "[0] must be a condition or one group: it has both all and any: put one group into the other",
            ),
            (
                r#"[{"all":[{"all":[{"all":[{"all":[{"all":[{"all":[1]}]}]}]}]}]}]"#,
                "[0].all[0].all[0].all[0].all[0].all[0] is inside 5 groups; 5 is the most",
            ),
            (
                r#"[{"field":"ratio","op":"gt","value":1,"x":2}]"#,
                "[0] property x should not exist",
            ),
            (
                r#"[{"field":"name","op":"matches","value":"(?=a)"}]"#,
                "[0] value: its pattern uses a look ahead or behind, which patterns here cannot have",
            ),
        ] {
            assert_eq!(read(text).expect_err(text).to_string(), message);
        }
        let many = json!(vec![json!({ "field": "ratio", "op": "gt", "value": 1 }); 21]).to_string();
        assert_eq!(read(&many).expect_err("many"), FilterError::TooMany(21));
        let many = format!(r#"[{{"any":{many}}}]"#);
        assert_eq!(
            read(&many).expect_err("many in a group"),
            FilterError::TooMany(21)
        );
        assert_eq!(
            read(&" ".repeat(9000)).expect_err("long"),
            FilterError::TooLong(9000)
        );
    }
}
