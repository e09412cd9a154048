//! Schemathesis on the document as it is served: requests that keep to it and requests that do not, and no answer that it
//! does not promise. Its settings are `tests/schemathesis/schemathesis.toml`.
//! Bounds: three minutes.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use qm_testkit::{Backend, TestDb, TestServer, database, plugins};
use tokio::process::Command;

const AT_MOST: Duration = Duration::from_mins(3);

/// The program that `cargo xtask setup test` installs; `None` if it is missing.
fn program() -> Option<PathBuf> {
    let path = plugins::built_directory()
        .with_file_name("schemathesis")
        .join("bin/st");
    if path.exists() {
        return Some(path);
    }
    let missing = format!("{} is not there: run `cargo xtask setup test`", path.display());
    assert!(std::env::var("CI").as_deref() != Ok("true"), "{missing}");
    eprintln!("skipping the check of the served document: {missing}");
    None
}

#[test]
fn no_answer_is_other_than_the_document_says() {
    if let Some(program) = program() {
        database::run(Backend::Sqlite, async |db| run(&program, db).await);
    }
}

async fn run(program: &Path, db: &TestDb) {
    let root = tempfile::tempdir().expect("a temporary directory");
    for (name, text) in [("film.mkv", "film"), ("readme.txt", "text")] {
        std::fs::write(root.path().join(name), text).expect("our own directory");
    }
    let (_server, api, _) = TestServer::builder(db)
        // What is deleted, moved and cleaned up must be ours.
        .env("FILE_MANAGER_ROOTS", root.path().to_string_lossy())
        .start_with_a_torrent()
        .await;

    let directory = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo says where"));
    let directory = directory.join("schemathesis");
    let child = Command::new(program)
        .arg("--config-file")
        .arg(directory.join("schemathesis.toml"))
        .arg("run")
        .arg(format!("{}/api/docs/openapi.json", api.base()))
        .args(["--header", &format!("Authorization: Bearer {}", api.token())])
        .args(["--no-color", "--warnings", "off"])
        .env("SCHEMATHESIS_HOOKS", directory.join("hooks.py"))
        .current_dir(root.path())
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(AT_MOST, child).await;
    let output = output
        .unwrap_or_else(|_| panic!("it takes longer than {AT_MOST:?}: ask for fewer examples"))
        .expect("it is installed");
    let said = String::from_utf8_lossy(&output.stdout);
    println!("{said}");
    assert!(
        output.status.success(),
        "the server and its document differ:\n{said}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
