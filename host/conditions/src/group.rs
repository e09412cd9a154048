//! Groups of conditions: `{"all": […]}` and `{"any": […]}`, wherever a condition may stand.

use serde_json::{Map, Value};

use crate::condition::{Condition, Explained};
use crate::value::{Record, Seen};

/// Largest number of groups inside each other.
pub const MAX_DEPTH: usize = 5;

/// Rule by which the members of a group are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joined {
    /// All members must be true.
    All,
    /// One member must be true.
    Any,
}

impl Joined {
    /// Key of the group's members in JSON.
    pub const fn key(self) -> &'static str {
        match self {
            Joined::All => "all",
            Joined::Any => "any",
        }
    }
}

/// Rule and members of the group that a JSON object describes; `None` for a condition, which has a field.
/// An error says why it is no valid group.
pub(crate) fn read_group(members: &Map<String, Value>) -> Option<Result<(Joined, &[Value]), &'static str>> {
    if members.contains_key("field") {
        return None;
    }
    let (joined, list) = match (members.get("all"), members.get("any")) {
        (None, None) => return None,
        (Some(_), Some(_)) => return Some(Err("it has both all and any: put one group into the other")),
        (Some(list), None) => (Joined::All, list),
        (None, Some(list)) => (Joined::Any, list),
    };
    Some(match list {
        Value::Array(_) if members.len() > 1 => Err("it has other properties beside the group"),
        Value::Array(list) if list.is_empty() => Err("its group is empty"),
        Value::Array(list) => Ok((joined, list)),
        _ => Err("its group is no array of conditions"),
    })
}

/// Members of a group; none for a condition, and for a group that is not valid.
pub fn members(source: &Value) -> &[Value] {
    match source.as_object().and_then(read_group) {
        Some(Ok((_, members))) => members,
        _ => &[],
    }
}

/// Conditions in a list, those in groups included, in order. A group that is not valid counts as a condition.
pub fn leaves(sources: &[Value]) -> Vec<&Value> {
    fn collect<'a>(sources: &'a [Value], depth: usize, found: &mut Vec<&'a Value>) {
        for source in sources {
            match source.as_object().and_then(read_group) {
                Some(Ok((_, members))) if depth < MAX_DEPTH => collect(members, depth + 1, found),
                _ => found.push(source),
            }
        }
    }
    let mut found = Vec::new();
    collect(sources, 0, &mut found);
    found
}

/// A condition, or a group of them.
#[derive(Clone, Debug)]
pub(crate) enum Term {
    Condition(Condition),
    Group(Group),
}

#[derive(Clone, Debug)]
pub(crate) struct Group {
    joined: Joined,
    terms: Vec<Term>,
}

impl Group {
    pub(crate) fn new(joined: Joined, terms: Vec<Term>) -> Self {
        Self { joined, terms }
    }
}

impl Term {
    /// Compiles any JSON; an invalid group, like an invalid condition, is never true.
    pub(crate) fn compile(source: &Value, depth: usize) -> Self {
        match source.as_object().and_then(read_group) {
            None => Term::Condition(Condition::compile(source)),
            Some(Err(why)) => Term::Condition(Condition::false_because(why)),
            Some(Ok(_)) if depth >= MAX_DEPTH => {
                let why = format!("it lies in more than {MAX_DEPTH} groups");
                Term::Condition(Condition::false_because(why))
            }
            Some(Ok((joined, members))) => {
                let terms = members.iter().map(|member| Term::compile(member, depth + 1));
                Term::Group(Group::new(joined, terms.collect()))
            }
        }
    }

    pub(crate) fn holds(&self, record: &(impl Record + ?Sized)) -> bool {
        match self {
            Term::Condition(condition) => condition.holds(record),
            Term::Group(group) => match group.joined {
                Joined::All => group.terms.iter().all(|term| term.holds(record)),
                Joined::Any => group.terms.iter().any(|term| term.holds(record)),
            },
        }
    }

    /// Same as [`Term::holds`], for a record of which one field had another value.
    pub(crate) fn held(&self, record: &(impl Record + ?Sized), field: &str, before: &Seen<'_>) -> bool {
        match self {
            Term::Condition(condition) if condition.field == field => condition.judge(before),
            Term::Condition(condition) => condition.holds(record),
            Term::Group(group) => {
                let held = |term: &Term| term.held(record, field, before);
                match group.joined {
                    Joined::All => group.terms.iter().all(held),
                    Joined::Any => group.terms.iter().any(held),
                }
            }
        }
    }

    pub(crate) fn involves(&self, field: &str) -> bool {
        match self {
            Term::Condition(condition) => condition.field == field,
            Term::Group(group) => group.terms.iter().any(|term| term.involves(field)),
        }
    }

    /// Evaluates it with all its members, also those that decide nothing any more.
    pub(crate) fn explain(&self, record: &(impl Record + ?Sized)) -> Explained {
        let group = match self {
            Term::Condition(condition) => return condition.explain(record),
            Term::Group(group) => group,
        };
        let members: Vec<Explained> = group.terms.iter().map(|term| term.explain(record)).collect();
        let held = members.iter().filter(|member| member.holds).count();
        Explained {
            seen: Some(Value::Null),
            compared_as: group.joined.key(),
            left: held.to_string(),
            right: members.len().to_string(),
            holds: match group.joined {
                Joined::All => held == members.len(),
                Joined::Any => held > 0,
            },
            reason: None,
            members,
        }
    }

    /// Adds the places and reasons of conditions that are never true.
    pub(crate) fn find_never(&self, place: &str, found: &mut Vec<(String, String)>) {
        match self {
            Term::Condition(condition) => {
                if let Some(why) = condition.never() {
                    found.push((place.to_owned(), why.to_owned()));
                }
            }
            Term::Group(group) => {
                for (at, term) in group.terms.iter().enumerate() {
                    term.find_never(&format!("{place}.{}[{at}]", group.joined.key()), found);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::Conditions;

    fn record(ratio: f64, name: &str, tag: Option<&str>) -> Map<String, Value> {
        let fields = [
            ("ratio".to_owned(), json!(ratio)),
            ("name".to_owned(), json!(name)),
            ("tag".to_owned(), json!(tag)),
        ];
        fields.into_iter().collect()
    }

    #[test]
    fn one_member_of_any_is_enough_and_all_need_every_one() {
        let conditions = Conditions::compile(&[
            json!({ "field": "ratio", "op": "gte", "value": 1 }),
            json!({ "any": [
                { "field": "name", "op": "eq", "value": "a" },
                { "all": [{ "field": "name", "op": "eq", "value": "b" }, { "field": "tag", "op": "eq", "value": "x" }] },
            ] }),
        ]);
        for (ratio, name, tag, holds) in [
            (1.0, "a", None, true),
            (0.9, "a", None, false),
            (1.0, "b", None, false),
            (1.0, "b", Some("x"), true),
            (1.0, "c", Some("x"), false),
        ] {
            assert_eq!(
                conditions.hold(&record(ratio, name, tag)),
                holds,
                "{ratio} {name} {tag:?}"
            );
        }
        assert!(conditions.involve("tag") && !conditions.involve("size"));
    }

    #[test]
    fn an_invalid_group_is_never_true_and_tells_why() {
        let mut deep = json!({ "field": "ratio", "op": "gte", "value": 0 });
        for _ in 0..6 {
            deep = json!({ "any": [deep] });
        }
        let sources = [
            json!({ "any": [] }),
            json!({ "all": {} }),
            json!({ "all": [{}], "any": [{}] }),
            json!({ "any": [{}], "op": "eq" }),
            json!({ "any": [{ "field": "ratio", "op": "is", "value": 1 }, { "field": "ratio", "op": "gte", "value": 0 }] }),
            deep,
        ];
        for source in &sources[..4] {
            assert!(
                !Conditions::compile(std::slice::from_ref(source)).hold(&record(1.0, "", None)),
                "{source}"
            );
        }
        assert!(Conditions::compile(&sources[4..5]).hold(&record(1.0, "", None)));
        assert!(!Conditions::compile(&sources[5..]).hold(&record(1.0, "", None)));
        let never = Conditions::compile(&sources).never_true();
        assert_eq!(never[5].1, "it lies in more than 5 groups");
        let places: Vec<&str> = never.iter().map(|(place, _)| place.as_str()).collect();
        assert_eq!(
            places,
            [
                "[0]",
                "[1]",
                "[2]",
                "[3]",
                "[4].any[0]",
                "[5].any[0].any[0].any[0].any[0].any[0]"
            ]
        );
    }

    #[test]
    fn an_explanation_shows_every_member() {
        let conditions = Conditions::compile(&[json!({ "any": [
            { "field": "ratio", "op": "gt", "value": 1 },
            { "field": "name", "op": "eq", "value": "a" },
        ] })]);
        let explained = conditions.explain(&record(2.0, "b", None));
        let [group] = explained.as_slice() else {
            panic!("{explained:?}")
        };
        assert_eq!(
            (
                group.compared_as,
                group.left.as_str(),
                group.right.as_str(),
                group.holds
            ),
            ("any", "1", "2", true)
        );
        let holds: Vec<bool> = group.members.iter().map(|member| member.holds).collect();
        assert_eq!(holds, [true, false]);
    }

    #[test]
    fn a_rise_in_one_branch_is_one_of_the_whole() {
        let rises = |sources: &[Value], now: f64, before: f64| {
            Conditions::compile(sources).have_risen(&record(now, "a", None), "ratio", &Seen::Number(before))
        };
        let ratio = |value: f64| json!({ "field": "ratio", "op": "gte", "value": value });
        let named = |name: &str| json!({ "field": "name", "op": "eq", "value": name });
        assert!(rises(&[json!({ "any": [ratio(2.0), named("b")] })], 2.0, 1.0));
        assert!(
            !rises(&[json!({ "any": [ratio(2.0), named("a")] })], 2.0, 1.0),
            "it was true already"
        );
        assert!(
            !rises(&[json!({ "any": [ratio(1.0), ratio(2.0)] })], 2.0, 1.5),
            "it was true already"
        );
        assert!(rises(
            &[json!({ "any": [{ "all": [ratio(2.0), named("a")] }, ratio(9.0)] })],
            2.0,
            1.0
        ));
        assert!(
            !rises(&[json!({ "any": [named("a"), named("b")] })], 2.0, 1.0),
            "no condition on the field"
        );
        assert_eq!(
            leaves(&[
                json!({ "any": [{ "all": [ratio(2.0), named("a")] }, ratio(9.0)] }),
                json!(5)
            ])
            .len(),
            4
        );
    }

    /// Conditions on one number, for groups of any shape.
    fn comparisons() -> impl Strategy<Value = Value> {
        (0..=3_i32, prop::sample::select(vec!["gte", "lt"]))
            .prop_map(|(value, op)| json!({ "field": "ratio", "op": op, "value": value }))
    }

    /// Meaning of conditions and groups, computed without this crate.
    fn means(source: &Value, ratio: f64) -> bool {
        if let Some(members) = source.get("all") {
            return members
                .as_array()
                .unwrap()
                .iter()
                .all(|member| means(member, ratio));
        }
        if let Some(members) = source.get("any") {
            return members
                .as_array()
                .unwrap()
                .iter()
                .any(|member| means(member, ratio));
        }
        let value = source["value"].as_f64().unwrap();
        if source["op"] == "gte" {
            ratio >= value
        } else {
            ratio < value
        }
    }

    proptest! {
        #[test]
        fn groups_mean_what_they_say(
            tree in comparisons().prop_recursive(4, 24, 4, |inner| {
                (prop::collection::vec(inner, 1..4), any::<bool>())
                    .prop_map(|(members, all)| if all { json!({ "all": members }) } else { json!({ "any": members }) })
            }),
            now in 0.0..4.0_f64,
            before in 0.0..4.0_f64,
        ) {
            let conditions = Conditions::compile(std::slice::from_ref(&tree));
            prop_assert_eq!(conditions.hold(&record(now, "", None)), means(&tree, now));
            prop_assert_eq!(conditions.explain(&record(now, "", None))[0].holds, means(&tree, now));
            let rises = means(&tree, now) && !means(&tree, before);
            prop_assert_eq!(conditions.have_risen(&record(now, "", None), "ratio", &Seen::Number(before)), rises);
        }
    }
}
