//! Modules that open paths: `host/confined`, and those that open the server's own files. Also modules that send to a client.

use std::collections::BTreeSet;

use super::{code_of, sources};

/// Calls that open a path, resolve it, or change what lies there.
const OPENING: &[&str] = &[
    "File::open(",
    "File::create(",
    "File::create_new(",
    "File::options(",
    "OpenOptions",
    "canonicalize(",
    "read_dir(",
    "fs::copy(",
    "fs::create_dir",
    "fs::exists(",
    "fs::hard_link(",
    "fs::metadata(",
    "fs::open(",
    "fs::openat",
    "fs::read(",
    "fs::read_link(",
    "fs::read_to_string(",
    "fs::remove_",
    "fs::rename(",
    "fs::set_permissions(",
    "fs::stat(",
    "fs::symlink(",
    "fs::symlink_metadata(",
    "fs::write(",
    "tokio::fs::",
    "PathFd::new(",
];

/// Modules that may, and what they open. The list only gets shorter: what a person, a feed, a plugin or a setting chose goes
/// through `qm_confined`.
const MAY_OPEN: &[(&str, &str)] = &[
    (
        "host/db/src/backup.rs",
        "the database and its backups, by variables of the operator",
    ),
    ("host/db/src/lock.rs", "the lock beside the database"),
    ("host/db/src/open.rs", "the database"),
    ("host/jobs/src/service/mod.rs", "/proc"),
    (
        "host/orders/src/ops/erase.rs",
        "states of the server's own places",
    ),
    ("host/probe/src/ops/jail.rs", "what programs need to run"),
    ("host/probe/src/ops/probe.rs", "/dev/null"),
    ("host/scan/src/ops/walk.rs", "states of the server's own places"),
    (
        "host/scan/src/ops/watch.rs",
        "states of directories that are watched by path, and opened by handles",
    ),
    (
        "host/net/src/nearby.rs",
        "certificates, by a variable of the operator",
    ),
    (
        "host/plugin-host/src/core/cache.rs",
        "compiled plugins in the data directory",
    ),
    (
        "host/plugin-host/src/core/check.rs",
        "a plugin that the command line names",
    ),
    (
        "host/plugin-host/src/core/compile.rs",
        "compiled plugins in the data directory, /proc",
    ),
    ("host/plugin-host/src/core/load.rs", "plugins in their directory"),
    ("host/plugin-host/src/core/runtime.rs", "/proc"),
    ("host/plugin-host/src/core/scan.rs", "the plugins' directory"),
    ("host/server/src/cli/plugin.rs", "what the command line names"),
    ("host/server/src/node/mod.rs", "/proc"),
    (
        "host/server/src/node/place.rs",
        "a mark in the data directory, /proc",
    ),
    ("host/server/src/secrets.rs", "the secrets"),
    ("host/server/src/start.rs", "the data and the plugins' directory"),
    ("host/server/src/start/backups.rs", "backups"),
    ("host/system/src/service/health/process.rs", "/proc"),
    (
        "host/system/src/service/update.rs",
        "how the server was installed",
    ),
    (
        "host/templates/src/lib.rs",
        "a new folder that the command line names",
    ),
    ("host/titledb/src/ops/read.rs", "/proc"),
    (
        "host/titledb/src/service/store.rs",
        "the store beside the database",
    ),
];

/// Crates of `host` that only tests use.
const FOR_TESTS: &[&str] = &["host/generations/", "host/test-base/", "host/testkit/"];

/// Files of modules that are compiled for tests alone.
fn test_modules(all: &[(String, String)]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (path, text) in all {
        let is_root = ["mod.rs", "lib.rs", "main.rs"]
            .iter()
            .any(|name| path.ends_with(&format!("/{name}")));
        let folder = match path.rsplit_once('/') {
            Some((folder, _)) if is_root => folder.to_owned(),
            _ => path.trim_end_matches(".rs").to_owned(),
        };
        let mut is_for_tests = false;
        for line in text.lines().map(str::trim) {
            if line.starts_with("#[cfg(") && (line.contains("test") || line.contains("testing")) {
                is_for_tests = true;
            } else if !line.starts_with("#[") {
                let name = line.strip_suffix(';').and_then(|line| line.split_once("mod "));
                if let Some((_, name)) = name.filter(|_| is_for_tests) {
                    found.insert(format!("{folder}/{name}.rs"));
                    found.insert(format!("{folder}/{name}/"));
                }
                is_for_tests = false;
            }
        }
    }
    found
}

/// The sources of the server itself.
fn of_the_server() -> Vec<(String, String)> {
    let all = sources();
    let tests = test_modules(&all);
    let is_test = |path: &str| {
        let is_named = path.contains("/tests/") || path.ends_with("/tests.rs") || path.ends_with("_tests.rs");
        is_named
            || path.ends_with("/build.rs")
            || FOR_TESTS.iter().any(|krate| path.starts_with(krate))
            || tests
                .iter()
                .any(|test| path == test || (test.ends_with('/') && path.starts_with(test)))
    };
    let own = all
        .into_iter()
        .filter(|(path, _)| path.starts_with("host/") && !is_test(path));
    own.collect()
}

fn says<'a>(text: &'a str, words: &'a [&str]) -> impl Iterator<Item = (usize, &'a str)> {
    code_of(text).filter_map(move |(number, line)| {
        let word = words.iter().find(|word| line.contains(**word))?;
        Some((number, *word))
    })
}

#[test]
fn paths_are_opened_by_the_crate_for_it() {
    let mut wrong = Vec::new();
    let mut idle: BTreeSet<&str> = MAY_OPEN.iter().map(|(path, _)| *path).collect();
    for (path, text) in of_the_server() {
        if path.starts_with("host/confined/") {
            continue;
        }
        let first = says(&text, OPENING).next();
        let is_listed = MAY_OPEN.iter().any(|(listed, _)| *listed == path);
        if let Some((number, word)) = first {
            idle.remove(path.as_str());
            if !is_listed {
                wrong.push(format!(
                    "{path}:{number}: `{word}`: paths are opened by `qm_confined`"
                ));
            }
        }
    }
    wrong.extend(
        idle.iter()
            .map(|path| format!("{path} opens no path any more: strike it from the list")),
    );
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Calls that hand torrents or commands to a client.
const TELLING: &[&str] = &[
    "driver.add(",
    "driver.run(",
    "engine.order(",
    ".order_one(",
    ".order_taking(",
    "driver.set_preferences(",
    "driver.create_category(",
    "driver.edit_category(",
];

/// Modules that hand torrents or commands to a client. Each path in them was judged right before, by
/// `torrent_data::service::places`.
const MAY_TELL: &[&str] = &[
    "host/torrents/src/service/add.rs",
    "host/torrents/src/service/commands.rs",
    "host/torrent-commands/src/service/one.rs",
    "host/torrent-commands/src/service/bulk.rs",
    // The directories of categories are judged by `path_of`.
    "host/torrent-data/src/service/categories.rs",
    "host/torrent-data/src/service/moves/act.rs",
    "host/torrent-data/src/service/moves/mod.rs",
    "host/torrent-data/src/service/preferences.rs",
    // Removals name no path, tags and the name of a torrent are none.
    "host/torrent-data/src/service/removals.rs",
    "host/torrents/src/service/tags.rs",
    "host/engines/src/sync/repair.rs",
    // Super-seeding and limits of sharing name no path.
    "host/limits/src/service/act.rs",
    "host/limits/src/service/share.rs",
    // Pauses, starts and forced starts name no path.
    "host/parking/src/service/pass.rs",
    "host/parking/src/service/unpark.rs",
    // What all of them call.
    "host/engines/src/sync/orders.rs",
];

#[test]
fn clients_are_told_of_places_that_were_judged() {
    let mut wrong = Vec::new();
    for (path, text) in of_the_server() {
        if MAY_TELL.contains(&path.as_str()) {
            continue;
        }
        wrong.extend(says(&text, TELLING).map(|(number, word)| {
            format!("{path}:{number}: `{word}`: clients are told by `obey` or `add`, which judge paths")
        }));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// System directories are listed once.
#[test]
fn system_directories_are_listed_once() {
    // In two parts, for this file is read as well.
    let one = concat!("\"/sb", "in\"");
    let may = ["host/confined/src/roots.rs"];
    let wrong: Vec<_> = of_the_server()
        .into_iter()
        .filter(|(path, text)| text.contains(one) && !may.contains(&path.as_str()))
        .map(|(path, _)| path)
        .collect();
    assert!(wrong.is_empty(), "ask `qm_confined::is_system`: {wrong:#?}");
}

#[test]
fn modules_for_tests_are_told_from_the_others() {
    let source = |path: &str, text: &str| (path.to_owned(), text.to_owned());
    let all = [
        source(
            "host/a/src/lib.rs",
            "mod x;\n#[cfg(test)]\nmod y;\n#[cfg(any(test, feature = \"testing\"))]\npub mod z;\nmod w;",
        ),
        source(
            "host/a/src/x.rs",
            "#[cfg(test)]\n#[path = \"p.rs\"]\nmod deep;\n#[cfg(unix)]\nmod unix;",
        ),
    ];
    let expected = [
        "host/a/src/x/deep.rs",
        "host/a/src/x/deep/",
        "host/a/src/y.rs",
        "host/a/src/y/",
        "host/a/src/z.rs",
        "host/a/src/z/",
    ];
    assert_eq!(
        test_modules(&all),
        expected.iter().map(|path| (*path).to_owned()).collect()
    );
}
