//! The rules of ARCHITECTURE.md, read from `cargo metadata` and the sources. A failure names the file and the rule.

#[path = "architecture/opening.rs"]
mod opening;
#[path = "architecture/spelling.rs"]
mod spelling;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use xtask::crates;

fn root() -> PathBuf {
    Path::new(&std::env::var("CARGO_MANIFEST_DIR").expect("cargo says where"))
        .parent()
        .expect("xtask lies in the workspace")
        .to_path_buf()
}

#[test]
fn crates_depend_on_lower_tiers_only() {
    let crates = crates::read(&root()).expect("manifests");
    let tier_of = |name: &str| {
        crates
            .iter()
            .find(|krate| krate.name == name)
            .map(|krate| krate.tier)
    };
    let mut wrong = Vec::new();
    for krate in &crates {
        for dependency in &krate.dependencies {
            if tier_of(dependency) >= Some(krate.tier) {
                wrong.push(format!("{} must not depend on {dependency}", krate.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Words that only some paths may contain: (word, those paths).
const ONLY_IN: &[(&str, &[&str])] = &[
    ("sqlx::", &["host/db/", "/repo", "host/server/src/error"]),
    (
        "wasmtime::",
        &["host/plugin-guest/", "host/plugin-host/", "host/plugin-roles/"],
    ),
    ("lettre::", &["host/net/"]),
    ("reqwest::", &["host/net/", "host/testkit/", "tests/"]),
    (
        "unsafe ",
        &[
            "host/plugin-host/src/core/cache",
            "host/plugin-host/src/core/system",
            "host/plugin-host/src/imports/text",
        ],
    ),
];

#[test]
fn libraries_stay_where_they_belong() {
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        if path.contains("/tests/")
            || path.starts_with("xtask/")
            || path.starts_with("tests/")
            || path.starts_with("bench/")
        {
            continue;
        }
        for (word, places) in ONLY_IN {
            let line = text.lines().position(|line| {
                let code = line.split("//").next().unwrap_or_default();
                code.contains(word) && !code.contains(&format!("\"{word}"))
            });
            if let Some(line) = line
                && !places.iter().any(|place| path.contains(place))
            {
                wrong.push(format!(
                    "{path}:{}: `{word}` belongs in {places:?} only",
                    line + 1
                ));
            }
        }
        let may_axum = [
            "host/web/",
            "host/server/",
            "host/testkit/",
            "/routes",
            "host/realtime/",
        ]
        .iter()
        .any(|p| path.contains(p));
        if text.contains("axum::") && !may_axum {
            wrong.push(format!(
                "{path}: `axum` belongs in web, server, realtime and routes* only"
            ));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The layers of a feature crate, lowest first: a layer may use those above it in this list and itself. What stands on one
/// line may use each other.
const LAYERS: &[&[&str]] = &[
    &["model", "error", "events", "settings", "lanes"],
    &["dto"],
    &["repo"],
    &["ops", "sync", "stream"],
    &["service"],
    &["routes"],
];
/// Modules of feature crates that are none of their layers: what the server is given, and what tests use.
const OUTSIDE: &[&str] = &["lib", "area", "testing", "tests"];

#[test]
fn layers_of_a_feature_use_lower_layers_only() {
    let crates = crates::read(&root()).expect("manifests");
    let layered = |folder: &str| {
        crates
            .iter()
            .any(|krate| krate.has_layers && krate.folder == folder)
    };
    let rank = |layer: &str| LAYERS.iter().position(|line| line.contains(&layer));
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        let Some((folder, inside)) = path.split_once("/src/") else {
            continue;
        };
        let inside = inside.trim_end_matches(".rs").trim_end_matches("/mod");
        let mut modules = inside.split('/');
        let own = modules.next().unwrap_or_default();
        if !layered(folder) || OUTSIDE.contains(&own) || inside.ends_with("tests") {
            continue;
        }
        let depth = 1 + modules.count();
        let Some(own_rank) = rank(own) else {
            wrong.push(format!("{path}: `{own}` is no layer; they are {LAYERS:?}"));
            continue;
        };
        for (number, line) in code_of(&text) {
            for used in used_modules(line, depth) {
                if rank(used).is_some_and(|rank| rank > own_rank) {
                    wrong.push(format!(
                        "{path}:{number}: `{own}` must not use `{used}`, which is above it"
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The lines of a source before its tests, numbered, without what follows `//`.
fn code_of(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines = code.lines().enumerate();
    lines.map(|(number, line)| (number + 1, line.split("//").next().unwrap_or_default()))
}

/// The modules at the root of the crate that a line of a module so deep below it names, through `crate` or `super`.
fn used_modules(line: &str, depth: usize) -> Vec<&str> {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut used = Vec::new();
    let mut rest = line;
    while let Some(at) = rest.find("::") {
        let before = &rest[..at];
        let word = &before[before.rfind(|letter| !is_part(letter)).map_or(0, |end| end + 1)..];
        rest = &rest[at + 2..];
        let mut tail = rest;
        match word {
            "crate" => {}
            "super" => {
                let mut steps = 1;
                while let Some(further) = tail.strip_prefix("super::") {
                    (tail, steps) = (further, steps + 1);
                }
                rest = tail;
                if steps != depth {
                    continue;
                }
            }
            _ => continue,
        }
        let (names, all) = match tail.strip_prefix('{') {
            // Of a list only what stands on this line; the others are on lines of their own.
            Some(list) => (list, usize::MAX),
            None => (tail, 1),
        };
        used.extend(
            names
                .split(|letter| !is_part(letter))
                .filter(|name| !name.is_empty())
                .take(all),
        );
    }
    used
}

#[test]
fn modules_are_found_however_they_are_named() {
    for (line, depth, used) in [
        ("use crate::service::Torrents;", 1, vec!["service"]),
        ("use crate::{error::E, repo};", 2, vec!["error", "E", "repo"]),
        ("let x = super::repo::all(tx);", 1, vec!["repo"]),
        ("use super::sibling;", 2, vec![]),
        ("use super::super::sync::Engine;", 2, vec!["sync"]),
        ("qm_db::all!(tx, crate::repo::Row, ALL)", 1, vec!["repo"]),
    ] {
        assert_eq!(used_modules(line, depth), used, "{line}");
    }
}

/// Macros that hold SQL, or run it, and where they may stand: (macro, the paths that may).
const SQL_IN: &[(&str, &[&str])] = &[
    ("sql!", SQL_PLACES),
    ("bulk!", SQL_PLACES),
    ("exec!(", SQL_PLACES),
    ("value!(", SQL_PLACES),
    ("batch!(", SQL_PLACES),
];
const SQL_PLACES: &[&str] = &["host/db/", "/repo"];

#[test]
fn sql_stands_in_repositories_only() {
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        let is_test = path.contains("/tests") || path.ends_with("_tests.rs")
            || path.contains("/testing")
            // The rounds of a stress test, which a test binary starts.
            || path.ends_with("service/flood.rs");
        if !path.starts_with("host/") || is_test {
            continue;
        }
        for (number, line) in code_of(&text) {
            for (word, places) in SQL_IN {
                if line.contains(word) && !places.iter().any(|place| path.contains(place)) {
                    wrong.push(format!("{path}:{number}: `{word}` belongs in {places:?} only"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Calls that block, or make a thread.
const BLOCKING: &[&str] = &[
    "spawn_blocking",
    "block_in_place",
    "tokio::fs",
    "thread::spawn",
    "thread::Builder",
    "thread::scope",
];
/// Files that may have threads beside the lanes, and for what.
const THREADS: &[(&str, &str)] = &[
    ("host/lanes/src/lane.rs", "those of the lanes"),
    (
        "host/plugin-host/src/core/runtime.rs",
        "one that ticks, and touches nothing",
    ),
    (
        "host/plugin-host/src/core/system.rs",
        "one that gives memory back",
    ),
    (
        "host/plugin-host/src/core/scan.rs",
        "one that watches the directory of the plugins for good",
    ),
    (
        "host/plugin-host/src/core/compile.rs",
        "one of the compiling child, which watches its parent",
    ),
    (
        "host/system/src/service/health/disks.rs",
        "one a root, and none for a root that hangs",
    ),
    (
        "host/probe/src/ops/jail.rs",
        "one that is shut in, and ends with what it starts",
    ),
    (
        "host/server/src/shutdown.rs",
        "one that ends the process where nothing else can",
    ),
];
/// Crates that no server is made of.
const DEV: &[&str] = &["host/generations/", "host/test-base/", "host/testkit/"];

/// Work that hangs for ever, or that somebody asks for a thousand times, must take its threads from nobody.
#[test]
fn work_that_blocks_is_done_in_lanes() {
    let mut wrong = Vec::new();
    let mut used = std::collections::BTreeSet::new();
    for (path, text) in sources() {
        let is_test = path.contains("/tests") || path.ends_with("tests.rs") || path.contains("/testing");
        if !path.starts_with("host/") || is_test || DEV.iter().any(|dev| path.starts_with(dev)) {
            continue;
        }
        if text.contains("Lane::new(") && text.contains("qm_lanes") && !text.contains("//! Bounds") {
            wrong.push(format!(
                "{path}: a module with lanes says in its header what bounds they have"
            ));
        }
        let may = THREADS.iter().find(|(file, _)| *file == path);
        for (number, line) in code_of(&text) {
            let Some(word) = BLOCKING.iter().find(|word| line.contains(*word)) else {
                continue;
            };
            match may {
                Some((file, _)) if word.starts_with("thread::") => {
                    used.insert(*file);
                }
                _ => wrong.push(format!(
                    "{path}:{number}: `{word}`; use a lane of the area (`qm_lanes`)"
                )),
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let idle: Vec<_> = THREADS.iter().filter(|(file, _)| !used.contains(file)).collect();
    assert!(idle.is_empty(), "they have no thread any more: {idle:#?}");
}

/// Crates that keep secrets beside no address that people change, and why.
const SECRETS_WITHOUT_ADDRESS: &[(&str, &str)] = &[
    ("host/identity", "seeds of second factors are sent nowhere"),
    (
        "host/metadata",
        "keys of providers go to hosts that no setting names",
    ),
    (
        "host/notifications",
        "a connection is replaced as a whole, its secrets included",
    ),
    ("host/platform", "it keeps them for all areas"),
    ("host/server", "its settings are declared for areas to come"),
];

#[test]
fn stored_secrets_stay_with_their_origin() {
    let (mut keeping, mut settling) = (BTreeMap::new(), BTreeMap::new());
    for (path, text) in sources() {
        let Some((area, _)) = path
            .split_once("/src/")
            .filter(|(area, _)| area.starts_with("host/"))
        else {
            continue;
        };
        if path.contains("test") {
            continue;
        }
        let says = |word: &str| code_of(&text).any(|(_, line)| line.contains(word));
        let is_secret_setting = path.contains("settings")
            && code_of(&text).any(|(_, line)| {
                let line = line.trim_start();
                line.strip_prefix("pub ").unwrap_or(line).starts_with("secret ")
            });
        if says("impl SealedValues for") || says("secret_members(&[") || is_secret_setting {
            keeping.insert(area.to_owned(), path.clone());
        }
        if says(".settle(") && text.contains("qm_platform::origins") {
            settling.insert(area.to_owned(), path.clone());
        }
    }
    for (area, path) in &keeping {
        let is_excused = SECRETS_WITHOUT_ADDRESS.iter().any(|(excused, _)| excused == area);
        assert!(
            is_excused || settling.contains_key(area),
            "{path} keeps secrets: {area} must settle changes of its addresses by `qm_platform::origins`, or stand in \
             SECRETS_WITHOUT_ADDRESS with the reason"
        );
    }
    for (area, _) in SECRETS_WITHOUT_ADDRESS {
        assert!(keeping.contains_key(*area), "{area} keeps no secrets any more");
        assert!(
            *area == "host/platform" || !settling.contains_key(*area),
            "{area} is excused, and settles"
        );
    }
}

/// A build outlives the clone it was made in, and a test binary that is still right is not built again: what it needs of
/// the sources it must look for where cargo says it runs, not where it was built.
#[test]
fn no_test_looks_where_it_was_built() {
    // In two parts, for this file is read as well.
    let built_in = concat!("env!(\"CARGO_MANIFEST", "_DIR\")");
    // Each asks cargo first, and is what everything else uses.
    let may = ["host/testkit/src/lib.rs", "xtask/src/paths.rs"];
    let wrong: Vec<_> = sources()
        .into_iter()
        .filter(|(path, text)| text.contains(built_in) && !may.contains(&path.as_str()))
        .map(|(path, _)| format!("{path}: `{built_in}`; use `std::env::var_os`"))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn files_can_be_read_in_one_sitting() {
    let long: BTreeMap<String, usize> = sources()
        .into_iter()
        .map(|(path, text)| (path, text.lines().count()))
        .filter(|(_, n)| *n > 700)
        .collect();
    assert!(
        long.is_empty(),
        "over 700 lines, split by resource or concept: {long:#?}"
    );
}

/// Lines of source that a crate has at most, its tests left out: what is larger is two subjects, or more.
const MOST_LINES: usize = 8_000;

#[test]
fn crates_are_of_one_subject() {
    let crates = crates::read(&root()).expect("manifests");
    let mut lines: BTreeMap<&str, usize> = BTreeMap::new();
    for (path, text) in sources() {
        let folder = path.split_once("/src/").map(|(folder, _)| folder);
        let krate = folder.and_then(|folder| crates.iter().find(|krate| krate.folder == folder));
        let is_test = path.contains("/tests/") || path.ends_with("tests.rs") || path.contains("/testing");
        if let Some(krate) = krate.filter(|_| !is_test) {
            *lines.entry(&krate.folder).or_default() += code_of(&text).count();
        }
    }
    let over: Vec<_> = lines.iter().filter(|(_, count)| **count > MOST_LINES).collect();
    assert!(
        over.is_empty(),
        "over {MOST_LINES} lines of source, split by subject: {over:#?}"
    );
}

/// Crates of torrents.
const OF_TORRENTS: &[&str] = &[
    "host/engines",
    "host/limits",
    "host/parking",
    "host/torrent-commands",
    "host/torrent-data",
    "host/torrent-lists",
    "host/torrents",
];

/// Whoever has an engine in hand can reach its client: other areas are given ports.
#[test]
fn engines_are_known_to_the_crates_of_torrents_only() {
    let crates = crates::read(&root()).expect("manifests");
    let (inside, outside): (Vec<_>, Vec<_>) = crates
        .iter()
        .partition(|krate| OF_TORRENTS.contains(&&*krate.folder));
    assert_eq!(inside.len(), OF_TORRENTS.len(), "{OF_TORRENTS:?}");
    // The areas themselves, which the server starts, show none.
    let names = inside.iter().map(|krate| krate.name.as_str());
    let hidden: Vec<&str> = names
        .filter(|name| !["qm-torrents", "qm-limits", "qm-parking", "qm-torrent-commands"].contains(name))
        .collect();
    let mut wrong = Vec::new();
    for krate in outside {
        let known = krate
            .dependencies
            .iter()
            .filter(|name| hidden.contains(&&***name));
        wrong.extend(known.map(|name| format!("{} must ask a port, not {name}", krate.name)));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Data of a torrent may be another one's too. Who may say these words: (word, the one file that may, why).
const OF_DATA: &[(&str, &str, &str)] = &[
    (
        "driver.run(",
        "host/engines/src/sync/orders.rs",
        "commands go through `Engine::order`, which asks for a proof where they take data",
    ),
    (
        "Unshared::judged(",
        "host/torrent-data/src/service/shared_data.rs",
        "the guard alone proves that data is nobody else's",
    ),
    (
        "mover.carry(",
        "host/torrent-data/src/service/moves/act.rs",
        "data is carried after the guard was asked (`plan_move`)",
    ),
    (
        "mover.remove_remains(",
        "host/torrent-data/src/service/removals.rs",
        "files are removed after the guard was asked (`remove_with_data`)",
    ),
];

#[test]
fn data_is_taken_by_way_of_the_guard_only() {
    let mut wrong = Vec::new();
    let mut said = [false; OF_DATA.len()];
    for (path, text) in sources() {
        let folder = path.split_once("/src/").map_or("", |(folder, _)| folder);
        let is_test = path.ends_with("/tests.rs") || path.ends_with("_tests.rs");
        if !folder.starts_with("host/") || is_test {
            continue;
        }
        let is_of_torrents = OF_TORRENTS.contains(&folder);
        let code: String = code_of(&text)
            .flat_map(|(_, line)| {
                line.chars()
                    .filter(|letter| !letter.is_whitespace())
                    .collect::<Vec<_>>()
            })
            .collect();
        for (number, (word, place, why)) in OF_DATA.iter().enumerate() {
            // Files of libraries are carried too, by the rules of that area.
            let is_judged = is_of_torrents || !word.starts_with("mover.");
            let says = is_judged && code.contains(word);
            said[number] |= says && path == *place;
            if says && path != *place {
                wrong.push(format!("{path}: `{word}` belongs in {place}: {why}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(
        said,
        [true; OF_DATA.len()],
        "each word is still said where it belongs: {OF_DATA:#?}"
    );
}

#[test]
fn both_databases_have_the_same_migrations() {
    let names = |kind: &str| {
        let mut names: Vec<_> = std::fs::read_dir(root().join("migrations").join(kind))
            .expect("migrations")
            .map(|entry| entry.expect("entry").file_name())
            .collect();
        names.sort();
        names
    };
    assert_eq!(names("sqlite"), names("postgres"));
}

/// Every Rust source of the repository as (path from the root, text).
fn sources() -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut open = ["host", "tests", "bench", "xtask", "plugins", "examples", "fuzz"]
        .map(|dir| root().join(dir))
        .to_vec();
    while let Some(dir) = open.pop() {
        let Ok(entries) = std::fs::read_dir(&dir) else {
            continue;
        };
        for entry in entries.flatten() {
            let path = entry.path();
            if path.is_dir() {
                if !path.ends_with("target") && !path.ends_with("node_modules") {
                    open.push(path);
                }
            } else if path.extension().is_some_and(|ext| ext == "rs") {
                let text = std::fs::read_to_string(&path).expect("readable source");
                let name = path
                    .strip_prefix(root())
                    .expect("below the root")
                    .to_string_lossy()
                    .into_owned();
                found.push((name, text));
            }
        }
    }
    found
}
