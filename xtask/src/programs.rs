//! Test programs of the workspace, several at a time: most tests wait (for clients, leases, timers), and cargo runs one
//! program after the other.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::Instant;

use serde::Deserialize;

use crate::child::{self, SILENCE};
use crate::retries::{Suspect, Tally, cause_of};
use crate::test::{THREADS, threads};
use crate::{by_cargo, report};

/// Programs at once.
const LANES: usize = 3;
/// Crates whose programs run alone, at the end: guests that are given so much computing time and no more, and whole servers
/// with their torrent clients, which fill the machine by themselves.
const ALONE: [&str; 3] = ["qm-plugin-host", "qm-plugin-roles", "qm-tests"];
/// The program whose tests take longest and wait for most of that, and the folders of its tests that run beside the others:
/// about half of its time. In one row what comes last by the alphabet would be waited for alone.
const HALVED: (&str, &[&str]) = ("qm-tests all", &["files::", "notifications::", "torrents::"]);

/// Message of cargo about a program it has built; other messages have other fields.
#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    package_id: String,
    executable: Option<PathBuf>,
    manifest_path: Option<PathBuf>,
    target: Option<Target>,
    #[serde(default)]
    profile: Profile,
}

#[derive(Deserialize)]
struct Target {
    name: String,
}

#[derive(Default, Deserialize)]
struct Profile {
    #[serde(default)]
    test: bool,
}

/// A program with tests.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Program {
    /// Name of its package and its target, e.g. `qm-db db`.
    name: String,
    executable: PathBuf,
    /// Folder of its package, in which cargo runs it.
    folder: PathBuf,
    /// Arguments that select tests, as the test program takes them.
    args: Vec<String>,
}

/// Builds the tests of the workspace, runs them all and then those of the documentation. One broken program does not hide
/// another: a whole run takes half an hour.
///
/// # Errors
/// They could not be built.
pub fn run(command: impl Fn(&[&str]) -> Command) -> Result<Tally, String> {
    let mut tally = Tally::default();
    let (alone, mut others): (Vec<_>, Vec<_>) = build(&command)?
        .into_iter()
        .partition(|program| ALONE.iter().any(|krate| program.name.starts_with(krate)));
    others.sort_by_key(|program| rank(&program.name));
    tally.add(side_by_side(&command, others, LANES));
    let (halved, alone): (Vec<_>, Vec<_>) = alone.into_iter().partition(|program| program.name == HALVED.0);
    tally.add(side_by_side(&command, alone, 1));
    let halves: Vec<Program> = halved.into_iter().flat_map(halves).collect();
    tally.add(side_by_side(&command, halves, 2));
    let words = ["test", "--workspace", "--no-fail-fast", "--doc"].map(str::to_owned);
    tally.add(by_cargo::run(&command, &words));
    Ok(tally)
}

/// A program as two: the tests of some folders, and all others.
fn halves(whole: Program) -> [Program; 2] {
    // Not twice as many tests at once: while they do not wait, they need the machine.
    let threads = std::env::var_os(THREADS)
        .is_none()
        .then(|| threads() - threads() / 4);
    let threads = threads.map(|count| format!("--test-threads={count}"));
    let folders = HALVED.1.iter().map(|folder| (*folder).to_owned());
    let others = HALVED
        .1
        .iter()
        .flat_map(|folder| ["--skip".to_owned(), (*folder).to_owned()]);
    let first = Program {
        name: format!("{} ({})", whole.name, HALVED.1.join(", ")),
        args: folders.chain(threads.clone()).collect(),
        ..whole.clone()
    };
    let second = Program {
        name: format!("{} (others)", whole.name),
        args: others.chain(threads).collect(),
        ..whole
    };
    [first, second]
}

/// Place of a program in the queue: the slowest begin first, so that no lane waits for one at the end.
fn rank(name: &str) -> usize {
    const LONGEST: [&str; 5] = [
        "qm-jobs",
        "qm-files",
        "qm-file-operations",
        "qm-identity",
        "qm-torrents",
    ];
    LONGEST
        .iter()
        .position(|long| name.starts_with(long))
        .unwrap_or(LONGEST.len())
}

fn build(command: impl Fn(&[&str]) -> Command) -> Result<Vec<Program>, String> {
    let words = [
        "test",
        "--workspace",
        "--no-run",
        "--message-format=json-render-diagnostics",
    ];
    let built = command(&words)
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cargo did not start: {error}"))?;
    if !built.status.success() {
        return Err(format!("`cargo {}` ended with {}", words.join(" "), built.status));
    }
    programs(&String::from_utf8_lossy(&built.stdout))
}

/// The programs that cargo's messages name, one message a line.
fn programs(messages: &str) -> Result<Vec<Program>, String> {
    let mut programs = Vec::new();
    for line in messages.lines().filter(|line| line.starts_with('{')) {
        let message: Message =
            serde_json::from_str(line).map_err(|error| format!("cargo's message {line}: {error}"))?;
        let (Some(executable), Some(manifest), Some(target)) =
            (message.executable, message.manifest_path, message.target)
        else {
            continue;
        };
        if !message.profile.test {
            continue;
        }
        let folder = manifest.parent().unwrap_or(&manifest).to_owned();
        programs.push(Program {
            name: format!("{} {}", package(&message.package_id), target.name),
            executable,
            folder,
            args: Vec::new(),
        });
    }
    if programs.is_empty() {
        return Err("cargo built no test program".to_owned());
    }
    Ok(programs)
}

/// The name in a package id, e.g. `path+file:///src/host/db#qm-db@0.1.0`; one without a name has that of its folder.
fn package(id: &str) -> &str {
    let (place, version) = id.rsplit_once('#').unwrap_or((id, ""));
    match version.split_once('@') {
        Some((name, _)) => name,
        None => place.rsplit('/').next().unwrap_or(place),
    }
}

/// Runs the programs, `lanes` at a time, and prints the output of each in one piece.
fn side_by_side(command: &impl Fn(&[&str]) -> Command, programs: Vec<Program>, lanes: usize) -> Tally {
    // What the programs find in their environment is what cargo would have given them.
    let model = command(&[]);
    let environment: Vec<_> = model
        .get_envs()
        .filter_map(|(key, value)| Some((key.to_owned(), value?.to_owned())))
        .collect();
    let queue = Mutex::new(VecDeque::from(programs));
    let tally = Mutex::new(Tally::default());
    let next = || queue.lock().expect("a panic ends the scope").pop_front();
    std::thread::scope(|scope| {
        for _ in 0..lanes {
            scope.spawn(|| {
                while let Some(program) = next() {
                    let came_to = run_one(&program, &environment, lanes > 1);
                    tally.lock().expect("a panic ends the scope").add(came_to);
                }
            });
        }
    });
    tally.into_inner().expect("a panic ends the scope")
}

impl Program {
    fn command(&self, args: &[String], environment: &[(OsString, OsString)]) -> Command {
        let mut command = Command::new(&self.executable);
        command
            .args(args)
            .current_dir(&self.folder)
            .envs(environment.iter().map(|(key, value)| (key, value)))
            .env("CARGO_MANIFEST_DIR", &self.folder);
        command
    }
}

/// Runs a program's tests and counts those that passed and failed. `gathered`: its output is printed once it has ended,
/// because other programs print too.
fn run_one(program: &Program, environment: &[(OsString, OsString)], gathered: bool) -> Tally {
    let begun = Instant::now();
    println!("     Running {}", program.name);
    let mut command = program.command(&program.args, environment);
    let (said, end) = child::run(&mut command, !gathered, SILENCE);
    if gathered {
        print!("\n     Said by {}\n{said}", program.name);
    }
    println!(
        "     Ended {} after {} s",
        program.name,
        begun.elapsed().as_secs()
    );
    let report = report::read(&said);
    let mut tally = Tally {
        passed: report.passed,
        ..Tally::default()
    };
    if end.is_success() {
        return tally;
    }
    println!("{}: {}", program.name, end.tell());
    if report.complete && !report.failures.is_empty() {
        let alone = |(test, cause): (String, String)| Suspect {
            name: format!("{} {test}", program.name),
            cause,
            again: program.command(&only(&test), environment),
            single: true,
        };
        tally.suspects.extend(report.failures.into_iter().map(alone));
    } else {
        // It named none, so all of it runs again, and what passed now counts then.
        tally.passed = 0;
        tally.suspects.push(Suspect {
            name: program.name.clone(),
            cause: cause_of(&end.tell(), &report, &said),
            again: program.command(&program.args, environment),
            single: false,
        });
    }
    tally
}

/// Words that make a test program run one test and no other.
pub fn only(test: &str) -> Vec<String> {
    let words = ["--exact", test, "--include-ignored", "--test-threads=1"];
    words.map(str::to_owned).to_vec()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::Path;

    use super::*;

    #[test]
    fn programs_are_read_from_what_cargo_says() {
        let messages = r#"
{"reason":"compiler-artifact","package_id":"path+file:///src/host/db#qm-db@0.1.0","manifest_path":"/src/host/db/Cargo.toml","target":{"name":"schema"},"profile":{"test":true},"executable":"/target/debug/deps/schema-1"}
{"reason":"compiler-artifact","package_id":"path+file:///src/host/db#qm-db@0.1.0","manifest_path":"/src/host/db/Cargo.toml","target":{"name":"qm_db"},"profile":{"test":false},"executable":null}
{"reason":"compiler-artifact","package_id":"path+file:///src/bench#qm-bench@0.1.0","manifest_path":"/src/bench/Cargo.toml","target":{"name":"qm-bench"},"profile":{"test":false},"executable":"/target/debug/qm-bench"}
{"reason":"compiler-artifact","package_id":"path+file:///src/xtask#0.1.0","manifest_path":"/src/xtask/Cargo.toml","target":{"name":"xtask"},"profile":{"test":true},"executable":"/target/debug/deps/xtask-1"}
{"reason":"build-finished","success":true}
"#;
        let program = |name: &str, executable: &str, folder: &str| Program {
            name: name.to_owned(),
            executable: executable.into(),
            folder: folder.into(),
            args: Vec::new(),
        };
        assert_eq!(
            programs(messages),
            Ok(vec![
                program("qm-db schema", "/target/debug/deps/schema-1", "/src/host/db"),
                program("xtask xtask", "/target/debug/deps/xtask-1", "/src/xtask"),
            ])
        );
        assert!(programs("{\"reason\":\"build-finished\",\"success\":true}").is_err());
    }

    /// A test that is in neither half would never run.
    #[test]
    fn two_halves_are_the_whole() {
        let whole = Program {
            name: HALVED.0.to_owned(),
            executable: "/bin/true".into(),
            folder: "/".into(),
            args: Vec::new(),
        };
        let [first, others] = halves(whole);
        assert!(first.name != others.name && !first.args.is_empty());
        let folders: Vec<&str> = first
            .args
            .iter()
            .map(String::as_str)
            .take(HALVED.1.len())
            .collect();
        let skipped: Vec<&str> = others
            .args
            .iter()
            .map(String::as_str)
            .take(2 * folders.len())
            .collect();
        assert_eq!(folders, HALVED.1);
        let skips = folders.iter().flat_map(|folder| ["--skip", *folder]);
        assert_eq!(skipped, skips.collect::<Vec<_>>());
    }

    /// A program of this script; `$STATE` is a folder of its own.
    fn scripted(home: &Path, name: &str, script: &str) -> Program {
        let state = home.join(name.replace(' ', "-"));
        std::fs::create_dir_all(&state).unwrap();
        let executable = state.join("program");
        std::fs::write(
            &executable,
            format!("#!/bin/sh\nSTATE={}\n{script}", state.display()),
        )
        .unwrap();
        std::fs::set_permissions(&executable, std::fs::Permissions::from_mode(0o700)).unwrap();
        Program {
            name: name.to_owned(),
            executable,
            folder: "/".into(),
            args: Vec::new(),
        }
    }

    fn home(name: &str) -> PathBuf {
        let home = std::env::temp_dir().join(format!("xtask-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&home).unwrap();
        home
    }

    const GOOD: &str = "echo 'test result: ok. 3 passed; 0 failed; 0 ignored'";
    /// Talks like libtest: of two tests one fails, and `$AGAIN` is what that one does when it runs alone.
    const ONE_OF_TWO: &str = r#"
if [ "$1 $2" = "--exact a::late" ]; then
  touch "$STATE/again"
  eval "$AGAIN"
fi
echo 'test a::fine ... ok'
echo 'test a::late ... FAILED'
printf '\n---- a::late stdout ----\nthread %s panicked at x.rs:1:2:\nPoolTimedOut\n\n' "'a::late' (1)"
printf 'failures:\n    a::late\n\ntest result: FAILED. 1 passed; 1 failed; 0 ignored\n'
exit 101
"#;

    #[test]
    fn what_fails_once_and_then_passes_is_flaky_and_what_fails_twice_fails() {
        let home = home("flaky");
        let passes = "AGAIN=\"echo 'test result: ok. 1 passed; 0 failed'; exit 0\"";
        let once = scripted(&home, "once all", &format!("{passes}\n{ONE_OF_TWO}"));
        let twice = scripted(&home, "twice all", &format!("AGAIN=true\n{ONE_OF_TWO}"));
        let good = scripted(&home, "good all", GOOD);
        let cargo = |_: &[&str]| Command::new("cargo");
        let both = side_by_side(&cargo, vec![once.clone(), good.clone()], 2);
        assert_eq!(both.passed, 4);
        let named: Vec<_> = both
            .suspects
            .iter()
            .map(|one| (&*one.name, &*one.cause))
            .collect();
        assert_eq!(named, [("once all a::late", "x.rs:1:2: PoolTimedOut")]);
        assert_eq!(both.settle(), Ok(()));
        assert!(home.join("once-all/again").exists());
        let all = side_by_side(&cargo, vec![once, twice, good], 2);
        assert_eq!(all.settle(), Err("tests failed: twice all a::late".to_owned()));
        std::fs::remove_dir_all(&home).unwrap();
    }

    #[test]
    fn a_program_that_crashes_runs_once_more_as_a_whole() {
        let home = home("crash");
        let crash = "echo 'test a::fine ... ok'\necho 'has overflowed its stack' >&2\nkill -ABRT $$";
        let once = format!("if [ -e $STATE/again ]; then {GOOD}; exit 0; fi\ntouch $STATE/again\n{crash}");
        let once = scripted(&home, "once all", &once);
        let always = scripted(&home, "always all", crash);
        let missing = Program {
            executable: "/nowhere/to/be/found".into(),
            ..always.clone()
        };
        let cargo = |_: &[&str]| Command::new("cargo");
        let first = side_by_side(&cargo, vec![once], 1);
        let cause = &first.suspects[0].cause;
        assert!(
            cause.contains("SIGABRT") && cause.contains("overflowed its stack"),
            "{cause}"
        );
        assert_eq!((first.passed, first.settle()), (0, Ok(())));
        for broken in [always, missing] {
            let tally = side_by_side(&cargo, vec![broken], 2);
            assert_eq!(tally.settle(), Err("tests failed: always all".to_owned()));
        }
        std::fs::remove_dir_all(&home).unwrap();
    }
}
