//! Builds the guests of `plugins/`, and the examples in Rust, and makes components of them.
//!
//! Owns: `<cache>/plugins/*.wasm` (what the server loads), `<cache>/first-party.txt` (their hashes, for the build of the server)
//! and `<cache>/plugins-fixtures/*.wasm` (what tests load).
//! A file is replaced in one step and only when its bytes changed, so a running server reloads nothing needlessly.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use crate::cargo::cargo;
use crate::{paths, setup};

/// Examples that tests load like fixtures: each a crate of its own, as somebody outside has it.
const EXAMPLES: &[&str] = &["examples/transmission"];
const TARGET: &str = "wasm32-unknown-unknown";

/// Builds every guest in release and writes its component. Quick when nothing changed: cargo decides that.
pub fn run() -> Result<(), String> {
    let guests = paths::root().join("plugins");
    let toolchain = Toolchain::find()?;
    let mut modules = build(&toolchain, &guests, &["--workspace"])?;
    for example in EXAMPLES {
        let found = build(&toolchain, &paths::root().join(example), &["--locked"])?;
        modules.extend(found.into_iter().map(|module| Module {
            is_fixture: true,
            ..module
        }));
    }
    let (mut fixtures, mut ours) = (BTreeSet::new(), String::new());
    for module in &modules {
        let dir = if module.is_fixture {
            paths::fixtures()
        } else {
            paths::plugins()
        };
        let (file, bytes, is_new) = write_component(module, &dir)?;
        if is_new {
            println!("{} ({} KiB)", file.display(), bytes / 1024);
        }
        if module.is_fixture {
            fixtures.insert(file);
        } else {
            ours.push_str(&sha256_of(&file)?);
            ours.push('\n');
        }
    }
    replace_if_changed(&paths::first_party(), ours.as_bytes())?;
    remove_stale(&paths::fixtures(), &fixtures)
}

/// Builds the crate in `path`, which may be anywhere, and writes its component there.
pub fn build_outside(path: &Path) -> Result<(), String> {
    let path = std::path::absolute(path).map_err(|error| format!("{}: {error}", path.display()))?;
    if !path.join("Cargo.toml").is_file() {
        return Err(format!(
            "{} has no Cargo.toml: name the folder of a crate",
            path.display()
        ));
    }
    let modules = build(&Toolchain::find()?, &path, &[])?;
    if modules.is_empty() {
        return Err(format!(
            "{} builds no library of type `cdylib`: add `[lib] crate-type = [\"cdylib\"]` to its Cargo.toml",
            path.display()
        ));
    }
    for module in &modules {
        let (file, bytes, _) = write_component(module, &path)?;
        println!("{} ({} KiB)", file.display(), bytes / 1024);
    }
    Ok(())
}

/// Makes components by itself, where rustup has it: what authors are told to build for.
const COMPONENTS: &str = "wasm32-wasip2";

/// Builds the crate that `quartermaster plugin new` wrote into `folder`, and answers its component. It is given the versions
/// of our own guests, so that what they depend on is built once.
pub fn build_template(folder: &Path) -> Result<PathBuf, String> {
    let lock = paths::root().join("plugins/Cargo.lock");
    std::fs::copy(&lock, folder.join("Cargo.lock"))
        .map_err(|error| format!("cannot copy {}: {error}", lock.display()))?;
    let toolchain = Toolchain::find()?;
    if matches!(toolchain, Toolchain::Own) && setup::rustup_target(COMPONENTS) {
        let mut cargo = toolchain.cargo_for(COMPONENTS);
        return built(build_with(&mut cargo, folder, &[])?).map(|module| module.file);
    }
    println!("no compiler for {COMPONENTS} here: the component is made of a module for {TARGET}");
    let module = built(build(&toolchain, folder, &[])?)?;
    write_component(&module, folder).map(|(file, _, _)| file)
}

/// The one guest of a crate.
fn built(modules: Vec<Module>) -> Result<Module, String> {
    let module = modules.into_iter().next();
    module.ok_or_else(|| "it builds no library of type `cdylib`".to_owned())
}

/// Makes a component of a guest and writes it into `dir`: its file, its size in bytes, and whether it was not there already.
fn write_component(module: &Module, dir: &Path) -> Result<(PathBuf, usize, bool), String> {
    let file = dir.join(format!("{}.wasm", module.name));
    let core = std::fs::read(&module.file)
        .map_err(|error| format!("cannot read {}: {error}", module.file.display()))?;
    let component =
        component_of(&core).map_err(|error| format!("{} is not a component: {error}", module.name))?;
    let is_new = replace_if_changed(&file, &component)?;
    Ok((file, component.len(), is_new))
}

fn sha256_of(file: &Path) -> Result<String, String> {
    let bytes = std::fs::read(file).map_err(|error| format!("cannot read {}: {error}", file.display()))?;
    Ok(hex::encode(Sha256::digest(&bytes)))
}

/// Toolchain that compiles for wasm.
enum Toolchain {
    /// The active toolchain has the target, installed by rustup.
    Own,
    /// The distribution's compiler with the sources of its standard library, linked by `linker`.
    Distribution { linker: PathBuf },
}

impl Toolchain {
    fn find() -> Result<Self, String> {
        if setup::wasm_target() {
            return Ok(Self::Own);
        }
        let how = "no toolchain here builds for wasm. Run `rustup target add wasm32-unknown-unknown`, or on Debian \
                   `apt-get install --no-install-recommends rustc-web rust-web-src lld`";
        if !Path::new(setup::DISTRIBUTION_RUSTC).exists() || !setup::distribution_std_source() {
            return Err(how.to_owned());
        }
        let linker = bundled_linker()
            .or_else(|| paths::find_program("wasm-ld"))
            .ok_or(how)?;
        Ok(Self::Distribution { linker })
    }

    fn cargo(&self) -> Command {
        self.cargo_for(TARGET)
    }

    fn cargo_for(&self, target: &str) -> Command {
        let mut command = cargo();
        command.args(["build", "--release", "--target", target]);
        if let Self::Distribution { linker } = self {
            command
                .arg("-Zbuild-std=std,panic_abort")
                .env("RUSTC", setup::DISTRIBUTION_RUSTC)
                .env("RUSTC_BOOTSTRAP", "1")
                .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker);
        }
        command
    }
}

/// The linker that comes with rustup's toolchains.
fn bundled_linker() -> Option<PathBuf> {
    let host_dirs = std::fs::read_dir(setup::sysroot("rustc")?.join("lib/rustlib")).ok()?;
    host_dirs
        .flatten()
        .map(|dir| dir.path().join("bin/rust-lld"))
        .find(|linker| linker.is_file())
}

/// A guest as cargo left it.
struct Module {
    name: String,
    is_fixture: bool,
    file: PathBuf,
}

/// Part of cargo's messages that names the built files.
#[derive(Deserialize)]
struct Message {
    reason: String,
    manifest_path: Option<PathBuf>,
    target: Option<Target>,
    #[serde(default)]
    filenames: Vec<PathBuf>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

/// Builds what `args` choose of the workspace or crate in `guests`.
fn build(toolchain: &Toolchain, guests: &Path, args: &[&str]) -> Result<Vec<Module>, String> {
    build_with(&mut toolchain.cargo(), guests, args)
}

fn build_with(cargo: &mut Command, guests: &Path, args: &[&str]) -> Result<Vec<Module>, String> {
    let mut child = cargo
        .args(args)
        .current_dir(guests)
        .arg("--target-dir")
        .arg(paths::cache().join("wasm"))
        .arg("--message-format=json-render-diagnostics")
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("cannot start cargo: {error}"))?;
    let stdout = child.stdout.take().ok_or("cargo has no output")?;
    let mut modules = Vec::new();
    for line in BufReader::new(stdout).lines() {
        let line = line.map_err(|error| format!("cannot read what cargo says: {error}"))?;
        let Ok(message) = serde_json::from_str::<Message>(&line) else {
            continue;
        };
        modules.extend(module_of(message, &guests.join("fixtures")));
    }
    let status = child.wait().map_err(|error| format!("cargo was lost: {error}"))?;
    if status.success() {
        Ok(modules)
    } else {
        Err("the guests do not build".to_owned())
    }
}

/// The guest a message of cargo is about, if it is about one.
fn module_of(message: Message, fixtures: &Path) -> Option<Module> {
    let target = message.target?;
    if message.reason != "compiler-artifact" || !target.kind.iter().any(|kind| kind == "cdylib") {
        return None;
    }
    let file = message
        .filenames
        .into_iter()
        .find(|file| file.extension().is_some_and(|ext| ext == "wasm"))?;
    let is_fixture = message.manifest_path?.starts_with(fixtures);
    Some(Module {
        name: target.name.replace('-', "_"),
        is_fixture,
        file,
    })
}

fn component_of(core: &[u8]) -> Result<Vec<u8>, String> {
    let mut encoder = wit_component::ComponentEncoder::default();
    encoder
        .validate(true)
        .module(core)
        .map_err(|error| format!("{error:#}"))?;
    encoder.encode().map_err(|error| format!("{error:#}"))
}

/// Writes beside the file and renames over it. False when the file has these bytes already.
fn replace_if_changed(file: &Path, bytes: &[u8]) -> Result<bool, String> {
    if std::fs::read(file).is_ok_and(|old| old == bytes) {
        return Ok(false);
    }
    let failed = |error: std::io::Error| format!("cannot write {}: {error}", file.display());
    if let Some(dir) = file.parent() {
        std::fs::create_dir_all(dir).map_err(failed)?;
    }
    // Not `.wasm`: a server that watches the directory must not see the half of it.
    let temporary = file.with_extension(format!("{}.tmp", std::process::id()));
    std::fs::write(&temporary, bytes).map_err(failed)?;
    std::fs::rename(&temporary, file).map_err(failed)?;
    Ok(true)
}

/// A fixture that is no longer built must not be tested any more.
fn remove_stale(dir: &Path, built: &BTreeSet<PathBuf>) -> Result<(), String> {
    let Ok(entries) = std::fs::read_dir(dir) else {
        return Ok(());
    };
    for file in entries.flatten().map(|entry| entry.path()) {
        if file.extension().is_some_and(|ext| ext == "wasm") && !built.contains(&file) {
            std::fs::remove_file(&file)
                .map_err(|error| format!("cannot remove {}: {error}", file.display()))?;
        }
    }
    Ok(())
}
