//! Two corpora of names with what they mean: one of our own, always, and a larger one beside the workspace where it
//! is there.

use std::collections::BTreeMap;
use std::path::Path;

use qm_release::{Release, parse};
use serde_json::{Value, json};

const OWN: &str = include_str!("../corpus/names.jsonl");

/// What a case of our own may ask for, by the name it uses.
fn told(release: &Release, key: &str) -> Value {
    match key {
        "title" => json!(release.title),
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
            let found = told(&release, key);
            if found != *wanted {
                wrong.push(format!("{name}: {key} is {found}, not {wanted}"));
            }
        }
    }
    assert!(names >= 300, "{names} names");
    assert!(wrong.is_empty(), "{}\n{} wrong", wrong.join("\n"), wrong.len());
}

/// How many of a hundred names of each set must be read as they are meant.
const NEEDED: [(&str, f64); 13] = [
    ("sonarr episodes", 97.0),
    ("sonarr no episode", 100.0),
    ("sonarr groups", 95.0),
    ("sonarr quality", 95.0),
    ("radarr groups", 95.0),
    ("radarr quality", 95.0),
    ("radarr movies", 97.0),
    // Its cases take titles and years from folders that the names do not hold.
    ("guessit", 81.0),
    ("anitomy", 88.0),
    ("ptt", 92.0),
    // Its titles leave countries out, which tell shows of the same name apart.
    ("rls", 86.0),
    ("parse-torrent-title (py)", 92.0),
    ("parse-torrent-title (js)", 92.0),
];

/// Letters and digits only.
fn folded(text: &str) -> String {
    text.to_lowercase()
        .chars()
        .filter(|c| c.is_alphanumeric())
        .collect()
}

fn title_matches(wanted: &str, release: &Release) -> bool {
    let wanted = folded(wanted);
    let title = folded(release.title.as_deref().unwrap_or_default());
    let year = release.year.map(|year| year.to_string()).unwrap_or_default();
    wanted == title
        || wanted == format!("{title}{year}")
        || (!year.is_empty() && format!("{wanted}{year}") == title)
}

/// A remux is a disc's copy; what the web serves untouched is called by either name.
fn source_matches(wanted: &str, release: &Release) -> bool {
    let source = release
        .source
        .or(release.assumed.source)
        .map(|source| folded(source).to_uppercase());
    let source = source.as_deref().unwrap_or_default();
    match wanted {
        "WEBDL" => matches!(source, "WEBDL" | "WEB"),
        "BLURAY" => matches!(source, "BLURAY" | "REMUX"),
        other => source == other,
    }
}

fn is_met(wanted: &Value, release: &Release) -> bool {
    let has = |key: &str| wanted.get(key).is_some();
    if has("noEpisode") {
        return matches!(json!(release.content_type).as_str(), Some("unknown" | "movie"));
    }
    let (episodes, absolutes) = (json!(release.episodes), json!(release.absolute_episodes));
    let resolution = release
        .resolution
        .or(release.assumed.resolution)
        .unwrap_or_default();
    let lines: String = resolution.chars().filter(char::is_ascii_digit).collect();
    let group = release.release_group.as_deref().unwrap_or_default();
    let text = |key: &str| wanted[key].as_str().unwrap_or_default();
    (!has("title") || title_matches(text("title"), release))
        && (!has("season") || wanted["season"] == json!(release.season))
        && (!has("episodes")
            || wanted["episodes"] == episodes
            || (wanted.get("season").is_none_or(Value::is_null) && wanted["episodes"] == absolutes))
        && (!has("absolute") || wanted["absolute"] == absolutes || wanted["absolute"] == episodes)
        && (wanted.get("fullSeason") != Some(&json!(true)) || release.episodes.is_empty())
        && (!has("year") || wanted["year"] == json!(release.year))
        && (!has("date") || wanted["date"] == json!(release.air_date))
        && (!has("resolution") || text("resolution") == lines)
        && (!has("source") || source_matches(text("source"), release))
        && (!has("group") || folded(text("group")) == folded(group))
}

#[test]
fn names_of_others_are_read_as_they_mean_them() {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpora/release-names/cases.jsonl");
    // The corpus is not ours to hand on: where it is not there, our own names alone decide.
    let Ok(cases) = std::fs::read_to_string(path) else {
        return;
    };
    let mut sets: BTreeMap<String, (u32, u32)> = BTreeMap::new();
    for line in cases.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let release = parse(case["name"].as_str().unwrap());
        let (good, all) = sets.entry(case["set"].as_str().unwrap().to_owned()).or_default();
        *all += 1;
        *good += u32::from(is_met(&case["want"], &release));
    }
    for (set, needed) in NEEDED {
        let (good, all) = sets.get(set).copied().unwrap_or((0, 1));
        let share = f64::from(good) * 100.0 / f64::from(all);
        println!("{set:28}{good:6}/{all:5} {share:6.1} %");
        assert!(share >= needed, "{set}: {share:.1} %, needed are {needed} %");
    }
}

/// Names like those that are stored, each damaged in a few places: cut, doubled, swapped, spliced with another.
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
