//! Generated documents that are committed: those that the server prints itself (`cargo xtask openapi`), and the table of
//! crates (`cargo xtask crates`); written anew, or checked.

use std::path::Path;
use std::process::Command;

use xtask::crates;

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

/// Writes the table of crates, or with `check` says whether it still tells the truth.
pub fn crates(check: bool) -> Result<(), String> {
    let fresh = crates::document(&crates::read(&paths::root())?);
    let path = paths::root().join("docs/crates.md");
    if std::fs::read_to_string(&path).unwrap_or_default() == fresh {
        return Ok(());
    }
    if check {
        return Err(
            "out of date: docs/crates.md; run `cargo xtask crates` and commit what changes".to_owned(),
        );
    }
    std::fs::write(&path, fresh).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    println!("docs/crates.md written");
    Ok(())
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
