//! Effects of each operation, and its refusals.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use qm_confined::{FsError, Place};
use qm_file_operations::{self as ops, Control, Page, Transfer, Visit};
use tokio_util::sync::CancellationToken;

use crate::{Scratch, name, quiet, rel_path};

fn over() -> Transfer {
    Transfer {
        overwrite: true,
        ..Transfer::default()
    }
}

#[test]
fn folders_are_created_once() {
    let scratch = Scratch::on_disk();
    scratch.write("file", "x");
    let top = scratch.look("/").unwrap();
    assert_eq!(ops::create_dir(&top, &name("a")).unwrap().text(), "/a");
    assert!(matches!(ops::create_dir(&top, &name("a")), Err(FsError::Exists)));
    let file = scratch.look("file").unwrap();
    assert!(matches!(
        ops::create_dir(&file, &name("a")),
        Err(FsError::NotADirectory(_))
    ));
}

#[test]
fn renaming_replaces_only_when_asked_and_only_what_it_may() {
    let scratch = Scratch::on_disk();
    for (from, to, overwrite, expected) in [
        ("file", "file", false, "ok"),
        ("file", "new", false, "ok"),
        (
            "file",
            "other",
            false,
            "A file or folder with that name already exists",
        ),
        ("file", "other", true, "ok"),
        ("empty", "empty-too", true, "ok"),
        (
            "empty",
            "full",
            true,
            "/full is a folder that is not empty: empty or delete it first",
        ),
        (
            "file",
            "full",
            true,
            "A folder cannot replace a file, nor a file a folder: /full",
        ),
        (
            "full",
            "file",
            true,
            "A folder cannot replace a file, nor a file a folder: /file",
        ),
        ("missing", "new", true, "/missing does not exist"),
    ] {
        for path in ["empty", "empty-too", "full", "new", "file", "other"] {
            let path = scratch.path(path);
            let _ = std::fs::remove_file(&path).or_else(|_| std::fs::remove_dir_all(&path));
        }
        scratch.write("file", "file");
        scratch.write("other", "other");
        scratch.write("full/x", "x");
        scratch.folder("empty");
        scratch.folder("empty-too");
        let renamed = scratch
            .item(from)
            .and_then(|item| ops::rename(&item, &name(to), overwrite));
        let said = renamed.as_ref().map_or_else(ToString::to_string, |_| "ok".into());
        assert_eq!(said, expected, "{from} -> {to}");
        if let Ok(renamed) = renamed {
            assert_eq!(renamed.rel.text(), format!("/{to}"));
            assert!(renamed.to.exists() && (from == to || !renamed.from.exists()));
        }
    }
}

#[test]
fn two_names_of_one_file_become_one_when_one_replaces_the_other() {
    let scratch = Scratch::on_disk();
    scratch.write("a", "x");
    std::fs::hard_link(scratch.path("a"), scratch.path("b")).unwrap();
    ops::rename(&scratch.item("a").unwrap(), &name("b"), true).unwrap();
    assert_eq!(scratch.names(), ["b"]);
    scratch.folder("d");
    std::fs::hard_link(scratch.path("b"), scratch.path("d/b")).unwrap();
    ops::move_to(
        &scratch.item("b").unwrap(),
        &scratch.to("d").unwrap(),
        &over(),
        &quiet(),
    )
    .unwrap();
    assert_eq!(scratch.names(), ["d"]);
    assert_eq!(scratch.read("d/b").as_deref(), Some("x"));
}

#[test]
fn what_would_lose_something_is_refused_before_anything_is_touched() {
    let scratch = Scratch::on_disk();
    scratch.write("a/b/a/x", "x");
    scratch.write("file", "f");
    scratch.write("d/file", "old");
    let before = crate::tree(&scratch.root);
    let act = |item: &str, to: &str, how: &Transfer, by_move: bool| {
        let item = scratch.item(item)?;
        let to = scratch.to(to)?;
        let act = if by_move { ops::move_to } else { ops::copy };
        act(&item, &to, how, &quiet())
    };
    for (item, to, how, expected) in [
        ("a", "a", over(), "Cannot move or copy an item into itself"),
        (
            "a",
            "a/new/deep",
            over(),
            "Cannot move or copy an item into itself",
        ),
        ("a", "/", over(), "Cannot move or copy an item into itself"),
        ("file", "/", over(), "Cannot move or copy an item into itself"),
        ("file", "/", Transfer::default(), "Destination already exists"),
        ("file", "d", Transfer::default(), "Destination already exists"),
        (
            "a/b/a",
            "/",
            over(),
            "The destination contains the item itself: choose another folder",
        ),
        ("missing", "new", over(), "/missing does not exist"),
        ("file", "d/file/new", over(), "Not a directory"),
    ] {
        for by_move in [true, false] {
            let said = act(item, to, &how, by_move).map_or_else(|e| e.to_string(), |_| "ok".into());
            assert_eq!(said, expected, "{item} -> {to}");
        }
    }
    assert_eq!(crate::tree(&scratch.root), before);
}

#[test]
fn a_move_replaces_and_a_copy_merges() {
    let scratch = Scratch::on_disk();
    let fresh = || {
        let _ = std::fs::remove_dir_all(&scratch.root);
        scratch.write("a/x", "new");
        scratch.write("a/deep/y", "new");
        scratch.write("to/a/x", "old");
        scratch.write("to/a/z", "old");
    };
    let files =
        |at: &str| ["x", "deep/y", "z"].map(|file| scratch.read(&format!("{at}/{file}")).unwrap_or_default());
    fresh();
    let moved = ops::move_to(
        &scratch.item("a").unwrap(),
        &scratch.to("to").unwrap(),
        &over(),
        &quiet(),
    )
    .unwrap();
    assert_eq!(
        (moved.rel.text().as_str(), moved.usage.bytes, moved.usage.items),
        ("/to/a", 6, 3)
    );
    assert_eq!(files("to/a"), ["new", "new", ""]);
    assert_eq!(scratch.names(), ["to"]);
    fresh();
    ops::copy(
        &scratch.item("a").unwrap(),
        &scratch.to("to").unwrap(),
        &over(),
        &quiet(),
    )
    .unwrap();
    assert_eq!(files("to/a"), ["new", "new", "old"]);
    assert_eq!(files("a"), ["new", "new", ""]);
    // A folder that would meet a file: nothing is merged.
    fresh();
    scratch.write("to/a/deep", "a file");
    let mixed = ops::copy(
        &scratch.item("a").unwrap(),
        &scratch.to("to").unwrap(),
        &over(),
        &quiet(),
    );
    assert!(matches!(mixed, Err(FsError::MixedKinds(_))));
    assert_eq!(files("to/a"), ["old", "", "old"]);
    assert_eq!(scratch.read("to/a/deep").as_deref(), Some("a file"));
    assert_eq!(scratch.temporaries(), Vec::<String>::new());
    // Kinds differ: a move replaces whatever is there.
    scratch.write("b/a", "file");
    ops::move_to(
        &scratch.item("b/a").unwrap(),
        &scratch.to("to").unwrap(),
        &over(),
        &quiet(),
    )
    .unwrap();
    assert_eq!(scratch.read("to/a").as_deref(), Some("file"));
}

#[test]
fn a_copy_keeps_times_modes_links_and_holes() {
    let scratch = Scratch::on_disk();
    scratch.folder("tree/sub");
    let sparse = std::fs::File::create(scratch.path("tree/sparse")).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&sparse, b"middle", 32 << 20).unwrap();
    sparse.set_len(64 << 20).unwrap();
    scratch.write("tree/sub/script", "#!");
    let mode = |rel: &str, bits| {
        std::fs::set_permissions(scratch.path(rel), std::fs::Permissions::from_mode(bits)).unwrap();
    };
    mode("tree/sub/script", 0o4751);
    mode("tree/sub", 0o711);
    std::os::unix::fs::symlink("sub/script", scratch.path("tree/link")).unwrap();
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    for rel in ["tree/sub/script", "tree/sub", "tree"] {
        std::fs::File::open(scratch.path(rel))
            .unwrap()
            .set_modified(long_ago)
            .unwrap();
    }
    let how = Transfer {
        verify: true,
        name: Some(name("copy")),
        ..Transfer::default()
    };
    ops::copy(
        &scratch.item("tree").unwrap(),
        &scratch.to("/").unwrap(),
        &how,
        &quiet(),
    )
    .unwrap();
    for (rel, expected) in [
        ("copy", None),
        ("copy/sub", Some(0o711)),
        ("copy/sub/script", Some(0o751)),
    ] {
        let meta = scratch.path(rel).metadata().unwrap();
        assert_eq!(meta.modified().unwrap(), long_ago, "{rel}");
        assert!(
            expected.is_none_or(|bits| meta.mode() & 0o7777 == bits),
            "{rel}: {:o}",
            meta.mode()
        );
    }
    assert_eq!(
        std::fs::read_link(scratch.path("copy/link")).unwrap().to_str(),
        Some("sub/script")
    );
    let (old, new) = (
        scratch.path("tree/sparse").metadata().unwrap(),
        scratch.path("copy/sparse").metadata().unwrap(),
    );
    assert_eq!(old.len(), new.len());
    assert!(
        new.blocks() <= old.blocks() + 256,
        "{} blocks became {}",
        old.blocks(),
        new.blocks()
    );
    let content = |rel: &str| std::fs::read(scratch.path(rel)).unwrap();
    assert!(content("tree/sparse") == content("copy/sparse"));
}

#[test]
fn hard_links_count_once_and_are_freed_when_all_lie_inside() {
    let scratch = Scratch::on_disk();
    scratch.write("a/one", "12345");
    scratch.write("a/inside", "1234567");
    scratch.write("outside", "123");
    std::fs::hard_link(scratch.path("a/inside"), scratch.path("a/inside-too")).unwrap();
    std::fs::hard_link(scratch.path("outside"), scratch.path("a/shared")).unwrap();
    let usage = ops::measure(&scratch.look("a").unwrap(), &quiet()).unwrap();
    assert_eq!(
        (usage.items, usage.files, usage.bytes, usage.frees, usage.links),
        (4, 4, 15, 12, 1)
    );
    let both = [scratch.look("a").unwrap(), scratch.look("outside").unwrap()];
    let usage = ops::measure_all(both, &quiet()).unwrap();
    assert_eq!((usage.bytes, usage.frees), (15, 15));
    let usage = ops::measure(&scratch.look("outside").unwrap(), &quiet()).unwrap();
    assert_eq!((usage.bytes, usage.frees, usage.links), (3, 0, 2));
}

#[test]
fn listings_put_folders_first_and_sort_as_people_do() {
    let scratch = Scratch::on_disk();
    for folder in ["zeta", "Alpha"] {
        scratch.folder(folder);
    }
    for file in [
        "B",
        "a",
        "\u{e9}clair",
        "f",
        "Z",
        "a2",
        "_x",
        ".dot",
        "10",
        "9",
        "A",
        "b",
    ] {
        scratch.write(file, "12");
    }
    scratch.folder(".quartermaster-trash");
    scratch.write(".quartermaster-tmp-0", "");
    std::os::unix::fs::symlink("zeta", scratch.path("m-link")).unwrap();
    std::os::unix::fs::symlink(scratch.canary.join("secret"), scratch.path("n-out")).unwrap();
    let dir = scratch.look("/").unwrap();
    let listing = ops::list(&dir, Page::default(), &quiet()).unwrap();
    let names: Vec<_> = listing.items.iter().map(|entry| entry.name.text()).collect();
    assert_eq!(
        names,
        [
            "Alpha",
            "zeta",
            "_x",
            ".dot",
            "10",
            "9",
            "a",
            "A",
            "a2",
            "b",
            "B",
            "\u{e9}clair",
            "f",
            "m-link",
            "n-out",
            "Z"
        ]
    );
    let of = |name: &str| {
        listing
            .items
            .iter()
            .find(|entry| entry.name.text() == name)
            .unwrap()
    };
    assert!(of("m-link").modified.is_some());
    // What a link out points to is not even measured.
    assert_eq!((of("n-out").size, of("n-out").modified), (0, None));
    assert_eq!((of("B").size, listing.total), (2, 16));
    let page = |offset, limit| {
        let page = ops::list(&dir, Page { offset, limit }, &quiet()).unwrap();
        assert_eq!(page.total, 16);
        page.items
            .iter()
            .map(|entry| entry.name.text())
            .collect::<Vec<_>>()
    };
    assert_eq!(page(1, Some(3)), names[1..4]);
    assert_eq!(page(14, Some(10)), names[14..]);
    assert_eq!(page(99, None), Vec::<String>::new());
    let file = scratch.look("a").unwrap();
    assert!(matches!(
        ops::list(&file, Page::default(), &quiet()),
        Err(FsError::NotADirectory(_))
    ));
}

#[test]
fn trash_takes_and_gives_back() {
    let scratch = Scratch::on_disk();
    scratch.write("films/a/x", "x");
    let item = scratch.item("films/a").unwrap();
    let place = ops::TrashPlace::for_item(&item, "id-1").unwrap();
    assert_eq!(place.storage_root, scratch.root.to_str().unwrap());
    assert_eq!(
        place.trash_path,
        scratch.path(".quartermaster-trash/id-1__a").to_str().unwrap()
    );
    assert_eq!(place.original.text(), "/films/a");
    assert_eq!(ops::trash(&item, &place, &quiet()).unwrap().bytes, 1);
    assert_eq!(
        ops::stray(&scratch.roots, &std::collections::BTreeSet::new()),
        [(place.storage_root.clone(), place.trash_path.clone())]
    );
    let trashed = || scratch.roots.trashed(&place.storage_root, &place.trash_path);
    let back = |overwrite| ops::untrash(&trashed()?, &place.original, overwrite, &quiet());
    // Its folder is gone meanwhile; then something else is in its place.
    std::fs::remove_dir(scratch.path("films")).unwrap();
    assert_eq!(back(false).unwrap().rel.text(), "/films/a");
    assert_eq!(scratch.read("films/a/x").as_deref(), Some("x"));
    assert!(matches!(trashed(), Err(FsError::NotFound(_))));
    ops::trash(&scratch.item("films/a").unwrap(), &place, &quiet()).unwrap();
    scratch.write("films/a/y", "y");
    assert!(matches!(back(false), Err(FsError::DestinationExists)));
    back(true).unwrap();
    assert_eq!(
        (scratch.read("films/a/x").as_deref(), scratch.read("films/a/y")),
        (Some("x"), None)
    );
    ops::trash(&scratch.item("films/a").unwrap(), &place, &quiet()).unwrap();
    ops::purge(&trashed().unwrap(), &quiet()).unwrap();
    assert!(matches!(trashed(), Err(FsError::NotFound(_))));
    // Below a Default Root Path, its own trash.
    scratch.write("films/b", "b");
    let base = scratch
        .roots
        .narrow(scratch.path("films").to_str().unwrap())
        .unwrap();
    let item = base
        .resolve(&crate::rel_path("b"), qm_confined::Intent::Change)
        .unwrap();
    let place = ops::TrashPlace::for_item(&item, "id-2").unwrap();
    ops::trash(&item, &place, &quiet()).unwrap();
    assert!(scratch.path("films/.quartermaster-trash/id-2__b").exists());
    let trashed = scratch
        .roots
        .trashed(&place.storage_root, &place.trash_path)
        .unwrap();
    ops::untrash(&trashed, &place.original, false, &quiet()).unwrap();
    assert_eq!(scratch.read("films/b").as_deref(), Some("b"));
}

#[test]
fn a_visit_sees_everything_that_is_not_hidden_and_leaves_out_what_it_is_told() {
    let scratch = Scratch::on_disk();
    scratch.write("a/b/file", "x");
    scratch.write("skipped/file", "x");
    scratch.write("a/.quartermaster-trash/file", "x");
    let mut seen = Vec::new();
    ops::visit(&scratch.look("/").unwrap(), &quiet(), &mut |visit| {
        let (what, found) = match &visit {
            Visit::Enter(found) => ("enter", found),
            Visit::Item(found) => ("item", found),
            Visit::Leave(found) => ("leave", found),
        };
        seen.push(format!("{what} {}", found.rel()));
        if found.name().text() == "skipped" {
            return Ok(std::ops::ControlFlow::Break(()));
        }
        Ok(std::ops::ControlFlow::Continue(()))
    })
    .unwrap();
    let place = |step: &str| {
        seen.iter()
            .position(|seen| seen == step)
            .unwrap_or_else(|| panic!("{seen:?}"))
    };
    assert!(place("enter /a") < place("enter /a/b"));
    assert!(place("enter /a/b") < place("item /a/b/file"));
    assert!(place("item /a/b/file") < place("leave /a/b"));
    assert!(place("leave /a/b") < place("leave /a"));
    assert_eq!(seen.len(), 6, "{seen:?}");
}

/// Cancels after so many reports of progress.
fn cancelled_after(reports: u64) -> Control {
    let token = CancellationToken::new();
    let left = Arc::new(AtomicU64::new(reports));
    let cancel = token.clone();
    Control::new(
        token,
        Box::new(move |_| {
            if left.fetch_sub(1, Ordering::Relaxed) == 1 {
                cancel.cancel();
            }
        }),
    )
}

#[test]
fn a_cancelled_operation_leaves_the_old_state_and_no_temporaries() {
    let scratch = Scratch::on_disk();
    for n in 0..20 {
        scratch.write(&format!("tree/{n}/file"), "x".repeat(10_000));
    }
    let before = crate::tree(&scratch.root);
    for reports in 1..60 {
        let copied = ops::copy(
            &scratch.item("tree").unwrap(),
            &scratch.to("new/place").unwrap(),
            &Transfer::default(),
            &cancelled_after(reports),
        );
        match copied {
            Err(FsError::Cancelled) => assert_eq!(crate::tree(&scratch.root), before, "after {reports}"),
            Ok(_) => std::fs::remove_dir_all(scratch.path("new")).unwrap(),
            Err(other) => panic!("{other}"),
        }
    }
    let removed = ops::remove(&scratch.item("tree").unwrap(), &cancelled_after(1));
    assert!(matches!(removed, Err(FsError::Cancelled)));
    assert_eq!(crate::tree(&scratch.root), before);
}

#[test]
fn progress_adds_up() {
    let scratch = Scratch::on_disk();
    scratch.write("tree/a", "x".repeat(3_000_000));
    scratch.write("tree/b/c", "x".repeat(10));
    let last = Arc::new(std::sync::Mutex::new(ops::Progress::default()));
    let told = last.clone();
    let control = Control::new(
        CancellationToken::new(),
        Box::new(move |progress| *told.lock().unwrap() = progress),
    );
    ops::copy(
        &scratch.item("tree").unwrap(),
        &scratch.to("new").unwrap(),
        &Transfer::default(),
        &control,
    )
    .unwrap();
    let last = *last.lock().unwrap();
    assert_eq!((last.items, last.bytes), (4, 3_000_010));
    assert_eq!((last.total_items, last.total_bytes), (Some(4), Some(3_000_010)));
}

#[test]
fn a_sweep_removes_where_it_was_noted_what_nobody_works_on() {
    let scratch = Scratch::on_disk();
    scratch.write("a/.quartermaster-tmp-0000000100000001", "left by a kill");
    scratch.write(
        "a/.quartermaster-tmp-0000000100000002/deep/file",
        "left by a kill",
    );
    scratch.write("a/.quartermaster-tmp-0000000100000003", "being written");
    scratch.write("a/b/.quartermaster-tmp-0000000100000004", "not noted");
    scratch.write("a/kept", "kept");
    let sweep = |directory: &str, whole_tree| {
        let place = Place {
            root: scratch.root.to_str().unwrap().to_owned(),
            directory: rel_path(directory),
        };
        let swept = ops::sweep(&scratch.roots, &place, whole_tree, &quiet()).unwrap();
        (swept.removed, swept.settled)
    };
    let busy = std::fs::File::open(scratch.path("a/.quartermaster-tmp-0000000100000003")).unwrap();
    busy.lock().unwrap();
    assert_eq!(sweep("a", false), (2, false), "somebody works on one");
    let left = [
        "a/.quartermaster-tmp-0000000100000003",
        "a/b/.quartermaster-tmp-0000000100000004",
    ];
    assert_eq!(scratch.temporaries(), left);
    assert_eq!(scratch.read("a/kept").as_deref(), Some("kept"));
    // Closing it does not do: a process that another test starts holds the lock too, until it runs its program.
    busy.unlock().unwrap();
    assert_eq!(sweep("a", false), (1, true));
    assert_eq!(sweep("a", true), (1, true));
    scratch.folder("mounted/here");
    std::fs::remove_dir(scratch.path("mounted/here")).unwrap();
    assert_eq!(sweep("mounted/here", false), (0, false), "its disk may be away");
    assert_eq!(sweep("a/gone", false), (0, true));
    std::os::unix::fs::symlink(&scratch.canary, scratch.path("a/way-out")).unwrap();
    let untouched = crate::tree(&scratch.canary);
    assert_eq!(sweep("a/way-out", true), (0, true), "a link is not followed");
    assert_eq!(crate::tree(&scratch.canary), untouched);
}

#[test]
fn what_users_noted_on_a_file_comes_along_and_setuid_does_not() {
    let (near, far) = (Scratch::on_disk(), Scratch::in_memory());
    near.write("tree/file", "x");
    let paths = [near.path("tree/file"), near.path("tree")];
    for path in &paths {
        let set = rustix::fs::setxattr(path, "user.origin", b"here", rustix::fs::XattrFlags::empty());
        if set.is_err() {
            println!("the temporary directory has no extended attributes: nothing to see");
            return;
        }
    }
    std::fs::set_permissions(&paths[0], std::fs::Permissions::from_mode(0o4444)).unwrap();
    let how = Transfer {
        name: Some(name("copy")),
        ..Transfer::default()
    };
    ops::copy(
        &near.item("tree").unwrap(),
        &near.to("/").unwrap(),
        &how,
        &quiet(),
    )
    .unwrap();
    for path in ["copy/file", "copy"] {
        let mut value = [0; 16];
        let length = rustix::fs::getxattr(near.path(path), "user.origin", &mut value[..]).unwrap();
        assert_eq!(&value[..length], b"here", "{path}");
    }
    let mode = near.path("copy/file").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o444);
    // Wherever the other file system stands: the content is what matters.
    let roots = qm_confined::Roots::open(&[near.root.to_str().unwrap(), far.root.to_str().unwrap()]);
    std::os::unix::fs::symlink(&far.root, near.path("other")).unwrap();
    let to = roots.whole().destination(&rel_path("other")).unwrap();
    ops::copy(&near.item("tree").unwrap(), &to, &Transfer::default(), &quiet()).unwrap();
    assert_eq!(far.read("tree/file").as_deref(), Some("x"));
}

#[tokio::test]
async fn a_hung_file_system_takes_only_its_share_of_the_threads() {
    use qm_file_operations::{Lane, Workers};
    let workers = Workers::default();
    let (release, held) = std::sync::mpsc::channel::<()>();
    let held = Arc::new(std::sync::Mutex::new(held));
    let hung: Vec<_> = (0..10)
        .map(|_| {
            let (workers, held) = (workers.clone(), held.clone());
            tokio::spawn(async move {
                workers
                    .run(Lane::Long, move || {
                        let _ = held.lock().unwrap().recv();
                        Ok::<_, FsError>(())
                    })
                    .await
            })
        })
        .collect();
    // The short ones have places of their own, whatever the long ones wait for.
    assert_eq!(workers.run(Lane::Quick, || Ok::<_, FsError>(7)).await.unwrap(), 7);
    assert!(matches!(
        workers.run(Lane::Quick, || Err::<(), _>(FsError::Escapes)).await,
        Err(FsError::Escapes)
    ));
    drop(release);
    for task in hung {
        task.await.unwrap().unwrap();
    }
}
