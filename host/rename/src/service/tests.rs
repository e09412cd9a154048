//! Tests of runs: what they leave, whatever happens meanwhile.

use std::collections::BTreeSet;
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

use qm_db::{Db, db_test};
use qm_rename_plan::Mode;

use super::*;
use crate::model::run::{Outcome, Status};
use crate::ops::fault::Moment;
use crate::repo::runs as repo;
use crate::testing::{House, admin, payload};

mod awkward;
mod disks;
mod property;
mod rules;

async fn apply(house: &House, path: &str, mode: &str) -> Outcome {
    let applied = house.app.apply(&admin(), house.wanted(path, mode)).await;
    applied.expect("a run").outcome
}

async fn open_runs(db: &Db) -> usize {
    repo::open(&mut db.begin_read().await.unwrap())
        .await
        .unwrap()
        .len()
}

async fn undo_all(house: &House) -> u64 {
    let mut undone = 0;
    for run in house.app.list_undoable().await.unwrap() {
        undone += house.app.undo(&admin(), &run.run_id).await.unwrap().files;
    }
    undone
}

db_test! {
    async fn nothing_is_overwritten_and_undo_finds_what_it_was(db: Db) {
        let house = House::new(&db);
        for mode in ["rename_move", "copy", "hardlink", "symlink"] {
            house.write("dl/Show.S01/Show.S01E01.mkv", "new");
            house.write("tv/Show/Season 1/Show - S01E01.mkv", "old");
            let before = house.inventory();
            let outcome = apply(&house, "dl/Show.S01", mode).await;
            assert_eq!((outcome.applied, outcome.duplicates), (1, 1), "{mode}: {outcome:?}");
            let content = |name: &str| fs::read_to_string(house.root.join("tv/Show/Season 1").join(name)).unwrap();
            assert_eq!((content("Show - S01E01.mkv"), content("Show - S01E01 [dup2].mkv")), ("old".to_owned(), "new".to_owned()), "{mode}");
            let again = apply(&house, "dl/Show.S01", mode).await;
            let expected = match mode {
                "hardlink" => (0, 1, 0),
                "rename_move" => (0, 0, 0),
                _ => (1, 0, 1),
            };
            assert_eq!((again.applied, again.skipped, again.duplicates), expected, "{mode}: {again:?}");
            let _ = undo_all(&house).await;
            assert_eq!(house.inventory(), before, "{mode}");
            assert!(matches!(house.app.undo(&admin(), "none").await, Err(RenameError::NothingToUndo)));
        }
    }

    async fn undo_says_what_it_cannot_bring_back(db: Db) {
        let house = House::new(&db);
        for number in 1..=4 {
            house.write(&format!("dl/Show/Show.S01E0{number}.mkv"), &number.to_string());
        }
        let _ = apply(&house, "dl/Show", "rename_move").await;
        let place = |number: u8| house.root.join(format!("tv/Show/Season 1/Show - S01E0{number}.mkv"));
        fs::remove_file(place(1)).unwrap();
        fs::rename(place(2), house.root.join("elsewhere.mkv")).unwrap();
        house.write("tv/Show/Season 1/Show - S01E02.mkv", "another file");
        house.write("dl/Show/Show.S01E03.mkv", "came back");
        let runs = house.app.list_undoable().await.unwrap();
        let undone = house.app.undo(&admin(), &runs[0].run_id).await.unwrap();
        let source = |number: u8| house.place_of(&format!("dl/Show/Show.S01E0{number}.mkv"));
        let expected = [(source(3), "original_path_occupied"), (source(2), "moved_since"), (source(1), "moved_since")];
        assert_eq!((undone.files, undone.failed, &undone.skipped[..]), (1, 0, &expected[..]));
        assert_eq!(fs::read_to_string(house.root.join("dl/Show/Show.S01E04.mkv")).unwrap(), "4");
        assert_eq!(fs::read_to_string(house.root.join("dl/Show/Show.S01E03.mkv")).unwrap(), "came back");
        // A copy that somebody has edited since is not thrown away.
        house.write("dl2/Show/Show.S01E09.mkv", "nine");
        let _ = apply(&house, "dl2/Show", "copy").await;
        let copy = place(9);
        let made = house.app.list_undoable().await.unwrap()[0].clone();
        fs::write(&copy, "edited, and longer").unwrap();
        let undone = house.app.undo(&admin(), &made.run_id).await.unwrap();
        assert_eq!((undone.files, undone.skipped.len(), copy.exists()), (0, 1, true), "{undone:?}");
    }

    async fn one_run_at_a_time_is_at_work_in_a_library(db: Db) {
        let (begun, is_begun) = channel::<()>();
        let (go, gone) = channel::<()>();
        let (begun, gone) = (Mutex::new(begun), Mutex::new(gone));
        let house = House::with(&db, Faults::new(move |moment| {
            if moment == Moment::Stepped {
                let _ = begun.lock().unwrap().send(());
                let _ = gone.lock().unwrap().recv();
            }
            false
        }));
        house.write("dl/Show.S01E01.mkv", "1");
        house.write("dl2/Show.S01E02.mkv", "2");
        house.write("films/x.txt", "x");
        let other = house.again(Faults::default());
        let (app, wanted) = (house.app.clone(), house.wanted("dl", "copy"));
        let first = tokio::spawn(async move { app.apply(&admin(), wanted).await });
        tokio::task::spawn_blocking(move || is_begun.recv().unwrap()).await.unwrap();
        for server in [&house, &other] {
            let refused = server.app.apply(&admin(), server.wanted("dl2", "copy")).await;
            assert!(matches!(refused, Err(RenameError::Running(_))), "{refused:?}");
            let mut above = server.wanted("dl2", "copy");
            above.request.library = Some(house.root.to_str().unwrap().to_owned());
            assert!(matches!(server.app.apply(&admin(), above).await, Err(RenameError::Running(_))));
        }
        let mut elsewhere = other.wanted("dl2", "copy");
        elsewhere.request.library = Some(house.place_of("films"));
        assert_eq!(other.app.apply(&admin(), elsewhere).await.unwrap().outcome.applied, 1);
        // A look for runs that were left leaves it alone.
        other.app.settle_left(false).await.unwrap();
        assert_eq!(open_runs(&db).await, 1);
        go.send(()).unwrap();
        assert_eq!(first.await.unwrap().unwrap().outcome.applied, 1);
        assert_eq!(other.app.apply(&admin(), other.wanted("dl2", "copy")).await.unwrap().outcome.applied, 1);
        assert_eq!(open_runs(&db).await, 0);
    }

    async fn a_cancelled_run_keeps_what_it_did(db: Db) {
        let jobs: Arc<Mutex<Option<qm_jobs::Jobs>>> = Arc::default();
        let (cancelled, steps) = (jobs.clone(), AtomicUsize::new(0));
        let house = House::with(&db, Faults::new(move |moment| {
            if moment == Moment::Stepped && steps.fetch_add(1, Ordering::SeqCst) == 1 {
                cancelled.lock().unwrap().as_ref().unwrap().cancel_all_hosted("media_manager");
            }
            false
        }));
        *jobs.lock().unwrap() = Some(house.jobs.clone());
        for number in 10..90 {
            house.write(&format!("dl/Show.S01E{number}.mkv"), &number.to_string());
        }
        let before = house.inventory();
        let outcome = apply(&house, "dl", "rename_move").await;
        assert!(outcome.is_cancelled);
        assert_eq!((outcome.applied, outcome.skipped, outcome.failed), (2, 78, 0));
        assert_eq!((open_runs(&db).await, house.inventory().len()), (0, 80));
        assert_eq!(undo_all(&house).await, 2);
        assert_eq!(house.inventory(), before);
    }

    async fn torrents_whose_files_move_are_treated_as_wished(db: Db) {
        let house = House::new(&db);
        let seed = || {
            house.write("dl/Show.S01.1080p.WEB/Show.S01E01.mkv", "1");
            house.write("other/x.mkv", "x");
            *house.around.payloads.lock().unwrap() =
                vec![payload("a", &house.place_of("dl/Show.S01.1080p.WEB")), payload("b", &house.place_of("other"))];
        };
        let count = |outcome: &Outcome| (outcome.applied, outcome.torrents_removed, outcome.torrents_orphaned);
        seed();
        for mode in ["copy", "hardlink", "symlink"] {
            assert_eq!(count(&apply(&house, "dl", mode).await), (1, 0, 0), "{mode}: what seeds goes on");
            let _ = undo_all(&house).await;
        }
        assert_eq!(count(&apply(&house, "dl", "rename_move").await), (1, 1, 0));
        assert_eq!(*house.around.removed.lock().unwrap(), ["a"]);
        house.around.shelf.lock().unwrap().auto_organize = false;
        let _ = undo_all(&house).await;
        assert_eq!(count(&apply(&house, "dl", "rename_move").await), (1, 0, 1), "the library does not name files by itself");
        let _ = undo_all(&house).await;
        let _ = house.app.change_seeding(admin().caller(), crate::model::Seeding::Ignore).await.unwrap();
        assert_eq!(count(&apply(&house, "dl", "rename_move").await), (1, 0, 0));
        let _ = undo_all(&house).await;
        assert_eq!(house.around.removed.lock().unwrap().len(), 1);

        // What two torrents use is not moved for one of them.
        let torrent = qm_ports::engine::Torrent {
            content_path: house.place_of("dl/Show.S01.1080p.WEB"), ..qm_test_base::blank::torrent(1)
        };
        let hash = torrent.hash.to_string();
        house.around.payloads.lock().unwrap().push(payload(&hash, &house.place_of("dl/Show.S01.1080p.WEB")));
        house.around.lists.lock().unwrap().push(Arc::new(crate::testing::One(torrent)));
        let mut wanted = house.wanted("dl", "rename_move");
        (wanted.request.path, wanted.request.hash) = (None, Some(hash));
        let shared = house.app.apply(&admin(), wanted.clone()).await;
        assert!(matches!(&shared, Err(RenameError::SharedData(names)) if names == "torrent a"), "{shared:?}");
        wanted.request.mode = Mode::Hardlink;
        assert_eq!(house.app.apply(&admin(), wanted).await.unwrap().outcome.applied, 1);
    }

    async fn leftovers_go_except_for_what_torrents_use(db: Db) {
        let house = House::new(&db);
        let change = crate::model::CleanupChange {
            enabled: Some(true),
            delete_globs: Some(vec!["*.txt".to_owned()]),
            prune_empty_dirs: Some(true),
            remove_leftover_torrent: Some(true),
            ..Default::default()
        };
        let _ = house.app.change_cleanup(admin().caller(), change).await.unwrap();
        let _ = house.app.change_seeding(admin().caller(), crate::model::Seeding::Report).await.unwrap();
        let fill = |folder: &str| {
            house.write(&format!("dl/{folder}/Show.S01E01.mkv"), folder);
            house.write(&format!("dl/{folder}/a.txt"), "t");
            house.write(&format!("dl/{folder}/b.torrent"), "t");
        };
        fill("Show.S01.1080p.WEB");
        let outcome = apply(&house, "dl/Show.S01.1080p.WEB", "rename_move").await;
        assert_eq!((outcome.applied, outcome.deleted, outcome.failed), (1, 2, 0), "{outcome:?}");
        assert!(!house.root.join("dl/Show.S01.1080p.WEB").exists());
        let runs = house.app.list_undoable().await.unwrap();
        let undone = house.app.undo(&admin(), &runs[0].run_id).await.unwrap();
        let reasons: BTreeSet<&str> = undone.skipped.iter().map(|(_, reason)| *reason).collect();
        assert_eq!((undone.files, undone.skipped.len(), reasons), (1, 2, BTreeSet::from(["not_reversible"])));

        fill("Show.S01.720p.WEB");
        house.around.payloads.lock().unwrap().push(payload("a", &house.place_of("dl/Show.S01.720p.WEB")));
        let outcome = apply(&house, "dl/Show.S01.720p.WEB", "rename_move").await;
        assert_eq!((outcome.deleted, outcome.torrents_orphaned), (0, 1), "{outcome:?}");
        let used = outcome.problems.iter().filter(|problem| problem.message == "the torrent torrent a uses it");
        assert_eq!(used.count(), 2, "{outcome:?}");
        fill("Show.S01.480p.WEB");
        let outcome = apply(&house, "dl/Show.S01.480p.WEB", "copy").await;
        assert_eq!(outcome.deleted, 0, "a copy leaves all as it is");
    }

    async fn what_somebody_watches_stays(db: Db) {
        let house = House::new(&db);
        house.write("dl/Show.S01E01.mkv", "1");
        house.write("dl/Show.S01E02.mkv", "2");
        house.around.sessions.lock().unwrap().push(qm_ports::media_server::PlaySession {
            show_title: Some("Show".to_owned()), season: Some(1), episode: Some(2), ..Default::default()
        });
        let outcome = apply(&house, "dl", "rename_move").await;
        assert_eq!((outcome.applied, outcome.skipped), (1, 1), "{outcome:?}");
        assert_eq!((outcome.problems[0].status, &*outcome.problems[0].message), (Status::Skipped, "in playback"));
        assert!(house.root.join("dl/Show.S01E02.mkv").exists());
    }

    async fn a_run_that_was_left_is_settled_by_the_next_one(db: Db) {
        let house = House::with(&db, Faults::new(|moment| moment == Moment::Stepped));
        house.write("dl/Show.S01E01.mkv", "1");
        house.write("dl/Show.S01E02.mkv", "2");
        let died = house.app.apply(&admin(), house.wanted("dl", "rename_move")).await;
        assert!(matches!(died, Err(RenameError::Broken(_))), "{died:?}");
        let next = house.again(Faults::default());
        next.app.settle_left(false).await.unwrap();
        assert_eq!(open_runs(&db).await, 1, "it was at work a moment ago");
        let refused = next.app.apply(&admin(), next.wanted("dl", "rename_move")).await;
        assert!(matches!(refused, Err(RenameError::Running(_))), "{refused:?}");
        next.app.settle_left(true).await.unwrap();
        assert_eq!(open_runs(&db).await, 0);
        let runs = next.app.list_undoable().await.unwrap();
        assert_eq!((runs.len(), runs[0].operations), (1, 1), "one step was done");
        let (steps, _) = next.app.list_steps(&runs[0].run_id).await.unwrap();
        let failed = steps.iter().find(|step| step.status == "failed").unwrap();
        assert_eq!(failed.message.as_deref(), Some("Interrupted by a service restart: nothing was done"));
        assert_eq!(apply(&next, "dl", "rename_move").await.applied, 1);
        assert_eq!(undo_all(&next).await, 2);
    }
}
