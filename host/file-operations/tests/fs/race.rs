//! Races: an entry is swapped while it is used, and nothing outside the roots is read or changed.

use std::io::Read as _;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use qm_confined::FsError;
use qm_file_operations::{self as ops, Page, Transfer, TrashPlace};
use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::{Scratch, name, quiet, rel_path, tree};

const LENGTH: Duration = Duration::from_secs(4);

/// Every mutation once, through and onto the folder that is swapped. Errors are expected; their kinds are not.
fn mutate(scratch: &Scratch, round: u64) -> u64 {
    let mut done = 0;
    let mut count = |result: Result<(), FsError>| done += u64::from(result.is_ok());
    let overwrite = Transfer {
        overwrite: true,
        ..Transfer::default()
    };
    let id = format!("{round}");
    let fresh = name(&format!("new-{round}"));
    count(
        scratch
            .look("victim")
            .and_then(|dir| ops::create_dir(&dir, &fresh).map(drop)),
    );
    count(
        scratch
            .item("victim/secret")
            .and_then(|item| ops::rename(&item, &fresh, true).map(drop)),
    );
    count(
        scratch
            .item(&format!("victim/new-{round}"))
            .and_then(|item| ops::rename(&item, &name("secret"), true).map(drop)),
    );
    for from in ["file", "tree"] {
        let item = scratch.item(from);
        count(item.and_then(|item| {
            ops::copy(&item, &scratch.to("victim/folder/deep")?, &overwrite, &quiet()).map(drop)
        }));
    }
    count(
        scratch
            .item("victim/folder/deep/tree")
            .and_then(|item| ops::move_to(&item, &scratch.to("victim")?, &overwrite, &quiet()).map(drop)),
    );
    count(
        scratch
            .item("victim/tree")
            .and_then(|item| ops::move_to(&item, &scratch.to("elsewhere")?, &overwrite, &quiet()).map(drop)),
    );
    count(scratch.item("victim/folder").and_then(|item| {
        let place = TrashPlace::for_item(&item, &id)?;
        ops::trash(&item, &place, &quiet())?;
        let trashed = scratch.roots.trashed(&place.storage_root, &place.trash_path)?;
        ops::untrash(&trashed, &rel_path("victim/folder"), true, &quiet())
            .map(drop)
            .or_else(|_| ops::purge(&trashed, &quiet()))
    }));
    count(
        scratch
            .item("victim/folder/deep/file")
            .and_then(|item| ops::remove(&item, &quiet()).map(drop)),
    );
    count(
        scratch
            .item("victim/folder/deep")
            .and_then(|item| ops::remove(&item, &quiet()).map(drop)),
    );
    count(
        scratch
            .roots
            .ensure_dir(scratch.path("victim/folder/deep").to_str().unwrap())
            .map(drop),
    );
    done
}

#[test]
fn a_folder_swapped_for_a_link_while_it_is_changed_leads_nowhere() {
    let scratch = Scratch::in_memory();
    scratch.write("victim/secret", "inside");
    scratch.write("victim/folder/secret", "inside");
    scratch.folder("victim/folder/deep");
    scratch.write("file", "inside");
    scratch.write("tree/a/b", "inside");
    symlink(&scratch.canary, scratch.path("swap")).unwrap();
    let before = tree(&scratch.canary);
    let (over, swaps, done) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|threads| {
        threads.spawn(|| {
            let (victim, swap) = (scratch.path("victim"), scratch.path("swap"));
            while !over.load(Ordering::Relaxed) {
                renameat_with(CWD, &victim, CWD, &swap, RenameFlags::EXCHANGE).unwrap();
                swaps.fetch_add(1, Ordering::Relaxed);
            }
        });
        // Reading: what comes back is what lies inside, or nothing.
        threads.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                if let Ok((mut file, _)) = scratch.look("victim/secret").and_then(|item| item.open_file()) {
                    let mut content = String::new();
                    file.read_to_string(&mut content).unwrap();
                    assert_ne!(content, "secret");
                }
                let _ = scratch
                    .look("victim")
                    .and_then(|dir| ops::list(&dir, Page::default(), &quiet()));
                let _ = scratch
                    .look("victim")
                    .and_then(|dir| ops::measure(&dir, &quiet()));
            }
        });
        let start = Instant::now();
        let mut round = 0;
        while start.elapsed() < LENGTH {
            done.fetch_add(mutate(&scratch, round), Ordering::Relaxed);
            // What was moved elsewhere comes back for the next round.
            scratch.write("tree/a/b", "inside");
            round += 1;
        }
        over.store(true, Ordering::Relaxed);
    });
    let (swaps, done) = (swaps.into_inner(), done.into_inner());
    println!("{swaps} swaps, {done} changes");
    assert_eq!(tree(&scratch.canary), before);
    assert!(swaps > 1000 && done > 100, "{swaps} swaps, {done} changes");
    assert_eq!(scratch.temporaries(), Vec::<String>::new());
}
