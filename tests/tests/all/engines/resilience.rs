//! Clients that die, come back, hang or talk nonsense: the others never notice, and nothing is lost or told twice.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::FutureExt;
use qm_plugin_host::Limits;
use qm_testkit::generations::Program;
use qm_testkit::hostile::{HostileServer, Manner, Protocol};
use qm_testkit::rtorrent::Mode;
use qm_testkit::sample::{Format, Sample};
use qm_testkit::tracker::Tracker;
use qm_testkit::wait::{until, until_true};
use qm_testkit::ws::Ws;
use qm_testkit::{Api, TestDb, TestServer, both_databases, every_generation};
use serde_json::{Value, json};

use crate::client::Client;

const PLUGINS: &[&str] = &["scgi_client.wasm", "webapi_client.wasm", "misbehave.wasm"];

every_generation! { rtorrent: rtorrent_is_killed_and_comes_back, a_frozen_rtorrent_delays_nobody }

every_generation! { qbittorrent: qbittorrent_is_killed_and_comes_back, a_frozen_qbittorrent_delays_nobody }

async fn rtorrent_is_killed_and_comes_back(db: &TestDb, program: &Program) {
    let client = Client::rtorrent_of(program, Mode::Tcp).await;
    killed_and_restarted(db, Client::qbittorrent().await, client).await;
}

async fn qbittorrent_is_killed_and_comes_back(db: &TestDb, program: &Program) {
    let client = Client::qbittorrent_of(program).await;
    killed_and_restarted(db, Client::rtorrent(Mode::Tcp).await, client).await;
}

async fn a_frozen_rtorrent_delays_nobody(db: &TestDb, program: &Program) {
    frozen(db, Client::rtorrent_of(program, Mode::Unix).await).await;
}

async fn a_frozen_qbittorrent_delays_nobody(db: &TestDb, program: &Program) {
    frozen(db, Client::qbittorrent_of(program).await).await;
}

both_databases! {
    async fn hostile_clients_are_isolated(db: &TestDb) {
        let server = TestServer::builder(db).plugins(PLUGINS).limits(impatient()).start().await;
        let api = server.admin();
        let steady = steady_engine(&api).await;
        let mut hostiles = Vec::new();
        for protocol in [Protocol::Scgi, Protocol::Http] {
            for &manner in Manner::ALL {
                let hostile = HostileServer::start(protocol, manner).await;
                let (kind, config) = hostile.engine();
                let engine = api.add_engine(&format!("{protocol:?} {manner:?}"), kind, config).await;
                hostiles.push((hostile, engine));
            }
        }
        for (hostile, engine) in &hostiles {
            until_true("the hostile server to be asked", || async { hostile.connections() > 0 }).await;
            // One that never had a snapshot answers that it is the client's fault, and which kind of fault.
            let reply = until("a verdict on the hostile engine", || async {
                let reply = api.send("GET", &format!("/api/torrents?engineId={engine}"), None).await;
                (reply.status != 200).then_some(reply)
            })
            .await;
            assert!(reply.status == 502 || reply.status == 504, "{}: {}", reply.status, reply.text());
            assert!(reply.json()["message"].is_string(), "{}", reply.text());
        }
        assert_ticks(&api, &steady, 5).await;
        for (_, engine) in &hostiles {
            let health = api.get(&format!("/api/engines/health?engineId={engine}")).await;
            assert_eq!(health["online"], json!(false), "{health}");
            assert!(health["error"].is_string(), "{health}");
        }
        assert_ticks(&api, &steady, 3).await;
        server.end().await;
    }
}

/// A client that has its port open and never answers goes offline, and the others go on.
async fn frozen(db: &TestDb, client: Client) {
    let server = TestServer::builder(db)
        .plugins(PLUGINS)
        .limits(impatient())
        .start()
        .await;
    let api = server.admin();
    let steady = steady_engine(&api).await;
    let engine = api.add_engine("frozen", client.kind(), client.config()).await;
    let mut socket = Ws::connect(&api).await;
    until_status(&mut socket, &engine, true).await;
    client.freeze(true);
    until_status(&mut socket, &engine, false).await;
    assert_ticks(&api, &steady, 3).await;
    client.freeze(false);
    until_status(&mut socket, &engine, true).await;
}

/// Deadlines short enough that a test need not wait for them long.
fn impatient() -> Limits {
    Limits {
        silence: Duration::from_secs(2),
        call_total: Duration::from_secs(4),
        poll_total: Duration::from_secs(4),
        back_off: Duration::from_secs(1),
        // Here clients fail, not plugins: nothing is to be parked.
        strikes: u32::MAX,
        ..Limits::default()
    }
}

/// An engine that is always well and has something new in every poll.
pub async fn steady_engine(api: &Api) -> String {
    let config = json!({ "mode": "ok", "torrents": 10, "changing": 3 });
    let engine = api.add_engine("steady", "misbehave", config).await;
    assert_ticks(api, &engine, 1).await;
    engine
}

/// Waits until an engine's snapshot was confirmed `ticks` more times, the list being served all the while.
pub async fn assert_ticks(api: &Api, engine: &str, ticks: usize) {
    let path = format!("/api/torrents?engineId={engine}");
    let mut confirmed = BTreeSet::new();
    while confirmed.len() <= ticks {
        let next = until("the steady engine to tick on", || async {
            let reply = api.send("GET", &path, None).await;
            assert_eq!(reply.status, 200, "{}", reply.text());
            let at = reply
                .header("x-snapshot-at")
                .expect("lists say how fresh they are")
                .to_owned();
            (!confirmed.contains(&at)).then_some(at)
        })
        .await;
        confirmed.insert(next);
    }
}

/// Waits for the channel to say whether an engine is online.
async fn until_status(socket: &mut Ws, engine: &str, online: bool) -> Value {
    socket
        .until(&format!("engine:status online={online}"), |event, data| {
            (event == "engine:status" && data["engineId"] == json!(engine) && data["online"] == json!(online))
                .then(|| data.clone())
        })
        .await
}

/// Two torrents, one complete and one on its way. The client is killed and started again on the same session: both are
/// still there, the one goes on, and the other is not told to have completed twice.
async fn killed_and_restarted(db: &TestDb, seeder: Client, mut client: Client) {
    let tracker = Tracker::start().await;
    let done = Sample::new("done.bin", 1024 * 1024, 11, Format::V1, &tracker.announce());
    let slow = Sample::new("slow.bin", 24 * 1024 * 1024, 12, Format::V1, &tracker.announce());
    for sample in [&done, &slow] {
        tracker.allow(&sample.hash).await;
        seeder.seed(sample).await;
        tracker.until_seeded(&sample.hash).await;
    }
    let server = TestServer::builder(db).plugins(PLUGINS).start().await;
    let api = server.admin();
    let mut events = server.events();
    let engine = api.add_engine("mortal", client.kind(), client.config()).await;
    let steady = steady_engine(&api).await;
    let mut socket = Ws::connect(&api).await;

    upload(&api, &engine, &done).await;
    api.until_torrent(&engine, &done.hash, "the small one to be complete", |torrent| {
        torrent["progress"] == json!(1.0)
    })
    .await;
    seeder.throttle(1024 * 1024).await;
    upload(&api, &engine, &slow).await;
    api.until_torrent(&engine, &slow.hash, "the other to be on its way", |torrent| {
        torrent["progress"]
            .as_f64()
            .is_some_and(|progress| progress > 0.0 && progress < 1.0)
    })
    .await;

    client.store_session().await;
    client.kill();
    let status = until_status(&mut socket, &engine, false).await;
    assert!(status["error"].is_string(), "{status}");
    for sample in [&done, &slow] {
        assert!(
            api.torrent(&engine, &sample.hash).await.is_some(),
            "an offline engine serves its last snapshot"
        );
    }
    assert_ticks(&api, &steady, 2).await;

    client.restart().await;
    until_status(&mut socket, &engine, true).await;
    seeder.throttle(0).await;
    for sample in [&done, &slow] {
        api.until_torrent(&engine, &sample.hash, "it to seed after the restart", |torrent| {
            torrent["state"] == json!("seeding")
        })
        .await;
        assert!(sample.is_in(&client.downloads()));
    }
    let mut completed = Vec::new();
    while !completed.contains(&slow.hash) {
        let event = events.recv().await.expect("the bus lives as long as the server");
        if event.event_key == "torrent.completed" {
            completed.push(event.payload["hash"].as_str().expect("a hash").to_owned());
        }
        assert_ne!(
            event.event_key, "torrent.failed",
            "nothing failed: {:?}",
            event.payload
        );
    }
    // Further ticks bring no second edge.
    assert_ticks(&api, &steady, 2).await;
    server.end().await;
    while let Some(Some(event)) = events.recv().now_or_never() {
        assert_ne!(
            event.event_key, "torrent.completed",
            "a false edge: {:?}",
            event.payload
        );
    }
    assert_eq!(completed, [done.hash, slow.hash]);
}

async fn upload(api: &Api, engine: &str, sample: &Sample) {
    let fields = [("engineId", engine), ("startPaused", "true")];
    api.upload_torrent(&fields, &sample.metainfo).await;
    // Read once before it moves, so that its completion is an edge and not a first sight.
    assert_ticks(api, engine, 2).await;
    assert_eq!(
        api.torrent(engine, &sample.hash).await.expect("listed")["progress"],
        json!(0.0)
    );
    api.act(&format!("/api/torrents/{}/start?engineId={engine}", sample.hash))
        .await;
}
