//! Pages of 30,000 torrents chosen by a filter with groups: by many who ask the same, and by one who asks for another each time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use qm_db::Backend;
use qm_ports::engine::{Torrent, TorrentState};
use qm_test_base::engine::{FakeEngine, FakeKinds, numbered};
use qm_testkit::{Api, TestDb, TestServer};
use serde_json::{Value, json};

use crate::http_load;
use crate::report::Report;

const TORRENTS: u64 = 30_000;
/// Filters of which none was asked for before.
const OTHERS: u64 = 500;

fn torrent(number: u64) -> Torrent {
    Torrent {
        ratio: (number % 40) as f64 / 10.0,
        size: number * 1000,
        state: *[
            TorrentState::Seeding,
            TorrentState::Downloading,
            TorrentState::Paused,
        ]
        .get(number as usize % 3)
        .unwrap_or(&TorrentState::Seeding),
        label: (!number.is_multiple_of(4)).then(|| format!("label-{}", number % 9)),
        tracker_host: Some(format!("tracker-{}.example", number % 7)),
        ..numbered(number)
    }
}

/// One of two groups has to hold; none of three conditions chooses much by itself.
fn filter(number: u64) -> String {
    let filter: Value = json!([
        { "field": "size", "op": "gt", "value": number },
        { "any": [
            { "all": [
                { "field": "ratio", "op": "gte", "value": 2 },
                { "any": [
                    { "field": "label", "op": "eq", "value": "label-3" },
                    { "field": "trackerHost", "op": "eq", "value": "tracker-5.example" },
                ] },
            ] },
            { "all": [
                { "field": "state", "op": "eq", "value": "paused" },
                { "field": "name", "op": "contains", "value": "77" },
            ] },
        ] },
    ]);
    filter
        .to_string()
        .bytes()
        .map(|byte| format!("%{byte:02X}"))
        .collect()
}

fn path(number: u64) -> String {
    let filter = filter(number);
    format!("/api/torrents?pageSize=50&sortBy=name&sortDir=asc&filter={filter}")
}

pub async fn measure(report: &mut Report) {
    let Some(db) = TestDb::fresh(Backend::Sqlite).await else {
        return;
    };
    let kinds = FakeKinds::first_party();
    let engine = kinds.engine("one");
    for number in 1..=TORRENTS {
        engine.put(torrent(number));
    }
    let server = TestServer::builder(&db).kinds(kinds).start().await;
    let admin = server.admin();
    let id = admin
        .add_engine("fake", "scgi_client", json!({ "host": "one" }))
        .await;
    let last = torrent(TORRENTS).hash;
    admin
        .until_torrent(&id, &last, "the torrents to be listed", |_| true)
        .await;
    same(report, &admin, &engine).await;
    others(report, &admin).await;
    server.end().await;
    db.remove().await;
}

/// Many ask the same while torrents move, so that each tick makes the page anew.
async fn same(report: &mut Report, admin: &Api, engine: &Arc<FakeEngine>) {
    let ends = Arc::new(AtomicBool::new(false));
    let moving = tokio::spawn({
        let (engine, ends) = (engine.clone(), ends.clone());
        async move {
            while !ends.load(Ordering::SeqCst) {
                for number in 1..=200 {
                    engine.change(&torrent(number).hash, |torrent| torrent.uploaded += 1000);
                }
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        }
    });
    let (url, token) = (format!("{}{}", admin.base(), path(0)), admin.token().to_owned());
    let loaded = tokio::task::spawn_blocking(move || http_load::run(&url, &token, 3, 10));
    let load = loaded.await.expect("a load");
    ends.store(true, Ordering::SeqCst);
    moving.await.expect("an end");
    report.add(
        "GET /api/torrents with a filter of two groups in a group, page 50 of 30,000, 200 of which move, 16 connections",
        format!("{:.0} req/s, p99 {:.1} ms", load.per_second, load.p99_ms),
        "p99 ≤ 10 ms",
    );
}

/// One asks for another filter each time, so that no page was made before.
async fn others(report: &mut Report, admin: &Api) {
    let mut took = Vec::new();
    for number in 1..=OTHERS {
        let path = path(number);
        let begun = Instant::now();
        let reply = admin.send("GET", &path, None).await;
        took.push(begun.elapsed().as_secs_f64() * 1000.0);
        assert_eq!(reply.status, 200, "{}", reply.text());
    }
    took.sort_by(f64::total_cmp);
    let at = |percent: usize| took[took.len() * percent / 100];
    report.add(
        "the same, with another filter each time, one after the other",
        format!("p50 {:.1} ms, p99 {:.1} ms", at(50), at(99)),
        "p99 ≤ 10 ms",
    );
}
