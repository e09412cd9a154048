//! `cargo xtask bench`: builds the server and the guests in release, times that build, and runs the measuring program.

use std::process::Command;

use crate::{foreign, paths, plugins, run, setup};

/// Builds the programs and runs `qm-bench`, which starts the clients and the server, and prints the figures.
pub fn run(args: &[String]) -> Result<(), String> {
    setup::run(setup::Purpose::Bench)?;
    plugins::run()?;
    foreign::setup()?;
    foreign::run()?;
    let server = run::build_server("release")?;
    crate::cargo::run(&["build", "--release", "--package", "qm-bench"])?;
    let release = run::target().join("release");
    let status = Command::new(release.join("qm-bench"))
        .args(args)
        .env("QM_SERVER", server)
        .env("QM_PLUGINS_DIR", paths::plugins())
        .env("QM_FIXTURES_DIR", paths::fixtures())
        .status()
        .map_err(|error| format!("qm-bench did not start: {error}"))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("qm-bench ended with {status}"))
    }
}
