//! Torrents created from files in the roots and seeded at once: the client checks the content, and has all of it.

use std::time::Duration;

use qm_testkit::generations::Program;
use qm_testkit::rtorrent::Mode;
use qm_testkit::wait::until_true;
use qm_testkit::{Api, TestDb, TestServer, every_generation};
use serde_json::{Value, json};

use crate::client::{Client, Doing};

const PLUGINS: &[&str] = &["scgi_client.wasm", "webapi_client.wasm"];
/// The longest wait for a job.
const DEADLINE: Duration = Duration::from_mins(2);

every_generation! { rtorrent: an_rtorrent_seeds_what_is_created }

every_generation! { qbittorrent: a_qbittorrent_seeds_what_is_created }

async fn an_rtorrent_seeds_what_is_created(db: &TestDb, program: &Program) {
    let client = Client::rtorrent_of(program, Mode::Tcp).await;
    // Of folders it takes version 1 only.
    let refused = [("pack", "hybrid")];
    seed_all(db, client, &[("pack", "v1"), ("film.bin", "hybrid")], &refused).await;
}

async fn a_qbittorrent_seeds_what_is_created(db: &TestDb, program: &Program) {
    let client = Client::qbittorrent_of(program).await;
    let all = [("pack", "v1"), ("film.bin", "v1"), ("other", "hybrid")];
    seed_all(db, client, &all, &[]).await;
}

/// Bytes that are not the same in two pieces.
fn content(seed: u8, length: usize) -> Vec<u8> {
    let mut state = u32::from(seed) + 1;
    let next = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    (0..length).map(next).collect()
}

fn wish(path: &str, format: &str, engine: &str) -> Value {
    json!({
        "path": format!("/shelf/{path}"), "format": format, "private": true, "trackers": [["http://127.0.0.1:9/announce"]],
        "seed": { "engineId": engine, "category": "made", "tags": ["here"] },
    })
}

/// Waits until a torrent is created, or is not.
async fn until_ended(api: &Api, created: &Value) -> Value {
    let path = format!("/api/torrents/created/{}", created["id"].as_str().expect("an id"));
    let waiting = async {
        loop {
            let now = api.get(&path).await;
            if !now["endedAt"].is_null() {
                return now;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(DEADLINE, waiting)
        .await
        .expect("the job ends")
}

async fn seed_all(db: &TestDb, client: Client, all: &[(&str, &str)], refused: &[(&str, &str)]) {
    let root = client.downloads();
    let server = TestServer::builder(db)
        .plugins(PLUGINS)
        .env("FILE_MANAGER_ROOTS", root.display().to_string())
        .start()
        .await;
    let api = server.admin();
    let engine = api.add_engine("seedbox", client.kind(), client.config()).await;
    for (number, folder) in (1..).zip(["pack", "other"]) {
        let at = root.join("shelf").join(folder);
        std::fs::create_dir_all(at.join("sub")).expect("our own directory");
        for (name, length) in [("a.bin", 300_001), ("sub/b.bin", 70_000), ("c.txt", 10)] {
            std::fs::write(at.join(name), content(number, length)).expect("our own directory");
        }
    }
    std::fs::write(root.join("shelf/film.bin"), content(9, 500_000)).expect("our own directory");

    for (path, format) in refused {
        let reply = api
            .send(
                "POST",
                "/api/torrents/created",
                Some(&wish(path, format, &engine)),
            )
            .await;
        let said = reply.json();
        assert_eq!(
            (reply.status, &said["code"]),
            (400, &json!("bad_request.hybrid_folder")),
            "{said}"
        );
    }
    for (path, format) in all {
        let created = api
            .post("/api/torrents/created", wish(path, format, &engine))
            .await;
        let made = until_ended(&api, &created).await;
        assert_eq!(
            (&made["state"], &made["seeding"]["state"]),
            (&json!("completed"), &json!("added")),
            "{path} {format}: {made}"
        );
        let id = made["id"].as_str().expect("an id");
        let request = api.request("GET", &format!("/api/torrents/created/{id}/file"));
        let reply = request.send().await.expect("the server answers");
        assert_eq!(reply.header("content-type"), Some("application/x-bittorrent"));
        assert!(reply.body.starts_with(b"d8:announce"), "{path} {format}");

        // Asked directly: hybrids may have another name there.
        let hash = made["infoHash"].as_str().expect("a hash");
        let mut listed = hash.to_owned();
        if let Some(other) = made["infoHashV2"].as_str()
            && !client.lists(hash).await
        {
            other[..40].clone_into(&mut listed);
        }
        let size = made["size"].as_u64().expect("a size");
        let what = format!("{path} {format} to be whole in the client");
        until_true(&what, || async {
            client.doing(&listed).await == Doing::Running && client.completed_bytes(&listed).await >= size
        })
        .await;
        let shown = api
            .until_torrent(&engine, hash, "it to be shown as whole", |torrent| {
                torrent["progress"].as_f64() >= Some(1.0) && torrent["state"] == json!("seeding")
            })
            .await;
        assert_eq!(
            (&shown["label"], &shown["tags"]),
            (&json!("made"), &json!(["here"])),
            "{shown}"
        );
        assert_eq!(shown["isPrivate"], json!(true), "{shown}");
    }
}
