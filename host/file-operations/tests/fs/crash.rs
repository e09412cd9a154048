//! Killed at any moment, the process leaves every file whole, at its old place, at its new one or in the trash.

use std::collections::BTreeSet;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use qm_confined::{Base, FsError, Intent, Place, RelPath, Roots};
use qm_file_operations::{self as ops, Control, Notes, Transfer, TrashPlace};

use crate::{Scratch, name, quiet, rel_path};

const ROOTS: &str = "QM_FILES_CRASH_ROOTS";
const SEED: &str = "QM_FILES_CRASH_SEED";
const KILLS: u64 = 60;
const FILES: usize = 12;

/// Content that is its own proof: whole or not, and which.
fn content(file: usize) -> String {
    format!("{file}:{}", "x".repeat(20_000 + file * 40_000))
}

fn roots_of(near: &Path, far: &Path) -> Roots {
    Roots::open(&[near.to_str().unwrap(), far.to_str().unwrap()])
}

/// Directories between which items are moved; `other` leads to another file system.
const PLACES: &[&str] = &["/", "a", "a/b", "c/new", "other", "other/d"];

/// Path of the file in which the worker notes the places of its temporaries.
fn notes_of(near: &Path) -> PathBuf {
    near.with_file_name("notes")
}

/// One file a note, complete or not there.
struct Notebook(PathBuf);

impl Notes for Notebook {
    fn write(&self, place: &Place, whole_tree: bool) -> Result<String, FsError> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let id = NEXT.fetch_add(1, Ordering::Relaxed).to_string();
        let text = format!("{}|{}|{whole_tree}", place.root, place.directory.encoded());
        let draft = self.0.with_file_name("draft");
        std::fs::write(&draft, text).unwrap();
        std::fs::rename(draft, self.0.join(&id)).unwrap();
        Ok(id)
    }

    fn close(&self, id: &str, clean: bool) {
        if clean {
            std::fs::remove_file(self.0.join(id)).unwrap();
        }
    }
}

fn noting(notes: &Path) -> Control {
    quiet().noting(Arc::new(Notebook(notes.to_path_buf())))
}

/// Looks where the killed worker noted, and nowhere else.
fn sweep_noted(roots: &Roots, notes: &Path) {
    for note in std::fs::read_dir(notes).unwrap() {
        let note = note.unwrap().path();
        let text = std::fs::read_to_string(&note).unwrap();
        let parts: Vec<_> = text.split('|').collect();
        let place = Place {
            root: parts[0].to_owned(),
            directory: RelPath::from_raw(parts[1]).unwrap(),
        };
        ops::sweep(roots, &place, parts[2] == "true", &quiet()).unwrap();
        std::fs::remove_file(note).unwrap();
    }
}

/// A random number generator that needs no more than a seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides as u64) as usize
    }
}

/// The process that is killed: moves, renames, copies and trashes for as long as it lives.
#[test]
#[ignore = "the process that is killed"]
fn worker() {
    let (near, far) = std::env::var(ROOTS)
        .ok()
        .and_then(|both| {
            both.split_once('|')
                .map(|(a, b)| (PathBuf::from(a), PathBuf::from(b)))
        })
        .expect("started by its test");
    let roots = roots_of(&near, &far);
    let notes = notes_of(&near);
    let base = roots.whole();
    let mut dice = Dice(std::env::var(SEED).unwrap().parse().unwrap());
    println!("\nworking");
    for step in 0_u64.. {
        // Refusals are part of it: names are taken, things are gone.
        let _ = act(&roots, &base, &notes, &mut dice, step);
    }
}

fn act(roots: &Roots, base: &Base, notes: &Path, dice: &mut Dice, step: u64) -> Result<(), FsError> {
    let place = PLACES[dice.roll(PLACES.len())];
    let victim = match dice.roll(4) {
        0 => place.to_owned(),
        _ => format!("{place}/file-{}", dice.roll(FILES)),
    };
    let to = rel_path(PLACES[dice.roll(PLACES.len())]);
    let item = || base.resolve(&rel_path(&victim), Intent::Change);
    let plain = Transfer::default();
    match dice.roll(6) {
        0 | 1 => ops::move_to(&item()?, &base.destination(&to)?, &plain, &noting(notes)).map(drop),
        2 => {
            let old = item()?;
            let renamed = ops::rename(&old, &name(&format!("renamed-{step}")), false)?;
            let back = base.resolve(&renamed.rel, Intent::Change)?;
            ops::rename(&back, old.name().ok_or(FsError::Outside)?, false).map(drop)
        }
        3 => {
            // A copy, replaced once more and removed: no harm to the original.
            let copy = name("copy");
            let how = Transfer {
                overwrite: true,
                verify: true,
                name: Some(copy.clone()),
            };
            let source = item()?;
            let target = base.destination(&to)?;
            ops::copy(&source, &target, &how, &noting(notes))?;
            ops::copy(&source, &target, &how, &noting(notes))?;
            let made = base.resolve(&to.join(&copy), Intent::Change)?;
            ops::remove(&made, &noting(notes)).map(drop)
        }
        _ => {
            let item = item()?;
            let trash = TrashPlace::for_item(&item, &format!("{step}"))?;
            ops::trash(&item, &trash, &noting(notes))?;
            let trashed = roots.trashed(&trash.storage_root, &trash.trash_path)?;
            ops::untrash(&trashed, &trash.original, false, &noting(notes)).map(drop)
        }
    }
}

/// The whole files below `dir`, the trash included, by their number; anything half is a failure.
fn whole_files(dir: &Path, found: &mut BTreeSet<usize>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            whole_files(&path, found);
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let number = text.split(':').next().and_then(|number| number.parse().ok());
        let number: usize = number.unwrap_or_else(|| panic!("{} holds nothing of ours", path.display()));
        assert!(text == content(number), "{} is not whole", path.display());
        found.insert(number);
    }
}

#[test]
fn a_kill_at_any_moment_loses_no_file() {
    let (near, far) = (Scratch::on_disk(), Scratch::in_memory());
    symlink(&far.root, near.path("other")).unwrap();
    for file in 0..FILES {
        let place = PLACES[file % PLACES.len()].trim_start_matches('/');
        near.write(
            &Path::new(place).join(format!("file-{file}")).to_string_lossy(),
            content(file),
        );
    }
    let roots = roots_of(&near.root, &far.root);
    let all: BTreeSet<usize> = (0..FILES).collect();
    let notes = notes_of(&near.root);
    std::fs::create_dir(&notes).unwrap();
    let mut left_behind = 0;
    for kill in 1..=KILLS {
        let mut worker = Command::new(std::env::current_exe().unwrap())
            .args([
                "--ignored",
                "--exact",
                "crash::worker",
                "--nocapture",
                "--test-threads=1",
            ])
            .env(ROOTS, format!("{}|{}", near.root.display(), far.root.display()))
            .env(SEED, kill.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_string())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = std::io::BufRead::lines(std::io::BufReader::new(worker.stdout.take().unwrap()));
        assert!(
            lines.any(|line| line.unwrap() == "working"),
            "the worker did not start"
        );
        // Not a wait for anything: where in its work it is killed is what varies.
        std::thread::sleep(Duration::from_micros(kill * 1373 % 60_000));
        worker.kill().unwrap();
        worker.wait().unwrap();
        left_behind += near.temporaries().len() + far.temporaries().len();
        sweep_noted(&roots, &notes);
        assert_eq!(
            (near.temporaries(), far.temporaries()),
            (vec![], vec![]),
            "kill {kill}"
        );
        let mut found = BTreeSet::new();
        whole_files(&near.root, &mut found);
        whole_files(&far.root, &mut found);
        assert_eq!(found, all, "kill {kill}");
        restore_all(&roots);
    }
    println!("{KILLS} kills, {left_behind} temporaries swept");
}

/// Restores items that a kill left in the trash to the top, so that the next round has them too.
fn restore_all(roots: &Roots) {
    for (root, path) in ops::stray(roots, &BTreeSet::new()) {
        let trashed = roots.trashed(&root, &path).unwrap();
        let own = path.rsplit_once("__").map_or("back", |(_, own)| own).to_owned();
        let original = RelPath::from_text(&own).unwrap();
        if ops::untrash(&trashed, &original, false, &quiet()).is_err() {
            // Its name is taken: the copy there holds the same, or is another folder of that name.
            let aside = RelPath::from_text(&format!("aside-{}", path.rsplit('/').next().unwrap())).unwrap();
            ops::untrash(&trashed, &aside, false, &quiet()).unwrap();
        }
    }
}
