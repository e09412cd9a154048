//! Removals with data whose success was seen: names that clients cannot write.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use qm_testkit::generations::Program;
use qm_testkit::rtorrent::Mode;
use qm_testkit::sample::named_by_bytes;
use qm_testkit::{Api, TestDb, TestServer, every_generation};
use serde_json::json;

use crate::client::Client;

const PLUGINS: &[&str] = &["scgi_client.wasm", "webapi_client.wasm"];

every_generation! { rtorrent: names_that_an_rtorrent_cannot_write_are_removed }

every_generation! { qbittorrent: names_that_a_qbittorrent_cannot_write_are_removed }

async fn names_that_an_rtorrent_cannot_write_are_removed(db: &TestDb, program: &Program) {
    removed(db, Client::rtorrent_of(program, Mode::Tcp).await).await;
}

async fn names_that_a_qbittorrent_cannot_write_are_removed(db: &TestDb, program: &Program) {
    removed(db, Client::qbittorrent_of(program).await).await;
}

/// Files in a directory, at any depth.
fn files(at: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![at.to_owned()];
    while let Some(at) = open.pop() {
        for entry in std::fs::read_dir(&at).into_iter().flatten().flatten() {
            if entry.path().is_dir() {
                open.push(entry.path());
            } else {
                found.push(entry.path());
            }
        }
    }
    found
}

async fn removed(db: &TestDb, client: Client) {
    let root = tempfile::tempdir().expect("a temporary directory");
    let server = TestServer::builder(db)
        .plugins(PLUGINS)
        .env("FILE_MANAGER_ROOTS", root.path().display().to_string())
        .start()
        .await;
    let api = server.admin();
    let engine = api.add_engine("tested", client.kind(), client.config()).await;
    let names: [&[u8]; 4] = [
        "\u{1f3ac} film \u{1f44d}\u{1f3fd}.bin".as_bytes(),
        b"caf\xe9 latin.bin",
        "e\u{301}te\u{301} and \u{e9}t\u{e9}.bin".as_bytes(),
        b"plain?name.bin",
    ];
    for (number, name) in names.iter().enumerate() {
        // It calls such a file otherwise, on disk as well.
        if matches!(client, Client::Qbittorrent(_)) && std::str::from_utf8(name).is_err() {
            continue;
        }
        for folder in [false, true] {
            let at = root.path().join(format!("{number}-{folder}"));
            let top = at.join(OsStr::from_bytes(name));
            if folder {
                std::fs::create_dir_all(&top).expect("our own directory");
                std::fs::write(top.join(OsStr::from_bytes(name)), "01234").expect("our own directory");
                std::fs::write(top.join("plain.txt"), "56789").expect("our own directory");
            } else {
                std::fs::create_dir_all(&at).expect("our own directory");
                std::fs::write(&top, "0123456789").expect("our own directory");
            }
            std::fs::write(at.join("beside.txt"), "not the torrent's").expect("our own directory");
            add_and_remove(&api, &engine, &at, named_by_bytes(name, folder)).await;
            let left = files(&at);
            assert_eq!(
                left,
                [at.join("beside.txt")],
                "{:?}, folder: {folder}",
                String::from_utf8_lossy(name)
            );
            assert!(!top.exists());
        }
    }
    server.end().await;
}

/// Adds a torrent and removes it with its data.
async fn add_and_remove(api: &Api, engine: &str, at: &Path, (metainfo, hash): (Vec<u8>, String)) {
    let place = at.display().to_string();
    let fields = [("engineId", engine), ("savePath", place.as_str())];
    api.upload_torrent(&fields, &metainfo).await;
    api.until_torrent(engine, &hash, "it to be checked", |torrent| {
        torrent["state"] != "checking" && torrent["size"] == 10
    })
    .await;
    let reply = api
        .send(
            "DELETE",
            &format!("/api/torrents/{hash}/data?engineId={engine}"),
            None,
        )
        .await;
    assert_eq!(
        (reply.status, reply.json()),
        (200, json!({ "success": true })),
        "{}",
        reply.text()
    );
}
