//! Tests that cargo runs itself: of named crates, of other workspaces, of documentation.

use std::process::Command;

use crate::child::{self, End, SILENCE};
use crate::programs::only;
use crate::report::{self, Section};
use crate::retries::{Suspect, Tally, cause_of};

/// Options of `cargo test` that take the next word.
const VALUED: [&str; 17] = [
    "-p",
    "--package",
    "--exclude",
    "-F",
    "--features",
    "-j",
    "--jobs",
    "--profile",
    "--target",
    "--target-dir",
    "--manifest-path",
    "--lockfile-path",
    "--config",
    "--color",
    "--message-format",
    "-Z",
    "-C",
];
/// Options that say which programs of a crate are meant, alone and with a name.
const ALL_OF_A_KIND: [&str; 7] = [
    "--lib",
    "--bins",
    "--tests",
    "--examples",
    "--benches",
    "--all-targets",
    "--doc",
];
const ONE_OF_A_KIND: [&str; 4] = ["--bin", "--test", "--example", "--bench"];

/// Words of a `cargo test`, by what they are for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Words {
    /// The command, which crates, and how they are built.
    base: Vec<String>,
    /// Words that select test programs of the crates.
    targets: Vec<String>,
    /// Filter on the names of tests.
    filter: Option<String>,
    /// Words behind `--`.
    rest: Vec<String>,
}

/// Runs `cargo test`, prints its output as it comes, and returns the counts and failures.
pub fn run(command: impl Fn(&[&str]) -> Command, words: &[String]) -> Tally {
    let start = |words: &[String]| command(&words.iter().map(String::as_str).collect::<Vec<_>>());
    let (said, end) = child::run(&mut start(words), true, SILENCE);
    let sections = report::sections(&said);
    let mut tally = Tally::default();
    let shown = format!("cargo {}", words.join(" "));
    if matches!(end, End::Hung(_)) {
        let last = sections.last();
        let cause = last.map_or_else(|| end.tell(), |last| cause_of(&end.tell(), &last.report, ""));
        tally.suspects.push(Suspect {
            name: shown,
            cause,
            again: start(words),
            single: false,
        });
        return tally;
    }
    let parsed = Words::read(words);
    for section in sections {
        let crashed = section.again.is_some() && !section.names_failures();
        if !crashed {
            tally.passed += section.report.passed;
        }
        tally.suspects.extend(
            suspects(&parsed, section)
                .into_iter()
                .map(|(name, cause, words, single)| Suspect {
                    name,
                    cause,
                    again: start(&words),
                    single,
                }),
        );
    }
    if !end.is_success() && tally.suspects.is_empty() {
        tally.broken.push(format!("`{shown}`: {}", end.tell()));
    }
    tally
}

impl Section {
    fn names_failures(&self) -> bool {
        self.report.complete && !self.report.failures.is_empty()
    }
}

/// Failures of a program: name, cause, the words by which cargo runs it alone, and true when that is a single test.
fn suspects(words: &Words, section: Section) -> Vec<(String, String, Vec<String>, bool)> {
    let Some(again) = &section.again else {
        return Vec::new();
    };
    let targets = Words::read(again).targets;
    if !section.names_failures() {
        let cause = cause_of("it ended without naming a test", &section.report, "");
        return vec![(section.name, cause, words.whole(&targets), false)];
    }
    let failures = section.report.failures.into_iter();
    if section.doc {
        // Tests of documentation have spaces in their names, at which their program would part them.
        let (names, causes): (Vec<_>, Vec<_>) = failures.unzip();
        let name = format!("{}: {}", section.name, names.join(", "));
        let cause = causes.into_iter().next().unwrap_or_default();
        return vec![(name, cause, words.whole(&targets), true)];
    }
    // Only the file's name: its path is long and says nothing more.
    let program = section
        .name
        .rsplit('/')
        .next()
        .unwrap_or_default()
        .trim_end_matches(')');
    failures
        .map(|(test, cause)| {
            (
                format!("{program} {test}"),
                cause,
                words.words_for_test(&targets, &test),
                true,
            )
        })
        .collect()
}

impl Words {
    fn read(words: &[String]) -> Self {
        let mut read = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let named = word.split_once('=').map_or(&**word, |(name, _)| name);
            let takes_next = named == word;
            if word == "--" {
                read.rest.extend(words.by_ref().cloned());
            } else if ALL_OF_A_KIND.contains(&named) || ONE_OF_A_KIND.contains(&named) {
                read.targets.push(word.clone());
                if takes_next && ONE_OF_A_KIND.contains(&named) {
                    read.targets.extend(words.next().cloned());
                }
            } else if word.starts_with('-') || read.base.is_empty() {
                read.base.push(word.clone());
                if takes_next && VALUED.contains(&named) {
                    read.base.extend(words.next().cloned());
                }
            } else {
                read.filter = Some(word.clone());
            }
        }
        read
    }

    /// All that ran of these programs.
    fn whole(&self, targets: &[String]) -> Vec<String> {
        let mut words = [self.base.as_slice(), targets].concat();
        words.extend(self.filter.clone());
        words.push("--".to_owned());
        words.extend(self.rest.iter().cloned());
        words
    }

    /// Words that run one test alone.
    fn words_for_test(&self, targets: &[String], test: &str) -> Vec<String> {
        let mut words = [self.base.as_slice(), targets].concat();
        words.push("--".to_owned());
        words.extend(only(test));
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn words_are_told_apart() {
        let read = Words::read(&words(
            "test --no-fail-fast -p qm-db --features testing --test=suite --bin x late -- --nocapture --skip y",
        ));
        assert_eq!(
            read.base,
            words("test --no-fail-fast -p qm-db --features testing")
        );
        assert_eq!(read.targets, words("--test=suite --bin x"));
        assert_eq!(read.filter.as_deref(), Some("late"));
        assert_eq!(read.rest, words("--nocapture --skip y"));
        let one = read.words_for_test(&words("--lib"), "a::b");
        let expected = "test --no-fail-fast -p qm-db --features testing --lib -- --exact a::b --include-ignored \
                        --test-threads=1";
        assert_eq!(one, words(expected));
    }

    /// Stands in for cargo: says what that says, and, for one test, what its program would.
    fn fake(second: &'static str) -> impl Fn(&[&str]) -> Command {
        move |words: &[&str]| {
            let mut command = Command::new("sh");
            let first = "echo '     Running unittests src/lib.rs (target/debug/deps/qm_x-1)'
                printf -- '---- a::b stdout ----\\nthread %s panicked at x.rs:1:2:\\nlate\\n' \"'a::b' (1)\"
                printf 'failures:\\n    a::b\\n\\ntest result: FAILED. 4 passed; 1 failed\\n'
                echo 'error: test failed, to rerun pass `-p qm-x --lib`' >&2
                exit 101";
            let alone = words.contains(&"--exact") && words.contains(&"a::b") && words.contains(&"--lib");
            command.args(["-c", if alone { second } else { first }]);
            command
        }
    }

    #[test]
    fn a_test_that_cargo_ran_runs_once_more_alone() {
        let passes = "echo 'test result: ok. 1 passed; 0 failed'";
        let tally = run(fake(passes), &words("test -p qm-x filter"));
        assert_eq!(tally.passed, 4);
        assert_eq!(tally.suspects[0].name, "qm_x-1 a::b");
        assert_eq!(tally.suspects[0].cause, "x.rs:1:2: late");
        assert_eq!(tally.settle(), Ok(()));
        let tally = run(fake("exit 101"), &words("test -p qm-x filter"));
        assert_eq!(tally.settle(), Err("tests failed: qm_x-1 a::b".to_owned()));
    }

    #[test]
    fn a_build_that_fails_fails_the_run() {
        let broken = |_: &[&str]| {
            let mut command = Command::new("sh");
            command.args(["-c", "echo 'error: could not compile' >&2; exit 101"]);
            command
        };
        let why = run(broken, &words("test -p qm-x")).settle().unwrap_err();
        assert!(why.starts_with("tests failed: `cargo test -p qm-x`"), "{why}");
    }

    #[test]
    fn a_crash_and_tests_of_documentation_run_again_as_a_whole() {
        let read = Words::read(&words("test -p qm-x late -- --nocapture"));
        let section = |again: &str, doc: bool| Section {
            name: "qm_x".to_owned(),
            again: Some(words(again)),
            doc,
            ..Section::default()
        };
        let crash = suspects(&read, section("-p qm-x --test all", false));
        assert_eq!(crash[0].2, words("test -p qm-x --test all late -- --nocapture"));
        let mut doc = section("-p qm-x --doc", true);
        doc.report.complete = true;
        doc.report
            .failures
            .push(("src/lib.rs - (line 3)".to_owned(), "why".to_owned()));
        let doc = suspects(&read, doc);
        assert_eq!(doc[0].2, words("test -p qm-x --doc late -- --nocapture"));
        assert_eq!((&*doc[0].0, &*doc[0].1), ("qm_x: src/lib.rs - (line 3)", "why"));
    }
}
