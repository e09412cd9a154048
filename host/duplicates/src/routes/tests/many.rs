//! Many groups at once, and the upkeep of plans.

use std::time::Duration;

use qm_db::{Db, db_test};
use serde_json::json;

use crate::testing::{Site, film, requester, resolving};

db_test! {
    async fn many_groups_are_planned_and_cleaned(db: Db) {
        let site = Site::new(&db).await;
        for (title, size) in [("Alien", 100), ("Heat", 300), ("Ran", 200)] {
            site.film(&format!("{title}-good"), title, &format!("films/{title}/good.mkv"), size + 1);
            site.film(&format!("{title}-bad"), title, &format!("films/{title}/bad.mkv"), size);
        }
        // A group that somebody has to look at.
        for id in ["x", "y"] {
            let mut item = film(id, "Unsure", &site.place_of(id), 1);
            item.external_ids = vec![("titledb".to_owned(), id.to_owned())];
            site.stock.items.lock().unwrap().push(item);
        }
        site.detect().await;
        let clear = site.get("/quick-clean/candidates").await;
        assert_eq!((&clear["totalGroups"], &clear["totalFiles"], &clear["totalSavingsBytes"], &clear["cap"]), (&json!(3), &json!(6), &json!(600), &json!(100)));
        let groups = clear["groups"].as_array().unwrap();
        assert_eq!((&groups[0]["title"], &groups[0]["fileCount"]), (&json!("Heat"), &json!(2)));
        assert_eq!(groups[0]["recommendedItemId"], "Heat-good");
        let mut ids: Vec<String> = groups.iter().map(|group| group["id"].as_str().unwrap().to_owned()).collect();
        let unsure = site.get("?requiresReview=true").await["items"][0]["id"].as_str().unwrap().to_owned();
        ids.extend([unsure, "nobody".to_owned()]);
        let keep = json!({ ids[1].clone(): "Ran-bad" });
        let previews = site.post("/bulk/preview", json!({ "groupIds": ids, "keepByGroup": keep })).await;
        assert_eq!((&previews["succeeded"], &previews["failed"], &previews["totalFiles"]), (&json!(3), &json!(2), &json!(3)), "{previews}");
        assert_eq!(previews["totalSavingsBytes"], 300 + 201 + 100);
        assert!(previews["results"][4]["message"].is_string() && previews["results"][0]["message"].is_null());
        let mut plans: Vec<String> = (0..3).map(|at| previews["results"][at]["resolutionId"].as_str().unwrap().to_owned()).collect();
        plans.insert(1, "nobody".to_owned());
        let (status, _) = site.send("POWER_USER", "POST", "/bulk/resolve", Some(json!({ "resolutionIds": plans }))).await;
        assert_eq!(status, 403);
        assert_eq!(site.refusal("/bulk/resolve", json!({ "resolutionIds": plans, "permanent": true })).await, "400 bad_request.permanent");
        let done = site.post("/bulk/resolve", json!({ "resolutionIds": plans })).await;
        assert_eq!((&done["succeeded"], &done["failed"], &done["reclaimedBytes"]), (&json!(3), &json!(1), &json!(601)), "{done}");
        assert_eq!((&done["results"][1]["ok"], &done["results"][1]["status"]), (&json!(false), &json!("failed")));
        assert!(site.exists("films/Ran/bad.mkv") && !site.exists("films/Ran/good.mkv") && !site.exists("films/Heat/bad.mkv"));
        assert_eq!(site.get("/trash/history").await.as_array().unwrap().len(), 3);
        let audited = site.audited().await;
        assert!(audited.contains(&"media.duplicates.bulk_resolved failure".to_owned()), "{audited:?}");
        for bad in [json!({ "groupIds": [] }), json!({ "groupIds": ["x"], "keepByGroup": { "x": 1 } }), json!({ "groupIds": ["x"], "more": 1 })] {
            assert_eq!(site.refusal("/bulk/preview", bad).await.split(' ').next(), Some("400"));
        }
        site.jobs.shutdown().await;
    }

    async fn plans_do_not_pile_up(db: Db) {
        let site = Site::new(&db).await;
        site.film("a", "Alien", "films/a.mkv", 100);
        site.film("b", "Alien", "films/b.mkv", 300);
        site.detect().await;
        let group = site.only_group().await;
        let first = site.preview(&group).await;
        for _ in 0..5 {
            site.clock.advance(Duration::from_secs(1));
            site.preview(&group).await;
        }
        assert_eq!(site.refusal(&resolving(&first), json!({})).await, "404 not_found.duplicate_plan");
        assert_eq!(site.get("/overview").await["resolutions"]["pending"], 5);
        site.clock.advance(Duration::from_hours(8 * 24));
        site.app.keep_up().await.unwrap();
        assert_eq!(site.get("/overview").await["resolutions"]["pending"], 0);
        site.jobs.shutdown().await;
    }

    async fn two_plans_at_once_never_take_each_others_keeper(db: Db) {
        let site = Site::new(&db).await;
        site.film("a", "Alien", "films/a.mkv", 100);
        site.film("b", "Alien", "films/b.mkv", 300);
        site.detect().await;
        let group = site.only_group().await;
        let keep = async |item: &str| site.post(&format!("/{group}/preview"), json!({ "keepItemId": item })).await;
        let (one, other) = (keep("a").await, keep("b").await);
        let id = |plan: &serde_json::Value| plan["resolutionId"].as_str().unwrap().to_owned();
        let (one, other) = (id(&one), id(&other));
        let (first, second) = tokio::join!(
            site.app.resolve(requester(), &one),
            site.app.resolve(requester(), &other)
        );
        assert_eq!([&first, &second].iter().filter(|result| result.is_ok()).count(), 1, "{first:?} {second:?}");
        let left = ["films/a.mkv", "films/b.mkv"].iter().filter(|path| site.exists(path)).count();
        assert_eq!(left, 1);
        site.jobs.shutdown().await;
    }
}
