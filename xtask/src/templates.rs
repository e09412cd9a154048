//! Components built from the templates of `quartermaster plugin new`, by the commands that the README of each names. The tests
//! check them against the contract. Each is built again when something in its folder, or the tool, has changed.

use std::path::{Path, PathBuf};
use std::process::Command;

use qm_templates::{Language, Name, Role, as_one, files};

use crate::{foreign, paths, plugins, setup};

/// Builds those that have changed, the languages side by side.
pub fn run() -> Result<(), String> {
    let build = |language: Language| move || Role::ALL.iter().try_for_each(|role| make(*role, language));
    std::thread::scope(|scope| {
        let lanes = Language::ALL.map(|language| scope.spawn(build(language)));
        let ends = lanes.map(|lane| lane.join().unwrap_or_else(|_| Err("a build was lost".to_owned())));
        let failures: Vec<String> = ends.into_iter().filter_map(Result::err).collect();
        if failures.is_empty() {
            Ok(())
        } else {
            Err(failures.join("\n"))
        }
    })
}

fn make(role: Role, language: Language) -> Result<(), String> {
    let name = Name::of_trial(role, language);
    let files = files(role, language, &name);
    let component = paths::examples().join(format!("{}.wasm", name.id()));
    let mut made_of = as_one(&files);
    made_of.extend(tool(language)?);
    setup::unless_made_of(&made_of, &component.with_extension("made-of"), || {
        let folder = paths::cache().join("templates").join(name.to_string());
        let failed = |path: &Path| {
            let path = path.display().to_string();
            move |error: std::io::Error| format!("cannot write {path}: {error}")
        };
        if folder.exists() {
            std::fs::remove_dir_all(&folder).map_err(failed(&folder))?;
        }
        for place in [folder.parent(), component.parent()].into_iter().flatten() {
            std::fs::create_dir_all(place).map_err(failed(place))?;
        }
        qm_templates::write(&folder, &files).map_err(|error| error.to_string())?;
        let built = build(role, language, &name, &folder).map_err(|error| format!("{name}: {error}"))?;
        // Not `.wasm` before it is whole.
        let partial = component.with_extension(format!("{}.tmp", std::process::id()));
        std::fs::copy(&built, &partial).map_err(failed(&partial))?;
        std::fs::rename(&partial, &component).map_err(failed(&component))?;
        println!("{}", component.display());
        Ok(())
    })
}

/// Content of the file that pins the tool: with another one the component is built again.
fn tool(language: Language) -> Result<Vec<u8>, String> {
    let read = |file: &str| {
        let file = paths::root().join(file);
        std::fs::read(&file).map_err(|error| format!("cannot read {}: {error}", file.display()))
    };
    match language {
        Language::Rust => read("plugins/Cargo.lock"),
        // The files of the template name the version.
        Language::Python => Ok(Vec::new()),
        Language::JavaScript => read("examples/engine-javascript/package-lock.json"),
    }
}

/// Builds it as its README says, and answers the component.
fn build(role: Role, language: Language, name: &Name, folder: &Path) -> Result<PathBuf, String> {
    let file = format!("{}.wasm", name.id());
    match language {
        Language::Rust => return plugins::build_template(folder),
        Language::Python => {
            let tool = paths::cache().join("componentize-py/bin/componentize-py");
            let (_, world) = role.contract();
            let mut words = vec!["--wit-path", "wit", "--world", world, "componentize"];
            words.extend(["--python-path", ".", "app", "--output", &file]);
            run_in(folder, Command::new(tool).args(words))?;
        }
        Language::JavaScript => {
            // The tools of the examples, in the place of those that `npm install` would bring.
            let path = std::env::var_os("PATH").unwrap_or_default();
            let tools = foreign::node_home().join("node_modules/.bin");
            let path = std::env::join_paths(std::iter::once(tools).chain(std::env::split_paths(&path)));
            let path = path.map_err(|error| format!("PATH: {error}"))?;
            run_in(
                folder,
                Command::new("npm")
                    .args(["run", "--silent", "build"])
                    .env("PATH", path),
            )?;
        }
    }
    Ok(folder.join(file))
}

fn run_in(folder: &Path, command: &mut Command) -> Result<(), String> {
    let shown = command.get_program().to_string_lossy().into_owned();
    match command.current_dir(folder).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{shown}` ended with {status}")),
        Err(error) => Err(format!("`{shown}` did not start: {error}")),
    }
}
