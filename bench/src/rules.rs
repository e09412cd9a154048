//! Rules on 5,000 torrents: conditions evaluated per second, cost of an edge of a ratio that crosses no
//! threshold, and cost of 20 finished rules on an idle server.

use std::hint::black_box;
use std::time::{Duration, Instant};

use qm_conditions::{Conditions, Seen};
use qm_db::{Backend, Db, exec, sql, value};
use qm_kernel::Timestamp;
use qm_ports::engine::{Torrent, TorrentState};
use qm_ports::list::TorrentRecord;
use qm_test_base::engine::{FakeKinds, torrent};
use qm_testkit::{Api, TestDb, TestServer};
use serde_json::{Value, json};

use crate::report::{Report, median};
use crate::server::cpu_seconds;

const TORRENTS: u32 = 5000;
const RULES: u64 = 20;
const RUNS: usize = 9;
/// Time until an unwatched engine is polled at its quiet interval.
const UNTIL_QUIET: Duration = Duration::from_secs(35);
/// Seconds between two passes.
const A_PASS: f64 = 1.8;

sql! {
    RULE = "INSERT INTO automation_rules (id, name, conditions, trigger_key, actions, is_enabled, priority, created_at, updated_at) \
        VALUES ($1, $1, $2, 'torrent.completed', '[{\"type\":\"pause\"}]', $3, 0, 0, 0)";
    DONE = "INSERT INTO automation_ledger (rule_id, hash, position) VALUES ($1, $2, 0)";
    RUN = "SELECT COUNT(*) FROM automation_runs";
}

/// Typical rules: numbers, words, and a pattern in every fifth.
fn rules() -> Vec<Conditions> {
    (0..RULES)
        .map(|number| {
            let mut conditions = vec![
                json!({ "field": "ratio", "op": "gte", "value": number / 10 }),
                json!({ "field": "state", "op": "neq", "value": "error" }),
                json!({ "field": "size", "op": "gt", "value": number * 10 }),
            ];
            if number.is_multiple_of(5) {
                conditions.push(
                    json!({ "field": "name", "op": "matches", "value": "torrent-\\d*(7|x264|1080p)$" }),
                );
            }
            conditions
        })
        .map(|conditions: Vec<Value>| Conditions::compile(&conditions))
        .collect()
}

/// Nanoseconds per rule and torrent.
fn each(
    torrents: &[Torrent],
    rules: &[Conditions],
    judge: impl Fn(&Conditions, &TorrentRecord<'_>) -> bool,
) -> f64 {
    let now = Timestamp::from_secs(1_900_000_000);
    let runs = (0..RUNS).map(|_| {
        let begun = Instant::now();
        for torrent in torrents {
            let engine_id = "e";
            let record = TorrentRecord {
                engine_id,
                torrent,
                now,
                free_bytes: None,
            };
            for rule in rules {
                black_box(judge(black_box(rule), &record));
            }
        }
        begun.elapsed().as_nanos() as f64 / (torrents.len() * rules.len()) as f64
    });
    median(runs.collect())
}

pub async fn measure(report: &mut Report, seconds: u64) {
    judged(report);
    for backend in [Backend::Sqlite, Backend::Postgres] {
        match TestDb::fresh(backend).await {
            Some(db) => {
                idle(report, &db, seconds).await;
                db.remove().await;
            }
            None => report.add(
                format!("rules, {backend:?}"),
                "no such server on this machine",
                "",
            ),
        }
    }
}

/// A complete torrent.
fn complete(number: u32) -> Torrent {
    Torrent {
        progress: 1.0,
        state: TorrentState::Seeding,
        ..torrent(number)
    }
}

/// Rules that match every torrent, and a ledger with all pairs.
async fn done_with_all(db: &Db) {
    let told = "a row is written";
    let mut tx = db.begin_write().await.expect("a write");
    let conditions = json!([{ "field": "ratio", "op": "gte", "value": 0 }]).to_string();
    for rule in 0..RULES {
        let id = format!("rule-{rule}");
        let _ = exec!(&mut tx, RULE, &id, &conditions, true).await.expect(told);
        for number in 1..=TORRENTS {
            let _ = exec!(&mut tx, DONE, &id, &*torrent(number).hash)
                .await
                .expect(told);
        }
    }
    tx.commit().await.expect("a commit");
}

/// CPU seconds of this process per 60 s, measured over `seconds`. Includes the torrent client of the test.
async fn cpu(seconds: u64) -> f64 {
    let begun = cpu_seconds(std::process::id());
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    (cpu_seconds(std::process::id()) - begun) * 60.0 / seconds as f64
}

async fn switch(admin: &Api, is_enabled: bool) {
    for rule in 0..RULES {
        admin
            .patch(
                &format!("/api/automation/rules/rule-{rule}"),
                json!({ "isEnabled": is_enabled }),
            )
            .await;
    }
}

async fn idle(report: &mut Report, db: &TestDb, seconds: u64) {
    let backend = db.backend;
    let direct = Db::open(db.url()).await.expect("a database");
    direct.migrate().await.expect("the migrations");
    done_with_all(&direct).await;
    let kinds = FakeKinds::first_party();
    let engine = kinds.engine("one");
    for number in 1..=TORRENTS {
        engine.put(complete(number));
    }
    let server = TestServer::builder(db).kinds(kinds).start().await;
    let admin = server.admin();
    let id = admin
        .add_engine("fake", "scgi_client", json!({ "host": "one" }))
        .await;
    admin
        .until_torrent(&id, &torrent(TORRENTS).hash, "the torrents to be listed", |_| {
            true
        })
        .await;
    tokio::time::sleep(UNTIL_QUIET).await;
    let with = cpu(seconds).await;
    let mut tx = direct.begin_read().await.expect("a read");
    let decided = value!(&mut tx, i64, RUN).await.expect("a count");
    drop(tx);
    switch(&admin, false).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    let without = cpu(seconds).await;
    let begun = cpu_seconds(std::process::id());
    switch(&admin, true).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    let spent = cpu_seconds(std::process::id()) - begun - without * 5.0 / 60.0;
    direct.close().await;
    server.end().await;
    let of = format!("{backend:?}, 5,000 complete torrents, a client in memory");
    report.add(
        format!("CPU s per 60 s of an idle server, {of}: without rules, with 20 that are done with all"),
        format!("{without:.2}, {with:.2}"),
        "nothing that shows",
    );
    report.add(
        format!("a pass of 20 rules with nothing to do, {of}"),
        format!(
            "{:.1} ms of CPU, {decided} runs decided; no question to the database",
            ((with - without) * A_PASS / 60.0 * 1000.0).max(0.0)
        ),
        "≤ 50 ms, ≤ 3 questions",
    );
    report.add(
        format!("20 rules switched on again, each judged anew, {of}"),
        format!(
            "{:.0} ms of CPU in all, requests included",
            spent.max(0.0) * 1000.0
        ),
        "",
    );
}

fn judged(report: &mut Report) {
    let torrents: Vec<Torrent> = (1..=TORRENTS).map(torrent).collect();
    let rules = rules();
    let held = each(&torrents, &rules, |rule, record| rule.hold(record));
    let crossed = each(&torrents, &rules, |rule, record| {
        rule.have_risen(record, "ratio", &Seen::Number(0.49))
    });
    let a_pass = held * f64::from(TORRENTS) * RULES as f64 / 1e6;
    report.add(
        "rules judged, 5,000 torrents × 20 rules",
        format!("{:.1} million/s, {a_pass:.1} ms a pass over all", 1e3 / held),
        "50 ms a pass",
    );
    report.add(
        "a ratio that moves and crosses nothing, each rule",
        format!("{crossed:.0} ns"),
        "",
    );
}
