//! Test programs of the workspace, several at a time: most tests wait (for clients, leases, timers), and cargo runs one
//! program after the other.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use serde::Deserialize;

use crate::test::{THREADS, threads};

/// Programs at once.
const LANES: usize = 3;
/// Crates whose programs run alone, at the end: guests that are given so much computing time and no more, and whole servers
/// with their torrent clients, which fill the machine by themselves.
const ALONE: [&str; 2] = ["qm-plugin-host", "qm-tests"];
/// The program whose tests take longest and wait for most of that, and the folders of its tests that run beside the others:
/// about half of its time. In one row what comes last by the alphabet would be waited for alone.
const HALVED: (&str, &[&str]) = ("qm-tests all", &["files::", "notifications::", "torrents::"]);

/// What cargo says of a program it has built; other messages have other fields.
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
    /// Its package and its target, e.g. `qm-db db`.
    name: String,
    executable: PathBuf,
    /// Folder of its package, in which cargo runs it.
    folder: PathBuf,
    /// Which of its tests: as the test program takes it.
    args: Vec<String>,
}

/// Builds the tests of the workspace with `build`, runs them all and then those of the documentation. One broken program does
/// not hide another: a whole run takes half an hour.
pub fn run(command: impl Fn(&[&str]) -> Command) -> Result<(), String> {
    let mut failed = Vec::new();
    let (alone, mut others): (Vec<_>, Vec<_>) = build(&command)?
        .into_iter()
        .partition(|program| ALONE.iter().any(|krate| program.name.starts_with(krate)));
    others.sort_by_key(|program| rank(&program.name));
    failed.extend(side_by_side(&command, others, LANES));
    let (halved, alone): (Vec<_>, Vec<_>) = alone.into_iter().partition(|program| program.name == HALVED.0);
    failed.extend(side_by_side(&command, alone, 1));
    let halves: Vec<Program> = halved.into_iter().flat_map(halves).collect();
    failed.extend(side_by_side(&command, halves, 2));
    let doc = command(&["test", "--workspace", "--doc", "--quiet"]).status();
    if !doc.is_ok_and(|status| status.success()) {
        failed.push("the documentation's tests".to_owned());
    }
    if failed.is_empty() {
        Ok(())
    } else {
        Err(format!("tests failed: {}", failed.join(", ")))
    }
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

/// The place of a program in the queue: what takes longest begins first, so that no lane waits for it at the end.
fn rank(name: &str) -> usize {
    const LONGEST: [&str; 4] = ["qm-jobs", "qm-files", "qm-identity", "qm-torrents"];
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

/// Runs them, `lanes` at a time, and prints what each said in one piece; the names of those that failed.
fn side_by_side(command: &impl Fn(&[&str]) -> Command, programs: Vec<Program>, lanes: usize) -> Vec<String> {
    // What the programs find in their environment is what cargo would have given them.
    let model = command(&[]);
    let environment: Vec<_> = model
        .get_envs()
        .filter_map(|(key, value)| Some((key.to_owned(), value?.to_owned())))
        .collect();
    let queue = Mutex::new(VecDeque::from(programs));
    let failed = Mutex::new(Vec::new());
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    std::thread::scope(|scope| {
        for _ in 0..lanes {
            scope.spawn(|| {
                while let Some(program) = next() {
                    if !run_one(&program, &environment, lanes > 1) {
                        let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                        failed.push(program.name);
                    }
                }
            });
        }
    });
    failed.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Whether its tests passed. `gathered`: what it says is printed once it has ended, for others talk too.
fn run_one(program: &Program, environment: &[(OsString, OsString)], gathered: bool) -> bool {
    let begun = Instant::now();
    let mut command = Command::new(&program.executable);
    command
        .args(&program.args)
        .current_dir(&program.folder)
        .envs(environment.iter().map(|(key, value)| (key, value)))
        .env("CARGO_MANIFEST_DIR", &program.folder);
    println!("     Running {}", program.name);
    let ended = if gathered {
        command.output().map(|output| {
            let (said, complained) = (output.stdout, output.stderr);
            print!(
                "\n     Said by {}\n{}{}",
                program.name,
                String::from_utf8_lossy(&said),
                String::from_utf8_lossy(&complained)
            );
            output.status
        })
    } else {
        command.status()
    };
    println!(
        "     Ended {} after {} s",
        program.name,
        begun.elapsed().as_secs()
    );
    match ended {
        Ok(status) if status.success() => true,
        Ok(status) => {
            println!("{} ended with {status}", program.name);
            false
        }
        Err(error) => {
            println!("{} did not start: {error}", program.executable.display());
            false
        }
    }
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn each_that_fails_is_named_and_the_others_run() {
        let program = |name: &str, executable: &str| Program {
            name: name.to_owned(),
            executable: executable.into(),
            folder: "/".into(),
            args: Vec::new(),
        };
        let all = vec![
            program("good", "/bin/true"),
            program("bad", "/bin/false"),
            program("missing", "/nowhere/to/be/found"),
        ];
        let mut failed = side_by_side(&|_| Command::new("cargo"), all, 2);
        failed.sort();
        assert_eq!(failed, ["bad", "missing"]);
    }
}
