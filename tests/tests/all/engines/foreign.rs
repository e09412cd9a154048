//! Components in other languages, against a real client through the whole server: `examples/engine-python` and
//! `examples/engine-javascript`.

use qm_testkit::generations::{self, Generation, Product, Program, Suite};
use qm_testkit::sample::{Format, Sample};
use qm_testkit::tracker::Tracker;
use qm_testkit::transmission::Transmission;
use qm_testkit::wait::until_true;
use qm_testkit::{Api, Backend, TestDb, TestServer};
use serde_json::json;

#[test]
fn an_engine_in_python_drives_a_real_client() {
    let generation = Generation::new(Product::Transmission, Suite::Bookworm);
    generations::run(Backend::Sqlite, generation, async |db, program| {
        drives("transmission_py.wasm", db, program).await;
    });
}

#[test]
fn an_engine_in_javascript_drives_a_real_client() {
    let generation = Generation::new(Product::Transmission, Suite::Sid);
    generations::run(Backend::Sqlite, generation, async |db, program| {
        drives("transmission_js.wasm", db, program).await;
    });
}

/// Everything a user does with a torrent, each step seen in the client itself.
async fn drives(file: &'static str, db: &TestDb, program: &Program) {
    let kind = file.trim_end_matches(".wasm");
    let server = TestServer::builder(db).plugins(&[file]).start().await;
    let api = server.admin();
    let client = Transmission::start_program(program).await;
    until_true("the plugin to be in use", || async {
        let plugins = api.get("/api/plugins").await;
        plugins.as_array().into_iter().flatten().any(|plugin| {
            assert_ne!(plugin["state"], "failed", "{plugin}");
            plugin["id"] == kind && plugin["state"] == "active"
        })
    })
    .await;
    let engine = api.add_engine("Foreign", kind, client.config()).await;
    let tracker = Tracker::start().await;
    let sample = Sample::new("foreign ü.bin", 1024 * 1024, 33, Format::V1, &tracker.announce());
    sample.write_to(&client.downloads());
    let fields = [("engineId", engine.as_str()), ("startPaused", "true")];
    until_true("the engine to be listed", || async {
        let reply = api
            .send("GET", &format!("/api/torrents?engineId={engine}"), None)
            .await;
        reply.status == 200
    })
    .await;
    api.upload_torrent(&fields, &sample.metainfo).await;
    let listed = api
        .until_torrent(&engine, &sample.hash, "it to be listed, stopped", |torrent| {
            torrent["state"] == "stopped"
        })
        .await;
    assert_eq!(listed["name"], json!(sample.name));
    assert_eq!(listed["savePath"], json!(client.downloads()));

    order(&api, &engine, &sample.hash, "recheck").await;
    api.until_torrent(&engine, &sample.hash, "its data to be found", |torrent| {
        torrent["progress"] == json!(1.0)
    })
    .await;
    order(&api, &engine, &sample.hash, "start").await;
    api.until_torrent(&engine, &sample.hash, "it to seed", |torrent| {
        torrent["state"] == "seeding"
    })
    .await;
    let status = client.torrents(&["status"]).await;
    assert_eq!(status, [json!({ "status": 6 })], "asked directly");

    let part = |name: &str| format!("/api/torrents/{}/{name}?engineId={engine}", sample.hash);
    let files = api.get(&part("files")).await;
    assert_eq!(files[0]["size"], json!(1024 * 1024), "{files}");
    let trackers = api.get(&part("trackers")).await;
    assert_eq!(trackers[0]["url"], json!(tracker.announce()), "{trackers}");
    let refused = api
        .send(
            "POST",
            &format!("/api/torrents/{}/rename?engineId={engine}", sample.hash),
            Some(&json!({ "name": "x" })),
        )
        .await;
    assert_eq!(refused.status, 400, "{}", refused.text());

    api.delete(&format!("/api/torrents/{}?engineId={engine}", sample.hash))
        .await;
    assert!(
        client.torrents(&["hashString"]).await.is_empty(),
        "asked directly"
    );
    let plugin = api.get("/api/plugins").await;
    assert_eq!(plugin[0]["traps"], json!(0), "{plugin}");
}

async fn order(api: &Api, engine: &str, hash: &str, command: &str) {
    api.act(&format!("/api/torrents/{hash}/{command}?engineId={engine}"))
        .await;
}
