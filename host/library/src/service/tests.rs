//! Scans over real directories.

use qm_db::{Db, db_test};
use qm_kernel::{PageQuery, Timestamp};
use qm_ports::action::{ActionCall, Actions as _, Occasion};
use serde_json::{Map, Value, json};

use super::scan::{Reason, scan_asked};
use crate::model::item::Filter;
use crate::model::library::{Kind, LibraryChange};
use crate::repo;
use crate::testing::House;

db_test! {
    async fn a_library_is_scanned_when_it_is_made_and_follows_its_disk(db: Db) {
        let house = House::new(&db);
        house.starts_jobs().await;
        house.file("tv/The Wire (2002)/Season 1/The.Wire.S01E01.1080p.mkv", 10);
        house.file("tv/The Wire (2002)/Season 1/The.Wire.S01E02.1080p.mkv", 20);
        house.file("tv/The Wire (2002)/Season 1/The.Wire.S01E02.srt", 1);
        house.file("tv/Alone.S01E01.mkv", 30);
        let (tv, job) = house.library("tv", Kind::Tv).await;
        let (status, summary) = house.ended(&job).await;
        assert_eq!(status, "completed", "{summary}");
        assert_eq!(summary, json!({
            "libraryId": tv.id, "scanned": 3, "added": 3, "updated": 0, "removed": 0, "artworkImported": 0,
            "metadataImported": 0, "shows": 1, "duplicateShows": 0, "organized": 0, "enriched": 0,
        }));
        assert_eq!(house.fired.0.lock().unwrap().len(), 0, "what somebody owned all along is no news");
        house.file("tv/The Wire (2002)/Season 1/The.Wire.S01E02.1080p.mkv", 21);
        std::fs::remove_file(house.root.join("tv/Alone.S01E01.mkv")).unwrap();
        house.file("tv/the.wire.2002/The.Wire.S02E01.mkv", 5);
        let (_, summary) = house.scans(&tv).await;
        let told = |name: &str| summary[name].as_u64().unwrap();
        assert_eq!((told("scanned"), told("added"), told("updated"), told("removed")), (3, 1, 1, 1), "{summary}");
        assert_eq!((told("shows"), told("duplicateShows"), told("enriched")), (2, 1, 3), "{summary}");
        let index: Vec<_> = house.index(&tv).await.into_iter().collect();
        assert_eq!(index, [
            ("The Wire (2002)/Season 1/The.Wire.S01E01.1080p.mkv".to_owned(), 10),
            ("The Wire (2002)/Season 1/The.Wire.S01E02.1080p.mkv".to_owned(), 21),
            ("the.wire.2002/The.Wire.S02E01.mkv".to_owned(), 5),
        ]);
        assert_eq!(house.fired.0.lock().unwrap().len(), 1, "once a file");
        // A scan that ends when its library has moved knows nothing of the new place.
        let mut tx = db.begin_write().await.unwrap();
        repo::libraries::unscanned(&mut tx, &tv.id).await.unwrap();
        for (path, is_scanned) in [("/elsewhere", false), (&*tv.path, true)] {
            repo::libraries::scanned(&mut tx, &tv.id, path, Timestamp::from_ms(1)).await.unwrap();
            let now = repo::libraries::find(&mut tx, &tv.id).await.unwrap().unwrap();
            assert_eq!(now.last_scan_at.is_some(), is_scanned, "{path}");
        }
        drop(tx);
        house.stops().await;
    }

    async fn a_change_of_a_library_joins_no_scan_of_how_it_was(db: Db) {
        let house = House::new(&db);
        house.file("tv/Alone.S01E01.mkv", 1);
        house.file("other/Another.S01E01.mkv", 2);
        let (tv, made) = house.library("tv", Kind::Tv).await;
        // What its interval or the server's start asks for is one job, however often.
        let asked = || scan_asked(&tv, Reason::Periodic, None);
        let periodic = house.jobs.submit(asked()).await.unwrap();
        assert_eq!(house.jobs.submit(asked()).await.unwrap(), periodic);
        let path = house.root.join("other").to_str().unwrap().to_owned();
        let change = LibraryChange { path: Some(path), ..LibraryChange::default() };
        let (tv, changed) = house.app.update(house.caller(), &tv.id, change, None).await.unwrap();
        assert!(changed != made && changed != periodic, "a job of its own");
        house.starts_jobs().await;
        assert_eq!(house.ended(&changed).await.0, "completed");
        let index: Vec<_> = house.index(&tv).await.into_iter().collect();
        assert_eq!(index, [("Another.S01E01.mkv".to_owned(), 2)]);
        house.stops().await;
    }

    async fn a_rule_has_a_library_scanned_and_waits_for_it(db: Db) {
        let house = House::new(&db);
        house.file("films/Tide (2003)/Tide.2003.mkv", 1);
        let (films, first) = house.library("films", Kind::Movie).await;
        // The scan that waits already may have begun by the time it is joined: another one follows it.
        house.starts_jobs().await;
        house.file("films/Ebb (2004)/Ebb.2004.mkv", 1);
        let run = async |action: &str, params: Value| {
            let call = ActionCall {
                run_id: "r".into(), occasion: Occasion::Torrent, params: params.as_object().unwrap().clone(),
                context: Map::new(), torrent: None,
            };
            house.app.run(action, call).await.map_err(|error| error.to_string())
        };
        assert_eq!(run("media_scan_library", json!({ "libraryId": films.id })).await, Ok(()));
        assert_eq!(house.ended(&first).await.0, "completed");
        assert_eq!(house.index(&films).await.len(), 2);
        let (items, _) = house.app.items(&Filter::default(), PageQuery { page: 1, page_size: 9 }).await.unwrap();
        assert!(items.iter().all(|(item, ..)| item.match_status == "matched"), "what it finds is looked for");
        for (action, params, why) in [
            ("media_scan_library", json!({}), "libraryId is required"),
            ("media_scan_library", json!({ "libraryId": "" }), "libraryId is required"),
            ("media_scan_library", json!({ "libraryId": "nowhere" }), "Library not found"),
            ("pause", json!({}), "Unknown action type: pause"),
        ] {
            assert_eq!(run(action, params).await, Err(why.to_owned()));
        }
        house.stops().await;
    }
}
