//! Finds the migrations in `migrations/sqlite` and `migrations/postgres`, so that no list of them is kept by hand.
//!
//! Their texts go into the generated source as literals, not as paths: a build is used by other checkouts too.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Variable with another folder than that of the checkout: for a copy of it that shares the build.
const FOLDER: &str = "QM_MIGRATIONS";

fn main() -> Result<(), Box<dyn Error>> {
    let crate_dir = std::env::var_os("CARGO_MANIFEST_DIR").ok_or("cargo says where the crate is")?;
    let own = PathBuf::from(crate_dir).join("../../migrations");
    let folder = std::env::var_os(FOLDER).map_or(own, PathBuf::from);
    println!("cargo::rerun-if-env-changed={FOLDER}");
    println!("cargo::rerun-if-changed=../../migrations/sqlite");
    println!("cargo::rerun-if-changed=../../migrations/postgres");
    let (sqlite, mut postgres) = (texts(&folder.join("sqlite"))?, texts(&folder.join("postgres"))?);
    let mut migrations = BTreeMap::new();
    for (name, sqlite) in sqlite {
        let postgres = postgres
            .remove(&name)
            .ok_or_else(|| format!("migrations/postgres lacks {name}.sql"))?;
        let number = name
            .split_once('_')
            .and_then(|(number, _)| number.parse::<i64>().ok());
        let version = number.ok_or_else(|| format!("{name}: name it NNNN_subject"))?;
        if let Some((other, ..)) = migrations.insert(version, (name.clone(), sqlite, postgres)) {
            return Err(format!("{other} and {name} have one number").into());
        }
    }
    if let Some(name) = postgres.keys().next() {
        return Err(format!("migrations/sqlite lacks {name}.sql").into());
    }
    let mut source = String::from("&[\n");
    for (version, (name, sqlite, postgres)) in migrations {
        writeln!(
            source,
            "Migration {{ version: {version}, name: {name:?}, sqlite: {sqlite:?}, postgres: {postgres:?} }},"
        )?;
    }
    source.push(']');
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("cargo says where to write")?);
    std::fs::write(out.join("migrations.rs"), source)?;
    Ok(())
}

/// Texts of the SQL files of a folder, by name without the ending.
fn texts(folder: &Path) -> Result<BTreeMap<String, String>, Box<dyn Error>> {
    let mut texts = BTreeMap::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "sql") {
            let name = path
                .file_stem()
                .ok_or("a file has a name")?
                .to_string_lossy()
                .into_owned();
            texts.insert(name, std::fs::read_to_string(&path)?);
        }
    }
    Ok(texts)
}
