//! The standing of torrents with their trackers, and paths of files, by real clients of both kinds and a real tracker, which serves the
//! torrents of a list.

use std::path::Path;
use std::time::Duration;

use qm_testkit::generations::Program;
use qm_testkit::rtorrent::Mode;
use qm_testkit::sample::{Format, Sample};
use qm_testkit::tracker::Tracker;
use qm_testkit::{TestDb, TestServer, every_generation};
use serde_json::json;

use crate::client::Client;

every_generation! { rtorrent: rtorrent_tells_the_standing }
every_generation! { qbittorrent: qbittorrent_tells_the_standing }

async fn rtorrent_tells_the_standing(db: &TestDb, program: &Program) {
    tells_the_standing(db, Client::rtorrent_of(program, Mode::Tcp).await).await;
}

async fn qbittorrent_tells_the_standing(db: &TestDb, program: &Program) {
    tells_the_standing(db, Client::qbittorrent_of(program).await).await;
}

async fn tells_the_standing(db: &TestDb, client: Client) {
    let tracker = Tracker::start().await;
    let known = Sample::new("known.bin", 100_000, 91, Format::V1, &tracker.announce());
    let lost = Sample::new("lost.bin", 100_000, 92, Format::V1, &tracker.announce());
    let names = vec!["a.bin".to_owned(), "b \u{e9}.bin".to_owned()];
    let folder = Sample::folder("Folder", names, 50_000, 93, "http://127.0.0.1:9/announce");
    tracker.allow(&known.hash).await;
    for sample in [&known, &lost, &folder] {
        client.seed(sample).await;
    }
    let server = TestServer::builder(db)
        .plugins(&["scgi_client.wasm", "webapi_client.wasm"])
        .start()
        .await;
    let api = server.admin();
    let engine = api.add_engine("under test", client.kind(), client.config()).await;
    let stands = async |sample: &Sample, standing: &'static str| {
        let what = format!("{} to be {standing}", sample.name);
        let stands = api.until_torrent(&engine, &sample.hash, &what, |torrent| {
            torrent["trackerStatus"] == standing && torrent["trackerHost"] == "127.0.0.1"
        });
        // A 5.x client now and then loses the answer to an announce, and makes the next one half an hour later.
        let announces = async {
            loop {
                tokio::time::sleep(Duration::from_secs(30)).await;
                client.announce_again(sample).await;
            }
        };
        tokio::select! {
            torrent = stands => torrent,
            () = announces => unreachable!("it announces for ever"),
        }
    };
    let torrent = stands(&known, "working").await;
    assert_eq!(torrent["state"], "seeding", "{torrent}");
    let torrent = stands(&lost, "unregistered").await;
    assert_eq!(torrent["state"], "error", "{torrent}");
    let said = torrent["trackerMessage"].as_str().unwrap_or_default();
    assert!(said.contains("not authorized"), "{torrent}");
    let torrent = stands(&folder, "failing").await;
    assert_eq!(torrent["state"], "seeding", "{torrent}");

    let filter = "%5B%7B%22field%22%3A%22trackerStatus%22%2C%22op%22%3A%22eq%22%2C%22value%22%3A%22unregistered%22%7D%5D";
    let found = api
        .get(&format!("/api/torrents?engineId={engine}&filter={filter}"))
        .await;
    assert_eq!(
        (&found["total"], &found["items"][0]["hash"]),
        (&json!(1), &json!(lost.hash))
    );
    let sorted = api
        .get(&format!(
            "/api/torrents?engineId={engine}&sortBy=trackerStatus&sortDir=desc"
        ))
        .await;
    assert_eq!(sorted["items"][0]["hash"], json!(known.hash), "{sorted}");

    for sample in [&known, &folder] {
        let torrent = api.torrent(&engine, &sample.hash).await.expect("it is listed");
        let save_path = torrent["savePath"].as_str().expect("a path");
        let path = format!("/api/torrents/{}/files?engineId={engine}", sample.hash);
        let files = api.get(&path).await;
        let files = files.as_array().expect("a list");
        assert_eq!(files.len(), sample.files.len().max(1));
        for file in files {
            let path = file["path"].as_str().expect("a path");
            assert!(Path::new(save_path).join(path).is_file(), "{save_path} {path}");
        }
    }
    server.end().await;
}
