//! Files that move, and what the index makes of it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use qm_db::{Db, db_test, sql};
use qm_kernel::PageQuery;
use qm_media::model::details::{IdentityEdit, ShowEdit};
use qm_media::model::item::{Edit, Filter, Item};
use qm_media::model::library::{Kind, LibraryChange, MediaLibrary};
use qm_media::model::show::Show;
use qm_media::repo;
use qm_media::service::Pace;
use serde_json::json;

use crate::testing::{Deleted, House};

const LONG: Duration = Duration::from_mins(2);

sql! {
    BEGINS = "INSERT INTO event_consumers (name, event_keys, position, lease_owner, lease_until, attempts, retry_at, \
        last_error, seen_at) VALUES ('library.file_events', '[]', 0, NULL, 0, 0, 0, NULL, 0)";
    HAPPENED = "UPDATE outbox_counter SET last = last + 1";
    A_MOVE = "INSERT INTO outbox (position, id, event_key, event) SELECT last, 'a', 'file.moved', '{}' FROM outbox_counter";
    ANOTHER = "INSERT INTO outbox (position, id, event_key, event) SELECT last, 'b', 'torrent.added', '{}' FROM outbox_counter";
    PASSED = "UPDATE event_consumers SET position = (SELECT last FROM outbox_counter) WHERE name = 'library.file_events'";
    LEFT = "SELECT COUNT(*) FROM media_moves";
}

/// Items of a library by their places.
async fn items(house: &House, library: &MediaLibrary) -> BTreeMap<String, Item> {
    let filter = Filter {
        library_id: Some(library.id.clone()),
        ..Filter::default()
    };
    let page = PageQuery {
        page: 1,
        page_size: 5000,
    };
    let (items, _) = house.app.catalogue.items(&filter, page).await.unwrap();
    items
        .into_iter()
        .map(|(item, _, _)| (item.place.clone(), item))
        .collect()
}

fn places(items: &BTreeMap<String, Item>) -> Vec<&str> {
    items.keys().map(String::as_str).collect()
}

async fn show(db: &Db, library: &MediaLibrary, place: &str) -> Option<Show> {
    let mut tx = db.begin_read().await.unwrap();
    let shows = repo::shows::of_library(&mut tx, &library.id).await.unwrap();
    shows.into_iter().find(|show| show.place == place)
}

async fn run(db: &Db, statement: qm_db::Statement) {
    let mut tx = db.begin_write().await.unwrap();
    let _ = qm_db::exec!(&mut tx, statement).await.unwrap();
    tx.commit().await.unwrap();
}

async fn left(db: &Db) -> i64 {
    let mut tx = db.begin_read().await.unwrap();
    qm_db::value!(&mut tx, i64, LEFT).await.unwrap()
}

/// Somebody decides what an item is, and that it stays so.
async fn decided(house: &House, item: &Item) {
    let edit = Edit {
        title: Some("Decided".to_owned()),
        ..Edit::default()
    };
    house
        .app
        .identify
        .match_item(house.caller(), &item.id, edit)
        .await
        .unwrap();
    house
        .app
        .identify
        .lock_item(house.caller(), &item.id, true)
        .await
        .unwrap();
}

/// Files of a library are made, and scanned.
async fn with(house: &House, folder: &str, kind: Kind, files: &[&str]) -> MediaLibrary {
    for (number, file) in files.iter().enumerate() {
        house.file(format!("{folder}/{file}"), 100 + number as u64);
    }
    std::fs::create_dir_all(house.root.join(folder)).unwrap();
    let (library, job) = house.library(folder, kind).await;
    assert_eq!(house.ended(&job).await.0, "completed");
    let (status, _) = house.scans(&library).await;
    assert!(status.starts_with("completed"), "{status}");
    // No scan runs but those that the test asks for.
    let off = LibraryChange {
        is_enabled: Some(false),
        ..LibraryChange::default()
    };
    let changed = house
        .app
        .scanner
        .update(house.caller(), &library.id, off, None)
        .await;
    let asked = changed.unwrap();
    house.ended(&asked.scan_job_id).await;
    asked.library
}

/// The next scan finds everything as it is.
async fn is_settled(house: &House, library: &MediaLibrary) {
    let (_, summary) = house.scans(library).await;
    let told = (&summary["added"], &summary["updated"], &summary["removed"]);
    assert_eq!(
        told,
        (&json!(0), &json!(0), &json!(0)),
        "{}: {summary}",
        library.name
    );
}

db_test! {
    async fn a_folder_that_says_another_id_is_another_show(db: Db) {
        let house = House::new(&db);
        house.starts_jobs().await;
        let files = ["Elm {imdb-tt0000040}/Elm.S01E01.mkv", "Elm {imdb-tt0000040}/Elm.S01E02.mkv", "Fir {tvdb-4}/Fir.S01E01.mkv"];
        let tv = with(&house, "tv", Kind::Tv, &files).await;
        let elm = show(&db, &tv, "Elm {imdb-tt0000040}").await.unwrap();
        assert_eq!(elm.titledb_id.as_deref(), Some("tt0000040"));
        let edit = IdentityEdit { titledb_id: Some(Some("tt0000040".to_owned())), provider_a_id: Some(Some("1".to_owned())), ..IdentityEdit::default() };
        house.app.identify.identify_show(house.caller(), &elm.id, edit).await.unwrap();
        let before = items(&house, &tv).await;
        house.app.identify.lock_item(house.caller(), &before[files[0]].id, true).await.unwrap();
        house.moves("tv/Elm {imdb-tt0000040}", "tv/Elm {imdb-tt0000041}").await;
        house.moves("tv/Fir {tvdb-4}", "tv/Fir (2001) {tvdb-4}").await;
        house.app.scanner.follow_moves().await.unwrap();
        let now = show(&db, &tv, "Elm {imdb-tt0000041}").await.unwrap();
        assert_eq!((&now.id, now.titledb_id.as_deref(), now.provider_a_id), (&elm.id, Some("tt0000041"), None));
        let series: Vec<_> = items(&house, &tv).await.into_values().map(|item| item.series_titledb_id).collect();
        assert_eq!(series, [Some("tt0000040".to_owned()), Some("tt0000041".to_owned()), None], "what is locked stays");
        let fir = show(&db, &tv, "Fir (2001) {tvdb-4}").await.unwrap();
        assert_eq!((fir.provider_b_id.as_deref(), fir.year), (Some("4"), Some(2001)));
        house.stops().await;
    }

    async fn a_new_folder_that_says_its_id_takes_what_came_into_it(db: Db) {
        let house = House::new(&db);
        house.starts_jobs().await;
        house.around.titles.has("one", &[("tt0000040", "tvSeries", "Elm", 2001)], &[("tt0000040", 1, 1, "tt0000042")]);
        let files = ["Elm/Elm.S01E02.mkv", "Elm/Season 1/Elm.S01E01.mkv"];
        let tv = with(&house, "tv", Kind::Tv, &files).await;
        let series = async || items(&house, &tv).await.into_values().map(|item| item.series_titledb_id).collect::<Vec<_>>();
        let elm = || Some("tt0000040".to_owned());
        assert_eq!(series().await, [elm(), elm()]);
        house.moves("tv/Elm/Season 1", "tv/Fir {imdb-tt0000041}/Season 1").await;
        house.app.scanner.follow_moves().await.unwrap();
        house.scans(&tv).await;
        assert_eq!(series().await, [elm(), Some("tt0000041".to_owned())]);
        house.stops().await;
    }

    async fn an_item_goes_along_with_its_file(db: Db) {
        let house = House::new(&db);
        house.starts_jobs().await;
        let files = ["Wire/Wire.S01E01.mkv", "Wire/Wire.S01E02.mkv", "Wire/Wire.S01E03.mkv", "Fire/Fire.S01E01.mkv"];
        let tv = with(&house, "tv", Kind::Tv, &files).await;
        let before = items(&house, &tv).await;
        decided(&house, &before[files[0]]).await;
        house.moves("tv/Wire/Wire.S01E01.mkv", "tv/Wire/Season 1/other.mkv").await;
        house.moves("tv/Wire/Wire.S01E02.mkv", "tv/Wire/Wire.S02E05.mkv").await;
        house.moves("tv/Wire/Wire.S01E03.mkv", "tv/Wire/nothing.mkv").await;
        house.app.scanner.follow_moves().await.unwrap();
        let now = items(&house, &tv).await;
        let expected = ["Fire/Fire.S01E01.mkv", "Wire/Season 1/other.mkv", "Wire/Wire.S02E05.mkv", "Wire/nothing.mkv"];
        assert_eq!(places(&now), expected);
        let kept = &now["Wire/Season 1/other.mkv"];
        assert_eq!((&kept.id, kept.locked, &*kept.title), (&before[files[0]].id, true, "Decided"));
        assert_eq!((kept.season, kept.episode, &*kept.match_status), (Some(1), Some(1), "manual"));
        let renamed = &now["Wire/Wire.S02E05.mkv"];
        assert_eq!((&renamed.id, renamed.season, renamed.episode), (&before[files[1]].id, Some(2), Some(5)));
        let unclear = &now["Wire/nothing.mkv"];
        assert_eq!((&unclear.id, unclear.season, unclear.episode), (&before[files[2]].id, Some(1), Some(3)));
        assert_eq!(left(&db).await, 0);
        is_settled(&house, &tv).await;
        // What was deleted and put there again is no news to the index, what was deleted alone goes.
        std::fs::remove_file(house.root.join("tv/Wire/nothing.mkv")).unwrap();
        for path in ["Wire/nothing.mkv", "Fire"] {
            let path = house.root.join("tv").join(path).to_str().unwrap().to_owned();
            house.tells(&Deleted { path }).await;
        }
        house.app.scanner.follow_moves().await.unwrap();
        let now = items(&house, &tv).await;
        assert_eq!(places(&now), ["Fire/Fire.S01E01.mkv", "Wire/Season 1/other.mkv", "Wire/Wire.S02E05.mkv"]);
        house.stops().await;
    }

    async fn a_show_goes_along_with_its_folder(db: Db) {
        let house = House::new(&db);
        house.starts_jobs().await;
        let tv = with(&house, "tv", Kind::Tv, &["Wire/Season 1/S01E01.mkv", "Wire/Season 1/S01E02.mkv", "Wired/S01E01.mkv"]).await;
        let more = with(&house, "more", Kind::Tv, &["Alone/Alone.S01E01.mkv"]).await;
        let before = items(&house, &tv).await;
        let wire = show(&db, &tv, "Wire").await.unwrap();
        let identity = IdentityEdit { titledb_id: Some(Some("tt0306414".to_owned())), ..IdentityEdit::default() };
        house.app.identify.identify_show(house.caller(), &wire.id, identity).await.unwrap();
        let said = ShowEdit { overview: Some(Some("Baltimore".to_owned())), ..ShowEdit::default() };
        house.app.identify.describe_show(house.caller(), &wire.id, said).await.unwrap();
        house.moves("tv/Wire", "tv/The Wire (2002)").await;
        house.app.scanner.follow_moves().await.unwrap();
        let now = items(&house, &tv).await;
        let expected = ["The Wire (2002)/Season 1/S01E01.mkv", "The Wire (2002)/Season 1/S01E02.mkv", "Wired/S01E01.mkv"];
        assert_eq!(places(&now), expected);
        for (old, new) in before.values().zip(now.values()) {
            assert_eq!(old.id, new.id);
        }
        assert_eq!(now[expected[0]].series_titledb_id.as_deref(), Some("tt0306414"));
        let moved = show(&db, &tv, "The Wire (2002)").await.unwrap();
        assert_eq!((&moved.id, &*moved.title, moved.year), (&wire.id, "The Wire", Some(2002)));
        // A scan saw the folder before the event was told: the show it made gives way. And to another library.
        std::fs::rename(house.root.join("tv/The Wire (2002)"), house.root.join("more/Wire")).unwrap();
        house.scans(&more).await;
        assert!(show(&db, &more, "Wire").await.is_some_and(|show| show.id != wire.id));
        house.tells_moved("tv/The Wire (2002)", "more/Wire").await;
        house.scans(&tv).await;
        let moved = show(&db, &more, "Wire").await.unwrap();
        assert_eq!((&moved.id, moved.titledb_id.as_deref(), &*moved.title), (&wire.id, Some("tt0306414"), "Wire"));
        assert_eq!(moved.episode_count, 2);
        let metadata = house.app.catalogue.show_details(&wire.id).await.unwrap().metadata;
        assert_eq!(metadata.and_then(|said| said.overview).as_deref(), Some("Baltimore"));
        let there = items(&house, &more).await;
        assert_eq!(places(&there), ["Alone/Alone.S01E01.mkv", "Wire/Season 1/S01E01.mkv", "Wire/Season 1/S01E02.mkv"]);
        let first = &there["Wire/Season 1/S01E01.mkv"];
        assert_eq!((&first.id, first.series_titledb_id.as_deref()), (&before["Wire/Season 1/S01E01.mkv"].id, Some("tt0306414")));
        assert_eq!(places(&items(&house, &tv).await), ["Wired/S01E01.mkv"]);
        for library in [&tv, &more] {
            is_settled(&house, library).await;
        }
        assert!(show(&db, &tv, "Wire").await.is_none() && show(&db, &tv, "The Wire (2002)").await.is_none());
        house.stops().await;
    }

    async fn another_library_has_it_as_its_own_kind(db: Db) {
        let house = House::new(&db);
        house.starts_jobs().await;
        let tv = with(&house, "tv", Kind::Tv, &["Tide (2003)/Tide.2003.mkv", "Wire/Wire.S01E01.mkv", "Away/Away.S01E01.mkv"]).await;
        let films = with(&house, "films", Kind::Movie, &["Old (1950)/Old.1950.mkv"]).await;
        let before = items(&house, &tv).await;
        for place in ["Tide (2003)/Tide.2003.mkv", "Wire/Wire.S01E01.mkv"] {
            decided(&house, &before[place]).await;
        }
        house.moves("tv/Tide (2003)", "films/Tide (2003)").await;
        // Out of all libraries.
        house.moves("tv/Wire/Wire.S01E01.mkv", "elsewhere/Wire.S01E01.mkv").await;
        // The directory of a library is not what was moved: its disk may be back.
        house.tells_moved("tv", "gone").await;
        house.app.scanner.follow_moves().await.unwrap();
        assert_eq!(places(&items(&house, &tv).await), ["Away/Away.S01E01.mkv"]);
        let there = items(&house, &films).await;
        let tide = &there["Tide (2003)/Tide.2003.mkv"];
        assert_eq!((&*tide.media_type, &*tide.title, tide.year), ("movie", "Tide", Some(2003)));
        assert_eq!((tide.locked, &*tide.match_status), (false, "matched"));
        for library in [&tv, &films] {
            is_settled(&house, library).await;
        }
        house.stops().await;
    }

    async fn what_stood_there_is_replaced_with_its_file(db: Db) {
        let house = House::new(&db);
        house.starts_jobs().await;
        let files = ["A/a.S01E01.mkv", "A/b.S01E02.mkv", "A/c.S01E03.mkv", "A/d.S01E04.mkv"];
        let tv = with(&house, "tv", Kind::Tv, &files).await;
        let before = items(&house, &tv).await;
        let id = |file: &str| before[file].id.clone();
        // One over another, and two change places by a third name.
        house.moves("tv/A/a.S01E01.mkv", "tv/A/b.S01E02.mkv").await;
        for (from, to) in [("c.S01E03", "x"), ("d.S01E04", "c.S01E03"), ("x", "d.S01E04")] {
            house.moves(&format!("tv/A/{from}.mkv"), &format!("tv/A/{to}.mkv")).await;
        }
        house.app.scanner.follow_moves().await.unwrap();
        let now = items(&house, &tv).await;
        assert_eq!(places(&now), ["A/b.S01E02.mkv", "A/c.S01E03.mkv", "A/d.S01E04.mkv"]);
        let ids: Vec<_> = now.values().map(|item| item.id.clone()).collect();
        assert_eq!(ids, [id(files[0]), id(files[3]), id(files[2])]);
        is_settled(&house, &tv).await;
        let now = items(&house, &tv).await;
        // A move that is told of and did not happen, as its goal was left as it was, replaces nothing.
        house.tells_moved("tv/A/c.S01E03.mkv", "tv/A/d.S01E04.mkv").await;
        house.app.scanner.follow_moves().await.unwrap();
        assert_eq!(items(&house, &tv).await, now);
        house.stops().await;
    }

    async fn an_item_stays_with_its_other_file(db: Db) {
        let house = House::new(&db);
        house.starts_jobs().await;
        let files = ["Ox (2013)/Ox (2013) - 4K.mkv", "Ox (2013)/Ox (2013) - 720p.mkv", "Cat (2002)/Cat (2002) - 4K.mkv", "Cat (2002)/Cat (2002) - 720p.mkv"];
        let films = with(&house, "films", Kind::Movie, &files).await;
        let before = items(&house, &films).await;
        assert_eq!(places(&before), [files[2], files[0]]);
        for item in before.values() {
            decided(&house, item).await;
        }
        // One file goes elsewhere, one is deleted.
        house.moves("films/Ox (2013)/Ox (2013) - 4K.mkv", "films/Other.mkv").await;
        std::fs::remove_file(house.root.join("films").join(files[2])).unwrap();
        house.tells(&Deleted { path: house.root.join("films").join(files[2]).to_str().unwrap().to_owned() }).await;
        house.app.scanner.follow_moves().await.unwrap();
        for _ in 0..2 {
            let now = items(&house, &films).await;
            assert_eq!((&now[files[1]].id, now[files[1]].locked), (&before[files[0]].id, true));
            assert_eq!((&now[files[3]].id, now[files[3]].locked), (&before[files[2]].id, true));
            house.scans(&films).await;
        }
        assert_eq!(places(&items(&house, &films).await), [files[3], "Other.mkv", files[1]]);
        // With its folder it goes with all its files.
        house.moves("films/Ox (2013)", "films/The Ox (2013)").await;
        house.file("films/The Ox (2013)/The Ox (2013) - 1080p.mkv", 9);
        house.app.scanner.follow_moves().await.unwrap();
        house.scans(&films).await;
        let now = items(&house, &films).await;
        let ox = &now["The Ox (2013)/Ox (2013) - 720p.mkv"];
        assert_eq!((&ox.id, ox.locked, now.len()), (&before[files[0]].id, true, 4), "{now:#?}");
        house.stops().await;
    }

    async fn many_changes_are_each_done_once(db: Db) {
        let house = House::new(&db);
        house.starts_jobs().await;
        // Within itself, so that doing it twice would show.
        let files: Vec<String> = (0..600).map(|number| format!("A/A/A/A.S01E{number:03}.mkv")).collect();
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        let tv = with(&house, "tv", Kind::Tv, &files).await;
        let before = items(&house, &tv).await;
        decided(&house, &before[files[7]]).await;
        std::fs::rename(house.root.join("tv/A"), house.root.join("tv/up")).unwrap();
        std::fs::rename(house.root.join("tv/up/A"), house.root.join("tv/A")).unwrap();
        house.tells_moved("tv/A/A", "tv/A").await;
        for number in 0..50 {
            let (from, to) = (format!("tv/A/A/A.S01E{number:03}.mkv"), format!("tv/B/B.S01E{number:03}.mkv"));
            house.moves(&from, &to).await;
        }
        // A server that dies after some of it, and another one.
        assert!(house.app.scanner.follow_some(&mut BTreeSet::new()).await.unwrap());
        assert_eq!(left(&db).await, 51);
        house.stops().await;
        let next = House::over(&db, house.root.clone(), Pace::default());
        next.starts_jobs().await;
        let (status, summary) = next.scans(&tv).await;
        assert_eq!((&*status, &summary["added"], &summary["removed"]), ("completed", &json!(0), &json!(0)), "{summary}");
        let now = items(&next, &tv).await;
        for (number, file) in files.iter().enumerate() {
            let place = if number < 50 {
                format!("B/B.S01E{number:03}.mkv")
            } else {
                format!("A/A/A.S01E{number:03}.mkv")
            };
            assert_eq!(now[&place].id, before[*file].id, "{file}");
        }
        assert_eq!((now.len(), now["B/B.S01E007.mkv"].locked, left(&db).await), (600, true, 0));
        next.stops().await;
    }

    async fn a_scan_that_runs_is_told_of_moves(db: Db) {
        let house = House::paced(&db, Pace { waits: LONG, ..Pace::default() });
        house.starts_jobs().await;
        let files = ["A/a.S01E01.mkv", "A/gone.S01E02.mkv", "B/b.S01E01.mkv"];
        let tv = with(&house, "tv", Kind::Tv, &files).await;
        let before = items(&house, &tv).await;
        decided(&house, &before[files[0]]).await;
        run(&db, BEGINS).await;
        // The scan sees what was moved, and the consumer has not heard of it yet.
        std::fs::rename(house.root.join("tv/A/a.S01E01.mkv"), house.root.join("tv/B/moved.mkv")).unwrap();
        std::fs::remove_file(house.root.join("tv/A/gone.S01E02.mkv")).unwrap();
        run(&db, HAPPENED).await;
        run(&db, A_MOVE).await;
        let job = house.app.scanner.scan(house.caller(), &tv.id).await.unwrap();
        let seen = async {
            while !items(&house, &tv).await.contains_key("B/moved.mkv") {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(LONG, seen).await.unwrap();
        house.tells_moved("tv/A/a.S01E01.mkv", "tv/B/moved.mkv").await;
        // And something comes into a directory that the scan has looked at: it takes nothing there for removed.
        house.moves("tv/B/b.S01E01.mkv", "tv/A/late.mkv").await;
        run(&db, PASSED).await;
        let (status, summary) = house.ended(&job).await;
        assert!(status.starts_with("completed"), "{summary}");
        let now = items(&house, &tv).await;
        assert_eq!(places(&now), ["A/gone.S01E02.mkv", "A/late.mkv", "B/moved.mkv"]);
        let moved = &now["B/moved.mkv"];
        assert_eq!((&moved.id, moved.locked), (&before[files[0]].id, true));
        assert_eq!(now["A/late.mkv"].id, before[files[2]].id);
        // The other order: it is told of before the scan begins.
        house.moves("tv/B/moved.mkv", "tv/C/again.mkv").await;
        house.scans(&tv).await;
        let now = items(&house, &tv).await;
        assert_eq!(places(&now), ["A/late.mkv", "C/again.mkv"]);
        assert_eq!(now["C/again.mkv"].id, before[files[0]].id);
        house.stops().await;
    }

    async fn a_scan_waits_for_no_events_of_others(db: Db) {
        let house = House::paced(&db, Pace { waits: LONG, ..Pace::default() });
        house.starts_jobs().await;
        let tv = with(&house, "tv", Kind::Tv, &["A/a.S01E01.mkv", "A/gone.S01E02.mkv"]).await;
        run(&db, BEGINS).await;
        run(&db, PASSED).await;
        run(&db, HAPPENED).await;
        run(&db, ANOTHER).await;
        std::fs::remove_file(house.root.join("tv/A/gone.S01E02.mkv")).unwrap();
        let (_, summary) = tokio::time::timeout(LONG / 2, house.scans(&tv)).await.expect("nothing to wait for");
        assert_eq!(summary["removed"], 1, "{summary}");
        house.stops().await;
    }
}
