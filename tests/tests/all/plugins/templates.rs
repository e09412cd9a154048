//! The files that `quartermaster plugin new` writes, in each role and language: they are the files that `cargo xtask
//! examples` has built by the commands of their README, and the components keep the contract.

use std::collections::HashMap;
use std::path::Path;
use std::process::{Command, Output};

use qm_templates::{File, Language, Name, Role, as_one};
use qm_testkit::files::{FileServer, ok};
use qm_testkit::{binary, plugins};
use serde_json::json;

#[tokio::test]
async fn templates_in_rust_build_and_keep_the_contract() {
    all_roles(Language::Rust).await;
}

#[tokio::test]
async fn templates_in_python_build_and_keep_the_contract() {
    all_roles(Language::Python).await;
}

#[tokio::test]
async fn templates_in_javascript_build_and_keep_the_contract() {
    all_roles(Language::JavaScript).await;
}

async fn all_roles(language: Language) {
    for role in Role::ALL {
        let home = tempfile::tempdir().expect("a folder");
        let name = Name::of_trial(role, language);
        let written = run(home.path(), &new(role, language, &name)).await;
        assert!(written.status.success(), "{written:?}");
        let files = read(&home.path().join(name.to_string()));
        let built = std::fs::read(plugins::file(&format!("{}.made-of", name.id()))).expect("it was built");
        assert!(
            built.starts_with(&as_one(&files)),
            "{name} was built of other files: run `cargo xtask examples`"
        );
        keeps_the_contract(home.path(), role, &name, &files).await;
    }
}

/// `plugin check` against a product that is made of files, as the README says.
async fn keeps_the_contract(home: &Path, role: Role, name: &Name, files: &[File]) {
    let mut answers = HashMap::from([("/".to_owned(), ok(b"{}"))]);
    for File { path, text } in files {
        if let Some(page) = path.strip_prefix("try") {
            answers.insert(page.to_owned(), ok(text.as_bytes()));
        }
    }
    let product = FileServer::start(answers).await;
    let (config, checks) = match role {
        Role::Engine => (json!({ "url": product.url("") }), 15),
        Role::Channel => (json!({ "url": product.url("/") }), 3),
        Role::Actions => (json!({}), 3),
    };
    let component = plugins::file(&format!("{}.wasm", name.id()));
    let component = component.display().to_string();
    let words = ["plugin", "check", &component, "--config", &config.to_string()].map(str::to_owned);
    let checked = run(home, &words).await;
    let told = String::from_utf8_lossy(&checked.stdout).into_owned();
    assert!(
        checked.status.success(),
        "{name}: {told}{}",
        String::from_utf8_lossy(&checked.stderr)
    );
    let passed = told.lines().filter(|line| line.starts_with("passed")).count();
    assert!(passed >= checks && !told.contains("FAILED"), "{name}: {told}");
    assert!(
        told.lines()
            .any(|line| line.split_whitespace().eq(["id", &name.id()])),
        "{told}"
    );
    if role == Role::Engine {
        assert!(told.contains("1 torrents"), "the list of `try/` was read: {told}");
    }
    assert_eq!(product.connections() > 0, role != Role::Actions, "{name}");
}

fn new(role: Role, language: Language, name: &Name) -> Vec<String> {
    let words = ["plugin", "new", "--role", role.word(), "--lang", language.word()].map(str::to_owned);
    words.into_iter().chain([name.to_string()]).collect()
}

/// Runs the real program in `home`; what it compiles is kept for the next time.
async fn run(home: &Path, words: &[String]) -> Output {
    let mut command = Command::new(binary::path());
    command.args(words).current_dir(home);
    tokio::task::spawn_blocking(move || command.output())
        .await
        .expect("it is waited for")
        .expect("the program starts")
}

/// Every file below `folder`, in order of their paths.
fn read(folder: &Path) -> Vec<File> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(at) = folders.pop() {
        for entry in std::fs::read_dir(at).expect("our own folder") {
            let path = entry.expect("our own folder").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("text");
            let path = path.strip_prefix(folder).expect("it lies inside");
            files.push(File {
                path: path.display().to_string(),
                text,
            });
        }
    }
    files.sort_by(|one, other| one.path.cmp(&other.path));
    files
}

#[tokio::test]
async fn what_cannot_be_written_says_what_would_do() {
    let home = tempfile::tempdir().expect("a folder");
    let told = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    for (wrong, way_out) in [
        ("plugin new --role engine --lang rust My-Engine", "my-channel"),
        ("plugin new --role engine --lang rust ../x", "my-channel"),
        ("plugin new --role motor --lang rust x", "channel"),
        ("plugin new --role engine --lang cobol x", "javascript"),
        ("plugin new --role engine x", "--lang"),
    ] {
        let output = run(home.path(), &words(wrong)).await;
        assert_eq!(output.status.code(), Some(2), "{wrong}");
        assert!(told(&output).contains(way_out), "{wrong}: {}", told(&output));
    }
    assert_eq!(std::fs::read_dir(home.path()).expect("ours").count(), 0);
    let right = words("plugin new --role channel --lang python my-channel");
    assert!(run(home.path(), &right).await.status.success());
    let again = run(home.path(), &right).await;
    assert_eq!(again.status.code(), Some(1));
    assert!(
        told(&again).contains("`my-channel` is there already: choose another name"),
        "{}",
        told(&again)
    );
}
