//! Places of the server's own that came to lie below a root while the server ran.

use std::path::Path;

use qm_confined::{FsError, Intent, OwnKind, OwnPlace, Roots};
use qm_file_operations::{self as ops, Page, Transfer};

use crate::{Scratch, name, quiet, rel_path, tree};

fn own(variable: &'static str, path: &Path, kind: OwnKind) -> OwnPlace {
    OwnPlace {
        variable,
        path: path.to_owned(),
        kind,
    }
}

/// A root with the data directory, the plugins and a database moved into it, among films.
fn invaded() -> Scratch {
    let mut scratch = Scratch::on_disk();
    let canary = scratch.canary.clone();
    for folder in ["data/backups", "plugins", "db"] {
        std::fs::create_dir_all(canary.join(folder)).unwrap();
    }
    std::fs::write(canary.join("data/secrets.json"), "{}").unwrap();
    std::fs::write(canary.join("db/own.db"), "rows").unwrap();
    let places = [
        own("DATA_DIR", &canary.join("data"), OwnKind::Directory),
        own("PLUGINS_DIR", &canary.join("plugins"), OwnKind::Directory),
        own("DATABASE_URL", &canary.join("db/own.db"), OwnKind::Database),
    ];
    scratch.roots = Roots::hiding(&[scratch.root.to_str().unwrap()], &places);
    scratch.write("app/film.mkv", "film");
    for (from, to) in [("data", "app/data"), ("plugins", "plugins"), ("db", "db")] {
        std::fs::rename(canary.join(from), scratch.path(to)).unwrap();
    }
    scratch.write("db/own.db-wal", "more rows");
    scratch.write("db/film.mkv", "film");
    scratch.write("new/film.mkv", "film");
    std::fs::hard_link(scratch.path("app/data/secrets.json"), scratch.path("linked.json")).unwrap();
    scratch
}

fn listed(scratch: &Scratch, path: &str) -> Vec<String> {
    let listing = ops::list(&scratch.look(path).unwrap(), Page::default(), &quiet()).unwrap();
    assert_eq!(listing.total, listing.items.len());
    listing.items.into_iter().map(|entry| entry.name.text()).collect()
}

#[test]
fn it_is_neither_listed_nor_found_nor_read() {
    let scratch = invaded();
    assert_eq!(listed(&scratch, "/"), ["app", "db", "new"]);
    assert_eq!(listed(&scratch, "/app"), ["film.mkv"]);
    assert_eq!(listed(&scratch, "/db"), ["film.mkv"]);
    for path in [
        "app/data",
        "app/data/secrets.json",
        "app/data/backups",
        "plugins",
        "plugins/new.wasm",
        "db/own.db",
        "db/own.db-wal",
        "linked.json",
    ] {
        for intent in [Intent::Read, Intent::Change] {
            let found = scratch.base().resolve(&rel_path(path), intent);
            assert!(matches!(found, Err(FsError::NotFound(_))), "{path}: {found:?}");
        }
        let absolute = scratch.path(path).display().to_string();
        assert!(!scratch.roots.inspect(&absolute).unwrap().exists, "{path}");
        assert!(scratch.roots.narrow(&absolute).is_err(), "{path}");
    }
    let app = scratch.look("/app").unwrap();
    assert_eq!(ops::measure(&app, &quiet()).unwrap().items, 1);
    scratch.look("app/film.mkv").unwrap().open_file().unwrap();
}

#[test]
fn it_is_neither_moved_nor_removed_nor_replaced_nor_copied() {
    let scratch = invaded();
    let state = || ["app", "db", "plugins"].map(|folder| tree(&scratch.path(folder)));
    let before = state();
    for path in ["app", "db"] {
        let refused = scratch.item(path);
        assert!(
            matches!(refused, Err(FsError::Protected(_))),
            "{path}: {refused:?}"
        );
    }
    // Its name is taken all the same.
    let (film, to) = (scratch.item("new/film.mkv").unwrap(), scratch.to("/").unwrap());
    for overwrite in [false, true] {
        for taken in ["plugins", "linked.json"] {
            let how = Transfer {
                overwrite,
                name: Some(name(taken)),
                ..Transfer::default()
            };
            assert!(ops::copy(&film, &to, &how, &quiet()).is_err(), "{taken}");
            assert!(ops::move_to(&film, &to, &how, &quiet()).is_err(), "{taken}");
        }
        let besides = scratch.item("db/film.mkv").unwrap();
        assert!(ops::rename(&besides, &name("own.db"), overwrite).is_err());
    }
    for inside in ["plugins", "app/data/backups"] {
        let copied = scratch
            .to(inside)
            .and_then(|to| ops::copy(&film, &to, &Transfer::default(), &quiet()));
        assert!(copied.is_err(), "{inside}");
        let absolute = scratch.path(inside).join("deeper").display().to_string();
        assert!(scratch.roots.ensure_dir(&absolute).is_err(), "{inside}");
    }
    assert_eq!(before, state());
    // A folder that holds it is copied without it.
    let app = scratch.look("app").unwrap();
    ops::copy(
        &app,
        &scratch.to("copies").unwrap(),
        &Transfer::default(),
        &quiet(),
    )
    .unwrap();
    assert_eq!(scratch.read("copies/app/film.mkv").as_deref(), Some("film"));
    assert!(!scratch.path("copies/app/data").exists());
}

#[test]
fn a_root_that_came_to_lie_in_it_is_none() {
    let mut scratch = Scratch::on_disk();
    let data = scratch.canary.join("data");
    std::fs::create_dir(&data).unwrap();
    let root = data.join("root");
    let places = [own("DATA_DIR", &data, OwnKind::Directory)];
    scratch.roots = Roots::hiding(&[root.to_str().unwrap()], &places);
    std::fs::rename(&scratch.root, &root).unwrap();
    std::fs::write(root.join("film.mkv"), "film").unwrap();
    assert!(scratch.look("film.mkv").is_err());
}
