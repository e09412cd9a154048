//! Tests of the link to an aggregator and of imports, over HTTP.

use std::time::Duration;

use qm_db::{Db, db_test};
use qm_kernel::secret::MASK;
use qm_test_base::aggregator::{FakeAggregator, listed};
use qm_test_base::indexer::KEY;
use serde_json::{Value, json};

use super::tests::Site;

const PROXY: &str = "/api/integrations/indexer_proxy";

impl Site {
    async fn proxy(&self, method: &str, path: &str, body: Value) -> (u16, Value) {
        let body = (!body.is_null()).then_some(body);
        self.send(method, &format!("{PROXY}{path}"), body).await
    }

    /// Sets the link to one path of the fake aggregator.
    async fn link(&self, aggregator: &FakeAggregator, way: &str) {
        let body = json!({ "enabled": true, "internalUrl": aggregator.base(way), "apiKey": KEY });
        let (status, shown) = self.proxy("PATCH", "", body).await;
        assert_eq!(status, 200, "{shown}");
    }

    async fn import(&self) -> Value {
        let (status, told) = self.proxy("POST", "/import", Value::Null).await;
        assert_eq!(status, 201, "{told}");
        told
    }

    async fn rows(&self) -> Vec<Value> {
        let (_, all) = self.send("GET", "/api/indexers", None).await;
        all.as_array().unwrap().clone()
    }
}

fn with(mut entry: Value, more: Value) -> Value {
    entry
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    entry
}

fn names(told: &Value) -> Vec<&str> {
    told.as_array()
        .unwrap()
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect()
}

db_test! {
    async fn the_link_is_kept_and_its_key_never_shown(db: Db) {
        let site = Site::new(&db);
        let none = json!({
            "enabled": false, "internalUrl": "http://indexer-proxy:9696", "publicUrl": "http://localhost:9696",
            "hasApiKey": false, "apiKey": "", "tlsCertificate": "", "status": "unknown", "statusMessage": null, "version": null,
            "indexerCount": null, "lastCheckedAt": null,
        });
        assert_eq!(site.proxy("GET", "", Value::Null).await, (200, none.clone()));
        let (status, probe) = site.proxy("GET", "/status", Value::Null).await;
        assert_eq!((status, &probe["status"]), (200, &json!("disabled")));
        let change = json!({ "enabled": true, "internalUrl": "http://proxy:9696/ ", "publicUrl": "https://proxy.test/x/", "apiKey": "k-secret" });
        let (status, shown) = site.proxy("PATCH", "", change).await;
        let wanted = with(none.clone(), json!({
            "enabled": true, "internalUrl": "http://proxy:9696", "publicUrl": "https://proxy.test/x", "hasApiKey": true, "apiKey": MASK, "tlsCertificate": "",
        }));
        assert_eq!((status, &shown), (200, &wanted));
        for kept in [json!(""), json!("•••"), json!(" ")] {
            let (_, shown) = site.proxy("PATCH", "", json!({ "apiKey": kept })).await;
            assert_eq!(shown, wanted);
        }
        let (status, opened) = site.proxy("POST", "/open", Value::Null).await;
        assert_eq!((status, opened), (201, json!({ "url": "https://proxy.test/x" })));
        let stored = site.house.setting().await;
        assert!(stored.contains("apiKey") && !stored.contains("k-secret"), "{stored}");
        for (change, wanted) in [
            (json!({ "internalUrl": "proxy" }), "internalUrl is no URL"),
            (json!({ "publicUrl": "ftp://proxy" }), "publicUrl must begin with http:// or https://"),
            (json!({ "internalUrl": "http://u:p@proxy" }), "no user name and no password"),
            (json!({ "enabled": "maybe" }), "enabled"),
            (json!({ "odd": 1 }), "odd"),
            (json!({ "apiKey": "a\nb" }), "apiKey must be one line"),
            (json!({ "apiKey": "x".repeat(513) }), "apiKey"),
        ] {
            let (status, answer) = site.proxy("PATCH", "", change.clone()).await;
            assert!(status == 400 && answer["message"].to_string().contains(wanted), "{change}: {answer}");
        }
        // Blank restores the default; null removes the key.
        let (_, shown) = site.proxy("PATCH", "", json!({ "enabled": false, "internalUrl": "", "publicUrl": "", "apiKey": null })).await;
        assert_eq!(shown, none);
        let audited = site.house.audited().await;
        let times = |action: &str| audited.iter().filter(|line| line.starts_with(action)).count();
        assert_eq!((times("indexer_proxy.settings.updated"), times("indexer_proxy.apikey.changed")), (5, 2), "{audited:?}");
        assert_eq!(times("indexer_proxy.opened success"), 1);
        assert!(audited.iter().all(|line| !line.contains("k-secret")));
    }

    async fn the_links_key_stays_with_the_server_it_was_entered_for(db: Db) {
        let site = Site::new(&db);
        let (mine, other) = (FakeAggregator::start().await, FakeAggregator::start().await);
        for there in [&mine, &other] {
            there.has(vec![listed(1, "Orchard", "orchard")]);
        }
        site.link(&mine, "good").await;
        // A check at another server needs the key in the request.
        for body in [json!({ "internalUrl": other.base("good") }), json!({ "internalUrl": other.base("good"), "apiKey": MASK })] {
            let (status, refused) = site.proxy("POST", "/test", body).await;
            assert_eq!((status, &refused["code"]), (400, &json!("bad_request.indexer_proxy_key_wanted")), "{refused}");
        }
        let (_, moved) = site.proxy("PATCH", "", json!({ "internalUrl": other.base("good"), "apiKey": "" })).await;
        assert_eq!((&moved["hasApiKey"], &moved["secretsWanted"]), (&json!(false), &json!(["apiKey"])));
        let (_, probe) = site.proxy("GET", "/status", Value::Null).await;
        assert!(probe["message"].as_str().unwrap().contains("enter `apiKey` again"), "{probe}");
        for path in ["/test", "/import"] {
            let (status, refused) = site.proxy("POST", path, Value::Null).await;
            assert!(status == 400 && refused["message"].as_str().unwrap().contains("enter `apiKey` again"), "{refused}");
        }
        assert!(other.heard().is_empty(), "nothing was sent there");
        let (_, anew) = site.proxy("PATCH", "", json!({ "apiKey": KEY })).await;
        assert_eq!((&anew["hasApiKey"], &anew["secretsWanted"]), (&json!(true), &Value::Null));
        let (status, told) = site.proxy("POST", "/test", Value::Null).await;
        assert_eq!((status, &told["ok"]), (201, &json!(true)), "{told}");
    }

    async fn a_test_tells_what_it_found_and_stores_it(db: Db) {
        let site = Site::new(&db);
        let aggregator = FakeAggregator::start().await;
        aggregator.has(vec![listed(1, "Orchard", "orchard"), listed(2, "Harbor", "harbor")]);
        let (status, answer) = site.proxy("POST", "/test", Value::Null).await;
        assert_eq!((status, &answer["message"]), (400, &json!("An indexer proxy API key is required to test the connection")));
        // Checked before anything is saved.
        let (status, answer) = site.proxy("POST", "/test", json!({ "internalUrl": aggregator.base("good"), "apiKey": KEY })).await;
        let wanted = json!({
            "ok": true, "version": "1.21.2.4649", "indexerCount": 2,
            "message": "Connected to the indexer proxy, version 1.21.2.4649, with 2 indexers",
        });
        assert_eq!((status, answer), (201, wanted));
        site.link(&aggregator, "good").await;
        let (_, shown) = site.proxy("GET", "", Value::Null).await;
        assert_eq!((&shown["status"], &shown["indexerCount"], &shown["version"]), (&json!("ok"), &json!(2), &json!("1.21.2.4649")));
        assert!(shown["lastCheckedAt"].is_string());
        for head in aggregator.heard() {
            let (line, rest) = head.split_once("\r\n").unwrap();
            assert!(!line.contains(KEY) && rest.to_lowercase().contains("x-api-key: orchard-key"), "{head}");
        }
        let (status, probe) = site.proxy("GET", "/status", Value::Null).await;
        assert_eq!((status, &probe["status"], &probe["message"]), (200, &json!("ok"), &Value::Null));
        let (_, answer) = site.proxy("POST", "/test", json!({ "apiKey": "another" })).await;
        let text = format!("The indexer proxy at {} rejected the API key", aggregator.base("good"));
        assert_eq!(answer, json!({ "ok": false, "message": text }));
        let (_, shown) = site.proxy("GET", "", Value::Null).await;
        assert_eq!((&shown["status"], &shown["statusMessage"]), (&json!("error"), &json!(text)));
        site.link(&aggregator, "nolist").await;
        let (_, answer) = site.proxy("POST", "/test", Value::Null).await;
        assert_eq!((&answer["ok"], &answer["indexerCount"]), (&json!(true), &Value::Null));
        let audited = site.house.audited().await;
        assert!(audited.iter().any(|line| line.starts_with("indexer_proxy.test success") && line.contains("1.21.2")), "{audited:?}");
        assert!(audited.iter().any(|line| line.starts_with("indexer_proxy.test failure") && line.contains("rejected")), "{audited:?}");
        assert!(audited.iter().all(|line| !line.contains(KEY)));
    }

    async fn every_way_to_be_sick_has_its_words_and_imports_nothing(db: Db) {
        let site = Site::new(&db);
        let aggregator = FakeAggregator::start().await;
        for (way, wanted, code) in [
            ("html", "answered something else than an indexer proxy does", "upstream.indexer_proxy"),
            ("garbage", "answered something else", "upstream.indexer_proxy"),
            ("broken", "returned HTTP 500", "upstream.indexer_proxy"),
            ("huge", "answered more than 512 KiB", "upstream.indexer_proxy"),
            ("metadata", "sends elsewhere (HTTP 302)", "upstream.indexer_proxy"),
            ("away", "sends elsewhere (HTTP 302)", "upstream.indexer_proxy"),
        ] {
            site.link(&aggregator, way).await;
            let (status, probe) = site.proxy("GET", "/status", Value::Null).await;
            assert_eq!((status, &probe["status"]), (200, &json!("error")), "{way}: {probe}");
            assert!(probe["message"].as_str().unwrap().contains(wanted), "{way}: {probe}");
            let (status, answer) = site.proxy("POST", "/import", Value::Null).await;
            assert_eq!((status, &answer["code"]), (502, &json!(code)), "{way}: {answer}");
        }
        for (way, wanted) in [("sister", "it is Lidarr"), ("nolist", "its list is none of indexers"), ("endless", "more than 2000 indexers")] {
            site.link(&aggregator, way).await;
            let (status, answer) = site.proxy("POST", "/import", Value::Null).await;
            assert!(status == 502 && answer["message"].as_str().unwrap().contains(wanted), "{way}: {answer}");
        }
        assert!(aggregator.heard().iter().all(|head| !head.contains("/stolen/")), "the key went along");
        site.house.clock.advance(Duration::from_mins(1));
        // Jackett is recognised, also by the address of one of its feeds; that request carries no key.
        for way in ["jackett", "jackett-login", "jackett/api/v2.0/indexers/all/results/torznab"] {
            site.link(&aggregator, way).await;
            let (status, answer) = site.proxy("POST", "/import", Value::Null).await;
            let told = (status, &answer["code"]);
            assert_eq!(told, (400, &json!("bad_request.indexer_proxy_is_jackett")), "{way}: {answer}");
            let text = answer["message"].as_str().unwrap();
            assert!(text.contains("is Jackett") && text.contains("/results/torznab"), "{way}: {text}");
            let heard = aggregator.heard();
            let head = heard.last().unwrap();
            let wanted = format!("GET /{}/api/v2.0/indexers/all/", way.split('/').next().unwrap());
            assert!(head.starts_with(&wanted) && !head.contains(KEY), "{way}: {head}");
        }
        for (url, status, wanted) in [
            ("http://127.0.0.1:1", 502, "Could not reach http://127.0.0.1:1: "),
            ("http://169.254.169.254", 400, "it is never dialled"),
            ("http://[fd00:ec2::254]", 400, "it is never dialled"),
        ] {
            site.proxy("PATCH", "", json!({ "internalUrl": url, "apiKey": KEY })).await;
            let (got, answer) = site.proxy("POST", "/import", Value::Null).await;
            assert!(got == status && answer["message"].as_str().unwrap().contains(wanted), "{url}: {answer}");
        }
        site.link(&aggregator, "good").await;
        site.proxy("PATCH", "", json!({ "apiKey": "another" })).await;
        let (status, answer) = site.proxy("POST", "/import", Value::Null).await;
        assert_eq!((status, &answer["code"]), (400, &json!("bad_request.indexer_proxy_key_rejected")));
        site.proxy("PATCH", "", json!({ "apiKey": null })).await;
        assert_eq!(site.proxy("POST", "/import", Value::Null).await.0, 400);
        site.proxy("PATCH", "", json!({ "enabled": false })).await;
        let (status, answer) = site.proxy("POST", "/import", Value::Null).await;
        assert_eq!((status, &answer["code"]), (400, &json!("bad_request.indexer_proxy_disabled")));
        assert_eq!(site.rows().await, Vec::<Value>::new());
    }

    async fn indexers_are_taken_over_and_follow_where_nobody_touched_them(db: Db) {
        let site = Site::new(&db);
        let aggregator = FakeAggregator::start().await;
        site.link(&aggregator, "good").await;
        let by_hand = json!({ "name": "Mine", "baseUrl": format!("{}/3", aggregator.base("good")) });
        site.send("POST", "/api/indexers", Some(by_hand)).await;
        let (orchard, harbor) = (listed(1, "Orchard", "orchard"), listed(2, "Harbor", "harbor"));
        let third = listed(3, "Third", "third");
        aggregator.has(vec![
            with(orchard.clone(), json!({ "priority": 7 })), with(harbor.clone(), json!({ "enable": false })), third.clone(),
            with(listed(4, "News", "news"), json!({ "protocol": "usenet" })),
            with(listed(5, "", "x"), json!({})), json!({ "name": "No id" }), json!(7), with(orchard.clone(), json!({ "name": "Twice" })),
        ]);
        let told = site.import().await;
        assert_eq!((names(&told["added"]), &told["changed"], &told["disabled"]), (vec!["Orchard", "Harbor"], &json!([]), &json!([])));
        assert_eq!(names(&told["left"]), ["Third", "News"], "{told}");
        let reasons: Vec<_> = told["failed"].as_array().unwrap().iter()
            .map(|one| (one["proxyId"].as_str(), one["reason"].as_str().unwrap())).collect();
        assert_eq!(reasons, [
            (Some("5"), "it has no name"), (None, "its id is no number"), (None, "it is no object"),
            (Some("1"), "its id is listed twice"),
        ]);
        let rows = site.rows().await;
        let named = |rows: &[Value], name: &str| rows.iter().find(|row| row["name"] == name).unwrap().clone();
        let row = named(&rows, "Orchard");
        assert_eq!(row["baseUrl"], json!(format!("{}/1/api", aggregator.base("good"))));
        assert_eq!((&row["priority"], &row["enabled"], &row["apiKey"]), (&json!(7), &json!(true), &json!(MASK)));
        assert_eq!((&row["categories"], &row["imported"], &row["implementation"]), (&json!([2000, 5000]), &json!(true), &json!("torznab")));
        assert_eq!((&named(&rows, "Harbor")["enabled"], &named(&rows, "Mine")["imported"]), (&json!(false), &json!(false)));
        // Requests use the aggregator's key.
        let id = row["id"].as_str().unwrap();
        site.send("POST", &format!("/api/indexers/{id}/test"), None).await;
        let (config, _) = site.house.protocols.asked().remove(0);
        assert_eq!(config["apiKey"], KEY);
        // A second import changes nothing.
        aggregator.has(vec![with(orchard.clone(), json!({ "priority": 7 })), with(harbor.clone(), json!({ "enable": false }))]);
        let told = site.import().await;
        assert_eq!((&told["added"], &told["changed"], &told["disabled"], &told["unchanged"]), (&json!([]), &json!([]), &json!([]), &json!(2)));
        assert_eq!(named(&site.rows().await, "Orchard")["status"], "ok", "what was learnt stays");
        // Values set by users stay; the rest follows.
        site.send("PATCH", &format!("/api/indexers/{id}"), Some(json!({ "priority": 1, "minSeeders": 4 }))).await;
        aggregator.has(vec![
            with(orchard.clone(), json!({ "name": "Orchard II", "priority": 9 })), with(harbor.clone(), json!({ "enable": true })),
        ]);
        let told = site.import().await;
        let changes: Vec<_> = told["changed"].as_array().unwrap().iter()
            .map(|one| (one["name"].as_str().unwrap(), one["fields"].clone())).collect();
        assert_eq!(changes, [("Orchard II", json!(["name"])), ("Harbor", json!(["enabled"]))]);
        let row = named(&site.rows().await, "Orchard II");
        assert_eq!((&row["id"], &row["priority"], &row["minSeeders"]), (&json!(id), &json!(1), &json!(4)));
        // The aggregator has another key and another address: a row that a user pointed elsewhere keeps its
        // own key.
        let (_, row) = site.send("PATCH", &format!("/api/indexers/{id}"), Some(json!({ "baseUrl": "http://elsewhere.test" }))).await;
        assert_eq!(row["apiKey"], "", "the aggregator's key goes nowhere else");
        let moved = json!({ "baseUrl": "http://elsewhere.test/api", "apiKey": "own" });
        site.send("PATCH", &format!("/api/indexers/{id}"), Some(moved)).await;
        site.proxy("PATCH", "", json!({ "internalUrl": aggregator.base("good/") })).await;
        site.proxy("PATCH", "", json!({ "internalUrl": aggregator.base("good/x") })).await;
        let told = site.import().await;
        assert_eq!((names(&told["changed"]), &told["changed"][0]["fields"]), (vec!["Harbor"], &json!(["baseUrl"])));
        let row = named(&site.rows().await, "Orchard II");
        assert_eq!(row["baseUrl"], "http://elsewhere.test/api");
        site.send("POST", &format!("/api/indexers/{id}/test"), None).await;
        let (config, _) = site.house.protocols.asked().remove(0);
        assert_eq!(config["apiKey"], "own");
        let audited = site.house.audited().await;
        assert!(audited.iter().any(|line| line.starts_with("indexer_proxy.imported success") && line.contains("\"added\":2")), "{audited:?}");
        assert!(audited.iter().any(|line| line.starts_with("indexer.create") && line.contains("\"by\":\"indexer_proxy\"")));
        assert!(site.house.stored().await.iter().all(|stored| !stored.contains(KEY)));
        assert!(audited.iter().all(|line| !line.contains(KEY)));
    }

    async fn what_is_gone_is_disabled_and_comes_back_as_it_was(db: Db) {
        let site = Site::new(&db);
        let aggregator = FakeAggregator::start().await;
        site.link(&aggregator, "good").await;
        let (orchard, harbor) = (listed(1, "Orchard", "orchard"), listed(2, "Harbor", "harbor"));
        aggregator.has(vec![orchard.clone(), harbor.clone()]);
        site.import().await;
        let enabled = async || -> Vec<(String, bool)> {
            let rows = site.rows().await.into_iter();
            rows.map(|row| (row["name"].as_str().unwrap().to_owned(), row["enabled"].as_bool().unwrap())).collect()
        };
        // An unreadable entry could be any indexer; its number is its place.
        aggregator.has(vec![orchard.clone(), json!("?")]);
        assert_eq!(names(&site.import().await["left"]), ["Harbor"]);
        aggregator.has(vec![orchard.clone(), with(harbor.clone(), json!({ "enable": "?" }))]);
        let told = site.import().await;
        assert_eq!((names(&told["left"]), &told["failed"][0]["proxyId"]), (vec!["Harbor"], &json!("2")));
        aggregator.has(vec![orchard.clone()]);
        assert_eq!(names(&site.import().await["disabled"]), ["Harbor"]);
        assert_eq!(enabled().await, [("Harbor".to_owned(), false), ("Orchard".to_owned(), true)]);
        assert_eq!(site.import().await["disabled"], json!([]));
        aggregator.has(vec![orchard.clone(), harbor.clone()]);
        assert_eq!(site.import().await["changed"][0]["fields"], json!(["enabled"]));
        assert_eq!(enabled().await, [("Harbor".to_owned(), true), ("Orchard".to_owned(), true)]);
        // Another tracker has its number now: that is another indexer.
        aggregator.has(vec![orchard.clone(), listed(2, "Lighthouse", "lighthouse")]);
        let told = site.import().await;
        assert_eq!((names(&told["added"]), names(&told["disabled"])), (vec!["Lighthouse"], vec!["Harbor"]));
        // A user who enables it again keeps it.
        let rows = site.rows().await;
        let id = rows.iter().find(|row| row["name"] == "Harbor").unwrap()["id"].as_str().unwrap();
        site.send("PATCH", &format!("/api/indexers/{id}"), Some(json!({ "enabled": true }))).await;
        let told = site.import().await;
        assert_eq!((names(&told["left"]), &told["disabled"]), (vec!["Harbor"], &json!([])));
    }

    async fn two_imports_at_once_add_each_indexer_once(db: Db) {
        let (one, other) = (Site::new(&db), Site::new(&db));
        let aggregator = FakeAggregator::start().await;
        one.link(&aggregator, "good").await;
        aggregator.has((1..=20).map(|id| listed(id, &format!("Indexer {id}"), "orchard")).collect());
        let imports = [&one, &other, &one, &other].map(|site| site.proxy("POST", "/import", Value::Null));
        let answers = futures_util::future::join_all(imports).await;
        for (status, answer) in &answers {
            assert!(matches!(status, 201 | 409), "{answer}");
        }
        let added: usize = answers.iter().filter_map(|(_, answer)| answer["added"].as_array()).map(Vec::len).sum();
        assert_eq!((added, one.rows().await.len()), (20, 20));
    }
}
