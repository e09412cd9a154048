//! Tests of the routes.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, header};
use http_body_util::BodyExt;
use qm_db::{Db, db_test};
use qm_kernel::Role;
use qm_kernel::secret::MASK;
use qm_ports::indexer::{Fetched, IndexerError, Indexers as _, Release, Wanted};
use qm_test_base::RoleTokens;
use qm_web::{Docs, WebConfig};
use serde_json::{Value, json};
use tower::ServiceExt;

use super::routes;
use crate::testing::{House, release};

pub(super) struct Site {
    pub(super) house: House,
    router: Router,
}

impl Site {
    pub(super) fn new(db: &Db) -> Self {
        let house = House::new(db);
        let config = WebConfig {
            throttle_limit: 0,
            docs: Docs::Hidden,
            ..WebConfig::default()
        };
        let state = routes().with_state(house.app.clone());
        let router = qm_web::finish(state, config, Arc::new(RoleTokens), house.clock.ctx());
        Self { house, router }
    }

    async fn ask(&self, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
        self.send(method, &format!("/api/indexers{path}"), body).await
    }

    pub(super) async fn send(&self, method: &str, uri: &str, body: Option<Value>) -> (u16, Value) {
        self.send_as(Role::Administrator, method, uri, body).await
    }

    async fn send_as(&self, role: Role, method: &str, uri: &str, body: Option<Value>) -> (u16, Value) {
        let mut request = Request::builder()
            .method(method)
            .uri(uri)
            .header(header::AUTHORIZATION, format!("Bearer {}", role.name()));
        let body = match body {
            Some(body) => {
                request = request.header(header::CONTENT_TYPE, "application/json");
                Body::from(body.to_string())
            }
            None => Body::empty(),
        };
        let request = request.body(body).unwrap();
        let response = self.router.clone().oneshot(request).await.unwrap();
        let status = response.status().as_u16();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        (status, serde_json::from_slice(&bytes).unwrap_or_default())
    }

    /// Creates an indexer at `http://HOST`; returns its id.
    async fn make(&self, host: &str, more: Value) -> String {
        let mut body = json!({ "name": host, "baseUrl": format!("http://{host}/") });
        body.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        let (status, made) = self.ask("POST", "", Some(body)).await;
        assert_eq!(status, 201, "{made}");
        made["id"].as_str().unwrap().to_owned()
    }
}

db_test! {
    async fn an_indexer_is_made_changed_and_deleted_and_its_key_never_shown(db: Db) {
        let site = Site::new(&db);
        let body = json!({ "name": " Orchard ", "baseUrl": "http://orchard.test/api/", "apiKey": "k-secret" });
        let (status, made) = site.ask("POST", "", Some(body)).await;
        let id = made["id"].as_str().unwrap().to_owned();
        let at = made["createdAt"].clone();
        let wanted = json!({
            "id": id, "name": "Orchard", "implementation": "torznab", "protocol": "torrent",
            "baseUrl": "http://orchard.test/api", "apiKey": MASK, "config": {}, "enabled": true, "priority": 25,
            "categories": [5000, 5030, 5040], "minSeeders": null, "timeoutMs": 15000, "requestsPerMinute": 30,
            "capabilities": null, "status": "unknown", "statusMessage": null, "lastTestedAt": null,
            "health": { "state": "unknown", "consecutiveFailures": 0, "lastError": null, "nextTryAt": null,
                "lastLatencyMs": null, "queriesToday": 0, "grabsToday": 0 }, "imported": false,
            "createdAt": at, "updatedAt": at,
        });
        assert_eq!((status, &made), (201, &wanted));
        assert!(site.house.stored().await.iter().all(|stored| !stored.is_empty() && !stored.contains("k-secret")));
        let path = format!("/{id}");
        // Bullets and blanks keep the key.
        for kept in ["", "••••"] {
            let change = json!({ "apiKey": kept, "minSeeders": "3", "categories": ["2000", 2010], "enabled": false });
            let (status, changed) = site.ask("PATCH", &path, Some(change)).await;
            assert_eq!(status, 200, "{changed}");
            assert_eq!((&changed["apiKey"], &changed["minSeeders"]), (&json!(MASK), &json!(3)));
            assert_eq!((&changed["categories"], &changed["enabled"]), (&json!([2000, 2010]), &json!(false)));
        }
        let (_, changed) = site.ask("PATCH", &path, Some(json!({ "apiKey": null, "minSeeders": null }))).await;
        assert_eq!((&changed["apiKey"], &changed["minSeeders"]), (&json!(""), &Value::Null));
        site.make("first", json!({ "priority": 1 })).await;
        let (_, all) = site.ask("GET", "", None).await;
        let names: Vec<_> = all.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["first", "Orchard"]);
        assert_eq!(site.ask("DELETE", &path, None).await, (200, json!({ "id": id, "deleted": true })));
        let gone = json!({ "statusCode": 404, "error": "Not Found", "message": "Indexer not found", "code": "not_found.indexer" });
        for (method, path) in [("GET", path.clone()), ("DELETE", path.clone()), ("POST", format!("{path}/test"))] {
            assert_eq!(site.ask(method, &path, None).await, (404, gone.clone()), "{method}");
        }
        let audited = site.house.audited().await;
        let actions: Vec<_> = audited.iter().map(|line| line.split(' ').next().unwrap()).collect();
        for (action, times) in [("indexer.create", 2), ("indexer.update", 3), ("indexer.delete", 1)] {
            assert_eq!(actions.iter().filter(|one| **one == action).count(), times, "{actions:?}");
        }
        assert!(audited.iter().all(|line| !line.contains("k-secret")));
    }

    async fn who_may_not_configure_engines_names_ten_addresses_of_the_house_within_an_hour(db: Db) {
        const PROXY: &str = "/api/integrations/indexer_proxy";
        let site = Site::new(&db);
        let named = async |role: Role, url: &str| {
            let body = json!({ "name": url, "baseUrl": url });
            site.send_as(role, "POST", "/api/indexers", Some(body)).await
        };
        let mut last = String::new();
        for number in 0..10 {
            let (status, made) = named(Role::PowerUser, &format!("http://10.0.0.{number}:9696/1")).await;
            assert_eq!(status, 201, "{made}");
            made["id"].as_str().unwrap().clone_into(&mut last);
        }
        let refused = json!("throttled.addresses");
        let (status, body) = named(Role::PowerUser, "http://127.0.0.1:9117").await;
        assert_eq!((status, &body["code"]), (429, &refused), "{body}");
        assert!(body["message"].as_str().unwrap().contains("10 different addresses"), "{body}");
        for (method, path, body) in [
            ("PATCH", format!("/api/indexers/{last}"), json!({ "baseUrl": "http://10.0.0.9:9697" })),
            ("PATCH", format!("/api/indexers/{last}"), json!({ "config": { "mirror": "http://10.0.0.9:9697" } })),
            ("PATCH", PROXY.to_owned(), json!({ "internalUrl": "http://[fd00::1]:9696" })),
            ("POST", format!("{PROXY}/test"), json!({ "internalUrl": "http://nobody-has-this-name.invalid", "apiKey": "k" })),
        ] {
            let (status, body) = site.send_as(Role::PowerUser, method, &path, Some(body)).await;
            assert_eq!((status, &body["code"]), (429, &refused), "{method} {path}: {body}");
        }
        // The same origin, a public one, and users with the permission for private addresses.
        assert_eq!(named(Role::PowerUser, "http://10.0.0.3:9696/2").await.0, 201);
        assert_eq!(named(Role::PowerUser, "https://93.184.216.34/api").await.0, 201);
        assert_eq!(named(Role::Administrator, "http://127.0.0.1:9117").await.0, 201);
        let path = format!("/api/indexers/{last}");
        let changed = site.send_as(Role::PowerUser, "PATCH", &path, Some(json!({ "baseUrl": "http://10.0.0.9:9696/7" }))).await;
        assert_eq!(changed.0, 200, "{changed:?}");
        site.house.clock.advance(Duration::from_hours(1));
        assert_eq!(named(Role::PowerUser, "http://10.0.0.77").await.0, 201);
    }

    async fn what_is_wrong_is_named(db: Db) {
        let site = Site::new(&db);
        let good = json!({ "name": "x", "baseUrl": "http://x" });
        let with = |more: Value| {
            let mut body = good.clone();
            body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            body
        };
        for (body, wanted) in [
            (json!({}), "name"),
            (with(json!({ "name": "  " })), "name must have 1 to 120 characters"),
            (with(json!({ "baseUrl": "indexer.test" })), "baseUrl must be an http or https URL"),
            (with(json!({ "baseUrl": "http://u:p@x" })), "baseUrl must be an http or https URL without credentials"),
            (with(json!({ "priority": 101 })), "priority"),
            (with(json!({ "timeoutMs": 10 })), "timeoutMs"),
            (with(json!({ "requestsPerMinute": 0 })), "requestsPerMinute"),
            (with(json!({ "minSeeders": -1 })), "minSeeders"),
            (with(json!({ "categories": "5000" })), "categories must be an array"),
            (with(json!({ "categories": vec![1; 65] })), "categories must contain no more than 64 elements"),
            (with(json!({ "protocol": "post" })), "protocol"),
            (with(json!({ "odd": 1 })), "odd"),
            (with(json!({ "config": { "apiKey": "x" } })), "config.apiKey should not exist"),
            (with(json!({ "config": { "user": "x" } })), "config.user should not exist"),
            (with(json!({ "implementation": "special", "config": { "pin": "123" } })), "config.pin"),
            (with(json!({ "implementation": "gopher" })), "\"gopher\": there is newznab, special, torznab"),
        ] {
            let (status, answer) = site.ask("POST", "", Some(body.clone())).await;
            assert_eq!(status, 400, "{body}: {answer}");
            assert!(answer["message"].to_string().replace("\\\"", "\"").contains(wanted), "{body}: {answer}");
        }
        let (_, all) = site.ask("GET", "", None).await;
        assert_eq!(all, json!([]));
        for path in ["?season=-1", "?season=x", "?ep=1.5"] {
            let (status, answer) = site.ask("GET", &format!("/any/search{path}"), None).await;
            assert_eq!(status, 400, "{path}: {answer}");
        }
        let long = json!({ "q": "x".repeat(301) });
        assert_eq!(site.ask("POST", "/search", Some(long)).await.0, 400);
    }

    async fn a_protocol_has_a_configuration_of_its_own(db: Db) {
        let site = Site::new(&db);
        let id = site.make("x", json!({ "implementation": "special", "config": { "user": "jo", "pin": "1234" } })).await;
        let (_, shown) = site.ask("GET", &format!("/{id}"), None).await;
        assert_eq!(shown["config"], json!({ "user": "jo", "pin": MASK }));
        let change = json!({ "config": { "user": "ada", "pin": MASK } });
        let (status, shown) = site.ask("PATCH", &format!("/{id}"), Some(change)).await;
        assert_eq!((status, &shown["config"]), (200, &json!({ "user": "ada", "pin": MASK })));
        site.ask("POST", &format!("/{id}/test"), None).await;
        let (config, _) = site.house.protocols.asked().remove(0);
        assert_eq!(Value::from(config), json!({ "baseUrl": "http://x", "user": "ada", "pin": "1234" }));
        let (_, kinds) = site.ask("GET", "/implementations", None).await;
        let ids: Vec<_> = kinds.as_array().unwrap().iter().map(|kind| kind["id"].as_str().unwrap()).collect();
        assert_eq!(ids, ["newznab", "special", "torznab"]);
    }

    async fn a_test_stores_what_it_found_and_fails_without_an_error(db: Db) {
        let site = Site::new(&db);
        let id = site.make("x", json!({ "enabled": false, "apiKey": "k" })).await;
        let (status, answer) = site.ask("POST", &format!("/{id}/test"), None).await;
        assert_eq!(status, 201);
        assert_eq!(answer["capabilities"]["supportedParams"], json!(["q"]));
        assert!(answer.get("error").is_none());
        assert_eq!((&answer["indexer"]["status"], &answer["indexer"]["health"]["state"]), (&json!("ok"), &json!("ok")));
        site.house.protocols.fail("x", Some(IndexerError::Captcha("it wants to see a person".into())));
        let (status, answer) = site.ask("POST", &format!("/{id}/test"), None).await;
        let text = "Indexer \"x\" request failed: it wants to see a person";
        assert_eq!((status, &answer["capabilities"], &answer["error"]), (201, &Value::Null, &json!(text)));
        let indexer = &answer["indexer"];
        assert_eq!((&indexer["status"], &indexer["statusMessage"]), (&json!("error"), &json!(text)));
        assert_eq!(indexer["capabilities"]["supportedParams"], json!(["q"]), "kept");
        assert_eq!(indexer["health"]["consecutiveFailures"], 1);
        let audited = site.house.audited().await;
        assert!(audited.iter().any(|line| line.starts_with("indexer.test success")), "{audited:?}");
        assert!(audited.iter().any(|line| line.starts_with("indexer.test failure") && line.contains("a person")), "{audited:?}");
        // Another URL resets test result and health.
        let (_, changed) = site.ask("PATCH", &format!("/{id}"), Some(json!({ "baseUrl": "http://y" }))).await;
        assert_eq!((&changed["status"], &changed["capabilities"]), (&json!("unknown"), &Value::Null));
        assert_eq!(changed["health"]["state"], "unknown");
    }

    async fn a_key_stays_with_the_origin_it_was_entered_for(db: Db) {
        let site = Site::new(&db);
        let id = site.make("x", json!({ "implementation": "special", "apiKey": "k-secret", "config": { "user": "jo", "pin": "1234" } })).await;
        let path = format!("/{id}");
        let (_, kept) = site.ask("PATCH", &path, Some(json!({ "baseUrl": "HTTP://X.:80/deeper", "name": "other" }))).await;
        assert_eq!((&kept["apiKey"], &kept["secretsWanted"]), (&json!(MASK), &Value::Null));
        site.house.protocols.asked();
        for (url, sent) in [
            ("http://x:8080/", json!({})),
            ("https://x/", json!({ "apiKey": MASK, "config": { "pin": MASK } })),
            ("http://evil/", json!({ "apiKey": "" })),
        ] {
            site.ask("PATCH", &path, Some(json!({ "baseUrl": "http://x", "apiKey": "k-secret", "config": { "pin": "1234" } }))).await;
            let mut body = sent.as_object().unwrap().clone();
            body.insert("baseUrl".into(), url.into());
            let (status, moved) = site.ask("PATCH", &path, Some(body.into())).await;
            assert_eq!(status, 200, "{moved}");
            assert_eq!((&moved["apiKey"], &moved["config"], &moved["secretsWanted"]),
                (&json!(""), &json!({ "user": "jo" }), &json!(["apiKey", "pin"])), "{url}");
            let (_, tested) = site.ask("POST", &format!("{path}/test"), None).await;
            assert!(tested["error"].as_str().unwrap().contains("enter `apiKey`, `pin` again"), "{tested}");
            let (_, found) = site.ask("POST", "/search", Some(json!({ "q": "x" }))).await;
            assert_eq!(found["failed"], 1, "{found}");
        }
        assert!(site.house.protocols.asked().is_empty(), "nobody was asked without its key");
        // A secret sent anew goes to the new address; a removed one is no longer requested.
        let anew = json!({ "apiKey": "k-new", "config": { "pin": null } });
        let (_, whole) = site.ask("PATCH", &path, Some(anew)).await;
        assert_eq!((&whole["apiKey"], &whole["secretsWanted"]), (&json!(MASK), &Value::Null));
        site.ask("POST", &format!("{path}/test"), None).await;
        let (asked, _) = site.house.protocols.asked().remove(0);
        assert_eq!((&asked["baseUrl"], &asked["apiKey"], asked.get("pin"), asked.get("$secretsWanted")),
            (&json!("http://evil"), &json!("k-new"), None, None));
    }

    async fn a_link_never_holds_the_key(db: Db) {
        let site = Site::new(&db);
        let id = site.make("x", json!({ "apiKey": "k/secret" })).await;
        let link = |url: &str| Release { download_url: Some(url.to_owned()), ..release(url, Some(9)) };
        let listed = ["http://x/dl?apikey=k%2Fsecret&id=1", "http://cdn.test/k/secret/2", "http://x/dl?id=3", "magnet:?xt=urn:btih:aa"];
        site.house.protocols.has("x", listed.map(link).to_vec());
        let (_, one) = site.ask("GET", &format!("/{id}/search?q=x"), None).await;
        let (_, all) = site.ask("POST", "/search", Some(json!({ "q": "x" }))).await;
        for found in [&one, &all["candidates"]] {
            let text = found.to_string();
            assert!(!text.contains("k/secret") && !text.contains("k%2Fsecret"), "{text}");
            let links: Vec<_> = found.as_array().unwrap().iter().filter_map(|one| one["downloadUrl"].as_str()).collect();
            assert_eq!(links.len(), 4, "{text}");
            for whole in ["http://x/dl?id=3", "magnet:?xt=urn:btih:aa"] {
                assert!(links.contains(&whole), "{text}");
            }
            for origin in ["http://x/~sealed-link~", "http://cdn.test/~sealed-link~"] {
                assert!(links.iter().any(|link| link.starts_with(origin)), "{text}");
            }
        }
    }

    async fn one_indexer_is_asked_as_it_is(db: Db) {
        let site = Site::new(&db);
        let id = site.make("x", json!({ "minSeeders": 5 })).await;
        let listed = vec![release("Few S01E01", Some(1)), release("", None), release("Few S01E01", Some(1))];
        site.house.protocols.has("x", listed);
        let (status, found) = site.ask("GET", &format!("/{id}/search?q=Few&season=1&ep="), None).await;
        assert_eq!((status, found.as_array().map(Vec::len)), (200, Some(3)));
        let first = json!({
            "indexerId": id, "indexerName": "x", "title": "Few S01E01", "downloadUrl": null, "infoHash": null,
            "sizeBytes": null, "seeders": 1, "categories": [],
        });
        assert_eq!(found[0], first);
        let (_, query) = site.house.protocols.asked().remove(0);
        let query = query.unwrap();
        assert_eq!((query.term.as_str(), query.season, query.episode), ("Few", Some(1), None));
        assert!(query.tv_search, "never tested");
        assert_eq!(query.categories, [5000, 5030, 5040]);
        for (error, status) in [
            (IndexerError::Unreachable("refused".into()), 502),
            (IndexerError::Timeout("timed out".into()), 504),
            (IndexerError::LoginPage("a login page".into()), 502),
            (IndexerError::Auth("it refused the API key".into()), 400),
        ] {
            let text = format!("Indexer \"x\" request failed: {error}");
            site.house.protocols.fail("x", Some(error));
            let (got, answer) = site.ask("GET", &format!("/{id}/search"), None).await;
            assert_eq!((got, &answer["message"]), (status, &json!(text)));
        }
        site.ask("PATCH", &format!("/{id}"), Some(json!({ "enabled": false }))).await;
        let (status, answer) = site.ask("GET", &format!("/{id}/search"), None).await;
        assert_eq!((status, &answer["message"]), (400, &json!("Indexer is disabled")));
    }

    async fn a_search_asks_all_and_tells_who_could_not_look(db: Db) {
        let site = Site::new(&db);
        let fakes = &site.house.protocols;
        let late = site.make("late", json!({ "priority": 50 })).await;
        let early = site.make("early", json!({ "priority": 10, "minSeeders": 2 })).await;
        let sick = site.make("sick", json!({})).await;
        let off = site.make("off", json!({ "enabled": false })).await;
        fakes.has("early", vec![release("Harbor.Nine.S01E02.1080p", Some(3)), release("Poor S01E03", Some(1)), release("Odd", None)]);
        fakes.has("late", vec![release("Harbor Nine S01E02 720p", Some(90)), release("Late S01E01", Some(9))]);
        fakes.fail("sick", Some(IndexerError::Captcha("it wants to see a person".into())));
        let (status, found) = site.ask("POST", "/search", Some(json!({ "q": "Harbor", "season": 1 }))).await;
        assert_eq!(status, 201, "{found}");
        let seen: Vec<_> = found["candidates"].as_array().unwrap().iter()
            .map(|one| (one["indexerId"].as_str().unwrap(), one["title"].as_str().unwrap())).collect();
        assert_eq!(seen, [(&*late, "Late S01E01"), (&*early, "Harbor.Nine.S01E02.1080p"), (&*early, "Odd")]);
        let failure = json!({
            "indexerId": sick, "name": "sick", "code": "captcha",
            "message": "Indexer \"sick\" request failed: it wants to see a person",
        });
        assert_eq!((&found["queried"], &found["failed"], &found["failures"]), (&json!(3), &json!(1), &json!([failure])));
        // Only the named and enabled ones are asked.
        let body = json!({ "indexerIds": [sick, off, "nobody"] });
        let (_, found) = site.ask("POST", "/search", Some(body)).await;
        assert_eq!((&found["queried"], &found["failed"]), (&json!(1), &json!(1)));
        let wanted = Wanted { indexers: Some(vec![sick]), ..Wanted::default() };
        assert!(site.house.app.search(wanted).await.unwrap().nothing_looked());
    }

    async fn failures_lengthen_a_rest_that_people_may_break(db: Db) {
        let site = Site::new(&db);
        let id = site.make("x", json!({})).await;
        let fakes = &site.house.protocols;
        fakes.fail("x", Some(IndexerError::Unreachable("refused".into())));
        for _ in 0..2 {
            site.ask("POST", "/search", Some(json!({}))).await;
        }
        assert_eq!(fakes.asked().len(), 2);
        let (_, found) = site.ask("POST", "/search", Some(json!({}))).await;
        assert!(found["failures"][0]["message"].as_str().unwrap().contains("rests for 61 s after 2 failures"), "{found}");
        assert_eq!(fakes.asked().len(), 0, "it is left alone");
        let (_, shown) = site.ask("GET", &format!("/{id}"), None).await;
        assert_eq!((&shown["health"]["state"], &shown["health"]["queriesToday"]), (&json!("resting"), &json!(2)));
        assert!(shown["health"]["nextTryAt"].is_string());
        fakes.fail("x", None);
        assert_eq!(site.ask("GET", &format!("/{id}/search"), None).await.0, 200);
        let (_, shown) = site.ask("GET", &format!("/{id}"), None).await;
        assert_eq!((&shown["health"]["state"], &shown["health"]["nextTryAt"]), (&json!("ok"), &Value::Null));
    }

    async fn who_asks_to_be_left_alone_is(db: Db) {
        let site = Site::new(&db);
        let id = site.make("x", json!({})).await;
        let fakes = &site.house.protocols;
        fakes.fail("x", Some(IndexerError::Throttled { seconds: Some(120), message: "too many requests".into() }));
        let (_, found) = site.ask("POST", "/search", Some(json!({}))).await;
        assert_eq!(found["failures"][0]["code"], "throttled");
        fakes.fail("x", None);
        assert_eq!(site.ask("GET", &format!("/{id}/search"), None).await.0, 503);
        assert_eq!(fakes.asked().len(), 1);
        // The pause is over.
        site.house.clock.advance(Duration::from_mins(2));
        assert_eq!(site.ask("GET", &format!("/{id}/search"), None).await.0, 200);
    }

    async fn an_indexer_gets_so_many_requests_a_minute(db: Db) {
        let site = Site::new(&db);
        let id = site.make("x", json!({ "requestsPerMinute": 2 })).await;
        let path = format!("/{id}/search");
        for wanted in [200, 200, 503] {
            assert_eq!(site.ask("GET", &path, None).await.0, wanted);
        }
        let (_, shown) = site.ask("GET", &format!("/{id}"), None).await;
        assert_eq!(shown["health"]["state"], "ok", "it did nothing wrong");
        site.house.clock.advance(Duration::from_mins(1));
        assert_eq!(site.ask("GET", &path, None).await.0, 200);
    }

    async fn a_release_is_fetched_by_who_owns_its_link(db: Db) {
        let site = Site::new(&db);
        let id = site.make("x:9696", json!({})).await;
        let app = &site.house.app;
        let fetch = async |link: &str| app.fetch(link, Some(&id)).await;
        assert_eq!(fetch("magnet:?xt=1").await, Ok(Fetched::Magnet("magnet:?xt=1".into())));
        assert_eq!(fetch("http://x:9696/1/file").await, Ok(Fetched::Torrent(b"d4:infoe".to_vec())));
        assert_eq!(fetch("http://x:9696/magnet").await, Ok(Fetched::Magnet("magnet:?xt=urn:btih:aa".into())));
        assert_eq!(site.house.protocols.asked().len(), 2);
        let (_, shown) = site.ask("GET", &format!("/{id}"), None).await;
        assert_eq!(shown["health"]["grabsToday"], 2);
        // Other origins go through the URL guard: another port is another origin.
        for link in ["http://x:9696/elsewhere", "http://127.0.0.1:1/file", "ftp://x:9696/file"] {
            let error = fetch(link).await.unwrap_err();
            assert!(error.code.starts_with("bad_request.url"), "{link}: {error:?}");
        }
    }
}
