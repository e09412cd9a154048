//! Bad input, everywhere: whatever is malformed is answered in the contract's shape, and the server goes on.

use qm_kernel::Role;
use qm_test_base::engine::{FakeKinds, torrent};
use qm_testkit::http::Reply;
use qm_testkit::{Api, TestDb, TestServer, both_databases};
use serde_json::{Value, json};

async fn start(db: &TestDb) -> (TestServer, Api, String) {
    TestServer::builder(db).start_with_a_torrent().await
}

/// The error body of a reply, checked for the shape every error has.
fn error(reply: &Reply, status: u16) -> Value {
    let body = reply.json();
    assert_eq!(
        (reply.status, &body["statusCode"]),
        (status, &json!(status)),
        "{body}"
    );
    assert!(
        body["message"].is_string() || body["message"].is_array(),
        "{body}"
    );
    assert_eq!(
        reply.header("content-type"),
        Some("application/json; charset=utf-8"),
        "{body}"
    );
    assert!(is_code(&body["code"]), "{body}");
    body
}

/// Words in snake case, the first of them the status, those after a dot the thing.
fn is_code(code: &Value) -> bool {
    code.as_str().is_some_and(|code| {
        !code.is_empty()
            && code.split('.').all(|part| !part.is_empty())
            && code
                .chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "_.".contains(c))
    })
}

fn messages(body: &Value) -> Vec<&str> {
    body["message"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

both_databases! {
    async fn bodies_that_break_rules_list_every_rule(db: &TestDb) {
        let (_server, api, _) = start(db).await;
        let hash = torrent(1).hash;
        let limits = format!("/api/torrents/{hash}/limits/upload");
        let priority = format!("/api/torrents/{hash}/files/priority");
        let move_to = format!("/api/torrents/{hash}/move");
        let rename = format!("/api/torrents/{hash}/rename");
        let cases: Vec<(&str, Value, Vec<&str>)> = vec![
            ("/api/auth/login", json!({}), vec!["username must be a string", "password must be a string"]),
            ("/api/auth/login", json!({ "username": "x", "password": "y", "extra": 1 }), vec!["property extra should not exist"]),
            ("/api/auth/login", json!({ "username": "a".repeat(121), "password": "y" }), vec!["username must be shorter than or equal to 120 characters"]),
            ("/api/auth/refresh", json!({ "refreshToken": [] }), vec!["refreshToken must be a string"]),
            ("/api/engines", json!({ "name": "x", "kind": "nope", "config": {} }),
             vec!["kind must be one of the following values: scgi_client, webapi_client, transmission, deluge"]),
            ("/api/engines", json!({ "name": "x", "kind": "scgi_client", "config": 7 }), vec!["config must be an object"]),
            ("/api/engines", json!({ "name": "n".repeat(121), "kind": "scgi_client", "config": {}, "isDefault": "perhaps" }),
             vec!["name must be shorter than or equal to 120 characters", "isDefault must be a boolean value"]),
            (&limits, json!({ "bytesPerSec": -1 }), vec!["bytesPerSec must not be less than 0"]),
            (&limits, json!({ "bytesPerSec": 1.5 }), vec!["bytesPerSec must be an integer number"]),
            (&limits, json!({}), vec!["bytesPerSec must be an integer number"]),
            (&priority, json!({ "fileIndex": "x", "priority": 3 }),
             vec!["fileIndex must be an integer number", "priority must be one of the following values: 0, 1, 2"]),
            (&move_to, json!({}), vec!["destination must be a string"]),
            (&rename, json!({ "name": "" }), vec!["name must be longer than or equal to 1 characters"]),
            ("/api/torrents/bulk", json!({ "hashes": "x", "action": "start" }), vec!["hashes must be an array"]),
            ("/api/torrents/bulk", json!({ "hashes": [1, {}], "action": "start" }), vec!["each value in hashes must be a string"]),
        ];
        for (path, body, wanted) in cases {
            let reply = api.send("POST", path, Some(&body)).await;
            let body = error(&reply, 400);
            assert_eq!(body["error"], json!("Bad Request"));
            for rule in wanted {
                assert!(messages(&body).contains(&rule), "{path}: {rule} is not in {body}");
            }
        }
    }

    async fn bodies_that_are_no_json_are_refused(db: &TestDb) {
        let (_server, api, _) = start(db).await;
        for (content_type, body, status) in [
            ("application/json", &b"{"[..], 400),
            ("application/json", b"[]", 400),
            ("application/json", b"\"text\"", 400),
            ("application/json", b"\xff\xfe", 400),
            ("application/json", b"{\"a\":1}{\"b\":2}", 400),
            ("application/json", b"{\"name\":\"\\ud800\"}", 400),
            ("application/json", b"", 400),
            ("text/plain", b"hello", 415),
            ("text/plain", b"{\"name\":\"x\"}", 415),
            ("application/xml", b"<a/>", 415),
        ] {
            let reply = api.request("POST", "/api/engines").body(content_type, body.to_vec()).send().await.expect("an answer");
            let reason = if status == 400 { "Bad Request" } else { "Unsupported Media Type" };
            assert_eq!(error(&reply, status)["error"], json!(reason));
        }
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        let reply = api.request("POST", "/api/engines").body("application/json", deep).send().await.expect("an answer");
        error(&reply, 400);
        let big = format!("{{\"name\":\"{}\"}}", "x".repeat(26 * 1024 * 1024));
        let reply = api.request("POST", "/api/engines").body("application/json", big).send().await.expect("an answer");
        assert_eq!(error(&reply, 413)["message"], json!("The uploaded file is too large for this endpoint."));
    }

    async fn torrents_that_are_none_are_refused(db: &TestDb) {
        let (_server, api, _) = start(db).await;
        let add = async |body: Value| error(&api.send("POST", "/api/torrents", Some(&body)).await, 400)["message"].clone();
        assert_eq!(add(json!({})).await, json!("No torrent source provided"));
        let magnets = [
            (" ", "empty"), ("http://example.org/a.torrent", "URL"), ("magnet:?xt=urn:btih:abc", "40 hex"), ("magnet:?dn=x", "no info-hash"),
            ("magnet:?xt=urn:btih:c12fe1c06bba254a9dc9f519b335aa7c1367a88a\nhttp://10.0.0.1/", "control characters"),
        ];
        for (magnet, wanted) in magnets {
            let message = add(json!({ "magnet": magnet })).await;
            assert!(message.as_str().is_some_and(|text| text.contains(wanted)), "{magnet:?}: {message}");
        }
        let good = format!("magnet:?xt=urn:btih:{}", "a".repeat(40));
        for (path, status) in [("/tmp/a\"b", 400), ("/tmp/a\nb", 400), (" ", 400), ("/etc", 403), ("/", 403), ("/tmp/../etc/cron.d", 403), ("/elsewhere/x", 403)] {
            let body = json!({ "magnet": good, "savePath": path });
            error(&api.send("POST", "/api/torrents", Some(&body)).await, status);
        }
        assert_eq!(add(json!({ "magnet": good, "category": "a\"b" })).await, json!("Invalid category: illegal characters"));
        let upload = async |files: &[(&str, &str, &[u8])], status: u16| {
            let request = api.request("POST", "/api/torrents/upload").multipart(&[], files);
            error(&request.send().await.expect("an answer"), status)["message"].clone()
        };
        assert_eq!(upload(&[], 400).await, json!("A torrent file is required"));
        assert_eq!(upload(&[("other", "a.torrent", b"d4:infodee")], 400).await, json!("Unexpected field"));
        for noise in [&b""[..], b"<html>", b"d4:infoi1ee", b"d4:infode", b"d4:infodeetrailing", b"d4:infod4:name1:aee"] {
            let message = upload(&[("file", "a.torrent", noise)], 400).await;
            assert!(message.as_str().is_some_and(|text| text.starts_with("Invalid .torrent file")), "{message}");
        }
        let huge = vec![b'd'; 20 * 1024 * 1024 + 1];
        assert_eq!(upload(&[("file", "a.torrent", &huge)], 413).await, json!("File too large"));
    }

    async fn what_is_not_there_is_a_404(db: &TestDb) {
        let (server, api, engine) = start(db).await;
        let unknown = "f".repeat(40);
        for (method, path) in [
            ("GET", format!("/api/torrents/{unknown}")),
            ("GET", format!("/api/torrents/{unknown}/files")),
            ("GET", format!("/api/torrents/{unknown}/peers")),
            ("GET", format!("/api/torrents/{unknown}/trackers")),
            ("POST", format!("/api/torrents/{unknown}/start")),
            ("DELETE", format!("/api/torrents/{unknown}")),
            ("DELETE", format!("/api/torrents/{unknown}/data")),
            ("GET", "/api/torrents/not-a-hash".to_owned()),
        ] {
            let body = error(&api.send(method, &path, None).await, 404);
            assert_eq!(body["message"], json!("Torrent not found"), "{method} {path}");
        }
        let missing = "00000000-0000-4000-8000-000000000000";
        for (method, path) in [("GET", "/api/torrents"), ("GET", "/api/engines/health")] {
            let body = error(&api.send(method, &format!("{path}?engineId={missing}"), None).await, 404);
            assert_eq!(body["message"], json!(format!("Engine {missing} is not available")));
        }
        let body = error(&api.send("PATCH", &format!("/api/engines/{missing}"), Some(&json!({ "name": "x" }))).await, 404);
        assert_eq!(body["message"], json!("Engine not found"));
        error(&api.send("DELETE", &format!("/api/engines/{missing}"), None).await, 404);
        error(&api.send("POST", "/api/plugins/none/reload", None).await, 404);
        let body = error(&server.anonymous().send("GET", "/api/nope?x=1", None).await, 404);
        assert_eq!(body, json!({ "message": "Cannot GET /api/nope", "error": "Not Found", "statusCode": 404, "code": "not_found" }));
        let body = error(&api.send("PUT", "/api/torrents", None).await, 405);
        assert_eq!(body["message"], json!("Cannot PUT /api/torrents"));
        api.delete(&format!("/api/engines/{engine}")).await;
        let body = error(&api.send("GET", "/api/torrents", None).await, 404);
        assert_eq!(body["message"], json!("No torrent engine is configured"));
    }

    async fn checks_come_in_order(db: &TestDb) {
        let (server, api, _) = start(db).await;
        let bad = json!({ "nonsense": true });
        let anonymous = server.anonymous().send("POST", "/api/engines", Some(&bad)).await;
        error(&anonymous, 401);
        error(&server.user(Role::ReadOnly).send("POST", "/api/engines", Some(&bad)).await, 403);
        error(&api.send("POST", "/api/engines", Some(&bad)).await, 400);
    }

    async fn a_throttled_caller_is_told_so_before_anything_else(db: &TestDb) {
        let server = TestServer::builder(db).kinds(FakeKinds::first_party()).env("THROTTLE_LIMIT", "3").start().await;
        let anonymous = server.anonymous();
        for left in ["2", "1", "0"] {
            let reply = anonymous.send("GET", "/api/engines", None).await;
            assert_eq!((reply.status, reply.header("x-ratelimit-remaining")), (401, Some(left)));
        }
        for _ in 0..2 {
            let reply = anonymous.send("GET", "/api/engines", None).await;
            let body = json!({ "statusCode": 429, "message": "ThrottlerException: Too Many Requests", "code": "throttled" });
            assert_eq!((reply.status, reply.json()), (429, body));
            assert!(reply.header("retry-after").is_some_and(|seconds| seconds.parse::<u32>().is_ok()));
        }
        assert_eq!(anonymous.send("GET", "/api/system/live", None).await.status, 200, "each route has its own budget");
        for attempt in 1..=6 {
            let login = json!({ "username": "nobody", "password": "x" });
            let reply = anonymous.send("POST", "/api/auth/login", Some(&login)).await;
            assert_eq!(reply.status, if attempt <= 5 { 401 } else { 429 }, "attempt {attempt}");
        }
    }

    async fn hostile_requests_do_no_harm(db: &TestDb) {
        let (server, api, _) = start(db).await;
        for path in ["/api/torrents/%00", "/api/torrents/%ff", "/api/torrents/..%2f..%2fetc", "/api/../etc/passwd", "/api/torrents/a%0d%0ab", "//api/torrents"] {
            let reply = api.send("GET", path, None).await;
            assert!((400..500).contains(&reply.status), "{path}: {}", reply.text());
        }
        for query in ["page=-1", "page=9999999999999999999", "pageSize=0", "pageSize=x", "sortDir=up", "search=%00", "state=", "search=%ff"] {
            let reply = api.send("GET", &format!("/api/torrents?{query}"), None).await;
            assert_eq!(reply.status, 200, "{query}: {}", reply.text());
        }
        for (path, message) in [
            ("torrents?sortBy=__proto__", "sortBy must be one of the following values: hash, name, state, "),
            ("torrents?state=nope", "state must be one of the following values: downloading, seeding, "),
            ("torrents?colour=red", "property colour should not exist"),
            ("torrents?state=seeding&state=paused", "property state should not be given twice"),
            ("search?q=x&limit=many", "limit must be an integer number"),
            ("files?limit=-1", "limit must not be less than 0"),
            ("files?offset=-1", "offset must not be less than 0"),
            ("audit?user=x", "property user should not exist"),
        ] {
            let body = error(&api.send("GET", &format!("/api/{path}"), None).await, 400);
            assert!(messages(&body).iter().any(|text| text.starts_with(message)), "{path}: {body}");
        }
        let page = api.get("/api/torrents?page=0&pageSize=501").await;
        assert_eq!((&page["page"], &page["pageSize"]), (&json!(1), &json!(500)));
        assert_eq!(server.anonymous().send("GET", "/api/system/live", None).await.status, 200);
    }
}
