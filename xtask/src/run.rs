//! `cargo xtask run`: from a clone to a running server.

use std::os::unix::process::CommandExt as _;
use std::process::Command;

use crate::{paths, plugins, setup};

/// Sets the machine up, builds the plugins and the server, and becomes the server.
pub fn run(dev: bool, args: &[String]) -> Result<(), String> {
    setup::run(setup::Purpose::Run)?;
    plugins::run()?;
    let profile = if dev { "dev" } else { "release" };
    println!("building the server ({profile})");
    setup::command(
        "cargo",
        &[
            "build",
            "--profile",
            profile,
            "--package",
            "qm-server",
            "--bin",
            "quartermaster",
        ],
    )?;
    let binary = target()
        .join(if dev { "debug" } else { "release" })
        .join("quartermaster");
    let mut server = Command::new(&binary);
    server.args(args);
    if std::env::var_os("PLUGINS_DIR").is_none() {
        server.env("PLUGINS_DIR", paths::plugins());
    }
    // The server takes this process's place, so that signals reach it.
    Err(format!("`{}` did not start: {}", binary.display(), server.exec()))
}

/// Where cargo puts what it builds.
pub fn target() -> std::path::PathBuf {
    std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| paths::root().join("target"), std::path::PathBuf::from)
}
