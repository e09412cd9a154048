//! One command for many torrents.

use std::sync::atomic::Ordering;

use qm_db::{Db, db_test};
use qm_kernel::PermissionSet;
use qm_ports::engine::{Command, EngineError, TorrentState, capability};
use qm_test_base::blank::{hash, torrent};
use qm_test_base::engine::torrent as numbered;
use serde_json::{Value, json};

use super::able;
use super::house::{House, eventually, item};
use crate::service::{AT_ONCE_IN_A_REQUEST, CHUNK, RUNNING_OF_ONE};

/// An engine with so many torrents, and their items.
async fn crowd(house: &House, host: &str, count: u32) -> (String, Vec<Value>) {
    (0..count).for_each(|n| house.client(host).put(numbered(n)));
    let engine = house.engine(host, host).await;
    let items = (0..count).map(|n| item(&engine, &format!("{n:040x}"))).collect();
    (engine, items)
}

async fn job_of(house: &House, action: &str, items: &[Value]) -> String {
    let answer = house
        .post("/bulk", json!({ "items": items, "action": action }))
        .await;
    assert_eq!(answer.status, 201, "{}", answer.json());
    let body = answer.json();
    assert_eq!(
        (&body["results"], &body["total"]),
        (&json!([]), &json!(items.len())),
        "{body}"
    );
    body["jobId"].as_str().expect("a job").to_owned()
}

async fn shown(house: &House, id: &str, query: &str) -> Value {
    house
        .ask("ADMINISTRATOR", "GET", &format!("/bulk/{id}{query}"), None)
        .await
        .json()
}

db_test! {
    /// Requests of earlier versions, by their bytes.
    async fn what_was_answered_is_answered(db: Db) {
        let house = House::new(&db).await;
        (1..=3).for_each(|n| house.client("a").put(torrent(n)));
        let engine = house.engine("seedbox", "a").await;
        let answer = house.ask("USER", "POST", "/bulk", Some(json!({ "hashes": [*hash(3), "nonsense", *hash(9)], "action": "pause" }))).await;
        let expected = format!(
            "{{\"succeeded\":1,\"failed\":2,\"results\":[{{\"hash\":\"{}\",\"ok\":true,\"error\":null}},\
             {{\"hash\":\"nonsense\",\"ok\":false,\"error\":\"Torrent not found\"}},\
             {{\"hash\":\"{}\",\"ok\":false,\"error\":\"Torrent not found\"}}]}}",
            hash(3), hash(9),
        );
        assert_eq!((answer.status, String::from_utf8(answer.bytes).unwrap()), (201, expected));
        assert_eq!(house.client("a").torrent(&hash(3)).unwrap().state, TorrentState::Paused);
        let empty = house.ask("USER", "POST", "/bulk", Some(json!({ "hashes": [], "action": "start" }))).await;
        assert_eq!(empty.json(), json!({ "succeeded": 0, "failed": 0, "results": [] }));
        let names = "start, stop, pause, resume, recheck, remove, removeData";
        for (role, body, refusal) in [
            ("USER", json!({ "hashes": [], "action": "explode" }), (400, format!("[\"action must be one of the following values: {names}"))),
            ("USER", json!({ "action": "start" }), (400, "[\"each value in hashes must be a string\",\"hashes must be an array\"]".into())),
            ("USER", json!({ "hashes": vec!["x"; 1001], "action": "start" }), (400, "[\"hashes must contain no more than 1000 elements\"]".into())),
            ("USER", json!({ "hashes": [*hash(1)], "action": "remove" }), (403, "Missing permission: torrents.delete".into())),
            ("USER", json!({ "hashes": [*hash(1)], "action": "start", "engineId": "x" }), (404, "Engine x is not available".into())),
        ] {
            let (status, _, message) = house.ask(role, "POST", "/bulk", Some(body)).await.refusal();
            assert_eq!(status, refusal.0, "{message}");
            assert!(message.starts_with(&refusal.1), "{message} {}", refusal.1);
        }
        let told: Vec<_> = house.audited().await.into_iter().map(|row| (row.action, row.result, row.metadata.unwrap().0)).collect();
        let counts = json!({ "engineId": engine, "count": 3, "succeeded": 1, "failed": 2, "libraryItemsRemoved": 0 });
        let refused = json!({ "count": 1, "reason": "forbidden", "required": "torrents.delete" });
        assert_eq!(told, [
            ("torrents.bulk.pause".to_owned(), "success".to_owned(), counts),
            ("torrents.bulk.remove".to_owned(), "failure".to_owned(), refused),
        ]);
        house.close().await;
    }

    async fn a_request_of_before_waits_however_many_it_names(db: Db) {
        let house = House::new(&db).await;
        let (_, _) = crowd(&house, "a", 300).await;
        let mut hashes: Vec<String> = (0..310).map(|n| format!("{n:040X}")).collect();
        hashes.push("nonsense".into());
        hashes.push(format!("{:040x}", 0));
        let body = house.post("/bulk", json!({ "hashes": hashes, "action": "pause" })).await.json();
        assert_eq!((&body["succeeded"], &body["failed"]), (&json!(301), &json!(11)));
        let told: Vec<&str> = body["results"].as_array().unwrap().iter().map(|result| result["hash"].as_str().unwrap()).collect();
        assert_eq!(told, hashes, "each as it was given");
        assert_eq!(house.client("a").commands().len(), 310, "each once");
        house.client("a").fail(Some(EngineError::Unreachable("gone".into())));
        let body = house.post("/bulk", json!({ "hashes": hashes, "action": "start" })).await.json();
        assert_eq!((&body["succeeded"], &body["failed"]), (&json!(0), &json!(312)));
        assert_eq!(body["results"][120]["error"], json!("a cannot be reached: gone"));
        assert_eq!(body["results"][310]["error"], json!("Torrent not found"));
        house.close().await;
    }

    async fn several_engines_take_one_request(db: Db) {
        let (house, first) = able(&db).await;
        house.client("b").put(torrent(1));
        house.client("b").put(torrent(2));
        let second = house.engine("second", "b").await;
        let enabled = json!({ "enabled": true });
        let items = json!([item(&first, &hash(1)), item(&second, &hash(1)), item("gone", &hash(1)), item(&first, "x"), { "hash": *hash(1) }]);
        let body = house.post("/bulk", json!({ "items": items, "action": "sequential", "params": enabled })).await.json();
        let told: Vec<Value> = body["results"].as_array().unwrap().iter().map(|result| json!([result["ok"], result["code"], result["engineId"]])).collect();
        assert_eq!(json!(told), json!([
            [true, null, first], [false, "unsupported.sequential", second], [false, "not_found.engine_unavailable", null],
            [false, "not_found.torrent", first], [true, null, first],
        ]), "{body}");
        assert_eq!((house.client("a").commands().len(), house.client("b").commands().len()), (1, 0));
        let metadata = house.audited().await.pop().unwrap().metadata.unwrap().0;
        assert_eq!((&metadata["engineIds"], &metadata["on"], &metadata["succeeded"]), (&json!([first, second]), &json!(true), &json!(2)));

        let all = json!({ "hashes": [*hash(1), *hash(2), *hash(9)], "engineId": "all", "action": "setCategory", "params": { "category": "tv" } });
        let body = house.post("/bulk", all).await.json();
        assert_eq!((&body["succeeded"], &body["failed"]), (&json!(3), &json!(1)), "{body}");
        assert_eq!(house.client("b").torrent(&hash(1)).unwrap().label.as_deref(), Some("tv"));
        for (body, part) in [
            (json!({ "items": [{ "hash": 5 }], "action": "start" }), "each value in items"),
            (json!({ "items": [{ "hash": "x", "mood": 1 }], "action": "start" }), "each value in items"),
            (json!({ "items": 5, "hashes": [], "action": "start" }), "items must be an array"),
            (json!({ "items": [], "hashes": [], "action": "start" }), "one of them"),
            (json!({ "items": vec![json!({ "hash": "x" }); 10_001], "action": "start" }), "no more than 10000 elements"),
            (json!({ "items": [], "action": "setCategory" }), "category is required"),
            (json!({ "items": [], "action": "start", "params": { "mood": 1 } }), "has no parameter"),
            (json!({ "items": [{ "hash": "x" }, item(&first, "x")], "engineId": "all", "action": "start" }), "engineId=all"),
        ] {
            let (status, _, message) = house.post("/bulk", body).await.refusal();
            assert_eq!(status, 400, "{message}");
            assert!(message.contains(part), "{message}");
        }
        house.close().await;
    }

    async fn torrents_keep_their_order_in_a_queue(db: Db) {
        let house = House::new(&db).await;
        let (_, items) = crowd(&house, "a", 120).await;
        house.client("a").offer(capability::QUEUE_POSITION);
        for (position, is_reversed) in [("top", true), ("bottom", false), ("up", false), ("down", true)] {
            let before = house.client("a").commands().len();
            let body = json!({ "items": items, "action": "queue", "params": { "position": position } });
            assert_eq!(house.post("/bulk", body).await.json()["succeeded"], json!(120));
            let first = house.client("a").commands()[before].0.clone();
            let expected = if is_reversed { 2 * CHUNK } else { 0 };
            assert_eq!(first, format!("{expected:040x}"), "{position}");
        }
        house.close().await;
    }

    async fn many_torrents_are_a_job_with_a_result_each(db: Db) {
        let house = House::new(&db).await;
        let (_, mut items) = crowd(&house, "a", 250).await;
        items[7] = item("gone", &hash(1));
        assert!(items.len() > AT_ONCE_IN_A_REQUEST);
        let id = job_of(&house, "pause", &items).await;
        tokio::time::timeout(std::time::Duration::from_mins(1), house.jobs.ended(&id)).await.unwrap().unwrap();
        let body = shown(&house, &id, "?page=2&pageSize=5").await;
        assert_eq!((&body["ended"], &body["succeeded"], &body["failed"], &body["total"]), (&json!(true), &json!(249), &json!(1), &json!(250)), "{body}");
        assert_eq!(body["results"][2]["code"], json!("not_found.engine_unavailable"));
        assert_eq!((&body["resultsTotal"], body["results"].as_array().unwrap().len()), (&json!(250), 5));
        assert_eq!(house.client("a").commands().len(), 249);
        let rows = house.audited().await;
        assert_eq!((rows.len(), rows[0].action.as_str()), (1, "torrents.bulk.pause"));
        assert_eq!(house.ask("ADMINISTRATOR", "GET", "/bulk/nobody", None).await.refusal().1, "not_found.bulk");
        house.close().await;
    }

    async fn requests_at_once_do_not_find_the_same_room(db: Db) {
        let house = House::new(&db).await;
        let (_, items) = crowd(&house, "a", 2000).await;
        house.client("a").delay.store(200, Ordering::SeqCst);
        let asked = (0..8).map(|_| house.post("/bulk", json!({ "items": items, "action": "pause" })));
        let answers = futures_util::future::join_all(asked).await;
        let begun: Vec<Value> = answers.iter().filter(|answer| answer.status == 201).map(qm_test_base::Answer::json).collect();
        assert_eq!(begun.len(), RUNNING_OF_ONE);
        for body in &begun {
            let id = body["jobId"].as_str().unwrap();
            assert!(house.jobs.cancel_hosted(id).await.unwrap());
            tokio::time::timeout(std::time::Duration::from_mins(1), house.jobs.ended(id)).await.unwrap().unwrap();
        }
        house.close().await;
    }

    async fn a_job_can_be_cancelled_and_leaves_room_for_others(db: Db) {
        let house = House::new(&db).await;
        let (engine, items) = crowd(&house, "a", 2000).await;
        house.client("a").delay.store(200, Ordering::SeqCst);
        let id = job_of(&house, "pause", &items).await;
        let other = job_of(&house, "recheck", &items).await;
        let third = house.post("/bulk", json!({ "items": items, "action": "pause" })).await;
        assert_eq!((third.refusal().0, third.refusal().1.as_str()), (409, "conflict.too_many_bulks"), "{RUNNING_OF_ONE} are enough");
        // A command for one torrent does not wait for them.
        let one = format!("/{:040x}/force-start?engineId={engine}", 1999);
        assert_eq!(house.post(&one, json!({ "enabled": true })).await.status, 201);
        let given = house.client("a").commands();
        assert!(given.iter().filter(|(_, command)| !matches!(command, Command::ForceStart(_))).count() < 1000, "{}", given.len());
        eventually("both had a turn", async || {
            let given = house.client("a").commands();
            let has = |wanted: fn(&Command) -> bool| given.iter().any(|(_, command)| wanted(command));
            has(|command| matches!(command, Command::Pause)) && has(|command| matches!(command, Command::Recheck))
        }).await;
        for id in [&id, &other] {
            assert!(house.jobs.cancel_hosted(id).await.unwrap());
        }
        for id in [&id, &other] {
            tokio::time::timeout(std::time::Duration::from_mins(1), house.jobs.ended(id)).await.unwrap().unwrap();
        }
        eventually("their results are there", async || shown(&house, &id, "").await["ended"] == json!(true)).await;
        let body = shown(&house, &id, "?pageSize=1000&page=2").await;
        assert_eq!(body["results"][999]["code"], json!("conflict.cancelled"), "{}", body["results"][999]);
        assert!(house.client("a").commands().len() < 3000);
        house.close().await;
    }

    async fn a_job_stops_when_its_user_may_no_longer(db: Db) {
        let house = House::new(&db).await;
        let (_, items) = crowd(&house, "a", 300).await;
        *house.powers.0.lock().unwrap() = PermissionSet::empty();
        let id = job_of(&house, "pause", &items).await;
        eventually("it is over", async || shown(&house, &id, "").await["ended"] == json!(true)).await;
        let body = shown(&house, &id, "").await;
        assert_eq!((&body["succeeded"], &body["results"][0]["code"]), (&json!(0), &json!("forbidden.permission")), "{body}");
        assert!(house.client("a").commands().is_empty());
        house.close().await;
    }

    async fn too_many_are_refused_by_their_number(db: Db) {
        let house = House::new(&db).await;
        let (_, _) = crowd(&house, "a", 6000).await;
        let (_, _) = crowd(&house, "b", 6000).await;
        let all: Vec<Value> = (0..6000).map(|n| json!({ "hash": format!("{n:040x}") })).collect();
        let answer = house.post("/bulk", json!({ "items": all, "engineId": "all", "action": "pause" })).await;
        let (status, code, why) = answer.refusal();
        assert_eq!((status, code.as_str()), (400, "bad_request.too_many_torrents"), "{why}");
        assert!(why.contains("10000") && why.contains("12000"), "{why}");
        house.close().await;
    }
}
