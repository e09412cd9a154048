//! Scans over real directories.

use qm_db::{Db, db_test};
use qm_kernel::{PageQuery, Timestamp};
use qm_media::model::item::{Filter, Item};
use qm_media::model::library::{Kind, LibraryChange};
use qm_media::repo;
use qm_ports::action::{ActionCall, Actions as _, Occasion};
use qm_ports::metadata::Told;
use qm_scan::{Reason, scan_asked};
use serde_json::{Map, Value, json};

use crate::testing::teller::{answer_of, silent};
use crate::testing::{House, audited};

/// Result of an action, as a rule that runs it gets it.
async fn run_action(house: &House, action: &str, params: Value) -> Result<(), String> {
    let call = ActionCall {
        author: None,
        run_id: "r".into(),
        occasion: Occasion::Torrent,
        params: params.as_object().unwrap().clone(),
        context: Map::new(),
        torrent: None,
        powers: qm_kernel::PermissionSet::all(),
    };
    let run = house.app.orders.run(action, call).await;
    run.map_err(|error| error.to_string())
}

/// The only item that there is, and what it is called elsewhere.
async fn only(house: &House) -> (Item, Vec<String>) {
    let page = PageQuery {
        page: 1,
        page_size: 9,
    };
    let (mut items, total) = house.app.catalogue.items(&Filter::default(), page).await.unwrap();
    assert_eq!(total, 1);
    let (item, ..) = items.remove(0);
    let ids = item.external_ids.iter().map(|id| id.value.clone()).collect();
    (item, ids)
}

/// Jobs of a type that ended well: who asked for them, about which item, with which result.
async fn done(house: &House, type_key: &str) -> Vec<(String, Option<String>, Value)> {
    let page = PageQuery {
        page: 1,
        page_size: 100,
    };
    let (jobs, _) = house
        .jobs
        .list(&house.principal, &Default::default(), page)
        .await
        .unwrap();
    let mut done = Vec::new();
    for job in jobs.into_iter().filter(|job| job.type_key == type_key) {
        let (status, result) = house.ended(&job.id).await;
        if status == "completed" {
            done.push((job.source, job.media_item_id, result));
        }
    }
    done
}

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
            "metadataImported": 0, "shows": 1, "duplicateShows": 0, "organized": 0, "enriched": 3,
            "extras": 0, "skipped": 0,
        }));
        assert_eq!(house.fired.0.lock().unwrap().len(), 0, "what somebody owned all along is no news");
        house.file("tv/The Wire (2002)/Season 1/The.Wire.S01E02.1080p.mkv", 21);
        std::fs::remove_file(house.root.join("tv/Alone.S01E01.mkv")).unwrap();
        house.file("tv/the.wire.2002/The.Wire.S02E01.mkv", 5);
        let (_, summary) = house.scans(&tv).await;
        let told = |name: &str| summary[name].as_u64().unwrap();
        assert_eq!((told("scanned"), told("added"), told("updated"), told("removed")), (3, 1, 1, 1), "{summary}");
        assert_eq!((told("shows"), told("duplicateShows"), told("enriched")), (2, 1, 1), "{summary}");
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
        let asked = house.app.scanner.update(house.caller(), &tv.id, change, None).await.unwrap();
        let (tv, changed) = (asked.library, asked.scan_job_id);
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
        assert_eq!(run_action(&house, "media_scan_library", json!({ "libraryId": films.id })).await, Ok(()));
        assert_eq!(house.ended(&first).await.0, "completed");
        assert_eq!(house.index(&films).await.len(), 2);
        let (items, _) = house.app.catalogue.items(&Filter::default(), PageQuery { page: 1, page_size: 9 }).await.unwrap();
        assert!(items.iter().all(|(item, ..)| item.match_status == "matched"), "what it finds is looked for");
        house.stops().await;
    }

    async fn what_a_rule_does_not_name_is_told_and_asks_for_no_job(db: Db) {
        let house = House::new(&db);
        let actions: Vec<_> = house.app.orders.actions().into_iter().map(|kind| (kind.id, kind.idempotent)).collect();
        let named = ["media_scan_library", "media_match", "media_fetch_metadata"];
        assert_eq!(actions, named.map(|id| (id.to_owned(), true)));
        let kinds = house.app.orders.actions();
        assert!(kinds.iter().all(|kind| kind.occasions.contains(&Occasion::Event)), "none of them reads a torrent");
        for (action, param, noun) in
            [(named[0], "libraryId", "Library"), (named[1], "itemId", "Item"), (named[2], "itemId", "Item")]
        {
            let (required, unknown) = (format!("{param} is required"), format!("{noun} not found"));
            for (params, why) in [
                (json!({}), &required), (json!({ param: "" }), &required), (json!({ param: "  " }), &required),
                (json!({ param: ["x"] }), &required), (json!({ "other": "x" }), &required),
                (json!({ param: "nowhere" }), &unknown), (json!({ param: "no\0where" }), &unknown), (json!({ param: 7 }), &unknown),
            ] {
                assert_eq!(run_action(&house, action, params.clone()).await, Err(why.clone()), "{action} {params}");
            }
        }
        assert_eq!(run_action(&house, "pause", json!({})).await, Err("Unknown action type: pause".to_owned()));
        let page = PageQuery { page: 1, page_size: 9 };
        let (jobs, _) = house.jobs.list(&house.principal, &Default::default(), page).await.unwrap();
        assert!(jobs.is_empty(), "{jobs:?}");
    }

    async fn a_rule_has_the_name_of_an_item_read_again(db: Db) {
        let house = House::new(&db);
        house.starts_jobs().await;
        house.file("films/Tide (2003)/Tide.2003.mkv", 1);
        let (films, first) = house.library("films", Kind::Movie).await;
        house.ended(&first).await;
        let _ = house.scans(&films).await;
        house.around.titles.has("1", &[("tt0000007", "movie", "Tide", 2003)], &[]);
        let id = only(&house).await.0.id;
        let matching = || run_action(&house, "media_match", json!({ "itemId": id }));
        house.app.identify.unmatch_item(house.caller(), &id).await.unwrap();
        for _ in 0..2 {
            assert_eq!(matching().await, Ok(()));
            let (item, ids) = only(&house).await;
            assert_eq!((&*item.match_status, &*item.title, item.year), ("matched", "Tide", Some(2003)));
            assert_eq!(ids, ["tt0000007"], "the data set was asked");
        }
        let ended = done(&house, "media.media_identification").await;
        assert_eq!(ended, vec![("automation".to_owned(), Some(id.clone()), json!({ "itemId": id, "matchStatus": "matched" })); 2]);
        // What somebody keeps as it is no rule changes.
        house.app.identify.unmatch_item(house.caller(), &id).await.unwrap();
        house.app.identify.lock_item(house.caller(), &id, true).await.unwrap();
        assert_eq!(matching().await, Err("Item is locked: unlock it first".to_owned()));
        assert_eq!(only(&house).await.0.match_status, "unmatched");
        house.stops().await;
    }

    async fn a_rule_has_providers_asked_about_an_item(db: Db) {
        let house = House::new(&db);
        house.starts_jobs().await;
        house.file("films/Tide (2003)/Tide.2003.mkv", 1);
        let (_, first) = house.library("films", Kind::Movie).await;
        house.ended(&first).await;
        let id = only(&house).await.0.id;
        house.app.identify.lock_item(house.caller(), &id, true).await.unwrap();
        let fetching = || run_action(&house, "media_fetch_metadata", json!({ "itemId": id }));
        let metadata = async || {
            let found = repo::metadata::find(&mut db.begin_read().await.unwrap(), &id).await.unwrap();
            found.map(|metadata| (metadata.overview, metadata.provider_name))
        };
        let teller = &house.around.teller;
        teller.will_say(answer_of("provider_a", |told| told.overview = Some("Water comes.".to_owned())));
        assert_eq!(fetching().await, Ok(()));
        let stored = Some((Some("Water comes.".to_owned()), Some("provider_a".to_owned())));
        assert_eq!(metadata().await, stored);
        let ended = done(&house, "media.metadata_fetch").await;
        assert_eq!(ended, [("automation".to_owned(), Some(id.clone()), json!({ "itemId": id, "providerName": "provider_a" }))]);
        // Who does not answer fails the run, and takes nothing away.
        teller.will_say(Told { silent: vec![silent("provider_a")], ..Told::default() });
        let why = "No provider of metadata answers, so nothing was changed; try again later (provider_a: it hangs)";
        assert_eq!(fetching().await, Err(why.to_owned()));
        assert_eq!(metadata().await, stored);
        let audited = |action| audited(&db, action);
        assert_eq!(audited("media.metadata.fetch").await, [(id.clone(), json!({ "provider": "provider_a", "matched": true }))]);
        let failed = [(id.clone(), json!({ "provider": "provider_a", "reason": "it hangs" }))];
        assert_eq!(audited("media.metadata.fetch_failed").await, failed);
        house.stops().await;
    }
}
