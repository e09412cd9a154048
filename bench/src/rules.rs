//! Conditions of rules: how many are judged a second, over 5,000 torrents and 20 rules, and what an edge costs of a ratio that
//! crosses nothing.

use std::hint::black_box;
use std::time::Instant;

use qm_conditions::{Conditions, Seen};
use qm_kernel::Timestamp;
use qm_ports::engine::Torrent;
use qm_ports::list::TorrentRecord;
use qm_test_base::engine::torrent;
use serde_json::{Value, json};

use crate::report::{Report, median};

const TORRENTS: u32 = 5000;
const RULES: u64 = 20;
const RUNS: usize = 9;

/// Rules as people write them: numbers, words, and a pattern in every fifth.
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

/// Nanoseconds of one rule and torrent.
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
            };
            for rule in rules {
                black_box(judge(black_box(rule), &record));
            }
        }
        begun.elapsed().as_nanos() as f64 / (torrents.len() * rules.len()) as f64
    });
    median(runs.collect())
}

pub fn measure(report: &mut Report) {
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
