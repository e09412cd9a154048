//! Work of a library on what downloads, scans and moves bring, with areas beside it that note what they are asked for.

use std::sync::Arc;
use std::time::Duration;

use qm_db::{Db, db_test};
use qm_media::model::library::{Kind, LibraryChange, MediaLibrary};
use qm_ports::helpers::HelpError;
use serde_json::{Value, json};

use super::downloaded::{NAME, completes, download, fired, followed, until};
use crate::repo::testing::{NO_AUTHOR, change_all};
use crate::testing::helper::Helper;
use crate::testing::{House, has_user};

/// A house with a library that does everything by itself, and its helper.
async fn caring(db: &Db) -> (House, MediaLibrary, Arc<Helper>) {
    has_user(db).await;
    let house = House::new(db);
    house.starts_jobs().await;
    let helper = house.helped();
    let (tv, first) = house.library("tv", Kind::Tv).await;
    house.ended(&first).await;
    let tv = change(&house, &tv, all()).await;
    helper.take_asked();
    (house, tv, helper)
}

fn all() -> LibraryChange {
    LibraryChange {
        auto_organize: Some(true),
        nfo_enabled: Some(true),
        artwork_enabled: Some(true),
        ..LibraryChange::default()
    }
}

async fn change(house: &House, library: &MediaLibrary, change: LibraryChange) -> MediaLibrary {
    let asked = house
        .app
        .scanner
        .update(house.caller(), &library.id, change, None)
        .await
        .unwrap();
    house.ended(&asked.scan_job_id).await;
    asked.library
}

/// Orders to the helper, without the people.
fn orders(helper: &Helper) -> Vec<String> {
    helper.take_asked().into_iter().map(|(_, what)| what).collect()
}

const EPISODES: [&str; 2] = ["The.Wire.S01E01.1080p.mkv", "The.Wire.S01E02.1080p.mkv"];

/// Triggers of a whole follow-up in which each episode lacks something.
fn all_fired() -> Vec<String> {
    let of_each = [
        "media.matched",
        "media.missing_artwork",
        "media.missing_subtitles",
        "media.rename_completed",
    ];
    let told = of_each
        .iter()
        .flat_map(|trigger| EPISODES.map(|name| format!("{trigger} {name}")));
    let others = ["media.detected", "media.unmatched words.mkv"].map(str::to_owned);
    let mut all: Vec<String> = told.chain(others).collect();
    all.sort();
    all
}

fn lacking(helper: &Helper) {
    *helper.missing.lock().unwrap() = (vec!["fanart".to_owned()], vec!["en".to_owned()]);
}

db_test! {
    async fn a_download_is_named_completed_and_noted_for_whoever_set_the_library_up(db: Db) {
        let (house, _, helper) = caring(&db).await;
        lacking(&helper);
        download(&house);
        completes(&house, &db, NAME, "tv").await;
        let ended = followed(&house).await;
        assert_eq!((&*ended[0].0, &ended[0].1["named"], &ended[0].1["notes"]), ("completed", &json!(2), &json!(2)), "{ended:?}");
        assert_eq!(fired(&house), all_fired());
        let asked = helper.take_asked();
        let what: Vec<&str> = asked.iter().map(|(_, what)| &**what).collect();
        let naming = format!("name 2 of hash of {NAME} moving false");
        assert_eq!(what, [&*naming, "pictures", "subtitles", "pictures", "subtitles", "note", "note"], "not the one that nobody knows");
        let people = asked.iter().filter(|(_, what)| what != "subtitles");
        assert!(people.clone().count() == 5 && people.clone().all(|(who, _)| *who == *house.principal.user_id), "{asked:?}");
        let told = house.fired.1.lock().unwrap().clone();
        let of = |field: &str| told.iter().filter_map(|told| told.get(field)).cloned().collect::<Vec<Value>>();
        assert_eq!(of("missingArtwork"), [json!(["fanart"]), json!(["fanart"])]);
        assert_eq!(of("missingSubtitles"), [json!(["en"]), json!(["en"])]);
        house.stops().await;
    }

    async fn what_lacks_nothing_and_keeps_its_name_is_not_told_of(db: Db) {
        let (house, tv, helper) = caring(&db).await;
        download(&house);
        let _ = house.scans(&tv).await;
        let page = qm_kernel::PageQuery { page: 1, page_size: 9 };
        let (items, _) = house.app.catalogue.items(&Default::default(), page).await.unwrap();
        let first = items.iter().find(|(item, ..)| item.place.ends_with(EPISODES[0])).unwrap();
        *helper.keeps.lock().unwrap() = vec![first.0.id.clone()];
        fired(&house);
        completes(&house, &db, NAME, "tv").await;
        let ended = followed(&house).await;
        assert_eq!((&*ended[0].0, &ended[0].1["named"]), ("completed_with_warnings", &json!(1)), "{ended:?}");
        let told: Vec<String> = fired(&house).into_iter().filter(|told| !told.contains("matched")).collect();
        assert_eq!(told, ["media.detected".to_owned(), format!("media.rename_completed {}", EPISODES[1])]);
        house.stops().await;
    }

    async fn a_library_does_by_itself_what_it_is_set_up_to(db: Db) {
        let (house, tv, helper) = caring(&db).await;
        lacking(&helper);
        download(&house);
        let off = LibraryChange { auto_organize: Some(false), nfo_enabled: Some(false), artwork_enabled: Some(false), ..all() };
        let tv = change(&house, &tv, off).await;
        completes(&house, &db, NAME, "tv").await;
        assert_eq!(followed(&house).await[0].0, "completed");
        assert_eq!(orders(&helper), ["subtitles", "subtitles"]);
        // Nobody is known for whom it would be done.
        let tv = change(&house, &tv, all()).await;
        let mut tx = db.begin_write().await.unwrap();
        change_all(&mut tx, NO_AUTHOR).await.unwrap();
        tx.commit().await.unwrap();
        helper.take_asked();
        completes(&house, &db, NAME, "tv").await;
        let ended = followed(&house).await;
        assert!(ended.iter().any(|(status, done)| status == "completed_with_warnings" && done["named"] == 0), "{ended:?}");
        assert_eq!(orders(&helper), ["subtitles", "subtitles"]);
        // A new name of the library says nothing of what it does; whoever says that is known.
        let named = LibraryChange { name: Some("shows".to_owned()), ..LibraryChange::default() };
        assert_eq!(change(&house, &tv, named).await.author, None);
        let again = LibraryChange { auto_organize: Some(true), ..LibraryChange::default() };
        assert_eq!(change(&house, &tv, again).await.author.as_deref(), Some(&*house.principal.user_id));
        house.stops().await;
    }

    async fn one_that_was_cut_off_is_told_of_once(db: Db) {
        let (mut house, _, mut helper) = caring(&db).await;
        download(&house);
        for at in ["media.rename_completed", "media.missing_artwork", "media.missing_subtitles"] {
            lacking(&helper);
            *house.fired.2.lock().unwrap() = Some(at.to_owned());
            completes(&house, &db, NAME, "tv").await;
            let fires = house.fired.clone();
            until(at, || fires.2.lock().unwrap().is_none()).await;
            let was = Arc::new(house);
            was.stops().await;
            let next = House::over(&db, was.root.clone(), crate::testing::pace());
            helper = next.helped();
            lacking(&helper);
            next.starts_jobs().await;
            let ended = followed(&next).await;
            assert!(ended.iter().all(|(status, _)| status == "completed"), "{at}: {ended:?}");
            let mut told = fired(&was);
            told.append(&mut fired(&next));
            told.sort();
            assert_eq!(told, all_fired(), "{at}");
            house = next;
            house.keeps(was);
        }
        house.stops().await;
    }

    async fn another_rename_in_the_library_is_waited_for(db: Db) {
        let (house, _, helper) = caring(&db).await;
        download(&house);
        helper.refuses.lock().unwrap().push_back(HelpError::Busy("files are being renamed already".to_owned()));
        completes(&house, &db, NAME, "tv").await;
        let ended = followed(&house).await;
        assert_eq!((&*ended[0].0, &ended[0].1["named"]), ("completed", &json!(2)), "{ended:?}");
        assert_eq!(orders(&helper).iter().filter(|what| what.starts_with("name")).count(), 2);
        // What is refused for good is a warning.
        fired(&house);
        helper.refuses.lock().unwrap().push_back(HelpError::Failed("Missing permission(s): media_manager.rename".to_owned()));
        completes(&house, &db, NAME, "tv").await;
        let ended = followed(&house).await;
        assert!(ended.iter().any(|(status, done)| status == "completed_with_warnings" && done["named"] == 0), "{ended:?}");
        assert!(fired(&house).iter().all(|told| !told.starts_with("media.rename_completed")));
        house.stops().await;
    }

    async fn a_scan_that_a_person_asked_for_puts_files_in_order(db: Db) {
        let (house, tv, helper) = caring(&db).await;
        // An empty library is a warning.
        house.file("tv/The Wire (2002)/The.Wire.S01E01.mkv", 1);
        let (status, done) = house.scans(&tv).await;
        assert_eq!((&*status, &done["organized"]), ("completed", &json!(3)), "{done}");
        let asked = helper.take_asked();
        assert_eq!(asked, [(house.principal.user_id.to_string(), format!("order {}", tv.id))]);
        let job = house.jobs.submit(qm_scan::scan_asked(&tv, qm_scan::Reason::Periodic, None)).await.unwrap();
        let (_, done) = house.ended(&job).await;
        assert_eq!((&done["organized"], helper.take_asked().len()), (&json!(0), 0), "nobody asked for it");
        helper.refuses.lock().unwrap().push_back(HelpError::Failed("Missing permission(s): media_manager.rename".to_owned()));
        let (status, done) = house.scans(&tv).await;
        assert_eq!((&*status, &done["organized"]), ("completed_with_warnings", &json!(0)), "{done}");
        let off = LibraryChange { auto_organize: Some(false), ..LibraryChange::default() };
        let tv = change(&house, &tv, off).await;
        helper.take_asked();
        let (status, done) = house.scans(&tv).await;
        assert_eq!((&*status, &done["organized"], helper.take_asked().len()), ("completed", &json!(0), 0), "{done}");
        tokio::time::timeout(Duration::from_mins(1), house.stops()).await.unwrap();
    }
}
