//! Plain words in documentation: a description begins with its noun. What was written before this rule is counted in
//! `plain_words.txt`, a crate a line, and only shrinks; `PLAIN_WORDS=write` writes that file anew.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Words that no description begins with: they open a clause, not the name of a thing.
const CLAUSES: &[&str] = &["What", "Whether", "Who", "Whom", "Whose", "How", "Of", "So"];
/// Names that say nothing of what a function does.
const BARE: &[&str] = &["told", "said", "of", "one", "at", "is", "may", "so"];
/// Folders of sources, with how many parts of a path name the crate.
const FOLDERS: &[(&str, usize)] = &[
    ("host", 2),
    ("plugins", 2),
    ("xtask", 1),
    ("bench", 1),
    ("tests", 1),
];
const COUNTS: &str = "xtask/tests/plain_words.txt";

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
            if !path.ends_with("target") {
                sources(&path, found);
            }
        } else if path.extension().is_some_and(|end| end == "rs") {
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

fn counted() -> BTreeMap<String, Faults> {
    let root = root();
    let mut all = BTreeMap::<String, Faults>::new();
    for (folder, parts) in FOLDERS {
        let mut found = Vec::new();
        sources(&root.join(folder), &mut found);
        for path in found {
            let below = path.strip_prefix(&root).expect("it lies below");
            let of: PathBuf = below.components().take(*parts).collect();
            let read = std::fs::read_to_string(&path).expect("a source is a text");
            let one = faults(&read);
            let all = all.entry(of.display().to_string()).or_default();
            all.clauses += one.clauses;
            all.names += one.names;
        }
    }
    all.retain(|_, faults| *faults != Faults::default());
    all
}

fn written(counts: &BTreeMap<String, Faults>) -> String {
    let mut text =
        String::from("# crate: descriptions that begin with a clause, functions with a bare name\n");
    for (of, faults) in counts {
        writeln!(text, "{of}: {}, {}", faults.clauses, faults.names).expect("a text takes all");
    }
    text
}

#[test]
fn descriptions_begin_with_nouns_and_functions_say_what_they_do() {
    let (counts, path) = (counted(), root().join(COUNTS));
    if std::env::var_os("PLAIN_WORDS").is_some_and(|word| word == "write") {
        std::fs::write(&path, written(&counts)).expect("the file can be written");
    }
    let before = std::fs::read_to_string(&path).unwrap_or_default();
    let mut wrong = Vec::new();
    let now = written(&counts);
    let stands_in = |text: &str, line: &str| text.lines().any(|one| one == line);
    for line in now.lines().filter(|line| !stands_in(&before, line)) {
        let of = line.split(':').next().unwrap_or_default();
        let was = before.lines().find(|old| old.split(':').next() == Some(of));
        wrong.push(format!("{line}, and was {}", was.unwrap_or("not listed")));
    }
    for line in before.lines().filter(|line| !stands_in(&now, line)) {
        let of = line.split(':').next().unwrap_or_default();
        if !now.lines().any(|one| one.split(':').next() == Some(of)) {
            wrong.push(format!("{of} has none any more"));
        }
    }
    assert!(
        wrong.is_empty(),
        "a description begins with its noun (none of {CLAUSES:?}), and a function is a verb and an object (none of {BARE:?}). Fewer than \
         before are written down by `PLAIN_WORDS=write cargo test -p xtask --test plain_words`, more are refused: {wrong:#?}"
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
