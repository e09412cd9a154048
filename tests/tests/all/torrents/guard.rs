//! The guard of torrent URLs, through the API: whatever spelling an internal address comes in, not a byte is sent.

use std::collections::HashMap;

use qm_test_base::engine::FakeKinds;
use qm_testkit::files::{self, FileServer};
use qm_testkit::sample::{Format, Sample};
use qm_testkit::{Api, TestDb, TestServer, both_databases};
use serde_json::{Value, json};

const BLOCKED: &str = "Torrent URL resolves to a blocked internal address";

async fn refusal(api: &Api, url: &str) -> String {
    let reply = api
        .send("POST", "/api/torrents", Some(&json!({ "url": url })))
        .await;
    assert_eq!(reply.status, 400, "{url}: {}", reply.text());
    let body = reply.json();
    assert_eq!(
        (&body["statusCode"], &body["error"]),
        (&json!(400), &json!("Bad Request")),
        "{body}"
    );
    match &body["message"] {
        Value::String(message) => message.clone(),
        other => panic!("{url}: {other}"),
    }
}

async fn engine_and_api(db: &TestDb, allowed: &str) -> (TestServer, Api) {
    let server = TestServer::builder(db)
        .kinds(FakeKinds::first_party())
        .env("SSRF_ALLOW_HOSTS", allowed)
        .start()
        .await;
    let api = server.admin();
    api.add_engine("fake", "scgi_client", json!({ "host": "one" }))
        .await;
    (server, api)
}

both_databases! {
    async fn internal_addresses_are_refused_in_every_spelling(db: &TestDb) {
        let (_server, api) = engine_and_api(db, "").await;
        let web = FileServer::start(HashMap::new()).await;
        let port = web.port();
        for host in [
            "127.0.0.1", "localhost", "LOCALHOST", "2130706433", "0x7f000001", "0x7f.0.0.1", "0177.0.0.1", "017700000001",
            "127.1", "127.0.1", "0", "0.0.0.0", "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:ffff:7f00:0001]",
            "[64:ff9b::7f00:1]", "[64:ff9b::127.0.0.1]", "[::127.0.0.1]", "[2002:7f00:1::]", "127.0.0.2", "10.0.0.1", "172.16.0.1", "172.31.255.255",
            "192.168.1.1", "169.254.169.254", "100.64.0.1", "192.0.0.1", "224.0.0.1", "255.255.255.255", "[fe80::1]", "[fc00::1]", "[fd00::1]",
            "[ff02::1]", "user:password@127.0.0.1", "example.org@127.0.0.1", "%31%32%37.0.0.1", "①②⑦.0.0.1",
        ] {
            let message = refusal(&api, &format!("http://{host}:{port}/x.torrent")).await;
            assert!(message.starts_with(BLOCKED) && message.contains("SSRF_ALLOW_HOSTS"), "{host}: {message}");
        }
        assert_eq!(web.connections(), 0, "not a byte was sent");
    }

    async fn what_is_no_url_is_refused(db: &TestDb) {
        let (_server, api) = engine_and_api(db, "").await;
        for (url, wanted) in [
            ("not a url", "Invalid torrent URL"),
            ("http://", "Invalid torrent URL"),
            ("http://[fe80::1%25eth0]/x", "Invalid torrent URL"),
            ("http://127.0.0.1:99999/x", "Invalid torrent URL"),
            ("ftp://example.org/x", "Only http(s) torrent URLs are allowed"),
            ("file:///etc/passwd", "Only http(s) torrent URLs are allowed"),
            ("gopher://127.0.0.1/x", "Only http(s) torrent URLs are allowed"),
            ("http://no-such-host.invalid/x", "Could not resolve torrent URL host"),
        ] {
            let message = refusal(&api, url).await;
            assert!(message.starts_with(wanted), "{url}: {message}");
        }
    }

    async fn an_allowed_host_is_fetched_and_its_answers_are_checked(db: &TestDb) {
        let (_server, api) = engine_and_api(db, "127.0.0.1").await;
        let sample = Sample::new("guard.bin", 100_000, 31, Format::V1, "http://tracker.example/announce");
        let internal = FileServer::start(HashMap::from([("/".to_owned(), files::ok(&sample.metainfo))])).await;
        let oversized = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", 20 * 1024 * 1024 + 1);
        let endless = [b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n".to_vec(), vec![b'd'; 20 * 1024 * 1024 + 1]].concat();
        let web = FileServer::start(HashMap::from([
            ("/good".to_owned(), files::ok(&sample.metainfo)),
            ("/html".to_owned(), files::ok(b"<!doctype html>")),
            ("/moved".to_owned(), files::redirect(&internal.url("/"))),
            ("/announced".to_owned(), oversized.into_bytes()),
            ("/endless".to_owned(), endless),
            ("/half".to_owned(), b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nd4:info".to_vec()),
            ("/noise".to_owned(), b"\0\x01\x02 no http".to_vec()),
        ]))
        .await;
        for (path, wanted) in [
            ("/html", "Invalid .torrent file"),
            ("/missing", "Failed to fetch torrent URL: 404"),
            ("/announced", "Torrent file is too large"),
            ("/endless", "Torrent file is too large"),
            ("/half", "Could not fetch torrent URL"),
            ("/noise", "Could not fetch torrent URL"),
        ] {
            let message = refusal(&api, &web.url(path)).await;
            assert!(message.starts_with(wanted), "{path}: {message}");
        }
        // A redirect is refused, whether as a failed fetch or as a status that is none of 2xx.
        let message = refusal(&api, &web.url("/moved")).await;
        assert!(message.contains("fetch torrent URL"), "{message}");
        assert_eq!(internal.connections(), 0, "the redirect was not followed");
        let added = api.post("/api/torrents", json!({ "url": web.url("/good") })).await;
        assert_eq!(added, json!({ "hash": sample.hash }));
    }

    async fn the_allow_list_matches_names_and_ranges_and_nothing_more(db: &TestDb) {
        let (_server, api) = engine_and_api(db, "127.0.0.2, 127.0.0.8/29").await;
        for allowed in ["127.0.0.2", "127.0.0.9", "127.0.0.15"] {
            let message = refusal(&api, &format!("http://{allowed}:9/")).await;
            assert!(message.starts_with("Could not fetch torrent URL"), "{allowed}: {message}");
        }
        for blocked in ["127.0.0.1", "127.0.0.3", "127.0.0.16", "localhost", "[::ffff:127.0.0.3]"] {
            assert!(refusal(&api, &format!("http://{blocked}:9/")).await.starts_with(BLOCKED), "{blocked}");
        }
    }
}
