//! Notifications over a server that is killed again and again: everybody is told once, and no message arrives twice that
//! its product could not tell from the first.
//!
//! The server is this very test program, begun again as [`played`]: like any other, with channels that write down what
//! arrives, and an engine that completes as many torrents as a file says.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use qm_kernel::Ctx;
use qm_server::app::{Brought, Ending};
use qm_server::config::Config;
use qm_server::start::start;
use qm_test_base::engine::FakeKinds;
use qm_testkit::binary::{Binary, played_by};
use qm_testkit::database::block_on;
use qm_testkit::wait::{until, until_true};
use qm_testkit::{Api, TestDb, both_databases};
use serde_json::json;

use super::Telling;
use crate::automation::crash::{TORRENTS, follow, set_complete};

/// Where the played server and the test share files.
const PLACE: &str = "QM_TEST_NOTIFICATIONS_PLACE";
/// At which of the messages that arrive the played server stops and waits to be killed; 0: at none.
const HOLDS_AT: &str = "QM_TEST_NOTIFICATIONS_HOLDS_AT";
/// The messages at which a server is killed, one server after the other: no more than each finds to send.
const KILLS: [usize; 10] = [1, 2, 1, 2, 1, 2, 1, 2, 1, 2];

fn journal(place: &Path) -> PathBuf {
    place.join("journal")
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
        let arrived = AtomicUsize::new(0);
        let channels = Telling::new(move |line| {
            let file = std::fs::OpenOptions::new()
                .create(true)
                .append(true)
                .open(journal(&place));
            let mut file = file.expect("our own file");
            file.write_all(format!("{line}\n").as_bytes())
                .expect("our own file");
            file.sync_all().expect("our own file");
            let is_caught = arrived.fetch_add(1, Ordering::SeqCst) + 1 == holds_at;
            if is_caught {
                std::fs::write(place.join("holds"), "").expect("our own file");
            }
            !is_caught
        });
        let brought = Brought {
            kinds: Some(kinds),
            channels: Some(channels),
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
    let mut command = played_by("notifications::crash::played", place, db.url());
    command
        .env(PLACE, place)
        .env(HOLDS_AT, holds_at.to_string())
        .env("THROTTLE_LIMIT", "1000000");
    let server = Binary::active_of(place, &mut command).await;
    let admin = server.admin().await;
    (server, admin)
}

/// How often each message arrived, by the channel and the message's id. What tried a channel is not among them.
fn arrived(place: &Path) -> BTreeMap<(String, String), usize> {
    let journal = std::fs::read_to_string(journal(place)).expect("the journal");
    let mut arrived = BTreeMap::new();
    for line in journal
        .lines()
        .filter(|line| line.ends_with("Download completed"))
    {
        let mut words = line.split(' ').map(str::to_owned);
        let (channel, id) = (words.next().expect("a channel"), words.next().expect("an id"));
        *arrived.entry((channel, id)).or_default() += 1;
    }
    arrived
}

both_databases! {
    async fn everybody_is_told_once_however_often_the_server_is_killed(db: &TestDb) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let place = dir.path();
        set_complete(place, 0);
        let (mut server, admin) = begin(place, db, 0).await;
        admin.add_engine("fake", "scgi_client", json!({ "host": "one" })).await;
        until_true("the torrents to be listed", || async {
            let reply = admin.send("GET", "/api/torrents", None).await;
            reply.status == 200 && reply.json()["total"] == TORRENTS
        }).await;
        for channel in ["careful", "plain"] {
            let path = format!("/api/account/notifications/channels/{channel}");
            admin.post(&path, json!({ "config": {} })).await;
        }
        let both = json!({ "eventKeys": ["torrent.completed"], "patch": { "otherChannels": ["careful", "plain"] } });
        admin.post("/api/account/notifications/preferences/bulk", both).await;
        server.kill();
        let mut server = begin(place, db, KILLS[0]).await.0;
        for (round, holds_at) in (1..).zip(KILLS.iter().skip(1).chain(&[0])) {
            set_complete(place, round);
            until_true("the server to be caught at a message", || async { place.join("holds").exists() }).await;
            server.kill();
            server = begin(place, db, *holds_at).await.0;
        }
        set_complete(place, TORRENTS);
        let admin = server.admin().await;
        let page = until("everybody to be told of every torrent", || async {
            let page = admin.get("/api/account/notifications/inbox?pageSize=100").await;
            (page["total"].as_u64() >= Some(u64::from(TORRENTS))).then_some(page)
        }).await;
        let of = |channel: &str| -> Vec<usize> {
            arrived(place).into_iter().filter(|((name, _), _)| name == channel).map(|(_, times)| times).collect()
        };
        until_true("every message to have arrived", || async { of("careful").len() == TORRENTS as usize }).await;
        // What would come twice comes with the next look.
        tokio::time::sleep(std::time::Duration::from_secs(3)).await;
        assert_eq!(page["total"], TORRENTS, "one of each torrent");
        let plain = of("plain");
        assert!(plain.iter().all(|times| *times == 1), "no message arrives twice: {plain:?}");
        // A server may be killed right before a message leaves, too.
        assert!(plain.len() + KILLS.len() >= TORRENTS as usize && plain.len() > KILLS.len() / 2, "{plain:?}");
        let again = of("careful").into_iter().filter(|times| *times > 1).count();
        assert_eq!(of("careful").len(), TORRENTS as usize, "each has one id, however often it came");
        eprintln!("{} kills: {} of {TORRENTS} plain messages arrived, {again} careful ones came again", KILLS.len(), plain.len());
        server.kill();
    }
}
