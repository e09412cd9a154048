//! Second runs: failed tests run once more, alone, when all else is over. Those that pass then are flaky: a defect, but none of
//! the change that is tested, so a run bears a few of them ([ADR 58](../../docs/adr/058-what-fails-once-runs-once-more.md)).

use std::process::Command;
use std::time::Duration;

use crate::child::{self, SILENCE};
use crate::report::{self, Report};

/// Flaky tests with which a run still passes.
const MOST_FLAKY: usize = 3;
/// Second runs: with more failures the run fails whatever they show, and each may take minutes.
const MOST_RETRIES: usize = 12;

/// Test that failed once, and the command that runs it alone.
pub struct Suspect {
    /// Names of the program and the test; for a program that named no test, of the program alone.
    pub name: String,
    /// The first line of its failure.
    pub cause: String,
    /// Runs it alone, and nothing else.
    pub again: Command,
    /// True when that runs one test, rather than all of a program.
    pub single: bool,
}

/// Result of all programs together.
#[derive(Default)]
pub struct Tally {
    pub passed: usize,
    pub suspects: Vec<Suspect>,
    /// Failures that cannot be run once more: a build, for example.
    pub broken: Vec<String>,
}

/// End of a suspect.
enum Verdict {
    /// Tests that passed by it.
    Flaky(usize),
    Failed(String),
}

impl Tally {
    pub fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.suspects.extend(other.suspects);
        self.broken.extend(other.broken);
    }

    /// Runs the failed tests once more and prints the final result.
    ///
    /// # Errors
    /// Something failed twice, or more failed once than is borne.
    pub fn settle(self) -> Result<(), String> {
        self.settle_within(SILENCE)
    }

    fn settle_within(self, silence: Duration) -> Result<(), String> {
        let (mut passed, mut lines) = (self.passed, Vec::new());
        let (mut flaky, mut failed) = (0, self.broken.clone());
        lines.extend(self.broken.iter().map(|what| format!("failed: {what}")));
        for (count, mut suspect) in self.suspects.into_iter().enumerate() {
            let first = if suspect.cause.is_empty() {
                "nothing said"
            } else {
                &suspect.cause
            };
            let verdict = if count < MOST_RETRIES {
                println!("\n     Once more, alone: {}", suspect.name);
                retry(&mut suspect.again, suspect.single, silence)
            } else {
                Verdict::Failed(format!("not run again: more than {MOST_RETRIES} failed"))
            };
            match verdict {
                Verdict::Flaky(more) => {
                    flaky += 1;
                    passed += more;
                    lines.push(format!("flaky: {} (first failure: {first})", suspect.name));
                }
                Verdict::Failed(second) => {
                    lines.push(format!(
                        "failed: {} (first failure: {first}; again: {second})",
                        suspect.name
                    ));
                    failed.push(suspect.name);
                }
            }
        }
        println!();
        for line in lines {
            println!("{line}");
        }
        println!("{passed} passed, {} failed", failed.len());
        if flaky > 0 {
            println!("{flaky} flaky, of at most {MOST_FLAKY}");
        }
        if !failed.is_empty() {
            return Err(format!("tests failed: {}", failed.join(", ")));
        }
        if flaky > MOST_FLAKY {
            return Err(format!(
                "{flaky} tests failed and passed when they ran once more; a run passes with {MOST_FLAKY} of them at most"
            ));
        }
        Ok(())
    }
}

fn retry(again: &mut Command, single: bool, silence: Duration) -> Verdict {
    let (said, end) = child::run(again, true, silence);
    // Cargo may begin several programs for one test: what all of them said is added up.
    let report = report::read(&said);
    if end.is_success() && report.failures.is_empty() && (report.passed > 0 || !single) {
        let more = if single { 1 } else { report.passed };
        return Verdict::Flaky(more);
    }
    let told = report.failures.into_iter().next().map(|(_, cause)| cause);
    let nothing = end.is_success().then(|| "no test of this name ran".to_owned());
    Verdict::Failed(told.or(nothing).unwrap_or_else(|| end.tell()))
}

/// A program that failed without naming a test: that it crashed, or hung, and which of its tests may have done it.
pub fn cause_of(end: &str, report: &Report, said: &str) -> String {
    if !report.unfinished.is_empty() {
        return format!("{end}, during {}", report.unfinished.join(", "));
    }
    // The last words of a program that ends itself tell of why.
    match said.lines().rev().find(|line| !line.trim().is_empty()) {
        Some(last) => format!("{end}, after {:?}", last.chars().take(200).collect::<String>()),
        None => end.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn suspect(name: &str, script: &str, single: bool) -> Suspect {
        let mut again = Command::new("sh");
        again.args(["-c", script]);
        Suspect {
            name: name.to_owned(),
            cause: "it was late".to_owned(),
            again,
            single,
        }
    }

    fn settle(suspects: Vec<Suspect>) -> Result<(), String> {
        let tally = Tally {
            passed: 5,
            suspects,
            broken: Vec::new(),
        };
        tally.settle()
    }

    const PASSES: &str = "echo 'test result: ok. 1 passed; 0 failed; 0 ignored'";
    const FAILS: &str =
        "printf 'failures:\\n    a::b\\n\\ntest result: FAILED. 0 passed; 1 failed\\n'; exit 101";

    #[test]
    fn three_flaky_tests_are_borne_and_a_fourth_is_not() {
        let of = |count: usize| (0..count).map(|_| suspect("a::b", PASSES, true)).collect();
        assert_eq!(settle(of(0)), Ok(()));
        assert_eq!(settle(of(MOST_FLAKY)), Ok(()));
        let why = settle(of(MOST_FLAKY + 1)).unwrap_err();
        assert!(why.starts_with("4 tests failed and passed"), "{why}");
    }

    #[test]
    fn a_test_that_fails_twice_fails_the_run() {
        let suspects = vec![suspect("a::b", FAILS, true), suspect("c", PASSES, true)];
        assert_eq!(settle(suspects), Err("tests failed: a::b".to_owned()));
    }

    #[test]
    fn a_second_run_that_runs_nothing_proves_nothing() {
        let none = "echo 'test result: ok. 0 passed; 0 failed; 1 filtered out'";
        assert!(settle(vec![suspect("a::b", none, true)]).is_err());
    }

    #[test]
    fn a_program_that_crashes_or_hangs_twice_fails_the_run() {
        for (script, silence) in [("kill -ABRT $$", SILENCE), ("sleep 600", Duration::from_secs(1))] {
            let tally = Tally {
                suspects: vec![suspect("qm-x all", script, false)],
                ..Tally::default()
            };
            assert_eq!(
                tally.settle_within(silence),
                Err("tests failed: qm-x all".to_owned())
            );
        }
        assert_eq!(settle(vec![suspect("qm-x all", PASSES, false)]), Ok(()));
    }

    #[test]
    fn of_many_failures_some_run_again_and_all_are_told() {
        let home = std::env::temp_dir().join(format!("xtask-retries-{}", std::process::id()));
        std::fs::create_dir_all(&home).unwrap();
        let touched = |index: usize| home.join(index.to_string());
        let script = |path: &Path| format!("touch {}; {PASSES}", path.display());
        let suspects = (0..MOST_RETRIES + 2).map(|index| suspect("a::b", &script(&touched(index)), true));
        let outcome = settle(suspects.collect());
        let ran = (0..MOST_RETRIES + 2)
            .filter(|&index| touched(index).exists())
            .count();
        std::fs::remove_dir_all(&home).unwrap();
        assert_eq!(ran, MOST_RETRIES);
        assert_eq!(outcome, Err("tests failed: a::b, a::b".to_owned()));
    }

    #[test]
    fn what_cannot_run_again_fails_the_run() {
        let tally = Tally {
            broken: vec!["the build".to_owned()],
            ..Tally::default()
        };
        assert_eq!(tally.settle(), Err("tests failed: the build".to_owned()));
    }

    #[test]
    fn the_cause_of_a_program_names_what_was_under_way() {
        let mut report = Report::default();
        let cause = cause_of("it hung", &report, "a\nthread 'x' has overflowed its stack\n\n");
        assert_eq!(cause, "it hung, after \"thread 'x' has overflowed its stack\"");
        report.unfinished.push("service::slow".to_owned());
        assert_eq!(cause_of("it hung", &report, "a"), "it hung, during service::slow");
    }
}
