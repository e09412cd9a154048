//! Deadlines of tests: none that waits is under a minute, and nothing asserts that something was fast. A machine that does
//! other work beside is no failure.

use std::path::{Path, PathBuf};
use std::time::Duration;

const LEAST: Duration = Duration::from_mins(1);

/// Names of constants and variables that bound a wait.
const WAITS: [&str; 7] = [
    "PATIENCE", "DEADLINE", "SOON", "WAIT", "LONG", "patience", "deadline",
];

/// Short times that are no deadline of something that must happen: file, a part of the line, and why.
const ALLOWED: &[(&str, &str, &str)] = &[
    (
        "host/identity/src/service/guesses.rs",
        "timeout(Duration::from_millis(1), guesses.wait",
        "it must not end",
    ),
    (
        "host/plugin-roles/tests/suite/isolation.rs",
        "let gone = tokio::time::timeout(Duration::from_millis(50), poll).await;",
        "its caller goes away in the middle",
    ),
    (
        "host/plugin-roles/tests/suite/reload.rs",
        "timeout(Duration::from_millis(50), &mut old)",
        "time for a call to begin",
    ),
    (
        "host/rss/src/service/tests.rs",
        "timeout(Duration::from_millis(100), &mut trial)",
        "it must not end",
    ),
    (
        "host/system/src/service/update/tests.rs",
        "timeout(Duration::from_millis(300), asked.recv())",
        "it must not happen",
    ),
    (
        "host/titledb/src/service/tests.rs",
        "let mut patience = Duration::from_millis(200)",
        "a child is killed after it, and lives longer each time",
    ),
    (
        "host/torrents/src/routes/tests/audit.rs",
        "let patience = std::time::Duration::from_millis(10)",
        "its caller goes away in the middle",
    ),
    (
        "host/engines/src/model/turns.rs",
        "timeout(Duration::from_millis(50), waiting)",
        "it must not end",
    ),
];

fn root() -> PathBuf {
    let here = std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo says it");
    Path::new(&here)
        .parent()
        .expect("xtask lies in the workspace")
        .to_owned()
}

/// Lines that are wrong, of a source that is of tests from some line on.
fn short(text: &str) -> Vec<(usize, &str)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        let code = line.split("//").next().unwrap_or_default();
        // A call may go over some lines.
        let here = || {
            lines[number..]
                .iter()
                .take(2)
                .copied()
                .collect::<Vec<_>>()
                .concat()
        };
        let waits = code.contains("timeout(")
            && !code.contains("fn ")
            && before_comma(&here(), "timeout(").is_some_and(is_short);
        let until = after(code, "now() + ").is_some_and(is_short);
        let named = WAITS.iter().any(|name| {
            let constant = after(code, &format!("{name}: Duration = "));
            let variable = after(code, &format!(" {name} = "));
            constant.or(variable).is_some_and(is_short)
        });
        let fast = ["elapsed() < ", "elapsed() <= "]
            .iter()
            .any(|judged| after(code, judged).is_some_and(is_short));
        let gives_up = code.contains("for _ in 0..") && loops_shortly(&lines[number..]);
        if waits || until || named || fast || gives_up {
            found.push((number + 1, *line));
        }
    }
    found
}

/// True when a loop looks again and again, with a pause, until it gives up within a minute.
fn loops_shortly(lines: &[&str]) -> bool {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let rounds = after(lines[0], "0..").map(|rest| rest.trim_end_matches([' ', '{']).replace('_', ""));
    let Some(rounds) = rounds.and_then(|rounds| rounds.parse::<f64>().ok()) else {
        return false;
    };
    let inside = lines[1..]
        .iter()
        .take_while(|line| line.trim().is_empty() || indent(line) > indent(lines[0]));
    let inside: Vec<&str> = inside.copied().collect();
    // The pauses of a loop inside are of that.
    let is_loop = |line: &&str| line.trim().starts_with("while ") || line.trim() == "loop {";
    if inside.iter().any(is_loop) {
        return false;
    }
    let ends_early = inside
        .iter()
        .any(|line| matches!(line.trim(), "break;" | "return;") || line.trim().starts_with("return "));
    let pause = inside
        .iter()
        .filter_map(|line| after(line, "sleep("))
        .find_map(millis);
    ends_early && pause.is_some_and(|pause| rounds * pause < LEAST.as_millis() as f64)
}

fn after<'a>(line: &'a str, word: &str) -> Option<&'a str> {
    line.split_once(word).map(|(_, rest)| rest)
}

/// The first argument of a call.
fn before_comma<'a>(line: &'a str, word: &str) -> Option<&'a str> {
    let rest = after(line, word)?;
    Some(rest.split_once(", ").map_or(rest, |(first, _)| first))
}

/// True when a text begins with a duration that is under a minute.
fn is_short(text: &str) -> bool {
    millis(text).is_some_and(|millis| millis < LEAST.as_millis() as f64)
}

/// Milliseconds of the duration that a text begins with, if it is written in seconds or less.
fn millis(text: &str) -> Option<f64> {
    let text = text.trim_start().trim_start_matches("Some(");
    let text = text.trim_start_matches("std::time::");
    let units = [("secs", 1000.0), ("millis", 1.0), ("micros", 0.001)];
    units.iter().find_map(|(unit, millis)| {
        let rest = text.strip_prefix(&format!("Duration::from_{unit}("))?;
        let (number, _) = rest.split_once(')')?;
        Some(number.replace('_', "").parse::<f64>().ok()? * millis)
    })
}

/// The tests in a source: all of it, or what follows the first `#[cfg(test)]`.
fn tests_of<'a>(path: &str, text: &'a str) -> Option<&'a str> {
    let is_of_tests = [
        "/tests/",
        "tests.rs",
        "testing",
        "testkit",
        "test-base",
        "generations",
    ]
    .iter()
    .any(|word| path.contains(word))
        || path.starts_with("tests/");
    if is_of_tests {
        return Some(text);
    }
    let is_here = |at: &usize| text[*at..].lines().nth(1).is_some_and(|line| line.ends_with('{'));
    let mut modules = text.match_indices("#[cfg(test)]\nmod ").map(|(at, _)| at);
    modules.find(is_here).map(|at| &text[at..])
}

fn sources(directory: &Path, into: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(directory).expect("a directory of ours");
    for entry in entries.map(|entry| entry.expect("readable").path()) {
        let name = entry
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if entry.is_dir() {
            if !matches!(&*name, "target" | "node_modules" | "fuzz") && !name.starts_with('.') {
                sources(&entry, into);
            }
        } else if entry.extension().is_some_and(|ending| ending == "rs") {
            into.push(entry);
        }
    }
}

#[test]
fn no_deadline_of_a_test_that_waits_is_under_a_minute() {
    let root = root();
    let mut paths = Vec::new();
    for part in ["host", "tests", "xtask", "plugins", "bench"] {
        sources(&root.join(part), &mut paths);
    }
    assert!(paths.len() > 300, "{} sources", paths.len());
    let mut wrong = Vec::new();
    let mut used = vec![false; ALLOWED.len()];
    for path in paths {
        let name = path
            .strip_prefix(&root)
            .expect("below it")
            .to_string_lossy()
            .into_owned();
        // This one holds examples.
        if name == "xtask/tests/deadlines.rs" {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a source of ours");
        let Some(tests) = tests_of(&name, &text) else {
            continue;
        };
        let above = text.lines().count() - tests.lines().count();
        for (number, line) in short(tests) {
            let allowed = ALLOWED
                .iter()
                .position(|(file, part, _)| *file == name && line.contains(part));
            match allowed {
                Some(position) => used[position] = true,
                None => wrong.push(format!("{name}:{}: {}", above + number, line.trim())),
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "a test that waits waits for a minute at least, and none measures speed:\n{}",
        wrong.join("\n")
    );
    let unused: Vec<_> = ALLOWED
        .iter()
        .zip(used)
        .filter(|(_, used)| !used)
        .map(|(one, _)| one)
        .collect();
    assert!(unused.is_empty(), "allowed, and not there any more: {unused:?}");
}

#[test]
fn short_deadlines_are_found_however_they_are_written() {
    for line in [
        "tokio::time::timeout(Duration::from_secs(20), waiting).await",
        "timeout(std::time::Duration::from_millis(500), waiting).await",
        "stream.set_read_timeout(Some(Duration::from_secs(5)))",
        "let until = Instant::now() + Duration::from_secs(30);",
        "const PATIENCE: Duration = Duration::from_secs(30);",
        "let patience = Duration::from_secs(10);",
        "assert!(begun.elapsed() < Duration::from_secs(2));",
        "timeout(\n    Duration::from_secs(3), waiting)",
        "for _ in 0..500 {\n    if done() {\n        break;\n    }\n    sleep(Duration::from_millis(10)).await;\n}",
    ] {
        assert_eq!(short(line).len(), 1, "{line}");
    }
    for line in [
        "tokio::time::timeout(Duration::from_mins(1), waiting).await",
        "const PAUSE: Duration = Duration::from_millis(40);",
        "let until = Instant::now() + Duration::from_secs(60);",
        "clock.advance(Duration::from_secs(1));",
        "for _ in 0..6_000 {\n    if done() {\n        break;\n    }\n    sleep(Duration::from_millis(10)).await;\n}",
        "for _ in 0..10 {\n    sleep(Duration::from_millis(10)).await;\n}",
        "// timeout(Duration::from_secs(1), x)",
        "ping_timeout: Duration::from_millis(80),",
    ] {
        assert_eq!(short(line), [], "{line}");
    }
}
