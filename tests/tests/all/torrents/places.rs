//! Places that a client saves to: the directory that the client itself tells when a link was given.

use std::os::unix::fs::symlink;

use qm_testkit::generations::Program;
use qm_testkit::http::Reply;
use qm_testkit::rtorrent::Mode;
use qm_testkit::sample::{Format, Sample};
use qm_testkit::{Api, TestDb, TestServer, every_generation};
use serde_json::json;

use crate::client::Client;

const ANNOUNCE: &str = "http://127.0.0.1:9/announce";

every_generation! { rtorrent: a_save_path_through_a_link_never_leaves_the_roots }

async fn upload(api: &Api, sample: &Sample, place: &str) -> Reply {
    let file = ("file", "x.torrent", sample.metainfo.as_slice());
    let request = api.request("POST", "/api/torrents/upload");
    let request = request.multipart(&[("savePath", place), ("startPaused", "false")], &[file]);
    request.send().await.expect("the server answers")
}

async fn a_save_path_through_a_link_never_leaves_the_roots(db: &TestDb, program: &Program) {
    let client = Client::rtorrent_of(program, Mode::Tcp).await;
    let root = client.downloads();
    let server = TestServer::builder(db)
        .plugins(&["scgi_client.wasm"])
        .env("FILE_MANAGER_ROOTS", root.display().to_string())
        .start()
        .await;
    let api = server.admin();
    let engine = api.add_engine("seedbox", client.kind(), client.config()).await;
    let outside = client.other_directory();
    std::fs::create_dir(root.join("real")).expect("our own directory");
    for (link, to) in [("out", outside.as_path()), ("in", std::path::Path::new("real"))] {
        symlink(to, root.join(link)).expect("our own directory");
    }
    let at = |place: &str| root.join(place).display().to_string();
    let sample = |name: &str, seed| Sample::new(name, 100_000, seed, Format::V1, ANNOUNCE);
    let hostile = sample("hostile.bin", 71);
    for place in ["out", "out/new"] {
        let refused = upload(&api, &hostile, &at(place)).await;
        assert_eq!(refused.status, 403, "{place}: {}", refused.text());
        assert!(
            refused.text().contains("outside the allowed storage roots"),
            "{}",
            refused.text()
        );
    }
    let kept = sample("kept.bin", 72);
    let added = upload(&api, &kept, &at("in/new")).await;
    assert_eq!(added.status, 201, "{}", added.text());
    api.until_torrent(&engine, &kept.hash, "it to be listed", |_| true)
        .await;
    assert_eq!(client.directory(&kept.hash).await, at("real/new"));
    for place in ["out", "out/new"] {
        let body = json!({ "destination": at(place) });
        let path = format!("/api/torrents/{}/move", kept.hash);
        let refused = api.send("POST", &path, Some(&body)).await;
        assert_eq!(refused.status, 403, "{place}: {}", refused.text());
    }
    assert_eq!(client.directory(&kept.hash).await, at("real/new"));
    let left: Vec<_> = std::fs::read_dir(&outside).expect("our own directory").collect();
    assert!(left.is_empty(), "the client wrote there: {left:?}");
    assert_eq!(
        api.get("/api/torrents").await["total"],
        json!(1),
        "the client has one torrent"
    );
}
