//! Filters of lists and conditions of rules, with groups in groups, against an oracle: another reading of the same words, which
//! knows torrents by their JSON alone. 30,000 torrents, of which each field may be unknown.

#![allow(clippy::unwrap_used, reason = "the whole crate is tests")]

use std::sync::Arc;

use qm_conditions::Conditions;
use qm_kernel::Timestamp;
use qm_ports::engine::{Torrent, TorrentState, TrackerStanding};
use qm_ports::list::{FIELDS, TorrentRecord};
use qm_torrent_lists::{Filter, TorrentEntry};
use serde_json::{Value, json};

const TORRENTS: usize = 30_000;
const FILTERS: usize = 60;
/// A whole minute: ages are counted to it.
const NOW_MS: i64 = 1_932_628_500_000 / 60_000 * 60_000;
const DAY_MS: i64 = 86_400_000;

/// The same numbers in each run (xorshift).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }

    fn pick<'a, T>(&mut self, among: &'a [T]) -> &'a T {
        &among[self.roll(among.len() as u64) as usize]
    }

    /// A value that is unknown in one case of four.
    fn maybe<T>(&mut self, value: T) -> Option<T> {
        (self.roll(4) > 0).then_some(value)
    }
}

const NAMES: &[&str] = &[
    "Debian 12",
    "debian-13",
    "Ubuntu",
    "Arch \"Linux\"",
    "\u{dc}ber",
    "",
];
const LABELS: &[&str] = &["os", "tv", "films", "TV"];
const TAGS: &[&str] = &["free", "large", "old", "2031"];
const HOSTS: &[&str] = &["tracker.example", "other.example", "tracker.example.org"];

fn torrent(dice: &mut Dice, number: usize) -> Torrent {
    let (name, label, host) = (dice.pick(NAMES), dice.pick(LABELS), dice.pick(HOSTS));
    let tags: Vec<String> = TAGS
        .iter()
        .filter(|_| dice.roll(3) == 0)
        .map(|tag| (*tag).to_owned())
        .collect();
    let ago = |dice: &mut Dice| Timestamp::from_ms(NOW_MS - dice.roll(60) as i64 * DAY_MS / 2);
    let instants = [ago(dice), ago(dice), ago(dice)].map(|at| dice.maybe(at));
    Torrent {
        hash: format!("{number:040x}").into(),
        name: format!("{name} {number}"),
        tags,
        state: *dice.pick(TorrentState::ALL),
        progress: dice.roll(5) as f64 / 4.0,
        size: dice.roll(1000) * 1000,
        uploaded: dice.roll(1000),
        ratio: dice.roll(40) as f64 / 10.0,
        eta: dice.roll(2).eq(&0).then(|| dice.roll(500)),
        seeds_connected: dice.roll(6) as u32,
        label: dice.maybe((*label).to_owned()),
        is_private: dice.roll(3).checked_sub(1).map(|private| private == 1),
        message: dice.maybe("Try later".to_owned()),
        tracker_host: dice.maybe((*host).to_owned()),
        tracker_standing: Some(*dice.pick(TrackerStanding::ALL)).filter(|_| !number.is_multiple_of(5)),
        added_at: instants[0],
        completed_at: instants[1],
        last_activity: instants[2],
        availability: dice.roll(2).eq(&0).then(|| dice.roll(30) as f64 / 10.0),
        ..Torrent::default()
    }
}

/// A condition on a field, with a value that some torrents have.
fn condition(dice: &mut Dice) -> Value {
    let orders = ["gt", "gte", "lt", "lte", "eq", "neq"];
    let (field, op, value) = match dice.roll(13) {
        0 => ("ratio", *dice.pick(&orders), json!(dice.roll(40) as f64 / 10.0)),
        1 => ("size", *dice.pick(&orders), json!(dice.roll(1000) * 1000)),
        2 => ("progress", *dice.pick(&orders), json!(dice.roll(5) as f64 / 4.0)),
        3 => ("eta", *dice.pick(&orders), json!(dice.roll(500))),
        4 => (
            "availability",
            *dice.pick(&orders[..4]),
            json!(dice.roll(30) as f64 / 10.0),
        ),
        5 => (
            *dice.pick(&["addedDaysAgo", "completedDaysAgo", "activeDaysAgo"]),
            *dice.pick(&orders[..4]),
            json!(dice.roll(30)),
        ),
        6 => (
            "name",
            *dice.pick(&["contains", "matches"]),
            json!(*dice.pick(&["Debian", "Ubu", "12"])),
        ),
        7 => (
            "label",
            *dice.pick(&["eq", "neq", "contains"]),
            json!(*dice.pick(LABELS)),
        ),
        8 => (
            "trackerHost",
            *dice.pick(&["eq", "neq", "contains"]),
            json!(*dice.pick(HOSTS)),
        ),
        9 => (
            "trackerStatus",
            *dice.pick(&["eq", "neq"]),
            json!(dice.pick(TrackerStanding::ALL).as_str()),
        ),
        10 => ("isPrivate", *dice.pick(&["eq", "neq"]), json!(dice.roll(2) == 0)),
        11 => ("tags", "contains", json!(*dice.pick(TAGS))),
        _ => (
            *dice.pick(&["label", "eta", "isPrivate", "trackerHost", "addedAt", "message"]),
            *dice.pick(&["eq", "neq"]),
            Value::Null,
        ),
    };
    json!({ "field": field, "op": op, "value": value })
}

/// A condition, or a group that is up to this deep.
fn term(dice: &mut Dice, depth: usize) -> Value {
    if depth == 0 || dice.roll(3) == 0 {
        return condition(dice);
    }
    let members: Vec<Value> = (0..=dice.roll(2)).map(|_| term(dice, depth - 1)).collect();
    let key = *dice.pick(&["any", "all"]);
    json!({ key: members })
}

/// The oracle: whether a torrent, given as its JSON, is meant.
fn means(term: &Value, torrent: &Value, of: &Torrent) -> bool {
    let members = |key: &str| term[key].as_array();
    if let Some(any) = members("any") {
        return any.iter().any(|member| means(member, torrent, of));
    }
    if let Some(all) = members("all") {
        return all.iter().all(|member| means(member, torrent, of));
    }
    let field = term["field"].as_str().unwrap();
    let days =
        |at: Option<Timestamp>| at.map_or(Value::Null, |at| json!((NOW_MS - at.ms()) as f64 / DAY_MS as f64));
    let seen = match field {
        "addedDaysAgo" => days(of.added_at),
        "completedDaysAgo" => days(of.completed_at),
        "activeDaysAgo" => days(of.last_activity),
        field => torrent
            .get(field)
            .unwrap_or_else(|| panic!("no field {field}"))
            .clone(),
    };
    let (op, value) = (term["op"].as_str().unwrap(), &term["value"]);
    if seen.is_null() {
        return op == "eq" && value.is_null();
    }
    let numbers = || {
        seen.as_f64()
            .unwrap()
            .partial_cmp(&value.as_f64().unwrap())
            .unwrap()
    };
    let text = || match &seen {
        Value::Array(items) => {
            let items: Vec<&str> = items.iter().map(|item| item.as_str().unwrap()).collect();
            items.join(",")
        }
        seen => seen.as_str().unwrap().to_owned(),
    };
    let is_same = || {
        if seen.is_number() && value.is_number() {
            numbers().is_eq()
        } else {
            seen == *value
        }
    };
    match op {
        "gt" => numbers().is_gt(),
        "gte" => numbers().is_ge(),
        "lt" => numbers().is_lt(),
        "lte" => numbers().is_le(),
        "eq" => is_same(),
        "neq" => !is_same(),
        "contains" => text().contains(value.as_str().unwrap()),
        // Patterns are sought without regard to case; these have no other meaning.
        "matches" => text()
            .to_lowercase()
            .contains(&value.as_str().unwrap().to_lowercase()),
        op => panic!("no operator {op}"),
    }
}

#[test]
fn filters_and_rules_choose_what_their_words_mean() {
    let mut dice = Dice(0x5eed_0b5e_55ed_ca57);
    let engine: Arc<str> = "e".into();
    let torrents: Vec<(TorrentEntry, Value)> = (0..TORRENTS)
        .map(|number| {
            let entry = TorrentEntry::new(&engine, torrent(&mut dice, number));
            let json = serde_json::from_slice(entry.json()).expect("JSON");
            (entry, json)
        })
        .collect();
    let now = Timestamp::from_ms(NOW_MS);
    let (mut chosen, mut judged) = (0_usize, 0_usize);
    for _ in 0..FILTERS {
        let terms: Vec<Value> = (0..=dice.roll(2)).map(|_| term(&mut dice, 3)).collect();
        let text = Value::from(terms.clone()).to_string();
        let Ok(filter) = qm_conditions::Filter::read(&text, &|field| FIELDS.contains(&field)) else {
            // More than twenty conditions.
            continue;
        };
        let filter = Filter::default().with(Some(filter)).judged_at(now);
        let rule = Conditions::compile(&terms);
        for (entry, json) in &torrents {
            let torrent = &entry.torrent;
            let meant = terms.iter().all(|term| means(term, json, torrent));
            let record = TorrentRecord {
                engine_id: &engine,
                torrent,
                now,
                free_bytes: None,
            };
            assert_eq!(
                filter.matches(&engine, torrent),
                meant,
                "filter {text} for {json}"
            );
            assert_eq!(rule.hold(&record), meant, "rule {text} for {json}");
            chosen += usize::from(meant);
            judged += 1;
        }
    }
    assert!(judged > TORRENTS * FILTERS / 2, "{judged}");
    assert!(
        chosen > judged / 10 && chosen < judged * 9 / 10,
        "the filters tell torrents apart: {chosen} of {judged}"
    );
}
