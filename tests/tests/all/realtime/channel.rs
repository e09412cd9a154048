//! The realtime channel through the whole server, with Socket.IO's own JavaScript client and with a plain WebSocket:
//! what a tick sends and in which order, rooms by permission, a new token, deltas, gaps and expiry.
//!
//! The hub's own tests cover frames, queues and timings; here the events are the sync loop's.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use qm_kernel::{Permission, Role};
use qm_ports::engine::{EngineError, TorrentState};
use qm_realtime::{Room, StateSource};
use qm_test_base::engine::{FakeEngine, FakeKinds, torrent};
use qm_testkit::socketio::SocketIo;
use qm_testkit::wait::until_true;
use qm_testkit::ws::{Mirror, Ws};
use qm_testkit::{Api, TestDb, TestServer, both_databases, token};
use serde_json::{Value, json};

/// A server with one scripted engine of three torrents.
async fn start(db: &TestDb) -> (TestServer, Arc<FakeEngine>, String) {
    let kinds = FakeKinds::first_party();
    let fake = kinds.engine("one");
    (1..=3).for_each(|number| fake.put(torrent(number)));
    let server = TestServer::builder(db).kinds(kinds).start().await;
    let engine = server
        .admin()
        .add_engine("fake", "scgi_client", json!({ "host": "one" }))
        .await;
    (server, fake, engine)
}

/// Somebody who may log in and see nothing.
fn without_permissions(api: &Api) -> Api {
    let mut claims = token::claims(Role::ReadOnly, 4_000_000_000);
    claims["permissions"] = json!([]);
    api.with_token(Some(token::good(&claims)))
}

fn auth(api: &Api) -> Value {
    json!({ "auth": { "token": api.token() } })
}

both_databases! {
    async fn a_tick_is_told_in_order_and_whole_to_socket_io(db: &TestDb) {
        let (server, fake, engine) = start(db).await;
        let mut client = SocketIo::connect(server.anonymous().base(), &auth(&server.user(Role::User)));
        assert!(client.until_type("connect").await["id"].is_string());
        let update = client.until_event("torrents:update").await;
        assert_eq!(update["engineId"], json!(engine));
        assert_eq!(update["torrents"].as_array().map(Vec::len), Some(3), "the whole list: {update}");
        assert!(update["at"].is_string(), "{update}");

        fake.change(&torrent(2).hash, |torrent| torrent.progress = 0.75);
        let mut order = Vec::new();
        client
            .until("the change, then the statistics", |message| {
                let (name, payload) = (message["name"].as_str()?, &message["args"][0]);
                if name == "torrents:update" && payload["torrents"][1]["progress"] == json!(0.75) {
                    order.push("torrents:update");
                } else if name != "torrents:update" && !order.is_empty() {
                    order.push(if name == "stats:update" { "stats:update" } else { "engine:status" });
                }
                (order.last() == Some(&"engine:status")).then_some(())
            })
            .await;
        assert_eq!(order, ["torrents:update", "stats:update", "engine:status"]);

        fake.fail(Some(EngineError::Unreachable("connection refused".to_owned())));
        let status = client
            .until("the engine to be offline", |message| {
                (message["name"] == "engine:status" && message["args"][0]["online"] == json!(false))
                    .then(|| message["args"][0].clone())
            })
            .await;
        assert!(status["error"].as_str().is_some_and(|error| error.contains("connection refused")), "{status}");
        fake.fail(None);
        client
            .until("the engine to be back", |message| {
                (message["name"] == "engine:status" && message["args"][0]["online"] == json!(true)).then_some(())
            })
            .await;
    }

    async fn socket_io_with_delta_gets_deltas(db: &TestDb) {
        let (server, fake, _) = start(db).await;
        let options = json!({ "auth": { "token": server.admin().token(), "delta": true } });
        let mut client = SocketIo::connect(server.anonymous().base(), &options);
        let mut mirror = Mirror::default();
        mirror.apply(&client.until_event("torrents:update").await);
        fake.forget(&torrent(1).hash);
        fake.change(&torrent(3).hash, |torrent| "renamed".clone_into(&mut torrent.name));
        while mirror.torrents.len() != 2 || mirror.torrents[&*torrent(3).hash]["name"] != json!("renamed") {
            mirror.apply(&client.until_event("torrents:update").await);
        }
        assert_eq!(mirror.fulls, 1, "one full state, then what changed");
    }

    async fn bad_tokens_are_sent_away(db: &TestDb) {
        let (server, ..) = start(db).await;
        let expired = token::good(&token::claims(Role::SuperAdmin, 1_000_000_000));
        let mut refresh = token::claims(Role::SuperAdmin, 4_000_000_000);
        refresh["type"] = json!("refresh");
        for bad in ["", "nonsense", &expired, &token::good(&refresh)] {
            let mut client = SocketIo::connect(server.anonymous().base(), &json!({ "auth": { "token": bad } }));
            let gone = client.until_type("disconnect").await;
            assert_eq!(gone["reason"], json!("io server disconnect"), "{bad}");
            let mut socket = Ws::connect_bare(&server.anonymous()).await;
            socket.authenticate(bad).await;
            let answer = socket.next().await.expect("it says why");
            assert_eq!(answer["event"], json!("auth:error"), "{bad}");
            assert_eq!(socket.next().await, None, "{bad}");
        }
    }

    async fn rooms_follow_permissions(db: &TestDb) {
        let (server, ..) = start(db).await;
        let say = |room: Room, event: &'static str| server.hub().emit(room, event, Bytes::from_static(b"{}"));
        let administrator = server.user(Role::Administrator);
        let mut sockets = [
            Ws::connect(&administrator).await,
            Ws::connect_with_header(&server.user(Role::User)).await,
            Ws::connect(&without_permissions(&administrator)).await,
        ];
        let mut client = SocketIo::connect(server.anonymous().base(), &auth(&administrator));
        client.until_type("connect").await;
        until_true("all of them to be in", || async { server.hub().counters().authenticated == 4 }).await;
        let me: Arc<str> = administrator.get("/api/auth/me").await["id"].as_str().expect("an id").into();

        say(Room::Perm(Permission::AuditView), "jobs.for-audit");
        say(Room::User(me), "account.notification.for-one");
        say(Room::Perm(Permission::TorrentsView), "torrents:for-viewers");
        say(Room::Authenticated, "jobs.for-all");
        let wanted: [&[&str]; 3] = [&["jobs.for-audit", "account.notification.for-one", "torrents:for-viewers"], &["torrents:for-viewers"], &[]];
        for (socket, wanted) in sockets.iter_mut().zip(wanted) {
            let mut heard = Vec::new();
            socket
                .until("what is for all", |event, _| {
                    heard.extend(event.contains("for-").then(|| event.to_owned()));
                    (event == "jobs.for-all").then_some(())
                })
                .await;
            heard.pop();
            assert_eq!(heard, wanted);
        }
        client.until_event("account.notification.for-one").await;
    }

    async fn a_new_token_changes_the_rooms(db: &TestDb) {
        let (server, fake, _) = start(db).await;
        let admin = server.admin();
        let nobody = without_permissions(&admin);
        // The same user, once with and once without its permissions.
        let mut full = token::claims(Role::PowerUser, 4_000_000_000);
        full["username"] = json!("somebody");
        let full = admin.with_token(Some(token::good(&full)));

        let mut socket = Ws::connect(&nobody).await;
        assert_eq!(socket.next().await.expect("a greeting")["event"], json!("auth:ok"));
        socket.authenticate(full.token()).await;
        socket.until("the torrents, on the open socket", |event, _| (event == "torrents:update").then_some(())).await;

        let mut client = SocketIo::connect(admin.base(), &auth(&nobody));
        client.until_type("connect").await;
        client.reconnect(full.token()).await;
        client.until_event("torrents:update").await;
        client.reconnect(nobody.token()).await;
        client.until_type("disconnect").await;
        client.until_type("connect").await;
        fake.change(&torrent(1).hash, |torrent| torrent.progress = 0.9);
        socket.until("the change", |event, data| (event == "torrents:update" && data["full"] == json!(false)).then_some(())).await;
        server.hub().emit(Room::Authenticated, "jobs.for-all", Bytes::from_static(b"{}"));
        client
            .until("what is for all", |message| {
                assert_ne!(message["name"], json!("torrents:update"), "it left the room");
                (message["name"] == json!("jobs.for-all")).then_some(())
            })
            .await;
    }

    async fn deltas_add_up_to_what_the_api_lists(db: &TestDb) {
        let (server, fake, engine) = start(db).await;
        let api = server.admin();
        let mut socket = Ws::connect(&api).await;
        let mut mirror = Mirror::default();
        fake.put(torrent(4));
        fake.forget(&torrent(2).hash);
        fake.change(&torrent(1).hash, |torrent| torrent.state = TorrentState::Seeding);
        loop {
            let data = socket.until("a change", |event, data| (event == "torrents:update").then(|| data.clone())).await;
            mirror.apply(&data);
            let listed: Vec<&str> = mirror.torrents.keys().map(|hash| hash.trim_start_matches('0')).collect();
            if listed == ["1", "3", "4"] && mirror.torrents[&*torrent(1).hash]["state"] == json!("seeding") {
                break;
            }
        }
        let listed = api.get(&format!("/api/torrents?engineId={engine}&sortBy=name&sortDir=asc")).await;
        let mirrored: Vec<&Value> = mirror.torrents.values().collect();
        let listed: Vec<&Value> = listed["items"].as_array().expect("a page").iter().collect();
        assert_eq!(mirrored, listed, "the channel and the API show the same torrents");
    }

    async fn a_slow_reader_gets_one_full_state(db: &TestDb) {
        let (server, ..) = start(db).await;
        let source = Arc::new(Counter { seq: AtomicU64::new(0) });
        server.hub().attach_source("counter", source.clone());
        let mut socket = Ws::connect(&server.admin()).await;
        let ours = |event: &str, data: &Value| (event == "torrents:for-counting").then(|| data.clone());
        let mut mirror = Mirror::default();
        mirror.apply(&socket.until("the state", ours).await);
        // Nobody reads while far more is said than any buffer holds.
        const SAID: u64 = 400;
        for _ in 0..SAID {
            let seq = source.seq.fetch_add(1, Ordering::SeqCst) + 1;
            server.hub().state_changed("counter", seq, Counter::render(seq, false, 256 * 1024));
        }
        while mirror.seq != Some(SAID) {
            mirror.apply(&socket.until("the rest", ours).await);
        }
        assert_eq!(mirror.fulls, 2, "the first state and one resync");
    }
}

/// A state that only counts, with as much padding as asked.
struct Counter {
    seq: AtomicU64,
}

impl Counter {
    fn render(seq: u64, full: bool, padding: usize) -> Bytes {
        let padding = "x".repeat(padding);
        let state = json!({ "engineId": "counter", "seq": seq, "full": full, "torrents": [], "removed": [], "padding": padding });
        Bytes::from(state.to_string())
    }
}

impl StateSource for Counter {
    fn room(&self) -> Room {
        Room::Perm(Permission::TorrentsView)
    }

    fn event(&self) -> &'static str {
        "torrents:for-counting"
    }

    fn snapshot(&self) -> (u64, Bytes) {
        let seq = self.seq.load(Ordering::SeqCst);
        (seq, Self::render(seq, true, 0))
    }

    fn full_list(&self) -> Bytes {
        self.snapshot().1
    }
}
