//! Report of a test program: count of tests that passed, and the tests that failed with their causes.

use std::collections::BTreeMap;

/// The most of a failure that is repeated.
const CAUSE: usize = 300;
const RESULT: &str = "test result: ";
const RUNNING: &str = "     Running ";
const DOC_TESTS: &str = "   Doc-tests ";
const RERUN: &str = "to rerun pass `";
const LONG: &str = " has been running for over 60 seconds";

/// Final result of one test program, or of several of one kind.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Report {
    pub passed: usize,
    /// Names of the tests that failed, each with the first line of why.
    pub failures: Vec<(String, String)>,
    /// Tests that took long and were not over when it ended.
    pub unfinished: Vec<String>,
    /// True when it printed its counts at the end: a program that crashed does not.
    pub complete: bool,
}

/// Output of one program within that of `cargo test`.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Section {
    /// The program, or the crate of tests of documentation.
    pub name: String,
    /// Words by which cargo runs it again, where it failed.
    pub again: Option<Vec<String>>,
    pub doc: bool,
    pub report: Report,
}

/// Reads the output of a test program.
pub fn read(said: &str) -> Report {
    let mut report = Report::default();
    let mut causes: BTreeMap<String, String> = BTreeMap::new();
    let mut listed: Vec<String> = Vec::new();
    let mut lines = said.lines().peekable();
    while let Some(line) = lines.next() {
        if let Some(name) = line
            .strip_prefix("---- ")
            .and_then(|rest| rest.strip_suffix(" ----"))
        {
            let name = name.strip_suffix(" stdout").unwrap_or(name);
            let mut block = Vec::new();
            while let Some(line) = lines.next_if(|line| !line.starts_with("---- ") && *line != "failures:") {
                block.push(line);
            }
            causes.insert(name.to_owned(), cause(&block));
        } else if line == "failures:" {
            listed.clear();
            while let Some(name) = lines.next_if(|line| line.starts_with("    ")) {
                listed.push(name.trim().to_owned());
            }
        } else if let Some(counts) = line.strip_prefix(RESULT) {
            report.complete = true;
            report.passed += counted(counts, "passed");
            for name in std::mem::take(&mut listed) {
                let cause = causes.remove(&name).unwrap_or_default();
                report.failures.push((name, cause));
            }
        } else if let Some(name) = line
            .strip_prefix("test ")
            .and_then(|rest| rest.strip_suffix(LONG))
        {
            report.unfinished.push(name.to_owned());
        } else if let Some((name, _)) = line
            .strip_prefix("test ")
            .and_then(|rest| rest.split_once(" ... "))
        {
            report.unfinished.retain(|long| long != name);
        }
    }
    report
}

/// Splits the output of `cargo test` into the sections of its programs.
pub fn sections(said: &str) -> Vec<Section> {
    let mut sections: Vec<(Section, String)> = Vec::new();
    for line in said.lines() {
        let begins = line
            .strip_prefix(RUNNING)
            .or_else(|| line.strip_prefix(DOC_TESTS));
        if let Some(name) = begins {
            let section = Section {
                name: name.to_owned(),
                doc: line.starts_with(DOC_TESTS),
                ..Section::default()
            };
            sections.push((section, String::new()));
        } else if let Some((section, text)) = sections.last_mut() {
            let again = line
                .strip_prefix("error: ")
                .and_then(|rest| rest.split_once(RERUN)?.1.strip_suffix('`'));
            match again {
                Some(words) => section.again = Some(words.split_whitespace().map(str::to_owned).collect()),
                None => {
                    text.push_str(line);
                    text.push('\n');
                }
            }
        }
    }
    let read = |(section, text): (Section, String)| Section {
        report: read(&text),
        ..section
    };
    sections.into_iter().map(read).collect()
}

/// The number before a word, e.g. in `ok. 3 passed; 0 failed`.
fn counted(counts: &str, word: &str) -> usize {
    let mut words = counts.split([' ', ';']).filter(|part| !part.is_empty());
    let mut before = "";
    words
        .find_map(|part| {
            let number = std::mem::replace(&mut before, part);
            (part == word).then(|| number.parse().ok()).flatten()
        })
        .unwrap_or_default()
}

/// First line of a failure: of a panic with its place, else of the error the test returned, else of its output.
fn cause(block: &[&str]) -> String {
    let mut lines = block.iter().filter(|line| !line.trim().is_empty());
    let panicked =
        |line: &&&str| line.starts_with("thread '") && line.contains("' ") && line.contains("panicked at ");
    let text = match lines.clone().position(|line| panicked(&line)) {
        Some(at) => {
            let line = lines.clone().nth(at).unwrap_or(&"");
            let place = line.split_once("panicked at ").map_or("", |(_, place)| place);
            let message = lines.nth(at + 1).unwrap_or(&"");
            format!("{place} {}", message.trim())
        }
        None => {
            let error = lines.clone().find(|line| line.starts_with("Error: "));
            error
                .or_else(|| lines.next())
                .map_or("", |line| line.trim())
                .to_owned()
        }
    };
    match text.char_indices().nth(CAUSE) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "
running 4 tests
test service::good ... ok
test service::slow has been running for over 60 seconds
test service::hung has been running for over 60 seconds
test service::bad ... FAILED
test service::odd - should panic ... FAILED
test service::slow ... ok

failures:

---- service::bad stdout ----
a line of the log

thread 'service::bad' (77) panicked at host/x/src/service.rs:12:5:
called `Result::unwrap()` on an `Err` value: PoolTimedOut
note: run with `RUST_BACKTRACE=1`

---- service::odd stdout ----
note: test did not panic as expected at host/x/src/service.rs:3:4

failures:
    service::bad
    service::odd

test result: FAILED. 2 passed; 2 failed; 0 ignored; 0 measured; 1 filtered out; finished in 0.10s
";

    #[test]
    fn failures_are_named_with_the_first_line_of_each() {
        let report = read(SAID);
        assert_eq!(report.passed, 2);
        assert!(report.complete);
        let failure = |name: &str, cause: &str| (name.to_owned(), cause.to_owned());
        assert_eq!(
            report.failures,
            [
                failure(
                    "service::bad",
                    "host/x/src/service.rs:12:5: called `Result::unwrap()` on an `Err` value: PoolTimedOut"
                ),
                failure(
                    "service::odd",
                    "note: test did not panic as expected at host/x/src/service.rs:3:4"
                ),
            ]
        );
        assert_eq!(report.unfinished, ["service::hung"]);
    }

    #[test]
    fn a_program_that_crashed_is_not_complete() {
        let report = read("running 2 tests\ntest a ... ok\nthread 'b' has overflowed its stack\n");
        assert_eq!(report, Report::default());
    }

    #[test]
    fn answers_of_tests_are_causes_and_long_ones_are_cut() {
        assert_eq!(cause(&["some log", "Error: PoolTimedOut"]), "Error: PoolTimedOut");
        let long = "ü".repeat(2 * CAUSE);
        assert_eq!(cause(&[&long]).chars().count(), CAUSE + 1);
        assert_eq!(cause(&[]), "");
    }

    #[test]
    fn parts_of_what_cargo_said_are_read_one_by_one() {
        let said = format!(
            "   Compiling qm-x v0.1.0\n     Running unittests src/lib.rs (target/debug/deps/qm_x-1)\n{SAID}\nerror: test \
             failed, to rerun pass `-p qm-x --lib`\n     Running tests/all.rs (target/debug/deps/all-1)\ntest a ... \
             ok\nerror: test failed, to rerun pass `-p qm-x --test all`\n\nCaused by:\n  process didn't exit \
             successfully\n   Doc-tests qm_x\ntest result: ok. 3 passed; 0 failed\ntest result: ok. 2 passed; 0 failed\n"
        );
        let sections = sections(&said);
        let words = |index: usize| sections[index].again.as_ref().map(|words| words.join(" "));
        assert_eq!(sections.len(), 3);
        assert_eq!(words(0).as_deref(), Some("-p qm-x --lib"));
        assert_eq!(
            (sections[0].report.failures.len(), sections[0].report.passed),
            (2, 2)
        );
        assert_eq!(words(1).as_deref(), Some("-p qm-x --test all"));
        assert!(!sections[1].report.complete);
        assert_eq!(
            (words(2), sections[2].report.passed, sections[2].doc),
            (None, 5, true)
        );
    }
}
