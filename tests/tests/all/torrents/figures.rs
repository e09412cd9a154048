//! Transfers of real clients over time, and preferences of the clients themselves, checked against what they say.

use qm_kernel::Role;
use qm_testkit::generations::Program;
use qm_testkit::rtorrent::Mode;
use qm_testkit::sample::{Format, Sample};
use qm_testkit::tracker::Tracker;
use qm_testkit::wait::{until, until_true};
use qm_testkit::{Api, TestDb, TestServer, every_generation};
use serde_json::{Value, json};

use crate::client::Client;

const PLUGINS: &[&str] = &["scgi_client.wasm", "webapi_client.wasm"];
const SIZE: usize = 8 * 1024 * 1024;

every_generation! { rtorrent: preferences_of_an_rtorrent_are_changed, an_rtorrent_is_seen_to_download }

every_generation! { qbittorrent: preferences_of_a_qbittorrent_are_changed, a_qbittorrent_is_seen_to_download }

async fn an_rtorrent_is_seen_to_download(db: &TestDb, program: &Program) {
    let client = Client::rtorrent_of(program, Mode::Tcp).await;
    download_and_look(db, Client::qbittorrent().await, client).await;
}

async fn a_qbittorrent_is_seen_to_download(db: &TestDb, program: &Program) {
    let client = Client::qbittorrent_of(program).await;
    download_and_look(db, Client::rtorrent(Mode::Tcp).await, client).await;
}

/// Counts of the last hours.
async fn stats(api: &Api, engine: &str, hash: &str) -> Value {
    api.get(&format!("/api/torrents/stats?engineId={engine}&step=5m{hash}"))
        .await
}

/// A torrent is downloaded, and the server ends: the next one tells what was moved.
async fn download_and_look(db: &TestDb, seeder: Client, client: Client) {
    let tracker = Tracker::start().await;
    let sample = Sample::new("counted.bin", SIZE, 21, Format::V1, &tracker.announce());
    tracker.allow(&sample.hash).await;
    seeder.seed(&sample).await;
    tracker.until_seeded(&sample.hash).await;
    seeder.throttle(1024 * 1024).await;
    let server = TestServer::builder(db).plugins(PLUGINS).start().await;
    let api = server.admin();
    let engine = api.add_engine("counted", client.kind(), client.config()).await;
    until("the engine to be counted", || async {
        let told = stats(&api, &engine, "").await;
        (!told["items"].as_array().expect("a list").is_empty()).then_some(())
    })
    .await;
    api.upload_torrent(&[("engineId", &engine)], &sample.metainfo)
        .await;
    api.until_torrent(&engine, &sample.hash, "it to be complete", |torrent| {
        torrent["progress"] == json!(1.0)
    })
    .await;
    server.end().await;

    let server = TestServer::builder(db).plugins(PLUGINS).start().await;
    let api = server.admin();
    let hash = format!("&hash={}", sample.hash);
    let size = SIZE as u64;
    // One that is checked when it is complete is not counted meanwhile; what peers waste is.
    let downloaded = |told: &Value| told["totals"]["downloaded"].as_u64().expect("bytes");
    let told = until("what was downloaded to be told", || async {
        let reply = api
            .send(
                "GET",
                &format!("/api/torrents/stats?engineId={engine}&step=5m{hash}"),
                None,
            )
            .await;
        let told = (reply.status == 200).then(|| reply.json())?;
        (downloaded(&told) > size / 2).then_some(told)
    })
    .await;
    assert!(downloaded(&told) < 2 * size, "{told}");
    assert_eq!(downloaded(&stats(&api, &engine, "").await), downloaded(&told));
    let top = api
        .get("/api/torrents/stats/top?engineId=all&by=downloaded")
        .await;
    assert_eq!(
        (&top["items"][0]["hash"], &top["items"][0]["name"]),
        (&json!(sample.hash), &json!("counted.bin")),
        "{top}"
    );
    if client.kind() == "webapi_client" {
        // The client measures some time after its start.
        until_true("the free space", || async {
            let health = api.get(&format!("/api/engines/health?engineId={engine}")).await;
            assert_ne!(health["freeDiskBytes"], json!(0), "{health}");
            health["freeDiskBytes"].as_u64().is_some()
        })
        .await;
    }
    server.end().await;
}

async fn preferences_of_an_rtorrent_are_changed(db: &TestDb, program: &Program) {
    let client = Client::rtorrent_of(program, Mode::Tcp).await;
    let Client::Rtorrent(rtorrent) = &client else {
        unreachable!()
    };
    let now = async || rtorrent.call("throttle.max_peers.normal", &[]).await;
    change_preferences(db, &client, "maxPeers", now).await;
}

async fn preferences_of_a_qbittorrent_are_changed(db: &TestDb, program: &Program) {
    let client = Client::qbittorrent_of(program).await;
    let Client::Qbittorrent(qbittorrent) = &client else {
        unreachable!()
    };
    let before = qbittorrent.get("app/preferences").await;
    let now = async || qbittorrent.get("app/preferences").await["max_uploads_per_torrent"].clone();
    change_preferences(db, &client, "maxUploadsPerTorrent", now).await;
    let after = qbittorrent.get("app/preferences").await;
    for name in [
        "autorun_enabled",
        "web_ui_username",
        "web_ui_port",
        "web_ui_address",
        "proxy_type",
    ] {
        assert_eq!(before[name], after[name], "{name}");
    }
}

fn find<'a>(told: &'a Value, key: &str) -> Option<&'a Value> {
    let items = told["items"].as_array().expect("a list");
    items.iter().find(|item| item["key"] == key)
}

async fn change_preferences(db: &TestDb, client: &Client, key: &str, now: impl AsyncFn() -> Value) {
    let root = client.downloads();
    let server = TestServer::builder(db)
        .plugins(PLUGINS)
        .env("FILE_MANAGER_ROOTS", root.display().to_string())
        .start()
        .await;
    let api = server.admin();
    let engine = api.add_engine("preferred", client.kind(), client.config()).await;
    let path = format!("/api/engines/{engine}/preferences");
    let told = until("the engine to tell its preferences", || async {
        let reply = api.send("GET", &path, None).await;
        (reply.status == 200).then(|| reply.json())
    })
    .await;
    let found = find(&told, key).expect("it is offered");
    assert_eq!(found["type"], "integer", "{found}");
    let text = told.to_string().to_lowercase();
    for part in [
        "autorun", "password", "webui", "web_ui", "proxy", "execute", "geheim",
    ] {
        assert!(!text.contains(part), "{part}: {told}");
    }
    for item in told["items"].as_array().expect("a list") {
        assert_eq!(item["secret"], json!(false), "{item}");
    }

    let changed = api.patch(&path, json!({ key: 37 })).await;
    assert_eq!(find(&changed, key).expect("it is offered")["value"], json!(37));
    let direct = now().await;
    assert!(direct == json!(37) || direct == json!("37"), "{direct}");

    let inside = root.join("kept").display().to_string();
    let moved = api.patch(&path, json!({ "defaultSavePath": inside })).await;
    let shown = find(&moved, "defaultSavePath").expect("it is offered")["value"].clone();
    assert_eq!(
        shown.as_str().map(|path| path.trim_end_matches('/')),
        Some(&*inside),
        "{shown}"
    );
    for (body, status, said) in [
        (json!({ "defaultSavePath": "/etc" }), 403, "defaultSavePath"),
        (
            json!({ "defaultSavePath": "/nowhere/of/ours" }),
            403,
            "defaultSavePath",
        ),
        (json!({ key: "many" }), 400, "must be"),
        (json!({ key: -5 }), 400, "must not be less than"),
        (json!({ "autorun_program": "/bin/true" }), 400, "autorun_program"),
        (json!({ "web_ui_password": "geheim" }), 400, "web_ui_password"),
        (json!({}), 400, "at least one"),
    ] {
        let reply = api.send("PATCH", &path, Some(&body)).await;
        assert_eq!(reply.status, status, "{body}: {}", reply.text());
        assert!(reply.text().contains(said), "{body}: {}", reply.text());
        assert!(!reply.text().contains("geheim"), "{}", reply.text());
    }
    // What was refused changed nothing.
    let after = api.get(&path).await;
    assert_eq!(after["items"], moved["items"]);

    let audited = api.get("/api/audit?action=engines.preferences").await;
    let text = audited.to_string();
    assert!(
        text.contains(key) && text.contains("defaultSavePath"),
        "{audited}"
    );
    assert!(!text.contains("autorun_program"), "{audited}");
    let denied = server.user(Role::User).send("GET", &path, None).await;
    assert_eq!(denied.status, 403, "{}", denied.text());
    server.end().await;
}
