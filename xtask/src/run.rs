//! `cargo xtask run`: from a clone to a running server.

use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cargo::cargo;
use crate::{paths, plugins, setup};

/// Sets the machine up, builds the plugins and the server, and becomes the server.
pub fn run(dev: bool, args: &[String]) -> Result<(), String> {
    setup::run(setup::Purpose::Run)?;
    plugins::run()?;
    let binary = build_server(if dev { "dev" } else { "release" })?;
    let mut server = Command::new(&binary);
    server.args(args);
    if std::env::var_os("PLUGINS_DIR").is_none() {
        server.env("PLUGINS_DIR", paths::plugins());
    }
    // The server takes this process's place, so that signals reach it.
    Err(format!("`{}` did not start: {}", binary.display(), server.exec()))
}

/// Builds the server in the profile, with the hashes of the plugins that were built on this machine. Answers its program.
pub fn build_server(profile: &str) -> Result<PathBuf, String> {
    build_server_in(&paths::root(), profile, |_| {})
}

/// Builds the server of another checkout; `prepare` adds what its build needs.
pub fn build_server_in(
    root: &Path,
    profile: &str,
    prepare: impl FnOnce(&mut Command),
) -> Result<PathBuf, String> {
    println!("building the server ({profile})");
    let mut cargo = cargo();
    cargo
        .args([
            "build",
            "--profile",
            profile,
            "--package",
            "qm-server",
            "--bin",
            "quartermaster",
        ])
        .current_dir(root);
    prepare(&mut cargo);
    let hashes = paths::first_party();
    if hashes.exists() {
        cargo.env(paths::FIRST_PARTY, hashes);
    }
    match cargo.status() {
        Ok(status) if status.success() => {}
        Ok(status) => return Err(format!("building the server ended with {status}")),
        Err(error) => return Err(format!("cargo did not start: {error}")),
    }
    let dir = if profile == "dev" { "debug" } else { profile };
    Ok(target().join(dir).join("quartermaster"))
}

/// Target directory of cargo.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| paths::root().join("target"), PathBuf::from)
}
