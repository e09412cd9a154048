//! Disks that are full, forbid, lie elsewhere or fail: a clear error, nothing lost, no temporaries left.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use qm_files::confined::{FsError, Intent, Roots};
use qm_files::ops::{self, Transfer};

use crate::{Scratch, quiet, rel_path, tree};

const TASK_DIR: &str = "QM_FILES_TEST_DIR";

/// Runs the ignored test `task` of this program in a mount namespace of its own, after `setup` (shell, with `$DIR`).
fn in_own_mounts(task: &str, dir: &Path, setup: &str) {
    let script = format!(
        "set -e; DIR=\"${TASK_DIR}\"; {setup}; exec \"$0\" --ignored --exact faults::{task} --nocapture"
    );
    let output = Command::new("unshare")
        // A user namespace too where the tests are not run by root.
        .args(match rustix::process::geteuid().is_root() {
            true => ["-m", "--propagation", "private"].as_slice(),
            false => ["-r", "-m", "--propagation", "private"].as_slice(),
        })
        .args(["sh", "-c", &script])
        .arg(std::env::current_exe().unwrap())
        .env(TASK_DIR, dir)
        .output()
        .expect("util-linux's `unshare` is needed to mount a small file system");
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

fn task_dir() -> Option<PathBuf> {
    std::env::var_os(TASK_DIR).map(PathBuf::from)
}

fn transfer(roots: &Roots, item: &str, to: &str, by_move: bool) -> Result<(), FsError> {
    let base = roots.whole();
    let item = base.resolve(&rel_path(item), Intent::Change)?;
    let to = base.destination(&rel_path(to))?;
    let how = Transfer {
        verify: true,
        ..Transfer::default()
    };
    match by_move {
        true => ops::move_to(&item, &to, &how, &quiet()),
        false => ops::copy(&item, &to, &how, &quiet()),
    }
    .map(drop)
}

#[test]
fn a_full_disk_ends_a_transfer_and_loses_nothing() {
    let scratch = Scratch::new();
    scratch.folder("small");
    in_own_mounts(
        "task_full_disk",
        &scratch.root,
        "mount -t tmpfs -o size=2m,nr_inodes=60 none \"$DIR/small\"",
    );
}

#[test]
#[ignore = "a task of a_full_disk_ends_a_transfer_and_loses_nothing"]
fn task_full_disk() {
    let root = task_dir().expect("started by its test");
    let write = |rel: &str, size: usize| {
        let path = root.join(rel);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, vec![7; size]).unwrap();
    };
    write("large", 3 << 20);
    write("tree/a", 1 << 20);
    write("tree/sub/b", 2 << 20);
    for n in 0..100 {
        write(&format!("many/{n}"), 1);
    }
    write("small/there", 100);
    let roots = Roots::open(&[root.to_str().unwrap()]);
    let before = tree(&root);
    for item in ["large", "tree", "many"] {
        for by_move in [true, false] {
            let error = transfer(&roots, item, "small/new/place", by_move).unwrap_err();
            assert!(matches!(error, FsError::NoSpace(_)), "{item}: {error}");
            assert!(error.to_string().contains("free some space"), "{error}");
            let touched = |found: std::collections::BTreeMap<String, String>| {
                // The small disk's own directory was written to and has another time; what is in it counts.
                found
                    .into_iter()
                    .filter(|(path, _)| path != "small")
                    .collect::<Vec<_>>()
            };
            assert_eq!(touched(tree(&root)), touched(before.clone()), "{item}");
        }
    }
    std::fs::remove_file(root.join("small/there")).unwrap();
    write("fits", 1 << 20);
    transfer(&roots, "fits", "small", true).unwrap();
}

#[test]
fn a_read_only_disk_and_a_mount_point_are_named() {
    let scratch = Scratch::new();
    scratch.folder("tree/mounted");
    scratch.folder("sealed");
    in_own_mounts(
        "task_mounts",
        &scratch.root,
        "mount -t tmpfs none \"$DIR/tree/mounted\"; mount -t tmpfs -o ro none \"$DIR/sealed\"",
    );
}

#[test]
#[ignore = "a task of a_read_only_disk_and_a_mount_point_are_named"]
fn task_mounts() {
    let root = task_dir().expect("started by its test");
    std::fs::write(root.join("file"), "x").unwrap();
    std::fs::write(root.join("tree/mounted/file"), "x").unwrap();
    let roots = Roots::open(&[root.to_str().unwrap()]);
    let base = roots.whole();
    let before = tree(&root);
    let error = transfer(&roots, "file", "sealed", true).unwrap_err();
    assert!(matches!(error, FsError::ReadOnly(_)), "{error}");
    // A tree with a disk in it is not emptied, nor is the disk.
    for path in ["tree", "tree/mounted"] {
        let item = base.resolve(&rel_path(path), Intent::Change).unwrap();
        let error = ops::remove(&item, &quiet()).unwrap_err();
        assert!(matches!(error, FsError::InUse(_)), "{path}: {error}");
    }
    assert_eq!(tree(&root), before);
    // What lies on it reaches the trash of its root, across the border.
    let item = base
        .resolve(&rel_path("tree/mounted/file"), Intent::Change)
        .unwrap();
    let place = ops::TrashPlace::of(&item, "id").unwrap();
    ops::trash(&item, &place, &quiet()).unwrap();
    assert!(root.join(".quartermaster-trash/id__file").exists());
    let trashed = roots.trashed(&place.storage_root, &place.trash_path).unwrap();
    ops::untrash(&trashed, &place.original, false, &quiet()).unwrap();
    assert!(root.join("tree/mounted/file").exists());
}

/// Runs `work` without the rights of root, where the tests have them: rights belong to a thread.
fn as_nobody(work: impl FnOnce() + Send) {
    use rustix::thread::{Uid, set_thread_res_uid};
    std::thread::scope(|threads| {
        let nobody = threads.spawn(|| {
            if rustix::process::geteuid().is_root() {
                let nobody = Uid::from_raw(65534);
                set_thread_res_uid(nobody, nobody, nobody).unwrap();
            }
            work();
        });
        if let Err(panic) = nobody.join() {
            std::panic::resume_unwind(panic);
        }
    });
}

#[test]
fn what_is_forbidden_is_said_and_left_as_it_was() {
    let scratch = Scratch::new();
    let mode = |rel: &str, bits| {
        std::fs::set_permissions(scratch.path(rel), std::fs::Permissions::from_mode(bits)).unwrap();
    };
    std::fs::set_permissions(
        scratch.root.parent().unwrap(),
        std::fs::Permissions::from_mode(0o755),
    )
    .unwrap();
    scratch.write("sealed/file", "x");
    scratch.write("sealed/sub/file", "x");
    scratch.write("open/secret", "x");
    scratch.write("open/file", "x");
    scratch.folder("open/to");
    scratch.folder("unreadable/sub");
    mode("open/secret", 0o600);
    mode("open", 0o777);
    mode("open/to", 0o777);
    mode("sealed", 0o555);
    mode("unreadable", 0o700);
    let owner = (!rustix::process::geteuid().is_root()).then_some(());
    let before = tree(&scratch.root);
    as_nobody(|| {
        let denied = |what: &str, result: Result<(), FsError>| {
            let error = result.expect_err(what);
            assert!(matches!(error, FsError::Denied(_)), "{what}: {error}");
        };
        let look = |rel: &str| scratch.look(rel);
        denied(
            "list",
            look("unreadable")
                .and_then(|d| ops::list(&d, ops::Page::default()).map(drop))
                .or_else(
                    // Its owner may, whatever its mode says of others.
                    |error| {
                        if owner.is_some() {
                            Err(FsError::Denied(String::new()))
                        } else {
                            Err(error)
                        }
                    },
                ),
        );
        denied(
            "create",
            look("sealed").and_then(|d| ops::create_dir(&d, &crate::name("new")).map(drop)),
        );
        denied(
            "remove",
            scratch
                .item("sealed/file")
                .and_then(|i| ops::remove(&i, &quiet()).map(drop)),
        );
        denied(
            "remove a tree",
            scratch
                .item("sealed/sub")
                .and_then(|i| ops::remove(&i, &quiet()).map(drop)),
        );
        denied(
            "rename",
            scratch
                .item("sealed/file")
                .and_then(|i| ops::rename(&i, &crate::name("x"), false).map(drop)),
        );
        denied(
            "move",
            scratch.item("sealed/file").and_then(|i| {
                ops::move_to(&i, &scratch.to("open/to")?, &Transfer::default(), &quiet()).map(drop)
            }),
        );
        denied(
            "copy into",
            scratch.item("open/file").and_then(|i| {
                ops::copy(&i, &scratch.to("sealed/new")?, &Transfer::default(), &quiet()).map(drop)
            }),
        );
        denied(
            "copy of an unreadable file",
            scratch
                .item("open/secret")
                .and_then(|i| {
                    ops::copy(&i, &scratch.to("open/to")?, &Transfer::default(), &quiet()).map(drop)
                })
                .and(owner.map_or(Ok(()), |()| Err(FsError::Denied(String::new())))),
        );
        denied(
            "trash",
            scratch.item("sealed/file").and_then(|i| {
                let place = ops::TrashPlace::of(&i, "id")?;
                ops::trash(&i, &place, &quiet()).map(drop)
            }),
        );
    });
    let same = |found: std::collections::BTreeMap<String, String>| {
        // A temporary came and went in it.
        found
            .into_iter()
            .filter(|(path, _)| path != "open/to")
            .collect::<Vec<_>>()
    };
    assert_eq!(same(tree(&scratch.root)), same(before));
    mode("sealed", 0o755);
}

/// Two roots on two file systems; `other` in the first is a link to the second.
fn across() -> (Scratch, Scratch, Roots) {
    let (near, far) = (Scratch::new(), Scratch::in_memory());
    let device = |path: &Path| std::os::unix::fs::MetadataExt::dev(&path.metadata().unwrap());
    assert_ne!(
        device(&near.root),
        device(&far.root),
        "/dev/shm must be a file system of its own"
    );
    symlink(&far.root, near.path("other")).unwrap();
    let roots = Roots::open(&[near.root.to_str().unwrap(), far.root.to_str().unwrap()]);
    (near, far, roots)
}

#[test]
fn a_move_across_file_systems_arrives_whole_before_it_leaves() {
    let (near, far, roots) = across();
    near.write("tree/a", "x".repeat(3_000_000));
    near.write("tree/sub/b", "b");
    near.folder("tree/empty");
    symlink("a", near.path("tree/link")).unwrap();
    near.write("file", "file");
    symlink("nowhere", near.path("link")).unwrap();
    for item in ["tree", "file", "link"] {
        transfer(&roots, item, "other/new", true).unwrap();
    }
    assert_eq!(near.names(), ["other"]);
    assert_eq!(far.read("new/tree/a").map(|a| a.len()), Some(3_000_000));
    assert_eq!(far.read("new/tree/sub/b").as_deref(), Some("b"));
    assert!(far.path("new/tree/empty").is_dir());
    for (link, target) in [("new/tree/link", "a"), ("new/link", "nowhere")] {
        assert_eq!(std::fs::read_link(far.path(link)).unwrap().to_str(), Some(target));
    }
    assert_eq!(far.read("new/file").as_deref(), Some("file"));
    // Back, over what is there.
    near.write("tree/old", "old");
    near.folder("file");
    let base = roots.whole();
    let over = Transfer {
        overwrite: true,
        verify: true,
        name: None,
    };
    for item in ["other/new/tree", "other/new/file", "other/new/link"] {
        let item = base.resolve(&rel_path(item), Intent::Change).unwrap();
        ops::move_to(&item, &base.destination(&rel_path("/")).unwrap(), &over, &quiet()).unwrap();
    }
    assert_eq!(near.read("tree/old"), None);
    assert_eq!(near.read("tree/sub/b").as_deref(), Some("b"));
    assert_eq!(near.read("file").as_deref(), Some("file"));
    assert_eq!(std::fs::read_dir(far.path("new")).unwrap().count(), 0);
    assert_eq!((near.temporaries(), far.temporaries()), (vec![], vec![]));
}

#[test]
fn a_fifo_stays_on_its_file_system() {
    let (near, far, roots) = across();
    near.write("tree/file", "x");
    rustix::fs::mkfifoat(rustix::fs::CWD, near.path("tree/fifo"), rustix::fs::Mode::RUSR).unwrap();
    let before = tree(&near.root);
    for item in ["tree", "tree/fifo"] {
        let error = transfer(&roots, item, "other/new", true).unwrap_err();
        assert!(matches!(error, FsError::Special(_)), "{item}: {error}");
    }
    assert_eq!(tree(&near.root), before);
    assert_eq!(far.names(), Vec::<String>::new());
}
