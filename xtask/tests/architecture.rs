//! The rules of ARCHITECTURE.md, read from `cargo metadata` and the sources. A failure names the file and the rule.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A crate's tier: it may depend on lower tiers only (and `server` and what tests it, on everything).
fn tier(name: &str) -> u8 {
    match name {
        "qm-kernel" | "qm-generations" => 0,
        "qm-db" | "qm-web" | "qm-net" | "qm-release" => 1,
        "qm-plugin-host" => 2,
        "qm-platform" => 3,
        "qm-identity" | "qm-jobs" => 4,
        "qm-torrents" | "qm-files" => 5,
        "qm-server" => 8,
        "qm-testkit" => 9,
        "qm-tests" | "qm-bench" | "xtask" => 10,
        other => panic!(
            "`{other}` has no tier: give it one in {} and in ARCHITECTURE.md",
            file!()
        ),
    }
}

fn root() -> PathBuf {
    Path::new(&std::env::var("CARGO_MANIFEST_DIR").expect("cargo says where"))
        .parent()
        .expect("xtask lies in the workspace")
        .to_path_buf()
}

#[test]
fn crates_depend_on_lower_tiers_only() {
    let metadata = cargo_metadata::MetadataCommand::new()
        .manifest_path(root().join("Cargo.toml"))
        .no_deps()
        .other_options(vec!["--offline".into()])
        .exec()
        .expect("cargo metadata");
    let mut wrong = Vec::new();
    for package in &metadata.packages {
        for dependency in &package.dependencies {
            let ours = dependency.name.starts_with("qm-");
            let for_tests = dependency.kind == cargo_metadata::DependencyKind::Development;
            if ours && !for_tests && tier(&dependency.name) >= tier(&package.name) {
                wrong.push(format!("{} must not depend on {}", package.name, dependency.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Which path may say a word: (word, the paths that may).
const ONLY_IN: &[(&str, &[&str])] = &[
    ("sqlx::", &["host/db/", "/repo", "host/server/src/error"]),
    ("wasmtime::", &["host/plugin-host/"]),
    ("reqwest::", &["host/net/", "host/testkit/", "tests/"]),
    (
        "unsafe ",
        &[
            "host/plugin-host/src/core/cache",
            "host/plugin-host/src/core/system",
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
            "/realtime",
        ]
        .iter()
        .any(|p| path.contains(p));
        if text.contains("axum::") && !may_axum {
            wrong.push(format!("{path}: `axum` belongs in web, server and routes* only"));
        }
    }
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
    let mut open = ["host", "tests", "bench", "xtask", "plugins"]
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
