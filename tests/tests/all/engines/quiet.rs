//! Engines that nobody looks at, which are asked for less: changes made by others are seen all the same, and a user who
//! looks sees them at once.

use std::sync::Arc;

use qm_ports::engine::{Attention, TorrentState};
use qm_test_base::engine::{FakeEngine, FakeKinds, torrent};
use qm_testkit::wait::until_true;
use qm_testkit::ws::Ws;
use qm_testkit::{TestDb, TestServer, both_databases};
use serde_json::json;

/// A server with one scripted engine of three torrents at rest, which is asked quietly by now.
async fn start(db: &TestDb) -> (TestServer, Arc<FakeEngine>) {
    let kinds = FakeKinds::first_party();
    let fake = kinds.engine("one");
    for number in 1..=3 {
        let mut resting = torrent(number);
        (resting.download_rate, resting.upload_rate) = (0, 0);
        resting.state = TorrentState::Paused;
        fake.put(resting);
    }
    let server = TestServer::builder(db).kinds(kinds).start().await;
    let config = json!({ "host": "one" });
    server.admin().add_engine("fake", "scgi_client", config).await;
    quiet(&fake).await;
    (server, fake)
}

async fn quiet(fake: &FakeEngine) {
    until_true("the engine to be asked quietly", || async {
        fake.attention() == Some(Attention::Quiet)
    })
    .await;
}

both_databases! {
    async fn the_first_list_after_a_quiet_time_is_fresh(db: &TestDb) {
        let (server, fake) = start(db).await;
        fake.change(&torrent(2).hash, |torrent| "renamed".clone_into(&mut torrent.name));
        let before = qm_kernel::Ctx::system().now();
        let reply = server.admin().send("GET", "/api/torrents?search=renamed", None).await;
        assert_eq!(reply.json()["total"], json!(1), "{}", reply.text());
        let at = reply.header("x-snapshot-at").expect("lists say how fresh they are");
        assert!(at >= before.to_string().as_str(), "{at} is before {before}");
        assert_eq!(fake.attention(), Some(Attention::Watched));
    }

    async fn the_first_subscriber_after_a_quiet_time_causes_a_read(db: &TestDb) {
        let (server, fake) = start(db).await;
        let mut socket = Ws::connect(&server.admin()).await;
        fake.change(&torrent(2).hash, |torrent| "renamed".clone_into(&mut torrent.name));
        socket
            .until("the change", |event, data| {
                let told = data["torrents"].as_array().into_iter().flatten();
                (event == "torrents:update" && told.clone().any(|t| t["name"] == json!("renamed"))).then_some(())
            })
            .await;
        assert_eq!(fake.attention(), Some(Attention::Watched));
        drop(socket);
        quiet(&fake).await;
    }

    async fn what_others_do_is_seen_by_itself(db: &TestDb) {
        let (server, fake) = start(db).await;
        fake.change(&torrent(3).hash, |torrent| torrent.label = Some("quiet".to_owned()));
        fake.forget(&torrent(1).hash);
        // The summary is of what is known; it wakes nobody.
        until_true("the removal to be seen", || async {
            server.admin().get("/api/dashboard/summary").await["totalTorrents"] == json!(2)
        })
        .await;
        assert_eq!(fake.attention(), Some(Attention::Quiet));
    }
}
