//! Work that follows downloads, over real directories.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use qm_db::{Db, db_test};
use qm_kernel::event::{Cause, DomainEvent};
use qm_kernel::{Ctx, PageQuery};
use qm_media::model::item::Filter;
use qm_media::model::library::{Kind, LibraryChange};
use qm_platform::outbox::{Consumer as _, StoredEvent};
use qm_ports::media_server::MediaServerError;
use serde_json::{Value, json};

use qm_orders::DOWNLOAD_JOB;

use super::FileEvents;
use super::enriched::{asked as questions, described, gated, nobody, told_by};
use crate::testing::House;

qm_kernel::events! {
    struct Completed: "torrent.completed" about "torrent" {
        torrent_name: String,
        hash: String,
        save_path: String,
        content_path: String,
        engine_id: String,
    }
}

/// A torrent of this name is whole, right in a directory.
pub(super) async fn completes(house: &House, db: &Db, name: &str, directory: &str) {
    let save_path = house.root.join(directory).to_str().unwrap().to_owned();
    let completed = Completed {
        torrent_name: name.to_owned(),
        hash: format!("hash of {name}"),
        content_path: format!("{save_path}/{name}"),
        save_path,
        engine_id: "e".to_owned(),
    };
    let event = DomainEvent::new(&Ctx::system(), Cause::NONE, "x", &completed);
    let stored = StoredEvent { position: 1, event };
    let mut tx = db.begin_write().await.unwrap();
    FileEvents(house.app.clone())
        .handle(&mut tx, &stored)
        .await
        .unwrap();
    tx.commit().await.unwrap();
}

/// The jobs that follow downloads, each with how it ended and its result.
pub(super) async fn followed(house: &House) -> Vec<(String, Value)> {
    let wanted = Default::default();
    let page = PageQuery {
        page: 1,
        page_size: 100,
    };
    let (jobs, _) = house.jobs.list(&house.principal, &wanted, page).await.unwrap();
    let mut ended = Vec::new();
    for job in jobs.into_iter().filter(|job| job.type_key == DOWNLOAD_JOB) {
        ended.push(house.ended(&job.id).await);
    }
    ended
}

/// Triggers that were fired, with the last part of their paths, in some order.
pub(super) fn fired(house: &House) -> Vec<String> {
    let fired = std::mem::take(&mut *house.fired.0.lock().unwrap());
    let shown = |(trigger, path): (String, String)| match path.rsplit('/').next() {
        Some(name) if !name.is_empty() => format!("{trigger} {name}"),
        _ => trigger,
    };
    let mut fired: Vec<String> = fired.into_iter().map(shown).collect();
    fired.sort();
    fired
}

fn asked(house: &House) -> Vec<String> {
    std::mem::take(&mut *house.around.asked.lock().unwrap())
}

pub(super) async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..3000 {
        if is_so() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{what}");
}

pub(super) const NAME: &str = "The.Wire.S01.1080p.WEB-DL.x264-GRP";

pub(super) fn download(house: &House) {
    for file in [
        "The.Wire.S01E01.1080p.mkv",
        "The.Wire.S01E02.1080p.mkv",
        "words.mkv",
        "info.nfo",
    ] {
        house.file(format!("tv/{NAME}/{file}"), 10);
    }
}

const ALL: [&str; 4] = [
    "media.detected",
    "media.matched The.Wire.S01E01.1080p.mkv",
    "media.matched The.Wire.S01E02.1080p.mkv",
    "media.unmatched words.mkv",
];

db_test! {
    async fn a_download_is_scanned_identified_and_told_of(db: Db) {
        let house = House::new(&db);
        house.starts_jobs().await;
        house.file("tv/Old/Old.S01E01.mkv", 1);
        let (tv, first) = house.library("tv", Kind::Tv).await;
        house.ended(&first).await;
        for (id, is_enabled, refuses) in [
            ("a", true, None), ("b", true, Some(MediaServerError::Unreachable("it is off".to_owned()))), ("c", false, None),
        ] {
            house.around.serves(id, is_enabled, refuses);
        }
        let listed = json!({ "hash": format!("hash of {NAME}"), "name": NAME, "ratio": 0.5, "label": "shows" });
        house.around.listed.lock().unwrap().insert(format!("hash of {NAME}"), listed.as_object().unwrap().clone());
        download(&house);
        // Not by this download, and of no library.
        house.file("tv/Other/Other.S01E01.mkv", 1);
        completes(&house, &db, "elsewhere", "films").await;
        completes(&house, &db, NAME, "tv").await;
        let ended = followed(&house).await;
        assert_eq!(ended, [("completed_with_warnings".to_owned(), json!({
            "libraries": [tv.id], "added": 4, "matched": 2, "unmatched": 1, "described": 0, "named": 0, "notes": 0, "serversAsked": 2, "serversFailed": 1,
        }))]);
        let mut expected = ALL.map(str::to_owned).to_vec();
        expected.insert(3, "media.server_refresh_failed".to_owned());
        assert_eq!(fired(&house), expected);
        assert_eq!(asked(&house), ["a", "b"]);
        for told in house.fired.1.lock().unwrap().iter() {
            assert_eq!((&told["label"], &told["name"], &told["engineId"]), (&json!("shows"), &json!(NAME), &json!("e")), "{told:?}");
        }
        let told = house.fired.1.lock().unwrap().clone();
        assert!(told.iter().any(|told| told.get("serverName") == Some(&json!("the b")) && told["reason"] == "it is off"));
        // What is known, or kept as it is, stays so.
        let page = PageQuery { page: 1, page_size: 50 };
        let (items, _) = house.app.catalogue.items(&Filter::default(), page).await.unwrap();
        let status = |name: &str| {
            let found = items.iter().find(|(item, ..)| item.place.ends_with(name));
            found.map(|(item, ..)| item.match_status.clone()).unwrap()
        };
        assert_eq!((&*status("S01E02.1080p.mkv"), &*status("words.mkv")), ("matched", "unmatched"));
        // It happens to be whole again.
        completes(&house, &db, NAME, "tv").await;
        assert_eq!(followed(&house).await.len(), 2);
        assert_eq!(fired(&house), expected, "as often as it happens");
        house.stops().await;
    }

    async fn completions_while_one_is_followed_are_not_lost(db: Db) {
        let house = House::new(&db);
        house.starts_jobs().await;
        let (_, first) = house.library("tv", Kind::Tv).await;
        house.ended(&first).await;
        house.around.serves("a", true, None);
        let names: Vec<String> = (1..=6).map(|season| format!("Show.S0{season}E01.mkv")).collect();
        for name in &names {
            house.file(format!("tv/{name}"), 1);
            completes(&house, &db, name, "tv").await;
        }
        let ended = followed(&house).await;
        assert!(ended.len() == 6 && ended.iter().all(|(status, done)| status == "completed" && done["matched"] == 1), "{ended:?}");
        let mut expected: Vec<String> = names.iter().map(|name| format!("media.matched {name}")).collect();
        expected.splice(0..0, vec!["media.detected".to_owned(); 6]);
        assert_eq!(fired(&house), expected);
        assert_eq!(asked(&house).len(), 6);
        house.stops().await;
    }

    async fn one_that_was_cut_off_goes_on_where_it_was(db: Db) {
        let mut house = House::new(&db);
        house.starts_jobs().await;
        let (_, first) = house.library("tv", Kind::Tv).await;
        house.ended(&first).await;
        download(&house);
        // Killed with the transaction of each trigger open, then while a media server is asked.
        for at in ["media.detected", "media.matched", "media.unmatched", "the servers"] {
            for id in ["a", "b"] {
                house.around.serves(id, true, None);
            }
            if at == "the servers" {
                house.around.hangs.store(true, Ordering::SeqCst);
            } else {
                *house.fired.2.lock().unwrap() = Some(at.to_owned());
            }
            completes(&house, &db, NAME, "tv").await;
            let (fires, around) = (house.fired.clone(), house.around.clone());
            until(at, || {
                let is_fired = fires.2.lock().unwrap().is_none();
                is_fired && !around.hangs.load(Ordering::SeqCst)
            })
            .await;
            let was = Arc::new(house);
            was.stops().await;
            let next = House::over(&db, was.root.clone(), Default::default());
            for id in ["a", "b"] {
                next.around.serves(id, true, None);
            }
            next.starts_jobs().await;
            let ended = followed(&next).await;
            assert!(ended.iter().all(|(status, _)| status == "completed"), "{at}: {ended:?}");
            let mut all = fired(&was);
            all.append(&mut fired(&next));
            all.sort();
            assert_eq!(all, ALL, "{at}");
            let (before, after) = (asked(&was), asked(&next));
            if at == "the servers" {
                assert_eq!((before, after), (vec!["a".to_owned()], vec!["a".to_owned(), "b".to_owned()]), "nobody knows whether it heard");
            } else {
                assert_eq!((before, after), (vec![], vec!["a".to_owned(), "b".to_owned()]), "{at}");
            }
            house = next;
            house.keeps(was);
        }
        house.stops().await;
    }

    async fn providers_tell_of_what_is_known_before_media_servers_look(db: Db) {
        let house = House::new(&db);
        house.starts_jobs().await;
        let (_, first) = house.library("tv", Kind::Tv).await;
        house.ended(&first).await;
        house.around.serves("a", true, None);
        download(&house);
        for _ in 0..2 {
            house.around.teller.will_say(told_by("provider_b"));
        }
        let gate = gated(&house);
        completes(&house, &db, NAME, "tv").await;
        for _ in 0..2 {
            house.around.teller.is_asked.notified().await;
            assert_eq!(asked(&house), [""; 0], "media servers look afterwards");
            gate.notify_one();
        }
        let ended = followed(&house).await;
        assert_eq!((&*ended[0].0, &ended[0].1["described"]), ("completed", &json!(2)), "{ended:?}");
        assert_eq!((described(&house).await.len(), asked(&house)), (2, vec!["a".to_owned()]));
        assert_eq!(questions(&house), ["The Wire", "The Wire"], "not about the sample, of which nothing is known");
        // What is told of is not asked about when it happens to be whole again.
        completes(&house, &db, NAME, "tv").await;
        assert_eq!(followed(&house).await.len(), 2);
        assert_eq!(questions(&house), [""; 0]);
        house.stops().await;
    }

    async fn a_provider_that_dies_holds_nobody_up(db: Db) {
        let house = House::new(&db);
        house.starts_jobs().await;
        let (_, first) = house.library("tv", Kind::Tv).await;
        house.ended(&first).await;
        house.around.serves("a", true, None);
        for number in 1..=6 {
            house.file(format!("tv/{NAME}/The.Wire.S01E0{number}.mkv"), 1);
        }
        house.around.teller.will_say(told_by("provider_a"));
        for _ in 0..3 {
            house.around.teller.will_say(nobody());
        }
        completes(&house, &db, NAME, "tv").await;
        let ended = followed(&house).await;
        assert_eq!((&*ended[0].0, &ended[0].1["described"]), ("completed_with_warnings", &json!(1)), "{ended:?}");
        assert_eq!((described(&house).await.len(), questions(&house).len(), asked(&house)), (1, 4, vec!["a".to_owned()]));
        house.stops().await;
    }

    async fn one_that_was_cut_off_asks_providers_about_the_rest(db: Db) {
        let house = House::new(&db);
        house.starts_jobs().await;
        let (_, first) = house.library("tv", Kind::Tv).await;
        house.ended(&first).await;
        house.around.serves("a", true, None);
        download(&house);
        house.around.teller.will_say(told_by("provider_a"));
        let gate = gated(&house);
        completes(&house, &db, NAME, "tv").await;
        house.around.teller.is_asked.notified().await;
        gate.notify_one();
        house.around.teller.is_asked.notified().await;
        house.stops().await;
        assert_eq!((described(&house).await.len(), asked(&house)), (1, vec![]));
        let next = House::over(&db, house.root.clone(), Default::default());
        next.around.serves("a", true, None);
        next.around.teller.will_say(told_by("provider_b"));
        next.starts_jobs().await;
        let ended = followed(&next).await;
        assert_eq!((&*ended[0].0, &ended[0].1["described"]), ("completed", &json!(2)), "{ended:?}");
        assert_eq!((questions(&next).len(), described(&next).await.len(), asked(&next)), (1, 2, vec!["a".to_owned()]));
        assert_eq!(fired(&next), [""; 0], "no rule hears of it twice");
        next.stops().await;
    }

    async fn a_library_that_goes_away_is_passed_over(db: Db) {
        let house = House::new(&db);
        let (tv, _) = house.library("tv", Kind::Tv).await;
        download(&house);
        house.around.serves("a", true, None);
        completes(&house, &db, NAME, "tv").await;
        let off = LibraryChange { is_enabled: Some(false), ..LibraryChange::default() };
        house.app.scanner.update(house.caller(), &tv.id, off, None).await.unwrap();
        house.starts_jobs().await;
        let ended = followed(&house).await;
        assert_eq!((&*ended[0].0, &ended[0].1["libraries"]), ("completed", &json!([])), "{ended:?}");
        assert_eq!((fired(&house), asked(&house)), (vec![], vec![]));
        house.stops().await;
    }
}
