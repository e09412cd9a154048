//! Detections, lists of groups, their state, and the schedule.

use std::collections::BTreeMap;
use std::time::Duration;

use qm_db::{Db, db_test};
use serde_json::{Value, json};

use crate::testing::{Site, film, requester};

/// Version and members of each open group, by its key.
async fn groups(site: &Site) -> BTreeMap<String, (i64, Vec<String>)> {
    let page = site.get("?pageSize=200").await;
    let mut found = BTreeMap::new();
    for group in page["items"].as_array().unwrap() {
        let detail = site.get(&format!("/{}", group["id"].as_str().unwrap())).await;
        let members = detail["candidates"].as_array().unwrap().iter();
        let members = members.map(|item| item["id"].as_str().unwrap().to_owned());
        let key = detail["groupKey"].as_str().unwrap().to_owned();
        found.insert(key, (detail["version"].as_i64().unwrap(), members.collect()));
    }
    found
}

fn put(site: &Site, id: &str, title: &str, size: i64) {
    let item = film(id, title, &format!("/films/{id} {title}.mkv"), size);
    site.stock.items.lock().unwrap().push(item);
}

/// Numbers without order, always the same.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

db_test! {
    async fn a_detection_finds_groups_and_writes_what_changed(db: Db) {
        let site = Site::new(&db).await;
        for (id, title, size) in [("a", "Alien", 10), ("b", "Alien", 30), ("c", "Heat", 5), ("d", "heat!", 7), ("e", "Lone", 1)] {
            put(&site, id, title, size);
        }
        let first = site.detect().await;
        assert_eq!(first["itemsScanned"], 5, "{first}");
        assert_eq!((&first["groupsDetected"], &first["groupsCreated"], &first["groupsUpdated"]), (&json!(2), &json!(2), &json!(0)));
        assert_eq!((&first["candidatesWritten"], &first["requiresReview"], &first["unchanged"]), (&json!(4), &json!(0), &json!(false)));
        assert_eq!(first["potentialSavingsBytes"], 15);
        let before = groups(&site).await;
        assert_eq!(before["ty:alien:1999"], (1, vec!["b".to_owned(), "a".to_owned()]));
        let linked = |id: &str| site.stock.items.lock().unwrap().iter().find(|item| item.id == id).unwrap().group_id.clone();
        assert!(linked("a").is_some() && linked("a") == linked("b") && linked("c") != linked("a"));
        assert_eq!(linked("e"), None);

        let again = site.detect().await;
        assert_eq!((&again["unchanged"], &again["groupsDetected"], &again["candidatesWritten"]), (&json!(true), &json!(2), &json!(0)));
        assert_eq!(site.stock.links.lock().unwrap().len(), 1, "nothing was linked anew");

        // An item of no group changes, and one of a group was merely touched.
        site.change("e", |item| item.title = "Alone".to_owned());
        site.change("a", |item| item.updated_at = qm_kernel::Timestamp::from_ms(7));
        let touched = site.detect().await;
        assert_eq!((&touched["unchanged"], &touched["groupsUpdated"]), (&json!(false), &json!(0)));
        assert_eq!(groups(&site).await, before);

        site.change("c", |item| item.files[0].size = 9);
        site.change("b", |item| item.title = "Aliens".to_owned());
        let changed = site.detect().await;
        assert_eq!((&changed["groupsUpdated"], &changed["groupsRemoved"]), (&json!(1), &json!(1)));
        let after = groups(&site).await;
        assert_eq!(after.keys().collect::<Vec<_>>(), ["ty:heat:1999"]);
        assert_eq!(after["ty:heat:1999"].0, 2);
        assert_eq!(linked("a"), None, "the link goes with the group");
        site.jobs.shutdown().await;
    }

    async fn detections_of_the_same_items_agree(db: Db) {
        let site = Site::new(&db).await;
        let mut dice = Dice(7);
        for round in 0..6 {
            site.stock.items.lock().unwrap().clear();
            for number in 0..60 {
                let title = ["Alien", "Heat", "Ran", "Ikiru", "Rocky", "Rocky II", "M"][dice.below(7) as usize];
                put(&site, &format!("{round}-{number:03}"), title, 1 + dice.below(5) as i64);
            }
            for item in site.stock.items.lock().unwrap().iter_mut() {
                item.year = [None, Some(1950), Some(1999)][dice.below(3) as usize];
                let ids = dice.below(3);
                item.external_ids = (0..ids).map(|of| (["titledb", "provider_a"][of as usize].to_owned(), dice.below(6).to_string())).collect();
            }
            site.detect().await;
            let before = groups(&site).await;
            assert!(before.len() > 3, "{before:?}");
            let lone = film("lone", &format!("Nobody has {round}"), "/films/lone.mkv", 1);
            site.stock.items.lock().unwrap().insert(0, lone);
            site.stock.items.lock().unwrap().reverse();
            let again = site.detect().await;
            assert_eq!((&again["unchanged"], &again["groupsUpdated"]), (&json!(false), &json!(0)), "{again}");
            assert_eq!(groups(&site).await, before, "round {round}");
        }
        site.jobs.shutdown().await;
    }

    async fn groups_are_filtered_sorted_and_paged(db: Db) {
        let site = Site::new(&db).await;
        let sizes = [("Alien", 100), ("Heat", 300), ("Élan", 200)];
        for (title, size) in sizes {
            for copy in 0..2 {
                put(&site, &format!("{title}{copy}"), title, size + copy);
            }
        }
        put(&site, "Heat2", "Heat", 3);
        site.change("Alien1", |item| {
            item.library_id = "other".to_owned();
            item.external_ids = vec![("titledb".to_owned(), "tt1".to_owned())];
        });
        site.change("Alien0", |item| item.external_ids = vec![("titledb".to_owned(), "tt2".to_owned())]);
        site.detect().await;
        let titles = async |query: &str| {
            let page = site.get(query).await;
            let items = page["items"].as_array().unwrap().clone();
            let title = |group: &Value| group["items"][0]["title"].as_str().unwrap().to_owned();
            (items.iter().map(title).collect::<Vec<_>>().join(" "), page["total"].as_i64().unwrap())
        };
        for (query, expected, total) in [
            ("", "Alien Heat Élan", 3),
            ("?sort=savings_desc", "Heat Élan Alien", 3),
            ("?sort=title", "Alien Heat Élan", 3),
            ("?sort=files_desc&pageSize=1", "Heat", 3),
            ("?sort=title&pageSize=2&page=2", "Élan", 3),
            ("?sort=title&pageSize=2&page=9", "", 3),
            ("?requiresReview=true", "Alien", 1),
            ("?requiresReview=1&sort=title", "Alien Heat Élan", 3),
            ("?q=%C3%89LAN", "Élan", 1),
            ("?q=films/heat2", "Heat", 1),
            ("?q=%25", "", 0),
            ("?libraryId=other", "Alien", 1),
            ("?libraryId=other&mediaType=tv", "", 0),
            ("?mediaType=movie&reason=title_year&groupType=file&sort=title", "Alien Heat Élan", 3),
            ("?reason=external_id", "", 0),
            ("?groupType=show_folder", "", 0),
            ("?status=ignored", "", 0),
        ] {
            assert_eq!(titles(query).await, (expected.to_owned(), total), "{query}");
        }
        for sort in ["confidence_desc", "confidence_asc", "recent", "oldest", "needs_review"] {
            assert_eq!(titles(&format!("?sort={sort}")).await.1, 3, "{sort}");
        }
        for bad in ["?sort=name", "?status=gone", "?library=x", "?reason=x", "?groupType=x"] {
            let (status, _) = site.send("ADMINISTRATOR", "GET", bad, None).await;
            assert_eq!(status, 400, "{bad}");
        }
        let heat = &site.get("?q=heat").await["items"][0];
        assert_eq!(heat["suggestedKeepId"], "Heat1");
        assert_eq!(heat["items"][0]["qualityScore"], 40);
        assert_eq!((&heat["items"][0]["totalSize"], &heat["items"][0]["bestCodec"]), (&json!(301), &Value::Null));
        let overview = site.get("/overview").await;
        assert_eq!(overview["groups"], json!({ "total": 3, "open": 3, "ignored": 0, "resolved": 0 }));
        assert_eq!((&overview["needsReview"], &overview["byReason"]), (&json!(1), &json!({ "title_year": 3 })));
        assert_eq!(overview["byType"], json!({ "file": 3, "showFolder": 0 }));
        assert_eq!(overview["potentialSavingsBytes"], 100 + 303 + 200);
        site.jobs.shutdown().await;
    }

    async fn a_group_is_ignored_and_opened_again(db: Db) {
        let site = Site::new(&db).await;
        put(&site, "a", "Alien", 10);
        put(&site, "b", "Alien", 30);
        site.detect().await;
        let id = site.only_group().await;
        let ignored = site.post(&format!("/{id}/ignore"), json!({ "reason": "two cuts" })).await;
        assert_eq!((&ignored["status"], &ignored["ignoredReason"]), (&json!("ignored"), &json!("two cuts")));
        assert_eq!((&ignored["ignoredById"], &ignored["potentialSavingsBytes"]), (&json!("u"), &json!("10")));
        assert_eq!(site.get("").await["total"], 0);
        // A detection keeps what somebody decided, whatever changes.
        site.change("a", |item| item.files[0].size = 11);
        site.detect().await;
        let seen = site.get(&format!("/{id}")).await;
        assert_eq!((&seen["status"], &seen["version"]), (&json!("ignored"), &json!(2)));
        let open = site.ask(201, "POST", &format!("/{id}/reopen"), None).await;
        assert_eq!((&open["status"], &open["ignoredReason"], &open["ignoredAt"]), (&json!("open"), &Value::Null, &Value::Null));
        assert_eq!(site.refusal("/nobody/ignore", json!({})).await, "404 not_found.duplicate_group");
        assert_eq!(site.refusal(&format!("/{id}/ignore"), json!({ "why": 1 })).await.split(' ').next(), Some("400"));
        for (role, path) in [("READ_ONLY", "ignore"), ("USER", "reopen")] {
            let (status, _) = site.send(role, "POST", &format!("/{id}/{path}"), Some(json!({}))).await;
            assert_eq!(status, 403, "{role}");
        }
        assert_eq!(site.audited().await, ["media.duplicates.ignored success", "media.duplicates.reopened success"]);
        site.jobs.shutdown().await;
    }

    async fn the_schedule_starts_detections(db: Db) {
        let site = Site::new(&db).await;
        let off = json!({ "enabled": false, "intervalHours": 24, "lastRunAt": null, "nextRunAt": null });
        assert_eq!(site.get("/schedule").await, off);
        site.app.keep_up().await.unwrap();
        assert_eq!(site.get("/schedule").await, off, "it is off");
        let odd = site.ask(200, "PATCH", "/schedule", Some(json!({ "enabled": true, "intervalHours": 5 }))).await;
        assert_eq!((&odd["enabled"], &odd["intervalHours"], &odd["nextRunAt"]), (&json!(true), &json!(24), &Value::Null));
        let set = site.ask(200, "PATCH", "/schedule", Some(json!({ "intervalHours": 6 }))).await;
        assert_eq!((&set["enabled"], &set["intervalHours"]), (&json!(true), &json!(6)));
        site.app.keep_up().await.unwrap();
        // The one that was started is what another request gets, or it has ended.
        site.detect().await;
        let ran = site.get("/schedule").await;
        assert!(ran["lastRunAt"].is_string() && ran["nextRunAt"].is_string(), "{ran}");
        put(&site, "a", "Alien", 10);
        put(&site, "b", "Alien", 30);
        site.app.keep_up().await.unwrap();
        assert_eq!(site.get("").await["total"], 0, "it is not due");
        site.clock.advance(Duration::from_hours(6));
        site.app.keep_up().await.unwrap();
        site.detect().await;
        assert_eq!(site.get("").await["total"], 1);
        let (status, _) = site.send("USER", "PATCH", "/schedule", Some(json!({}))).await;
        assert_eq!(status, 403);
        site.jobs.shutdown().await;
    }

    async fn a_detection_that_is_cancelled_writes_nothing(db: Db) {
        let site = Site::new(&db).await;
        put(&site, "a", "Alien", 10);
        put(&site, "b", "Alien", 30);
        let gate = site.stock.gate.lock().await;
        let job = site.ask(201, "POST", "/detect", None).await;
        let id = job["jobId"].as_str().unwrap();
        site.stock.begun.notified().await;
        assert_eq!(site.ask(201, "POST", "/detect", None).await, job, "there is one at a time");
        let requester = requester();
        let mut tx = db.begin_write().await.unwrap();
        assert!(site.jobs.cancel_of(&mut tx, requester.caller(), "media_manager", id).await.unwrap());
        tx.commit().await.unwrap();
        drop(gate);
        assert_eq!(site.jobs.ended(id).await.unwrap(), qm_jobs::Ending::Cancelled);
        assert_eq!(site.get("").await["total"], 0);
        assert_eq!(site.get("/schedule").await["lastRunAt"], Value::Null);
        assert_eq!(site.detect().await["groupsCreated"], 1);
        site.jobs.shutdown().await;
    }

    async fn a_detection_is_not_run_for_somebody_who_lost_the_right(db: Db) {
        let site = Site::new(&db).await;
        *site.trust.0.lock().unwrap() = 1;
        let job = site.ask(201, "POST", "/detect", None).await;
        let ended = site.jobs.ended(job["jobId"].as_str().unwrap()).await.unwrap();
        assert!(matches!(ended, qm_jobs::Ending::Failed(_)), "{ended:?}");
        site.jobs.shutdown().await;
    }
}
