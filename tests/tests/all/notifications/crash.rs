//! Notifications over a server that is killed again and again: everybody is told once, and no message arrives twice that
//! its product could not tell from the first.
//!
//! The server has channels that write down what arrives.

use std::collections::BTreeMap;
use std::path::Path;

use qm_server::app::Brought;
use qm_testkit::binary::play;
use qm_testkit::both_databases;
use qm_testkit::wait::{until, until_true};
use serde_json::json;

use super::Telling;
use crate::killed::{Journal, TORRENTS, begin, caught, journal, set_complete};

/// The ignored test that plays the servers.
const PLAYED: &str = "notifications::crash::played";
/// The messages at which a server is killed, one server after the other: no more than each finds to send.
const KILLS: [usize; 10] = [1, 2, 1, 2, 1, 2, 1, 2, 1, 2];

/// Not a test of its own: the program of the servers.
#[test]
#[ignore = "a server, which the test beside begins"]
fn played() {
    let Some(journal) = Journal::of_played() else {
        return;
    };
    play(|| Brought {
        kinds: Some(journal.kinds()),
        channels: Some(Telling::new(move |line| journal.note(line))),
        ..Brought::default()
    });
}

/// The number of times that each message arrived, by the channel and the message's id. Messages that only tried a
/// channel are not counted.
fn arrived(place: &Path) -> BTreeMap<(String, String), usize> {
    let journal = journal(place);
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
        let (mut server, admin) = begin(PLAYED, place, db, 0).await;
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
        let mut server = begin(PLAYED, place, db, KILLS[0]).await.0;
        for (round, holds_at) in (1..).zip(KILLS.iter().skip(1).chain(&[0])) {
            set_complete(place, round);
            caught(place).await;
            server.kill();
            server = begin(PLAYED, place, db, *holds_at).await.0;
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
