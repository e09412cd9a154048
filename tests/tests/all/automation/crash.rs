//! Rules over a server that is killed again and again: an action that must not be repeated is not repeated, and none is
//! forgotten.
//!
//! The server has actions that write down what they do.

use std::collections::BTreeMap;
use std::time::Duration;

use qm_server::app::Brought;
use qm_testkit::binary::play;
use qm_testkit::wait::{until, until_true};
use qm_testkit::{Api, both_databases};
use serde_json::{Value, json};

use super::{Telling, rule};
use crate::killed::{Journal, TORRENTS, begin, caught, journal, set_complete};

/// The ignored test that plays the servers.
const PLAYED: &str = "automation::crash::played";
/// The actions at which a server is killed, one server after the other: no more than each finds to do.
const KILLS: [usize; 10] = [1, 2, 3, 1, 2, 3, 2, 1, 3, 2];

/// Not a test of its own: the program of the servers.
#[test]
#[ignore = "a server, which the test beside begins"]
fn played() {
    let Some(journal) = Journal::of_played() else {
        return;
    };
    play(|| Brought {
        kinds: Some(journal.kinds()),
        actions: Some(Telling::new(move |line| journal.note(line))),
        ..Brought::default()
    });
}

/// The outcomes of each run of a rule, by the hash of its torrent.
async fn outcomes(api: &Api, rule: &str) -> BTreeMap<String, Vec<(String, Option<String>)>> {
    let page = api
        .get(&format!("/api/automation/rules/{rule}/logs?pageSize=200"))
        .await;
    let mut outcomes: BTreeMap<String, Vec<(String, Option<String>)>> = BTreeMap::new();
    for line in page["items"].as_array().expect("items") {
        let hash = line["context"]["hash"].as_str().expect("a hash").to_owned();
        let told = (
            line["status"].as_str().expect("a status").to_owned(),
            line["message"].as_str().map(str::to_owned),
        );
        outcomes.entry(hash).or_default().push(told);
    }
    outcomes
}

both_databases! {
    async fn what_may_not_be_done_twice_is_not_however_often_the_server_is_killed(db: &TestDb) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let place = dir.path();
        set_complete(place, 2);
        let (mut server, admin) = begin(PLAYED, place, db, 0).await;
        admin.add_engine("fake", "scgi_client", json!({ "host": "one" })).await;
        until_true("the torrents to be listed", || async {
            let reply = admin.send("GET", "/api/torrents", None).await;
            reply.status == 200 && reply.json()["total"] == TORRENTS
        }).await;
        server.kill();
        let (mut server, admin) = begin(PLAYED, place, db, KILLS[0]).await;
        let mut ids = Vec::new();
        for (name, actions, priority) in [("mixed", &["harmless", "harmful"][..], 2), ("single", &["harmful"][..], 1)] {
            let mut rule = rule(name, "torrent.completed", &json!([]), actions);
            rule["priority"] = priority.into();
            let created: Value = admin.post("/api/automation/rules", rule).await;
            ids.push((name, created["id"].as_str().expect("an id").to_owned()));
        }
        for (round, holds_at) in (1..).zip(KILLS.iter().skip(1).chain(&[0])) {
            caught(place).await;
            // What completes while no server runs is for the next one to see.
            server.kill();
            set_complete(place, 2 + round);
            server = begin(PLAYED, place, db, *holds_at).await.0;
        }
        set_complete(place, TORRENTS);
        let admin = server.admin().await;
        for (_, id) in &ids {
            until("every torrent to have been run for", || async {
                Some(outcomes(&admin, id).await).filter(|outcomes| outcomes.len() == TORRENTS as usize)
            }).await;
        }
        // Another pass or two, in which nothing may happen.
        tokio::time::sleep(Duration::from_secs(5)).await;
        let journal = journal(place);
        let times = |line: String| journal.lines().filter(|told| **told == line).count();
        let (mut cut_off, mut twice) = (0, 0);
        for (name, id) in &ids {
            for (hash, ended) in outcomes(&admin, id).await {
                assert_eq!(ended.len(), 1, "{name} {hash}: {ended:?}");
                let harmful = times(format!("harmful {hash} {name}"));
                let (status, message) = &ended[0];
                if status == "success" {
                    assert_eq!(harmful, 1, "{name} {hash}");
                } else {
                    let message = message.as_deref().unwrap_or_default();
                    assert!(message.starts_with("The server ended while the action \"harmful\" ran"), "{message}");
                    assert!(harmful <= 1, "{name} {hash}: {harmful}");
                    cut_off += 1;
                }
                if *name == "mixed" {
                    let harmless = times(format!("harmless {hash} {name}"));
                    assert!(harmless >= 1, "{hash}");
                    twice += usize::from(harmless > 1);
                }
            }
        }
        eprintln!("{} kills: {cut_off} runs were cut off, {twice} actions were done again", KILLS.len());
        assert!(cut_off >= 1 && cut_off <= KILLS.len(), "{cut_off}");
        assert!(twice >= 1 && twice + cut_off <= 2 * KILLS.len(), "{twice}");
        server.kill();
    }
}
