//! Finds the migrations in `migrations/sqlite` and `migrations/postgres`, so that no list of them is kept by hand.
//!
//! Their texts go into the generated source as literals, not as paths: a build is used by other checkouts too.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    let crate_dir =
        PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").ok_or("cargo says where the crate is")?);
    let folder = crate_dir.join("../../migrations");
    println!("cargo::rerun-if-changed=../../migrations/sqlite");
    println!("cargo::rerun-if-changed=../../migrations/postgres");
    let (sqlite, mut postgres) = (texts(&folder.join("sqlite"))?, texts(&folder.join("postgres"))?);
    let mut source = String::from("&[\n");
    let mut versions = BTreeMap::new();
    for (name, sqlite) in sqlite {
        let postgres = postgres
            .remove(&name)
            .ok_or_else(|| format!("migrations/postgres lacks {name}.sql"))?;
        let (number, _) = name
            .split_once('_')
            .ok_or_else(|| format!("{name}: name it NNNN_subject"))?;
        let version: i64 = number
            .parse()
            .map_err(|_| format!("{name}: name it NNNN_subject"))?;
        if let Some(other) = versions.insert(version, name.clone()) {
            return Err(format!("{other} and {name} have one number").into());
        }
        writeln!(
            source,
            "Migration {{ version: {version}, name: {name:?}, sqlite: {sqlite:?}, postgres: {postgres:?} }},"
        )?;
    }
    if let Some(name) = postgres.keys().next() {
        return Err(format!("migrations/sqlite lacks {name}.sql").into());
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
