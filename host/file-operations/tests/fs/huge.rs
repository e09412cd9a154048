//! Trees nobody means well by: ten thousand deep, hundreds of thousands wide. Bounded handles, no recursion.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use qm_file_operations::{self as ops, Control, Page, Transfer};
use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};
use tokio_util::sync::CancellationToken;

use crate::{Scratch, quiet};

const DEPTH: usize = 10_000;
const WIDTH: usize = 200_000;

/// Far longer than any path the kernel takes in one piece.
fn dig(scratch: &Scratch, rel: &str) {
    let open = |dir: &OwnedFd, name: &str| {
        openat(dir, name, OFlags::PATH | OFlags::DIRECTORY, Mode::empty()).unwrap()
    };
    scratch.folder(rel);
    let mut dir = openat(
        CWD,
        scratch.path(rel),
        OFlags::PATH | OFlags::DIRECTORY,
        Mode::empty(),
    )
    .unwrap();
    for _ in 0..DEPTH {
        mkdirat(&dir, "d", Mode::RWXU).unwrap();
        dir = open(&dir, "d");
    }
    let file = openat(&dir, "file", OFlags::CREATE | OFlags::WRONLY, Mode::RUSR).unwrap();
    rustix::io::write(file, b"deep").unwrap();
}

/// Reports the most handles this process ever had open.
fn watched() -> (Control, Arc<AtomicUsize>) {
    let most = Arc::new(AtomicUsize::new(0));
    let seen = most.clone();
    let reports = AtomicUsize::new(0);
    let control = Control::new(
        CancellationToken::new(),
        Box::new(move |_| {
            if reports.fetch_add(1, Ordering::Relaxed).is_multiple_of(500) {
                let open = std::fs::read_dir("/proc/self/fd").unwrap().count();
                seen.fetch_max(open, Ordering::Relaxed);
            }
        }),
    );
    (control, most)
}

#[test]
fn a_tree_ten_thousand_deep_is_measured_copied_listed_trashed_and_removed() {
    let scratch = Scratch::in_memory();
    dig(&scratch, "deep");
    let small_stack = std::thread::Builder::new().stack_size(256 << 10);
    let worker = small_stack
        .spawn(move || {
            let usage = ops::measure(&scratch.look("deep").unwrap(), &quiet()).unwrap();
            assert_eq!((usage.items, usage.bytes), (DEPTH as u64 + 1, 4));
            let (control, most) = watched();
            let how = Transfer {
                verify: true,
                ..Transfer::default()
            };
            let copied = ops::copy(
                &scratch.item("deep").unwrap(),
                &scratch.to("copy").unwrap(),
                &how,
                &control,
            )
            .unwrap();
            assert_eq!(copied.usage, usage);
            let inside = "/d".repeat(DEPTH);
            let bottom = ops::list(
                &scratch.look(&format!("copy/deep{inside}")).unwrap(),
                Page::default(),
                &control,
            )
            .unwrap();
            assert_eq!(bottom.items[0].name.text(), "file");
            let item = scratch.item("deep").unwrap();
            let place = ops::TrashPlace::for_item(&item, "id").unwrap();
            ops::trash(&item, &place, &control).unwrap();
            let trashed = scratch
                .roots
                .trashed(&place.storage_root, &place.trash_path)
                .unwrap();
            ops::purge(&trashed, &control).unwrap();
            ops::remove(&scratch.item("copy").unwrap(), &control).unwrap();
            assert_eq!(scratch.names(), [".quartermaster-trash"]);
            most.load(Ordering::Relaxed)
        })
        .unwrap();
    // Other tests hold some at the same time.
    let most = worker.join().unwrap();
    assert!((1..600).contains(&most), "{most} handles");
}

#[test]
fn two_hundred_thousand_entries_are_listed_by_the_page_measured_and_removed() {
    let scratch = Scratch::in_memory();
    scratch.folder("wide");
    let dir = openat(
        CWD,
        scratch.path("wide"),
        OFlags::PATH | OFlags::DIRECTORY,
        Mode::empty(),
    )
    .unwrap();
    for n in 0..WIDTH {
        // Every tenth is a folder.
        let name = format!("entry-{n:06}");
        if n % 10 == 0 {
            mkdirat(&dir, &name, Mode::RWXU).unwrap();
        } else {
            openat(&dir, &name, OFlags::CREATE | OFlags::WRONLY, Mode::RUSR).unwrap();
        }
    }
    let wide = scratch.look("wide").unwrap();
    let page = |offset, limit| {
        let listing = ops::list(
            &wide,
            Page {
                offset,
                limit: Some(limit),
            },
            &quiet(),
        )
        .unwrap();
        assert_eq!(listing.total, WIDTH);
        listing
            .items
            .iter()
            .map(|entry| entry.name.text())
            .collect::<Vec<_>>()
    };
    assert_eq!(page(0, 2), ["entry-000000", "entry-000010"]);
    assert_eq!(page(19_999, 2), ["entry-199990", "entry-000001"]);
    assert_eq!(page(WIDTH - 1, 10), ["entry-199999"]);
    let usage = ops::measure(&wide, &quiet()).unwrap();
    assert_eq!((usage.items, usage.files), (WIDTH as u64, WIDTH as u64 / 10 * 9));
    let (control, most) = watched();
    ops::remove(&scratch.item("wide").unwrap(), &control).unwrap();
    assert_eq!(scratch.names(), Vec::<String>::new());
    assert!((1..600).contains(&most.load(Ordering::Relaxed)));
}
