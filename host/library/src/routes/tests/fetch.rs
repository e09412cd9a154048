//! Providers are asked about many items.

use std::collections::BTreeMap;
use std::sync::Arc;

use qm_db::{Db, db_test};
use qm_kernel::Permission;
use qm_media::model::library::Kind;
use qm_ports::metadata::Told;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::Site;
use super::bulk::{ids, shelf};
use super::metadata::ebb;
use crate::testing::teller::silent;
use crate::testing::{House, audited, pace};

const FILMS: [&str; 3] = ["films/Ebb.2003.mkv", "films/Flow.2004.mkv", "films/Tide.2005.mkv"];

async fn films(db: &Db) -> (Site, [String; 3]) {
    let (site, _) = shelf(db, &FILMS, &[("films", Kind::Movie)]).await;
    let known = ids(&site).await;
    let ids = FILMS.map(|film| known[film].clone());
    (site, ids)
}

impl Site {
    async fn described(&self, ids: &[String]) -> Vec<Value> {
        let mut by = Vec::new();
        for id in ids {
            by.push(self.metadata(&format!("/items/{id}")).await["providerName"].take());
        }
        by
    }

    /// Orders it, and does not wait: the job.
    async fn orders_metadata(&self, ids: &[String]) -> String {
        let body = json!({ "itemIds": ids });
        let (status, asked) = self.admin("POST", "/items/bulk/metadata", Some(body)).await;
        assert_eq!((status, &asked["accepted"]), (201, &json!(ids.len())), "{asked}");
        asked["jobId"].as_str().unwrap().to_owned()
    }
}

fn nobody() -> Told {
    Told {
        silent: vec![silent("provider_a")],
        ..Told::default()
    }
}

/// The next answer waits for this.
fn gated(house: &House) -> Arc<Notify> {
    let gate = Arc::new(Notify::new());
    *house.around.teller.may_answer.lock().unwrap() = Some(gate.clone());
    gate
}

fn asked(house: &House) -> Vec<String> {
    let asked = house.around.teller.asked.lock().unwrap();
    asked.iter().map(|lookup| lookup.title.clone()).collect()
}

db_test! {
    async fn many_items_are_asked_about(db: Db) {
        let (site, ids) = films(&db).await;
        assert_eq!(site.admin("POST", &format!("/items/{}/lock", ids[1]), None).await.0, 201);
        for provider in ["provider_a", "provider_b"] {
            site.house.around.teller.will_say(ebb(provider));
        }
        let body = json!({ "itemIds": [ids[0], ids[1], ids[2], ids[0], "nobody"] });
        let (status, accepted) = site.admin("POST", "/items/bulk/metadata", Some(body)).await;
        assert_eq!((status, &accepted["accepted"], &accepted["missing"]), (201, &json!(2), &json!(["nobody"])), "{accepted}");
        let job = accepted["jobId"].as_str().unwrap();
        let ended = site.house.ended(job).await;
        assert_eq!(ended, ("completed".to_owned(), json!({ "total": 2, "completed": 2, "failed": 0, "failures": [] })));
        assert_eq!(site.described(&ids).await, [json!("provider_a"), Value::Null, json!("provider_b")], "a locked one is left out");
        assert_eq!(site.house.jobs.get(&site.house.principal, job).await.unwrap().type_key, "media.metadata_fetch");
        let rows = audited(&db, "media.bulk.refresh_metadata").await;
        assert_eq!((rows.len(), &rows[0].1["count"], &rows[0].1["itemIds"]), (1, &json!(2), &json!([ids[0], ids[2]])), "{rows:?}");
        assert!(audited(&db, "media.metadata.fetch").await.is_empty(), "one row for all");
        // None is left: there is no job.
        let (_, none) = site.admin("POST", "/items/bulk/metadata", Some(json!({ "itemIds": [ids[1]] }))).await;
        assert_eq!(none, json!({ "jobId": "", "accepted": 0, "missing": [] }));
        site.house.stops().await;
    }

    async fn a_provider_that_dies_leaves_each_item_as_it_was_or_complete(db: Db) {
        let (site, ids) = films(&db).await;
        let teller = &site.house.around.teller;
        // It comes to its senses in between, then it is gone for good, and comes back.
        for told in [nobody(), nobody(), ebb("provider_a"), nobody(), nobody(), nobody(), nobody(), ebb("provider_a")] {
            teller.will_say(told);
        }
        let (status, done) = site.order("metadata", json!({ "itemIds": ids })).await;
        assert_eq!((&*status, &done["completed"], &done["failed"]), ("completed_with_warnings", &json!(2), &json!(1)), "{done}");
        assert_eq!(done["failures"][0]["itemId"], ids[1]);
        assert!(done["failures"][0]["message"].as_str().unwrap().contains("provider_a: it hangs"), "{done}");
        assert_eq!(site.described(&ids).await, [json!("provider_a"), Value::Null, json!("provider_a")]);
        site.house.stops().await;
    }

    async fn whoever_may_not_any_more_has_nothing_stored(db: Db) {
        let (site, ids) = films(&db).await;
        let gate = gated(&site.house);
        site.house.around.teller.will_say(ebb("provider_a"));
        let job = site.orders_metadata(&ids).await;
        site.house.around.teller.is_asked.notified().await;
        site.house.around.lost.lock().unwrap().push(Permission::MediaManagerEditMetadata);
        gate.notify_one();
        let (status, why) = site.house.ended(&job).await;
        assert_eq!((&*status, &why["error"]), ("failed", &json!("Missing permission(s): media_manager.edit_metadata")));
        assert_eq!(site.described(&ids).await, [Value::Null, Value::Null, Value::Null]);
        assert_eq!(asked(&site.house), ["Ebb"]);
        site.house.stops().await;
    }

    async fn what_others_do_meanwhile_counts(db: Db) {
        let (site, ids) = films(&db).await;
        let teller = &site.house.around.teller;
        for _ in 0..2 {
            teller.will_say(ebb("provider_a"));
        }
        let gate = gated(&site.house);
        let job = site.orders_metadata(&ids[..2]).await;
        // It is another film by now: it is asked about anew.
        teller.is_asked.notified().await;
        let (status, _) = site.admin("POST", &format!("/items/{}/match", ids[0]), Some(json!({ "title": "Reef" }))).await;
        assert_eq!(status, 201);
        gate.notify_one();
        teller.is_asked.notified().await;
        gate.notify_one();
        // And this one is to stay as it is.
        teller.is_asked.notified().await;
        assert_eq!(site.admin("POST", &format!("/items/{}/lock", ids[1]), None).await.0, 201);
        gate.notify_one();
        let (_, done) = site.house.ended(&job).await;
        assert_eq!((&done["completed"], &done["failures"]), (&json!(1), &json!([{ "itemId": ids[1], "message": "Item is locked: unlock it first" }])));
        assert_eq!(asked(&site.house), ["Ebb", "Reef", "Flow"]);
        assert_eq!(site.described(&ids[..2]).await, [json!("provider_a"), Value::Null]);
        site.house.stops().await;
    }

    async fn an_order_that_was_cut_off_goes_on_where_it_was(db: Db) {
        let (site, ids) = films(&db).await;
        site.house.around.teller.will_say(ebb("provider_a"));
        let gate = gated(&site.house);
        let job = site.orders_metadata(&ids).await;
        site.house.around.teller.is_asked.notified().await;
        gate.notify_one();
        // The server ends while it is asked about the second.
        site.house.around.teller.is_asked.notified().await;
        site.house.stops().await;
        let next = House::over(&db, site.house.root.clone(), pace());
        for _ in 0..2 {
            next.around.teller.will_say(ebb("provider_b"));
        }
        next.starts_jobs().await;
        let (status, done) = next.ended(&job).await;
        assert_eq!((&*status, &done["completed"]), ("completed", &json!(3)), "{done}");
        assert_eq!((asked(&site.house), asked(&next)), (vec!["Ebb".to_owned(), "Flow".to_owned()], vec!["Flow".to_owned(), "Tide".to_owned()]));
        let by: BTreeMap<&str, Value> = FILMS.into_iter().zip(site.described(&ids).await).collect();
        assert_eq!((&by[FILMS[0]], &by[FILMS[1]], &by[FILMS[2]]), (&json!("provider_a"), &json!("provider_b"), &json!("provider_b")));
        next.stops().await;
    }

    async fn an_order_ends_when_it_is_told_to(db: Db) {
        let (site, ids) = films(&db).await;
        let _gate = gated(&site.house);
        let job = site.orders_metadata(&ids).await;
        site.house.around.teller.is_asked.notified().await;
        let (_, told) = site.admin("POST", &format!("/jobs/{job}/cancel"), None).await;
        assert_eq!(told, json!({ "requested": true }));
        assert_eq!(site.house.ended(&job).await.0, "cancelled", "a provider that hangs holds it up no longer");
        site.house.stops().await;
    }
}
