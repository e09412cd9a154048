//! Behind a reverse proxy: the examples we ship for nginx and Caddy, run by the real programs. The service sees who
//! connects to the proxy whatever a client claims, and REST, the live channel, uploads and streams come through whole.

use std::net::Ipv4Addr;

use qm_test_base::engine::{FakeKinds, torrent};
use qm_testkit::http::{Http, Reply};
use qm_testkit::process::loopback_address;
use qm_testkit::proxy::Proxy;
use qm_testkit::server::{Builder, PASSWORD};
use qm_testkit::socketio::SocketIo;
use qm_testkit::wait::until_true;
use qm_testkit::ws::Ws;
use qm_testkit::{Api, TestDb, TestServer, both_databases};
use serde_json::{Value, json};

const MIB: usize = 1024 * 1024;

async fn both(server: &TestServer) -> [Proxy; 2] {
    [
        Proxy::nginx(server.address()).await,
        Proxy::caddy(server.address()).await,
    ]
}

fn builder(db: &TestDb) -> Builder<'_> {
    TestServer::builder(db).kinds(FakeKinds::first_party())
}

/// Nobody, whose connections to the proxy come from an address of their own.
fn visitor(proxy: &Proxy) -> (Api, Ipv4Addr) {
    let address = loopback_address();
    (Api::new(Http::from_address(address), proxy.base(), None), address)
}

/// The administrator, through the proxy.
fn admin(server: &TestServer, proxy: &Proxy) -> Api {
    let token = server.admin().token().to_owned();
    Api::new(Http::new(), proxy.base(), Some(token))
}

async fn claiming(api: &Api, method: &str, path: &str, forwarded: &str) -> Reply {
    let request = api
        .request(method, path)
        .header("x-forwarded-for", forwarded)
        .header("forwarded", &format!("for={forwarded}"))
        .header("x-real-ip", forwarded);
    let request = if method == "POST" {
        request.json(&json!({ "username": "nobody", "password": PASSWORD }))
    } else {
        request
    };
    request.send().await.expect("an answer")
}

/// The address the newest row of the audit trail tells of.
async fn audited_address(server: &TestServer) -> Value {
    let page = server
        .admin()
        .get("/api/audit?action=auth.login&pageSize=1")
        .await;
    page["items"][0]["ipAddress"].clone()
}

both_databases! {
    async fn the_audit_names_who_connects_to_the_proxy(db: &TestDb) {
        let server = builder(db).start().await;
        for proxy in both(&server).await {
            let (visitor, address) = visitor(&proxy);
            let reply = claiming(&visitor, "POST", "/api/auth/login", "203.0.113.9, 198.51.100.7").await;
            assert_eq!(reply.status, 401, "{}", reply.text());
            assert_eq!(audited_address(&server).await, json!(address.to_string()), "{}", proxy.output());
        }
    }

    async fn a_claimed_address_buys_no_new_budget(db: &TestDb) {
        let server = builder(db).env("THROTTLE_LIMIT", "3").start().await;
        for proxy in both(&server).await {
            let (persistent, _) = visitor(&proxy);
            for (attempt, claim) in ["203.0.113.1", "203.0.113.2", "203.0.113.3", "203.0.113.4"].into_iter().enumerate() {
                let reply = claiming(&persistent, "GET", "/api/auth/me", claim).await;
                assert_eq!(reply.status, if attempt < 3 { 401 } else { 429 }, "attempt {attempt}");
            }
            let (other, _) = visitor(&proxy);
            let reply = claiming(&other, "GET", "/api/auth/me", "203.0.113.1").await;
            assert_eq!(reply.status, 401, "somebody else has a budget of their own");
        }
    }

    async fn without_a_trusted_proxy_claims_are_ignored(db: &TestDb) {
        let server = builder(db).env("THROTTLE_LIMIT", "3").env("TRUSTED_PROXIES", "0").start().await;
        let anonymous = server.anonymous();
        for (attempt, claim) in ["203.0.113.1", "203.0.113.2", "203.0.113.3", "203.0.113.4"].into_iter().enumerate() {
            let reply = claiming(&anonymous, "GET", "/api/auth/me", claim).await;
            assert_eq!(reply.status, if attempt < 3 { 401 } else { 429 }, "attempt {attempt}");
        }
        claiming(&anonymous, "POST", "/api/auth/login", "203.0.113.9").await;
        assert_eq!(audited_address(&server).await, json!("127.0.0.1"), "the audit does not believe it either");
    }

    async fn the_live_channel_comes_through(db: &TestDb) {
        let kinds = FakeKinds::first_party();
        let fake = kinds.engine("one");
        fake.put(torrent(1));
        let server = TestServer::builder(db).kinds(kinds).start().await;
        server.admin().add_engine("fake", "scgi_client", json!({ "host": "one" })).await;
        for proxy in both(&server).await {
            let api = admin(&server, &proxy);
            let mut sockets = [
                Ws::connect(&api).await,
                Ws::connect_with_header(&api).await,
                Ws::connect_from(&api, &proxy.base()).await,
            ];
            let mut client = SocketIo::connect(api.base(), &json!({ "auth": { "token": api.token() } }));
            client.until_event("torrents:update").await;
            for socket in &mut sockets {
                socket.until("the torrents", |event, _| (event == "torrents:update").then_some(())).await;
            }
            // Passed on as it happens, not when a buffer is full.
            fake.change(&torrent(1).hash, |torrent| torrent.downloaded += 1);
            for socket in &mut sockets {
                socket
                    .until("the change", |event, data| (event == "torrents:update" && data["full"] == json!(false)).then_some(()))
                    .await;
            }
        }
    }

    async fn uploads_come_through_up_to_our_own_limits(db: &TestDb) {
        let kinds = FakeKinds::first_party();
        kinds.engine("one");
        let server = TestServer::builder(db).kinds(kinds).start().await;
        server.admin().add_engine("fake", "scgi_client", json!({ "host": "one" })).await;
        for proxy in both(&server).await {
            let api = admin(&server, &proxy);
            let upload = async |bytes: usize| {
                let file = vec![b'd'; bytes];
                let request = api.request("POST", "/api/torrents/upload").multipart(&[], &[("file", "a.torrent", &file)]);
                let reply = request.send().await.expect("an answer");
                (reply.status, reply.json()["message"].clone())
            };
            // Each refusal is ours, so each body arrived.
            let (answer, put_aside) = proxy.watched(upload(20 * MIB - 1000)).await;
            assert_eq!((answer, put_aside), ((400, json!("Invalid .torrent file: dictionary key at offset 1 is not a string")), 0));
            assert_eq!(upload(20 * MIB + 1).await, (413, json!("File too large")));
            let name = async |bytes: usize| {
                let body = format!("{{\"name\":\"{}\"}}", "x".repeat(bytes));
                let reply = api.request("POST", "/api/categories").body("application/json", body).send().await.expect("an answer");
                (reply.status, reply.json()["message"].clone())
            };
            assert_eq!(name(MIB - 1000).await, (400, json!(["name must be shorter than or equal to 80 characters"])));
            assert_eq!(name(26 * MIB).await, (413, json!("The uploaded file is too large for this endpoint.")));
        }
    }

    async fn downloads_and_streams_come_through_unbuffered(db: &TestDb) {
        const SIZE: u64 = 64 * MIB as u64;
        let root = tempfile::tempdir().expect("a temporary directory");
        std::fs::File::create(root.path().join("film.mkv")).and_then(|file| file.set_len(SIZE)).expect("a sparse file");
        let server = builder(db).env("FILE_MANAGER_ROOTS", root.path().display().to_string()).start().await;
        for proxy in both(&server).await {
            let api = admin(&server, &proxy);
            let request = api.request("GET", "/api/files/download?path=film.mkv");
            let mut answer = request.open().await.expect("an answer");
            assert_eq!((answer.status().as_u16(), answer.content_length()), (200, Some(SIZE)));
            let dawdle = async {
                let mut read = 0;
                while let Some(chunk) = answer.chunk().await.expect("the whole body") {
                    if read == 0 {
                        // A proxy that buffers would now fill its disk.
                        for _ in 0..50 {
                            server.anonymous().get("/api/system/ready").await;
                        }
                    }
                    read += chunk.len() as u64;
                }
                read
            };
            assert_eq!(proxy.watched(dawdle).await, (SIZE, 0));

            let ticket = api.post("/api/files/media-ticket", json!({ "path": "film.mkv" })).await;
            let path = format!("/api/files/stream?path=film.mkv&ticket={}", ticket["token"].as_str().expect("a ticket"));
            let (player, _) = visitor(&proxy);
            let reply = player.request("GET", &path).header("range", "bytes=1000-1999").send().await.expect("an answer");
            let range = format!("bytes 1000-1999/{SIZE}");
            assert_eq!((reply.status, reply.header("content-range"), reply.body.len()), (206, Some(range.as_str()), 1000));
        }
    }

    async fn tokens_and_tickets_are_in_no_log(db: &TestDb) {
        const MARK: &str = "secret-7d1f";
        let server = builder(db).start().await;
        for proxy in both(&server).await {
            let (visitor, _) = visitor(&proxy);
            let ask = async || {
                for (path, mark) in [("/ws/?token=", MARK), ("/ws/?EIO=4&transport=polling&token=", MARK), ("/api/files/stream?path=a&ticket=", MARK), ("/api/torrents?search=", "")] {
                    visitor.send("GET", &format!("{path}{mark}"), None).await;
                }
            };
            ask().await;
            until_true("the requests to be in the log", || async { proxy.log().contains("/api/torrents") }).await;
            let log = proxy.log();
            assert!(log.contains("/ws/") && log.contains("/api/files/stream"), "{log}");
            assert!(!log.contains(MARK), "{log}");
        }
        // Nobody answers behind the proxies: they complain, and not with the secret either.
        let nobody = std::net::TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a free port");
        for proxy in [Proxy::nginx(nobody).await, Proxy::caddy(nobody).await] {
            let (visitor, _) = visitor(&proxy);
            for path in ["/ws/?token=", "/ws?token=", "/api/files/stream?path=a&ticket="] {
                let reply = visitor.send("GET", &format!("{path}{MARK}"), None).await;
                assert_eq!(reply.status, 502, "{}", reply.text());
            }
            assert_eq!(visitor.send("GET", "/api/torrents", None).await.status, 502);
            until_true("the complaint", || async { proxy.output().contains("/api/torrents") && proxy.log().contains("/api/torrents") }).await;
            assert!(!proxy.output().contains(MARK) && !proxy.log().contains(MARK), "{} {}", proxy.output(), proxy.log());
        }
    }

    async fn our_answers_arrive_as_they_are(db: &TestDb) {
        let server = builder(db).start().await;
        for proxy in both(&server).await {
            let api = admin(&server, &proxy);
            for (path, status) in [("/api/system/live", 200), ("/api/engines", 200), ("/api/nope", 404), ("/api/torrents", 404)] {
                let (direct, through) = (server.admin().send("GET", path, None).await, api.send("GET", path, None).await);
                assert_eq!((direct.status, through.status), (status, status), "{path}");
                let ours = |reply: &Reply| {
                    let of_each = ["date", "x-request-id", "etag", "content-length", "connection", "transfer-encoding", "server", "x-ratelimit-remaining", "x-ratelimit-reset"];
                    let mut headers: Vec<(String, String)> = reply
                        .headers
                        .iter()
                        .filter(|(name, _)| !of_each.contains(&name.as_str()))
                        .map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
                        .collect();
                    headers.sort();
                    headers
                };
                assert_eq!(ours(&direct), ours(&through), "{path}");
            }
        }
    }
}

#[test]
fn the_image_trusts_nobody_before_it() {
    let image = include_str!("../../../../docs/deploy/Dockerfile");
    let set: Vec<&str> = image
        .lines()
        .filter(|line| line.contains("TRUSTED_PROXIES"))
        .collect();
    assert_eq!(set, ["ENV TRUSTED_PROXIES=0"]);
    let compose = include_str!("../../../../compose.yaml");
    assert!(compose.contains("TRUSTED_PROXIES: ${TRUSTED_PROXIES:-0}"));
}
