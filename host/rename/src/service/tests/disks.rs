//! Disks that are full, forbid, or vanish.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::*;

const TASK_DIR: &str = "QM_RENAME_TEST_DIR";

/// Runs the ignored test `task` of this program in a mount namespace of its own, after `setup` (shell, with `$DIR`).
fn in_own_mounts(task: &str, dir: &Path, setup: &str) {
    let script = format!(
        "set -e; DIR=\"${TASK_DIR}\"; {setup}; exec \"$0\" --ignored --exact service::tests::disks::{task}::sqlite --nocapture"
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

fn task_house(db: &Db) -> House {
    let root = std::env::var_os(TASK_DIR)
        .map(PathBuf::from)
        .expect("started by its test");
    House::over(db, root, Vec::new(), Vec::new(), Faults::default())
}

fn root_with_library() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join("tv")).unwrap();
    home
}

#[test]
fn a_full_disk_loses_nothing() {
    let home = root_with_library();
    let dir = home.path().canonicalize().unwrap();
    in_own_mounts("task_full", &dir, "mount -t tmpfs -o size=1m none \"$DIR/tv\"");
}

#[test]
fn a_sealed_disk_is_named() {
    let home = root_with_library();
    let dir = home.path().canonicalize().unwrap();
    in_own_mounts("task_sealed", &dir, "mount -t tmpfs -o ro none \"$DIR/tv\"");
}

#[test]
fn a_library_that_vanishes_is_not_filled_again_below() {
    let home = root_with_library();
    let dir = home.path().canonicalize().unwrap();
    in_own_mounts("task_vanished", &dir, "mount -t tmpfs none \"$DIR/tv\"");
}

db_test! {
    #[ignore = "a task of a_full_disk_loses_nothing"]
    async fn task_full(db: Db) {
        let house = task_house(&db);
        for number in 1..=3 {
            house.write(&format!("dl/Show.S01E0{number}.mkv"), &"x".repeat(700_000 + number));
        }
        let before = house.inventory();
        for mode in ["rename_move", "copy", "hardlink"] {
            let outcome = apply(&house, "dl", mode).await;
            assert_eq!((outcome.applied, outcome.failed), (1, 2), "{mode}: {outcome:?}");
            assert!(outcome.problems[0].message.contains("free some space"), "{outcome:?}");
            let now: BTreeSet<String> = house.inventory().into_values().collect();
            assert!(before.values().all(|content| now.contains(content)));
            assert_eq!(undo_all(&house).await, 1);
            assert_eq!(house.inventory(), before, "{mode}");
        }
    }

    #[ignore = "a task of a_sealed_disk_is_named"]
    async fn task_sealed(db: Db) {
        let house = task_house(&db);
        house.write("dl/Show.S01E01.mkv", "x");
        let before = house.inventory();
        for mode in ["rename_move", "copy", "hardlink", "symlink"] {
            let outcome = apply(&house, "dl", mode).await;
            assert_eq!((outcome.applied, outcome.failed), (0, 1), "{mode}: {outcome:?}");
            assert!(outcome.problems[0].message.contains("read-only"), "{outcome:?}");
            assert_eq!(house.inventory(), before, "{mode}");
        }
        assert_eq!(open_runs(&db).await, 0);
    }

    #[ignore = "a task of a_library_that_vanishes_is_not_filled_again_below"]
    async fn task_vanished(db: Db) {
        let root = std::env::var_os(TASK_DIR).map(PathBuf::from).expect("started by its test");
        let (library, steps) = (root.join("tv"), AtomicUsize::new(0));
        let faults = Faults::new(move |moment| {
            if moment == Moment::Stepped && steps.fetch_add(1, Ordering::SeqCst) == 0 {
                let done = Command::new("umount").arg("-l").arg(&library).status().unwrap();
                assert!(done.success());
            }
            false
        });
        let house = House::over(&db, root, Vec::new(), Vec::new(), faults);
        for number in 1..=3 {
            house.write(&format!("dl/Show.S01E0{number}.mkv"), &number.to_string());
        }
        let outcome = apply(&house, "dl", "copy").await;
        assert_eq!((outcome.applied, outcome.failed), (1, 2), "{outcome:?}");
        assert!(outcome.problems[0].message.contains("mount its disk"), "{outcome:?}");
        assert_eq!(fs::read_dir(house.root.join("tv")).unwrap().count(), 0, "nothing was put below");
        assert_eq!(open_runs(&db).await, 0);
    }
}
