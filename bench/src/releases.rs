//! Release names: names parsed per second by one core, and share of foreign names parsed as intended.

#[path = "../../host/release/tests/judge/mod.rs"]
mod judge;

use std::hint::black_box;
use std::time::Instant;

use serde_json::Value;

use crate::report::{Report, median};

/// Our own names in every known convention, with their meaning.
const NAMES: &str = include_str!("../../host/release/corpus/names.jsonl");

const RUNS: usize = 9;
/// Number of passes over all names per run.
const ROUNDS: usize = 100;

pub fn measure(report: &mut Report) {
    let names: Vec<String> = NAMES
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("the corpus is JSON lines"))
        .map(|case| case["name"].as_str().unwrap_or_default().to_owned())
        .collect();
    let runs = (0..RUNS).map(|_| {
        let begun = Instant::now();
        for name in names.iter().cycle().take(names.len() * ROUNDS) {
            black_box(qm_release::parse(black_box(name)));
        }
        (names.len() * ROUNDS) as f64 / begun.elapsed().as_secs_f64()
    });
    let per_second = median(runs.collect());
    report.add(
        format!(
            "release names read, {} of every convention, one core",
            names.len()
        ),
        format!("{per_second:.0}/s"),
        ">= 100,000/s",
    );
    scores(report);
}

/// Score of each set of the larger corpus, if it is present beside the workspace.
fn scores(report: &mut Report) {
    let path = qm_testkit::checkout().join("..").join(judge::CASES);
    let Ok(cases) = std::fs::read_to_string(&path) else {
        let figure = format!("not measured: there is no {}", path.display());
        report.add("release names of others read as they mean them", figure, "");
        return;
    };
    let sets = judge::scores(&cases);
    for needed in judge::NEEDED {
        let (good, all) = sets.get(needed.set).copied().unwrap_or_default();
        let share = f64::from(good) * 100.0 / f64::from(all.max(1));
        report.add(
            format!("release names of {} read as it means them", needed.set),
            format!("{share:.1} % ({good} of {all})"),
            format!(">= {} % (tests hold {} %)", needed.wanted, needed.reached),
        );
    }
}
