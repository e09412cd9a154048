//! Disks that are full, forbid, lie elsewhere or fail: a clear error, nothing lost, no temporaries left.

use std::collections::BTreeMap;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use qm_confined::{FsError, Intent, Roots};
use qm_file_operations::{self as ops, Transfer};

use crate::{Scratch, name, quiet, rel_path, tree};

const TASK_DIR: &str = "QM_FILES_TEST_DIR";

/// Runs the ignored test `task` of this program in a mount namespace of its own, after `setup` (shell, with `$DIR`).
fn in_own_mounts(task: &str, dir: &Path, setup: &str) {
    let script = format!(
        "set -e; DIR=\"${TASK_DIR}\"; {setup}; exec \"$0\" --ignored --exact faults::{task} --nocapture"
    );
    let mut command = Command::new("unshare");
    if !rustix::process::geteuid().is_root() {
        command.arg("--map-root-user");
    }
    let output = command
        .args(["--mount", "--propagation", "private"])
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
    let act = if by_move { ops::move_to } else { ops::copy };
    act(&item, &to, &how, &quiet()).map(drop)
}

#[test]
fn a_full_disk_ends_a_transfer_and_loses_nothing() {
    let scratch = Scratch::on_disk();
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
            let touched = |found: BTreeMap<String, String>| {
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
    let scratch = Scratch::on_disk();
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
    let place = ops::TrashPlace::for_item(&item, "id").unwrap();
    ops::trash(&item, &place, &quiet()).unwrap();
    assert!(root.join(".quartermaster-trash/id__file").exists());
    let trashed = roots.trashed(&place.storage_root, &place.trash_path).unwrap();
    ops::untrash(&trashed, &place.original, false, &quiet()).unwrap();
    assert!(root.join("tree/mounted/file").exists());
}

/// A disk image mounted at `$DIR/failing`, of which all but the beginning is cut off once a file lies on it.
const FAILING_DISK: &str = "
    image=\"$DIR/../image\"
    truncate -s 16M \"$image\"
    mkfs.ext4 -q -O ^has_journal \"$image\"
    mount -o loop \"$image\" \"$DIR/failing\"
    mkdir \"$DIR/failing/tree\"
    echo small > \"$DIR/failing/tree/before\"
    dd if=/dev/urandom of=\"$DIR/failing/tree/film\" bs=1M count=8 conv=fsync status=none
    dd if=\"$DIR/failing/tree/film\" iflag=nocache count=0 status=none
    truncate -s 4M \"$image\"";

#[test]
fn a_disk_that_fails_is_named_and_its_copy_is_not_kept() {
    let scratch = Scratch::on_disk();
    scratch.folder("failing");
    scratch.folder("to");
    in_own_mounts("task_failing_disk", &scratch.root, FAILING_DISK);
}

#[test]
#[ignore = "a task of a_disk_that_fails_is_named_and_its_copy_is_not_kept"]
fn task_failing_disk() {
    let root = task_dir().expect("started by its test");
    let roots = Roots::open(&[root.to_str().unwrap()]);
    for item in ["failing/tree/film", "failing/tree"] {
        for by_move in [true, false] {
            let error = transfer(&roots, item, "to/new", by_move).unwrap_err();
            assert!(matches!(error, FsError::Disk(_)), "{item}: {error}");
            assert!(error.to_string().contains("film"), "{error}");
            assert_eq!(std::fs::read_dir(root.join("to")).unwrap().count(), 0, "{item}");
            assert!(root.join("failing/tree/film").exists(), "{item}");
        }
    }
    // The rest of the disk still works.
    transfer(&roots, "failing/tree/before", "to", true).unwrap();
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

/// Each thing that is forbidden, tried.
fn attempts(scratch: &Scratch) -> [(&'static str, Result<(), FsError>); 9] {
    let item = |rel: &str| scratch.item(rel);
    let plain = Transfer::default();
    let copy = |from: &str, to: &str| ops::copy(&item(from)?, &scratch.to(to)?, &plain, &quiet()).map(drop);
    let list = |rel: &str| ops::list(&scratch.look(rel)?, ops::Page::default(), &quiet()).map(drop);
    let create = |rel: &str| ops::create_dir(&scratch.look(rel)?, &name("new")).map(drop);
    let remove = |rel: &str| ops::remove(&item(rel)?, &quiet()).map(drop);
    let rename = |rel: &str| ops::rename(&item(rel)?, &name("new"), false).map(drop);
    let move_to =
        |from: &str, to: &str| ops::move_to(&item(from)?, &scratch.to(to)?, &plain, &quiet()).map(drop);
    let trash = |rel: &str| {
        let item = item(rel)?;
        ops::trash(&item, &ops::TrashPlace::for_item(&item, "id")?, &quiet()).map(drop)
    };
    [
        ("list", list("unreadable")),
        ("create", create("sealed")),
        ("remove a file", remove("sealed/file")),
        ("remove a folder", remove("sealed/sub")),
        ("rename", rename("sealed/file")),
        ("move", move_to("sealed/file", "open/to")),
        ("copy into it", copy("open/file", "sealed/new")),
        ("copy what cannot be read", copy("open/secret", "open/to")),
        ("trash", trash("sealed/file")),
    ]
}

#[test]
fn what_is_forbidden_is_said_and_left_as_it_was() {
    let scratch = Scratch::on_disk();
    let mode = |path: PathBuf, bits| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(bits)).unwrap();
    };
    mode(scratch.path(".."), 0o755);
    for file in ["sealed/file", "sealed/sub/file", "open/secret", "open/file"] {
        scratch.write(file, "x");
    }
    scratch.folder("open/to");
    scratch.folder("unreadable");
    let before = tree(&scratch.root);
    let allow = |bits: [u32; 5]| {
        let paths = ["open", "open/to", "open/secret", "sealed", "unreadable"];
        for (path, bits) in paths.into_iter().zip(bits) {
            mode(scratch.path(path), bits);
        }
    };
    let old = [0o755, 0o755, 0o644, 0o755, 0o755];
    allow([0o777, 0o777, 0, 0o555, 0]);
    as_nobody(|| {
        for (what, result) in attempts(&scratch) {
            let error = result.expect_err(what);
            assert!(matches!(error, FsError::Denied(_)), "{what}: {error}");
        }
    });
    allow(old);
    let same = |found: BTreeMap<String, String>| {
        // A temporary came and went in it.
        found
            .into_iter()
            .filter(|(path, _)| path != "open/to")
            .collect::<Vec<_>>()
    };
    assert_eq!(same(tree(&scratch.root)), same(before));
}

/// Two roots on two file systems; `other` in the first is a link to the second.
fn across() -> (Scratch, Scratch, Roots) {
    let (near, far) = (Scratch::on_disk(), Scratch::in_memory());
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
fn a_source_that_cannot_be_removed_after_the_copy_is_kept_and_said() {
    let (near, far, roots) = across();
    near.write("tree/sealed/file", "x");
    near.write("tree/free", "x");
    let mode = |path: PathBuf, bits| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(bits)).unwrap();
    };
    for scratch in [&near, &far] {
        mode(scratch.path(".."), 0o755);
    }
    if rustix::process::geteuid().is_root() {
        let tree = ["", "tree", "tree/free", "tree/sealed", "tree/sealed/file"].map(|rel| near.path(rel));
        for path in tree.iter().chain([&far.root]) {
            std::os::unix::fs::chown(path, Some(65534), Some(65534)).unwrap();
        }
    }
    mode(near.path("tree/sealed"), 0o555);
    as_nobody(|| {
        let error = transfer(&roots, "tree", "other/new", true).unwrap_err();
        assert!(matches!(error, FsError::SourceKept { .. }), "{error}");
        assert!(error.to_string().contains("/tree/sealed/file"), "{error}");
    });
    // The copy is whole; of the original what would not go is where it was.
    for file in ["new/tree/sealed/file", "new/tree/free"] {
        assert_eq!(far.read(file).as_deref(), Some("x"), "{file}");
    }
    assert_eq!(near.read("tree/sealed/file").as_deref(), Some("x"));
    assert_eq!((near.temporaries(), far.temporaries()), (vec![], vec![]));
    mode(near.path("tree/sealed"), 0o755);
    mode(far.path("new/tree/sealed"), 0o755);
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
