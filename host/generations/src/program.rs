//! A client's program on this machine: its path, its version, and its start.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use crate::proven::said_version;
use crate::{Generation, Product};

/// A client that can be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    generation: Generation,
    /// `None` for a program of this machine's own release.
    root: Option<PathBuf>,
    version: String,
}

impl Program {
    /// A missing program with this version.
    #[cfg(test)]
    pub(crate) fn saying(generation: Generation, version: &str) -> Program {
        Program {
            generation,
            root: None,
            version: version.to_owned(),
        }
    }

    pub fn generation(&self) -> Generation {
        self.generation
    }

    /// Version text of the program.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Starts the program; arguments are the caller's.
    ///
    /// # Panics
    /// When its root went away meanwhile.
    pub fn command(&self) -> Command {
        command(self.generation.product, self.root.as_deref())
            .unwrap_or_else(|missing| panic!("{self} is gone: {missing}"))
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Generation { product, suite } = self.generation;
        write!(f, "{} {} of {}", product.name(), self.version, suite.name())
    }
}

pub(crate) fn find(generation: Generation) -> Result<Program, String> {
    static KNOWN: Mutex<BTreeMap<Generation, Result<Program, String>>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().expect("nobody panics while they look for a program");
    known
        .entry(generation)
        .or_insert_with(|| look(generation))
        .clone()
}

fn look(generation: Generation) -> Result<Program, String> {
    let Generation { product, suite } = generation;
    let root = (!suite.is_this_machine()).then(|| suite.root());
    let missing = |why: String| {
        format!(
            "{} of {} is missing ({why}): `cargo xtask setup test` gets it",
            product.name(),
            suite.name()
        )
    };
    let version = version(product, root.as_deref()).map_err(missing)?;
    Ok(Program {
        generation,
        root,
        version,
    })
}

/// Version of a product's program in `root`, or of the one on the PATH.
///
/// # Errors
/// When it is missing, or lacks a library.
pub fn version(product: Product, root: Option<&Path>) -> Result<String, String> {
    // qBittorrent creates directories in the user's home first.
    let home = std::env::temp_dir().join(format!("qm-version-{}", std::process::id()));
    std::fs::create_dir_all(&home).map_err(|error| format!("{}: {error}", home.display()))?;
    let mut command = command(product, root)?;
    for variable in ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"] {
        command.env_remove(variable);
    }
    let output = command
        .arg(product.version_argument())
        .env("HOME", &home)
        .output();
    // A remaining one is an empty profile in the temporary directory.
    let _ = std::fs::remove_dir_all(&home);
    let output = output.map_err(|error| format!("{}: {error}", product.program()))?;
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    said_version(&text).ok_or_else(|| format!("it says no version but: {}", text.trim()))
}

fn command(product: Product, root: Option<&Path>) -> Result<Command, String> {
    match root {
        Some(root) => launcher(root, product.program()),
        None => Ok(Command::new(product.program())),
    }
}

/// Starts a program of `root` through that root's own dynamic loader, with that root's libraries.
fn launcher(root: &Path, program: &str) -> Result<Command, String> {
    let file = root.join("usr/bin").join(program);
    if !file.is_file() {
        return Err(format!("no {}", file.display()));
    }
    let libraries = library_directories(root);
    let loader = libraries
        .iter()
        .find_map(|directory| loader_in(directory))
        .ok_or_else(|| format!("no dynamic loader in {}", root.display()))?;
    let mut command = Command::new(loader);
    // Libraries missing in the root must not be taken from this machine.
    command.args(["--inhibit-cache", "--argv0", program, "--library-path"]);
    command.arg(joined(&libraries)?).arg(file);
    let existing = |parts: &[&str]| -> Vec<PathBuf> {
        let all = parts
            .iter()
            .flat_map(|part| libraries.iter().map(move |lib| lib.join(part)));
        all.filter(|directory| directory.is_dir()).collect()
    };
    // Modules that libraries load by a fixed path.
    command.env(
        "QT_PLUGIN_PATH",
        joined(&existing(&["qt6/plugins", "qt5/plugins"]))?,
    );
    command.env("OPENSSL_MODULES", joined(&existing(&["ossl-modules"]))?);
    Ok(command)
}

/// Directories of the root's own architecture, and private ones that a Qt library finds by a fixed path.
fn library_directories(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for base in ["usr/lib", "lib"] {
        let Ok(entries) = std::fs::read_dir(root.join(base)) else {
            continue;
        };
        for directory in entries.flatten().map(|entry| entry.path()) {
            if directory.to_string_lossy().contains("-linux-gnu") && directory.is_dir() {
                let private = directory.join("libproxy");
                found.push(directory);
                found.extend(Some(private).filter(|private| private.is_dir()));
            }
        }
    }
    found
}

/// `ld-linux-x86-64.so.2`, `ld-linux-aarch64.so.1`, …
fn loader_in(directory: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(directory).ok()?;
    entries.flatten().map(|entry| entry.path()).find(|path| {
        path.file_name()
            .and_then(|name| name.to_str())
            .is_some_and(|name| name.starts_with("ld-linux"))
    })
}

fn joined(directories: &[PathBuf]) -> Result<std::ffi::OsString, String> {
    std::env::join_paths(directories).map_err(|error| format!("a directory with a colon: {error}"))
}
