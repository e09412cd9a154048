//! Paths meant to get out, and things meant to trip whoever opens them: refused with the right words, or handled inside.

use std::ffi::OsStr;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;

use qm_confined::{Base, FsError, Intent, Kind, RelPath, Roots, SYSTEM_DIRECTORIES};
use qm_file_operations::{self as ops, Page, Transfer};
use qm_kernel::ErrorKind;

use crate::{Scratch, name, quiet, rel_path, tree};

/// Short word for a result: `ok`, or the kind of error that reading or changing a path gave.
fn short_word<T>(result: Result<T, FsError>) -> String {
    match result {
        Ok(_) => "ok".into(),
        Err(FsError::NotFound(_)) => "not found".into(),
        Err(FsError::Protected(_) | FsError::Reserved(_)) => "protected".into(),
        Err(FsError::NotADirectory(_)) => "not a directory".into(),
        Err(FsError::NameTooLong(_)) => "too long".into(),
        Err(FsError::TooManyLinks(_)) => "too many links".into(),
        Err(other) => other.to_string(),
    }
}

fn resolve(base: &Base, text: &str, intent: Intent) -> String {
    short_word(RelPath::from_text(text).and_then(|path| base.resolve(&path, intent)))
}

const OUTSIDE: &str = "Path is outside the allowed roots";
const ESCAPES: &str = "Resolved path escapes the allowed roots";

/// Path, what reading it says, what changing it says.
const TABLE: &[(&str, &str, &str)] = &[
    ("", "ok", "protected"),
    ("/", "ok", "protected"),
    ("///././/", "ok", "protected"),
    ("file", "ok", "ok"),
    ("//file", "ok", "ok"),
    ("folder/../file", "ok", "ok"),
    ("missing/../file", "ok", "ok"),
    ("..", OUTSIDE, OUTSIDE),
    ("../root/file", OUTSIDE, OUTSIDE),
    ("folder/../../canary/secret", OUTSIDE, OUTSIDE),
    ("/../../../etc/passwd", OUTSIDE, OUTSIDE),
    ("/etc/passwd", "not found", "not found"),
    ("file\0", "Invalid path", "Invalid path"),
    ("fi\0le/../..", "Invalid path", "Invalid path"),
    // Not separators and not dots, here: names nobody has.
    ("..\\..\\canary\\secret", "not found", "not found"),
    ("%2e%2e/canary", "not found", "not found"),
    ("..%2fcanary", "not found", "not found"),
    ("%252e%252e/canary", "not found", "not found"),
    ("\u{2025}/canary", "not found", "not found"),
    ("\u{ff0e}\u{ff0e}/canary", "not found", "not found"),
    ("\u{c0}\u{ae}\u{c0}\u{ae}/canary", "not found", "not found"),
    ("...", "not found", "not found"),
    (".. /canary", "not found", "not found"),
    ("../ ", OUTSIDE, OUTSIDE),
    ("file.", "not found", "not found"),
    ("file ", "not found", "not found"),
    ("FILE", "not found", "not found"),
    ("file/", "ok", "ok"),
    ("file/below", "not a directory", "not a directory"),
    ("to-file", "ok", "ok"),
    ("to-folder/file", "ok", "ok"),
    ("to-folder-absolute/file", "ok", "ok"),
    ("out-and-in/file", "ok", "ok"),
    ("out-and-in-again/file", "ok", "ok"),
    // A link out: never followed, but it may itself be renamed or deleted.
    ("to-canary", ESCAPES, "ok"),
    ("to-canary/secret", ESCAPES, ESCAPES),
    ("to-canary/missing", ESCAPES, ESCAPES),
    ("to-canary-relative", ESCAPES, "ok"),
    ("to-canary-relative/secret", ESCAPES, ESCAPES),
    ("to-secret", ESCAPES, "ok"),
    ("climbing", ESCAPES, "ok"),
    ("to-slash/etc", ESCAPES, ESCAPES),
    ("to-proc", ESCAPES, "ok"),
    ("to-proc/etc/passwd", ESCAPES, ESCAPES),
    ("to-cwd/x", ESCAPES, ESCAPES),
    ("dangling", "not found", "ok"),
    ("dangling/x", "not found", "not found"),
    ("loop-a", "too many links", "ok"),
    ("loop-a/x", "too many links", "too many links"),
    (".quartermaster-trash", "not found", "protected"),
    (
        ".quartermaster-trash/x",
        "not found",
        "Item is already in the trash",
    ),
    (
        ".Quartermaster-Trash/x",
        "not found",
        "Item is already in the trash",
    ),
    ("to-trash/x", "not found", "Item is already in the trash"),
    (".quartermaster-tmp-00000001", "not found", "not found"),
];

/// Files to be found, and links that lead everywhere.
fn traps(scratch: &Scratch) {
    let canary = scratch.canary.to_str().unwrap().to_owned();
    let root = scratch.root.to_str().unwrap().to_owned();
    scratch.write("file", "inside");
    scratch.write("folder/file", "inside");
    scratch.write(".quartermaster-trash/x", "trash");
    scratch.write(".quartermaster-tmp-00000001", "temporary");
    let link = |target: &str, at: &str| symlink(target, scratch.path(at)).unwrap();
    link("file", "to-file");
    link("folder", "to-folder");
    link(&format!("{root}/folder"), "to-folder-absolute");
    link(&canary, "to-canary");
    link("../canary", "to-canary-relative");
    link(&format!("{canary}/secret"), "to-secret");
    link("/proc/self/root", "to-proc");
    link("/proc/self/cwd", "to-cwd");
    link("/", "to-slash");
    link("nowhere", "dangling");
    link("loop-b", "loop-a");
    link("loop-a", "loop-b");
    link("../root/folder", "out-and-in");
    link("../other/../root/folder", "out-and-in-again");
    link(".quartermaster-trash", "to-trash");
    link("folder/../../canary/secret", "climbing");
}

#[test]
fn every_hostile_path_is_refused_or_stays_inside() {
    let scratch = Scratch::on_disk();
    traps(&scratch);
    let before = tree(&scratch.canary);
    let base = scratch.base();
    let long = "n".repeat(256);
    for (path, reading, changing) in TABLE.iter().chain(&[(long.as_str(), "too long", "too long")]) {
        assert_eq!(resolve(&base, path, Intent::Read), *reading, "reading {path:?}");
        assert_eq!(
            resolve(&base, path, Intent::Change),
            *changing,
            "changing {path:?}"
        );
        // As a destination it opens nothing outside either, existing or not.
        let destination = RelPath::from_text(path).and_then(|path| base.destination(&path));
        if let Ok(destination) = destination {
            assert!(destination.absolute().starts_with(&scratch.root), "into {path:?}");
        }
    }
    for (path, expected) in [
        ("to-canary/new/folder", ESCAPES),
        ("../new", OUTSIDE),
        ("file/new", "not a directory"),
        (".quartermaster-trash/new", "protected"),
        ("folder/.quartermaster-trash", "protected"),
    ] {
        let destination = RelPath::from_text(path).and_then(|path| base.destination(&path));
        assert_eq!(short_word(destination), expected, "into {path:?}");
    }
    assert_eq!(tree(&scratch.canary), before);
}

#[test]
fn a_path_of_the_raw_form_is_judged_by_its_bytes() {
    for (raw, expected) in [
        ("%2e%2e/canary", OUTSIDE),
        ("..%2fcanary", OUTSIDE),
        ("a%00b", "Invalid path"),
        ("a%2", "Invalid path"),
        ("a%zz", "Invalid path"),
        ("%2fa%2fb", "ok"),
        ("%c0%ae%c0%ae/canary", "ok"),
    ] {
        assert_eq!(short_word(RelPath::from_raw(raw)), expected, "{raw}");
    }
    // Overlong dots are bytes of a name, nothing more.
    let overlong = RelPath::from_raw("%c0%ae%c0%ae/canary").unwrap();
    let scratch = Scratch::on_disk();
    assert_eq!(
        short_word(scratch.base().resolve(&overlong, Intent::Read)),
        "not found"
    );
    assert_eq!(RelPath::from_raw(&overlong.encoded()).unwrap(), overlong);
}

#[test]
fn a_mutation_acts_on_the_link_and_never_on_what_it_points_to() {
    let scratch = Scratch::on_disk();
    let before = tree(&scratch.canary);
    let fresh = || {
        let _ = std::fs::remove_file(scratch.path("link"));
        symlink(&scratch.canary, scratch.path("link")).unwrap();
    };
    scratch.folder("folder");
    let is_link = |rel: &str| scratch.path(rel).symlink_metadata().is_ok_and(|m| m.is_symlink());

    fresh();
    ops::rename(&scratch.item("link").unwrap(), &name("renamed"), false).unwrap();
    assert!(is_link("renamed"));
    let item = scratch.item("renamed").unwrap();
    let into = scratch.to("folder").unwrap();
    ops::copy(&item, &into, &Transfer::default(), &quiet()).unwrap();
    assert!(is_link("renamed") && is_link("folder/renamed"));
    let how = Transfer {
        overwrite: true,
        ..Transfer::default()
    };
    ops::move_to(&item, &into, &how, &quiet()).unwrap();
    assert!(!is_link("renamed") && is_link("folder/renamed"));
    ops::remove(&scratch.item("folder/renamed").unwrap(), &quiet()).unwrap();
    assert!(!is_link("folder/renamed"));
    fresh();
    let item = scratch.item("link").unwrap();
    let place = ops::TrashPlace::for_item(&item, "id").unwrap();
    ops::trash(&item, &place, &quiet()).unwrap();
    let trashed = scratch
        .roots
        .trashed(&place.storage_root, &place.trash_path)
        .unwrap();
    ops::purge(&trashed, &quiet()).unwrap();
    assert_eq!(tree(&scratch.canary), before);
}

#[test]
fn trees_with_links_out_are_copied_measured_and_removed_without_following_them() {
    let scratch = Scratch::on_disk();
    scratch.write("tree/file", "12345");
    symlink(&scratch.canary, scratch.path("tree/out")).unwrap();
    symlink("..", scratch.path("tree/up")).unwrap();
    let before = tree(&scratch.canary);
    let usage = ops::measure(&scratch.look("tree").unwrap(), &quiet()).unwrap();
    assert_eq!((usage.items, usage.files, usage.bytes, usage.frees), (3, 1, 5, 5));
    let item = scratch.item("tree").unwrap();
    ops::copy(
        &item,
        &scratch.to("new/place").unwrap(),
        &Transfer::default(),
        &quiet(),
    )
    .unwrap();
    let target = std::fs::read_link(scratch.path("new/place/tree/out")).unwrap();
    assert_eq!(target, scratch.canary);
    ops::remove(&item, &quiet()).unwrap();
    ops::remove(&scratch.item("new").unwrap(), &quiet()).unwrap();
    assert_eq!(scratch.names(), Vec::<String>::new());
    assert_eq!(tree(&scratch.canary), before);
}

#[test]
fn fifos_sockets_and_devices_are_never_opened() {
    use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};
    let scratch = Scratch::on_disk();
    let make = |rel: &str, kind| {
        mknodat(
            CWD,
            scratch.path(rel),
            kind,
            Mode::RUSR | Mode::WUSR,
            makedev(1, 5),
        )
        .is_ok()
    };
    let _socket = std::os::unix::net::UnixListener::bind(scratch.path("socket")).unwrap();
    assert!(make("fifo", FileType::Fifo));
    let mut kinds = vec!["fifo", "socket"];
    // Only a privileged user can make one; without, the other two stand for it.
    if make("device", FileType::CharacterDevice) {
        kinds.push("device");
    }
    scratch.folder("folder");
    for kind in kinds {
        let item = scratch.item(kind).unwrap();
        assert_eq!(item.meta().unwrap().kind, Kind::Special, "{kind}");
        assert!(matches!(item.open_file(), Err(FsError::Special(_))), "{kind}");
        let copied = ops::copy(
            &item,
            &scratch.to("folder").unwrap(),
            &Transfer::default(),
            &quiet(),
        );
        assert!(matches!(copied, Err(FsError::Special(_))), "{kind}");
        let renamed = format!("{kind}-renamed");
        ops::rename(&item, &name(&renamed), false).unwrap();
        let item = scratch.item(&renamed).unwrap();
        ops::move_to(
            &item,
            &scratch.to("folder").unwrap(),
            &Transfer::default(),
            &quiet(),
        )
        .unwrap();
    }
    // In a tree too: nothing of the copy is left.
    let copied = ops::copy(
        &scratch.item("folder").unwrap(),
        &scratch.to("copy").unwrap(),
        &Transfer::default(),
        &quiet(),
    );
    assert!(matches!(copied, Err(FsError::Special(_))));
    assert_eq!(scratch.names(), ["folder"]);
    ops::remove(&scratch.item("folder").unwrap(), &quiet()).unwrap();
    assert_eq!(scratch.names(), Vec::<String>::new());
}

#[test]
fn roots_their_ancestors_and_system_directories_are_protected() {
    let scratch = Scratch::on_disk();
    scratch.folder("a/inner/deep");
    scratch.folder("b");
    let inner = scratch.path("a/inner");
    let roots = Roots::open(&[scratch.root.to_str().unwrap(), inner.to_str().unwrap()]);
    let base = roots.whole();
    for (path, expected) in [
        ("/", "protected"),
        ("a", "protected"),
        ("a/inner", "protected"),
        ("a/inner/deep", "ok"),
        ("b", "ok"),
    ] {
        assert_eq!(resolve(&base, path, Intent::Change), expected, "{path}");
    }
    // Nor can one be replaced by what is moved or renamed over it.
    let over = Transfer {
        overwrite: true,
        name: Some(name("a")),
        ..Transfer::default()
    };
    let item = base.resolve(&rel_path("b"), Intent::Change).unwrap();
    let top = base.destination(&RelPath::root()).unwrap();
    assert_eq!(
        short_word(ops::move_to(&item, &top, &over, &quiet())),
        "protected"
    );
    assert_eq!(short_word(ops::rename(&item, &name("a"), true)), "protected");
    // The whole system as a root: its directories stay.
    let system = Roots::open(&["/"]).whole();
    for directory in SYSTEM_DIRECTORIES {
        let there = std::fs::symlink_metadata(directory).is_ok();
        let expected = if there { "protected" } else { "not found" };
        assert_eq!(
            resolve(&system, directory, Intent::Change),
            expected,
            "{directory}"
        );
    }
}

#[test]
fn a_root_that_is_a_link_works_and_one_that_turns_into_a_link_does_not() {
    let scratch = Scratch::on_disk();
    scratch.write("folder/file", "inside");
    let link = scratch.canary.with_file_name("link-to-root");
    symlink(&scratch.root, &link).unwrap();
    let roots = Roots::open(&[link.to_str().unwrap()]);
    assert_eq!(roots.paths(), [scratch.root.to_str().unwrap()]);
    symlink(link.join("folder"), scratch.path("by-configured-name")).unwrap();
    assert_eq!(
        resolve(&roots.whole(), "by-configured-name/file", Intent::Read),
        "ok"
    );

    let late = scratch.path("late");
    let roots = Roots::open(&[late.to_str().unwrap()]);
    assert_eq!(resolve(&roots.whole(), "secret", Intent::Read), "not found");
    assert_eq!(roots.whole().access(), (false, false, false));
    symlink(&scratch.canary, &late).unwrap();
    assert_eq!(resolve(&roots.whole(), "secret", Intent::Read), "not a directory");
    std::fs::remove_file(&late).unwrap();
    scratch.write("late/secret", "inside");
    assert_eq!(resolve(&roots.whole(), "secret", Intent::Read), "ok");
    assert_eq!(
        resolve(&Roots::open::<&str>(&[]).whole(), "x", Intent::Read),
        FsError::NoRoot.to_string()
    );
}

#[test]
fn a_default_root_path_only_narrows() {
    let scratch = Scratch::on_disk();
    scratch.write("films/a", "a");
    scratch.write("other/b", "b");
    symlink("../other", scratch.path("films/out")).unwrap();
    symlink("films", scratch.path("link")).unwrap();
    let at = |rel: &str| scratch.path(rel).to_str().unwrap().to_owned();
    let (base, refused) = scratch.roots.base(Some(&at("link/")));
    assert!(refused.is_none());
    assert_eq!(base.root().as_deref(), Some(at("films").as_str()));
    assert_eq!(resolve(&base, "a", Intent::Read), "ok");
    assert_eq!(resolve(&base, "out/b", Intent::Read), ESCAPES);
    assert_eq!(resolve(&base, "../other/b", Intent::Read), OUTSIDE);
    assert_eq!(resolve(&base, "/", Intent::Change), "protected");
    for (path, expected) in [
        ("relative", "The root path must be an absolute path"),
        ("/etc", "/etc is a system directory"),
        ("/media/", "/media is a system directory"),
        ("/etc/ssl", "/etc/ssl is outside the allowed roots"),
        (&at("../canary"), "outside the allowed roots"),
        (&at("films/../../canary"), "outside the allowed roots"),
        (&at("nothing"), "does not exist"),
        (&at("films/a"), "is not a directory"),
    ] {
        let (base, refused) = scratch.roots.base(Some(path));
        let refused = refused.unwrap_or_else(|| panic!("{path} was taken")).to_string();
        assert!(refused.contains(expected), "{path}: {refused}");
        assert_eq!(base.root(), scratch.base().root(), "{path}");
    }
}

#[test]
fn absolute_paths_are_looked_at_and_created_inside_the_hard_roots_only() {
    let scratch = Scratch::on_disk();
    scratch.write("file", "x");
    let at = |rel: &str| scratch.path(rel).to_str().unwrap().to_owned();
    let secret = scratch.canary.join("secret").to_str().unwrap().to_owned();
    let seen = scratch.roots.inspect(&secret).unwrap();
    assert!(!seen.within_hard_roots && !seen.exists, "{seen:?}");
    symlink(&scratch.canary, scratch.path("out")).unwrap();
    let seen = scratch.roots.inspect(&at("out/secret")).unwrap();
    assert!(!seen.exists && !seen.writable, "{seen:?}");
    let seen = scratch.roots.inspect(&at("file")).unwrap();
    assert!(seen.exists && !seen.is_directory && seen.writable, "{seen:?}");
    let seen = scratch.roots.inspect("/media/../media").unwrap();
    assert!(seen.is_system_dir && !seen.exists, "{seen:?}");

    for _ in 0..2 {
        let made = scratch.roots.ensure_dir(&at("new/deep/folder")).unwrap();
        assert!(made.exists && made.is_directory && made.writable, "{made:?}");
    }
    let before = tree(&scratch.canary);
    for (path, kind) in [
        ("relative".to_owned(), ErrorKind::BadRequest),
        ("/media".to_owned(), ErrorKind::Forbidden),
        (secret, ErrorKind::Forbidden),
        (at("out/new"), ErrorKind::Forbidden),
        (at("file"), ErrorKind::BadRequest),
        (at("file/new"), ErrorKind::BadRequest),
        (at(&"n".repeat(256)), ErrorKind::BadRequest),
        (at(&"n/".repeat(40_000)), ErrorKind::BadRequest),
        (at(".quartermaster-trash/new"), ErrorKind::Forbidden),
    ] {
        let error = scratch.roots.ensure_dir(&path).unwrap_err();
        assert_eq!(error.kind(), kind, "{path}: {error}");
    }
    let text = |path: &str| scratch.roots.ensure_dir(path).unwrap_err().to_string();
    assert_eq!(text("/media"), "/media is a system directory");
    let trash = at(".quartermaster-trash/new");
    assert_eq!(
        text(&trash),
        format!("{trash} is reserved for the server: choose another place")
    );

    let many = |levels: usize| at(&format!("many{}", "/n".repeat(levels - 1)));
    assert!(matches!(
        scratch.roots.ensure_dir(&many(129)),
        Err(FsError::TooManyMissing(_))
    ));
    assert!(!scratch.root.join("many").exists());
    assert!(scratch.roots.ensure_dir(&many(128)).unwrap().exists);
    assert!(scratch.roots.ensure_dir(&many(256)).unwrap().exists);
    assert_eq!(tree(&scratch.canary), before);
}

#[test]
fn names_that_are_not_utf8_are_listed_renamed_and_deleted() {
    let scratch = Scratch::on_disk();
    let odd = OsStr::from_bytes(b"caf\xe9 100%.mkv");
    std::fs::write(scratch.root.join(odd), "odd").unwrap();
    let listing = ops::list(&scratch.look("/").unwrap(), Page::default(), &quiet()).unwrap();
    let entry = &listing.items[0];
    assert_eq!(entry.name.text(), "caf\u{fffd} 100%.mkv");
    let raw = entry.name.raw().unwrap();
    assert_eq!(raw, "caf%E9%20100%25%2Emkv");
    let path = RelPath::from_raw(&raw).unwrap();
    assert_eq!(path.raw().as_deref(), Some(format!("/{raw}").as_str()));
    let base = scratch.base();
    let mut content = String::new();
    let (mut file, _) = base.resolve(&path, Intent::Read).unwrap().open_file().unwrap();
    file.read_to_string(&mut content).unwrap();
    assert_eq!(content, "odd");

    let item = base.resolve(&path, Intent::Change).unwrap();
    let place = ops::TrashPlace::for_item(&item, "id").unwrap();
    assert_eq!(RelPath::from_raw(&place.original.encoded()).unwrap(), path);
    ops::trash(&item, &place, &quiet()).unwrap();
    let trashed = scratch
        .roots
        .trashed(&place.storage_root, &place.trash_path)
        .unwrap();
    ops::untrash(&trashed, &place.original, false, &quiet()).unwrap();
    assert!(scratch.root.join(odd).exists());
    let item = base.resolve(&path, Intent::Change).unwrap();
    ops::copy(
        &item,
        &scratch.to("copies").unwrap(),
        &Transfer::default(),
        &quiet(),
    )
    .unwrap();
    assert!(scratch.path("copies").join(odd).exists());
    ops::rename(&item, &name("plain"), false).unwrap();
    assert_eq!(scratch.read("plain").as_deref(), Some("odd"));
    ops::remove(&scratch.item("copies").unwrap(), &quiet()).unwrap();
    assert_eq!(scratch.names(), [".quartermaster-trash", "plain"]);
}

#[test]
fn names_of_255_bytes_work_in_every_operation() {
    let scratch = Scratch::on_disk();
    let long = "\u{e9}".repeat(127) + "x";
    assert_eq!(long.len(), 255);
    scratch.write("file", "x");
    ops::rename(&scratch.item("file").unwrap(), &name(&long), false).unwrap();
    let item = scratch.item(&long).unwrap();
    let place = ops::TrashPlace::for_item(&item, "0b0e7f9a-5a3c-4a53-9d0f-1d2f3a4b5c6d").unwrap();
    ops::trash(&item, &place, &quiet()).unwrap();
    let trashed = scratch
        .roots
        .trashed(&place.storage_root, &place.trash_path)
        .unwrap();
    ops::untrash(&trashed, &place.original, false, &quiet()).unwrap();
    ops::copy(
        &scratch.item(&long).unwrap(),
        &scratch.to("d").unwrap(),
        &Transfer::default(),
        &quiet(),
    )
    .unwrap();
    assert_eq!(scratch.read(&format!("d/{long}")).as_deref(), Some("x"));
    // 255 characters but more bytes: the file system's word.
    let error = ops::rename(&scratch.item(&long).unwrap(), &name(&"\u{e9}".repeat(255)), false).unwrap_err();
    assert!(matches!(error, FsError::NameTooLong(_)), "{error}");
}

#[test]
fn chosen_names_follow_the_rules() {
    use qm_confined::Component;
    let long = "n".repeat(256);
    for bad in [
        "",
        ".",
        "..",
        "a/b",
        "a\\b",
        "a\0b",
        &long,
        ".quartermaster-trash",
        ".QUARTERMASTER-TRASH",
        ".quartermaster-tmp-1",
    ] {
        assert!(
            matches!(Component::folder(bad), Err(FsError::InvalidFolderName)),
            "{bad:?}"
        );
        assert!(
            matches!(Component::file(bad), Err(FsError::InvalidFileName)),
            "{bad:?}"
        );
    }
    for good in ["a", "...", " ", "a.", "\u{202e}gpj.exe", "-rf", "*"] {
        assert!(Component::folder(good).is_ok(), "{good:?}");
    }
}

#[test]
fn a_trash_under_a_link_or_a_file_is_refused() {
    let scratch = Scratch::on_disk();
    let before = tree(&scratch.canary);
    let trash = scratch.path(".quartermaster-trash");
    scratch.write("file", "x");
    symlink(&scratch.canary, &trash).unwrap();
    let item = scratch.item("file").unwrap();
    let place = ops::TrashPlace::for_item(&item, "id").unwrap();
    assert!(matches!(
        ops::trash(&item, &place, &quiet()),
        Err(FsError::TrashUnusable(_))
    ));
    std::fs::remove_file(&trash).unwrap();
    std::fs::write(&trash, "").unwrap();
    assert!(matches!(
        ops::trash(&item, &place, &quiet()),
        Err(FsError::TrashUnusable(_))
    ));
    assert_eq!(scratch.read("file").as_deref(), Some("x"));
    // A record forged to point elsewhere opens nothing.
    for (root, path) in [
        (scratch.root.to_str().unwrap(), scratch.canary.join("secret")),
        (
            scratch.canary.to_str().unwrap(),
            scratch.canary.join(".quartermaster-trash/x"),
        ),
        (
            scratch.root.to_str().unwrap(),
            scratch.path(".quartermaster-trash/../../canary/secret"),
        ),
        (
            scratch.root.to_str().unwrap(),
            scratch.path(".quartermaster-trash/.."),
        ),
    ] {
        assert!(
            scratch.roots.trashed(root, path.to_str().unwrap()).is_err(),
            "{path:?}"
        );
    }
    assert_eq!(tree(&scratch.canary), before);
}
