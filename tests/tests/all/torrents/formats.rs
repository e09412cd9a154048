//! BitTorrent v1, v2 and hybrid torrents, as files and as magnet links, through the API to real clients. A hybrid goes by
//! its v1 hash with us, whatever the client calls it.

use qm_testkit::generations::Program;
use qm_testkit::qbittorrent::Qbittorrent;
use qm_testkit::rtorrent::{Mode, Rtorrent};
use qm_testkit::sample::{Format, Sample};
use qm_testkit::wait::until_true;
use qm_testkit::{Api, TestDb, TestServer, every_generation};
use serde_json::{Value, json};

const ANNOUNCE: &str = "http://127.0.0.1:9/announce";

async fn upload(api: &Api, engine: &str, sample: &Sample) -> Value {
    let fields = [
        ("engineId", engine),
        ("startPaused", "true"),
        ("tags", "one, two words"),
    ];
    api.upload_torrent(&fields, &sample.metainfo).await
}

/// A server with an rTorrent: the client, the server, its administrator and the engine's id.
async fn with_rtorrent(db: &TestDb, program: &Program) -> (Rtorrent, TestServer, Api, String) {
    let client = Rtorrent::start_program(program, Mode::Tcp).await;
    let server = TestServer::builder(db)
        .plugins(&["scgi_client.wasm"])
        .start()
        .await;
    let api = server.admin();
    let engine = api.add_engine("r", "scgi_client", client.config()).await;
    (client, server, api, engine)
}

every_generation! { qbittorrent: qbittorrent_takes_every_format }

every_generation! { rtorrent:
    rtorrent_takes_v1_and_hybrids_and_says_no_to_v2,
    rtorrent_survives_what_would_end_it,
}

async fn qbittorrent_takes_every_format(db: &TestDb, program: &Program) {
    let client = Qbittorrent::start_program(program).await;
    let server = TestServer::builder(db)
        .plugins(&["webapi_client.wasm"])
        .start()
        .await;
    let api = server.admin();
    let engine = api.add_engine("q", "webapi_client", client.config()).await;
    for (seed, format) in (41..).zip([Format::V1, Format::V2, Format::Hybrid]) {
        let file = Sample::new(&format!("file-{seed}.bin"), 700_000, seed, format, ANNOUNCE);
        assert_eq!(
            upload(&api, &engine, &file).await,
            json!({ "hash": file.hash }),
            "{format:?}"
        );
        let again = upload(&api, &engine, &file).await;
        let existed = json!({ "hash": file.hash, "existed": true });
        let with_tags = json!({ "hash": file.hash, "existed": true, "applied": [], "ignored": ["tags"] });
        assert_eq!(again, with_tags, "{format:?}: what it has already is adopted");
        let body = json!({ "engineId": engine, "magnet": file.magnet });
        assert_eq!(
            api.post("/api/torrents", body).await,
            existed,
            "{format:?}: by magnet too"
        );
        let tags = json!(["one", "two words"]);
        api.until_torrent(&engine, &file.hash, "the client's tags", |torrent| {
            torrent["tags"] == tags
        })
        .await;
        let link = Sample::new(&format!("link-{seed}.bin"), 700_000, seed, format, ANNOUNCE);
        let body = json!({ "engineId": engine, "magnet": link.magnet });
        assert_eq!(
            api.post("/api/torrents", body).await,
            json!({ "hash": link.hash }),
            "{format:?}"
        );
        for sample in [&file, &link] {
            assert!(
                client.torrent(&sample.qbittorrent_hash).await.is_some(),
                "{format:?}: asked directly"
            );
            api.until_torrent(&engine, &sample.hash, "it to be listed", |_| true)
                .await;
            api.delete(&format!("/api/torrents/{}?engineId={engine}", sample.hash))
                .await;
            until_true("the client to forget it", || async {
                client.torrent(&sample.qbittorrent_hash).await.is_none()
            })
            .await;
        }
    }
}

async fn rtorrent_takes_v1_and_hybrids_and_says_no_to_v2(db: &TestDb, program: &Program) {
    let (client, _server, api, engine) = with_rtorrent(db, program).await;
    for (seed, format) in (51..).zip([Format::V1, Format::Hybrid]) {
        let sample = Sample::new(&format!("file-{seed}.bin"), 700_000, seed, format, ANNOUNCE);
        assert_eq!(
            upload(&api, &engine, &sample).await,
            json!({ "hash": sample.hash }),
            "{format:?}"
        );
        assert!(
            client.hashes().await.contains(&sample.hash),
            "{format:?}: asked directly"
        );
        let existed = json!({ "hash": sample.hash, "existed": true, "applied": [], "ignored": ["tags"] });
        assert_eq!(upload(&api, &engine, &sample).await, existed, "{format:?}");
        // Neither of which the client knows.
        let torrent = api
            .torrent(&engine, &sample.hash)
            .await
            .expect("it is shown at once");
        assert_eq!(torrent["tags"], json!(["one", "two words"]), "{format:?}");
        assert!(torrent["addedAt"].is_string(), "{format:?}: {torrent}");
    }
    let v2 = Sample::new("two.bin", 700_000, 53, Format::V2, ANNOUNCE);
    let file = ("file", "two.torrent", v2.metainfo.as_slice());
    let request = api
        .request("POST", "/api/torrents/upload")
        .multipart(&[("engineId", engine.as_str())], &[file]);
    let reply = request.send().await.expect("the server answers");
    assert_eq!(reply.status, 400, "{}", reply.text());
    let refusal = "This engine takes no torrents that are v2 only, and this one has no v1 info-hash";
    assert_eq!(reply.json()["message"], refusal);
    let body = json!({ "engineId": engine, "magnet": v2.magnet });
    assert_eq!(api.send("POST", "/api/torrents", Some(&body)).await.status, 400);
}

async fn rtorrent_survives_what_would_end_it(db: &TestDb, program: &Program) {
    let (client, _server, api, engine) = with_rtorrent(db, program).await;
    let torrent = |paths: &[&str]| {
        let files: String = paths
            .iter()
            .map(|path| format!("d6:lengthi4e4:pathl{path}ee"))
            .collect();
        let pieces = "x".repeat(20);
        format!(
            "d8:announce{}:{ANNOUNCE}4:infod5:filesl{files}e4:name4:pack12:piece lengthi16384e6:pieces20:{pieces}ee",
            ANNOUNCE.len()
        )
    };
    for (paths, fault) in [
        (&["1:a", "1:a"][..], "info.files: two files are called \"a\""),
        (
            &["1:a", "1:a1:b"][..],
            "info.files: \"a\" is both a file and a folder",
        ),
        (&["1:a", "0:1:b"][..], "info.files[1].path: name 0 is empty"),
        (
            &["1:a", "2:..1:b"][..],
            "info.files[1].path: name 0 is `.` or `..`",
        ),
    ] {
        let file = torrent(paths);
        let file = ("file", "a.torrent", file.as_bytes());
        let request = api
            .request("POST", "/api/torrents/upload")
            .multipart(&[("engineId", engine.as_str())], &[file]);
        let reply = request.send().await.expect("the server answers");
        assert_eq!(
            (reply.status, &reply.json()["message"]),
            (400, &json!(format!("Invalid .torrent file: {fault}")))
        );
    }
    let good = torrent(&["1:a", "1:b"]);
    let file = ("file", "a.torrent", good.as_bytes());
    let request = api
        .request("POST", "/api/torrents/upload")
        .multipart(&[("engineId", engine.as_str())], &[file]);
    let reply = request.send().await.expect("the server answers");
    assert_eq!(reply.status, 201, "it lives: {}", reply.text());
    assert_eq!(client.hashes().await.len(), 1);
}
