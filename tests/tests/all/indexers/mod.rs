//! Indexers with the real plugin: a server that speaks Torznab and Newznab, and misbehaves in every way that sites do.

mod proxy;

use qm_test_base::indexer::{FakeIndexer, KEY, TORRENT};
use qm_testkit::wait::until_true;
use qm_testkit::{Api, TestServer, both_databases, plugins};
use serde_json::{Value, json};

/// The ways to be sick, and the word that each is told with.
const SICK: &[(&str, &str)] = &[
    ("garbage", "unparsable"),
    ("loop", "redirected"),
    ("away", "redirected"),
    ("throttled", "throttled"),
    ("login", "login_page"),
    ("sign-in", "login_page"),
    ("captcha", "captcha"),
    ("html", "unparsable"),
    ("refusing", "auth"),
    ("error", "api_error"),
    ("empty", "unparsable"),
    ("hang", "timeout"),
    ("trickle", "timeout"),
    ("huge", "too_large"),
    ("missing", "status"),
];
/// The ways to answer oddly, but to answer.
const ODD: &[&str] = &["xxe", "bomb", "charset", "cut", "nothing", "hop"];

async fn make(api: &Api, site: &FakeIndexer, way: &str, more: Value) -> Value {
    let mut body = json!({ "name": way, "baseUrl": site.base(way), "apiKey": KEY });
    let (Some(fields), Value::Object(more)) = (body.as_object_mut(), more) else {
        panic!("a body is an object");
    };
    fields.extend(more);
    api.post("/api/indexers", body).await
}

both_databases! {
    async fn a_search_returns_what_the_healthy_ones_have_and_why_the_sick_ones_do_not(db: &TestDb) {
        let site = FakeIndexer::start().await;
        let server = TestServer::builder(db).plugins(&["torznab.wasm"]).start().await;
        let api = server.admin();
        let kinds = api.get("/api/indexers/implementations").await;
        let ids: Vec<_> = kinds.as_array().expect("a list").iter().map(|kind| kind["id"].clone()).collect();
        assert_eq!(ids, ["newznab", "torznab"]);
        let good = make(&api, &site, "good", json!({ "priority": 1 })).await;
        make(&api, &site, "newznab", json!({ "priority": 2, "implementation": "newznab", "protocol": "usenet" })).await;
        for way in ODD.iter().copied().chain(SICK.iter().map(|(way, _)| *way)) {
            make(&api, &site, way, json!({ "timeoutMs": 2500 })).await;
        }
        let found = api.post("/api/indexers/search", json!({ "q": "Harbor Nine", "season": 1, "ep": 2 })).await;
        let told: std::collections::BTreeMap<_, _> = found["failures"].as_array().expect("a list").iter()
            .map(|failure| (failure["name"].as_str().expect("a name"), failure["code"].as_str().expect("a word"))).collect();
        let wanted: std::collections::BTreeMap<_, _> = SICK.iter().copied().collect();
        assert_eq!(told, wanted, "{found}");
        assert_eq!((&found["queried"], &found["failed"]), (&json!(ODD.len() + SICK.len() + 2), &json!(SICK.len())));
        for failure in found["failures"].as_array().expect("a list") {
            let text = failure["message"].as_str().expect("a text");
            assert!(text.starts_with("Indexer \"") && !text.contains(KEY), "{text}");
        }
        let candidates = found["candidates"].as_array().expect("a list");
        // The same release of two indexers is one, of the one that is asked first; most seeders come first.
        assert_eq!(candidates[0]["title"], "Harbor Nine S01E02 720p HDTV x264-SAME", "{found}");
        assert_eq!((&candidates[0]["seeders"], &candidates[0]["indexerId"]), (&json!(40), &good["id"]));
        let text = found["candidates"].to_string();
        assert!(!text.contains("root:"), "no file of ours: {text}");
        assert!(found["warnings"].to_string().contains("cut: "), "{}", found["warnings"]);
        server.end().await;
    }

    async fn a_protocol_that_is_dropped_in_is_offered_and_spoken_at_once(db: &TestDb) {
        let site = FakeIndexer::start().await;
        let server = TestServer::builder(db).start().await;
        let api = server.admin();
        assert_eq!(api.get("/api/indexers/implementations").await, json!([]));
        plugins::install("torznab.wasm", &server.plugins_dir());
        until_true("the protocols to be offered", || async {
            let kinds = api.get("/api/indexers/implementations").await;
            kinds.as_array().is_some_and(|kinds| kinds.len() == 2)
        })
        .await;
        let kinds = api.get("/api/indexers/implementations").await;
        assert_eq!(kinds[1]["configSchema"]["properties"]["apiKey"]["writeOnly"], true, "{kinds}");
        make(&api, &site, "good", json!({})).await;
        let found = api.post("/api/indexers/search", json!({ "q": "Harbor Nine" })).await;
        assert_eq!((&found["queried"], &found["failed"]), (&json!(1), &json!(0)), "{found}");
        server.end().await;
    }

    async fn a_test_says_what_an_indexer_offers_or_why_not(db: &TestDb) {
        let site = FakeIndexer::start().await;
        let server = TestServer::builder(db).plugins(&["torznab.wasm"]).start().await;
        let api = server.admin();
        let good = make(&api, &site, "good", json!({})).await;
        let path = format!("/api/indexers/{}", good["id"].as_str().expect("an id"));
        let tested = api.post(&format!("{path}/test"), json!({})).await;
        assert_eq!(tested["capabilities"]["server"]["title"], "Orchard Index", "{tested}");
        assert_eq!((&tested["indexer"]["status"], &tested["indexer"]["health"]["state"]), (&json!("ok"), &json!("ok")));
        // Another key than the one it takes.
        let wrong = json!({ "apiKey": "not the key" });
        api.send("PATCH", &path, Some(&wrong)).await;
        let tested = api.post(&format!("{path}/test"), json!({})).await;
        let text = tested["error"].as_str().expect("an error");
        assert!(text.starts_with("Indexer \"good\" request failed: ") && !text.contains("not the key"), "{text}");
        assert_eq!(tested["indexer"]["status"], "error");
        server.end().await;
        // What was learnt outlives the server.
        let server = TestServer::builder(db).plugins(&["torznab.wasm"]).start().await;
        let shown = server.admin().get(&path).await;
        assert_eq!((&shown["status"], &shown["statusMessage"]), (&json!("error"), &json!(text)));
        assert_eq!(shown["health"]["queriesToday"], 2);
        server.end().await;
        // Without its plugin it is shown, and says so.
        let server = TestServer::builder(db).start().await;
        let api = server.admin();
        let shown = api.get(&path).await;
        assert_eq!(shown["health"]["state"], "missing");
        let reply = api.send("GET", &format!("{path}/search"), None).await;
        assert_eq!(reply.status, 400);
        assert!(reply.text().contains("No installed plugin speaks the protocol torznab"), "{}", reply.text());
        assert_eq!(TORRENT.first(), Some(&b'd'));
        server.end().await;
    }
}
