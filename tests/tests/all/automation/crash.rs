//! Rules over a server that is killed again and again: what may not be done twice is not, and nothing is forgotten.
//!
//! The server is this very test program, begun again as [`played`]: like any other, with actions that write down what they do,
//! and an engine that completes as many torrents as a file says.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use qm_kernel::Ctx;
use qm_ports::engine::TorrentState;
use qm_server::app::{Brought, Ending};
use qm_server::config::Config;
use qm_server::start::start;
use qm_test_base::engine::{FakeEngine, FakeKinds, torrent};
use qm_testkit::binary::{Binary, played_by};
use qm_testkit::database::block_on;
use qm_testkit::wait::{until, until_true};
use qm_testkit::{Api, TestDb, both_databases};
use serde_json::{Value, json};

use super::{Telling, rule};

/// Where the played server and the test share files.
const PLACE: &str = "QM_TEST_AUTOMATION_PLACE";
/// At which of the actions that it begins the played server stops and waits to be killed; 0: at none.
const HOLDS_AT: &str = "QM_TEST_AUTOMATION_HOLDS_AT";
pub const TORRENTS: u32 = 12;
/// The actions at which a server is killed, one server after the other: no more than each finds to do.
const KILLS: [usize; 10] = [1, 2, 3, 1, 2, 3, 2, 1, 3, 2];

fn journal(place: &Path) -> PathBuf {
    place.join("journal")
}

/// Torrents that are complete.
fn complete(place: &Path) -> u32 {
    let text = std::fs::read_to_string(place.join("complete")).unwrap_or_default();
    text.trim().parse().unwrap_or(0)
}

pub fn set_complete(place: &Path, count: u32) {
    let written = place.join("complete.new");
    std::fs::write(&written, count.to_string()).expect("our own file");
    std::fs::rename(written, place.join("complete")).expect("our own file");
}

/// Lists what the file says, again and again.
pub async fn follow(engine: Arc<FakeEngine>, place: PathBuf) {
    let mut shown = None;
    loop {
        let now = complete(&place);
        if shown != Some(now) {
            for number in 1..=TORRENTS {
                let mut torrent = torrent(number);
                if number <= now {
                    torrent.progress = 1.0;
                    torrent.state = TorrentState::Seeding;
                }
                if engine.torrent(&torrent.hash).as_ref() != Some(&torrent) {
                    engine.put(torrent);
                }
            }
            shown = Some(now);
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// No test of its own: the program of the servers.
#[test]
#[ignore = "a server, which the test beside begins"]
fn played() {
    let Some(place) = std::env::var_os(PLACE).map(PathBuf::from) else {
        return;
    };
    let holds_at: usize = std::env::var(HOLDS_AT)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(0);
    let ending = block_on(async {
        let kinds = FakeKinds::first_party();
        let engine = kinds.engine("one");
        tokio::spawn(follow(engine, place.clone()));
        let begun = AtomicUsize::new(0);
        let actions = Telling::new(move |line| {
            let file = std::fs::OpenOptions::new()
                .create(true)
                .append(true)
                .open(journal(&place));
            let mut file = file.expect("our own file");
            // One write: the lines of two actions do not mix.
            file.write_all(format!("{line}\n").as_bytes())
                .expect("our own file");
            file.sync_all().expect("our own file");
            let is_caught = begun.fetch_add(1, Ordering::SeqCst) + 1 == holds_at;
            if is_caught {
                std::fs::write(place.join("holds"), "").expect("our own file");
            }
            !is_caught
        });
        let brought = Brought {
            kinds: Some(kinds),
            actions: Some(actions),
            ..Brought::default()
        };
        let config = Config::from_env().unwrap_or_else(|error| panic!("{error}"));
        let mut asked = Box::pin(std::future::pending());
        let app = start(config, Ctx::system(), brought, asked.as_mut()).await;
        let app = app
            .unwrap_or_else(|error| panic!("{error}"))
            .expect("nobody asks it to end");
        println!("listening on http://{}", app.address());
        app.run(asked).await
    });
    std::process::exit(if ending == Ending::Succeeded { 4 } else { 0 });
}

async fn begin(place: &Path, db: &TestDb, holds_at: usize) -> (Binary, Api) {
    let _ = std::fs::remove_file(place.join("holds"));
    let mut command = played_by("automation::crash::played", place, db.url());
    command
        .env(PLACE, place)
        .env(HOLDS_AT, holds_at.to_string())
        .env("THROTTLE_LIMIT", "1000000");
    let server = Binary::active_of(place, &mut command).await;
    let admin = server.admin().await;
    (server, admin)
}

/// How each run of a rule ended, by the hash of its torrent.
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
        let (mut server, admin) = begin(place, db, 0).await;
        admin.add_engine("fake", "scgi_client", json!({ "host": "one" })).await;
        until_true("the torrents to be listed", || async {
            let reply = admin.send("GET", "/api/torrents", None).await;
            reply.status == 200 && reply.json()["total"] == TORRENTS
        }).await;
        server.kill();
        let (mut server, admin) = begin(place, db, KILLS[0]).await;
        let mut ids = Vec::new();
        for (name, actions, priority) in [("mixed", &["harmless", "harmful"][..], 2), ("single", &["harmful"][..], 1)] {
            let mut rule = rule(name, "torrent.completed", &json!([]), actions);
            rule["priority"] = priority.into();
            let created: Value = admin.post("/api/automation/rules", rule).await;
            ids.push((name, created["id"].as_str().expect("an id").to_owned()));
        }
        for (round, holds_at) in (1..).zip(KILLS.iter().skip(1).chain(&[0])) {
            until_true("the server to be caught at an action", || async { place.join("holds").exists() }).await;
            // What completes while no server runs is for the next one to see.
            server.kill();
            set_complete(place, 2 + round);
            server = begin(place, db, *holds_at).await.0;
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
        let journal = std::fs::read_to_string(journal(place)).expect("the journal");
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
