//! Reactions of a watched library to changes on its disk.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use qm_db::{Db, db_test};
use qm_media::lanes::WALKS;
use qm_media::model::library::{Kind, LibraryChange, MediaLibrary};
use qm_media::service::Pace;
use qm_media_names::place;
use qm_scan::Scanner;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::testing::House;

/// Time limit on an index that is to become as the disk is, however busy the machine.
const SOON: Duration = Duration::from_mins(4);
/// Time limit on a library that was changed: a job may wait for another one meanwhile.
const LONG: Duration = Duration::from_mins(4);
const LOOK: Duration = Duration::from_millis(50);

/// Files below a directory: sizes by their places.
fn disk(root: &Path) -> BTreeMap<String, i64> {
    let (mut found, mut at) = (BTreeMap::new(), vec![root.to_owned()]);
    while let Some(directory) = at.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                at.push(path);
            } else {
                let place = place::encode(path.strip_prefix(root).unwrap().as_os_str().as_encoded_bytes());
                found.insert(place, i64::try_from(path.metadata().unwrap().len()).unwrap());
            }
        }
    }
    found
}

async fn becomes(house: &House, library: &MediaLibrary, within: Duration, what: &str) {
    let expected = disk(Path::new(&library.path));
    let until = Instant::now() + within;
    loop {
        let index = house.index(library).await;
        if index == expected {
            return;
        }
        if Instant::now() > until {
            let missing: Vec<_> = expected
                .iter()
                .filter(|(place, _)| !index.contains_key(*place))
                .take(5)
                .collect();
            let extra: Vec<_> = index
                .iter()
                .filter(|(place, _)| !expected.contains_key(*place))
                .take(5)
                .collect();
            panic!(
                "{what}: {} of {} files; missing {missing:?}, extra {extra:?}",
                index.len(),
                expected.len()
            );
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Waits until a library is watched, or not: how many directories, and why not.
async fn stands(house: &House, library: &MediaLibrary, is_watched: bool) -> (usize, Option<String>) {
    let until = Instant::now() + LONG;
    loop {
        let status = house.app.scanner.watch_status().await.unwrap();
        let state = status
            .into_iter()
            .find(|(found, _)| found.id == library.id)
            .map(|(_, state)| state);
        if let Some(state) = state.filter(|state| state.count.is_some() == is_watched) {
            return (state.count.unwrap_or(0), state.degraded);
        }
        assert!(
            Instant::now() < until,
            "{} is watched: not {is_watched}",
            library.name
        );
        tokio::time::sleep(LOOK).await;
    }
}

async fn set(house: &House, library: &MediaLibrary, change: LibraryChange) -> MediaLibrary {
    house
        .app
        .scanner
        .update(house.caller(), &library.id, change, None)
        .await
        .unwrap()
        .library
}

fn watch(is_watched: bool) -> LibraryChange {
    LibraryChange {
        watch_enabled: Some(is_watched),
        ..LibraryChange::default()
    }
}

struct Loop {
    stop: CancellationToken,
    task: tokio::task::JoinHandle<()>,
}

impl Loop {
    fn start(house: &House) -> Self {
        let stop = CancellationToken::new();
        let task = tokio::spawn(Scanner::watch_loop(house.app.scanner.clone(), stop.clone()));
        Self { stop, task }
    }

    async fn ends(self) {
        self.stop.cancel();
        self.task.await.unwrap();
    }
}

fn house(db: &Db) -> House {
    House::paced(
        db,
        Pace {
            gathers: Duration::from_millis(200),
            ..Pace::default()
        },
    )
}

fn show(house: &House, number: usize) -> PathBuf {
    house.root.join(format!("tv/Show {number}/Season 1"))
}

db_test! {
    async fn thousands_of_changes_are_followed(db: Db) {
        let house = house(&db);
        house.starts_jobs().await;
        house.file("tv/Alone.S01E01.mkv", 1);
        let (tv, job) = house.library("tv", Kind::Tv).await;
        house.ended(&job).await;
        let watching = Loop::start(&house);
        set(&house, &tv, watch(true)).await;
        assert_eq!(stands(&house, &tv, true).await, (1, None));
        // 5,000 files: created, a third of them renamed, with their folders or alone, a third of them deleted.
        let root = house.root.clone();
        let work = WALKS.run(move |_| {
            let folder = |number: usize| root.join(format!("tv/Show {number}/Season 1"));
            for number in 0..100 {
                std::fs::create_dir_all(folder(number)).unwrap();
                for episode in 0..50 {
                    std::fs::write(folder(number).join(format!("Show.S01E{episode:02}.mkv")), "x").unwrap();
                }
            }
            for number in 0..33 {
                if number % 2 == 0 {
                    let show = root.join(format!("tv/Show {number}"));
                    std::fs::rename(show, root.join(format!("tv/Moved {number}"))).unwrap();
                } else {
                    for episode in 0..50 {
                        let old = folder(number).join(format!("Show.S01E{episode:02}.mkv"));
                        std::fs::rename(old, folder(number).join(format!("Show.S02E{episode:02}.mkv"))).unwrap();
                    }
                }
            }
            for number in 33..66 {
                std::fs::remove_dir_all(root.join(format!("tv/Show {number}"))).unwrap();
            }
        });
        work.await.unwrap();
        becomes(&house, &tv, SOON, "thousands of changes").await;
        // Folders that moved, and what came meanwhile, are watched as any other.
        house.file("tv/Moved 2/Season 1/Late.S01E01.mkv", 3);
        becomes(&house, &tv, SOON, "a file in a folder that moved").await;
        std::fs::write(show(&house, 99).join("Show.S01E00.mkv"), "longer").unwrap();
        becomes(&house, &tv, SOON, "a file that was written to").await;
        std::fs::rename(show(&house, 99), house.root.join("tv/Moved 2/Season 2")).unwrap();
        becomes(&house, &tv, SOON, "a folder that moved").await;
        watching.ends().await;
        house.stops().await;
    }

    async fn watches_follow_their_libraries(db: Db) {
        let house = house(&db);
        house.starts_jobs().await;
        house.file("tv/A/a.S01E01.mkv", 1);
        house.file("other/B/C/b.S01E01.mkv", 1);
        let (tv, job) = house.library("tv", Kind::Tv).await;
        house.ended(&job).await;
        let watching = Loop::start(&house);
        assert!(house.app.scanner.watch_status().await.unwrap().is_empty(), "never watched");
        set(&house, &tv, watch(true)).await;
        assert_eq!(stands(&house, &tv, true).await, (2, None));
        let path = house.root.join("other").to_str().unwrap().to_owned();
        let tv = set(&house, &tv, LibraryChange { path: Some(path), ..LibraryChange::default() }).await;
        let until = Instant::now() + LONG;
        while stands(&house, &tv, true).await != (3, None) {
            assert!(Instant::now() < until, "the new path is watched");
            tokio::time::sleep(LOOK).await;
        }
        becomes(&house, &tv, LONG, "another path").await;
        house.file("other/B/C/b.S01E02.mkv", 1);
        becomes(&house, &tv, LONG, "a file at the new path").await;
        set(&house, &tv, LibraryChange { is_enabled: Some(false), ..LibraryChange::default() }).await;
        assert_eq!(stands(&house, &tv, false).await, (0, None));
        set(&house, &tv, LibraryChange { is_enabled: Some(true), ..LibraryChange::default() }).await;
        assert_eq!(stands(&house, &tv, true).await.0, 3);
        // Its directory goes away: nothing is forgotten, and people are told.
        std::fs::rename(house.root.join("other"), house.root.join("away")).unwrap();
        let (count, why) = stands(&house, &tv, false).await;
        assert!(count == 0 && why.as_ref().is_some_and(|why| why.contains("not there any more")), "{why:?}");
        assert_eq!(house.index(&tv).await.len(), 2);
        house.app.scanner.delete(house.caller(), &tv.id).await.unwrap();
        assert!(house.app.scanner.watch_status().await.unwrap().is_empty());
        watching.ends().await;
        house.stops().await;
    }
}
