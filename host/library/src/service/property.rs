//! Property test: whatever happens to the disk between scans, the index is the result of a first scan, and files of a disk
//! that is not mounted stay known.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use qm_db::{Db, db_test};
use qm_media::model::library::{Kind, MediaLibrary};
use qm_media::service::Pace;
use qm_media_names::place;
use qm_scan::{Reason, ScanRequest};

use crate::testing::House;

/// Sequences, each over two libraries of its own, and the steps of one.
const CASES: usize = 10;
const STEPS: usize = 24;
/// A directory that is touched twice within this may look as if it was touched once.
const TICK: Duration = Duration::from_millis(25);

/// One thing that happens. The numbers choose among what is there at that moment.
#[derive(Clone, Debug)]
enum Step {
    Create {
        library: usize,
        folder: usize,
        name: usize,
        size: u64,
    },
    /// A file or a whole folder gets another name, in its library or in the other one.
    Move {
        from: usize,
        which: usize,
        to: usize,
        name: usize,
    },
    Delete {
        library: usize,
        which: usize,
    },
    Unmount {
        library: usize,
        leaves: Leaves,
    },
    Mount {
        library: usize,
    },
    Scan {
        library: usize,
        how: How,
    },
}

/// Kind of scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    Whole,
    /// Relies on directories that did not change.
    Quick,
    /// A scan of only the directories in which something changed.
    Noticed,
}

/// State of a mount point after its file system is gone.
#[derive(Clone, Copy, Debug)]
enum Leaves {
    Nothing,
    Empty,
    Another,
}

fn step() -> impl Strategy<Value = Step> {
    let leaves = prop_oneof![Just(Leaves::Nothing), Just(Leaves::Empty), Just(Leaves::Another)];
    let how = prop_oneof![Just(How::Whole), Just(How::Quick), Just(How::Noticed)];
    prop_oneof![
        5 => (0..2usize, 0..6usize, 0..8usize, 1..9u64)
            .prop_map(|(library, folder, name, size)| Step::Create { library, folder, name, size }),
        3 => (0..2usize, any::<usize>(), 0..2usize, 0..8usize)
            .prop_map(|(from, which, to, name)| Step::Move { from, which, to, name }),
        2 => (0..2usize, any::<usize>()).prop_map(|(library, which)| Step::Delete { library, which }),
        1 => (0..2usize, leaves).prop_map(|(library, leaves)| Step::Unmount { library, leaves }),
        1 => (0..2usize).prop_map(|library| Step::Mount { library }),
        5 => (0..2usize, how).prop_map(|(library, how)| Step::Scan { library, how }),
    ]
}

const FOLDERS: [&str; 6] = ["", "A Show", "A Show/Season 1", "A Show/Season 2", "B/C/D", "ü"];

/// The last one is not UTF-8.
fn name(number: usize) -> PathBuf {
    let mut bytes = format!("Name.S01E{number:02}").into_bytes();
    if number == 7 {
        bytes.push(0xff);
    }
    bytes.extend(b".mkv");
    PathBuf::from(std::ffi::OsString::from_vec(bytes))
}

/// A library, and where its file system is while it is not mounted.
struct Disk {
    library: MediaLibrary,
    away: PathBuf,
    is_mounted: bool,
    /// True if a scan has found something already.
    is_known: bool,
}

impl Disk {
    fn root(&self) -> &Path {
        Path::new(&self.library.path)
    }

    /// Everything below its directory, deepest last.
    fn entries(&self) -> Vec<PathBuf> {
        let (mut found, mut at) = (Vec::new(), vec![self.root().to_owned()]);
        while let Some(directory) = at.pop() {
            let mut entries: Vec<PathBuf> = std::fs::read_dir(directory)
                .unwrap()
                .map(|entry| entry.unwrap().path())
                .collect();
            entries.sort();
            at.extend(entries.iter().filter(|path| path.is_dir()).cloned());
            found.extend(entries);
        }
        found
    }

    /// Files that a first scan would find, with their sizes.
    fn files(&self) -> BTreeMap<String, i64> {
        let files = self.entries().into_iter().filter(|path| path.is_file());
        files
            .map(|path| {
                let below = path.strip_prefix(self.root()).unwrap().as_os_str().as_bytes();
                (
                    place::encode(below),
                    i64::try_from(path.metadata().unwrap().len()).unwrap(),
                )
            })
            .collect()
    }

    fn unmount(&mut self, leaves: Leaves) {
        std::fs::rename(self.root(), &self.away).unwrap();
        if !matches!(leaves, Leaves::Nothing) {
            std::fs::create_dir(self.root()).unwrap();
        }
        // To a library of which nothing is known another disk is its own: there is nothing to tell them apart by.
        if matches!(leaves, Leaves::Another) && self.is_known {
            std::fs::write(self.root().join("Other.2001.mkv"), "another disk").unwrap();
        }
        self.is_mounted = false;
    }

    fn mount(&mut self) {
        let _ = std::fs::remove_dir_all(self.root());
        std::fs::rename(&self.away, self.root()).unwrap();
        self.is_mounted = true;
    }
}

/// Effect of a step on the disks alone.
fn happens(step: &Step, disks: &mut [Disk; 2]) {
    match *step {
        Step::Create {
            library,
            folder,
            name: number,
            size,
        } if disks[library].is_mounted => {
            let folder = disks[library].root().join(FOLDERS[folder]);
            if std::fs::create_dir_all(&folder).is_ok() {
                let _ = std::fs::File::create(folder.join(name(number))).map(|file| file.set_len(size));
            }
        }
        Step::Move {
            from,
            which,
            to,
            name: number,
        } if disks[from].is_mounted && disks[to].is_mounted => {
            let entries = disks[from].entries();
            if let Some(entry) = entries.get(which % entries.len().max(1)) {
                let target = if entry.is_dir() {
                    disks[to].root().join(format!("Moved {number}"))
                } else {
                    disks[to].root().join(name(number))
                };
                // Onto a folder that is not empty, or into itself: nothing happens.
                let _ = std::fs::rename(entry, target);
            }
        }
        Step::Delete { library, which } if disks[library].is_mounted => {
            let entries = disks[library].entries();
            match entries.get(which % entries.len().max(1)) {
                Some(entry) if entry.is_dir() => std::fs::remove_dir_all(entry).unwrap(),
                Some(entry) => std::fs::remove_file(entry).unwrap(),
                None => {}
            }
        }
        Step::Unmount { library, leaves } if disks[library].is_mounted => disks[library].unmount(leaves),
        Step::Mount { library } if !disks[library].is_mounted => disks[library].mount(),
        _ => {}
    }
}

/// Directories in which something is not as it is known.
fn changed(index: &BTreeMap<String, i64>, disk: &Disk) -> Vec<String> {
    let now = if disk.is_mounted {
        disk.files()
    } else {
        BTreeMap::new()
    };
    let differs = index
        .iter()
        .filter(|(place, size)| now.get(*place) != Some(*size));
    let is_new = now.iter().filter(|(place, _)| !index.contains_key(*place));
    let places = differs
        .chain(is_new)
        .filter_map(|(place, _)| place::parent(place));
    places.collect::<BTreeSet<_>>().into_iter().collect()
}

/// Scans, and compares the index with the disk.
async fn scanned(house: &House, disk: &mut Disk, how: How) -> Result<(), String> {
    let before = house.index(&disk.library).await;
    let places = (how == How::Noticed).then(|| changed(&before, disk));
    if places.as_ref().is_some_and(Vec::is_empty) {
        return Ok(());
    }
    tokio::time::sleep(TICK).await;
    let reason = match how {
        How::Whole => Reason::Asked,
        How::Quick => Reason::Periodic,
        How::Noticed => Reason::Noticed,
    };
    let asked = ScanRequest {
        library_id: &disk.library.id,
        name: None,
        reason,
        created_by: None,
        places: places.as_deref(),
    };
    let job = house.jobs.submit(asked.into_job()).await.unwrap();
    let (status, summary) = house.ended(&job).await;
    tokio::time::sleep(TICK).await;
    let index = house.index(&disk.library).await;
    disk.is_known |= !index.is_empty();
    if !status.starts_with("completed") {
        return Err(format!("the scan {status}: {summary}"));
    }
    if !disk.is_mounted {
        let kept = before.keys().all(|place| index.contains_key(place));
        return if kept {
            Ok(())
        } else {
            Err(format!("of {before:#?} only {index:#?} stays"))
        };
    }
    let disk = disk.files();
    if disk.is_empty() {
        // Unless it is known to be the same it cannot be told from a disk that is not there.
        return if index == before || index.is_empty() {
            Ok(())
        } else {
            Err("an empty disk changed the index".to_owned())
        };
    }
    // A file that was written to changes no directory: a quick scan sees its size when it reads that.
    let places = |index: &BTreeMap<String, i64>| index.keys().cloned().collect::<BTreeSet<_>>();
    let is_equal = if how == How::Quick {
        places(&index) == places(&disk)
    } else {
        index == disk
    };
    if is_equal {
        Ok(())
    } else {
        Err(format!("the disk has {disk:#?}, the index {index:#?}"))
    }
}

async fn run(house: &House, case: usize, steps: &[Step]) -> Result<(), String> {
    let mut disks = Vec::new();
    for number in 0..2 {
        let folder = format!("case {case} disk {number}");
        std::fs::create_dir(house.root.join(&folder)).unwrap();
        let (library, job) = house.library(&folder, Kind::Tv).await;
        house.ended(&job).await;
        let away = house.root.join(format!("away {case} {number}"));
        disks.push(Disk {
            library,
            away,
            is_mounted: true,
            is_known: false,
        });
    }
    let Ok(mut disks) = <[Disk; 2]>::try_from(disks) else {
        unreachable!("two were made")
    };
    for step in steps {
        happens(step, &mut disks);
        if let Step::Scan { library, how } = step {
            scanned(house, &mut disks[*library], *how)
                .await
                .map_err(|why| format!("{step:?}: {why}"))?;
        }
    }
    for disk in &mut disks {
        if !disk.is_mounted {
            scanned(house, disk, How::Whole)
                .await
                .map_err(|why| format!("not mounted, at the end: {why}"))?;
            disk.mount();
        }
        for how in [How::Noticed, How::Quick, How::Whole] {
            scanned(house, disk, how)
                .await
                .map_err(|why| format!("at the end: {why}"))?;
        }
    }
    Ok(())
}

db_test! {
    async fn the_index_follows_the_disk_and_outlives_it(db: Db) {
        // What was read is relied on at once: that is what the scans are to get right.
        let house = House::paced(&db, Pace { settles: Duration::ZERO, ..Pace::default() });
        house.starts_jobs().await;
        let mut runner = TestRunner::deterministic();
        let cases = proptest::collection::vec(step(), STEPS);
        for case in 0..CASES {
            let steps = cases.new_tree(&mut runner).unwrap().current();
            if let Err(why) = run(&house, case, &steps).await {
                panic!("case {case}: {why}\nafter {steps:#?}");
            }
        }
        house.stops().await;
    }
}
