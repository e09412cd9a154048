//! Looks that take long: they keep no change waiting, and end with whoever asked.

use std::sync::Arc;

use qm_kernel::Role;
use qm_testkit::wait::until_true;
use qm_testkit::{Api, TestServer, both_databases};
use serde_json::{Value, json};

use super::site::Site;

/// As many looks of this kind at once as there are places for.
const PLACES: usize = 4;
/// The most that one may ask about.
const SOURCES: usize = 1000;
/// As much as is read of one file at most.
const SIZE: u64 = 16 * 1024 * 1024;

/// Two folders whose files have each other's names, lengths and contents: whoever compares them reads 32 GiB.
fn alike(site: &Site) -> Vec<String> {
    for folder in ["in", "tv"] {
        site.folder(folder);
        let first = site.path_of(format!("{folder}/0"));
        std::fs::File::create(&first)
            .and_then(|file| file.set_len(SIZE))
            .expect("a sparse file");
        for number in 1..SOURCES {
            std::fs::hard_link(&first, site.path_of(format!("{folder}/{number}"))).expect("another name");
        }
    }
    (0..SOURCES).map(|number| format!("/in/{number}")).collect()
}

async fn in_flight(api: &Api) -> u64 {
    let reply = api.send("GET", "/api/system/metrics", None).await;
    let text = reply.text();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("quartermaster_http_in_flight "));
    line.and_then(|count| count.parse().ok()).expect("a gauge")
}

both_databases! {
    async fn a_reader_stops_no_change_and_stops_reading_when_it_hangs_up(db: &TestDb) {
        let site = Site::new();
        let sources = Arc::new(alike(&site));
        site.write("from/folder/file", "content");
        site.write("spare/folder/file", "content");
        let server = TestServer::builder(db).env("FILE_MANAGER_ROOTS", site.roots()).start().await;
        let admin = server.admin();
        let compare = |sources: &[String]| json!({ "operation": "copy", "sources": sources, "destination": "/tv" });
        let idle = in_flight(&admin).await;
        let readers: Vec<_> = (0..PLACES)
            .map(|_| {
                let (reader, body) = (server.user(Role::ReadOnly), compare(&sources));
                tokio::spawn(async move { reader.send("POST", "/api/files/move-conflicts", Some(&body)).await })
            })
            .collect();
        until_true("the looks to begin", || async { in_flight(&admin).await >= idle + PLACES as u64 }).await;

        let act = async |path: &str, body: Value| {
            let reply = admin.send("POST", path, Some(&body)).await;
            assert_eq!(reply.status, 201, "{path}: {}", reply.text());
        };
        act("/api/files/folders", json!({ "path": "/", "name": "made" })).await;
        act("/api/files/copy", json!({ "source": "/from/folder", "destination": "/made" })).await;
        act("/api/files/rename", json!({ "path": "/made/folder", "newName": "renamed" })).await;
        act("/api/files/move", json!({ "source": "/made/renamed", "destination": "/from" })).await;
        act("/api/files/delete", json!({ "path": "/from/renamed", "permanent": true })).await;
        act("/api/files/delete", json!({ "path": "/spare" })).await;
        assert_eq!(admin.send("GET", "/api/files?path=/from", None).await.status, 200);
        assert!(!readers.iter().any(tokio::task::JoinHandle::is_finished), "they look all the time");

        for reader in &readers {
            reader.abort();
        }
        // Their places are free again: this look would otherwise find none.
        let report = admin.send("POST", "/api/files/move-conflicts", Some(&compare(&sources[..1]))).await;
        assert_eq!(report.status, 201, "{}", report.text());
        assert_eq!(report.json()["conflicts"][0]["kind"], "identical");
    }
}
