//! Plain words in documentation: a description begins with its noun, and a function is called by a verb and an object.

use std::path::{Path, PathBuf};

/// Words that no description begins with: they open a clause, not the name of a thing.
const CLAUSES: &[&str] = &["What", "Whether", "Who", "Whom", "Whose", "How", "Of", "So"];
/// Names that say nothing of what a function does.
const BARE: &[&str] = &["told", "said", "of", "one", "at", "is", "may", "so"];
/// Folders of sources; of the plugin contract the version that is still being made, for the others are frozen.
const FOLDERS: &[&str] = &["host", "plugins", "xtask", "bench", "tests", "wit/engine@0.2.0"];

fn root() -> PathBuf {
    let here = std::env::var("CARGO_MANIFEST_DIR").expect("cargo says where");
    let parent = Path::new(&here).parent();
    parent.expect("xtask lies in the workspace").to_path_buf()
}

/// Faults of one file: descriptions that begin with a clause, and functions with a bare name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Faults {
    clauses: usize,
    names: usize,
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            if !path.ends_with("target") && !path.ends_with("deps") {
                sources(&path, found);
            }
        } else if path.extension().is_some_and(|end| end == "rs" || end == "wit") {
            found.push(path);
        }
    }
}

/// Text of a line of documentation.
fn description(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let text = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"))?;
    Some(text.trim())
}

fn faults(source: &str) -> Faults {
    let mut faults = Faults::default();
    let mut before: Option<&str> = None;
    for line in source.lines() {
        let text = description(line);
        // A paragraph begins where there was no text before.
        if let Some(text) = text
            && before.is_none_or(str::is_empty)
        {
            let first = text.split(|letter: char| !letter.is_alphanumeric()).next();
            faults.clauses += usize::from(first.is_some_and(|first| CLAUSES.contains(&first)));
        }
        before = text;
        let declared = line.split_once("fn ").map(|(_, rest)| rest);
        let name = declared.and_then(|rest| rest.split(['(', '<']).next());
        let is_code = text.is_none() && !line.trim_start().starts_with("//");
        faults.names += usize::from(is_code && name.is_some_and(|name| BARE.contains(&name)));
    }
    faults
}

#[test]
fn descriptions_begin_with_nouns_and_functions_say_what_they_do() {
    let root = root();
    let mut found = Vec::new();
    for folder in FOLDERS {
        let before = found.len();
        sources(&root.join(folder), &mut found);
        assert!(found.len() > before, "{folder} has sources");
    }
    let mut wrong = Vec::new();
    for path in found {
        let read = std::fs::read_to_string(&path).expect("a source is a text");
        let faults = faults(&read);
        if faults != Faults::default() {
            let path = path.strip_prefix(&root).expect("it lies below").display();
            wrong.push(format!(
                "{path}: {} descriptions, {} names",
                faults.clauses, faults.names
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "a description begins with its noun (none of {CLAUSES:?}), and a function is a verb and an object (none of {BARE:?}): {wrong:#?}"
    );
}

#[test]
fn first_lines_and_names_are_read() {
    // A mark keeps the sample itself out of the counts.
    let source = "\
/// ~What it is.
/// How it goes on is no beginning.
///
/// ~Whether a paragraph is one.
fn ~told(&self) {}
//! ~Of all.
/// ~Whatever begins so is another word.
pub(crate) async fn told_of<T>() {}
// fn of() {}
    fn ~at(x: u8) {}
"
    .replace('~', "");
    assert_eq!(faults(&source), Faults { clauses: 3, names: 2 });
}
