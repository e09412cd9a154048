//! Rules over a whole server: from a torrent that changes to the log, the audit and the list.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use qm_ports::engine::{Torrent, TorrentState};
use qm_test_base::engine::{FakeEngine, FakeKinds, torrent};
use qm_testkit::wait::{until, until_true};
use qm_testkit::{Api, TestDb, TestServer, both_databases};
use serde_json::{Value, json};

use super::{Telling, rule};

struct Site {
    server: TestServer,
    admin: Api,
    engine: Arc<FakeEngine>,
    actions: Arc<Telling>,
}

impl Site {
    /// One engine, with a torrent that is half done.
    async fn start(db: &TestDb) -> Site {
        let kinds = FakeKinds::first_party();
        let engine = kinds.engine("one");
        engine.put(torrent(1));
        let actions = Telling::new(|_| true);
        let server = TestServer::builder(db)
            .kinds(kinds)
            .actions(actions.clone())
            .start()
            .await;
        let admin = server.admin();
        let id = admin
            .add_engine("fake", "scgi_client", json!({ "host": "one" }))
            .await;
        admin
            .until_torrent(&id, &torrent(1).hash, "the torrent to be listed", |_| true)
            .await;
        Site {
            server,
            admin,
            engine,
            actions,
        }
    }

    async fn rule(&self, rule: Value) -> String {
        let created = self.admin.post("/api/automation/rules", rule).await;
        created["id"].as_str().expect("an id").to_owned()
    }

    async fn log(&self, rule: &str) -> Vec<Value> {
        let page = self
            .admin
            .get(&format!("/api/automation/rules/{rule}/logs"))
            .await;
        page["items"].as_array().expect("items").clone()
    }

    /// Waits until a rule's log has a line, and answers all of it.
    async fn logged(&self, rule: &str) -> Vec<Value> {
        until("the rule to have run", || async {
            Some(self.log(rule).await).filter(|lines| !lines.is_empty())
        })
        .await
    }
}

fn complete(torrent: &mut Torrent) {
    torrent.state = TorrentState::Seeding;
    torrent.progress = 1.0;
}

both_databases! {
    async fn a_completion_and_a_ratio_run_their_rules_once(db: &TestDb) {
        let site = Site::start(db).await;
        let large = json!([{ "field": "size", "op": "gte", "value": 1000 }, { "field": "name", "op": "matches", "value": "^TORRENT-\\d$" }]);
        let done = site.rule(rule("done", "torrent.completed", &large, &["harmless", "harmful"])).await;
        let two = site.rule(rule("two", "ratio.reached", &json!([{ "field": "ratio", "op": "gte", "value": 2 }]), &["harmful"])).await;
        let unknown = site.rule(rule("unknown", "torrent.completed", &json!([]), &["nonsense"])).await;
        let never = site.rule(rule("never", "whatever", &json!([]), &["harmful"])).await;
        let hash = torrent(1).hash;
        site.engine.change(&hash, complete);
        let lines = site.logged(&done).await;
        assert_eq!((lines.len(), &lines[0]["status"], &lines[0]["message"]), (1, &json!("success"), &Value::Null));
        assert_eq!(lines[0]["context"], json!({ "hash": *hash, "name": "torrent-1" }));
        site.engine.change(&hash, |torrent| torrent.ratio = 2.5);
        assert_eq!(site.logged(&two).await[0]["status"], "success");
        assert_eq!(site.actions.messages(), [format!("harmless {hash} done"), format!("harmful {hash} done"), format!("harmful {hash} two")]);
        // What fails is tried with every pass, on one line.
        let failed = until("another attempt", || async {
            let lines = site.log(&unknown).await;
            lines.into_iter().next().filter(|line| line["context"]["attempts"].is_number())
        }).await;
        assert_eq!((&failed["status"], &failed["message"]), (&json!("failed"), &json!("Unknown action type: nonsense")));
        assert_eq!(site.log(&unknown).await.len(), 1);
        assert!(site.log(&never).await.is_empty());
        let audit = site.admin.get("/api/audit?action=automation.rule.executed").await;
        assert_eq!(audit["total"], 3, "{audit}");
        // A new rule is run for what is complete already, once.
        let later = site.rule(rule("later", "torrent.completed", &json!([]), &["harmless"])).await;
        assert_eq!(site.logged(&later).await.len(), 1);
        let explained = site.admin.get(&format!("/api/automation/rules/{later}/explain?hash={hash}")).await;
        assert_eq!((&explained["holds"], &explained["standing"]), (&json!(true), &json!("done")));
        let schedules = site.admin.get("/api/jobs/schedules").await.to_string();
        assert!(schedules.contains("automation.runs") && schedules.contains("automation.backfill"), "{schedules}");
        site.server.end().await;
    }

    async fn a_rule_that_hangs_delays_no_tick(db: &TestDb) {
        let site = Site::start(db).await;
        let stuck = site.rule(rule("stuck", "torrent.completed", &json!([]), &["stuck"])).await;
        let quick = site.rule(rule("quick", "ratio.reached", &json!([{ "field": "ratio", "op": "gt", "value": 1 }]), &["harmless"])).await;
        site.engine.change(&torrent(1).hash, complete);
        until_true("the action to hang", || async { site.actions.messages().len() == 1 }).await;
        let polls = site.engine.polls.load(Ordering::SeqCst);
        until_true("the engine to be read on", || async { site.engine.polls.load(Ordering::SeqCst) >= polls + 3 }).await;
        site.engine.put(torrent(2));
        until_true("the new torrent to be listed", || async { site.admin.get("/api/torrents").await["total"] == 2 }).await;
        site.engine.change(&torrent(2).hash, |torrent| torrent.ratio = 1.5);
        assert_eq!(site.logged(&quick).await[0]["status"], "success", "another rule goes on");
        assert!(site.log(&stuck).await.is_empty());
        site.actions.go.add_permits(1);
        assert_eq!(site.logged(&stuck).await[0]["status"], "success");
        site.server.end().await;
    }

    async fn a_rule_is_made_of_a_filter_that_was_tried(db: &TestDb) {
        let site = Site::start(db).await;
        let mut other = torrent(2);
        other.tracker_host = Some("tracker.example".to_owned());
        other.ratio = 2.5;
        complete(&mut other);
        site.engine.put(other);
        let conditions = json!([
            { "field": "ratio", "op": "gt", "value": 2 }, { "field": "trackerHost", "op": "eq", "value": "tracker.example" },
        ]);
        let text: String = conditions.to_string().bytes().map(|byte| format!("%{byte:02X}")).collect();
        let listed = until("the filter to choose it", || async {
            let page = site.admin.get(&format!("/api/torrents?filter={text}")).await;
            (page["total"] == 1).then_some(page)
        }).await;
        assert_eq!(listed["items"][0]["name"], "torrent-2");
        let rule = rule("of a filter", "torrent.completed", &conditions, &["harmful"]);
        let tried = site.admin.post("/api/automation/rules/preview", rule.clone()).await;
        assert_eq!((&tried["wouldFire"], &tried["torrents"][0]["hash"]), (&json!(1), &listed["items"][0]["hash"]));
        assert!(site.actions.messages().is_empty(), "a trial does nothing");
        let id = site.rule(rule).await;
        assert_eq!(site.logged(&id).await[0]["context"]["name"], "torrent-2");
        assert_eq!(site.actions.messages().len(), 1);
        site.server.end().await;
    }
}
