//! `cargo xtask test`: everything, in the order that fails soonest; or the tests of the crates that are named.

use std::process::Command;

use xtask::crates::{self, Needs};

use crate::retries::Tally;
use crate::{by_cargo, foreign, paths, plugins, programs, setup, templates};

/// Sets the machine up, builds plugins and fixtures, and runs the tests of both workspaces. `args` go to the main
/// workspace's `cargo test` (a filter, say); with any, the plugins' own tests are left out. When they name crates (`-p`),
/// those alone are built and tested, and what they need is set up.
pub fn run(args: &[String]) -> Result<(), String> {
    let crates = named(args);
    let known = if crates.is_empty() {
        Vec::new()
    } else {
        crates::read(&paths::root())?
    };
    let few: Option<Vec<&Needs>> = crates
        .iter()
        .map(|name| known.iter().find(|krate| krate.name == *name)?.needs.as_ref())
        .collect();
    match few {
        Some(few) if !few.is_empty() => {
            let packages = few.iter().flat_map(|needs| &needs.packages).map(String::as_str);
            let packages: Vec<&str> = packages.collect();
            setup::packages(&packages)?;
            if few.iter().any(|needs| needs.plugins) {
                plugins::run()?;
            }
        }
        _ => {
            setup::run(setup::Purpose::Test)?;
            plugins::run()?;
            foreign::run()?;
            templates::run()?;
            if !crates.is_empty() {
                // Tests of the whole server start its program, which is nothing that cargo would build for them.
                let mut words = vec!["build", "--bin", "quartermaster", "-p", "qm-server"];
                words.extend(crates.iter().flat_map(|krate| ["-p", krate]));
                cargo(&words, None)?;
            }
        }
    }
    let mut tally = Tally::default();
    if args.is_empty() {
        println!("testing the plugins' own logic");
        let target = paths::cache().join("target-plugins");
        for guests in ["plugins", "examples/transmission"] {
            let manifest = format!("--manifest-path={guests}/Cargo.toml");
            let words = ["test", "--no-fail-fast", &manifest, "--locked"].map(str::to_owned);
            tally.add(by_cargo::run(|words| command(words, Some(&target)), &words));
        }
        println!("testing the workspace");
        tally.add(programs::run(|words| command(words, None))?);
        return tally.settle();
    }
    // One broken suite does not hide another.
    let mut words = vec!["test".to_owned(), "--no-fail-fast".to_owned()];
    if crates.is_empty() {
        println!("testing the workspace");
        words.push("--workspace".to_owned());
    } else {
        println!("testing {}", crates.join(", "));
    }
    words.extend(args.iter().cloned());
    tally.add(by_cargo::run(|words| command(words, None), &words));
    tally.settle()
}

/// The crates that `-p` names, in each way cargo takes it. What stands behind `--` is for the tests.
fn named(args: &[String]) -> Vec<&str> {
    let mut crates = Vec::new();
    let mut words = args.iter().map(String::as_str).take_while(|word| *word != "--");
    while let Some(word) = words.next() {
        let joined = word
            .strip_prefix("--package=")
            .or_else(|| word.strip_prefix("-p").filter(|name| !name.is_empty()));
        if let Some(name) = joined {
            crates.push(name.trim_start_matches('='));
        } else if matches!(word, "-p" | "--package") {
            crates.extend(words.next());
        }
    }
    crates
}

/// Tests at once in one program.
pub const THREADS: &str = "RUST_TEST_THREADS";
/// More than this, and whole servers with their clients fill the memory.
const MOST_THREADS: usize = 12;

/// The longest tests wait for torrent clients most of their time: more of them than cores take a third of the time.
pub fn threads() -> usize {
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    cores.max((3 * cores).min(MOST_THREADS))
}

fn cargo(args: &[&str], target: Option<&std::path::Path>) -> Result<(), String> {
    setup::ended("cargo", args, &mut command(args, target))
}

/// Cargo with the environment that tests need.
fn command(args: &[&str], target: Option<&std::path::Path>) -> Command {
    let mut command = crate::cargo::cargo();
    command.args(args).current_dir(paths::root());
    command
        .env("QM_PLUGINS_DIR", paths::plugins())
        .env("QM_FIXTURES_DIR", paths::fixtures());
    if paths::first_party().exists() {
        command.env(paths::FIRST_PARTY, paths::first_party());
    }
    if std::env::var_os(THREADS).is_none() {
        command.env(THREADS, threads().to_string());
    }
    if let Some(target) = target {
        command.env("CARGO_TARGET_DIR", target);
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_are_named_in_each_way_cargo_takes() {
        let of = |text: &str| {
            let args: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
            named(&args).into_iter().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(of("-p qm-files trash"), ["qm-files"]);
        assert_eq!(
            of("--package qm-db -pqm-web --package=qm-net"),
            ["qm-db", "qm-web", "qm-net"]
        );
        assert_eq!(of("main_job -- -p x"), [""; 0]);
        assert_eq!(of(""), [""; 0]);
    }

    #[test]
    fn needs_of_crates_are_among_those_that_are_set_up() {
        for krate in crates::read(&paths::root()).unwrap() {
            for package in krate.needs.iter().flat_map(|needs| &needs.packages) {
                assert!(setup::knows(package), "{}: {package} is not set up", krate.name);
            }
        }
    }

    #[test]
    fn the_table_of_crates_is_up_to_date() {
        crate::generated::crates(true).unwrap();
    }
}
