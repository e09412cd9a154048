//! `cargo xtask openapi`: the committed documents that the server prints itself, made anew or checked.

use std::path::Path;
use std::process::Command;

use crate::{paths, run};

/// A subcommand of the server, and the file that holds what it prints.
const DOCUMENTS: [(&str, &str); 2] = [("openapi", "docs/openapi.json"), ("settings", "docs/settings.md")];

/// Writes every document, or with `check` says whether they still tell the truth.
pub fn openapi(check: bool) -> Result<(), String> {
    let binary = run::build_server("dev")?;
    let mut stale = Vec::new();
    for (subcommand, file) in DOCUMENTS {
        let fresh = printed(&binary, subcommand)?;
        let path = paths::root().join(file);
        if std::fs::read(&path).unwrap_or_default() == fresh {
            continue;
        }
        if check {
            stale.push(file);
            continue;
        }
        std::fs::write(&path, fresh).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        println!("{file} written");
    }
    if stale.is_empty() {
        return Ok(());
    }
    Err(format!(
        "out of date: {}; run `cargo xtask openapi` and commit what changes",
        stale.join(", ")
    ))
}

fn printed(binary: &Path, subcommand: &str) -> Result<Vec<u8>, String> {
    let output = Command::new(binary)
        .arg(subcommand)
        .output()
        .map_err(|error| format!("`{} {subcommand}` did not start: {error}", binary.display()))?;
    if !output.status.success() {
        return Err(format!(
            "`quartermaster {subcommand}` failed: {}",
            String::from_utf8_lossy(&output.stderr)
        ));
    }
    Ok(output.stdout)
}
