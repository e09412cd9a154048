//! Actions that misbehave, as the component they are: what a rule runs into stands in its log and in the audit, without
//! what is secret; the torrent's other rules run, and so does everything else.

use std::time::Duration;

use qm_plugin_host::Limits;
use qm_test_base::engine::{FakeKinds, torrent};
use qm_testkit::wait::{until, until_true};
use qm_testkit::{Api, TestServer, both_databases};
use serde_json::{Value, json};

use super::plugins::grant;

const TOKEN: &str = "action-token-5f1d3b7a9c2e";
/// The misbehaviour of an action, and the text that its rule's log shows for it.
const WRONGS: &[(&str, &str)] = &[
    ("loop", "it computed for more than 0.3 s in one call"),
    ("trap", "told to"),
    ("answer", "xxxxxxxx"),
    ("leak", "•••••••• is not liked"),
    ("http", "listed.example"),
    ("guarded", "http-guarded"),
    ("stop", "torrents"),
    ("kv_hoard", "65536 bytes at most"),
];

/// A rule that runs once, for the torrent of this number.
fn rule(number: u32, priority: i64, action: Value) -> Value {
    json!({
        "name": format!("{priority} of {number}"), "trigger": "ratio.reached", "priority": priority,
        "conditions": [
            { "field": "name", "op": "eq", "value": torrent(number).name },
            { "field": "ratio", "op": "gte", "value": 2 },
        ],
        "actions": [action],
    })
}

async fn create(api: &Api, rule: Value) -> String {
    let created = api.post("/api/automation/rules", rule).await;
    created["id"].as_str().expect("an id").to_owned()
}

/// The one line of a rule's log.
async fn line(api: &Api, rule: &str) -> Value {
    let path = format!("/api/automation/rules/{rule}/logs");
    let lines = until("the rule to have run", || async {
        let page = api.get(&path).await;
        page["items"]
            .as_array()
            .filter(|lines| !lines.is_empty())
            .cloned()
    })
    .await;
    assert_eq!(lines.len(), 1, "{lines:?}");
    lines[0].clone()
}

both_databases! {
    async fn an_action_that_misbehaves_is_shown_and_audited_and_hinders_no_other_rule(db: &TestDb) {
        let kinds = FakeKinds::first_party();
        let engine = kinds.engine("one");
        for number in 1..=WRONGS.len() as u32 {
            engine.put(torrent(number));
        }
        let limits = Limits {
            cpu: Duration::from_millis(300),
            // What is told is what went wrong, and not that it waits after it did.
            strikes: 100,
            back_off: Duration::from_millis(1),
            ..Limits::default()
        };
        let files = &["porter.wasm", "torrent_actions.wasm"];
        let server = TestServer::builder(db).kinds(kinds).plugins(files).limits(limits).start().await;
        let api = server.admin();
        grant(&api, "torrent_actions", "torrents").await;
        let id = api.add_engine("fake", "scgi_client", json!({ "host": "one" })).await;
        let last = torrent(WRONGS.len() as u32).hash;
        api.until_torrent(&id, &last, "the torrents to be listed", |_| true).await;
        let mut rules = Vec::new();
        for (number, (mode, told)) in (1..).zip(WRONGS) {
            let params = json!({ "mode": mode, "token": TOKEN, "url": "https://listed.example/", "key": "k" });
            let wrong = create(&api, rule(number, 2, json!({ "type": "carry", "params": params }))).await;
            let good = create(&api, rule(number, 1, json!({ "type": "pause" }))).await;
            rules.push((wrong, good, *told));
            engine.change(&torrent(number).hash, |torrent| torrent.ratio = 2.5);
        }
        for (wrong, good, told) in &rules {
            let (wrong, good) = (line(&api, wrong).await, line(&api, good).await);
            let message = wrong["message"].as_str().expect("a message");
            assert!(wrong["status"] == "failed" && message.contains(told), "{told}: {wrong}");
            assert!(message.len() <= 2048 && !wrong.to_string().contains(TOKEN), "{wrong}");
            assert_eq!((&good["status"], &good["message"]), (&json!("success"), &Value::Null), "after {told}");
        }
        let paused = engine.commands().into_iter().map(|(hash, _)| hash);
        assert_eq!(paused.collect::<std::collections::BTreeSet<_>>().len(), WRONGS.len(), "each torrent was paused");
        let audit = api.get("/api/audit?action=automation.rule.executed").await;
        assert!(!audit.to_string().contains(TOKEN), "{audit}");
        for result in ["failure", "success"] {
            let rows = audit["items"].as_array().expect("items").iter();
            assert_eq!(rows.filter(|row| row["result"] == result).count(), WRONGS.len(), "{result}: {audit}");
        }
        let plugins = api.get("/api/plugins").await;
        let porter = plugins.as_array().into_iter().flatten().find(|plugin| plugin["id"] == "porter");
        let porter = porter.expect("it is listed");
        assert_eq!((&porter["traps"], &porter["state"]), (&json!(2), &json!("active")), "{porter}");
        assert!(porter["lastRefusal"].is_object(), "an administrator sees what was denied: {porter}");
        until_true("the list to go on", || async { api.get("/api/torrents").await["total"] == WRONGS.len() }).await;
        server.end().await;
    }
}
