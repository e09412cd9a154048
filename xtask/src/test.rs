//! `cargo xtask test`: everything, in the order that fails soonest.

use std::process::Command;

use crate::{foreign, paths, plugins, setup};

/// Sets the machine up, builds plugins and fixtures, and runs the tests of both workspaces. `args` go to the main
/// workspace's `cargo test` (a filter, say); with any, the plugins' own tests are left out.
pub fn run(args: &[String]) -> Result<(), String> {
    setup::run(setup::Purpose::Test)?;
    plugins::run()?;
    foreign::run()?;
    if args.is_empty() {
        println!("testing the plugins' own logic");
        cargo(
            &["test", "--manifest-path", "plugins/Cargo.toml", "--quiet"],
            Some(&paths::cache().join("target-plugins")),
        )?;
    }
    println!("testing the workspace");
    // One broken suite does not hide another: a whole run takes half an hour.
    let mut words = vec!["test", "--workspace", "--no-fail-fast"];
    words.extend(args.iter().map(String::as_str));
    cargo(&words, None)
}

fn cargo(args: &[&str], target: Option<&std::path::Path>) -> Result<(), String> {
    let mut command = Command::new("cargo");
    command.args(args).current_dir(paths::root());
    command
        .env("QM_PLUGINS_DIR", paths::plugins())
        .env("QM_FIXTURES_DIR", paths::fixtures())
        .env(paths::FIRST_PARTY, paths::first_party());
    if let Some(target) = target {
        command.env("CARGO_TARGET_DIR", target);
    }
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`cargo {}` ended with {status}", args.join(" "))),
        Err(error) => Err(format!("cargo did not start: {error}")),
    }
}
