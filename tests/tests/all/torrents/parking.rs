//! Parking, seen in the client itself: the end of a probe, the next probe, and a torrent that is taken back.

use qm_db::sql;
use qm_kernel::{Ctx, Timestamp};
use qm_testkit::generations::Program;
use qm_testkit::rtorrent::Mode;
use qm_testkit::sample::{Format, Sample};
use qm_testkit::wait::until_true;
use qm_testkit::{TestDb, TestServer, every_generation};
use serde_json::{Value, json};

use crate::client::{Client, Doing};

const PLUGINS: &[&str] = &["scgi_client.wasm", "webapi_client.wasm"];
/// Nobody is there.
const ANNOUNCE: &str = "http://127.0.0.1:9/announce";
const TEN_MINUTES_MS: i64 = 600_000;

sql! {
    PROBED = "INSERT INTO torrent_parking (engine_id, hash, name, reason, parked_at, rests_since, probing_since, last_probed_at, \
        probe_count, last_seeders, released_at, updated_at) VALUES ($1, $2, 'nobody.bin', 'no_seeders', $3, NULL, $4, NULL, 0, 0, \
        NULL, $3)";
    DUE = "UPDATE torrent_parking SET last_probed_at = 0 WHERE engine_id = $1";
}

every_generation! { rtorrent: an_rtorrent_parks_and_probes }

every_generation! { qbittorrent: a_qbittorrent_parks_and_probes }

async fn an_rtorrent_parks_and_probes(db: &TestDb, program: &Program) {
    park_and_probe(db, Client::rtorrent_of(program, Mode::Tcp).await).await;
}

async fn a_qbittorrent_parks_and_probes(db: &TestDb, program: &Program) {
    park_and_probe(db, Client::qbittorrent_of(program).await).await;
}

async fn until_doing(client: &Client, sample: &Sample, wanted: Doing) {
    until_true(&format!("the client to have it {wanted:?}"), || async {
        client.doing(&sample.hash).await == wanted
    })
    .await;
}

async fn park_and_probe(db: &TestDb, client: Client) {
    let root = client.downloads().display().to_string();
    let server = TestServer::builder(db)
        .plugins(PLUGINS)
        .env("FILE_MANAGER_ROOTS", root.clone())
        .start()
        .await;
    let api = server.admin();
    let engine = api.add_engine("parked", client.kind(), client.config()).await;
    let sample = Sample::new("nobody.bin", 300_000, 81, Format::V1, ANNOUNCE);
    let fields = [("engineId", engine.as_str()), ("savePath", root.as_str())];
    api.upload_torrent(&fields, &sample.metainfo).await;
    let is_loading = |torrent: &Value| torrent["state"] == json!("downloading");
    api.until_torrent(&engine, &sample.hash, "it to be shown as downloading", is_loading)
        .await;
    let rules = api
        .patch("/api/torrents/parking/settings", json!({ "enabled": true }))
        .await;
    assert_eq!(rules["enabled"], json!(true), "{rules}");

    // As an earlier process left it: it runs for ten minutes to see if somebody is there.
    let now: Timestamp = Ctx::system().now();
    let mut tx = server.db().begin_write().await.expect("a transaction");
    let since = Some(now.ms() - TEN_MINUTES_MS);
    qm_db::exec!(&mut tx, PROBED, &engine, &sample.hash, now.ms(), since)
        .await
        .expect("a row")
        .exactly(1)
        .expect("one row");
    tx.commit().await.expect("a commit");
    let swept = api.act("/api/torrents/parking/run").await;
    let dead = json!({ "parked": 0, "revived": 0, "probed": 0, "stillDead": 1 });
    assert_eq!(swept, dead);
    until_doing(&client, &sample, Doing::Paused).await;
    let rests = |torrent: &Value| {
        torrent["parked"]["probeCount"] == json!(1) && torrent["parked"]["probing"] == json!(false)
    };
    api.until_torrent(&engine, &sample.hash, "its mark to count the probe", rests)
        .await;

    let mut tx = server.db().begin_write().await.expect("a transaction");
    qm_db::exec!(&mut tx, DUE, &engine)
        .await
        .expect("a row")
        .exactly(1)
        .expect("one row");
    tx.commit().await.expect("a commit");
    let swept = api.act("/api/torrents/parking/run").await;
    let probed = json!({ "parked": 0, "revived": 0, "probed": 1, "stillDead": 0 });
    assert_eq!(swept, probed);
    until_doing(&client, &sample, Doing::Running).await;
    let is_probed = |torrent: &Value| torrent["parked"]["probing"] == json!(true);
    api.until_torrent(
        &engine,
        &sample.hash,
        "its mark to say that it is probed",
        is_probed,
    )
    .await;

    let path = format!("/api/torrents/parking/{}/unpark", sample.hash);
    let unparked = api.post(&path, json!({ "engineId": engine })).await;
    assert_eq!(unparked, json!({ "success": true }));
    assert_eq!(api.get("/api/torrents/parking").await, json!([]));
    let is_free = |torrent: &Value| torrent["parked"].is_null();
    api.until_torrent(&engine, &sample.hash, "its mark to be gone", is_free)
        .await;
    until_doing(&client, &sample, Doing::Running).await;
    server.end().await;
}
