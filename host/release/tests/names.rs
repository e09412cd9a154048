//! Two corpora of names with their expected fields: our own, and a larger one beside the workspace if
//! present.

mod judge;

use std::path::PathBuf;

use judge::{CASES, NEEDED, Needed, scores};
use qm_release::{Release, parse};
use serde_json::{Value, json};

const OWN: &str = include_str!("../corpus/names.jsonl");

/// Value of a field by the key that the cases use.
fn parsed_field(release: &Release, key: &str) -> Value {
    match key {
        "title" => json!(release.title),
        "country" => json!(release.country),
        "season" => json!(release.season),
        "seasons" => json!(release.seasons),
        "episodes" => json!(release.episodes),
        "absolute" => json!(release.absolute_episodes),
        "date" => json!(release.air_date),
        "year" => json!(release.year),
        "part" => json!(release.part),
        "resolution" => json!(release.resolution),
        "source" => json!(release.source),
        "codec" => json!(release.codec),
        "channels" => json!(release.channels),
        "depth" => json!(release.bit_depth),
        "languages" => json!(release.languages),
        "service" => json!(release.streaming_service),
        "edition" => json!(release.edition),
        "version" => json!(release.version),
        "proper" => json!(release.proper),
        "repack" => json!(release.repack),
        "group" => json!(release.release_group),
        "kind" => json!(release.content_type),
        other => panic!("no such field: {other}"),
    }
}

#[test]
fn our_own_names_are_read_as_they_are_meant() {
    let mut wrong = Vec::new();
    let mut names = 0;
    for line in OWN.lines() {
        let case: serde_json::Map<String, Value> = serde_json::from_str(line).unwrap();
        let name = case["name"].as_str().unwrap();
        let release = parse(name);
        names += 1;
        for (key, wanted) in case.iter().filter(|(key, _)| *key != "name") {
            let found = parsed_field(&release, key);
            if found != *wanted {
                wrong.push(format!("{name}: {key} is {found}, not {wanted}"));
            }
        }
    }
    assert!(names >= 300, "{names} names");
    assert!(wrong.is_empty(), "{}\n{} wrong", wrong.join("\n"), wrong.len());
}

#[test]
fn names_of_others_are_read_as_they_mean_them() {
    let path = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo says where"))
        .join("../../..")
        .join(CASES);
    // The corpus may not be distributed: without it, our own names decide.
    let Ok(cases) = std::fs::read_to_string(path) else {
        return;
    };
    let sets = scores(&cases);
    for Needed { set, wanted, reached } in NEEDED {
        let (good, all) = sets.get(set).copied().unwrap_or((0, 1));
        let share = f64::from(good) * 100.0 / f64::from(all);
        println!("{set:28}{good:6}/{all:5} {share:6.1} % (wanted: {wanted} %)");
        assert!(share >= reached, "{set}: {share:.1} %, needed are {reached} %");
    }
}

/// Stored names with random damage: cut, doubled, swapped, spliced.
#[test]
fn damaged_names_break_nothing() {
    let names: Vec<String> = OWN
        .lines()
        .map(|line| {
            serde_json::from_str::<Value>(line).unwrap()["name"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut below = |bound: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % bound.max(1)
    };
    for _ in 0..10_000 {
        let mut chars: Vec<char> = names[below(names.len())].chars().collect();
        for _ in 0..=below(4) {
            let (from, to) = (below(chars.len()), below(chars.len()));
            let (from, to) = (from.min(to), from.max(to));
            match below(4) {
                0 => drop(chars.drain(from..to)),
                1 => chars.splice(to..to, chars[from..to].to_vec()).for_each(drop),
                2 if from < chars.len() && to < chars.len() => chars.swap(from, to),
                _ => chars.extend(names[below(names.len())].chars().skip(from).take(12)),
            }
        }
        let name: String = chars.into_iter().collect();
        let release = parse(&name);
        assert!(
            release
                .episode
                .is_none_or(|first| release.episodes.first() == Some(&first)),
            "{name}"
        );
        assert!(
            qm_release::explain(&name)
                .iter()
                .all(|decision| !decision.rule.is_empty()),
            "{name}"
        );
    }
}
