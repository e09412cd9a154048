//! `cargo xtask area`: a new area, written from the templates in `xtask/area`, and the proof that adding one stays cheap.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use xtask::crates;

use crate::cargo::cargo;
use crate::{paths, run, setup};

/// Files of the crate, and the templates they are written from.
const FILES: &[(&str, &str)] = &[
    ("Cargo.toml", include_str!("../area/Cargo.toml.in")),
    ("src/lib.rs", include_str!("../area/lib.rs.in")),
    ("src/area.rs", include_str!("../area/area.rs.in")),
    ("src/model.rs", include_str!("../area/model.rs.in")),
    ("src/dto.rs", include_str!("../area/dto.rs.in")),
    ("src/error.rs", include_str!("../area/error.rs.in")),
    ("src/repo.rs", include_str!("../area/repo.rs.in")),
    ("src/service.rs", include_str!("../area/service.rs.in")),
    ("src/routes.rs", include_str!("../area/routes.rs.in")),
];
const SQLITE: &str = include_str!("../area/sqlite.sql.in");
const POSTGRES: &str = include_str!("../area/postgres.sql.in");

/// Files outside its crate that somebody who adds an area may have to touch, at most.
const MOST_TOUCHED: usize = 8;
/// Documents that programs write.
const GENERATED: [&str; 4] = [
    "Cargo.lock",
    "docs/openapi.json",
    "docs/settings.md",
    "docs/crates.md",
];

/// Writes the crate `host/NAME` and its migrations, and registers both. `name` is in lower case, its words joined by `-`.
///
/// # Errors
/// When the name is no name, or taken; when a file lacks the place where the area is registered.
pub fn create(root: &Path, name: &str) -> Result<(), String> {
    let is_word = |word: &str| {
        word.starts_with(|letter: char| letter.is_ascii_lowercase())
            && word
                .chars()
                .all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit())
    };
    if !name.split('-').all(is_word) {
        return Err(format!(
            "`{name}` is no name of an area: lower case, words joined by `-`"
        ));
    }
    let folder = root.join("host").join(name);
    if folder.exists() {
        return Err(format!("{} is there already", folder.display()));
    }
    let snake = name.replace('-', "_");
    let capital = |word: &str| word[..1].to_ascii_uppercase() + &word[1..];
    let pascal: String = name.split('-').map(capital).collect();
    let fill = |template: &str| {
        let text = template.replace("{{kebab}}", name).replace("{{snake}}", &snake);
        // A space keeps the braces of a list of imports apart from those of the template.
        text.replace("{ {{Pascal}}", &format!("{{{pascal}"))
            .replace("{{Pascal}}", &pascal)
    };
    let mut files = Vec::new();
    for (file, template) in FILES {
        files.push((folder.join(file), fill(template)));
    }
    let number = next_migration(root)?;
    for (database, template) in [("sqlite", SQLITE), ("postgres", POSTGRES)] {
        let file = format!("migrations/{database}/{number:04}_{snake}.sql");
        files.push((root.join(file), fill(template)));
    }
    let rows = format!(
        "    row(\"GET /api/{name}/notes\"),\n    row(\"POST /api/{name}/notes\").body(r#\"{{\"text\":\"a note\"}}\"#),\n"
    );
    for (file, before, text) in [
        (
            "Cargo.toml",
            "qm-system = ",
            format!("qm-{name} = {{ path = \"host/{name}\" }}\n"),
        ),
        (
            "host/server/Cargo.toml",
            "qm-system.workspace",
            format!("qm-{name}.workspace = true\n"),
        ),
        (
            "host/server/src/areas.rs",
            "];\n/// Time for an area",
            format!("    &qm_{snake}::AREA,\n"),
        ),
        ("tests/tests/all/table.rs", "    row(\"GET /api/audit\"),", rows),
    ] {
        files.push((root.join(file), with_text(root, file, before, &text)?));
    }
    let routes = [
        format!("GET\t/api/{name}/notes\tsettings.view"),
        format!("POST\t/api/{name}/notes\tsettings.manage"),
    ];
    let table = "tests/routes.tsv";
    files.push((root.join(table), with_sorted(root, table, &routes)?));
    // Last, so that a place that is not found leaves everything as it was.
    files.iter().try_for_each(|(path, text)| write(path, text))
}

/// Adds an area to a copy of the checkout, builds the server with it, runs its tests, and counts the files outside its crate
/// that were touched by hand.
///
/// # Errors
/// When something of it fails, or more files were touched than [`MOST_TOUCHED`].
pub fn check() -> Result<(), String> {
    let copy = paths::cache().join("sample-area");
    copy_checkout(&copy)?;
    create(&copy, "sample-area")?;
    // All crates at once: with some of them alone, cargo would choose other features and build the libraries anew.
    let tests = [
        "test",
        "--workspace",
        "--lib",
        "--",
        "a_note_is_kept",
        "areas::tests",
    ];
    ended(&copy, &tests)?;
    let server = run::build_server_in(&copy, "dev", |command| {
        in_copy(command, &copy);
    })?;
    let printed = Command::new(server)
        .arg("openapi")
        .output()
        .map_err(|error| format!("the server did not start: {error}"))?;
    if !String::from_utf8_lossy(&printed.stdout).contains("/api/sample-area/notes") {
        let said = String::from_utf8_lossy(&printed.stderr);
        return Err(format!(
            "the document lacks the routes of the sample area: {said}"
        ));
    }
    if !crates::document(&crates::read(&copy)?).contains("`host/sample-area`") {
        return Err("the table of crates lacks the sample area".to_owned());
    }
    let touched = touched(&copy)?;
    println!(
        "a new area touches {} files outside its crate: {touched:?}",
        touched.len()
    );
    if touched.len() > MOST_TOUCHED {
        return Err(format!("more than {MOST_TOUCHED} files"));
    }
    std::fs::remove_dir_all(&copy).map_err(|error| format!("cannot remove {}: {error}", copy.display()))
}

/// Files of the copy that differ from those of the checkout, the crate's own and generated ones left out.
fn touched(copy: &Path) -> Result<BTreeSet<String>, String> {
    let mut touched = BTreeSet::new();
    let mut open = vec![PathBuf::new()];
    while let Some(folder) = open.pop() {
        let failed = |error| format!("cannot read {}: {error}", copy.join(&folder).display());
        for entry in std::fs::read_dir(copy.join(&folder)).map_err(failed)? {
            let name = folder.join(entry.map_err(failed)?.file_name());
            let path = copy.join(&name);
            if path.is_dir() && !path.is_symlink() {
                open.push(name);
            } else if std::fs::read(&path).ok() != std::fs::read(paths::root().join(&name)).ok() {
                touched.insert(name.to_string_lossy().into_owned());
            }
        }
    }
    touched.retain(|file| !file.starts_with("host/sample-area/") && !GENERATED.contains(&file.as_str()));
    Ok(touched)
}

/// Copies what git knows of the checkout. Times stay, so that cargo builds nothing anew that it has built.
fn copy_checkout(copy: &Path) -> Result<(), String> {
    if copy.exists() {
        std::fs::remove_dir_all(copy)
            .map_err(|error| format!("cannot remove {}: {error}", copy.display()))?;
    }
    let listed = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(paths::root())
        .output()
        .map_err(|error| format!("git did not start: {error}"))?;
    for name in String::from_utf8_lossy(&listed.stdout)
        .split('\0')
        .filter(|name| !name.is_empty())
    {
        let (from, to) = (paths::root().join(name), copy.join(name));
        let failed = |error: std::io::Error| format!("cannot copy {}: {error}", from.display());
        if from.is_symlink() {
            // Interfaces find the one they are based on by a link to its folder.
            std::fs::create_dir_all(to.parent().unwrap_or(copy)).map_err(failed)?;
            let target = std::fs::read_link(&from).map_err(failed)?;
            std::os::unix::fs::symlink(target, &to).map_err(failed)?;
            continue;
        }
        if !from.is_file() {
            continue;
        }
        std::fs::create_dir_all(to.parent().unwrap_or(copy)).map_err(failed)?;
        std::fs::copy(&from, &to).map_err(failed)?;
        let time = std::fs::metadata(&from)
            .and_then(|data| data.modified())
            .map_err(failed)?;
        let file = std::fs::File::options().write(true).open(&to).map_err(failed)?;
        file.set_modified(time).map_err(failed)?;
    }
    Ok(())
}

fn ended(folder: &Path, args: &[&str]) -> Result<(), String> {
    setup::ended(
        "cargo",
        args,
        in_copy(cargo().args(args).current_dir(folder), folder),
    )
}

/// The copy shares the checkout's build, of which cargo knows one package by its path from the root: the crate of the migrations
/// must see that its folder is another one.
fn in_copy<'a>(command: &'a mut Command, copy: &Path) -> &'a mut Command {
    command
        .env("QM_MIGRATIONS", copy.join("migrations"))
        .env("CARGO_TARGET_DIR", run::target())
}

fn next_migration(root: &Path) -> Result<u32, String> {
    let folder = root.join("migrations/sqlite");
    let entries =
        std::fs::read_dir(&folder).map_err(|error| format!("cannot read {}: {error}", folder.display()))?;
    let numbers = entries.flatten().filter_map(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        name.split('_').next()?.parse::<u32>().ok()
    });
    Ok(numbers.max().unwrap_or_default() + 1)
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("cannot write {}: {error}", path.display());
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    std::fs::write(path, text).map_err(failed)
}

/// A file with a text inserted before the first place where another one stands.
fn with_text(root: &Path, file: &str, before: &str, text: &str) -> Result<String, String> {
    let mut content = read(&root.join(file))?;
    let at = content
        .find(before)
        .ok_or_else(|| format!("{file}: `{before}` is not there any more"))?;
    content.insert_str(at, text);
    Ok(content)
}

/// A file, whose first line is its heading, with lines sorted into it.
fn with_sorted(root: &Path, file: &str, lines: &[String]) -> Result<String, String> {
    let content = read(&root.join(file))?;
    let (heading, rest) = content
        .split_once('\n')
        .ok_or_else(|| format!("{file} is empty"))?;
    let mut all: Vec<&str> = rest.lines().chain(lines.iter().map(String::as_str)).collect();
    all.sort_unstable();
    Ok(format!("{heading}\n{}\n", all.join("\n")))
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}
