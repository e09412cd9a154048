//! Every operation against what real clients of several versions were recorded to say: each request must be the recorded one to the byte.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on ends"
)]

mod support;

use std::path::{Path, PathBuf};

use serde_json::Value;
use support::client::{PASSWORD, USER};
use support::exchange::Exchange;
use support::scenarios::{Given, RECORDED_OF_EACH, SCENARIOS, Scenario};
use support::wire::Wire;

/// The version whose record is of every scenario.
const OLDEST: &str = "4.5.2";

#[test]
fn requests_are_those_that_were_recorded() {
    let base_url = "http://127.0.0.1:8080/qbittorrent";
    let versions = std::fs::read_dir(records()).expect("there are records");
    let versions: Vec<_> = versions
        .map(|version| version.expect("a record").path())
        .collect();
    assert_eq!(versions.len(), 3, "a record a generation");
    for records in versions {
        let version = records
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        let given = Given::new("/home/client", &version);
        let is_oldest = version == OLDEST;
        let recorded = |scenario: &&Scenario| is_oldest || RECORDED_OF_EACH.contains(&scenario.name);
        for scenario in SCENARIOS.iter().filter(recorded) {
            println!("{version} {}", scenario.name);
            let wire = Wire::recorded(record(&records, scenario.name), base_url);
            let mut session = support::session(wire, base_url, USER, PASSWORD);
            (scenario.run)(&mut session, &given);
            session.close();
        }
    }
}

/// A directory a version of the client.
fn records() -> PathBuf {
    PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo says where")).join("tests/recorded")
}

fn record(records: &Path, name: &str) -> Vec<Exchange> {
    let file = records.join(format!("{name}.json"));
    let text = std::fs::read_to_string(&file).unwrap_or_else(|error| {
        panic!(
            "{}: {error}; QM_RECORD=1 cargo test -p webapi-core --test real_qbittorrent writes it",
            file.display()
        )
    });
    let list: Value = serde_json::from_str(&text).expect("a record is JSON");
    list.as_array()
        .expect("a list of exchanges")
        .iter()
        .map(Exchange::from_json)
        .collect()
}
