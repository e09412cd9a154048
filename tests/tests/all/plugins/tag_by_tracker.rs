//! An action in JavaScript, `examples/action-javascript`: dropped into a running server, it is usable in a rule at once.

use qm_ports::engine::{Torrent, TorrentState, capability};
use qm_test_base::engine::{FakeKinds, torrent};
use qm_testkit::wait::{until, until_true};
use qm_testkit::{Api, Backend, TestServer, database, plugins};
use serde_json::{Value, json};

const PLUGIN: &str = "tag_by_tracker_js.wasm";
/// Tracker, tags before, tags after.
type Case = (
    Option<&'static str>,
    &'static [&'static str],
    &'static [&'static str],
);
const CASES: &[Case] = &[
    (Some("tracker.example.org"), &["mine"], &["mine", "films"]),
    // One below it, and the longest of those that fit.
    (Some("a.b.example.net"), &[], &["linux"]),
    (Some("old.example.net"), &[], &["archive"]),
    // What other trackers of the rule give goes.
    (
        Some("Tracker.Example.ORG."),
        &["linux", "public", "x"],
        &["x", "films"],
    ),
    (Some("192.0.2.7"), &[], &["lan"]),
    (Some("2001:db8::7"), &[], &["six"]),
    // An address has none below it, and no name ends in the middle of a word.
    (Some("1.192.0.2.7"), &[], &["public"]),
    (Some("notexample.net"), &[], &["public"]),
    (Some("constructor"), &[], &["public"]),
    (None, &["mine"], &["mine", "public"]),
    // As it should be: nothing is asked of its client.
    (Some("example.net"), &["linux"], &["linux"]),
];

fn subject(number: usize, tracker: Option<&str>, tags: &[&str]) -> Torrent {
    let mut torrent = torrent(u32::try_from(number).expect("a small number"));
    torrent.tracker_host = tracker.map(str::to_owned);
    torrent.tags = tags.iter().map(|&tag| tag.to_owned()).collect();
    torrent
}

fn rule(params: &Value) -> Value {
    json!({
        "name": "tags", "trigger": "torrent.completed", "conditions": [],
        "actions": [{ "type": "tag_by_tracker", "params": params }],
    })
}

async fn log(api: &Api, rule: &Value) -> Vec<Value> {
    let id = rule["id"].as_str().expect("an id");
    let page = api
        .get(&format!("/api/automation/rules/{id}/logs?pageSize=200"))
        .await;
    page["items"].as_array().expect("items").clone()
}

/// The message of the rule's newest line, which is that of a failure.
async fn failure(api: &Api, rule: &Value) -> String {
    let line = until("the rule to run", || async {
        log(api, rule).await.into_iter().next()
    })
    .await;
    assert_eq!(line["status"], "failed", "{line}");
    line["message"].as_str().expect("a message").to_owned()
}

/// One server for all: in a debug build it compiles a component of 13 MB for half a minute.
#[test]
fn an_action_in_javascript_is_dropped_in_and_tags_by_tracker() {
    database::run(Backend::Sqlite, async |db| {
        let kinds = FakeKinds::first_party();
        let engine = kinds.engine("one");
        engine.offer(capability::TAGS);
        for (number, (tracker, tags, _)) in (1..).zip(CASES) {
            engine.put(subject(number, *tracker, tags));
        }
        let server = TestServer::builder(db).kinds(kinds).start().await;
        let api = server.admin();
        api.add_engine("fake", "scgi_client", json!({ "host": "one" }))
            .await;
        until_true("the torrents to be listed", || async {
            let reply = api.send("GET", "/api/torrents", None).await;
            reply.status == 200 && reply.json()["total"] == CASES.len()
        })
        .await;

        plugins::install(PLUGIN, &server.plugins_dir());
        let listed = until("the action to be in the catalogue", || async {
            let catalogue = api.get("/api/automation/catalog").await;
            let all = catalogue["actions"].as_array().expect("actions");
            all.iter()
                .find(|action| action["id"] == "tag_by_tracker")
                .cloned()
        })
        .await;
        assert_eq!(listed["label"], "Tag by tracker", "{listed}");

        let params = json!({
            "tags": {
                "TRACKER.example.org": "films", "example.net:8080": "linux", "old.example.net": "archive",
                "192.0.2.7": "lan", "[2001:db8::7]:80": "six",
            },
            "otherwise": "public", "replace": true,
        });
        let tagging = api.post("/api/automation/rules", rule(&params)).await;
        // A torrent of its own, which no other rule tags.
        engine.put(Torrent {
            state: TorrentState::Seeding,
            progress: 1.0,
            ..subject(99, None, &[])
        });
        let denied = failure(&api, &tagging).await;
        assert!(denied.contains("torrents"), "nobody granted it yet: {denied}");
        let grants = json!({ "hosts": [], "capabilities": ["torrents"] });
        api.put("/api/plugins/tag_by_tracker_js/grants", grants).await;
        for number in 1..=CASES.len() {
            let hash = subject(number, None, &[]).hash;
            engine.change(&hash, |torrent| {
                torrent.progress = 1.0;
                torrent.state = TorrentState::Seeding;
            });
        }
        until_true("every torrent to have been run for", || async {
            let lines = log(&api, &tagging).await;
            lines.iter().filter(|line| line["status"] == "success").count() > CASES.len()
        })
        .await;
        for (number, (tracker, _, expected)) in (1..).zip(CASES) {
            let hash = subject(number, None, &[]).hash;
            assert_eq!(
                engine.torrent(&hash).expect("it is listed").tags,
                *expected,
                "{tracker:?}"
            );
        }
        let last = subject(CASES.len(), None, &[]).hash;
        let asked = engine.commands();
        assert!(asked.iter().all(|(hash, _)| *hash != *last), "{asked:?}");

        for (wrong, told) in [
            (json!({ "tags": {} }), "tags"),
            (json!({ "tags": { "example.org": "a,b" } }), "tags"),
            (json!({ "tags": { "example.org": 7 } }), "tags"),
            (json!({ "otherwise": "x" }), "tags"),
            (json!({ "tags": { "a.example": "b" }, "tag": "x" }), "tag"),
        ] {
            let refused = api.post("/api/automation/rules", rule(&wrong)).await;
            let why = failure(&api, &refused).await;
            assert!(why.contains(told), "{wrong}: {why}");
        }
        let listed = api.get("/api/plugins").await;
        assert_eq!(
            (&listed[0]["kind"], &listed[0]["traps"]),
            (&json!("action-set"), &json!(0)),
            "{listed}"
        );
        server.end().await;
    });
}
