//! Documents for readers: every decision is in the index, and links and paths of documents lead to something.

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    let here = std::env::var("CARGO_MANIFEST_DIR").expect("cargo says where");
    let parent = Path::new(&here).parent();
    parent.expect("xtask lies in the workspace").to_path_buf()
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Names of the files in a folder with this ending, sorted.
fn files(folder: &Path, ending: &str) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    let mut names: Vec<String> = names.filter_map(|name| name.into_string().ok()).collect();
    names.retain(|name| name.ends_with(ending));
    names.sort();
    names
}

#[test]
fn every_decision_is_in_the_index_once() {
    let folder = root().join("docs/adr");
    let index = read(&folder.join("README.md"));
    let decisions = files(&folder, ".md");
    let mut before = None;
    for file in decisions.iter().filter(|name| *name != "README.md") {
        let number: u32 = file[..3]
            .parse()
            .expect("a decision has a number of three digits");
        assert!(before < Some(number), "{file}: two decisions have this number");
        before = Some(number);
        let rows: Vec<&str> = index
            .lines()
            .filter(|line| line.starts_with(&format!("| {number} | [")))
            .collect();
        let [row] = rows[..] else {
            panic!("docs/adr/README.md has {} rows of {file}", rows.len());
        };
        assert!(row.contains(&format!("]({file})")), "{row} does not link {file}");
        assert_eq!(
            row.matches(" | ").count(),
            3,
            "number, title, line and status: {row}"
        );
    }
}

/// Parts of a document that are no code, for links in code are examples.
fn prose(text: &str) -> String {
    text.split("```").step_by(2).collect()
}

/// Anchors of a document, as hosts of repositories make them of its headings.
fn anchors(text: &str) -> Vec<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let anchor = |heading: &str| {
        let kept = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = kept.replace(' ', "-");
        kept.chars()
            .filter(|letter| letter.is_alphanumeric() || matches!(letter, '-' | '_'))
            .collect()
    };
    headings.map(anchor).collect()
}

/// Faults of the links of one document.
fn broken_links(file: &Path) -> Vec<String> {
    let text = read(file);
    let mut broken = Vec::new();
    for link in prose(&text)
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next())
    {
        if link.contains("://") || link.contains(char::is_whitespace) {
            continue;
        }
        let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
        let target = if path.is_empty() {
            file.to_path_buf()
        } else {
            file.parent().expect("a file lies in a folder").join(path)
        };
        let is_known =
            |target: &Path| anchor.is_empty() || anchors(&read(target)).iter().any(|known| known == anchor);
        if !target.exists() || !is_known(&target) {
            broken.push(format!("{}: {link}", file.display()));
        }
    }
    broken
}

#[test]
fn links_of_documents_lead_somewhere() {
    let root = root();
    let folders = ["", "docs", "docs/adr", "wit", "examples"];
    let broken: Vec<String> = folders
        .iter()
        .map(|folder| root.join(folder))
        .flat_map(|folder| {
            files(&folder, ".md")
                .into_iter()
                .map(move |name| folder.join(name))
        })
        .flat_map(|file| broken_links(&file))
        .collect();
    assert!(broken.is_empty(), "{broken:#?}");
}

/// Paths in backticks of the section about questions: each must be there.
#[test]
fn answers_to_newcomers_name_files_that_exist() {
    let root = root();
    let text = read(&root.join("CONTRIBUTING.md"));
    let (_, section) = text
        .split_once("\n## Ten questions a newcomer asks\n")
        .expect("CONTRIBUTING.md answers newcomers");
    let section = section.split("\n## ").next().unwrap_or(section);
    let questions = section
        .lines()
        .filter(|line| line.starts_with("| "))
        .skip(1)
        .count();
    assert!(questions >= 10, "{questions} questions");
    let quoted = section.split('`').skip(1).step_by(2);
    let paths: Vec<&str> = quoted.filter(|word| word.contains('/')).collect();
    let missing: Vec<&&str> = paths.iter().filter(|path| !root.join(path).exists()).collect();
    assert!(
        paths.len() >= 10 && missing.is_empty(),
        "{missing:?} of {paths:?}"
    );
}
