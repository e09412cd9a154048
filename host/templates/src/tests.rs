use super::*;

fn all() -> impl Iterator<Item = (Role, Language)> {
    Role::ALL
        .into_iter()
        .flat_map(|role| Language::ALL.into_iter().map(move |language| (role, language)))
}

fn name(text: &str) -> Name {
    text.parse().unwrap()
}

#[test]
fn names_that_every_file_can_bear_are_taken() {
    for text in ["a", "my-channel", "x_1", &"a".repeat(64)] {
        assert!(text.parse::<Name>().is_ok(), "{text}");
    }
    for text in [
        "",
        "1a",
        "-a",
        "_a",
        "A",
        "aB",
        "a b",
        "a/b",
        "..",
        "a.b",
        "ä",
        "a\n",
        &"a".repeat(65),
    ] {
        let told = text.parse::<Name>().unwrap_err().to_string();
        assert!(told.contains("my-channel"), "{told}");
    }
    let named = name("my-own_channel2");
    assert_eq!(
        (named.id(), named.label()),
        ("my_own_channel2".to_owned(), "My Own Channel2".to_owned())
    );
}

#[test]
fn each_role_and_language_has_its_files_and_nothing_is_left_to_fill_in() {
    for (role, language) in all() {
        let files = files(role, language, &name("my-thing"));
        let has = |path: &str| files.iter().any(|file| file.path == path);
        let source = match language {
            Language::Rust => ["Cargo.toml", "src/lib.rs"],
            Language::Python => ["requirements.txt", "app.py"],
            Language::JavaScript => ["package.json", "plugin.js"],
        };
        for path in source.into_iter().chain([
            "README.md",
            ".gitignore",
            "wit/world.wit",
            "wit/deps/base/common.wit",
        ]) {
            assert!(has(path), "{role:?} {language:?}: {path}");
        }
        assert!(has(&format!("wit/{}.wit", role.word())));
        assert_eq!(has("try/torrents"), role == Role::Engine);
        for File { path, text } in &files {
            let left = ["@ID@", "@NAME@", "@LABEL@", "@WORLD@", "@WHAT@", "@TRY@"];
            assert!(!left.iter().any(|word| text.contains(word)), "{path}: {text}");
            for ours in ["cargo xtask", "examples/", "plugins/sdk", "fixtures", "../"] {
                assert!(
                    path.starts_with("wit/") || !text.contains(ours),
                    "{path} speaks of {ours}"
                );
            }
        }
        let readme = &files.iter().find(|file| file.path == "README.md").unwrap().text;
        assert!(
            readme.contains("plugin check my_thing.wasm --config '{"),
            "{readme}"
        );
    }
}

#[test]
fn tools_are_those_that_the_examples_are_built_with() {
    let text = |language: Language, path: &str| {
        let files = files(Role::Channel, language, &name("x"));
        files.into_iter().find(|file| file.path == path).unwrap().text
    };
    let examples = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo says where"))
        .join("../../examples");
    let theirs = std::fs::read_to_string(examples.join("engine-python/requirements.txt")).unwrap();
    assert_eq!(text(Language::Python, "requirements.txt"), theirs);
    let theirs = std::fs::read_to_string(examples.join("engine-javascript/package.json")).unwrap();
    let pinned = |text: &str| {
        let tools = text.lines().filter(|line| line.contains("@bytecodealliance/"));
        tools.map(|line| line.trim().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(
        pinned(&text(Language::JavaScript, "package.json")),
        pinned(&theirs)
    );
    let ours = std::fs::read_to_string(examples.join("../plugins/Cargo.toml")).unwrap();
    let version = |text: &str| {
        let line = text
            .lines()
            .find(|line| line.starts_with("wit-bindgen = "))
            .unwrap();
        line.split('#').next().unwrap().trim().to_owned()
    };
    assert_eq!(version(&text(Language::Rust, "Cargo.toml")), version(&ours));
}

#[test]
fn a_folder_is_written_once() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("x");
    let files = files(Role::Actions, Language::Rust, &name("x"));
    write(&folder, &files).unwrap();
    let read = std::fs::read_to_string(folder.join("wit/deps/base/kv.wit")).unwrap();
    assert!(read.contains("interface kv"));
    std::fs::write(folder.join("src/lib.rs"), "mine").unwrap();
    let again = write(&folder, &files).unwrap_err();
    assert!(again.to_string().contains("choose another name"), "{again}");
    assert_eq!(
        std::fs::read_to_string(folder.join("src/lib.rs")).unwrap(),
        "mine"
    );
    let nowhere = write(&home.path().join("no/where"), &files).unwrap_err();
    assert!(matches!(nowhere, NewError::Write { .. }), "{nowhere}");
}

#[test]
fn what_cannot_be_finished_is_taken_away() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("x");
    let file = |path: &str| File {
        path: path.to_owned(),
        text: String::new(),
    };
    // The second file needs a folder where the first is a file.
    assert!(write(&folder, &[file("a"), file("a/b")]).is_err());
    assert!(!folder.exists());
}
