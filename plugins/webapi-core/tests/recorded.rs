//! Every operation against what a real client was recorded to say: each request must be the recorded one to the byte.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on ends"
)]

mod support;

use std::path::Path;

use serde_json::Value;
use support::client::{PASSWORD, USER};
use support::exchange::Exchange;
use support::scenarios::{Given, SCENARIOS};
use support::wire::Wire;

#[test]
fn requests_are_those_that_were_recorded() {
    let base_url = "http://127.0.0.1:8080/qbittorrent";
    let given = Given::new("/home/client");
    for scenario in SCENARIOS {
        println!("{}", scenario.name);
        let wire = Wire::recorded(record(scenario.name), base_url);
        let mut session = support::session(wire, base_url, USER, PASSWORD);
        (scenario.run)(&mut session, &given);
        session.close();
    }
}

fn record(name: &str) -> Vec<Exchange> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/recorded/4.5.2/{name}.json"));
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
