//! Metadata from providers after scans and downloads, over real directories.

use std::sync::Arc;

use qm_db::{Db, db_test};
use qm_identify::ENRICH_JOB;
use qm_kernel::PageQuery;
use qm_media::model::item::{Edit, Filter, Item};
use qm_media::model::library::{Kind, LibraryChange, MediaLibrary};
use qm_media::model::metadata::MetadataEdit;
use qm_media::repo;
use qm_media::service::Pace;
use qm_ports::metadata::Told;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::testing::teller::{answer_of, silent};
use crate::testing::{House, pace};

pub(super) fn told_by(provider: &str) -> Told {
    answer_of(provider, |told| told.overview = Some(format!("By {provider}.")))
}

pub(super) fn nobody() -> Told {
    Told {
        silent: vec![silent("provider_a")],
        ..Told::default()
    }
}

/// A library of films of these names, scanned when nobody could be asked.
async fn films(house: &House, names: &[&str]) -> MediaLibrary {
    for name in names {
        house.file(format!("films/{name}.mkv"), 1);
    }
    let (films, job) = house.library("films", Kind::Movie).await;
    house.ended(&job).await;
    assert_eq!(house.scans(&films).await.0, "completed");
    films
}

async fn items(house: &House) -> Vec<Item> {
    let page = PageQuery {
        page: 1,
        page_size: 99,
    };
    let (items, _) = house.app.catalogue.items(&Filter::default(), page).await.unwrap();
    items.into_iter().map(|(item, ..)| item).collect()
}

/// Titles of the items that a provider told of.
pub(super) async fn described(house: &House) -> Vec<String> {
    let described = items(house)
        .await
        .into_iter()
        .filter(|item| item.metadata.is_some());
    described.map(|item| item.title).collect()
}

/// Titles that were asked about since the last time.
pub(super) fn asked(house: &House) -> Vec<String> {
    let asked = std::mem::take(&mut *house.around.teller.asked.lock().unwrap());
    let mut asked: Vec<String> = asked.into_iter().map(|lookup| lookup.title).collect();
    asked.sort();
    asked
}

/// The next answers wait for this.
pub(super) fn gated(house: &House) -> Arc<Notify> {
    let gate = Arc::new(Notify::new());
    *house.around.teller.may_answer.lock().unwrap() = Some(gate.clone());
    gate
}

/// Jobs that go on where scans have ended: how they ended.
async fn rests(house: &House) -> Vec<(String, Value)> {
    let page = PageQuery {
        page: 1,
        page_size: 100,
    };
    let wanted = Default::default();
    let (jobs, _) = house.jobs.list(&house.principal, &wanted, page).await.unwrap();
    let mut ended = Vec::new();
    for job in jobs.into_iter().filter(|job| job.type_key == ENRICH_JOB) {
        ended.push(house.ended(&job.id).await);
    }
    ended
}

db_test! {
    async fn a_scan_has_providers_tell_of_what_it_found(db: Db) {
        let house = House::new(&db);
        house.starts_jobs().await;
        let films = films(&house, &["Ebb.2003", "Flow.2004", "Kept.2005", "unknown"]).await;
        assert_eq!(asked(&house), [""; 0], "nobody has a key");
        let id = |title: &'static str| {
            let house = &house;
            async move { items(house).await.into_iter().find(|item| item.title == title).unwrap().id }
        };
        house.app.identify.lock_item(house.caller(), &id("Kept").await, true).await.unwrap();
        house.around.teller.will_say(told_by("provider_a"));
        let (status, done) = house.scans(&films).await;
        assert_eq!((&*status, &done["enriched"]), ("completed", &json!(1)), "one is told of, one is unknown, two are not asked about: {done}");
        assert_eq!(asked(&house), ["Ebb", "Flow"]);
        let first = described(&house).await;
        assert_eq!(first.len(), 1);
        // What is known, and what nobody knew a moment ago, is not asked about again.
        let (_, done) = house.scans(&films).await;
        assert_eq!((asked(&house), &done["enriched"]), (vec![], &json!(0)));
        // Until it becomes another one.
        let unknown = if first == ["Ebb"] { "Flow" } else { "Ebb" };
        let edit = Edit { title: Some("Reef".to_owned()), ..Edit::default() };
        house.app.identify.match_item(house.caller(), &id(unknown).await, edit).await.unwrap();
        house.app.identify.lock_item(house.caller(), &id("Kept").await, false).await.unwrap();
        for _ in 0..2 {
            house.around.teller.will_say(told_by("provider_b"));
        }
        let (_, done) = house.scans(&films).await;
        assert_eq!((asked(&house), &done["enriched"]), (vec!["Kept".to_owned(), "Reef".to_owned()], &json!(2)));
        // A new one is identified and told of, and counts once; and so it does for a scan that nobody asked for.
        house.file("films/Tide.2006.mkv", 1);
        let due = LibraryChange { scan_interval_minutes: Some(Some(5)), ..LibraryChange::default() };
        let job = house.app.scanner.update(house.caller(), &films.id, due, None).await.unwrap().scan_job_id;
        house.ended(&job).await;
        assert_eq!(asked(&house), [""; 0], "not by a change of the library");
        let mut tx = db.begin_write().await.unwrap();
        repo::libraries::unscanned(&mut tx, &films.id).await.unwrap();
        tx.commit().await.unwrap();
        house.around.teller.will_say(told_by("provider_a"));
        assert_eq!(house.app.scanner.ask_for_due(false).await.unwrap(), 1);
        let mut all = Vec::new();
        for job in house.scan_jobs().await {
            all.push(house.ended(&job).await.1["enriched"].clone());
        }
        assert!(all.contains(&json!(1)) && asked(&house) == ["Tide"], "{all:?}");
        assert_eq!(rests(&house).await, []);
        house.stops().await;
    }

    async fn a_provider_that_dies_leaves_items_as_they_were_or_complete(db: Db) {
        let house = House::new(&db);
        house.starts_jobs().await;
        let films = films(&house, &["A.2001", "B.2002", "C.2003", "D.2004", "E.2005", "F.2006"]).await;
        house.around.teller.will_say(told_by("provider_a"));
        for _ in 0..3 {
            house.around.teller.will_say(nobody());
        }
        let (status, done) = house.scans(&films).await;
        assert_eq!((&*status, &done["enriched"]), ("completed_with_warnings", &json!(1)), "{done}");
        let first = asked(&house);
        assert_eq!((first.len(), described(&house).await.len()), (4, 1), "three in a row are enough");
        // Those it was silent about are not in the way of the others.
        for _ in 0..2 {
            house.around.teller.will_say(told_by("provider_a"));
        }
        let (status, _) = house.scans(&films).await;
        let second = asked(&house);
        assert_eq!((&*status, second.len(), described(&house).await.len()), ("completed", 2, 3));
        assert!(second.iter().all(|title| !first.contains(title)), "{first:?} {second:?}");
        house.stops().await;
    }

    async fn what_is_left_is_done_by_a_job_of_its_own(db: Db) {
        let house = House::paced(&db, Pace { describes: 1, ..pace() });
        house.starts_jobs().await;
        let films = films(&house, &["A.2001", "B.2002", "C.2003", "D.2004"]).await;
        // It is waited for one that is silent for a moment.
        for said in [told_by("provider_a"), nobody(), nobody(), told_by("provider_a"), Told::default(), told_by("provider_a")] {
            house.around.teller.will_say(said);
        }
        let (_, done) = house.scans(&films).await;
        assert_eq!(done["enriched"], 1);
        let ended = rests(&house).await;
        assert_eq!(ended, [("completed".to_owned(), json!({
            "libraryId": films.id, "metadataFetched": 2, "unknown": 1, "unanswered": 0,
        }))]);
        assert_eq!(described(&house).await.len(), 3);
        house.stops().await;
    }

    async fn a_scan_that_was_cut_off_goes_on(db: Db) {
        let house = House::new(&db);
        house.starts_jobs().await;
        let films = films(&house, &["A.2001", "B.2002"]).await;
        house.around.teller.will_say(told_by("provider_a"));
        let gate = gated(&house);
        let job = house.app.scanner.scan(house.caller(), &films.id).await.unwrap();
        house.around.teller.is_asked.notified().await;
        gate.notify_one();
        house.around.teller.is_asked.notified().await;
        house.stops().await;
        let before = described(&house).await;
        assert_eq!(before.len(), 1);
        house.file("films/C.2003.mkv", 1);
        let next = House::over(&db, house.root.clone(), pace());
        next.around.teller.will_say(told_by("provider_b"));
        let again = next.app.scanner.scan(next.caller(), &films.id).await.unwrap();
        assert_ne!(again, job, "a scan that has ended answers for no other");
        assert!(next.app.scanner.cancel_job(next.caller(), &again).await.unwrap());
        next.starts_jobs().await;
        assert_eq!(next.ended(&job).await.0, "completed");
        assert_eq!((described(&next).await.len(), asked(&next).len()), (2, 1), "only the other one is asked about");
        assert_eq!(items(&next).await.len(), 2, "the scan had ended: it is not done again");
        next.stops().await;
    }

    async fn what_people_do_meanwhile_stays(db: Db) {
        let house = House::new(&db);
        house.starts_jobs().await;
        let films = films(&house, &["A.2001", "B.2002"]).await;
        let gate = gated(&house);
        for _ in 0..2 {
            house.around.teller.will_say(told_by("provider_a"));
        }
        let job = house.app.scanner.scan(house.caller(), &films.id).await.unwrap();
        for turn in 0..2 {
            house.around.teller.is_asked.notified().await;
            let title = house.around.teller.asked.lock().unwrap()[turn].title.clone();
            let item = items(&house).await.into_iter().find(|item| item.title == title).unwrap();
            if turn == 0 {
                let edit = MetadataEdit { overview: Some(Some("Mine.".to_owned())), ..MetadataEdit::default() };
                house.app.identify.describe_item(house.caller(), &item.id, edit).await.unwrap();
            } else {
                house.app.identify.unmatch_item(house.caller(), &item.id).await.unwrap();
            }
            gate.notify_one();
        }
        let (status, done) = house.ended(&job).await;
        assert_eq!((&*status, &done["enriched"]), ("completed", &json!(0)), "{done}");
        let overviews: Vec<_> = items(&house).await.into_iter().filter_map(|item| item.metadata?.overview).collect();
        assert_eq!(overviews, ["Mine."]);
        // A scan that is told to end does not wait for a provider that hangs.
        house.around.teller.asked.lock().unwrap().clear();
        house.file("films/C.2003.mkv", 1);
        let job = house.app.scanner.scan(house.caller(), &films.id).await.unwrap();
        house.around.teller.is_asked.notified().await;
        assert!(house.app.scanner.cancel_job(house.caller(), &job).await.unwrap());
        assert_eq!(house.ended(&job).await.0, "cancelled");
        house.stops().await;
    }
}
