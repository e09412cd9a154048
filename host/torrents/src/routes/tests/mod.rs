//! The routes as a client sees them: statuses, bodies, headers, permissions.

mod audit;
mod dashboard;
mod engines;

use std::sync::Arc;

use async_trait::async_trait;
use axum::Router;
use axum::body::Body;
use axum::http::{Request, Response, StatusCode, header};
use http_body_util::BodyExt;
use qm_db::{Db, db_test, sql};
use qm_kernel::{Ctx, Timestamp};
use qm_ports::engine::{EngineError, Torrent};
use qm_ports::intake::{IntakeKind, IntakeTeller, IntakeUntold, TakenFor};
use qm_test_base::RoleTokens;
use qm_test_base::blank::{hash, torrent};
use qm_web::{Docs, WebConfig};
use serde_json::{Value, json};
use tower::ServiceExt;

use super::routes;
use crate::testing::{House, eventually};

/// An area that grabbed the third torrent, unless it cannot say so.
#[derive(Default)]
struct Shelf {
    fails: bool,
}

#[async_trait]
impl IntakeTeller for Shelf {
    async fn tell_intake(&self, _: &str, asked: &str) -> Result<Option<TakenFor>, IntakeUntold> {
        if self.fails {
            return Err(IntakeUntold("the table is gone".into()));
        }
        Ok((asked == &*hash(3)).then(|| TakenFor {
            source: "media_acquisition",
            kind: IntakeKind::Episode,
            title: "Orchard Lane".into(),
            year: Some(2024),
            season: Some(2),
            episode: Some(7),
            watchlist_item_id: Some("w".into()),
            wanted_id: None,
            evaluation_id: Some("v".into()),
            release_title: None,
            grabbed_at: Timestamp::from_secs(1_900_000_000),
        }))
    }
}

struct Site {
    house: House,
    router: Router,
}

struct Answer {
    status: u16,
    headers: axum::http::HeaderMap,
    body: Value,
}

impl Site {
    /// One engine with three torrents.
    async fn new(db: &Db) -> Self {
        let house = House::new(db, &["fake"]).await;
        let client = house.kinds.engine("a");
        (1..=3).for_each(|n| {
            client.put(Torrent {
                size: u64::from(n),
                ..torrent(n)
            });
        });
        let site = Self::over(house);
        let engine = json!({ "name": "seedbox", "kind": "fake", "config": { "host": "a" } });
        assert_eq!(
            site.ask("ADMINISTRATOR", "POST", "/api/engines", Some(engine))
                .await
                .status,
            201
        );
        site
    }

    fn over(house: House) -> Self {
        let config = WebConfig {
            throttle_limit: 0,
            docs: Docs::Hidden,
            ..WebConfig::default()
        };
        let state = routes().with_state(house.torrents.clone());
        let router = qm_web::finish(state, config, Arc::new(RoleTokens), Ctx::system());
        Self { house, router }
    }

    async fn ask(&self, role: &str, method: &str, path: &str, body: Option<Value>) -> Answer {
        let mut request = Request::builder().method(method).uri(path);
        if !role.is_empty() {
            request = request.header(header::AUTHORIZATION, format!("Bearer {role}"));
        }
        let body = match body {
            Some(body) => {
                request = request.header(header::CONTENT_TYPE, "application/json");
                Body::from(body.to_string())
            }
            None => Body::empty(),
        };
        self.send(request.body(body).unwrap()).await
    }

    async fn upload(&self, parts: &[(&str, Option<&str>, &[u8])]) -> Answer {
        let mut body = Vec::new();
        for (name, file, bytes) in parts {
            let file = file
                .map(|name| format!("; filename=\"{name}\""))
                .unwrap_or_default();
            body.extend_from_slice(
                format!("--B\r\nContent-Disposition: form-data; name=\"{name}\"{file}\r\n\r\n").as_bytes(),
            );
            body.extend_from_slice(bytes);
            body.extend_from_slice(b"\r\n");
        }
        body.extend_from_slice(b"--B--\r\n");
        let request = Request::post("/api/torrents/upload")
            .header(header::AUTHORIZATION, "Bearer USER")
            .header(header::CONTENT_TYPE, "multipart/form-data; boundary=B");
        self.send(request.body(Body::from(body)).unwrap()).await
    }

    async fn send(&self, request: Request<Body>) -> Answer {
        let response: Response<Body> = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        let body = if bytes.is_empty() {
            Value::Null
        } else {
            serde_json::from_slice(&bytes).unwrap()
        };
        Answer {
            status: parts.status.as_u16(),
            headers: parts.headers,
            body,
        }
    }
}

db_test! {
    async fn lists_are_paged_sorted_tagged_and_dated(db: Db) {
        let site = Site::new(&db).await;
        let path = "/api/torrents?sortBy=size&sortDir=asc&pageSize=2&page=0";
        let answer = site.ask("READ_ONLY", "GET", path, None).await;
        assert_eq!(answer.status, 200);
        assert_eq!((&answer.body["total"], &answer.body["page"], &answer.body["pageSize"]), (&json!(3), &json!(1), &json!(2)));
        assert_eq!(answer.body["items"][1]["hash"], *hash(2));
        assert_eq!(answer.body["items"][0]["parked"], Value::Null);
        assert!(answer.headers["x-snapshot-at"].to_str().unwrap().ends_with('Z'));
        let tag = answer.headers[header::ETAG].clone();
        let again = Request::get(path).header(header::AUTHORIZATION, "Bearer USER").header(header::IF_NONE_MATCH, tag);
        assert_eq!(site.send(again.body(Body::empty()).unwrap()).await.status, 304);
        let all = site.ask("USER", "GET", "/api/torrents?engineId=all&search=TORRENT%203", None).await;
        assert_eq!((&all.body["total"], &all.body["items"][0]["hash"]), (&json!(1), &json!(*hash(3))));
        let one = site.ask("USER", "GET", &format!("/api/torrents/{}", hash(3).to_uppercase()), None).await;
        assert_eq!((one.status, &one.body["size"]), (200, &json!(3)));
        let listed = site.ask("USER", "GET", &format!("/api/torrents?search={}", hash(3)), None).await;
        assert_eq!(one.body, listed.body["items"][0], "alone it is as it is in a list");
        let rule = site.ask("USER", "GET", &format!("/api/torrents/{}/matched-rule", hash(3)), None).await;
        assert_eq!((rule.status, rule.body), (200, Value::Null));
        site.house.torrents.shutdown().await;
    }

    async fn a_torrent_alone_says_what_it_was_grabbed_for(db: Db) {
        let site = Site::new(&db).await;
        let path = format!("/api/torrents/{}", hash(3));
        let plain = site.ask("READ_ONLY", "GET", &path, None).await;
        assert_eq!((plain.status, &plain.body["intake"]), (200, &Value::Null), "nobody grabs here");
        let shelf = Arc::new(Shelf::default());
        site.house.torrents.tellers.add(&shelf);
        let asked = site.ask("READ_ONLY", "GET", &path, None).await;
        assert_eq!((&asked.body["intake"]["kind"], &asked.body["intake"]["title"]), (&json!("episode"), &json!("Orchard Lane")));
        assert_eq!((&asked.body["intake"]["season"], &asked.body["intake"]["evaluationId"]), (&json!(2), &json!("v")));
        assert_ne!(asked.headers[header::ETAG], plain.headers[header::ETAG]);
        let others = site.ask("READ_ONLY", "GET", &format!("/api/torrents/{}", hash(1)), None).await;
        assert_eq!((others.status, &others.body["intake"]), (200, &Value::Null));
        let listed = site.ask("READ_ONLY", "GET", "/api/torrents", None).await;
        assert!(listed.body["items"].as_array().unwrap().iter().all(|item| item["intake"].is_null()));
        // Another area that knows it as well comes second, and one that cannot say fails nothing.
        let second = Arc::new(Shelf { fails: true });
        site.house.torrents.tellers.add(&second);
        assert_eq!(site.ask("READ_ONLY", "GET", &path, None).await.body, asked.body);
        drop(shelf);
        assert_eq!(site.ask("READ_ONLY", "GET", &path, None).await.body, plain.body);
        site.house.torrents.shutdown().await;
    }

    async fn conditions_filter_the_list(db: Db) {
        let site = Site::new(&db).await;
        let path = |filter: Value, more: &str| {
            let filter: String = percent_encoding::utf8_percent_encode(&filter.to_string(), percent_encoding::NON_ALPHANUMERIC).collect();
            format!("/api/torrents?sortBy=size&sortDir=asc{more}&filter={filter}")
        };
        let large = json!([{ "field": "size", "op": "gte", "value": "2" }]);
        for more in ["", "&engineId=all"] {
            let answer = site.ask("READ_ONLY", "GET", &path(large.clone(), more), None).await;
            assert_eq!((answer.status, &answer.body["total"]), (200, &json!(2)), "{}", answer.body);
            assert_eq!(answer.body["items"][0]["hash"], *hash(2));
        }
        let both = json!([{ "field": "size", "op": "gte", "value": 2 }, { "field": "name", "op": "matches", "value": "T 3$" }]);
        assert_eq!(site.ask("USER", "GET", &path(both.clone(), "&search=torrent"), None).await.body["total"], 1);
        assert_eq!(site.ask("USER", "GET", &path(both, "&search=torrent%202"), None).await.body["total"], 0);
        assert_eq!(site.ask("USER", "GET", &path(json!([]), ""), None).await.body["total"], 3);
        let either = json!([{ "any": [{ "field": "size", "op": "lt", "value": 2 }, { "field": "name", "op": "matches", "value": "T 3$" }] }]);
        for filter in [either.clone(), either[0].clone(), json!([{ "all": either }])] {
            let answer = site.ask("USER", "GET", &path(filter, ""), None).await;
            let sizes: Vec<&Value> = answer.body["items"].as_array().unwrap().iter().map(|item| &item["size"]).collect();
            assert_eq!((answer.status, sizes), (200, vec![&json!(1), &json!(3)]), "{}", answer.body);
        }
        for (filter, message) in [
            (json!([{ "field": "size", "op": "gte", "value": 2 }, { "field": "colour", "op": "eq", "value": 1 }]),
                "filter[1] field \"colour\" is no field of a torrent"),
            (json!([{ "field": "name", "op": "matches", "value": "a(" }]),
                "filter[0] value: its pattern is no regular expression: its parts do not fit together, or are nested too deeply"),
            (json!([{ "any": [{ "field": "size", "op": "gte", "value": 2 }, { "all": [{ "field": "colour", "op": "eq", "value": 1 }] }] }]),
                "filter[0].any[1].all[0] field \"colour\" is no field of a torrent"),
            (json!({ "field": "name" }), "filter must be a JSON array of conditions like {\"field\":\"ratio\",\"op\":\"gte\",\"value\":2}"),
            (json!(vec![json!({ "field": "size", "op": "eq", "value": 1 }); 21]), "filter has 21 conditions; 20 is the most"),
        ] {
            let answer = site.ask("USER", "GET", &path(filter, ""), None).await;
            assert_eq!((answer.status, &answer.body["message"]), (400, &json!([message])));
        }
        site.house.torrents.shutdown().await;
    }

    async fn failures_have_their_status_and_words(db: Db) {
        let site = Site::new(&db).await;
        let hash = hash(1);
        for (role, method, path, body, status, message) in [
            ("", "GET", "/api/torrents".to_owned(), None, 401, json!("Unauthorized")),
            ("READ_ONLY", "POST", format!("/api/torrents/{hash}/start"), None, 403, json!("Missing permission(s): torrents.start")),
            ("USER", "GET", "/api/torrents/0123".into(), None, 404, json!("Torrent not found")),
            ("USER", "GET", "/api/torrents?engineId=x".into(), None, 404, json!("Engine x is not available")),
            ("USER", "POST", "/api/torrents".into(), Some(json!({})), 400, json!("No torrent source provided")),
            ("USER", "POST", "/api/torrents".into(), Some(json!({ "magnet": "m", "rename": 1 })), 400, json!(["property rename should not exist"])),
            ("USER", "POST", "/api/torrents".into(), Some(json!({ "magnet": "magnet:?xt=urn:btih:5" })), 400,
                json!("The magnet link's info-hash (urn:btih) must be 40 hex digits or 32 base32 characters.")),
            ("POWER_USER", "POST", format!("/api/torrents/{hash}/move"), Some(json!({ "destination": "/etc" })), 403,
                json!("Path is a protected system directory.")),
            ("POWER_USER", "POST", format!("/api/torrents/{hash}/trackers"), Some(json!({ "url": "wss://t" })), 400,
                json!(["Tracker URL must be http(s) or udp"])),
            ("POWER_USER", "POST", format!("/api/torrents/{hash}/limits/upload"), Some(json!({ "bytesPerSec": -1 })), 400,
                json!(["bytesPerSec must not be less than 0"])),
            ("POWER_USER", "POST", format!("/api/torrents/{hash}/rename"), Some(json!({ "name": "n" })), 400,
                json!("This engine cannot rename torrents")),
            ("ADMINISTRATOR", "POST", "/api/engines".into(), Some(json!({ "name": "n", "kind": "scgi_client", "config": { "port": "x" } })), 400,
                json!(["config.port must be an integer number"])),
            ("ADMINISTRATOR", "POST", "/api/engines".into(), Some(json!({ "name": "n", "kind": "fake", "config": { "port": 5 } })), 400,
                json!(["config.host is required"])),
            ("ADMINISTRATOR", "POST", "/api/engines/test".into(), Some(json!({ "kind": "fake", "config": { "host": [], "nobody": 1 } })), 400,
                json!(["property config.nobody should not exist", "config.host must be a string"])),
            ("ADMINISTRATOR", "PATCH", "/api/engines/x".into(), Some(json!({ "kind": "fake" })), 400, json!(["property kind should not exist"])),
            ("ADMINISTRATOR", "DELETE", "/api/engines/x".into(), None, 404, json!("Engine not found")),
        ] {
            let answer = site.ask(role, method, &path, body).await;
            assert_eq!((answer.status, &answer.body["message"]), (status, &message), "{method} {path}");
            assert_eq!(answer.body["statusCode"], status);
        }
        site.house.torrents.shutdown().await;
    }

    async fn an_engine_that_fails_is_named(db: Db) {
        let site = Site::new(&db).await;
        let path = format!("/api/torrents/{}/pause", hash(1));
        let client = site.house.kinds.engine("a");
        for (error, status, message) in [
            (EngineError::Unreachable("connection refused".into()), 502, "seedbox cannot be reached: connection refused"),
            (EngineError::Timeout("15 s of silence".into()), 504, "seedbox did not answer in time: 15 s of silence"),
            (EngineError::Busy, 503, "seedbox: engine is busy"),
            (EngineError::Unsupported("This engine cannot do it".into()), 400, "This engine cannot do it"),
        ] {
            client.fail(Some(error));
            let answer = site.ask("USER", "POST", &path, None).await;
            assert_eq!((answer.status, answer.body["message"].as_str()), (status, Some(message)));
            let health = site.ask("READ_ONLY", "GET", "/api/engines/health", None).await;
            assert_eq!((health.status, &health.body["online"]), (200, &json!(false)));
        }
        site.house.torrents.shutdown().await;
    }

    async fn actions_answer_like_the_contract(db: Db) {
        let site = Site::new(&db).await;
        let path = |rest: &str| format!("/api/torrents/{}{rest}", hash(1));
        for (method, path, body, status) in [
            ("POST", path("/start"), None, 201),
            ("POST", path("/stop"), None, 201),
            ("POST", path("/pause"), None, 201),
            ("POST", path("/resume"), None, 201),
            ("POST", path("/recheck"), None, 201),
            ("POST", path("/move"), Some(json!({ "destination": "/downloads/a" })), 201),
            ("POST", path("/limits/upload"), Some(json!({ "bytesPerSec": "7" })), 201),
            ("POST", path("/limits/download"), Some(json!({ "bytesPerSec": 0 })), 201),
            ("POST", path("/files/priority"), Some(json!({ "fileIndex": 0, "priority": 2 })), 201),
            ("POST", path("/trackers"), Some(json!({ "url": "udp://t:1" })), 201),
            ("DELETE", path("/trackers"), Some(json!({ "url": "udp://t:1" })), 200),
            ("DELETE", path(""), None, 200),
        ] {
            let answer = site.ask("ADMINISTRATOR", method, &path, body).await;
            assert_eq!((answer.status, answer.body), (status, json!({ "success": true })), "{method} {path}");
        }
        let gone = site.ask("ADMINISTRATOR", "DELETE", &path("/data?removeLibrary=1"), None).await;
        assert_eq!(gone.status, 404);
        let data = format!("/api/torrents/{}/data?removeLibrary=1", hash(2));
        let shared = site.ask("ADMINISTRATOR", "DELETE", &data, None).await;
        let told = shared.body["message"].as_str().unwrap_or_default().to_owned();
        assert_eq!((shared.status, &shared.body["code"]), (409, &json!("conflict.shared_data")));
        assert!(told.starts_with("Other torrents use the data too: torrent 3 (seedbox). "), "{told}");
        let data = format!("{data}&keepShared=true");
        let removed = site.ask("ADMINISTRATOR", "DELETE", &data, None).await;
        assert_eq!((removed.status, removed.body), (200, json!({ "success": true, "libraryItemsRemoved": 0 })));
        let items = site.ask("USER", "POST", "/api/torrents/imported-items", Some(json!({ "hashes": [] }))).await;
        assert_eq!((items.status, items.body), (201, json!([])));
        site.house.torrents.shutdown().await;
    }

    async fn uploads_take_one_file_and_its_options(db: Db) {
        let site = Site::new(&db).await;
        let file: &[u8] = b"d4:infod6:lengthi5e4:name5:a.txt12:piece lengthi16384e6:pieces20:aaaaaaaaaaaaaaaaaaaaee";
        let parts: [(&str, Option<&str>, &[u8]); 4] = [
            ("file", Some("a.torrent"), file),
            ("tags", None, b"a, b"),
            ("startPaused", None, b"false"),
            ("sequentialDownload", None, b"1"),
        ];
        site.house.kinds.engine("a").offer(qm_ports::engine::capability::SEQUENTIAL);
        let answer = site.upload(&parts).await;
        assert_eq!(answer.status, 201, "{}", answer.body);
        assert_eq!(answer.body["hash"].as_str().map(str::len), Some(40));
        let options = site.house.kinds.engine("a").added.lock().unwrap()[0].options.clone();
        assert!(options.tags.is_empty(), "this kind has none");
        let tagged = site.ask("USER", "GET", "/api/torrents?tag=b", None).await;
        assert_eq!((&tagged.body["total"], &tagged.body["items"][0]["tags"]), (&json!(1), &json!(["a", "b"])));
        assert!(!options.start_paused && options.sequential_download);
        assert_eq!(answer.body.get("existed"), None);
        assert_eq!(answer.body, json!({ "hash": answer.body["hash"] }), "all of it was applied");
        // With a line break behind its end it is the same.
        let again = site.upload(&[("file", Some("a.torrent"), &[file, b"\n"].concat())]).await;
        assert_eq!((again.status, &again.body["existed"]), (201, &json!(true)));
        let asked: [(&str, Option<&str>, &[u8]); 4] =
            [("file", Some("a.torrent"), file), ("category", None, b"tv"), ("tags", None, b"c"), ("savePath", None, b"/downloads/x")];
        let again = site.upload(&asked).await;
        assert_eq!(again.body["applied"], json!([]), "it is as it was");
        assert_eq!(again.body["ignored"], json!(["category", "tags", "savePath"]));
        let few = String::from_utf8_lossy(file).replace("lengthi5e", "lengthi50000e").into_bytes();
        for (parts, message) in [
            (vec![("tags", None, b"a".as_slice())], "A torrent file is required"),
            (vec![("other", Some("a.torrent"), file)], "Unexpected field"),
            (vec![("file", Some("a.torrent"), b"nonsense".as_slice())], "Invalid .torrent file"),
            (
                vec![("file", Some("a.torrent"), file.strip_suffix(b"e").unwrap())],
                "Invalid .torrent file: the text ends in the middle of a value",
            ),
            (
                vec![("file", Some("a.torrent"), few.as_slice())],
                "Invalid .torrent file: info.pieces: 1 hash for 4 pieces",
            ),
        ] {
            let answer = site.upload(&parts).await;
            assert_eq!((answer.status, answer.body["message"].as_str()), (400, Some(message)));
        }
        let large = vec![0; 20 * 1024 * 1024 + 1];
        let answer = site.upload(&[("file", Some("a.torrent"), &large)]).await;
        assert_eq!(answer.status, StatusCode::PAYLOAD_TOO_LARGE.as_u16());
        site.house.torrents.shutdown().await;
    }
}
