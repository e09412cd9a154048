//! Killed at any moment, the process leaves every file whole, at its old place, at its new one or in the trash.

use std::collections::BTreeSet;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use qm_files::confined::{Base, FsError, Intent, RelPath, Roots};
use qm_files::ops::{self, Transfer, TrashPlace};

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

/// Where things are moved to and fro; `other` leads to another file system.
const PLACES: &[&str] = &["/", "a", "a/b", "c/new", "other", "other/d"];

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
    let base = roots.whole();
    let mut dice = Dice(std::env::var(SEED).unwrap().parse().unwrap());
    println!("\nworking");
    for step in 0_u64.. {
        // Refusals are part of it: names are taken, things are gone.
        let _ = act(&roots, &base, &mut dice, step);
    }
}

fn act(roots: &Roots, base: &Base, dice: &mut Dice, step: u64) -> Result<(), FsError> {
    let place = PLACES[dice.roll(PLACES.len())];
    let victim = match dice.roll(4) {
        0 => place.to_owned(),
        _ => format!("{place}/file-{}", dice.roll(FILES)),
    };
    let to = rel_path(PLACES[dice.roll(PLACES.len())]);
    let item = || base.resolve(&rel_path(&victim), Intent::Change);
    let plain = Transfer::default();
    match dice.roll(6) {
        0 | 1 => ops::move_to(&item()?, &base.destination(&to)?, &plain, &quiet()).map(drop),
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
            ops::copy(&source, &target, &how, &quiet())?;
            ops::copy(&source, &target, &how, &quiet())?;
            let made = base.resolve(&to.join(&copy), Intent::Change)?;
            ops::remove(&made, &quiet()).map(drop)
        }
        _ => {
            let item = item()?;
            let trash = TrashPlace::of(&item, &format!("{step}"))?;
            ops::trash(&item, &trash, &quiet())?;
            let trashed = roots.trashed(&trash.storage_root, &trash.trash_path)?;
            ops::untrash(&trashed, &trash.original, false, &quiet()).map(drop)
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
        ops::sweep(&roots, &quiet()).unwrap();
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

/// What a kill left in the trash goes back to the top, so that the next round has it too.
fn restore_all(roots: &Roots) {
    for (root, path) in ops::stray(roots) {
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
