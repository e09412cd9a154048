//! Components of other languages: the examples that tests load, and the tools that make them, each from its own registry
//! and in a place of its own in the cache.

use std::path::{Path, PathBuf};

use crate::{paths, setup};

/// An example in another language.
struct Example {
    /// Name of the component, without its ending.
    name: &'static str,
    /// Folder of its source, below the root.
    source: &'static str,
    /// The folder of the role's WIT, below the root, and the world.
    wit: &'static str,
    world: &'static str,
    /// The file that names the version of the tool, below the root.
    tool: &'static str,
    build: fn(&Example, to: &Path) -> Result<(), String>,
}

const PYTHON_TOOL: &str = "examples/engine-python/requirements.txt";
const JAVASCRIPT_TOOL: &str = "examples/engine-javascript/package-lock.json";

const EXAMPLES: &[Example] = &[
    Example {
        name: "transmission_py",
        source: "examples/engine-python",
        wit: "wit/engine@0.1.0",
        world: "engine-provider",
        tool: PYTHON_TOOL,
        build: python,
    },
    Example {
        name: "ntfy_py",
        source: "examples/channel-python",
        wit: "wit/channel@0.1.0",
        world: "notification-channel",
        tool: PYTHON_TOOL,
        build: python,
    },
    Example {
        name: "transmission_js",
        source: "examples/engine-javascript",
        wit: "wit/engine@0.1.0",
        world: "engine-provider",
        tool: JAVASCRIPT_TOOL,
        build: javascript,
    },
    Example {
        name: "tag_by_tracker_js",
        source: "examples/action-javascript",
        wit: "wit/actions@0.1.0",
        world: "action-set",
        tool: JAVASCRIPT_TOOL,
        build: javascript,
    },
];

/// Installs the tools that make components of Python and JavaScript.
pub fn setup() -> Result<(), String> {
    setup::python_environment("componentize-py", &paths::root().join(PYTHON_TOOL))?;
    node_environment()
}

/// Builds the examples whose source, contract or tool has changed.
pub fn run() -> Result<(), String> {
    for example in EXAMPLES {
        let file = paths::examples().join(format!("{}.wasm", example.name));
        setup::unless_made_of(&inputs(example)?, &file.with_extension("made-of"), || {
            let failed = |error: std::io::Error| format!("cannot write {}: {error}", file.display());
            std::fs::create_dir_all(paths::examples()).map_err(failed)?;
            // Not `.wasm` before it is whole.
            let partial = file.with_extension(format!("{}.tmp", std::process::id()));
            (example.build)(example, &partial)?;
            std::fs::rename(&partial, &file).map_err(failed)?;
            println!("{}", file.display());
            Ok(())
        })?;
    }
    Ok(())
}

/// Content of all inputs of a component, one after the other: compared to know if it must be built again.
fn inputs(example: &Example) -> Result<Vec<u8>, String> {
    let tool = paths::root().join(example.tool);
    let unreadable = |error| format!("cannot read {}: {error}", tool.display());
    let mut all = std::fs::read(&tool).map_err(unreadable)?;
    let wit = paths::root().join(example.wit);
    for dir in [
        paths::root().join(example.source),
        wit.clone(),
        wit.join("deps/base"),
    ] {
        let failed = |error: std::io::Error| format!("cannot read {}: {error}", dir.display());
        let mut files: Vec<PathBuf> = std::fs::read_dir(&dir)
            .map_err(failed)?
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.is_file())
            .collect();
        files.sort();
        for file in files {
            all.extend(
                file.to_string_lossy()
                    .bytes()
                    .rev()
                    .take_while(|&byte| byte != b'/'),
            );
            all.extend(std::fs::read(&file).map_err(failed)?);
        }
    }
    Ok(all)
}

fn python(example: &Example, to: &Path) -> Result<(), String> {
    let tool = paths::cache().join("componentize-py/bin/componentize-py");
    setup::command(
        &tool.to_string_lossy(),
        &[
            "--wit-path",
            example.wit,
            "--world",
            example.world,
            "componentize",
            "--python-path",
            example.source,
            "app",
            "--output",
            &to.to_string_lossy(),
        ],
    )
}

fn javascript(example: &Example, to: &Path) -> Result<(), String> {
    let tool = node_home().join("node_modules/.bin/componentize-js");
    let source = format!("{}/plugin.js", example.source);
    setup::command(
        &tool.to_string_lossy(),
        &[
            &source,
            "--wit",
            example.wit,
            "--world-name",
            example.world,
            // What it would import of WASI and does not need.
            "--disable",
            "stdio",
            "random",
            "clocks",
            "http",
            "fetch-event",
            "--out",
            &to.to_string_lossy(),
        ],
    )
}

/// Folder of the tools for JavaScript.
pub fn node_home() -> PathBuf {
    paths::cache().join("componentize-js")
}

/// The packages that make components of JavaScript, as the lock file of the engine says.
fn node_environment() -> Result<(), String> {
    let source = paths::root().join("examples/engine-javascript");
    let home = node_home();
    let failed = |error: std::io::Error| format!("cannot prepare {}: {error}", home.display());
    let lock = std::fs::read(source.join("package-lock.json")).map_err(failed)?;
    setup::unless_made_of(&lock, &home.join("made-of"), || {
        println!("installing componentize-js into {}", home.display());
        std::fs::create_dir_all(&home).map_err(failed)?;
        for file in ["package.json", "package-lock.json"] {
            std::fs::copy(source.join(file), home.join(file)).map_err(failed)?;
        }
        // Not `npm ci`: that takes a lock file without the addresses of a registry for stale, because of packages that other
        // platforms need. This keeps to the lock file too, versions and hashes.
        setup::command(
            "npm",
            &[
                "install",
                "--prefix",
                &home.to_string_lossy(),
                "--no-save",
                "--no-audit",
                "--no-fund",
                "--loglevel=error",
            ],
        )
    })
}
