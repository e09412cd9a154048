//! `cargo xtask openapi`: the committed API document, made anew or checked.

use std::process::Command;

use crate::{paths, run};

const FILE: &str = "docs/openapi.json";

/// Writes `docs/openapi.json` from the server's own routes, or with `check` says whether it still tells the truth.
pub fn openapi(check: bool) -> Result<(), String> {
    crate::setup::command(
        "cargo",
        &["build", "--package", "qm-server", "--bin", "quartermaster"],
    )?;
    let binary = run::target().join("debug/quartermaster");
    let output = Command::new(&binary)
        .arg("openapi")
        .output()
        .map_err(|error| format!("`{} openapi` did not start: {error}", binary.display()))?;
    if !output.status.success() {
        return Err(format!(
            "`quartermaster openapi` failed: {}",
            String::from_utf8_lossy(&output.stderr)
        ));
    }
    let file = paths::root().join(FILE);
    let committed = std::fs::read(&file).unwrap_or_default();
    if committed == output.stdout {
        return Ok(());
    }
    if check {
        return Err(format!(
            "{FILE} is out of date: run `cargo xtask openapi` and commit what changes"
        ));
    }
    std::fs::write(&file, &output.stdout)
        .map_err(|error| format!("cannot write {}: {error}", file.display()))?;
    println!("{FILE} written");
    Ok(())
}
